"""Shares of a last attribute within groups, each group leaning on all: partial pooling through a distortion.

Estimates of a small group are mostly noise when its rows were perturbed, and the largest of several noisy
shares is too large. Shares that lean on the overall ones, or on others, are not; ``leaning`` says how far, and on which.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sfumato.chance.distortion import AxisMatrix, contract, transposed
from sfumato.errors import TooLargeError
from sfumato.values.arrays import Floats, Integers
from sfumato.values.counts import OccupiedCounts

LARGEST_NUMBER_OF_STEPS = 300
"""Steps after which the fit stops, converged or not."""

TOLERANCE = 1e-5
"""Share of all rows that the last step may still move."""


LARGEST_LINKED = 50_000_000
"""Cells that fit into memory, several times over."""

NOBODY = 1e-9
"""Overall rows that say what to believe of a group without any row, and nothing elsewhere."""


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
    # The first step gives them the published total.
    current = np.ones(published.shape) if start is None else start
    given = None if toward is None else overall_rows * toward
    backward = [transposed(each) for each in matrices]
    # Tens of thousands of steps are usual where leanings are judged: each writes over what the last one left.
    ratio, move = np.empty(published.shape), np.empty(published.shape)
    for _ in range(steps):
        following = _linked(published, matrices, backward, current, ratio)
        groups = following.sum(axis=-1, keepdims=True)
        following += _rows_alike(following, overall_rows) if given is None else given
        following *= groups / (groups + overall_rows)
        np.subtract(following, current, out=move)
        moved = float(np.abs(move, out=move).sum())
        current = following
        if moved <= TOLERANCE * total:
            break
    return current


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
    backward = [transposed(each) for each in matrices]
    return _linked(published, matrices, backward, prior, np.empty(published.shape))


def _linked(
    published: Floats,
    matrices: Sequence[AxisMatrix],
    backward: Sequence[AxisMatrix],
    prior: Floats,
    ratio: Floats,
) -> Floats:
    """The counts of :func:`linked_counts`; ``backward`` are the matrices transposed, and ``ratio`` is written over."""
    expected = contract(prior, matrices)
    if expected.min(initial=1.0) > 0:
        np.divide(published, expected, out=ratio)
    else:
        ratio.fill(0.0)
        np.divide(published, expected, out=ratio, where=expected > 0)
    linked = contract(ratio, backward)
    # Where no axis was distorted it is the ratio itself, which the next step writes over.
    return np.multiply(linked, prior, out=None if linked is ratio else linked)


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
    padded = counts + _rows_alike(counts, overall_rows)
    return np.asarray(padded / padded.sum(axis=-1, keepdims=True))


def _rows_alike(counts: Floats, rows: float) -> Floats:
    """So many rows with the overall shares, ``(values,)``."""
    overall = counts.reshape(-1, counts.shape[-1]).sum(axis=0)
    return np.asarray(rows * overall / overall.sum())


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
