"""Belief growth: no belief rises by more than delta (Delta-growth)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from sfumato.guarantees.amplification import Amplification
from sfumato.guarantees.base import Guarantee, PublishedTables


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
