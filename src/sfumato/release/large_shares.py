"""Shares of a population above one half, by what is left of one.

A share of nearly everybody is known by those few who are no part of it. The variance of a draw is estimated from rows that
satisfy a question and rows of the group; where noise makes the few fewer than none, it comes out too small, and where none
of them was drawn there is nothing left of it. Asked about the few themselves, a count has an error at least as large as the draw
of one row, and an interval that leans.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sfumato.errors import NotIdentifiableError, ParameterError
from sfumato.laws import Target
from sfumato.values.arrays import Floats
from sfumato.values.certainty import Certainty
from sfumato.values.estimates import Estimates
from sfumato.values.predicate import Predicate

if TYPE_CHECKING:
    from sfumato.release.release import Release

AGREEMENT = 1e-6
"""How far a share and what the others leave of one may be apart; further, and the counts of a law do not add up."""


@dataclass(frozen=True, eq=False)
class Mirrored:
    """Ends of intervals of numbers that are a whole less others: what these leave of it.

    Examples
    --------
    >>> fifth = Estimates(np.array([0.2]), np.array([0.01]))
    >>> low, high = Mirrored(1.0, fifth)(0.95)
    >>> round(float(low[0]), 3), round(float(high[0]), 3)
    (0.604, 0.996)
    """

    whole: float
    others: Estimates

    def __call__(self, confidence_level: float) -> tuple[Floats, Floats]:
        """Lower and upper ends."""
        low, high = self.others.intervals(confidence_level)
        return self.whole - high, self.whole - low


def large_share(
    found: Estimates, release: Release, question: str, group: Predicate, target: Target
) -> Estimates:
    """A share, with the interval that those leave who do not satisfy the question where most do.

    Parameters
    ----------
    found
        The share.
    release, question, group, target
        What was asked of which group, about whom.
    """
    if target == "table" or not question.strip() or found.values[0] <= 1 / 2:
        return found
    others = _read(release, f"NOT ({question})")
    return _by_what_is_left(found, 1.0, lambda: _share(release, others, group, target))


def difference_of_shares(
    release: Release, question: str, groups: tuple[Predicate, Predicate], target: Target
) -> Estimates:
    """How much more often a question is true in one group than in another; by the others where shares are above one half on average."""
    asked = _read(release, question)
    found = release.law.compare(release, asked, *groups, target=target)
    if target == "table" or not question.strip():
        return found
    try:
        shares = [float(_share(release, asked, each, target).values[0]) for each in groups]
    except (NotIdentifiableError, ParameterError):
        # A release may tell the difference alone.
        return found
    if sum(shares) <= 1:
        return found
    others = _read(release, f"NOT ({question})")
    return _by_what_is_left(found, 0.0, lambda: release.law.compare(release, others, *groups, target=target))


def _read(release: Release, question: str) -> Predicate:
    return Predicate.parse(question, release.schema, release.manifest.merged_labels)


def _share(release: Release, wanted: Predicate, group: Predicate, target: Target) -> Estimates:
    counts = release.law.estimate_predicates(release, (wanted & group, group), target=target)
    return counts.ratio([1.0, 0.0], [0.0, 1.0]).within(0.0, 1.0)


def _by_what_is_left(found: Estimates, whole: float, ask_of_others: Callable[[], Estimates]) -> Estimates:
    """The same number with the error and the interval of what is left of a whole.

    Parameters
    ----------
    found
        One number.
    whole
        What it and the number of the others add up to: 1 for a share, 0 for a difference of two.
    ask_of_others
        Gives the number of those who do not satisfy the question.

    Notes
    -----
    Both are the same number. The larger error is stated: neither way is known to state too much.
    """
    if found.certainty[0] != Certainty.ESTIMATED:
        return found
    try:
        others = ask_of_others()
    except (NotIdentifiableError, ParameterError):
        # Some laws tell one side only, or nothing of a group in which nobody is left.
        return found
    is_same = abs(float(whole - others.values[0] - found.values[0])) <= AGREEMENT
    if not is_same or others.certainty[0] != Certainty.ESTIMATED:
        return found
    return replace(
        found, variances=np.maximum(found.variances, others.variances), limits=Mirrored(whole, others)
    )
