"""The law of distribution resampling: rows whose sensitive values were resampled from the table's own distribution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import ClassVar, Literal

import numpy as np

from sfumato.arrays import Floats, Integers
from sfumato.errors import NotIdentifiableError
from sfumato.estimates.counts import CountTable, Feasibility
from sfumato.estimates.estimates import Certainties, Certainty, Estimates, Limits, all_claim
from sfumato.estimates.exact_intervals import binomial_limits
from sfumato.laws.base import Law, Published
from sfumato.laws.estimator import Formula, JointCounts, Target, answer, names_of, without_errors
from sfumato.laws.posterior import Posterior, SharedPrior, Targets
from sfumato.query.selection import Tabulation


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
        "paper": "the published count; drawn attributes are independent in it, whatever they were, so that counts of "
        "them with others have no known error",
    }

    def formula(self, published: Published, asked: Sequence[Tabulation]) -> ResampledCounts:
        """Counts of one resampled attribute alone, or of attributes published as they are."""
        return ResampledCounts(published, self, asked)

    def posterior_without(
        self,
        published: Published,
        targets: Targets,
        values: Integers,
        prior: SharedPrior,
        generator: np.random.Generator,
    ) -> tuple[Posterior, Posterior]:
        """The same: a row's own value is no more in what it shows than anybody's."""
        if targets.sensitive.name not in self.attributes:
            return super().posterior_without(published, targets, values, prior, generator)
        same = self.posterior(published, targets, prior)
        return same, same

    def estimate_by(
        self, estimator: str, published: Published, tabulation: Tabulation, *, target: Target = "table"
    ) -> Estimates:
        """The published counts as they are."""
        if estimator not in self.estimators:
            return super().estimate_by(estimator, published, tabulation, target=target)
        asked = (tabulation,)
        found = answer(ResampledCounts(published, self, asked, is_unbiased=False), asked, target)
        names = names_of(asked)
        is_together = len(names) > 1 and not set(names).isdisjoint(self.attributes)
        return without_errors(found) if is_together else found

    def consistent(
        self, published: Published, tabulation: Tabulation, *, feasibility: Feasibility = "projection"
    ) -> Floats:
        """The published counts, which are never negative and add up."""
        del feasibility
        return self.estimate(published, tabulation).values

    def treats_alike(self, name: str) -> bool:
        """Yes: values are drawn by how many rows have them."""
        del name
        return True

    def expected_standard_errors(self, true_counts: CountTable) -> Floats:
        """``sqrt(f (1 - f/N))`` for a resampled attribute alone, 0 for attributes published as they are."""
        self.require_alone(true_counts.names)
        counts = np.asarray(true_counts.counts, dtype=np.float64)
        if not set(true_counts.names) & set(self.attributes):
            return np.zeros_like(counts)
        return np.asarray(np.sqrt(counts * (1 - counts / counts.sum())))

    @property
    def changed_attributes(self) -> tuple[str, ...]:
        """What rows do not have as they truly are."""
        return self.attributes

    @property
    def sentence(self) -> str:
        """The link in words."""
        names = " and ".join(self.attributes)
        return f"Each row's {names} was drawn anew from the table's own distribution."

    def require_alone(self, names: Sequence[str]) -> None:
        """Refuse a resampled attribute together with any other.

        Raises
        ------
        NotIdentifiableError
            With what can be asked instead.
        """
        drawn = [name for name in names if name in self.attributes]
        if drawn and len(set(names)) > 1:
            raise NotIdentifiableError(
                f"{drawn[0]!r} was drawn anew without regard to the rest of the row, so the release says nothing about "
                "how it goes with other attributes. Ask about it alone, or for estimator='paper', which pretends "
                "independence."
            )


class ResampledCounts(Formula):
    """Published counts; where an attribute was drawn anew, a multinomial draw about the true ones.

    Parameters
    ----------
    published
        The release.
    law
        Which attributes were drawn anew.
    asked
        The whole question.
    is_unbiased
        Refuse what the published counts do not estimate without bias.
    """

    def __init__(
        self,
        published: Published,
        law: ResampledRows,
        asked: Sequence[Tabulation],
        *,
        is_unbiased: bool = True,
    ) -> None:
        self._counts = JointCounts(published, asked)
        self.law = law
        self.is_unbiased = is_unbiased
        self.number_of_rows = published.number_of_rows

    def values(self, asked: Tabulation) -> Floats:
        """The published counts."""
        if self.is_unbiased:
            self.law.require_alone(names_of([asked]))
        return self._counts.cells(asked).ravel()

    def variances(self, asked: Tabulation) -> Floats:
        """``x (1 - x/N) N/(N-1)`` of a drawn attribute, estimated without bias; 0 of others."""
        values = self.values(asked)
        return self._inflation(asked, asked) * values * (1 - values / max(self.number_of_rows, 1))

    def covariance(self, one: Tabulation, other: Tabulation) -> Floats:
        """``x_both - x x'/N`` likewise; different attributes were drawn independently."""
        inflation = self._inflation(one, other)
        if not inflation:
            return np.zeros((self.values(one).size, self.values(other).size))
        products = np.outer(self.values(one), self.values(other))
        return np.asarray(inflation * (self.shared(one, other) - products / self.number_of_rows))

    def certainty(self, asked: Tabulation, number: int) -> Certainties:
        """Exact without a drawn attribute."""
        return all_claim(Certainty.ESTIMATED if self._is_drawn(asked) else Certainty.EXACT, number)

    def limits(self, asked: Tabulation, target: Target) -> Limits | None:
        """Of the binomial that a drawn count is; for a population of two draws in a row.

        Two draws have the variance of one of half as many rows.
        """
        if not self.is_unbiased:
            return None
        draws = 1 if target == "table" else 2
        values, rows = self.values(asked) / draws, max(self.number_of_rows, 1) / draws
        return partial(_ends_of_draws, values, rows, draws)

    def _is_drawn(self, asked: Tabulation) -> bool:
        return not {*names_of([asked])}.isdisjoint(self.law.attributes)

    def _inflation(self, one: Tabulation, other: Tabulation) -> float:
        drawn = {*names_of([one])} & {*names_of([other])} & {*self.law.attributes}
        return self.number_of_rows / max(self.number_of_rows - 1, 1) if drawn else 0.0


def _ends_of_draws(values: Floats, rows: float, draws: int, confidence_level: float) -> tuple[Floats, Floats]:
    low, high = binomial_limits(values, values, rows, confidence_level)
    return draws * low, draws * high
