"""Beliefs from rows with noisy counts, against sums over every number of copies."""

from __future__ import annotations

import numpy as np
import pytest

from believed_cells import AGE, JOB, PRIOR, SEX, beliefs, people
from noisy_rows import MATRIX, Given
from sfumato.methods.columnized_counts.law import NoisyRows, expected_copies
from sfumato.methods.columnized_counts.noisy_counts import PublishedColumn

SHOWN = {(1, 2, 0): 30, (1, 2, 2): 5, (0, 1, 1): 12, (0, 0, 0): 7}
"""Copies by sex, age and job; 5 is k."""

ROWS = Given(
    (SEX, AGE, JOB),
    rows={
        "sex": [each[0] for each in SHOWN],
        "age": [each[1] for each in SHOWN],
        "job": [each[2] for each in SHOWN],
        "count": list(SHOWN.values()),
    },
)


def law(*attributes):
    """One column over some attributes."""
    sizes = {"sex": 2, "age": 3, "job": 3}
    column = PublishedColumn(
        table="rows", attributes=attributes, sizes=tuple(sizes[each] for each in attributes)
    )
    return NoisyRows(matrix=MATRIX, columns=(column,), public_size=200)


def chance(shown):
    """Number of copies to the probability of what was published: left out, or k + max(0, i - k + G)."""

    def likelihood(copies):
        appears, left_out = (float(each[0]) for each in MATRIX.release_probabilities_of([copies]))
        if not shown:
            return left_out
        if shown == MATRIX.k:
            return appears * sum(
                float(MATRIX.noise.probability(np.array([each]))[0])
                for each in range(-80, shown - copies + 1)
            )
        return appears * float(MATRIX.noise.probability(np.array([shown - copies]))[0])

    return likelihood


@pytest.mark.parametrize("are_members", [True, False])
@pytest.mark.parametrize("order", [("sex", "age", "job"), ("job", "age", "sex")])
def test_beliefs_follow_the_copies_that_were_shown_and_left_out(are_members, order):
    """By the one column that holds what is known and wanted, whatever the order of its attributes."""
    found = law(*order).posterior(ROWS, people(are_members=are_members), PRIOR)
    expected = beliefs(lambda *cell: chance(SHOWN.get(cell, 0)), are_members=are_members)
    np.testing.assert_allclose(found.of_targets(), expected, atol=2e-4)


def test_where_no_column_holds_what_is_known_the_prior_is_all_there_is():
    """A column of fewer attributes says nothing of these people beyond it."""
    found = law("sex", "job").posterior(ROWS, people(are_members=True), PRIOR).of_targets()
    np.testing.assert_allclose(found[0], np.array([0.15, 0.18, 0.1]) / 0.43)
    np.testing.assert_allclose(found[1], np.array([0.35, 0.12, 0.1]) / 0.57)


def test_beliefs_may_pull_further_than_noise():
    """Forty copies shown where one was expected, and one where four hundred were."""
    for shown, mean in ((40, 1.0), (12, 400.0)):
        by_sum = np.array([chance(shown)(each) for each in range(400)])
        numbers = np.arange(400)
        believed = 0.99 * (mean / (1 + mean)) ** numbers / (1 + mean) + 0.01 / ((numbers + 1) * (numbers + 2))
        expected = (numbers * believed * by_sum).sum() / (believed * by_sum).sum()
        found = expected_copies(MATRIX, np.array([shown]), np.array([mean]))
        assert found[0] == pytest.approx(expected, rel=1e-6)
