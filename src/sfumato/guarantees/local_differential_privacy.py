"""Local differential privacy: each published row hides its own true value."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from sfumato.errors import ParameterError
from sfumato.guarantees.base import Guarantee


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
        stop an attacker from learning what is true of a *group*, and so likely of its members.

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

    protected_unit: ClassVar[str] = "the true values of one row's perturbed attributes"
    neighbours: ClassVar[str] = "any two combinations of true values of one row"
    attacker: ClassVar[str] = "sees the release and all public parameters, and may know every other row"
    reference: ClassVar[str] = "Evfimievski, Gehrke and Srikant (2003); Duchi, Jordan and Wainwright (2013)"

    @property
    def epsilon(self) -> float:
        """The total over a row's perturbed attributes."""
        return sum(self.epsilon_by_attribute.values())

    @property
    def sentence(self) -> str:
        """The promise with its numbers."""
        parts = ", ".join(f"{name} {value:.4g}" for name, value in self.epsilon_by_attribute.items())
        total = f"{self.epsilon:.4g}-local differential privacy for each row"
        covered = f"{total} (epsilon by attribute: {parts})"
        if not self.unprotected:
            return f"{covered}."
        return f"{covered}; published unperturbed and not covered: {', '.join(self.unprotected)}."

    @property
    def plain_words(self) -> str:
        """The promise for a reader who is not a statistician."""
        factor = math.exp(self.epsilon)
        names = " and ".join(self.epsilon_by_attribute)
        odds = f"{factor:,.1f}" if factor < 1e6 else f"{factor:.1e}"
        return (
            f"Each person's {names} was randomly changed before publication. Whatever anyone believed about "
            f"a person's {names}, seeing that person's published row can change the odds by a factor of at most {odds}."
        )


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
