"""Reconstruction from decoy groups one value at a time: the closed form and the paper's iteration.

A row is in one of 2 x 2 states, in or outside a public predicate P and with or without the value s (with
several sensitive attributes, one more factor of 2 for each). Both forms assume that every row without s
is equally likely to share a group with s, which holds only when values are equally frequent; the matrix
of :mod:`sfumato.methods.splu_gen.law.model` does without that. They are kept for comparison.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from sfumato.errors import NotIdentifiableError, ParameterError
from sfumato.values.arrays import Floats

PAPER_TOLERANCE = 0.01
"""Relative change of every state at which the paper's iteration stops (Fu et al. 2014, section 5)."""

EMPTY = 1e-9
"""Rows below which a state counts as empty."""

MAXIMUM_ROUNDS = 10_000
"""Rounds after which the iteration stops, converged or not."""

Transition = Literal["paper", "corrected"]
"""``paper``: a row without s shows it with probability f/N (Fig. 6), which adds up to more than f.
``corrected``: f (gamma - 1) / (gamma (N - f)), so that the expected number shown is f."""


def show_probability(
    count: Floats, rows: float, gamma: int, *, transition: Transition = "corrected"
) -> Floats:
    """Probability that a row *without* the value shows it.

    Groups with s hold f (gamma - 1) of the N - f rows without it, and each shows s with probability
    1/gamma.

    Examples
    --------
    >>> show_probability(np.array(100.0), 1000, 5).round(7)
    np.float64(0.0888889)
    """
    if transition == "paper":
        return np.asarray(count / rows)
    return np.asarray(count * (gamma - 1) / (gamma * (rows - count)))


def pairwise_count(shown: Floats, selected: Floats, count: Floats, rows: float, gamma: int) -> Floats:
    """Estimated number of rows in P with s: ``(y - n_P a) / (1/gamma - a)``.

    Parameters
    ----------
    shown
        Published rows in P that show s.
    selected
        Rows in P, exactly known.
    count
        Published rows that show s, below ``rows / gamma``; at that point P and s are unrelated whatever
        the truth.
    rows, gamma
        All rows; rows of a group.

    Examples
    --------
    >>> round(float(pairwise_count(np.array(42.0), np.array(400.0), np.array(100.0), 1000, 5)), 9)
    58.0
    """
    chance = show_probability(count, rows, gamma)
    return np.asarray((shown - selected * chance) / (1 / gamma - chance))


def paper_fixed_point(shown: float, selected: float, count: float, rows: float, gamma: int) -> float:
    """Where the paper's iteration with its printed matrix ends when it is not stopped early.

    The frequency is the smaller root of ``f (1 + 1/gamma) - f^2/N = f'``.

    Examples
    --------
    >>> round(paper_fixed_point(42, 400, 100, 1000, 5), 4)
    54.2373
    """
    slope = 1 + 1 / gamma
    root = (slope - (slope**2 - 4 * count / rows) ** 0.5) * rows / 2
    return float((shown - selected * root / rows) / (1 / gamma - root / rows))


def iterate(
    published: Floats,
    gammas: Sequence[int],
    *,
    transition: Transition = "paper",
    tolerance: float = PAPER_TOLERANCE,
    maximum_rounds: int = MAXIMUM_ROUNDS,
) -> tuple[Floats, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Fu et al. (2014), equations 13 and 14: expectation-maximization whose matrix follows the estimate.

    Parameters
    ----------
    published
        ``(queries, 2, 2, ...)``: published rows in each state; the first axis of 2 is outside or inside
        P, the others without or with the value of each sensitive attribute.
    gammas
        Rows of a group, one for each sensitive attribute.
    transition
        Which matrix.
    tolerance
        The iteration of a query stops when no state changes by more than this share of itself.

    Returns
    -------
    tuple
        Estimated states, of the shape of ``published``, and the number of rounds of each query.

    Notes
    -----
    The 1 % of the paper often stops it after a round or two, close to the published counts.

    Examples
    --------
    >>> states, rounds = iterate(np.array([[[4.0, 1.0], [3.0, 1.0]]]), [3])
    >>> round(float(states[0, 1, 1]), 5), int(rounds[0])
    (1.26114, 45)
    """
    current = np.array(published, dtype=np.float64)
    rounds = np.zeros(len(current), dtype=np.int64)
    active = np.arange(len(current))
    for _ in range(maximum_rounds):
        following = _round(current[active], published[active], gammas, transition)
        previous = current[active]
        # A state that is empty stays so and has no relative change; one that dies out would go on to the last digit.
        has_moved = (previous > EMPTY) & (np.abs(following - previous) > tolerance * previous)
        current[active] = following
        rounds[active] += 1
        active = active[has_moved.reshape(len(active), -1).any(axis=1)]
        if not active.size:
            break
    return current, rounds


def _round(current: Floats, published: Floats, gammas: Sequence[int], transition: Transition) -> Floats:
    """One step: ``x_i <- x_i sum_j a_ij y_j / sum_r a_rj x_r``."""
    rows = current.reshape(len(current), -1).sum(axis=1)
    matrices = []
    for axis, gamma in enumerate(gammas, start=2):
        other = tuple(each for each in range(1, current.ndim) if each != axis)
        count = current.sum(axis=other)[:, 1]
        chance = show_probability(count, rows, gamma, transition=transition)
        kept = np.full_like(chance, 1 / gamma)
        matrices.append(np.stack([np.stack([1 - chance, chance], 1), np.stack([1 - kept, kept], 1)], axis=1))
    expected = current
    for axis, matrix in enumerate(matrices, start=2):
        expected = _along(expected, matrix, axis)
    back = np.divide(published, expected, out=np.zeros_like(expected), where=expected > 0)
    for axis, matrix in enumerate(matrices, start=2):
        back = _along(back, matrix.transpose(0, 2, 1), axis)
    return np.asarray(current * back)


def _along(states: Floats, matrices: Floats, axis: int) -> Floats:
    """Multiply one axis of every query's states by that query's own matrix."""
    moved = np.moveaxis(states, axis, -1)
    shape = moved.shape
    flat = moved.reshape(len(moved), -1, 2)
    return np.moveaxis((flat @ matrices).reshape(shape), -1, axis)


def pairwise_counts(states: Floats, names: Sequence[str], gammas: Sequence[int]) -> Floats:
    """Closed form for one drawn attribute."""
    if len(gammas) > 1:
        raise ParameterError(
            f"the pairwise estimator answers for one drawn attribute at a time, here are {len(gammas)}. "
            "Leave the estimator out, or ask for 'paper'.",
            parameter="estimator",
        )
    shown, selected = states[:, 1, 1], states[:, 1].sum(axis=1)
    count, rows = states[:, :, 1].sum(axis=1), states.reshape(len(states), -1).sum(axis=1)
    if np.any(count * gammas[0] >= rows):
        raise NotIdentifiableError(
            f"a category of {names[0]!r} is published at least once for every group of {gammas[0]}, so its counts "
            f"in public groups are not determined; they lie between 0 and the group's rows. Ask about others."
        )
    return pairwise_count(shown, selected, count, float(rows[0]), gammas[0])
