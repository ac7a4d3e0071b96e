"""What is wrong with an entry, and what may excuse it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist

from coverage_matrix.entries import Entry, Key
from coverage_matrix.settings import Setting

ALPHA = 0.01
"""Probability that a matrix without fault has any entry whose simultaneous bound fails it."""

LEAST = 0.94
"""Coverage that the bound of a 95 % interval must not exclude."""

STATED = 0.95
"""Below this an entry is run again."""

LEAST_AGAIN = 0.935
LARGEST_ERROR_AGAIN = 0.003
"""What an entry must reach when it is run again, and the standard error that it is then known with."""

REACHED_EARLY = 2.0
FAILED_EARLY = 3.0
"""Standard errors above and below :data:`LEAST_AGAIN` beyond which another run is ended before it is known so well."""

MOST = 0.985
"""Coverage of counts of ten and more above which there must be a reason."""

WIDEST_SUM = 1.1
"""Stated over real spread of sums of cells, and its inverse."""

LARGEST_ERROR_OF_SPREAD = 0.02
"""The standard error that the spread of a sum is known with at the latest when it is run again."""

SMALL = ("0", "1-9")
"""Counts so small that a whole number more or less is much: their intervals may hold more."""


@dataclass(frozen=True)
class Verdict:
    """What is found of an entry.

    Parameters
    ----------
    fault
        What is wrong; empty where nothing is.
    reason
        Why it may cover more than it says, from the closed list; empty where it does not.
    """

    fault: str = ""
    reason: str = ""


def simultaneous(entries: int) -> float:
    """Standard errors of a one-sided bound that all of so many entries keep together."""
    return NormalDist().inv_cdf(1 - ALPHA / max(entries, 1))


def needs_another_run(setting: Setting, key: Key, entry: Entry) -> bool:
    """Whether a first run covered less than it says, or stated a spread of sums outside of what is allowed."""
    return _covers_too_little(entry) or has_other_spread(setting, key, entry)


def waits(setting: Setting, key: Key, first: Entry, again: Entry | None) -> bool:
    """Whether further runs must go on."""
    if again is None:
        return needs_another_run(setting, key, first)
    return (_covers_too_little(first) and settled(again) is None) or (
        has_other_spread(setting, key, first) and spread_settled(again) is None
    )


def _covers_too_little(first: Entry) -> bool:
    return first.intervals > 0 and first.coverage < STATED


def has_other_spread(setting: Setting, key: Key, first: Entry) -> bool:
    """Whether sums state too much or too little; a law that calls itself conservative may."""
    is_judged = key.kind == "sum" and key.size not in SMALL and not setting.conservative
    return is_judged and math.isfinite(first.spread) and _inside(first.spread) < 0


def _inside(spread: float) -> float:
    """How far a spread lies within what is allowed; negative outside."""
    return min(spread - 1 / WIDEST_SUM, WIDEST_SUM - spread)


def spread_settled(again: Entry) -> bool | None:
    """Whether further runs of a sum state the spread they must; None while they must go on.

    As with :func:`settled`: two standard errors inside, three outside, and at the latest when it is known to
    :data:`LARGEST_ERROR_OF_SPREAD`.
    """
    if not math.isfinite(again.spread):
        return None
    inside = _inside(again.spread)
    if inside > REACHED_EARLY * again.spread_error:
        return True
    if inside < -FAILED_EARLY * again.spread_error:
        return False
    return inside >= 0 if again.spread_error <= LARGEST_ERROR_OF_SPREAD else None


def settled(again: Entry) -> bool | None:
    """Whether further runs of an entry reached what they must; None while they must go on.

    They end when coverage lies two standard errors above :data:`LEAST_AGAIN`, or three below, and at the latest when
    it is known to :data:`LARGEST_ERROR_AGAIN`: then it is at least that or not. Looks come after 400, 800, 1,600
    and every 1,600 further releases. Written down before anything was run by it. Drawn 40,000 times with one answer a
    release, an entry passes with a probability that is almost that of going on to the end, at a quarter of the answers
    where it covers 95 %:

    ======  ===========  ==========  ===============
    covers  passes here  at the end  answers, of 6,600
    ======  ===========  ==========  ===============
    92.5 %        0.4 %       0.1 %  5,500
    93.0 %        5.0 %       5.3 %  7,300
    93.5 %       52.5 %      49.8 %  7,400
    94.0 %       96.9 %      95.5 %  5,500
    94.5 %      99.98 %     99.97 %  3,000
    95.0 %        100 %       100 %  1,600
    ======  ===========  ==========  ===============
    """
    if not again.intervals:
        return None
    error = _error_at_least(again)
    if again.coverage - REACHED_EARLY * error > LEAST_AGAIN:
        return True
    if again.coverage + FAILED_EARLY * error < LEAST_AGAIN:
        return False
    return again.coverage >= LEAST_AGAIN if again.coverage_error <= LARGEST_ERROR_AGAIN else None


def _error_at_least(entry: Entry) -> float:
    """Standard error if coverage were just :data:`LEAST_AGAIN`: few answers that were all held have none of their own.

    Answers of one release hang together: what that adds to the variance of independent ones is taken over.
    """
    independent = entry.coverage * (1 - entry.coverage) / entry.intervals
    clustered = max(1.0, entry.coverage_error**2 / independent) if independent else 1.0
    return math.sqrt(LEAST_AGAIN * (1 - LEAST_AGAIN) / entry.intervals * clustered)


def judge(setting: Setting, key: Key, first: Entry, again: Entry | None, entries: int) -> Verdict:
    """Faults of an entry: false claims, too little coverage, too much without a reason, sums too wide or too narrow."""
    return Verdict(
        "; ".join(_faults(setting, key, first, again, entries)), _reason(setting, key, again or first)
    )


def _faults(setting: Setting, key: Key, first: Entry, again: Entry | None, entries: int) -> Iterator[str]:
    wrong = first.wrong + (again.wrong if again else 0)
    if wrong:
        yield f"{wrong} claims are false"
    if not first.intervals:
        return
    width = simultaneous(entries)
    if first.coverage + width * first.coverage_error < LEAST:
        yield f"covers {first.coverage:.1%}"
    elif again is not None and settled(again) is False:
        yield f"covers {again.coverage:.2%} in another run"
    latest = again or first
    if (
        key.size not in SMALL
        and latest.coverage - width * latest.coverage_error > MOST
        and not _reason(setting, key, latest)
    ):
        yield f"covers {latest.coverage:.1%} without a reason"
    if has_other_spread(setting, key, first):
        if _inside(first.spread) < -width * first.spread_error:
            yield f"states {first.spread:.2f} times the real spread"
        elif again is not None and spread_settled(again) is False:
            yield f"states {again.spread:.2f} times the real spread in another run"


def _reason(setting: Setting, key: Key, entry: Entry) -> str:
    """From the closed list: a certain bound, discreteness, a law declared conservative."""
    if not entry.intervals or entry.coverage <= MOST:
        return ""
    if setting.conservative:
        return "conservative"
    if key.size in SMALL:
        return "discreteness"
    if entry.cut > entry.coverage - STATED:
        return "bound, certain"
    return ""
