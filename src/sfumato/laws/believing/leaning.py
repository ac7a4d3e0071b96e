"""What groups lean on, and how far, as published rows bear it out.

On the overall shares; where many groups have a frequent value of their own, on what such groups have (see
``peaked_shares``); on what a group's categories say of the values one by one; and groups that only a perturbed attribute
tells apart, on each other. A published row is of one of these siblings, and of which is a guess: linked to the one that
shows its value most, it would make that one purer and the others emptier of it than they are.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from sfumato.chance.distortion import AxisMatrix, contract
from sfumato.laws.believing.categories import by_attribute, perturbed_axes
from sfumato.laws.believing.group_pooling import (
    LARGEST_NUMBER_OF_STEPS,
    NOBODY,
    pooled_counts,
    published_values,
    shares_with_overall,
)
from sfumato.laws.believing.peaked_shares import can_have_peaks, expected_shares
from sfumato.values.arrays import Floats, Integers
from sfumato.watching import steps

STRENGTHS = (4096.0, 1024.0, 256.0, 64.0, 16.0, 4.0, 1.0, 0.25, 0.0625)
"""Numbers of overall rows tried, from groups that are all alike to groups by themselves."""

ROWS_OF_ATTRIBUTES = 256.0
"""Rows with which it is tried how what attributes say is believed; how many should be leant on is tried afterwards."""

ASIDE = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4)
"""Shares of people of whom what several attributes say is not believed."""

POWERS = (1.0, 1.5)
"""To which it is believed of the others."""

ROUNDS = 2
"""How often peaks are worked out: from a fit without them, and from one with them. Rows are linked to the groups whose
peak they show and so confirm it; more rounds made beliefs too sure, a single one too modest."""

ROWS_BEFORE_PEAKS = 16.0
"""Overall rows of the fit that a fit with peaks starts from."""

FOLDS = 5
"""Parts into which published rows are dealt; each is held out once."""

STEPS_OF_A_TRIAL = 150
"""The same for a fit to the rows that are not held out, which starts from that of the strength before."""

CELLS_OF_ALL_TRIALS = 500_000_000
"""Cells that all steps of all trials may go through; tables of very many cells get fewer steps."""

FEWEST_STEPS = 10
"""Steps of a trial however large the table is."""

CELLS_OF_A_CHOICE = 1_000_000
"""Cells of the groups by which the leaning of all groups is chosen."""


class Leaning(NamedTuple):
    """What each group leans on: so many overall rows, of what groups with its peak have, of its siblings, or of its categories.

    Siblings are alike in all that was not perturbed. Together they are told apart from others with certainty and lean
    as ``siblings`` says. ``attributes`` say how values lean when it is asked which category of each attribute goes with which
    value: a group then leans on what its categories say, each by itself. Categories that repeat each other would be believed
    twice, so that the share ``aside`` of people is taken to be like all people. Of the others what is said may be true to
    a ``power``: where a trait that makes the categories is not quite the value, they say more of the trait.
    """

    rows: float
    has_peaks: bool = False
    siblings: Leaning | None = None
    attributes: tuple[Leaning, ...] = ()
    aside: float = 0.0
    power: float = 1.0


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
    [90.0, 6.0, 4.0]
    >>> leaning_counts(counts, [None, None], Leaning(50.0))[0].round().tolist()
    [75.0, 18.0, 7.0]
    """
    if leaning.siblings is not None or leaning.attributes:
        toward = _toward(published, matrices, leaning, codes)
        return pooled_counts(published, matrices, leaning.rows, toward=toward, start=start, steps=steps)
    if not leaning.has_peaks:
        return pooled_counts(published, matrices, leaning.rows, start=start, steps=steps)
    current = pooled_counts(published, matrices, ROWS_BEFORE_PEAKS, steps=steps)
    for _ in range(ROUNDS):
        toward = peaked_shares(published, matrices, current)
        current = pooled_counts(published, matrices, leaning.rows, toward=toward, start=current, steps=steps)
    return current


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
    return _believed(*_said(published, matrices, leaning.attributes, codes), leaning)


