"""The law of generalization: bounds and posteriors from rows with coarser values, some suppressed."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from sfumato.arrays import Booleans, Floats, Integers, MixedRadix, in_parts
from sfumato.errors import NotIdentifiableError, ReleaseDamagedError
from sfumato.estimates.counts import CountTable, Feasibility
from sfumato.estimates.estimates import Certainties, Certainty
from sfumato.guarantees import Guarantee
from sfumato.guarantees.k_anonymity import SemanticKAnonymity
from sfumato.immutable import MOST_ROWS
from sfumato.laws.base import Law, Published
from sfumato.laws.estimator import (
    Formula,
    codes_shown,
    conditions_outside,
    names_of,
    require_small,
    second_moment,
)
from sfumato.laws.posterior import PSEUDO_COUNT, Posterior, SharedPrior, Targets
from sfumato.query.selection import Tabulation
from sfumato.randomness.distortion import AxisMatrix, columns_of, contract, squared
from sfumato.schema import Attribute, Schema
from sfumato.schema.hierarchies import Hierarchy, hierarchy_from_covers

# --------------------------------------------------------------------------------------------------
# What is believed of people from the classes of rows that they may be in.


DISTANCE = 0.7
"""Power with which a class's people are told apart by what is believed of them anyway: naive Bayes is too sure at 1."""

NUMBERS_AT_ONCE = 20_000_000
"""Pairs of people and classes looked at at a time."""


