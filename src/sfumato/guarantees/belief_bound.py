"""Belief bound: a small belief does not become a large one (no rho1-to-rho2 breach)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from sfumato.guarantees.amplification import Amplification, gamma_of_beliefs
from sfumato.guarantees.base import Guarantee, PublishedTables
from sfumato.values.number_text import percent

Belief = Annotated[float, Field(gt=0, lt=1)]


class BeliefBound(Guarantee):
    """Whoever believed a fact at most ``prior`` before publication believes it at most ``posterior`` after.

    Promise
        No property of a row's perturbed values that had probability at most rho1 (``prior``) has more than
        rho2 (``posterior``) once the published row is seen.
    Against whom
        Anyone with the release and the matrices, whatever the prior distribution.
    Weaknesses
        A belief above rho1 beforehand is not covered, and the group of a person may already put it there.

    References
    ----------
    Evfimievski, Gehrke and Srikant (2003); Guo (2010), definition 6, whose text leaves out the condition
    ``gamma < rho2 (1 - rho1) / (rho1 (1 - rho2))``.

    Examples
    --------
    >>> BeliefBound(prior=0.1, posterior=0.5).is_implied_by(gamma=9.0)
    True
    >>> BeliefBound(prior=0.1, posterior=0.5).is_implied_by(gamma=9.1)
    False
    """

    guarantee: Literal["belief-bound"] = "belief-bound"
    prior: Belief
    posterior: Belief

    protected_unit: ClassVar[str] = "any property of one row's perturbed values"
    neighbours: ClassVar[str] = "any two combinations of true values of one row"
    attacker: ClassVar[str] = "sees the release and the matrices, and has any prior belief up to rho1"
    reference: ClassVar[str] = "Evfimievski, Gehrke and Srikant (2003), definition of rho1-to-rho2 breaches"

    @model_validator(mode="after")
    def _check(self) -> Self:
        gamma_of_beliefs(self.prior, self.posterior)
        return self

    @property
    def largest_gamma(self) -> float:
        """The largest amplification of a whole row that keeps the promise."""
        return gamma_of_beliefs(self.prior, self.posterior)

    def is_implied_by(self, *, gamma: float) -> bool:
        """Whether an amplification of the whole row keeps the promise, up to rounding."""
        return gamma <= self.largest_gamma * (1 + 1e-12)

    def follows_from(self, premises: Sequence[Guarantee], published: PublishedTables) -> bool:
        """Whether an amplification of whole rows that the law gives keeps it."""
        del published
        return any(
            isinstance(each, Amplification)
            and self.is_under(each.given)
            and self.is_implied_by(gamma=each.gamma_of_row)
            for each in premises
        )

    @property
    def sentence(self) -> str:
        """The promise with its numbers."""
        return f"no breach from {self.prior:.4g} to more than {self.posterior:.4g}: rho1-rho2 privacy."

    @property
    def plain_words(self) -> str:
        """The promise for a reader who is not a statistician."""
        return (
            f"Someone who thought a fact about a person at most {percent(self.prior)} likely cannot become more than "
            f"{percent(self.posterior)} sure of it by seeing that person's published row."
        )
