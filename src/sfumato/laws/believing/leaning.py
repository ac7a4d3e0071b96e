"""What groups lean on, and counts fitted so.

On the overall shares; where many groups have a frequent value of their own, on what such groups have (see
``peaked_shares``); on what a group's categories say of the values one by one; and groups that only a perturbed attribute
tells apart, on each other. A published row is of one of these siblings, and of which is a guess: linked to the one that
shows its value most, it would make that one purer and the others emptier of it than they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sfumato.chance.distortion import AxisMatrix
from sfumato.laws.believing.categories import by_attribute, perturbed_axes
from sfumato.laws.believing.group_pooling import (
    LARGEST_NUMBER_OF_STEPS,
    NOBODY,
    pooled_counts,
    shares_with_overall,
)
from sfumato.laws.believing.peaked_shares import peaked_shares
from sfumato.values.arrays import Floats, Integers

ROUNDS = 2
"""How often peaks are worked out: from a fit without them, and from one with them. Rows are linked to the groups whose
peak they show and so confirm it; more rounds made beliefs too sure, a single one too modest."""

ROWS_BEFORE_PEAKS = 16.0
"""Overall rows of the fit that a fit with peaks starts from."""


class Leaning(NamedTuple):
    """What each group leans on: so many overall rows, of what groups with its peak have, of its siblings, or of its categories.

    Siblings are alike in all that was not perturbed. Together they are told apart from others with certainty and lean
    as ``siblings`` says. ``attributes`` say how values lean when it is asked which category of each attribute goes with which
    value: a group then leans on what its categories say, each by itself. Categories that repeat each other would be believed
    twice, so that the share ``aside`` of people is taken to be like all people. Of the others what is said may be true to
    a ``power``: where a trait that makes the categories is not quite the value, they say more of the trait.

    Rows are linked anew by every peak that is learned where it ``relinks``.
    """

    rows: float
    has_peaks: bool = False
    siblings: Leaning | None = None
    attributes: tuple[Leaning, ...] = ()
    aside: float = 0.0
    power: float = 1.0
    relinks: bool = False


def leaning_counts(
    published: Floats,
    matrices: Sequence[AxisMatrix],
    leaning: Leaning,
    *,
    codes: Integers | None = None,
    start: Floats | None = None,
    steps: int = LARGEST_NUMBER_OF_STEPS,
) -> Floats:
    """The same for any leaning: toward what groups with a peak have, what siblings have together, what attributes say.

    Parameters
    ----------
    codes
        ``(groups, attributes)``: categories of the groups on the first axis, for a leaning on what attributes say.

    Examples
    --------
    >>> counts = np.array([[90.0, 5.0, 5.0], [5.0, 90.0, 5.0], [40.0, 38.0, 22.0]])
    >>> leaning_counts(counts, [None, None], Leaning(50.0, has_peaks=True))[0].round().tolist()
    [89.0, 6.0, 5.0]
    >>> leaning_counts(counts, [None, None], Leaning(50.0))[0].round().tolist()
    [75.0, 18.0, 7.0]
    """
    current, rounds = start, 1
    if leaning.has_peaks:
        current, rounds = pooled_counts(published, matrices, ROWS_BEFORE_PEAKS, steps=steps), ROUNDS
    for _ in range(rounds):
        toward = leant_on(published, matrices, leaning, codes, current)
        current = pooled_counts(published, matrices, leaning.rows, toward=toward, start=current, steps=steps)
    return np.asarray(current)


def siblings_together(published: Floats, matrices: Sequence[AxisMatrix]) -> tuple[Floats, list[AxisMatrix]]:
    """Published rows of all siblings added up, with the axes of perturbed attributes of length 1, and what is left to distort.

    Examples
    --------
    >>> counts = np.arange(8.0).reshape(2, 2, 2)
    >>> siblings_together(counts, [None, np.eye(2), np.eye(2)])[0].tolist()
    [[[2.0, 4.0]], [[10.0, 12.0]]]
    """
    # The rows of a matrix sum to 1: published rows of all categories are the true rows of all categories.
    perturbed = perturbed_axes(matrices)
    return published.sum(axis=perturbed, keepdims=True), [*(None for _ in matrices[:-1]), matrices[-1]]


def sibling_shares(
    published: Floats, matrices: Sequence[AxisMatrix], leaning: Leaning, *, codes: Integers | None = None
) -> Floats:
    """Shares of all siblings together for each of them, in the shape of ``published``; they lean as is said."""
    together = leaning_counts(*siblings_together(published, matrices), leaning, codes=codes)
    return np.broadcast_to(shares_with_overall(together, NOBODY), published.shape)


def attribute_shares(
    published: Floats, matrices: Sequence[AxisMatrix], leaning: Leaning, *, codes: Integers | None = None
) -> Floats:
    """What a group's categories say of the values, each by itself, in the shape of ``published``.

    Notes
    -----
    ``Pr(v | x1, x2, ...) ~ Pr(v) (Pr(x1 | v) Pr(x2 | v) ...)^power`` for most people, and ``Pr(v)`` for those set aside. Where
    that is not so, held-out rows say that groups should lean on something else.

    Examples
    --------
    Half of the people have each value; three in four of those with a value have either category that goes with it.

    >>> counts = np.array([[9.0, 1.0], [3.0, 3.0], [3.0, 3.0], [1.0, 9.0]])
    >>> codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> leaning = Leaning(1.0, attributes=(Leaning(1e-6), Leaning(1e-6)))
    >>> attribute_shares(counts, [None, None], leaning, codes=codes).round(3).tolist()
    [[0.9, 0.1], [0.5, 0.5], [0.5, 0.5], [0.1, 0.9]]
    """
    return believed_shares(*what_is_said(published, matrices, leaning.attributes, codes), leaning)


def what_is_said(
    published: Floats,
    matrices: Sequence[AxisMatrix],
    attributes: Sequence[Leaning],
    codes: Integers | None,
) -> tuple[Floats, Floats]:
    """Overall shares, and the product of what every attribute says of each value, both in the shape of ``published``."""
    everybody = tuple(range(published.ndim - 1))
    values = leaning_counts(published.sum(axis=everybody), [matrices[-1]], Leaning(NOBODY))
    said = np.ones(published.shape)
    for (counts, both, of_group), each in zip(
        by_attribute(published, matrices, codes), attributes, strict=True
    ):
        said *= _given_values(counts, both, each)[of_group]
    return np.broadcast_to(values / max(float(values.sum()), NOBODY), published.shape), said


def believed_shares(overall: Floats, said: Floats, leaning: Leaning) -> Floats:
    """What is said, to a power, of all people but those set aside."""
    tilted = overall * said**leaning.power
    totals = tilted.sum(axis=-1, keepdims=True)
    believed = np.divide(tilted, totals, out=overall.copy(), where=totals > 0)
    return np.asarray((1 - leaning.aside) * believed + leaning.aside * overall)


def leant_on(
    published: Floats,
    matrices: Sequence[AxisMatrix],
    leaning: Leaning,
    codes: Integers | None,
    before: Floats | None,
) -> Floats | None:
    """What groups lean on; None for the overall shares. Peaks are worked out from the fit before."""
    if leaning.siblings is not None:
        return sibling_shares(published, matrices, leaning.siblings, codes=codes)
    if leaning.attributes:
        return attribute_shares(published, matrices, leaning, codes=codes)
    if leaning.has_peaks and before is not None:
        return peaked_shares(published, matrices, before, relinks=leaning.relinks)
    return None


def _given_values(counts: Floats, matrices: Sequence[AxisMatrix], leaning: Leaning) -> Floats:
    """Probability of each category among people of each value, from rows published of ``(categories, values)``.

    It is the values that lean here, and on all people: of a rare value few rows tell anything, of a frequent one its own.
    """
    fitted = leaning_counts(counts.T, matrices[::-1], leaning)
    return shares_with_overall(fitted, NOBODY).T
