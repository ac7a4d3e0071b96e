"""Shares of a last attribute within groups, each group leaning on all: partial pooling through a distortion.

Estimates of a small group are mostly noise when its rows were perturbed, and the largest of several noisy
shares is too large. Shares that lean on the overall ones, as far as the published rows support it, are not.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.distortion import AxisMatrix, Floats, contract, transposed

STRENGTHS = (4096.0, 1024.0, 256.0, 64.0, 16.0, 4.0, 1.0, 0.25)
"""Numbers of overall rows tried, from groups that are all alike to groups by themselves."""

HELD_OUT = 0.2
"""Share of the published rows that strengths are judged by."""

LARGEST_NUMBER_OF_STEPS = 300
"""Steps after which the fit stops, converged or not."""

TOLERANCE = 1e-5
"""Share of all rows that the last step may still move."""


def pooled_counts(
    published: Floats,
    matrices: Sequence[AxisMatrix],
    overall_rows: float,
    *,
    start: Floats | None = None,
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
    back = [transposed(each) for each in matrices]
    current = np.full(published.shape, total / published.size) if start is None else start
    for _ in range(LARGEST_NUMBER_OF_STEPS):
        expected = contract(current, matrices)
        ratio = np.divide(published, expected, out=np.zeros_like(expected), where=expected > 0)
        linked = current * contract(ratio, back)
        groups = linked.sum(axis=-1, keepdims=True)
        following = groups * shares_with_overall(linked, overall_rows)
        moved = float(np.abs(following - current).sum())
        current = following
        if moved <= TOLERANCE * total:
            break
    return current


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
    """How far groups should lean on all: the strength whose fit expects held-out published rows best.

    Parameters
    ----------
    published
        Whole numbers of published rows, the groups on all axes but the last.
    matrices
        What each axis was distorted by.
    generator
        Decides which published rows are held out. No private row is involved.

    Returns
    -------
    float
        One of :data:`STRENGTHS`.

    Notes
    -----
    Truth is not needed: a strength is judged by the mean log probability that its fit to four fifths of the
    published rows gives to the rest. From the strongest down, until it falls twice in a row.

    Examples
    --------
    Groups that are alike lean on each other, groups that differ do not.

    >>> generator = np.random.default_rng(1)
    >>> choose_overall_rows(np.full((50, 2), 20.0), [None, None], generator) >= 64
    True
    >>> choose_overall_rows(np.array([[40.0, 0.0], [0.0, 40.0]] * 25), [None, None], generator) <= 1
    True
    """
    held_out = generator.binomial(published.astype(np.int64), HELD_OUT).astype(np.float64)
    kept = published - held_out
    if held_out.sum() == 0 or kept.sum() == 0:
        return STRENGTHS[0]
    best, best_score, falls, current = STRENGTHS[0], -np.inf, 0, None
    for strength in STRENGTHS:
        # Fewer rows are kept than there are, and the overall ones must weigh as much beside them.
        current = pooled_counts(kept, matrices, (1 - HELD_OUT) * strength, start=current)
        expected = np.maximum(contract(current, matrices), np.finfo(np.float64).tiny)
        score = float((held_out * np.log(expected)).sum())
        falls = 0 if score > best_score else falls + 1
        if score > best_score:
            best, best_score = strength, score
        if falls == 2:
            break
    return best
