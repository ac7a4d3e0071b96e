"""How sure a number is: a claim that somebody makes, never the absence of an error."""

from __future__ import annotations

import enum

import numpy as np
import numpy.typing as npt

Certainties = npt.NDArray[np.int8]
"""One :class:`Certainty` for each number."""


class Certainty(enum.IntEnum):
    """What a number claims of itself; of several that are combined, the weakest claim holds.

    Examples
    --------
    >>> min(Certainty.EXACT, Certainty.BOUNDED).word
    'bounded'
    """

    OPEN = -1
    """Part of it was not published: it lies between two ends, each estimated. The interval holds whatever is between
    them; the standard error is that of the published part, and says nothing of where between them the number is."""
    ESTIMATED = 0
    """It has a chance error, of which the standard error and the interval speak."""
    BOUNDED = 1
    """The true number lies between certain bounds; where between them needs an assumption."""
    EXACT = 2
    """It is the true number."""

    @property
    def word(self) -> str:
        """The claim as it stands in results."""
        return self.name.lower()


def all_claim(certainty: Certainty, number: int) -> Certainties:
    """The same claim for so many numbers."""
    return np.full(number, certainty, np.int8)
