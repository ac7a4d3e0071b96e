"""Rows whose values were replaced by coarser ones, and some of which were dropped."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from sfumato.chance.distortion import contract
from sfumato.data.coarsening.hierarchy import Hierarchy, hierarchy_from_covers
from sfumato.errors import NotIdentifiableError, TooLargeError
from sfumato.laws.base import Law, Published, Target
from sfumato.values.arrays import Floats
from sfumato.values.counts import LARGEST_TABLE, CountTable
from sfumato.values.estimates import Estimates, Feasibility
from sfumato.values.mixed_radix import MixedRadix
from sfumato.values.schema import Attribute, Schema
from sfumato.values.selection import Selection, Tabulation


@dataclass(frozen=True, eq=False)
class _Occupied:
    """Published combinations: codes of each attribute and how many rows, ``(n,)`` each."""

    codes: dict[str, npt.NDArray[Any]]
    counts: Floats


@dataclass(frozen=True, eq=False)
class _Weights:
    """What a published category says about membership in a set of original ones, each ``(published, cells)``."""

    share: Floats
    certain: Floats
    possible: Floats


class GeneralizedRows(Law):
    """Each published value stands for a public set of original categories; the true one is among them.

    Counts of original categories are then bounded for certain: below by the published rows whose every
    value lies inside what is asked, above by those that overlap it, plus the dropped rows. A point
    estimate needs an assumption: that within a published value the original categories are equally
    frequent, independently between attributes, and that dropped rows are like the others.

    Notes
    -----
    Under the assumption a row belongs to a cell with probability w, the product over attributes of the
    share of the published value's categories that are in the cell. The estimate is the sum of w, its
    variance the sum of w (1 - w). Neither says anything about how wrong the assumption is; bounds do.

    References
    ----------
    Guo (2010), section 5.3 (reconstruction by uniform spread); Xu et al. (2006).

    Examples
    --------
    >>> from sfumato.values.schema import Role
    >>> age = Attribute(name="age", role=Role.QUASI_IDENTIFIER, bins=(0, 10, 20, 30))
    >>> GeneralizedRows(attributes=(age,), covers={"age": ((0, 1), (2,))}, suppressed_rows=3).sentence
    'Each value of age stands for a public set of original categories that holds the true one; 3 rows were dropped.'
    """

    law: Literal["generalized-rows"] = "generalized-rows"
    attributes: Annotated[tuple[Attribute, ...], Field(min_length=1)]
    covers: dict[str, tuple[tuple[int, ...], ...]]
    suppressed_rows: Annotated[int, Field(ge=0)] | None

    estimate_is: ClassVar[str] = (
        "assumes that the categories behind a generalized value are equally frequent, attributes independent "
        "within it, and dropped rows like the others; not unbiased"
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        known = {each.name: each for each in self.attributes}
        for name, covers in self.covers.items():
            if name not in known:
                raise ValueError(f"covers names {name!r}, which is not an attribute of the law.")
            size = known[name].size
            if any(not cover or not set(cover) <= set(range(size)) for cover in covers):
                raise ValueError(f"a published value of {name!r} covers no category, or an unknown one.")
        return self

    def question_schema(self, published: Schema) -> Schema:
        """The attributes before generalization."""
        del published
        return Schema(attributes=self.attributes)

    def trees(self, published: Schema) -> dict[str, Hierarchy | None]:
        """Of every generalized attribute that has a column; values of local recoding may overlap and form none."""
        original = Schema(attributes=self.attributes)
        return {
            name: hierarchy_from_covers(original[name], published[name].labels, covers)
            for name, covers in self.covers.items()
            if name in published
        }

    def estimate(
        self, published: Published, tabulation: Tabulation, *, target: Target = "table"
    ) -> Estimates:
        """Estimates under the uniform-spread assumption, with bounds that hold without it."""
        schema = Schema(attributes=self.attributes)
        only_where = tuple(name for name in tabulation.where.names if name not in tabulation.by)
        rows = self._occupied(published, (*tabulation.by, *only_where))
        inside = self._product(rows, only_where, tabulation.where)
        _require_small([self._published_size(name) for name in tabulation.by], tabulation.by)
        by = [
            self._weights(schema[name], _cells(schema[name], tabulation.where.codes(name)))
            for name in tabulation.by
        ]
        shares = _tabulate(rows, inside.share, tabulation.by, [each.share for each in by])
        squares = _tabulate(rows, inside.share**2, tabulation.by, [each.share**2 for each in by])
        low = _tabulate(rows, inside.certain, tabulation.by, [each.certain for each in by])
        high = _tabulate(rows, inside.possible, tabulation.by, [each.possible for each in by])
        values, variances = self._with_suppressed(shares, shares - squares, published.number_of_rows, target)
        bounds = (low, high + self._most_suppressed) if target == "table" else None
        return Estimates(values, variances, bounds=bounds)

    def estimate_selections(
        self, published: Published, selections: Sequence[Selection], *, target: Target = "table"
    ) -> Estimates:
        """Estimates for selections that may overlap, with covariance and bounds."""
        names = tuple(dict.fromkeys(name for each in selections for name in each.names))
        rows = self._occupied(published, names)
        weights = [self._product(rows, names, each) for each in selections]
        number = len(selections)
        values = np.array([each.share @ rows.counts for each in weights])
        covariance = np.empty((number, number))
        published_rows = max(published.number_of_rows, 1)
        for i, j in itertools.product(range(number), repeat=2):
            both = self._product(rows, names, selections[i] & selections[j]).share
            product = weights[i].share * weights[j].share
            drawn = self._rows_drawn(published_rows, target)
            shared = float(both @ rows.counts)
            spread = shared / published_rows - values[i] * values[j] / published_rows**2
            covariance[i, j] = shared - float(product @ rows.counts) + drawn * spread
        scale = 1 + (self.suppressed_rows or 0) / published_rows
        bounds = None
        if target == "table":
            low = np.array([each.certain @ rows.counts for each in weights])
            high = np.array([each.possible @ rows.counts for each in weights])
            bounds = (low, high + self._most_suppressed)
        variances = np.clip(np.diagonal(covariance), 0, None)
        return Estimates(values * scale, variances, covariance, bounds=bounds)

    def consistent(
        self, published: Published, tabulation: Tabulation, *, feasibility: Feasibility = "projection"
    ) -> Floats:
        """The estimates themselves: they are never negative and add up."""
        del feasibility
        return self.estimate(published, tabulation).values

    def expected_standard_errors(self, true_counts: CountTable) -> Floats:
        """Refused: the error is no noise, but how wrong the assumption is for these data."""
        del true_counts
        raise NotIdentifiableError(
            "the error of counts from generalized rows is no chance error, so it has no expected size. "
            "Publish, and compare the estimates with the truth in an audit; or read the certain bounds."
        )

    @property
    def sentence(self) -> str:
        """The link in words."""
        names = " and ".join(self.covers) or "no attribute"
        dropped = (
            "an unknown number of rows was dropped"
            if self.suppressed_rows is None
            else f"{self.suppressed_rows:,} rows were dropped"
        )
        return (
            f"Each value of {names} stands for a public set of original categories that holds the true one; "
            f"{dropped}."
        )

    @property
    def _most_suppressed(self) -> float:
        return np.inf if self.suppressed_rows is None else float(self.suppressed_rows)

    def _rows_drawn(self, published_rows: int, target: Target) -> int:
        """Rows about which nothing is published but the whole: dropped ones, or a whole table drawn anew."""
        suppressed = self.suppressed_rows or 0
        return suppressed if target == "table" else suppressed + published_rows

    def _with_suppressed(
        self, values: Floats, variances: Floats, published_rows: int, target: Target
    ) -> tuple[Floats, Floats]:
        shares = values / max(published_rows, 1)
        drawn = self._rows_drawn(published_rows, target)
        scaled = values + shares * (self.suppressed_rows or 0)
        return scaled, np.clip(variances, 0, None) + drawn * shares * (1 - shares)

    def _published_size(self, name: str) -> int:
        schema = Schema(attributes=self.attributes)
        return len(self.covers[name]) if name in self.covers else schema[name].size

    def _occupied(self, published: Published, names: tuple[str, ...]) -> _Occupied:
        """Published combinations of some attributes with their counts.

        An attribute generalized to one value that stands for everything has no column; it is constant.
        """
        columns = [name for name in names if self._published_size(name) > 1]
        if not columns:
            counts = np.array([float(published.number_of_rows)])
            return _Occupied(dict.fromkeys(names, np.zeros(1, dtype=np.int64)), counts)
        found = published.count_occupied(columns)
        nothing = np.zeros(len(found.counts), dtype=np.int64)
        codes = {name: found.codes_of(name) if name in columns else nothing for name in names}
        return _Occupied(codes, found.counts.astype(np.float64))

    def _weights(self, attribute: Attribute, cells: Sequence[Sequence[int]]) -> _Weights:
        """For each published category and each set of original codes: share, certainty, possibility."""
        covers = self.covers.get(attribute.name, tuple((code,) for code in range(attribute.size)))
        below = np.zeros((len(covers), attribute.size))
        for place, cover in enumerate(covers):
            below[place, list(cover)] = 1
        asked = np.zeros((attribute.size, len(cells)))
        for place, codes in enumerate(cells):
            asked[list(codes), place] = 1
        overlap = below @ asked
        sizes = below.sum(axis=1, keepdims=True)
        return _Weights(overlap / sizes, np.asarray(overlap == sizes, float), np.asarray(overlap > 0, float))

    def _product(self, rows: _Occupied, names: Sequence[str], where: Selection) -> _Weights:
        """Weights of published combinations for the conditions on some attributes, ``(n,)`` each."""
        schema = Schema(attributes=self.attributes)
        ones = np.ones(len(rows.counts))
        result = _Weights(ones, ones, ones)
        for name in names:
            chosen = where.codes(name)
            if chosen is None:
                continue
            weights = self._weights(schema[name], [chosen])
            codes = rows.codes[name]
            result = _Weights(
                result.share * weights.share[codes, 0],
                result.certain * weights.certain[codes, 0],
                result.possible * weights.possible[codes, 0],
            )
        return result


def _require_small(sizes: Sequence[int], names: Sequence[str]) -> None:
    if math.prod(sizes) > LARGEST_TABLE:
        raise TooLargeError(
            f"a table over {', '.join(names)} has {math.prod(sizes):,} published cells; at most {LARGEST_TABLE:,} fit. "
            "Ask for fewer attributes, or condition on some of them instead of tabulating them."
        )


def _cells(attribute: Attribute, chosen: tuple[int, ...] | None) -> list[tuple[int, ...]]:
    return [(code,) for code in (range(attribute.size) if chosen is None else chosen)]


def _tabulate(rows: _Occupied, weights: Floats, names: Sequence[str], kernels: list[Floats]) -> Floats:
    """Weighted counts over some attributes, each axis multiplied by its kernel, flattened."""
    sizes = [len(kernel) for kernel in kernels]
    if not sizes:
        return np.array([weights @ rows.counts])
    keys = MixedRadix(sizes).encode([rows.codes[name] for name in names])
    table = np.bincount(keys, weights=weights * rows.counts, minlength=math.prod(sizes))
    return np.asarray(contract(table.reshape(sizes), list(kernels)).ravel())
