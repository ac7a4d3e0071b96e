"""What every guarantee says about itself."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from sfumato.frozen import Frozen


class Guarantee(Frozen):
    """A promise: what is promised, about whom, against which attacker.

    A member adds the tag field ``guarantee`` with its public name, and the numbers of the promise.
    """

    protected_unit: ClassVar[str]
    """Whose data the promise is about."""
    neighbours: ClassVar[str]
    """Which two tables, or values, the promise makes hard to tell apart."""
    attacker: ClassVar[str]
    """What the attacker may know."""
    reference: ClassVar[str]
    """Where the definition stands."""

    @property
    @abstractmethod
    def sentence(self) -> str:
        """The promise with its numbers, in the words of the field."""

    @property
    @abstractmethod
    def plain_words(self) -> str:
        """The promise for a reader who is not a statistician."""

    def describe(self) -> dict[str, str]:
        """What a manifest states beside the numbers."""
        return {
            "sentence": self.sentence,
            "plain_words": self.plain_words,
            "protected_unit": self.protected_unit,
            "neighbours": self.neighbours,
            "attacker": self.attacker,
            "reference": self.reference,
        }
