"""How much of what an attacker finds a promise allows: proved caps, to be held against measured risks."""

from __future__ import annotations

import math
from collections.abc import Iterable

from sfumato.guarantees import Guarantee
from sfumato.guarantees.differential_privacy import DifferentialPrivacy
from sfumato.guarantees.local_differential_privacy import LocalDifferentialPrivacy

LARGEST_EXPONENT = 700.0
"""Beyond it the exponential is too large for a number, and a cap is none."""


def proved_cap(promises: Iterable[Guarantee], without: float) -> float | None:
    """The largest share of right guesses that the promises allow, where a share is right without the person; None where nothing caps it.

    Differential privacy: a guess about somebody in the table is right with probability at most ``e^epsilon`` times that about somebody
    who is not, plus delta. Local differential privacy: the odds of being right grow by at most ``e^epsilon`` with the own row.
    Diversity of buckets or classes bounds neither: values are told apart by what is true of people alike.

    Examples
    --------
    >>> promise = DifferentialPrivacy(epsilon=1.0, delta=0.0)
    >>> round(proved_cap([promise], 0.2), 4), proved_cap([], 0.2)
    (0.5437, None)
    """
    caps = []
    for each in promises:
        if isinstance(each, DifferentialPrivacy):
            caps.append(min(1.0, math.exp(min(each.epsilon, LARGEST_EXPONENT)) * without + each.delta))
        elif isinstance(each, LocalDifferentialPrivacy):
            odds = math.exp(min(each.epsilon, LARGEST_EXPONENT)) * without
            caps.append(odds / (1 - without + odds) if odds else 0.0)
    return min(caps, default=None)
