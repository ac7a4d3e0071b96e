"""Local differential privacy: each published row hides its own true value."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from sfumato.errors import ParameterError
from sfumato.guarantees.base import LARGEST_EXPONENT, Guarantee
from sfumato.values.bounds import MOST_ROWS


class LocalDifferentialPrivacy(Guarantee):
    """Every published value could come from any true value, by a factor of at most exp(epsilon).

    Promise
        For every perturbed attribute, every two true categories and every published one, the
        probabilities of publishing it differ by a factor of at most exp(epsilon of the attribute).
        The attributes of one row are perturbed independently, so their epsilons add up.
    Against whom
        Anyone who sees the release, knows the method and the matrices, and may know everything about
        all other rows.
    Weaknesses
        It covers the perturbed attributes only: the others are published as they are. It does not
        stop an attacker from learning what is true of a *group*, and so likely of its members. An
        attribute whose matrix makes some published category impossible for some true one has no
        finite epsilon; it is listed as unbounded, and then the row as a whole has none either.

    References
    ----------
    Evfimievski, Gehrke and Srikant (2003), amplification; Duchi, Jordan and Wainwright (2013).

    Examples
    --------
    >>> promise = LocalDifferentialPrivacy(epsilon_by_attribute={"job": 1.0, "pay": 0.5}, unprotected=("sex",))
    >>> promise.epsilon
    1.5
    """

    guarantee: Literal["local-differential-privacy"] = "local-differential-privacy"
    epsilon_by_attribute: dict[str, Annotated[float, Field(gt=0)]]
    unprotected: tuple[str, ...] = ()
    unbounded: tuple[str, ...] = ()
    rows_per_unit: Annotated[int, Field(ge=1, le=MOST_ROWS)] = 1

    protected_unit: ClassVar[str] = "the true values of one row's perturbed attributes"
    neighbours: ClassVar[str] = "any two combinations of true values of one row"
    attacker: ClassVar[str] = "sees the release and all public parameters, and may know every other row"
    reference: ClassVar[str] = "Evfimievski, Gehrke and Srikant (2003); Duchi, Jordan and Wainwright (2013)"

    def is_within(self, other: LocalDifferentialPrivacy) -> bool:
        """Whether the other's epsilons, for units of as many rows, are no larger, and it leaves no more uncovered."""
        if self.rows_per_unit % other.rows_per_unit:
            return False
        other = other.for_units(self.rows_per_unit // other.rows_per_unit)
        return (
            self.is_under(other.given)
            and set(other.unbounded) <= set(self.unbounded)
            and set(other.unprotected) <= set(self.unprotected)
            and all(
                epsilon >= other.epsilon_by_attribute.get(name, math.inf)
                for name, epsilon in self.epsilon_by_attribute.items()
            )
        )

    @property
    def epsilon(self) -> float:
        """The total over a row's perturbed attributes, never rounded down; infinite when one of them has no bound."""
        if self.unbounded:
            return math.inf
        parts = self.epsilon_by_attribute.values()
        total = math.fsum(parts)
        return total if total >= sum(map(Fraction, parts)) else math.nextafter(total, math.inf)

    @property
    def sentence(self) -> str:
        """The promise with its numbers."""
        parts = ", ".join(f"{name} {value:.4g}" for name, value in self.epsilon_by_attribute.items())
        by_attribute = f" (epsilon by attribute: {parts})" if parts else ""
        uncovered = (
            f"; published unperturbed and not covered: {', '.join(self.unprotected)}"
            if self.unprotected
            else ""
        )
        if not self.unbounded:
            return f"{self.epsilon:.4g}-local differential privacy for each {self._unit}{by_attribute}{uncovered}."
        return (
            f"no finite epsilon for each {self._unit}, because some published categories of {_joined(self.unbounded)} "
            f"rule out some true ones{by_attribute}{uncovered}."
        )

    @property
    def _unit(self) -> str:
        return "row" if self.rows_per_unit == 1 else f"unit of at most {self.rows_per_unit} rows"

    def for_units(self, rows_per_unit: int) -> LocalDifferentialPrivacy:
        """The same promise for units of at most so many rows: rows are perturbed independently, so epsilons add up.

        Examples
        --------
        >>> LocalDifferentialPrivacy(epsilon_by_attribute={"job": 0.5}).for_units(3).sentence
        '1.5-local differential privacy for each unit of at most 3 rows (epsilon by attribute: job 1.5).'
        """
        if rows_per_unit == 1:
            return self
        epsilons = {
            name: math.nextafter(rows_per_unit * epsilon, math.inf)
            for name, epsilon in self.epsilon_by_attribute.items()
        }
        return self.model_copy(
            update={"epsilon_by_attribute": epsilons, "rows_per_unit": self.rows_per_unit * rows_per_unit}
        )

    @property
    def plain_words(self) -> str:
        """The promise for a reader who is not a statistician."""
        covered = tuple(self.epsilon_by_attribute)
        changed = (
            f"Each person's {_joined((*covered, *self.unbounded))} was randomly changed before publication."
        )
        exception = (
            f" There is no such limit for {_joined(self.unbounded)}: some published values rule out some true ones."
            if self.unbounded
            else ""
        )
        if not covered:
            return changed + exception
        factor = math.exp(min(sum(self.epsilon_by_attribute.values()), LARGEST_EXPONENT))
        odds = f"{factor:,.1f}" if factor < 1e6 else f"{factor:.1e}"
        return (
            f"{changed} Whatever anyone believed about a person's {_joined(covered)}, seeing that person's "
            f"published {'row' if self.rows_per_unit == 1 else 'rows'} can change the odds by a factor of at most {odds}.{exception}"
        )

    def describe(self) -> dict[str, str]:
        """What a manifest states beside the numbers, about the units that the promise is made for."""
        described = super().describe()
        if self.rows_per_unit > 1:
            whose = f"one unit, a person with at most {self.rows_per_unit} rows"
            described["protected_unit"] = (
                f"the true values of the perturbed attributes in all rows of {whose}"
            )
            described["neighbours"] = f"any two combinations of true values of the rows of {whose}"
        return described


def _joined(names: tuple[str, ...]) -> str:
    return " and ".join(names)


def epsilon_of_retention(retention: float, size: int) -> float:
    """Epsilon of uniform perturbation: ln(1 + p m / (1 - p)).

    The diagonal entry over any other of its column is (p + (1-p)/m) / ((1-p)/m) = 1 + p m/(1-p).

    Examples
    --------
    >>> round(epsilon_of_retention(0.5, 2), 12) == round(math.log(3), 12)
    True
    """
    return math.log1p(retention * size / (1 - retention))


def retention_of_epsilon(epsilon: float, size: int) -> float:
    """Retention probability that gives uniform perturbation this epsilon: (e^epsilon - 1) / (e^epsilon - 1 + m).

    Examples
    --------
    >>> round(retention_of_epsilon(math.log(3), 2), 12)
    0.5
    """
    if epsilon <= 0:
        raise ParameterError(
            f"epsilon must be above 0, got {epsilon}. Zero would publish pure noise; try 1.",
            parameter="epsilon",
        )
    # Divided by e^epsilon, so that a large epsilon cannot overflow.
    grown = -math.expm1(-epsilon)
    return grown / (grown + size * math.exp(-epsilon))
