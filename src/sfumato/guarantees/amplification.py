"""Amplification (rho1-to-rho2 privacy): how far one published value can move a posterior."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from sfumato.errors import ParameterError
from sfumato.guarantees.base import Guarantee, PublishedTables
from sfumato.text import percent

# --------------------------------------------------------------------------------------------------
# Amplification: how far one published value can move a belief (rho1-to-rho2).


class Amplification(Guarantee):
    """A belief of at most rho1 before publication stays at most rho2 after it.

    Promise
        A distortion matrix whose column entries differ by a factor of at most ``gamma`` multiplies the
        odds of any property of a row by at most gamma; so a prior of rho1 becomes at most
        ``gamma rho1 / (1 - rho1 + gamma rho1)``, for every prior distribution.
    Against whom
        Anyone who sees the release and the matrices, with any prior, about one perturbed attribute.
    Weaknesses
        The prior is the attacker's belief *given all else the attacker knows*: the group of the person
        may already make it high. Several perturbed attributes multiply their gammas. An attribute
        listed as unbounded has no gamma: some published category of it rules out some true one.

    References
    ----------
    Evfimievski, Gehrke and Srikant (2003), statement 1; Guo (2010), section 5.1; Han (2016), chapter 2.

    Examples
    --------
    >>> promise = Amplification(gamma_by_attribute={"job": 9.0})
    >>> round(promise.largest_posterior(0.1), 12)
    0.5
    """

    guarantee: Literal["amplification"] = "amplification"
    gamma_by_attribute: dict[str, Annotated[float, Field(ge=1)]]
    unbounded: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _refuse_nothing(self) -> Self:
        if not self.gamma_by_attribute and not self.unbounded:
            raise ParameterError(
                "amplification is about at least one attribute. Name those that are perturbed.",
                parameter="gamma_by_attribute",
            )
        return self

    protected_unit: ClassVar[str] = "the true value of one row's perturbed attribute"
    neighbours: ClassVar[str] = "any two true categories of the attribute"
    attacker: ClassVar[str] = "sees the release and the matrices, and has any prior belief"
    reference: ClassVar[str] = "Evfimievski, Gehrke and Srikant (2003), statement 1"

    def is_within(self, other: Self) -> bool:
        """Whether the other's gammas, of the same attributes or more, are no larger."""
        return (
            self.is_under(other.given)
            and set(other.unbounded) <= set(self.unbounded)
            and all(
                gamma >= other.gamma_by_attribute.get(name, math.inf)
                for name, gamma in self.gamma_by_attribute.items()
            )
        )

    @property
    def gamma_of_row(self) -> float:
        """Amplification of all perturbed attributes of a row together; infinite when one has no bound."""
        return math.inf if self.unbounded else math.prod(self.gamma_by_attribute.values())

    @property
    def gamma(self) -> float:
        """The largest gamma of an attribute; infinite when one of them has no bound."""
        return math.inf if self.unbounded else max(self.gamma_by_attribute.values())

    def largest_posterior(self, prior: float) -> float:
        """The largest belief after publication, from a belief before it (rho2 from rho1)."""
        return largest_posterior(prior, self.gamma)

    @property
    def sentence(self) -> str:
        """The promise with its numbers."""
        parts = ", ".join(f"{name} {value:.4g}" for name, value in self.gamma_by_attribute.items())
        if self.unbounded:
            listed = f" (by attribute: {parts})" if parts else ""
            return f"no bound on amplification, because of {', '.join(self.unbounded)}{listed}."
        return (
            f"amplification at most gamma (by attribute: {parts}): "
            f"a prior of 10 % becomes at most {percent(self.largest_posterior(0.1), decimals=1)} from one published value."
        )

    @property
    def plain_words(self) -> str:
        """The promise for a reader who is not a statistician."""
        if self.unbounded:
            return (
                f"Some published values of {' and '.join(self.unbounded)} rule out some true ones, "
                "so seeing one can make a doubtful fact certain."
            )
        return (
            "Someone who thought a fact about one published value was 10 % likely cannot become more than "
            f"{percent(self.largest_posterior(0.1))} sure of it by seeing that value."
        )


def largest_posterior(prior: float, gamma: float) -> float:
    """Rho2 from rho1: gamma rho1 / (1 - rho1 + gamma rho1).

    Examples
    --------
    >>> largest_posterior(0.5, 3.0)
    0.75
    """
    if math.isinf(gamma):
        return 1.0
    return gamma * prior / (1 - prior + gamma * prior)


