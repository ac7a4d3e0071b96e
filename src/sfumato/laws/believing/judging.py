"""How far groups should lean, on what, and how far to believe them then: published rows that were held out judge."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np

from sfumato.chance.distortion import AxisMatrix, contract
from sfumato.laws.believing.categories import by_attribute
from sfumato.laws.believing.group_pooling import pooled_counts
from sfumato.laws.believing.leaning import (
    ROWS_BEFORE_PEAKS,
    Leaning,
    believed_shares,
    leaning_counts,
    leant_on,
    siblings_together,
    what_is_said,
)
from sfumato.laws.believing.peaked_shares import can_have_peaks
from sfumato.laws.believing.surest import Corrections, judge_corrections
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

FOLDS = 5
"""Parts into which published rows are dealt; each is held out once."""

STEPS_OF_A_TRIAL = 150
"""The same for a fit to the rows that are not held out, which starts from that of the strength before."""

CELLS_OF_ALL_TRIALS = 500_000_000
"""Cells that all steps of all trials may go through; tables of very many cells get fewer steps."""

FEWEST_STEPS = 10
"""Steps of a trial however large the table is."""

STRONGER = (1.0, 4.0, 16.0, 64.0)
"""Times as many rows as were chosen that may be leant on when beliefs are corrected."""

LEAST_WEIGHT = 1e-3
"""Beside the likeliest strength, below which another is left out."""

CELLS_OF_A_CHOICE = 1_000_000
"""Cells of the groups by which the leaning of all groups is chosen."""

CELLS_OF_A_CORRECTION = 100_000
"""The same for what their likeliest values are believed; larger tables whose groups cannot be taken apart are not corrected."""


def choose_leaning(
    published: Floats,
    matrices: Sequence[AxisMatrix],
    generator: np.random.Generator,
    *,
    codes: Integers | None = None,
    relinks: bool = False,
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
    relinks
        Link rows anew by every peak that is learned. For values as groups, which have many people; groups that take rows
        from their siblings confirm what they took.

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
    tried = _leanings(published, relinks=relinks)
    if _have_siblings(matrices):
        # How all siblings together lean is judged by themselves, once.
        together = choose_leaning(*siblings_together(published, matrices), generator, codes=codes)
        tried += [Leaning(rows, siblings=together) for rows in STRENGTHS]
    alone = list(by_attribute(published, matrices, codes))
    if len(alone) > 1:
        each = tuple(
            choose_leaning(counts.T, both[::-1], generator, relinks=True) for counts, both, _ in alone
        )
        tried += [
            Leaning(ROWS_OF_ATTRIBUTES, attributes=each, aside=aside, power=power)
            for power, aside in itertools.product(POWERS, ASIDE)
        ]
    # A part that has every row leaves none to fit.
    folds = [each for each in _dealt(published, generator) if each.sum() < rows]
    found = _best(published, matrices, folds, tried, codes)
    if found.attributes:
        found = _best(published, matrices, folds, [found._replace(rows=rows) for rows in STRENGTHS], codes)
    return found


def judge_strengths(
    published: Floats,
    matrices: Sequence[AxisMatrix],
    tried: Sequence[Leaning],
    generator: np.random.Generator,
    *,
    codes: Integers | None = None,
) -> list[Corrections]:
    """How the likeliest values are to be believed under each leaning, by each part of the rows and the fit to the others.

    Groups on an axis that was perturbed share rows, so that a part of them judges nothing. Where all of them have too many
    cells nothing is corrected, and the first leaning counts alone.
    """
    rows = float(published.sum())
    part = some_groups(published, np.random.default_rng(0), CELLS_OF_A_CORRECTION)
    is_too_large = matrices[0] is not None and len(part) < len(published)
    if rows < FOLDS or is_too_large:
        return [Corrections.none(), *(Corrections.none(-math.inf) for _ in tried[1:])]
    rounds = _affordable_steps(published.size, len(STRENGTHS))
    folds = [each for each in _dealt(published, generator) if each.sum() < rows]
    fits: list[list[Floats]] = [[] for _ in tried]
    for held_out in steps("Judging how far to believe", folds):
        kept = published - held_out
        before = pooled_counts(kept, matrices, ROWS_BEFORE_PEAKS, steps=rounds)
        for place, leaning in enumerate(tried):
            lighter = leaning._replace(rows=(1 - 1 / FOLDS) * leaning.rows)
            fit = leaning_counts(kept, matrices, lighter, codes=codes, start=before, steps=rounds)
            fits[place].append(fit[part])
    parts = [each[part] for each in folds]
    return [judge_corrections(each, parts, matrices) for each in fits]


def _best(
    published: Floats,
    matrices: Sequence[AxisMatrix],
    folds: Sequence[Floats],
    tried: Sequence[Leaning],
    codes: Integers | None,
) -> Leaning:
    """The leaning under which rows held out are likeliest, each fold in turn; of two that are as good the first."""
    judged = [
        _judged(published, matrices, held_out, tried, codes=codes)
        for held_out in steps("Judging how alike groups are", folds)
    ]
    return tried[int(np.argmax(np.sum(judged, axis=0)))]


def _leanings(published: Floats, *, relinks: bool) -> list[Leaning]:
    """What is tried, the strongest first: of two that are as good the first is taken."""
    kinds = (False, True) if can_have_peaks(published[..., 0].size, published.shape[-1]) else (False,)
    return [
        Leaning(rows, has_peaks, relinks=has_peaks and relinks)
        for has_peaks, rows in itertools.product(kinds, STRENGTHS)
    ]


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
    rounds = _affordable_steps(published.size, len(tried))
    kept, occupied = published - held_out, held_out > 0
    before = pooled_counts(kept, matrices, ROWS_BEFORE_PEAKS, steps=rounds)
    found = np.empty(len(tried))
    # By what is leant on: the overall shares, what groups with a peak have, what siblings have.
    toward_which: dict[Leaning, Floats | None] = {}
    current: dict[Leaning, Floats | None] = {Leaning(0): None}
    # Of all that is tried it is the same attributes, which say the same.
    said: tuple[Floats, Floats] | None = None
    for place, leaning in enumerate(tried):
        # Fewer rows are kept than there are; those leant on must weigh as much beside them.
        lighter, kind = (1 - 1 / FOLDS) * leaning.rows, leaning._replace(rows=0)
        if kind not in toward_which and kind.attributes:
            said = said or what_is_said(kept, matrices, kind.attributes, codes)
            toward_which[kind] = believed_shares(*said, kind)
        elif kind not in toward_which:
            toward_which[kind] = leant_on(kept, matrices, kind, codes, before)
        toward = toward_which[kind]
        current[kind] = fitted = pooled_counts(
            kept, matrices, lighter, toward=toward, start=current.get(kind, before), steps=rounds
        )
        expected = contract(fitted, matrices)[occupied] / float(kept.sum())
        found[place] = np.log(np.maximum(expected, np.finfo(np.float64).tiny)) @ held_out[occupied]
    return found


def _affordable_steps(cells: int, trials: int) -> int:
    """Steps of each of so many trials."""
    return min(max(CELLS_OF_ALL_TRIALS // (cells * FOLDS * trials), FEWEST_STEPS), STEPS_OF_A_TRIAL)


def fit_groups(
    published: Floats,
    matrices: Sequence[AxisMatrix],
    generator: np.random.Generator,
    *,
    codes: Integers | None = None,
) -> Floats:
    """True counts with the leaning and the corrections that published rows bear out, judged by a part of the groups or all of them.

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
    tried = [leaning._replace(rows=rows) for rows in _and_stronger(leaning.rows)]
    corrections = judge_strengths(judged, matrices, tried, generator, codes=known)
    evidence = np.array([each.evidence for each in corrections])
    weights = np.exp(evidence - evidence.max())
    weights[weights < LEAST_WEIGHT] = 0.0
    weights /= weights.sum()
    found = np.zeros(published.shape)
    for each, chosen, weight in zip(tried, corrections, weights.tolist(), strict=True):
        if weight:
            found += weight * chosen.apply(leaning_counts(published, matrices, each, codes=codes))
    return found


def _and_stronger(rows: float) -> list[float]:
    """The number of rows that was chosen, and stronger ones.

    Chosen without corrections: beliefs that lean more are more modest, and rows held out are against that. Corrected, they may be as
    good, and take less of the noise of single groups.
    """
    return [rows * each for each in STRONGER if each == 1 or rows * each <= STRENGTHS[0]]


def some_groups(published: Floats, generator: np.random.Generator, cells: int = 0) -> Integers:
    """Places of a random part of the groups on the first axis, where all have more cells than trials can afford."""
    most = max(1, (cells or CELLS_OF_A_CHOICE) * len(published) // published.size)
    if most >= len(published):
        return np.arange(len(published))
    return generator.choice(len(published), most, replace=False)
