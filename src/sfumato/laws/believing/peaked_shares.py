"""What to expect of a group's shares when many groups have one frequent value of their own.

Groups that lean on the overall shares alone are pulled away from a value that most of a group has, whichever it is: where
every town has a job of its own, all of them are believed too little, and mixed groups too much. Here a share of each
group's rows, from none to all, has one value, and the others have what is left in all groups when their peaks are taken
away. How many groups have how large a peak, and what is left, is learned from all of them; which value it is, from the
group's own published rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.chance.distortion import AxisMatrix, contract, transposed
from sfumato.laws.believing.group_pooling import NOBODY, published_values
from sfumato.values.arrays import Floats

PEAKS = np.linspace(0.1, 1.0, 10)
"""Shares of a group's rows that may have one value beyond what is left."""

ROUNDS = 12
"""Rounds in which it is learned what is left without the peaks, and rows may be linked anew."""

STEPS = 5
"""Steps of a round in which it is learned how many groups have which peak."""

LEAST_MOVE = 1e-3
"""Share of what is left that a round must still move for another."""

LARGEST_NUMBER_OF_VALUES = 500
"""Values beyond which every peak at every value is too many."""

LARGEST_NUMBER_OF_LIKELIHOODS = 20_000_000
"""Of all groups under all peaks, which are held in memory at once."""

LIKELIHOODS_TO_LEARN_FROM = 1_000_000
"""Of groups under all peaks; of more groups a random part says how many have which peak, and what is left."""

NEGLIGIBLE = 1e-12


def can_have_peaks(groups: int, values: int) -> bool:
    """Whether so many groups and values are few enough to try every peak.

    Examples
    --------
    >>> can_have_peaks(1_000, 12), can_have_peaks(10, 5_000)
    (True, False)
    """
    is_small = groups * (values * PEAKS.size + 1) <= LARGEST_NUMBER_OF_LIKELIHOODS
    return is_small and 1 < values <= LARGEST_NUMBER_OF_VALUES


def peaked_shares(
    published: Floats, matrices: Sequence[AxisMatrix], prior: Floats, *, relinks: bool = False
) -> Floats:
    """Shares to expect of each group before its rows are counted one by one, in the shape of ``published``.

    Parameters
    ----------
    published
        Counts, the groups on all axes but the last.
    matrices
        What each axis was distorted by.
    prior
        Counts by which published rows are linked to groups. Values have peaks as often as they have people there.
    relinks
        Link them anew in every round, by what was learned.

    Notes
    -----
    An empirical Bayes estimate: ``theta = (1 - p) r + p e_j`` with what is left r, a peak p of :data:`PEAKS` or none, and
    its value j with probability m_j, the overall shares. The probabilities of the peaks and r are the most likely ones
    (expectation-maximization); a group's shares are the mean over its posterior. Were r the overall shares, a peak that
    many people have would be expected of everybody else too: with 30 categories of which each value has one of its own,
    what few people of a rare value were believed to have was mostly the category of the most frequent value.

    References
    ----------
    Robbins (1956); Kiefer and Wolfowitz (1956) for the most likely prior.

    Examples
    --------
    Two groups with a value of their own, and one that is mixed.

    >>> counts = np.array([[90.0, 5.0, 5.0], [5.0, 90.0, 5.0], [40.0, 38.0, 22.0]])
    >>> peaked_shares(counts, [None, None], counts).round(1).tolist()
    [[0.9, 0.1, 0.0], [0.1, 0.9, 0.0], [0.4, 0.4, 0.2]]
    """
    size = published.shape[-1]
    overall = prior.reshape(-1, size).sum(axis=0) / max(float(prior.sum()), NOBODY)
    left, expected = overall, prior
    # Up to a factor, which every step divides out.
    probabilities = np.ones(PEAKS.size + 1)
    shown = published_values(published, matrices, prior).reshape(-1, size)
    part = shown if relinks else _some(shown)
    for _ in range(ROUNDS):
        shares = _peaked(left)
        posterior, probabilities = _posterior(part, matrices[-1], shares, overall, probabilities)
        expected = posterior @ shares
        before, left = left, _left(part, matrices[-1], shares, posterior, left)
        if np.abs(left - before).sum() <= LEAST_MOVE:
            break
        if relinks:
            current = (part.sum(axis=1, keepdims=True) * expected).reshape(published.shape)
            part = published_values(published, matrices, current).reshape(-1, size)
    if len(part) < len(shown):
        expected = _posterior(shown, matrices[-1], shares, overall, probabilities, steps=1)[0] @ shares
    return np.asarray(expected.reshape(published.shape))


def _some(shown: Floats) -> Floats:
    """Rows of all groups, or of a random part of very many; the same every time."""
    most = LIKELIHOODS_TO_LEARN_FROM // (shown.shape[1] * PEAKS.size + 1)
    if len(shown) <= most:
        return shown
    return np.asarray(shown[np.random.default_rng(0).choice(len(shown), most, replace=False)])


def _peaked(left: Floats) -> Floats:
    """Shares under every peak at every value, and in the last line under none."""
    size = left.size
    peaked = (1 - PEAKS)[:, None, None] * left + PEAKS[:, None, None] * np.eye(size)
    return np.concatenate([peaked.reshape(-1, size), left[None, :]])


def _posterior(
    shown: Floats,
    matrix: AxisMatrix,
    shares: Floats,
    overall: Floats,
    probabilities: Floats,
    *,
    steps: int = STEPS,
) -> tuple[Floats, Floats]:
    """Probability of every peak at every value in each group, and how many groups have which peak."""
    logarithms = np.log(np.maximum(contract(shares, [None, matrix]), NEGLIGIBLE))
    likelihoods = shown @ logarithms.T
    likelihoods = np.exp(likelihoods - likelihoods.max(axis=1, keepdims=True))
    is_seen = shown.sum(axis=1) > NEGLIGIBLE
    posterior = likelihoods
    for _ in range(steps):
        # The last is no peak at all.
        prior = np.append(np.outer(probabilities[:-1], overall), probabilities[-1])
        posterior = likelihoods * prior
        posterior /= np.maximum(posterior.sum(axis=1, keepdims=True), NEGLIGIBLE)
        mean = posterior[is_seen].mean(axis=0) if is_seen.any() else prior
        probabilities = np.append(mean[:-1].reshape(PEAKS.size, -1).sum(axis=1), mean[-1])
    return posterior, probabilities


def _left(shown: Floats, matrix: AxisMatrix, shares: Floats, posterior: Floats, left: Floats) -> Floats:
    """Shares of all rows that are no part of a peak.

    A row that shows w under a peak p at j is none of it, and of value x, with probability ``(1 - p) r_x T[x, w] / (theta T)[w]``.
    """
    outside = np.append(np.repeat(1 - PEAKS, left.size), 1.0)
    expected = np.maximum(contract(shares, [None, matrix]), NEGLIGIBLE)
    ratio = outside @ ((posterior.T @ shown) / expected)
    following = left * contract(ratio, [transposed(matrix)])
    total = float(following.sum())
    return np.asarray(following / total) if total > 0 else left