def gamma_of_beliefs(prior: float, posterior: float) -> float:
    """The gamma that lets a prior of rho1 reach rho2 and no more: rho2 (1-rho1) / (rho1 (1-rho2)).

    Examples
    --------
    >>> round(gamma_of_beliefs(0.1, 0.5), 12)
    9.0
    """
    if not 0 < prior < posterior < 1:
        raise ParameterError(
            f"beliefs must satisfy 0 < prior < posterior < 1, got {prior} and {posterior}. "
            "The prior is the belief before publication, the posterior the largest allowed after it."
        )
    return posterior * (1 - prior) / (prior * (1 - posterior))


def gamma_of_retention(retention: float, size: int) -> float:
    """Gamma of uniform perturbation: 1 + p m / (1 - p).

    Examples
    --------
    >>> gamma_of_retention(0.5, 2)
    3.0
    """
    return 1 + retention * size / (1 - retention)


def retention_of_gamma(gamma: float, size: int) -> float:
    """The largest retention of uniform perturbation that keeps amplification at gamma: (gamma-1)/(gamma-1+m).

    Examples
    --------
    >>> round(retention_of_gamma(9, 50), 4), round(retention_of_gamma(9, 2), 4)
    (0.1379, 0.8)
    """
    return (gamma - 1) / (gamma - 1 + size)


# --------------------------------------------------------------------------------------------------
# Belief bound: a small belief does not become a large one (no rho1-to-rho2 breach).


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


# --------------------------------------------------------------------------------------------------
# Belief growth: no belief rises by more than delta (Delta-growth).


class BeliefGrowth(Guarantee):
    """No belief about a row rises by more than ``growth``, wherever it began.

    Promise
        For every prior and every property of a row's perturbed values, posterior minus prior is at most
        Delta (``growth``). With Delta = rho2 - rho1 there is no rho1-to-rho2 breach either.
    Against whom
        Anyone with the release and the matrices.
    Weaknesses
        Small beliefs may be multiplied while growing little: 0.001 to 0.1 is a growth of 0.099.

    References
    ----------
    Tao, Xiao, Li and Zhang (2008); Han (2016), section 2.

    Examples
    --------
    >>> BeliefGrowth.from_amplification(9.0).growth
    0.5
    """

    guarantee: Literal["belief-growth"] = "belief-growth"
    growth: Annotated[float, Field(gt=0, lt=1)]

    protected_unit: ClassVar[str] = "any property of one row's perturbed values"
    neighbours: ClassVar[str] = "any two combinations of true values of one row"
    attacker: ClassVar[str] = "sees the release and the matrices, and has any prior belief"
    reference: ClassVar[str] = (
        "Tao, Xiao, Li and Zhang (2008), On anti-corruption privacy preserving publication"
    )

    @classmethod
    def from_amplification(cls, gamma: float) -> BeliefGrowth:
        """The growth that an amplification allows."""
        return cls(growth=largest_growth(gamma))

    def follows_from(self, premises: Sequence[Guarantee], published: PublishedTables) -> bool:
        """Whether an amplification of whole rows that the law gives keeps it."""
        del published
        return any(
            isinstance(each, Amplification)
            and self.is_under(each.given)
            and self.growth >= largest_growth(each.gamma_of_row)
            for each in premises
        )

    @property
    def sentence(self) -> str:
        """The promise with its numbers."""
        return f"Delta-growth: no belief rises by more than {self.growth:.4g}."

    @property
    def plain_words(self) -> str:
        """The promise for a reader who is not a statistician."""
        points = f"{100 * self.growth:.3g} percentage points"
        return f"Seeing a person's published row cannot make anyone more than {points} surer of a fact about that person."


def largest_growth(gamma: float) -> float:
    """Largest rise of a belief under an amplification: (sqrt(gamma) - 1) / (sqrt(gamma) + 1).

    Notes
    -----
    ``gamma r / (1 - r + gamma r) - r`` is largest at ``r = 1/(1 + sqrt(gamma))``, where the belief becomes
    ``sqrt(gamma)/(1 + sqrt(gamma))``.

    Examples
    --------
    >>> largest_growth(4.0) == (2 - 1) / (2 + 1)
    True
    """
    if math.isinf(gamma):
        return 1.0
    root = math.sqrt(gamma)
    return (root - 1) / (root + 1)
