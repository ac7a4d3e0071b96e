"""What is believed of people from rows that were published with noisy counts, or left out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.laws.base import Published
from sfumato.laws.believing import Posterior, SharedPrior, Targets, beliefs_of_counts, expected_counts
from sfumato.laws.believing.targets import places_among
from sfumato.methods.columnized_counts.law.columns import COUNT_COLUMN, PublishedColumn, read_table
from sfumato.methods.columnized_counts.law.noisy_count_matrix import NoisyCountMatrix
from sfumato.values.arrays import Floats, Integers

ALMOST_SURE = 1 - 1e-9
"""Counts of a row that are less likely than this to be published so, or left out, are not looked at."""


def posterior_of_rows(
    matrix: NoisyCountMatrix,
    columns: Sequence[PublishedColumn],
    published: Published,
    targets: Targets,
    prior: SharedPrior,
) -> Posterior:
    """Beliefs by the column that holds just what is known and wanted; the shared prior where none does."""
    before = prior.at(targets.names, targets.combinations)
    wanted = {*targets.names, targets.sensitive.name}
    holding = [each for each in columns if {*each.attributes} == wanted]
    if not holding:
        return Posterior(before, targets.index)
    names = (*targets.names, targets.sensitive.name)
    codes, (counts,) = read_table(published, holding[0].table, names, (COUNT_COLUMN,))
    rows = np.stack([codes[name].astype(np.int64) for name in names], axis=1)
    shown = _copies_of(targets, rows, counts.astype(np.int64))
    means = prior.group_sizes(targets.names, targets.combinations)[:, np.newaxis] * before
    expected = expected_copies(matrix, shown.ravel(), means.ravel()).reshape(shown.shape)
    found = beliefs_of_counts(expected, before, are_members=targets.are_members)
    return Posterior(found, targets.index)


def expected_copies(matrix: NoisyCountMatrix, shown: Integers, means: Floats) -> Floats:
    """Copies that rows are expected to have, from the copies shown, 0 where a row is absent, ``(rows,)``.

    Examples
    --------
    A row that is absent has few copies, if any; one shown with a hundred has about a hundred.

    >>> matrix = NoisyCountMatrix(k=5, epsilon=2.0, delta=1e-5)
    >>> expected_copies(matrix, np.array([0, 100]), np.array([1.0, 1.0])).round(1).tolist()
    [1.0, 100.0]
    """
    noise, k = matrix.noise, matrix.k
    # Twice as far as noise goes: beliefs beforehand may pull harder than it.
    reach = 2 * int(noise.half_width(ALMOST_SURE))
    is_absent = shown == 0
    low = np.where(is_absent, 0, np.maximum(shown - reach, k))
    high = np.where(is_absent, matrix.threshold(ALMOST_SURE), shown + reach)

    def likelihood(points: Integers) -> Floats:
        appears, left_out = matrix.release_probabilities_of(points)
        apart = shown[:, np.newaxis] - points
        # What would fall to k or below is published as k.
        drawn = np.where(shown[:, np.newaxis] == k, noise.cumulative(apart), noise.probability(apart))
        return np.where(is_absent[:, np.newaxis], left_out, appears * drawn)

    return expected_counts(low, high, likelihood, means)


def _copies_of(targets: Targets, rows: Integers, counts: Integers) -> Integers:
    """Copies published of each combination with each value, 0 where it is absent, ``(combinations, values)``."""
    shown = np.zeros((len(targets.combinations), targets.sensitive.size), np.int64)
    places = places_among(rows[:, :-1], targets.combinations)
    known = places >= 0
    np.add.at(shown, (places[known], rows[known, -1]), counts[known])
    return shown
