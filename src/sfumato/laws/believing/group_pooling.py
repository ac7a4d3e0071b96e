"""Shares of a last attribute within groups, each group leaning on all: partial pooling through a distortion.

Estimates of a small group are mostly noise when its rows were perturbed, and the largest of several noisy
shares is too large. Shares that lean on the overall ones, as far as the published rows support it, are not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from sfumato.chance.distortion import AxisMatrix, contract, transposed
from sfumato.errors import TooLargeError
from sfumato.values.arrays import Floats, Integers
from sfumato.values.counts import OccupiedCounts
from sfumato.watching import steps

STRENGTHS = (4096.0, 1024.0, 256.0, 64.0, 16.0, 4.0, 1.0, 0.25, 0.0625)
"""Numbers of overall rows tried, from groups that are all alike to groups by themselves."""

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


def pooled_counts(
    published: Floats,
    matrices: Sequence[AxisMatrix],
    overall_rows: float,
    *,
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
        following = groups * shares_with_overall(linked, overall_rows)
        moved = float(np.abs(following - current).sum())
        current = following
        if moved <= TOLERANCE * total:
            break
    return current


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


def choose_overall_rows(
    published: Floats, matrices: Sequence[AxisMatrix], generator: np.random.Generator
) -> float:
    """How far groups should lean on all, judged by published rows that were held out.

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
    float
        One of :data:`STRENGTHS`.

    Notes
    -----
    Truth is not needed: a strength is judged by the mean log probability that its fit to four fifths of the
    published rows gives to the rest, each fifth in turn. The strongest within one standard error of the
    best is taken, so that groups are told apart only where the published rows bear it out.

    References
    ----------
    Breiman, Friedman, Olshen and Stone (1984), chapter 3, for the rule of one standard error.

    Examples
    --------
    Groups that are alike lean on each other, groups that differ do not.

    >>> generator = np.random.default_rng(1)
    >>> choose_overall_rows(np.full((50, 2), 20.0), [None, None], generator) >= 64
    True
    >>> choose_overall_rows(np.array([[40.0, 0.0], [0.0, 40.0]] * 25), [None, None], generator) <= 1
    True
    """
    rows = float(published.sum())
    if rows < FOLDS:
        return STRENGTHS[0]
    # (strengths, held-out cells) and how often each cell was held out.
    logarithms, times = (
        np.concatenate(each, axis=-1)
        for each in zip(*_judged(published, matrices, _dealt(published, generator)), strict=True)
    )
    means = logarithms @ times / rows
    behind = logarithms[means.argmax()] - logarithms
    lost = behind @ times / rows
    spread = (behind - lost[:, np.newaxis]) ** 2 @ times / rows
    return STRENGTHS[int(np.argmax(lost <= np.sqrt(spread / rows)))]


def _dealt(published: Floats, generator: np.random.Generator) -> Iterator[Floats]:
    """Published rows dealt into equally likely parts."""
    left = published.astype(np.int64)
    for remaining in range(FOLDS, 0, -1):
        part: Integers = generator.binomial(left, 1 / remaining)
        left = left - part
        yield part.astype(np.float64)


def _judged(
    published: Floats, matrices: Sequence[AxisMatrix], parts: Iterator[Floats]
) -> Iterator[tuple[Floats, Floats]]:
    """For each part, log probability of its rows under every strength's fit to the others, and their number."""
    affordable = CELLS_OF_ALL_TRIALS // (published.size * FOLDS * len(STRENGTHS))
    rounds = min(max(affordable, FEWEST_STEPS), STEPS_OF_A_TRIAL)
    for _, held_out in zip(steps("Judging how alike groups are", range(FOLDS)), parts, strict=True):
        kept = published - held_out
        occupied = held_out > 0
        current, found = None, []
        for strength in STRENGTHS:
            # Fewer rows are kept than there are; the overall ones must weigh as much beside them.
            weight = (1 - 1 / FOLDS) * strength
            current = pooled_counts(kept, matrices, weight, start=current, steps=rounds)
            expected = contract(current, matrices)[occupied] / max(float(kept.sum()), 1.0)
            found.append(np.log(np.maximum(expected, np.finfo(np.float64).tiny)))
        yield np.stack(found), held_out[occupied]


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


def some_groups(published: Floats, generator: np.random.Generator) -> Floats:
    """A random part of the groups on the first axis, where all together have more cells than trials can afford."""
    most = max(1, CELLS_OF_A_CHOICE * len(published) // published.size)
    if most >= len(published):
        return published
    return np.asarray(published[generator.choice(len(published), most, replace=False)])