@dataclass(frozen=True, eq=False)
class PublishedClasses:
    """Published combinations of public values, with the sensitive values of their rows.

    Parameters
    ----------
    possible
        For each public attribute ``(classes, categories)``: whether a row of the class may have the category.
    counts
        ``(classes, values)``: published rows.

    Examples
    --------
    Two classes over one attribute of three categories; the first stands for two of them.

    >>> possible = np.array([[True, True, False], [False, False, True]])
    >>> classes = PublishedClasses((possible,), np.array([[3.0, 1.0], [0.0, 2.0]]))
    >>> even = np.full((3, 2), 0.5)
    >>> classes.beliefs(np.array([[0], [1], [2]]), even, are_members=True).tolist()
    [[0.75, 0.25], [0.75, 0.25], [0.0, 1.0]]
    """

    possible: Sequence[Booleans]
    counts: Floats = field(repr=False)

    def beliefs(self, combinations: Integers, prior: Floats, *, are_members: bool) -> Floats:
        """Beliefs about people, ``(combinations, values)``; of who may be in no class, the prior.

        A class's composition is what is believed of one of its rows. What is believed of a person anyway, beside
        what is believed of those who may be in the class on average, tells its people apart. Somebody who may be in
        several classes is in each in proportion to the rows that would have these public values, were they spread evenly.

        Parameters
        ----------
        combinations
            ``(combinations, attributes)``: public codes.
        prior
            ``(combinations, values)``.
        are_members
            Known to be in the table: one of the rows. Else like them.
        """
        rows = self.counts.sum(axis=1)
        covered = np.prod([each.sum(axis=1) for each in self.possible], axis=0, dtype=np.float64)
        parts = tuple(in_parts(len(combinations), each=len(rows), at_once=NUMBERS_AT_ONCE))
        sums, people = np.zeros_like(self.counts), np.zeros((len(rows), 1))
        for part in parts:
            may_be = self._matching(combinations[part])
            sums += may_be.T.astype(np.float64) @ prior[part]
            people += may_be.sum(axis=0)[:, np.newaxis]
        # Of a class that nobody asked about may be in, anything but 0 will do.
        average = np.divide(sums, people, out=np.ones_like(sums), where=people > 0)
        shares = self.counts if are_members else self.counts + PSEUDO_COUNT * average
        shares = shares / np.maximum(shares.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        # What the class says beyond the average belief; rows / covered is how many to expect with given public values.
        told = shares / average**DISTANCE
        told *= (rows / covered)[:, np.newaxis]
        found = prior.copy()
        for part in parts:
            weights = (self._matching(combinations[part]).astype(np.float64) @ told) * prior[part] ** DISTANCE
            total = weights.sum(axis=1, keepdims=True)
            np.divide(weights, total, out=found[part], where=total > 0)
        return found

    def rows_that_may_be(self, combinations: Integers, counts: Floats) -> Floats:
        """True rows that may stand behind each class by sensitive value, ``(classes, values)``.

        Parameters
        ----------
        combinations, counts
            ``(combinations, attributes)`` and ``(combinations, values)``: the rows of a table.
        """
        found = np.zeros_like(self.counts)
        for part in in_parts(len(combinations), each=len(self.counts), at_once=NUMBERS_AT_ONCE):
            found += self._matching(combinations[part]).T.astype(np.float64) @ counts[part]
        return found

    def _matching(self, combinations: Integers) -> Booleans:
        """Whether each person may be in each class, ``(combinations, classes)``."""
        found = np.ones((len(combinations), len(self.counts)), bool)
        for place, possible in enumerate(self.possible):
            found &= possible[:, combinations[:, place]].T
        return found


# --------------------------------------------------------------------------------------------------
# Rows whose values were replaced by coarser ones, and some of which were dropped.


Kind = Literal["share", "certain", "possible"]


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
    >>> from sfumato.schema import Role
    >>> age = Attribute(name="age", role=Role.QUASI_IDENTIFIER, bins=(0, 10, 20, 30))
    >>> GeneralizedRows(attributes=(age,), covers={"age": ((0, 1), (2,))}, suppressed_rows=3).sentence
    'Each value of age stands for a public set of original categories that holds the true one; 3 rows were dropped.'
    """

    law: Literal["generalized-rows"] = "generalized-rows"
    attributes: Annotated[tuple[Attribute, ...], Field(min_length=1)]
    covers: dict[str, tuple[tuple[int, ...], ...]]
    suppressed_rows: Annotated[int, Field(ge=0, le=MOST_ROWS)] | None
    left_out: tuple[str, ...] = ()
    """Attributes generalized to one value, which have no column; what their categories are is not published."""
    stated_classes_of: Annotated[int, Field(ge=1, le=MOST_ROWS)] | None = None
    """Rows of a class below which its rows were dropped, where nothing else of the private rows decided anything."""

    chosen_from_rows: ClassVar[tuple[str, ...]] = ("recoding", "hierarchy of", "k")
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
            if any(not cover or min(cover) < 0 or max(cover) >= size for cover in covers):
                raise ValueError(f"a published value of {name!r} covers no category, or an unknown one.")
        return self

    @cached_property
    def original(self) -> Schema:
        """The attributes before generalization."""
        return Schema(attributes=self.attributes).knowing_left_out(self.left_out)

    def promises(self, schema: Schema, stated: Guarantee) -> tuple[Guarantee, ...]:
        """Semantic k-anonymity where the recoding was stated beforehand (Li and Li, theorem 2); else tables must tell."""
        del schema, stated
        return () if self.stated_classes_of is None else (SemanticKAnonymity(k=self.stated_classes_of),)

    @property
    def without_column(self) -> tuple[str, ...]:
        """Those generalized to one value."""
        return self.left_out

    def question_schema(self, published: Schema) -> Schema:
        """The attributes before generalization, which the published ones must be made of."""
        for each in self.attributes:
            covers = self.covers.get(each.name)
            # Where all rows have one value there is no column.
            if each.name not in published:
                fits = self.published_size(each.name) == 1
            elif covers is None:
                fits = published[each.name].labels == each.labels
            else:
                fits = published[each.name].size == len(covers)
            if not fits:
                raise ReleaseDamagedError(
                    f"the release's law has categories of {each.name!r} that do not fit the column it publishes. "
                    "Get the release again from where it came."
                )
        return self.original

    def trees(self, published: Schema) -> dict[str, Hierarchy | None]:
        """Of every generalized attribute that has a column; values of local recoding may overlap and form none."""
        original = self.original
        return {
            name: hierarchy_from_covers(original[name], published[name].labels, covers)
            for name, covers in self.covers.items()
            if name in published
        }

    def formula(self, published: Published, asked: Sequence[Tabulation]) -> SpreadCounts:
        """Published combinations of the attributes asked about, each spread over what it stands for.

        Raises
        ------
        QueryError
            When all values of an attribute were merged into one.
        """
        names = names_of(asked)
        for name in self.left_out:
            if name in names:
                self.original[name]
        rows = published.number_of_rows + (self.suppressed_rows or 0)
        # An attribute generalized to one value that stands for everything has no column; it is constant.
        columns = [name for name in names if self.published_size(name) > 1]
        if not columns:
            counts = np.array([float(published.number_of_rows)])
            codes: dict[str, npt.NDArray[Any]] = dict.fromkeys(names, np.zeros(1, dtype=np.int64))
            return SpreadCounts(self, codes, counts, rows)
        found = published.count_occupied(columns)
        nothing = np.zeros(len(found.counts), dtype=np.int64)
        codes = {name: found.codes_of(name) if name in columns else nothing for name in names}
        return SpreadCounts(self, codes, found.counts.astype(np.float64), rows)

    def posterior(self, published: Published, targets: Targets, prior: SharedPrior) -> Posterior:
        """By the composition of the classes that a person may be in; of who is in none, the shared prior."""
        found = prior.at(targets.names, targets.combinations)
        if targets.sensitive.name in self.covers:
            return Posterior(found, targets.index)
        classes = self.classes(published, targets)
        beliefs = classes.beliefs(targets.combinations, found, are_members=targets.are_members)
        return Posterior(beliefs, targets.index)

    def classes(self, published: Published, targets: Targets) -> PublishedClasses:
        """Published combinations of the public attributes known, and what each may stand for."""
        columns = [name for name in targets.names if self.published_size(name) > 1]
        found = published.count_occupied((*columns, targets.sensitive.name))
        group = found.numbered(columns)
        _, first = np.unique(group, return_index=True)
        counts = np.zeros((first.size, targets.sensitive.size))
        np.add.at(counts, (group, found.codes_of(targets.sensitive.name).astype(np.int64)), found.counts)
        possible = []
        for each in targets.public:
            stands_for = self.weights(each.name, [(code,) for code in range(each.size)]).possible > 0
            codes = found.codes_of(each.name)[first] if each.name in columns else np.zeros(first.size, int)
            possible.append(stands_for[codes])
        return PublishedClasses(possible, counts)

    def consistent(
        self, published: Published, tabulation: Tabulation, *, feasibility: Feasibility = "projection"
    ) -> Floats:
        """The estimates themselves: they are never negative and add up."""
        del feasibility
        return self.estimate(published, tabulation).values

    def treats_alike(self, name: str) -> bool:
        """Yes: no category has an expected error."""
        del name
        return True

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
        names = " and ".join((*self.covers, *self.left_out)) or "no attribute"
        dropped = (
            "an unknown number of rows was dropped"
            if self.suppressed_rows is None
            else f"{self.suppressed_rows:,} rows were dropped"
        )
        return (
            f"Each value of {names} stands for a public set of original categories that holds the true one; "
            f"{dropped}."
        )

    def published_size(self, name: str) -> int:
        """Different values that an attribute has in the published rows."""
        if name in self.left_out:
            return 1
        return len(self.covers[name]) if name in self.covers else self.original[name].size

    def _covered(self, name: str) -> tuple[Integers, Integers, Integers]:
        """Every published category with each code that it stands for, and how many it stands for."""
        if name not in self.covers:
            codes = np.arange(self.original[name].size)
            return codes, codes, np.ones(len(codes), np.int64)
        lengths = np.array([len(each) for each in self.covers[name]], np.int64)
        codes = np.fromiter(itertools.chain.from_iterable(self.covers[name]), np.int64, int(lengths.sum()))
        return np.repeat(np.arange(len(lengths)), lengths), codes, lengths

    def weights(self, name: str, cells: Sequence[Sequence[int]]) -> Weights:
        """For each published category and each set of original codes: share, certainty, possibility."""
        size = self.original[name].size
        published, code, sizes = self._covered(name)
        overlap = np.empty((len(sizes), len(cells)))
        for place, codes in enumerate(cells):
            # A published category counts as often as one of its codes is asked for.
            is_asked = np.zeros(size, np.bool_)
            is_asked[list(codes)] = True
            overlap[:, place] = np.bincount(published[is_asked[code]], minlength=len(sizes))
        sizes = sizes[:, None]
        return Weights(overlap / sizes, np.asarray(overlap == sizes, float), np.asarray(overlap > 0, float))


@dataclass(frozen=True, eq=False)
class Weights:
    """What a published category says about membership in a set of original ones, each ``(published, cells)``."""

    share: Floats
    certain: Floats
    possible: Floats


@dataclass(frozen=True, eq=False)
class SpreadCounts(Formula):
    """Published combinations, each of which counts toward a cell by its share of it.

    Parameters
    ----------
    law
        What every published value stands for.
    codes, counts
        Published combinations: the code of each attribute, and how many rows, ``(n,)`` each.
    number_of_rows
        Published and dropped.
    """

    law: GeneralizedRows
    codes: Mapping[str, npt.NDArray[Any]]
    counts: Floats
    number_of_rows: float

    @property
    def _dropped(self) -> int:
        return self.law.suppressed_rows or 0

    @property
    def _published_rows(self) -> float:
        return max(self.number_of_rows - self._dropped, 1.0)

    def values(self, asked: Tabulation) -> Floats:
        """Sums of shares; dropped rows are taken to be like the others."""
        return self._spread(asked, "share") * (1 + self._dropped / self._published_rows)

    def variances(self, asked: Tabulation) -> Floats:
        """``sum w (1 - w)`` of published rows, and the variance of drawing the dropped ones."""
        shares = self._spread(asked, "share")
        kernels = [squared(each) for each in self._kernels(asked, "share")]
        squares = contract(self._counted(self._inside(asked, "share") ** 2, asked.by), kernels).ravel()
        share = shares / self._published_rows
        return shares - squares + self._dropped * share * (1 - share)

    def covariance(self, one: Tabulation, other: Tabulation) -> Floats:
        """The same for pairs: a row cannot be in two cells that do not overlap."""
        left, right = self._kernels(one, "share"), self._kernels(other, "share")
        table = self._counted(self._inside(one, "share") * self._inside(other, "share"), one.by)
        rows = self._published_rows
        both = self.shared(one, other) / (1 + self._dropped / rows)
        products = np.outer(self._spread(one, "share"), self._spread(other, "share"))
        return both - second_moment(table, left, right) + self._dropped * (both / rows - products / rows**2)

    def bounds(self, asked: Tabulation) -> tuple[Floats, Floats]:
        """Rows that are in a cell for certain, and those that may be, all dropped ones among them; of all rows dropped ones are some."""
        dropped = np.inf if self.law.suppressed_rows is None else float(self.law.suppressed_rows)
        is_everybody = not asked.by and not asked.where.conditions
        certain = self._spread(asked, "certain") + (self._dropped if is_everybody else 0)
        return certain, self._spread(asked, "possible") + dropped

    def certainty(self, asked: Tabulation, number: int) -> Certainties:
        """Exact where both bounds agree; else bounded: the spread is an assumption, which bounds do without."""
        del number
        low, high = self.bounds(asked)
        return np.where(low == high, Certainty.EXACT, Certainty.BOUNDED).astype(np.int8)

    def _spread(self, asked: Tabulation, kind: Kind) -> Floats:
        """Weighted counts of the cells, flattened."""
        table = self._counted(self._inside(asked, kind), asked.by)
        return contract(table, self._kernels(asked, kind)).ravel()

    def _inside(self, asked: Tabulation, kind: Kind) -> Floats:
        """Weights of published combinations for the conditions on attributes that are not shown, ``(n,)``."""
        result = np.ones(len(self.counts))
        for name, chosen in conditions_outside(asked.where, asked.by).conditions:
            result = result * getattr(self.law.weights(name, [chosen]), kind)[self.codes[name], 0]
        return result

    def _kernels(self, asked: Tabulation, kind: Kind) -> list[AxisMatrix]:
        """For each attribute that is shown, what its published categories count toward its cells."""
        return [
            getattr(
                self.law.weights(name, [(code,) for code in codes_shown(self.law.original, asked, name)]),
                kind,
            )
            if name in self.law.covers
            else columns_of(None, asked.where.codes(name))
            for name in asked.by
        ]

    def _counted(self, weights: Floats, names: Sequence[str]) -> Floats:
        """Weighted counts over the published categories of some attributes, one axis for each."""
        sizes = [self.law.published_size(name) for name in names]
        require_small(sizes, names)
        if not sizes:
            return np.asarray(weights @ self.counts)
        columns = [self.codes[name] for name in names]
        return np.asarray(MixedRadix(sizes).tabulate(columns, weights * self.counts), np.float64)
