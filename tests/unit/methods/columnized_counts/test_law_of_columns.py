"""Estimates from rows cut into columns: which column answers, what was kept of a row, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from noisy_rows import AGE, COLUMNS, CUT, JOB, NOISE, SEX, Given
from sfumato.errors import NotIdentifiableError
from sfumato.estimates.estimates import Certainty
from sfumato.methods.columnized_counts.noisy_counts import NoisyTotal
from sfumato.query.selection import Selection, Tabulation

KEPT = CUT.model_copy(update={"column_budget": None, "public_size": 90})
"""The same with every part of every row kept: all 90 are in the second column, 40 were left out of the first."""


def test_a_question_is_answered_by_the_smallest_column_that_holds_it():
    """Sex is in both; the second has fewer cells, so that fewer rows were left out."""
    assert KEPT.estimate(COLUMNS, Tabulation(by=("sex",))).values.tolist() == [60.0, 30.0]
    # Five combinations of the first were not published: eight rows for each.
    assert KEPT.estimate(COLUMNS, Tabulation(by=("job",))).values.tolist() == [58.0, 16.0, 16.0]


def test_counts_of_kept_parts_are_scaled_where_every_row_kept_as_many():
    """One part of two: twice the count, four times the noise, and the binomial draw of what was kept."""
    scaled = CUT.estimate(COLUMNS, Tabulation(by=("sex",)))
    assert scaled.values.tolist() == [120.0, 60.0]
    # X (1 - p) / p with p = 1/2 and X = 120, 60; each has one of the two combinations that were not published.
    own = 4 * NOISE + np.array([120.0, 60.0])
    ends = scaled.left_open.of(scaled.values)
    assert ends.low_variances == pytest.approx(own)
    assert ends.high_variances == pytest.approx(own[::-1])
    selected = CUT.estimate_selections(COLUMNS, (Selection((("age", (1,)),)),))
    assert selected.values.tolist() == [120.0]


@pytest.mark.parametrize(
    "ask",
    [
        lambda target: CUT.estimate(COLUMNS, Tabulation(by=("age",)), target=target).left_open.variances[1],
        lambda target: CUT.estimate_selections(
            COLUMNS, (Selection((("age", (1,)),)),), target=target
        ).left_open.variances[0],
    ],
    ids=["table", "selection"],
)
def test_the_draw_of_a_population_is_not_scaled_again(ask):
    """X (1 - X/N) of the draw comes after the scaling, X = 120 of N = 180."""
    assert ask("population") - ask("table") == pytest.approx(120 * (1 - 120 / 180))


def test_what_was_kept_in_two_columns_together_is_not_known():
    """A row that kept one part dropped the other, so their counts are not independent; nobody can tell how much."""
    asked = (Selection((("job", (0,)),)), Selection((("age", (1,)),)))
    assert np.isnan(CUT.estimate_selections(COLUMNS, asked).covariance[0, 1])


def test_joint_counts_across_columns_are_refused_with_the_reason():
    """Which fragment belongs with which is not published."""
    with pytest.raises(NotIdentifiableError, match=r"job and age together.*not published"):
        CUT.estimate(COLUMNS, Tabulation(by=("job", "age")))


def test_selections_in_different_columns_have_independent_noise():
    """Each is read where it is; a pair in one column is read there."""
    apart = KEPT.estimate_selections(COLUMNS, (Selection((("job", (0,)),)), Selection((("age", (1,)),))))
    assert apart.values.tolist() == [58.0, 60.0]
    assert apart.covariance[0, 1] == 0
    noisy = KEPT.model_copy(update={"public_size": None, "total": NoisyTotal(count=110, epsilon=0.5)})
    both = noisy.estimate_selections(COLUMNS, (Selection((("job", (0,)),)), Selection((("age", (1,)),))))
    # One of five, and one of two, of what was left out: of one number of rows.
    assert both.covariance[0, 1] == pytest.approx(noisy.total.noise.variance / 10)
    together = KEPT.estimate_selections(COLUMNS, (Selection((("job", (0,)),)), Selection((("sex", (0,)),))))
    assert together.values.tolist() == [58.0, 66.0]


def test_dropped_parts_are_said_where_nobody_can_tell_how_many():
    """A row without values in a column keeps a larger share of its others: in the sentence and in every note."""
    attributes = tuple(each.model_copy(update={"missing": "category"}) for each in (SEX, JOB, AGE))
    tables = {
        "column-1": {"sex": [0], "job": [0], "count": [50]},
        "column-2": {"age": [1, 0], "sex": [0, 1], "count": [60, 30]},
    }
    published = Given(attributes, **tables)
    assert "the others were dropped" in CUT.sentence
    for where in ((("sex", (0,)),), (("sex", (0,)), ("job", (0,)))):
        selection = Selection(where)
        estimates = CUT.estimate(published, Tabulation(where=selection))
        assert estimates.certainty[0] == Certainty.OPEN
        assert "column budget" in CUT.notes(published, selection, estimates)[-1]
