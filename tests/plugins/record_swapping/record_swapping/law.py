"""The law of swapped rows."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from record_swapping.kernels.moments import (
    mean_weight,
    published_covariance,
    unbiased_cells,
    unbiased_covariance,
)
from sfumato.arrays import Floats
from sfumato.errors import NotIdentifiableError
from sfumato.estimates.counts import CountTable, Feasibility, feasible
from sfumato.estimates.estimates import Certainties, Certainty, all_claim
from sfumato.laws.base import Law, Published
from sfumato.laws.estimator import Formula, codes_shown, indicator, names_of
from sfumato.query.selection import Selection, Tabulation


class SwappedRows(Law):
    """Within groups, the swapped values of rows chosen at random were dealt out among these rows.

    Counts of the swapped attributes, and counts of the others, are exact, within every group too. What is between them
    is estimated without bias, and so is its covariance: :mod:`record_swapping.kernels.moments` has the derivation.

    Examples
    --------
    >>> SwappedRows(swapped=("job",), share=0.2).sentence
    'The values of job of 20 % of the rows, chosen at random, were dealt out among these rows.'
    """

    law: Literal["swapped-rows"] = "swapped-rows"
    swapped: Annotated[tuple[str, ...], Field(min_length=1)]
    within: tuple[str, ...] = ()
    share: Annotated[float, Field(gt=0, lt=1)]

    def number_chosen(self, rows: float) -> int:
        """How many rows of a group of that size were chosen; public, as the sizes are. Two at least were not."""
        return max(0, min(int(self.share * rows), int(rows) - 2))

    def formula(self, published: Published, asked: Sequence[Tabulation]) -> SwappedCounts:
        """Published counts over the groups and what is asked about."""
        return SwappedCounts(published, self, asked)

    def consistent(
        self, published: Published, tabulation: Tabulation, *, feasibility: Feasibility = "projection"
    ) -> Floats:
        """Counts that are not negative and have the same sum."""
        values = self.estimate(published, tabulation).values
        return feasible(values[None, :], np.array([max(values.sum(), 0.0)]), feasibility)[0]

    def expected_standard_errors(self, true_counts: CountTable) -> Floats:
        """By the moments of swapping; needs the groups among the attributes of the table."""
        if any(name not in true_counts.names for name in self.within):
            raise NotIdentifiableError(
                f"rows were swapped within groups of {' and '.join(self.within)}; errors depend on them. "
                "Give counts over these attributes too."
            )
        laid_out = laid_out_as(self, true_counts.names)
        table = true_counts.project(laid_out)
        variances = [
            _variances_of_cells(group, self.number_chosen(group.sum())) for group in by_group(self, table)
        ]
        back = [laid_out.index(name) for name in true_counts.names]
        return np.sqrt(np.array(variances).reshape(table.counts.shape).transpose(back))

    @property
    def changed_attributes(self) -> tuple[str, ...]:
        """What rows need not have as they truly are."""
        return self.swapped

    @property
    def sentence(self) -> str:
        """The link in words."""
        groups = f", within groups of equal {' and '.join(self.within)}" if self.within else ""
        return (
            f"The values of {' and '.join(self.swapped)} of {100 * self.share:g} % of the rows, chosen at random"
            f"{groups}, were dealt out among these rows."
        )


def laid_out_as(law: SwappedRows, names: Sequence[str]) -> tuple[str, ...]:
    """The attributes of the groups, then the others that are named, then the swapped ones that are."""
    others = [name for name in names if name not in (*law.swapped, *law.within)]
    return (*law.within, *others, *(name for name in names if name in law.swapped))


def by_group(law: SwappedRows, table: CountTable) -> Floats:
    """Counts ``(groups, rest, values)`` of a table that is laid out so."""
    sizes = np.array([each.size for each in table.attributes], dtype=np.int64)
    is_swapped = np.array([name in law.swapped for name in table.names], dtype=np.bool_)
    groups, values = sizes[: len(law.within)].prod(), sizes[is_swapped].prod()
    return np.asarray(table.counts, dtype=np.float64).reshape(groups, -1, values)


class SwappedCounts(Formula):
    """Unbiased counts from swapped rows.

    Parameters
    ----------
    published
        The release.
    law
        What was swapped, within what, and how much.
    asked
        The whole question.
    """

    def __init__(self, published: Published, law: SwappedRows, asked: Sequence[Tabulation]) -> None:
        self.law = law
        self.schema = published.schema
        self.number_of_rows = published.number_of_rows
        self.table = published.count_by(laid_out_as(law, names_of(asked)), Selection())
        shown = by_group(law, self.table)
        self.chosen = [law.number_chosen(each.sum()) for each in shown]
        estimated = [unbiased_cells(each, number) for each, number in zip(shown, self.chosen, strict=True)]
        self.cells = np.array(estimated)
        self._known: dict[tuple[Tabulation, Tabulation], Floats] = {}

    def values(self, asked: Tabulation) -> Floats:
        """Sums of estimated cells over the groups."""
        return np.asarray(np.tensordot(self._weights(asked), self.cells, axes=3))

    def variances(self, asked: Tabulation) -> Floats:
        """Unbiased; where that is nothing or less, those of a table without association. None where the counts are exact."""
        if not self._is_mixed(asked):
            return np.zeros(len(self._weights(asked)))
        variances = np.diagonal(self.covariance(asked, asked)).copy()
        short = variances <= 0
        if short.any():
            independent = self._covariance(self._weights(asked)[short], _covariance_without_association)
            variances[short] = np.diagonal(independent)
        return np.clip(variances, 0, None)

    def covariance(self, one: Tabulation, other: Tabulation) -> Floats:
        """Unbiased, added up over the groups; none with what is exact."""
        if not (self._is_mixed(one) and self._is_mixed(other)):
            return np.zeros((len(self._weights(one)), len(self._weights(other))))
        if (one, other) not in self._known:
            first, second = self._weights(one), self._weights(other)
            both = first if one == other else np.concatenate([first, second])
            whole = self._covariance(both, unbiased_covariance)
            self._known[one, other] = whole if one == other else whole[: len(first), len(first) :]
        return self._known[one, other]

    def certainty(self, asked: Tabulation, number: int) -> Certainties:
        """Exact unless swapped attributes are asked about together with others than those of the groups."""
        return all_claim(Certainty.ESTIMATED if self._is_mixed(asked) else Certainty.EXACT, number)

    def _is_mixed(self, asked: Tabulation) -> bool:
        swapped = [name in self.law.swapped for name in names_of([asked]) if name not in self.law.within]
        return any(swapped) and not all(swapped)

    def _covariance(self, weights: Floats, of_cells: object) -> Floats:
        """Covariance of sums weighted by ``(numbers, groups, rest, values)``."""
        result = np.zeros((len(weights), len(weights)))
        for group, chosen in enumerate(self.chosen):
            if chosen > 1:
                cells, apart = _told_apart(self.cells[group], weights[:, group])
                flat = apart.reshape(len(apart), -1)
                result += flat @ of_cells(cells, chosen).reshape(cells.size, cells.size) @ flat.T  # type: ignore[operator]
        return result

    def _weights(self, asked: Tabulation) -> Floats:
        """1 at the cells of the table that belong to each cell of a tabulation, ``(cells, groups, rest, values)``."""
        shown = [codes_shown(self.schema, asked, name) for name in asked.by]
        weights = []
        for codes in itertools.product(*shown):
            cell = dict(zip(asked.by, ((code,) for code in codes), strict=True))
            axes = [
                indicator(each.size, cell.get(each.name, asked.where.codes(each.name)))
                for each in self.table.attributes
            ]
            inside = np.ones(())
            for axis in axes:
                inside = np.multiply.outer(inside, axis)
            weights.append(inside.reshape(self.cells.shape))
        return np.array(weights).reshape(-1, *self.cells.shape)


def _told_apart(cells: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Cells and weights ``(numbers, rest, values)`` with the categories that no weight tells apart made one."""
    for axis in (0, 1):
        moved = np.moveaxis(weights, axis + 1, 0)
        places: dict[bytes, int] = {}
        # By their bytes, which is several times as quick for the few categories of an axis as sorting rows is.
        place = [places.setdefault(each.tobytes(), len(places)) for each in moved]
        first = [place.index(number) for number in range(len(places))]
        merging = np.eye(len(first))[place]
        cells = np.moveaxis(np.tensordot(merging.T, np.moveaxis(cells, axis, 0), axes=1), 0, axis)
        weights = np.moveaxis(moved[first], 0, axis + 1)
    return cells, weights


def _covariance_without_association(cells: Floats, chosen: int) -> Floats:
    """Of the estimates of a table with the same margins whose cells are what independence expects."""
    independent = np.outer(cells.sum(1), cells.sum(0)) / cells.sum()
    return published_covariance(independent, chosen) / (1 - mean_weight(cells.sum(), chosen)) ** 2


def _variances_of_cells(true: Floats, chosen: int) -> Floats:
    variances = np.einsum("asas->as", published_covariance(true, chosen))
    return np.asarray(variances / (1 - mean_weight(true.sum(), chosen)) ** 2)
