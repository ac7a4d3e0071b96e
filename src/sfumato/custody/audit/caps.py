"""How much of what an attacker finds a promise allows: proved caps, to be held against measured risks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from sfumato.custody.audit.measuring import LINKABLE, TOP, Measured, Trial, score_side
from sfumato.custody.audit.result import LawCheck
from sfumato.custody.audit.scores import clustered_error, lone_error
from sfumato.guarantees import Guarantee
from sfumato.guarantees.differential_privacy import DifferentialPrivacy
from sfumato.guarantees.local_differential_privacy import LocalDifferentialPrivacy
from sfumato.values.arrays import Floats

CONTROL_SHARE = 0.25
"""Control people for each member where a fifth is held out: splits overlap, which widens what is said over releases."""

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


def check_caps(
    promises: Sequence[Guarantee], measured: Mapping[str, Measured], trials: Sequence[Trial], margin: Floats
) -> tuple[LawCheck, ...]:
    """Whether more guesses are right than the promises allow: of everybody, and of the most linkable.

    The share right with the person, minus the cap at the share right without, is held against its error: over releases with splits
    of their own by Student's t, on one release with people alike as one observation.
    """
    from scipy.special import stdtr

    found = []
    for name in (TOP, LINKABLE):
        difference, (with_it, without_it) = measured[name].difference, measured[name].attackers
        if difference is None or proved_cap(promises, difference.absent) is None:
            continue
        parts = [
            (
                score_side(each.present, margin, 0)[name][with_it],
                score_side(each.absent, margin, 0)[name][without_it],
            )
            for each in trials
        ]
        over = [_over(promises, one.mean, other.mean) for one, other in parts]
        slope = _slope(promises, float(np.mean([other.mean for _, other in parts])))
        if len(parts) > 1:
            error = float(np.std(over, ddof=1)) * math.sqrt(1 / len(over) + CONTROL_SHARE)
            freedom = len(over) - 1
        else:
            (one, other), trial = parts[0], trials[0]
            kinds = trial.present.kinds[one.over], trial.absent.kinds[other.over]
            error = math.hypot(
                clustered_error(one.values[one.over], kinds[0]),
                slope * clustered_error(other.values[other.over], kinds[1]),
            )
            freedom = max(min(len(np.unique(each)) for each in kinds) - 1, 1)
        # Releases that happen to agree, or people who are all wrong, are no certainty.
        present, absent = (len(parts) * each for each in measured[name].people)
        least = math.hypot(
            lone_error(difference.present, present), slope * lone_error(difference.absent, absent)
        )
        mean = float(np.mean(over))
        cap = difference.present - mean
        p_value = float(stdtr(freedom, -mean / max(error, least)))
        found.append(
            LawCheck(
                f"proved cap of {name}",
                p_value,
                f"{difference.present:.3f} are right, and the promises allow {cap:.3f}",
            )
        )
    return tuple(found)


def _slope(promises: Sequence[Guarantee], absent: float) -> float:
    """How fast the cap grows with the share that is right without."""
    return (_over(promises, 0.0, absent - 1e-4) - _over(promises, 0.0, absent + 1e-4)) / 2e-4


def _over(promises: Sequence[Guarantee], present: float, absent: float) -> float:
    cap = proved_cap(promises, min(max(absent, 0.0), 1.0))
    assert cap is not None
    return present - cap
