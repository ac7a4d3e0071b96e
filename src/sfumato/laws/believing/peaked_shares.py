"""What to expect of a group's shares when many groups have one frequent value of their own.

Groups that lean on the overall shares alone are pulled away from a value that most of a group has, whichever it is: where
every town has a job of its own, all of them are believed too little, and mixed groups too much. Here a share of each
group's rows, from none to all, has one value, and the others have the overall shares. How many groups have how large a
peak is learned from all of them; which value it is, from the group's own published rows.
"""

from __future__ import annotations

import numpy as np

from sfumato.chance.distortion import AxisMatrix, contract
from sfumato.values.arrays import Floats

PEAKS = np.linspace(0.1, 1.0, 10)
"""Shares of a group's rows that may have one value beyond the overall shares."""

STEPS = 40
"""Steps in which it is learned how many groups have which peak."""

LARGEST_NUMBER_OF_VALUES = 500
"""Values beyond which every peak at every value is too many."""

LARGEST_NUMBER_OF_LIKELIHOODS = 20_000_000
"""Of all groups under all peaks, which are held in memory at once."""

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


def expected_shares(published: Floats, matrix: AxisMatrix, overall: Floats) -> Floats:
    """Shares to expect of each group before its rows are counted one by one, ``(groups, values)``.

    Parameters
    ----------
    published
        Published values of each group's rows, ``(groups, values)``.
    matrix
        What the values were distorted by.
    overall
        Overall shares of the true values, ``(values,)``.

    Notes
    -----
    An empirical Bayes estimate: ``theta = (1 - p) m + p e_j`` with the overall shares m, a peak p of :data:`PEAKS` or
    none, and its value j with probability m_j. The probabilities of the peaks are the most likely ones
    (expectation-maximization, one number for each peak); a group's shares are the mean over its posterior.

    References
    ----------
    Robbins (1956); Kiefer and Wolfowitz (1956) for the most likely prior.

    Examples
    --------
    Two groups with a value of their own, and one that is mixed.

    >>> counts = np.array([[90.0, 5.0, 5.0], [5.0, 90.0, 5.0], [40.0, 38.0, 22.0]])
    >>> expected_shares(counts, None, np.array([0.45, 0.44, 0.11])).round(1).tolist()
    [[0.9, 0.1, 0.0], [0.1, 0.9, 0.0], [0.4, 0.4, 0.2]]
    """
    size = overall.size
    peaked = (1 - PEAKS)[:, None, None] * overall + PEAKS[:, None, None] * np.eye(size)
    shares = np.concatenate([peaked.reshape(-1, size), overall[None, :]])
    logarithms = np.log(np.maximum(contract(shares, [None, matrix]), NEGLIGIBLE))
    likelihoods = published @ logarithms.T
    likelihoods = np.exp(likelihoods - likelihoods.max(axis=1, keepdims=True))
    is_seen = published.sum(axis=1) > NEGLIGIBLE
    # Up to a factor, which every step divides out. The last is no peak at all.
    probabilities = np.ones(PEAKS.size + 1)
    posterior = likelihoods
    for _ in range(STEPS):
        prior = np.append(np.outer(probabilities[:-1], overall), probabilities[-1])
        posterior = likelihoods * prior
        posterior /= np.maximum(posterior.sum(axis=1, keepdims=True), NEGLIGIBLE)
        mean = posterior[is_seen].mean(axis=0) if is_seen.any() else prior
        probabilities = np.append(mean[:-1].reshape(PEAKS.size, size).sum(axis=1), mean[-1])
    return np.asarray(posterior @ shares)
