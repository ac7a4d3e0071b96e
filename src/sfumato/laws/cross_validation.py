"""Concentration and recalibration of posteriors, chosen by cross-validation on published rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from sfumato.arrays import Booleans, Floats, Integers, in_parts
from sfumato.laws.shrinkage import (
    ROWS_BEFORE_PEAKS,
    Leaning,
    believed_shares,
    by_attribute,
    can_have_peaks,
    leaning_counts,
    leant_on,
    pooled_counts,
    siblings_together,
    what_is_said,
)
from sfumato.progress import steps
from sfumato.randomness.distortion import AxisMatrix, contract

# --------------------------------------------------------------------------------------------------
# How far the likeliest value of each group is to be believed, as published rows that were held out bear it
# out.
#
# Whatever groups lean on is a model, and no model has every table's form: beliefs in the likeliest value may
# be too modest in
# all groups, or too sure. Of a group's rows held out as many show that value as its true share and the public
# matrix say.
# Shares that a fit to the other rows states can therefore be held against them without any truth, and be
# corrected.
#
# No single correction is taken: where rows were perturbed strongly, many explain those held out nearly as
# well, and the best of
# them follows the noise of the few largest groups. Beliefs are the mean over all corrections that were tried,
# each counting as
# much as it makes the rows likely.


OFFSETS = np.linspace(-1.0, 1.0, 9)
"""Added to the log odds of a belief."""

SLOPES = 2.0 ** (np.arange(-3, 5) / 3)
"""Factors of the log odds, from one half to two and a half."""

CEILINGS = np.linspace(0.7, 1.0, 7)
"""Shares of the likeliest value that no group is believed to go beyond."""

CARE = 0.5
"""Standard deviation of an offset, and of the logarithm of a slope, that are expected before rows are looked at."""

ROOM = 0.1
"""How fast ceilings become unlikely below one, by a factor of e each time, before rows are looked at."""

LEVELS = 100
"""Beliefs told apart when corrections are judged: by hundredths."""

CERTAIN = 1 - 1e-9
"""Share from which a value is the only one, and nothing is corrected."""

NEGLIGIBLE = 1e-4
"""Weight beside the largest below which a correction is left out."""

NUMBERS_AT_ONCE = 10_000_000
"""Corrected beliefs, or probabilities of rows held out, that are worked on at a time."""

TRIED = np.array(list(itertools.product(OFFSETS, SLOPES, CEILINGS)))
"""``(corrections, 3)``: offset, slope and ceiling of every one."""

UNCHANGED = int(np.flatnonzero((TRIED == (0.0, 1.0, 1.0)).all(axis=1))[0])
"""Place of the one that corrects nothing."""


def _expected_beforehand() -> Floats:
    """Log probabilities without any row: small offsets, slopes and ceilings near one."""
    offsets, slopes, ceilings = TRIED.T
    weights = np.exp(-(offsets**2 + np.log(slopes) ** 2) / (2 * CARE**2) - (1 - ceilings) / ROOM)
    return np.asarray(np.log(weights / weights.sum()))


@dataclass(frozen=True, eq=False)
class Corrections:
    """Of beliefs in the likeliest value: the mean of ``ceiling / (1 + exp(-offset) odds^-slope)``, the other values in proportion.

    Parameters
    ----------
    weights
        Of every correction in :data:`TRIED`, with the sum 1.
    evidence
        Logarithm of the probability of the rows held out, the mean over what was expected of corrections beforehand.

    Examples
    --------
    None: beliefs stay what they are.

    >>> counts = np.array([[2.0, 1.0, 1.0], [1.0, 6.0, 1.0]])
    >>> Corrections.none().apply(counts).tolist()
    [[2.0, 1.0, 1.0], [1.0, 6.0, 1.0]]
    """

    weights: Floats = field(repr=False)
    evidence: float = 0.0

    @classmethod
    def none(cls, evidence: float = 0.0) -> Corrections:
        """The one that changes nothing."""
        return cls(np.eye(1, len(TRIED), UNCHANGED)[0], evidence)

    def believed(self, shares: Floats) -> Floats:
        """What shares of likeliest values, below 1, are to be believed; in their shape.

        Examples
        --------
        >>> float(Corrections.none().believed(np.array([0.75]))[0])
        0.75
        """
        is_kept = self.weights > NEGLIGIBLE * self.weights.max()
        weights, corrections = self.weights[is_kept] / self.weights[is_kept].sum(), TRIED[is_kept]
        flat, found = shares.ravel(), np.empty(shares.size)
        for part in in_parts(flat.size, each=len(weights), at_once=NUMBERS_AT_ONCE):
            found[part] = _corrected(flat[part], corrections) @ weights
        return found.reshape(shares.shape)

    def apply(self, counts: Floats) -> Floats:
        """Counts corrected, the groups on all axes but the last; groups keep their totals, and likeliest values stay so."""
        fit = _Likeliest.of(counts)
        shares = fit.shares
        # A belief of two values that are as likely cannot be lowered: one of them is the likeliest.
        others = np.sort(counts, axis=-1)[..., -2:-1] if counts.shape[-1] > 1 else np.zeros_like(fit.totals)
        second = np.divide(others, fit.totals, out=np.zeros_like(shares), where=fit.totals > 0)
        least = np.divide(second, 1 - shares + second, out=np.zeros_like(shares), where=fit.is_open)
        believed = np.maximum(
            self.believed(np.where(fit.is_open, shares, 0.5)[..., 0])[..., np.newaxis], least
        )
        factors = np.divide(1 - believed, 1 - shares, out=np.ones_like(shares), where=fit.is_open)
        result = np.asarray(counts * factors)
        own = np.where(fit.is_open, believed * fit.totals, counts.max(axis=-1, keepdims=True))
        np.put_along_axis(result, fit.places, own, axis=-1)
        return result


@dataclass(frozen=True, eq=False)
class _Likeliest:
    """Of every group its rows, its likeliest value, that value's share, and whether others are left; the last axis has length 1."""

    totals: Floats
    places: Integers
    shares: Floats
    is_open: Booleans

    @classmethod
    def of(cls, counts: Floats) -> _Likeliest:
        totals = counts.sum(axis=-1, keepdims=True)
        shares = np.divide(
            counts.max(axis=-1, keepdims=True), totals, out=np.ones_like(totals), where=totals > 0
        )
        return cls(totals, counts.argmax(axis=-1)[..., np.newaxis], shares, shares < CERTAIN)


