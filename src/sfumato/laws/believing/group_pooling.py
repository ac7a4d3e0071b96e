"""Shares of a last attribute within groups, each group leaning on all: partial pooling through a distortion.

Estimates of a small group are mostly noise when its rows were perturbed, and the largest of several noisy
shares is too large. Shares that lean on the overall ones, as far as the published rows support it, are not. Where many
groups have a frequent value of their own, they lean on what such groups have: see ``peaked_shares``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from sfumato.chance.distortion import AxisMatrix, contract, transposed
from sfumato.errors import TooLargeError
from sfumato.laws.believing.peaked_shares import can_have_peaks, expected_shares
from sfumato.values.arrays import Floats, Integers
from sfumato.values.counts import OccupiedCounts
from sfumato.watching import steps

STRENGTHS = (4096.0, 1024.0, 256.0, 64.0, 16.0, 4.0, 1.0, 0.25, 0.0625)
"""Numbers of overall rows tried, from groups that are all alike to groups by themselves."""

ROUNDS = 2
"""How often peaks are worked out: from a fit without them, and from one with them. Rows are linked to the groups whose
peak they show and so confirm it; more rounds made beliefs too sure, a single one too modest."""

ROWS_BEFORE_PEAKS = 16.0
"""Overall rows of the fit that a fit with peaks starts from."""

FOLDS = 5
"""Parts into which published rows are dealt; each is held out once."""

LARGEST_NUMBER_OF_STEPS = 300
"""Steps after which the fit stops, converged or not."""

STEPS_OF_A_TRIAL = 150
"""The same for a fit to the rows that are not held out, which starts from that of the strength before."""

CELLS_OF_ALL_TRIALS = 500_000_000
"""Cells that all steps of all trials may go through; tables of very many cells get fewer steps."""

FEWEST_STEPS = 10
"""Steps of a trial however large the table is."""

TOLERANCE = 1e-5
"""Share of all rows that the last step may still move."""


LARGEST_LINKED = 50_000_000
"""Cells that fit into memory, several times over."""

CELLS_OF_A_CHOICE = 1_000_000
"""Cells of the groups by which the leaning of all groups is chosen."""

NOBODY = 1e-9
"""Overall rows that say what to believe of a group without any row, and nothing elsewhere."""


class Leaning(NamedTuple):
    """What each group leans on: so many overall rows, or so many of what groups with its peak have."""

    rows: float
    has_peaks: bool = False


def pooled_counts(
    published: Floats,
    matrices: Sequence[AxisMatrix],
    overall_rows: float,
    *,
    toward: Floats | None = None,
    start: Floats | None = None,
    steps: int = LARGEST_NUMBER_OF_STEPS,
) -> Floats:
    """Most plausible true counts when each group's shares are scattered around the overall ones.

    Parameters
    ----------
    published
        Counts, the groups on all axes but the last.
    matrices
        What each axis was distorted by.
    overall_rows
        Rows with the overall shares that every group is given beside its own: the concentration of the
        Dirichlet distribution from which the groups' shares are drawn.
    toward
        Shares that each group leans on instead, in the shape of ``published``.
    start
        Counts to start from; equal ones when not given.
    steps
        After how many to stop, converged or not.

    Returns
    -------
    numpy.ndarray
        The shape of ``published``, with its total. Groups keep the totals that the rows give them; the
        shares within each are pulled to the overall ones.

    Notes
    -----
    Expectation-maximization for the posterior mode. With x the counts and m the overall shares a step is

    ``z = x * P'(y / P x)``, ``x <- z_a (z + c m) / (z_a + c)``, z_a the total of z in the group.

    The c rows come in at *every* step. Added once, to finished estimates, they would be held against
    estimated rows as if these had been seen; a perturbed row says less than a row. Inside the iteration they
    are held against what the rows do say.

    Examples
    --------
    Nobody in a group: the overall shares are all there is to say, whatever its size.

    >>> pooled_counts(np.array([[30.0, 10.0], [0.0, 0.0]]), [None, None], 4.0).round(6).tolist()
    [[30.0, 10.0], [0.0, 0.0]]

    Four rows of one kind, and four overall ones, which are half and half.

    >>> pooled_counts(np.array([[4.0, 0.0], [0.0, 4.0]]), [None, None], 4.0).round(3).tolist()
    [[3.0, 1.0], [1.0, 3.0]]
    """
    total = float(published.sum())
    current = np.full(published.shape, total / published.size) if start is None else start
    for _ in range(steps):
        linked = linked_counts(published, matrices, current)
        groups = linked.sum(axis=-1, keepdims=True)
        if toward is None:
            following = groups * shares_with_overall(linked, overall_rows)
        else:
            following = groups * (linked + overall_rows * toward) / (groups + overall_rows)
        moved = float(np.abs(following - current).sum())
        current = following
        if moved <= TOLERANCE * total:
            break
    return current


def leaning_counts(
    published: Floats,
    matrices: Sequence[AxisMatrix],
    leaning: Leaning,
    *,
    start: Floats | None = None,
    steps: int = LARGEST_NUMBER_OF_STEPS,
) -> Floats:
    """The same for any leaning: with peaks, toward what groups like each have.

    Examples
    --------
    >>> counts = np.array([[90.0, 5.0, 5.0], [5.0, 90.0, 5.0], [40.0, 38.0, 22.0]])
    >>> leaning_counts(counts, [None, None], Leaning(50.0, has_peaks=True))[0].round().tolist()
    [90.0, 6.0, 4.0]
    >>> leaning_counts(counts, [None, None], Leaning(50.0))[0].round().tolist()
    [75.0, 18.0, 7.0]
    """
    if not leaning.has_peaks:
        return pooled_counts(published, matrices, leaning.rows, start=start, steps=steps)
    current = pooled_counts(published, matrices, ROWS_BEFORE_PEAKS, steps=steps)
    for _ in range(ROUNDS):
        toward = peaked_shares(published, matrices, current)
        current = pooled_counts(published, matrices, leaning.rows, toward=toward, start=current, steps=steps)
    return current


def peaked_shares(published: Floats, matrices: Sequence[AxisMatrix], prior: Floats) -> Floats:
    """Shares to expect of each group when many have a peak, in the shape of ``published``.

    Published rows are linked to groups by the prior first.
    """
    size = published.shape[-1]
    overall = prior.reshape(-1, size).sum(axis=0) / max(float(prior.sum()), 1.0)
    shown = published_values(published, matrices, prior).reshape(-1, size)
    return expected_shares(shown, matrices[-1], overall).reshape(published.shape)


def published_values(published: Floats, matrices: Sequence[AxisMatrix], prior: Floats) -> Floats:
    """Expected published values of the rows that truly belong to each group, in the shape of ``published``.

    Published rows are linked to true groups by Bayes, while their last attribute stays as it was published.

    Examples
    --------
    Groups that were not perturbed have their own.

    >>> published_values(np.array([[3.0, 1.0], [0.0, 2.0]]), [None, None], np.ones((2, 2))).tolist()
    [[3.0, 1.0], [0.0, 2.0]]
    """
    expected = contract(prior, matrices)
    ratio = np.divide(published, expected, out=np.zeros_like(expected), where=expected > 0)
    linked = contract(ratio, [*(transposed(each) for each in matrices[:-1]), None])
    shown = contract(prior, [*(None for _ in matrices[:-1]), matrices[-1]])
    return np.asarray(linked * shown)


def linked_counts(published: Floats, matrices: Sequence[AxisMatrix], prior: Floats) -> Floats:
    """Expected number of published rows that truly belong to each cell, by Bayes row by row.

    ``sum over published rows of Pr(true cell | published cell)``; the mean of the table's own true counts given
    the published ones, when each row was drawn from the prior.

    Parameters
    ----------
    published
        Counts of published rows.
    matrices
        What each axis was distorted by.
    prior
        Counts in proportion to which true cells are drawn.

    References
    ----------
    Guo (2010), eq. 5.4.

    Examples
    --------
    >>> kept = np.array([[0.9, 0.1], [0.1, 0.9]])
    >>> linked_counts(np.array([10.0, 0.0]), [kept], np.array([5.0, 5.0])).round(9).tolist()
    [9.0, 1.0]
    """
    expected = contract(prior, matrices)
    ratio = np.divide(published, expected, out=np.zeros_like(expected), where=expected > 0)
    return np.asarray(prior * contract(ratio, [transposed(each) for each in matrices]))


def shares_with_overall(counts: Floats, overall_rows: float) -> Floats:
    """Shares within each group after some rows with the overall shares were added to it.

    Parameters
    ----------
    counts
        The groups on all axes but the last.
    overall_rows
        How many, above 0: an empty group would have no shares at all.

    Examples
    --------
    >>> shares_with_overall(np.array([[10.0, 30.0], [0.0, 0.0]]), 1.0)[1].tolist()
    [0.25, 0.75]
    """
    overall = counts.reshape(-1, counts.shape[-1]).sum(axis=0)
    padded = counts + overall_rows * overall / overall.sum()
    return np.asarray(padded / padded.sum(axis=-1, keepdims=True))


def choose_leaning(
    published: Floats, matrices: Sequence[AxisMatrix], generator: np.random.Generator
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
    parts = zip(
        steps("Judging how alike groups are", range(FOLDS)), _dealt(published, generator), strict=True
    )
    judged = [_judged(published, matrices, held_out, tried) for _, held_out in parts]
    return tried[int(np.argmax(np.sum(judged, axis=0)))]


def _leanings(published: Floats) -> list[Leaning]:
    """What is tried, the strongest first: of two that are as good the first is taken."""
    kinds = (False, True) if can_have_peaks(published[..., 0].size, published.shape[-1]) else (False,)
    return [Leaning(rows, has_peaks) for has_peaks, rows in itertools.product(kinds, STRENGTHS)]


def _dealt(published: Floats, generator: np.random.Generator) -> Iterator[Floats]:
    """Published rows dealt into equally likely parts."""
    left = published.astype(np.int64)
    for remaining in range(FOLDS, 0, -1):
        part: Integers = generator.binomial(left, 1 / remaining)
        left = left - part
        yield part.astype(np.float64)


def _judged(
    published: Floats, matrices: Sequence[AxisMatrix], held_out: Floats, tried: Sequence[Leaning]
) -> Floats:
    """Log probability of rows held out under every leaning's fit to the others, ``(leanings,)``."""
    affordable = CELLS_OF_ALL_TRIALS // (published.size * FOLDS * len(tried))
    rounds = min(max(affordable, FEWEST_STEPS), STEPS_OF_A_TRIAL)
    kept, occupied = published - held_out, held_out > 0
    before = pooled_counts(kept, matrices, ROWS_BEFORE_PEAKS, steps=rounds)
    peaked = peaked_shares(kept, matrices, before) if any(each.has_peaks for each in tried) else None
    found = np.empty(len(tried))
    current: dict[bool, Floats | None] = {False: None, True: before}
    for place, leaning in enumerate(tried):
        # Fewer rows are kept than there are; those leant on must weigh as much beside them.
        lighter, kind = (1 - 1 / FOLDS) * leaning.rows, leaning.has_peaks
        toward = peaked if kind else None
        current[kind] = fitted = pooled_counts(
            kept, matrices, lighter, toward=toward, start=current[kind], steps=rounds
        )
        expected = contract(fitted, matrices)[occupied] / max(float(kept.sum()), 1.0)
        found[place] = np.log(np.maximum(expected, np.finfo(np.float64).tiny)) @ held_out[occupied]
    return found


