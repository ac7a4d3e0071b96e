"""Shares above one half, by what is left of one.

A share of nearly everybody is known by those few who are no part of it. About a population, the variance of a draw is estimated from rows that
satisfy a question and rows of the group; where noise makes the few fewer than none, it comes out too small, and where none
of them was drawn there is nothing left of it. Asked about the few themselves, a count has an error at least as large as the draw
of one row, and an interval that leans, as that of a few in a group of the table does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sfumato.errors import NotIdentifiableError, ParameterError, QueryError
from sfumato.laws import Target
from sfumato.values.arrays import Floats
from sfumato.values.certainty import Certainty
from sfumato.values.estimates import Estimates
from sfumato.values.predicate import Predicate

if TYPE_CHECKING:
    from sfumato.release.release import Release

AGREEMENT = 1e-6
"""How far a number and what the others leave may be apart, as a share of it; further, and the counts of a law do not add up."""


NOT_TOLD = (NotIdentifiableError, ParameterError, QueryError)
"""What a law or a question says that cannot be answered; another way to the same number is then left alone."""


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


@dataclass(frozen=True, eq=False)
class Share:
    """A share of a group, or another number made of counts, and what its error comes from.

    Parameters
    ----------
    estimates
        The number.
    predicates
        Rows that were counted: of a share, a part of the group and the group.
    gradient
        Change of the number with each count.
    """

    estimates: Estimates
    predicates: tuple[Predicate, ...]
    gradient: tuple[float, ...]


def share_of(release: Release, wanted: Predicate, group: Predicate, target: Target) -> Share:
    """Which share of a group satisfies a question; by those who do not where most do.

    Parameters
    ----------
    release, wanted, group, target
        What was asked of which group, about whom.
    """
    share = _share(release, wanted, group, target)
    found = share.estimates
    if not wanted.names or found.values[0] <= 1 / 2:
        return share
    others: list[Share] = []

    def ask_of_others() -> Estimates:
        others.append(_share(release, wanted.others(release.schema), group, target))
        return others[0].estimates

    mended = _by_what_is_left(found, 1.0, ask_of_others)
    if mended is found:
        return share
    # A combination with other answers has its error from the few as well.
    return Share(mended, others[0].predicates, tuple(-each for each in others[0].gradient))


def difference_of_shares(
    release: Release, wanted: Predicate, groups: tuple[Predicate, Predicate], target: Target
) -> Estimates:
    """How much more often a question is true in one group than in another; by the others where shares are above one half on average."""
    found = release.law.compare(release, wanted, *groups, target=target)
    if not wanted.names:
        return found
    try:
        shares = [float(_share(release, wanted, each, target).estimates.values[0]) for each in groups]
    except NOT_TOLD:
        # A release may tell the difference alone.
        return found
    if sum(shares) <= 1:
        return found
    return _by_what_is_left(
        found,
        0.0,
        lambda: release.law.compare(release, wanted.others(release.schema), *groups, target=target),
    )


def _share(release: Release, wanted: Predicate, group: Predicate, target: Target) -> Share:
    both = wanted & group
    counts = release.law.estimate_predicates(release, (both, group), target=target)
    # A question that all of a group satisfies is about the group itself.
    top = [0.0, 1.0] if both == group else [1.0, 0.0]
    found = counts.ratio(top, [0.0, 1.0]).within(0.0, 1.0)
    rows = float(counts.values[1])
    return Share(found, (both, group), (1 / rows, -float(found.values[0]) / rows))


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
    except NOT_TOLD:
        # Some laws tell one side only, or nothing of a group in which nobody is left; the others may be too many groups to ask.
        return found
    left = replace(others, values=whole - others.values)
    if not is_same_estimate(left, found):
        return found
    return replace(
        found, variances=np.maximum(found.variances, others.variances), limits=Mirrored(whole, others)
    )


def is_same_estimate(one: Estimates, other: Estimates) -> bool:
    """Whether two ways lead to one number, and both call it an estimate."""
    are_estimates = one.certainty[0] == other.certainty[0] == Certainty.ESTIMATED
    value, another = float(one.values[0]), float(other.values[0])
    return bool(are_estimates) and abs(value - another) <= AGREEMENT * max(1.0, abs(value))