def _corrected(shares: Floats, corrections: Floats) -> Floats:
    """Shares after each correction, ``(..., corrections)``."""
    offsets, slopes, ceilings = corrections.T
    logits = np.log(shares / (1 - shares))[..., np.newaxis]
    return np.asarray(ceilings / (1 + np.exp(-offsets - slopes * logits)))


def judge_corrections(
    fits: Sequence[Floats], held_out: Sequence[Floats], matrices: Sequence[AxisMatrix]
) -> Corrections:
    """How much every correction counts, by the rows held out.

    Parameters
    ----------
    fits
        True counts as fitted to all rows but those held out, one for each part.
    held_out
        Published rows of each part.
    matrices
        What each axis was distorted by.

    Notes
    -----
    Platt's scaling with a ceiling, through the matrices, and averaged: a correction's weight is the probability of the rows held
    out under the corrected fits, times what is expected of it beforehand. Where the rows say little, all count, and beliefs
    become modest.

    References
    ----------
    Platt (1999), Probabilistic outputs for support vector machines.

    Examples
    --------
    Two in three were believed to have the likeliest value; of 3,000 rows held out nine in ten do.

    >>> fit, rows = np.array([[20.0, 10.0], [10.0, 20.0]]), np.array([[1350.0, 150.0], [150.0, 1350.0]])
    >>> found = judge_corrections([fit], [rows], [None, None]).apply(fit)
    >>> (found / 30).round(1).tolist()
    [[0.9, 0.1], [0.1, 0.9]]
    """
    logarithms = _expected_beforehand()
    for fit, rows in zip(fits, held_out, strict=True):
        logarithms += _log_probabilities(fit, rows, matrices)
    largest = float(logarithms.max())
    weights = np.exp(logarithms - largest)
    return Corrections(weights / weights.sum(), largest + float(np.log(weights.sum())))


def _log_probabilities(fit: Floats, rows: Floats, matrices: Sequence[AxisMatrix]) -> Floats:
    """Of rows held out under every correction of a fit, ``(corrections,)``.

    What is expected to be published is linear in what each level of belief becomes: what groups have besides, and what
    moves from there to their likeliest values.
    """
    likeliest, occupied = _Likeliest.of(fit), rows > 0
    own = np.zeros_like(fit)
    np.put_along_axis(own, likeliest.places, likeliest.totals, axis=-1)
    besides = fit.copy()
    np.put_along_axis(besides, likeliest.places, 0.0, axis=-1)
    # Of groups with one value only nothing is left, and nothing moves.
    besides = np.divide(besides, 1 - likeliest.shares, out=own.copy(), where=likeliest.is_open)
    moved = own - besides
    levels = np.clip(np.rint(likeliest.shares * LEVELS), 1, LEVELS - 1)
    present = np.unique(levels[likeliest.is_open])
    moves = [contract(moved * (levels == level), matrices)[occupied] for level in present]
    stays = contract(besides, matrices)[occupied]
    believed = _corrected(present / LEVELS, TRIED)
    total, counted = max(float(fit.sum()), 1.0), rows[occupied]
    found = np.zeros(len(TRIED))
    by_level = np.reshape(moves, (len(present), stays.size))
    for part in in_parts(len(stays), each=len(TRIED), at_once=NUMBERS_AT_ONCE):
        expected = (stays[part] + believed.T @ by_level[:, part]) / total
        found += np.log(np.maximum(expected, np.finfo(np.float64).tiny)) @ counted[part]
    return found


# --------------------------------------------------------------------------------------------------
# How far groups should lean, on what, and how far to believe them then: published rows that were held out
# judge.


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