def _said(
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


def _believed(overall: Floats, said: Floats, leaning: Leaning) -> Floats:
    """What is said, to a power, of all people but those set aside."""
    tilted = overall * said**leaning.power
    totals = tilted.sum(axis=-1, keepdims=True)
    believed = np.divide(tilted, totals, out=overall.copy(), where=totals > 0)
    return np.asarray((1 - leaning.aside) * believed + leaning.aside * overall)


def _toward(
    published: Floats, matrices: Sequence[AxisMatrix], leaning: Leaning, codes: Integers | None
) -> Floats:
    """What groups lean on that lean on siblings, or on what attributes say."""
    if leaning.siblings is not None:
        return sibling_shares(published, matrices, leaning.siblings, codes=codes)
    return attribute_shares(published, matrices, leaning, codes=codes)


def _given_values(counts: Floats, matrices: Sequence[AxisMatrix], leaning: Leaning) -> Floats:
    """Probability of each category among people of each value, from rows published of ``(categories, values)``.

    It is the values that lean here, and on all people: of a rare value few rows tell anything, of a frequent one its own.
    """
    fitted = leaning_counts(counts.T, matrices[::-1], leaning)
    return shares_with_overall(fitted, NOBODY).T


def peaked_shares(published: Floats, matrices: Sequence[AxisMatrix], prior: Floats) -> Floats:
    """Shares to expect of each group when many have a peak, in the shape of ``published``.

    Published rows are linked to groups by the prior first.
    """
    size = published.shape[-1]
    overall = prior.reshape(-1, size).sum(axis=0) / max(float(prior.sum()), NOBODY)
    shown = published_values(published, matrices, prior).reshape(-1, size)
    return expected_shares(shown, matrices[-1], overall).reshape(published.shape)


def choose_leaning(
    published: Floats,
    matrices: Sequence[AxisMatrix],
    generator: np.random.Generator,
    *,
    codes: Integers | None = None,
) -> Leaning:
    """How far groups should lean, and on what, judged by published rows that were held out.

    Parameters
    ----------
    published
        Whole numbers of published rows, the groups on all axes but the last.
    matrices
        What each axis was distorted by.
    generator
        Deals the published rows into parts. No private row is involved.
    codes
        ``(groups, attributes)``: categories of the groups on the first axis, where these were not perturbed.

    Returns
    -------
    Leaning
        With one of :data:`STRENGTHS`.

    Notes
    -----
    Truth is not needed: a leaning is judged by the mean log probability that its fit to four fifths of the
    published rows gives to the rest, each fifth in turn. The best is taken. To take the strongest within a standard
    error of it would be careful of noise, and make beliefs in nearly pure groups too modest.

    Examples
    --------
    Groups that are alike lean on each other, groups that differ do not, or on those that differ like them.

    >>> generator = np.random.default_rng(1)
    >>> choose_leaning(np.full((50, 2), 20.0), [None, None], generator).rows >= 64
    True
    >>> found = choose_leaning(np.array([[40.0, 0.0], [0.0, 40.0]] * 25), [None, None], generator)
    >>> found.has_peaks or found.rows <= 1
    True
    """
    rows = float(published.sum())
    if rows < FOLDS:
        return Leaning(STRENGTHS[0])
    tried = _leanings(published)
    if _have_siblings(matrices):
        # How all siblings together lean is judged by themselves, once.
        together = choose_leaning(*siblings_together(published, matrices), generator, codes=codes)
        tried += [Leaning(rows, siblings=together) for rows in STRENGTHS]
    alone = list(by_attribute(published, matrices, codes))
    if len(alone) > 1:
        each = tuple(choose_leaning(counts.T, both[::-1], generator) for counts, both, _ in alone)
        tried += [
            Leaning(ROWS_OF_ATTRIBUTES, attributes=each, aside=aside, power=power)
            for power, aside in itertools.product(POWERS, ASIDE)
        ]
    folds = list(_dealt(published, generator))
    found = _best(published, matrices, folds, tried, codes)
    if found.attributes:
        found = _best(published, matrices, folds, [found._replace(rows=rows) for rows in STRENGTHS], codes)
    return found


def _best(
    published: Floats,
    matrices: Sequence[AxisMatrix],
    folds: Sequence[Floats],
    tried: Sequence[Leaning],
    codes: Integers | None,
) -> Leaning:
    """The leaning under which rows held out are likeliest, each fold in turn; of two that are as good the first."""
    judged = [
        _judged(published, matrices, folds[number], tried, codes=codes)
        for number in steps("Judging how alike groups are", range(FOLDS))
    ]
    return tried[int(np.argmax(np.sum(judged, axis=0)))]


def _leanings(published: Floats) -> list[Leaning]:
    """What is tried, the strongest first: of two that are as good the first is taken."""
    kinds = (False, True) if can_have_peaks(published[..., 0].size, published.shape[-1]) else (False,)
    return [Leaning(rows, has_peaks) for has_peaks, rows in itertools.product(kinds, STRENGTHS)]


def _have_siblings(matrices: Sequence[AxisMatrix]) -> bool:
    """Whether some public attributes were perturbed and some were not."""
    return len({each is None for each in matrices[:-1]}) > 1


def _dealt(published: Floats, generator: np.random.Generator) -> Iterator[Floats]:
    """Published rows dealt into equally likely parts."""
    left = published.astype(np.int64)
    for remaining in range(FOLDS, 0, -1):
        part: Integers = generator.binomial(left, 1 / remaining)
        left = left - part
        yield part.astype(np.float64)


def _judged(
    published: Floats,
    matrices: Sequence[AxisMatrix],
    held_out: Floats,
    tried: Sequence[Leaning],
    *,
    codes: Integers | None = None,
) -> Floats:
    """Log probability of rows held out under every leaning's fit to the others, ``(leanings,)``."""
    affordable = CELLS_OF_ALL_TRIALS // (published.size * FOLDS * len(tried))
    rounds = min(max(affordable, FEWEST_STEPS), STEPS_OF_A_TRIAL)
    kept, occupied = published - held_out, held_out > 0
    before = pooled_counts(kept, matrices, ROWS_BEFORE_PEAKS, steps=rounds)
    peaked = peaked_shares(kept, matrices, before) if any(each.has_peaks for each in tried) else None
    found = np.empty(len(tried))
    # By what is leant on: the overall shares, what groups with a peak have, what siblings have.
    toward_which: dict[Leaning, Floats | None] = {Leaning(0): None, Leaning(0, has_peaks=True): peaked}
    current: dict[Leaning, Floats | None] = {Leaning(0): None}
    # Of all that is tried it is the same attributes, which say the same.
    said: tuple[Floats, Floats] | None = None
    for place, leaning in enumerate(tried):
        # Fewer rows are kept than there are; those leant on must weigh as much beside them.
        lighter, kind = (1 - 1 / FOLDS) * leaning.rows, leaning._replace(rows=0)
        if kind not in toward_which and kind.attributes:
            said = said or _said(kept, matrices, kind.attributes, codes)
            toward_which[kind] = _believed(*said, kind)
        elif kind not in toward_which:
            toward_which[kind] = _toward(kept, matrices, kind, codes)
        toward = toward_which[kind]
        current[kind] = fitted = pooled_counts(
            kept, matrices, lighter, toward=toward, start=current.get(kind, before), steps=rounds
        )
        expected = contract(fitted, matrices)[occupied] / max(float(kept.sum()), 1.0)
        found[place] = np.log(np.maximum(expected, np.finfo(np.float64).tiny)) @ held_out[occupied]
    return found


def fit_groups(
    published: Floats,
    matrices: Sequence[AxisMatrix],
    generator: np.random.Generator,
    *,
    codes: Integers | None = None,
) -> Floats:
    """True counts with the leaning that published rows bear out, judged by a part of the groups or all of them.

    Parameters
    ----------
    codes
        ``(groups, attributes)``: categories of the groups on the first axis, where these were not perturbed. Of very
        many such groups a random part judges.
    """
    judged, known = published, codes
    if codes is not None:
        part = some_groups(published, generator)
        judged, known = published[part], codes[part]
    leaning = choose_leaning(judged, matrices, generator, codes=known)
    # A part of the groups may have chosen it; all of them can be too many to try every peak of.
    if not can_have_peaks(published[..., 0].size, published.shape[-1]):
        together = leaning.siblings and leaning.siblings._replace(has_peaks=False)
        leaning = leaning._replace(has_peaks=False, siblings=together)
    return leaning_counts(published, matrices, leaning, codes=codes)


def some_groups(published: Floats, generator: np.random.Generator) -> Integers:
    """Places of a random part of the groups on the first axis, where all have more cells than trials can afford."""
    most = max(1, CELLS_OF_A_CHOICE * len(published) // published.size)
    if most >= len(published):
        return np.arange(len(published))
    return generator.choice(len(published), most, replace=False)
