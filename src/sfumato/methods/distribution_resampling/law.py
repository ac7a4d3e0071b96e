"""Rows whose sensitive values were replaced by draws from the table's own distribution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np

from sfumato.errors import NotIdentifiableError
from sfumato.laws.base import Law, Published, Target
from sfumato.values.arrays import Floats
from sfumato.values.counts import CountTable
from sfumato.values.estimates import Estimates, Feasibility
from sfumato.values.selection import Selection, Tabulation


class ResampledRows(Law):
    """Each row shows a value drawn, with replacement, from all rows' values of the attribute.

    The count of a value alone is Binomial(N, f/N), unbiased. What a row shows does not depend on the row
    itself, so nothing is left of how a resampled attribute goes with any other: such counts are refused.
    The estimator ``"paper"`` gives the published count, as Fu et al. (2014) do; its expectation is that
    of independent attributes.

    Examples
    --------
    >>> print(ResampledRows(attributes=("job",)).sentence)
    Each row's job was drawn anew from the table's own distribution.
    """

    law: Literal["resampled-rows"] = "resampled-rows"
    attributes: tuple[str, ...]

    estimators: ClassVar[Mapping[str, str]] = {
        "paper": "the published count; drawn attributes are independent in it, whatever they were",
    }

    def estimate(
        self, published: Published, tabulation: Tabulation, *, target: Target = "table"
    ) -> Estimates:
        """Counts of one resampled attribute alone, or of attributes published as they are."""
        self._require_alone((*tabulation.by, *tabulation.where.names))
        return self._counted(published, tabulation, target)

    def estimate_by(
        self, estimator: str, published: Published, tabulation: Tabulation, *, target: Target = "table"
    ) -> Estimates:
        """The published counts as they are."""
        if estimator not in self.estimators:
            return super().estimate_by(estimator, published, tabulation, target=target)
        return self._counted(published, tabulation, target)

    def estimate_selections(
        self, published: Published, selections: Sequence[Selection], *, target: Target = "table"
    ) -> Estimates:
        """Counts of selections about one resampled attribute alone; multinomial covariance."""
        names = tuple(dict.fromkeys(name for each in selections for name in each.names))
        self._require_alone(names)
        table = published.count_by(names, Selection())
        indicators = np.array([_indicator(table, each) for each in selections])
        counts = np.asarray(table.counts, dtype=np.float64).ravel()
        drawn = any(name in self.attributes for name in names)
        covariance = _multinomial(counts, published.number_of_rows) * (drawn + (target == "population"))
        return Estimates.with_covariance(indicators @ counts, indicators @ covariance @ indicators.T)

    def consistent(
        self, published: Published, tabulation: Tabulation, *, feasibility: Feasibility = "projection"
    ) -> Floats:
        """The published counts, which are never negative and add up."""
        del feasibility
        return self.estimate(published, tabulation).values

    def expected_standard_errors(self, true_counts: CountTable) -> Floats:
        """``sqrt(f (1 - f/N))`` for a resampled attribute alone, 0 for attributes published as they are."""
        self._require_alone(true_counts.names)
        counts = np.asarray(true_counts.counts, dtype=np.float64)
        if not set(true_counts.names) & set(self.attributes):
            return np.zeros_like(counts)
        return np.asarray(np.sqrt(counts * (1 - counts / counts.sum())))

    @property
    def sentence(self) -> str:
        """The link in words."""
        names = " and ".join(self.attributes)
        return f"Each row's {names} was drawn anew from the table's own distribution."

    def _require_alone(self, names: Sequence[str]) -> None:
        drawn = [name for name in names if name in self.attributes]
        if drawn and len(set(names)) > 1:
            raise NotIdentifiableError(
                f"{drawn[0]!r} was drawn anew without regard to the rest of the row, so the release says nothing about "
                "how it goes with other attributes. Ask about it alone, or for estimator='paper', which pretends "
                "independence."
            )

    def _counted(self, published: Published, tabulation: Tabulation, target: Target) -> Estimates:
        table = published.count_by(tabulation.by, tabulation.where)
        counts = np.asarray(table.counts, dtype=np.float64)
        for axis, name in enumerate(tabulation.by):
            if (chosen := tabulation.where.codes(name)) is not None:
                counts = counts.take(list(chosen), axis=axis)
        values = counts.ravel()
        drawn = any(name in self.attributes for name in (*tabulation.by, *tabulation.where.names))
        # One draw of the values and, for a population, one of the rows: each multinomial.
        draws = drawn + (target == "population")
        return Estimates.with_covariance(values, _multinomial(values, published.number_of_rows) * draws)


def _multinomial(counts: Floats, rows: int) -> Floats:
    """Covariance of the cells of so many independent draws, from the drawn counts, without bias."""
    return np.asarray((np.diag(counts) - np.outer(counts, counts) / rows) * rows / max(rows - 1, 1))


def _indicator(table: CountTable, selection: Selection) -> Floats:
    """Which cells of a table a selection chooses, flattened."""
    result = np.ones(table.counts.shape)
    for axis, attribute in enumerate(table.attributes):
        chosen = selection.codes(attribute.name)
        if chosen is not None:
            inside = np.zeros(attribute.size)
            inside[list(chosen)] = 1
            result *= inside.reshape([-1 if place == axis else 1 for place in range(result.ndim)])
    return result.ravel()
