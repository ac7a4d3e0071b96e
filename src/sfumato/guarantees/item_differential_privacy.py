"""Local differential privacy of single items: what a unit has of one item stays hidden."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field

from sfumato.guarantees.base import LARGEST_EXPONENT, Guarantee


class ItemDifferentialPrivacy(Guarantee):
    """What is published of a unit could come from any unit that differs in one item, by a factor of at most exp(epsilon).

    Promise
        For every item, for any two things that a unit may have of it (none included) and for everything that may be
        published, the probabilities differ by a factor of at most exp(epsilon). Items are distorted independently, so
        that between two units that differ in d items the factor is at most exp(d epsilon).
    Against whom
        Anyone who sees the release and the matrix, and may know all other units and all other items of this one.
    Weaknesses
        It is about one item. Two baskets of ten items can differ in twenty, and whoever knows some items of a person
        may find the person's row: what is then hidden is each further item by itself. Units that have no item are not in
        the data, and how many units are is published: that a unit has some item is not hidden.

    References
    ----------
    Rizvi and Haritsa (2002); Evfimievski, Gehrke and Srikant (2003).

    Examples
    --------
    >>> ItemDifferentialPrivacy(epsilon=2.0).sentence
    '2-local differential privacy for each item of a unit; for two units that differ in d items, 2 d; that a unit has some item is not hidden.'
    """

    guarantee: Literal["item-differential-privacy"] = "item-differential-privacy"
    epsilon: Annotated[float, Field(gt=0)] | None
    """None where some of what is published rules out some of what is true."""

    protected_unit: ClassVar[str] = "what one unit has of one item"
    neighbours: ClassVar[str] = (
        "two units that differ in one item, each with some item; the number of units is public"
    )
    attacker: ClassVar[str] = (
        "sees the release and all public parameters, and may know all else, other items included"
    )
    reference: ClassVar[str] = "Rizvi and Haritsa (2002); Evfimievski, Gehrke and Srikant (2003)"

    def is_within(self, other: Self) -> bool:
        """Whether the other's epsilon is no larger."""
        if not self.is_under(other.given):
            return False
        return self.epsilon is None or (other.epsilon is not None and self.epsilon >= other.epsilon)

    @property
    def sentence(self) -> str:
        """The promise with its numbers."""
        if self.epsilon is None:
            return "no finite epsilon for an item of a unit: some of what is published rules out some of what is true."
        return (
            f"{self.epsilon:.4g}-local differential privacy for each item of a unit; for two units that differ in d items, "
            f"{self.epsilon:.4g} d; that a unit has some item is not hidden."
        )

    @property
    def plain_words(self) -> str:
        """The promise for a reader who is not a statistician."""
        changed = "Items of every unit were randomly left out, added or changed before publication."
        if self.epsilon is None:
            return f"{changed} Some of what is published shows for certain what a unit has of an item."
        factor = math.exp(min(self.epsilon, LARGEST_EXPONENT))
        odds = f"{factor:,.1f}" if factor < 1e6 else f"{factor:.1e}"
        return (
            f"{changed} Whatever anyone believed about a unit and one item, what is published of them can change the odds by a "
            f"factor of at most {odds}. Several items together tell more."
        )