def occupied_groups(occupied: OccupiedCounts, number_of_exact: int) -> tuple[Integers | None, Floats]:
    """Published counts with the occupied combinations of the first attributes on one axis, and these combinations.

    Raises
    ------
    TooLargeError
        When the attributes that were perturbed, any of whose combinations may be a target's, have too many.
    """
    rest = [each.size for each in occupied.attributes[number_of_exact:]]
    codes = [each.astype(np.int64) for each in occupied.codes]
    exact = None
    if number_of_exact:
        exact, place = np.unique(np.stack(codes[:number_of_exact], axis=1), axis=0, return_inverse=True)
        codes, rest = [place.ravel(), *codes[number_of_exact:]], [len(exact), *rest]
    if math.prod(rest) > LARGEST_LINKED:
        names = ", ".join(each.name for each in occupied.attributes[number_of_exact:-1])
        raise TooLargeError(
            f"linking would weigh {math.prod(rest):,} cells, and at most {LARGEST_LINKED:,} fit. "
            f"Leave some of the perturbed attributes ({names or 'none'}) out of quasi_identifiers, or some others."
        )
    counts = np.zeros(rest)
    counts[tuple(codes)] = occupied.counts
    return exact, counts


def fit_groups(
    published: Floats, matrices: Sequence[AxisMatrix], judged: Floats, generator: np.random.Generator
) -> Floats:
    """True counts with the leaning that published rows bear out, judged by a part of the groups or all of them."""
    leaning = choose_leaning(judged, matrices, generator)
    # A part of the groups may have chosen it; all of them can be too many to try every peak of.
    if not can_have_peaks(published[..., 0].size, published.shape[-1]):
        leaning = Leaning(leaning.rows)
    return leaning_counts(published, matrices, leaning)


def some_groups(published: Floats, generator: np.random.Generator) -> Floats:
    """A random part of the groups on the first axis, where all together have more cells than trials can afford."""
    most = max(1, CELLS_OF_A_CHOICE * len(published) // published.size)
    if most >= len(published):
        return published
    return np.asarray(published[generator.choice(len(published), most, replace=False)])
