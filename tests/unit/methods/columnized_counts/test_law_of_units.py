"""Estimates from fragments of units: items and their values, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from noisy_rows import FRAGMENTS, LONG, MATRIX, NOISE
from sfumato.errors import NotIdentifiableError
from sfumato.methods.columnized_counts.law import NoisyRows
from sfumato.methods.columnized_counts.noisy_counts import LongColumns, NoisyTotal
from sfumato.query.selection import Selection, Tabulation


def test_items_are_counted_in_the_smallest_column_they_are_in():
    """Items i and j from the second column, k from the first; an item is never counted twice."""
    found = LONG.estimate(FRAGMENTS, Tabulation(by=("item",)))
    assert found.values.tolist() == [50.0, 50.0, 9.0]
    assert LONG.estimate(FRAGMENTS, Tabulation(by=("item", "stars"))).values.tolist() == [50, 0, 30, 20, 0, 9]


def test_entries_of_one_fragment_share_its_noise():
    """One star was given twice in the first fragment: its noise counts twice, and as a square."""
    found = LONG.estimate(FRAGMENTS, Tabulation(by=("stars",)))
    assert found.values.tolist() == [80.0, 29.0]
    assert found.left_open.low_variances == pytest.approx([NOISE * (4 + 1), NOISE * (1 + 1)])


def test_a_unit_of_which_nothing_was_published_may_have_any_item():
    """Of 60 units, 50 are in the second column and 9 in the first, which is that of item k."""
    found = LONG.estimate(FRAGMENTS, Tabulation(by=("item",)))
    assert (found.left_open.high - found.values).tolist() == [10, 10, 51]
    assert found.left_open.high_variances[2] == pytest.approx((2 * math.sqrt(NOISE)) ** 2)
    # Two items: a unit that was left out can have both.
    both = LONG.estimate(FRAGMENTS, Tabulation(where=Selection((("item", (0, 1)),))))
    assert both.left_open.high.tolist() == [120]


def test_the_share_of_a_value_among_raters():
    """One star among ratings of j, in the same column."""
    both = Selection((("item", (1,)), ("stars", (0,))))
    found = LONG.estimate_selections(FRAGMENTS, (both, Selection((("item", (1,)),))))
    assert found.values.tolist() == [30.0, 50.0]
    assert found.covariance == pytest.approx(NOISE * np.array([[1, 1], [1, 2]]))


def test_items_in_no_column_are_refused():
    """Nothing of them was published; that is not a count of zero."""
    some = NoisyRows(
        matrix=MATRIX, long=LongColumns(table="fragments", item="item", value="stars", columns=((0, 1),))
    )
    where = Selection((("item", (2,)),))
    with pytest.raises(NotIdentifiableError, match="no published column holds the item"):
        some.estimate(FRAGMENTS, Tabulation(where=where))
    with pytest.raises(NotIdentifiableError, match="no published column holds the item"):
        some.estimate_selections(FRAGMENTS, (where,))


def test_attributes_that_are_not_published_are_refused():
    """Long data hold items and values only."""
    with pytest.raises(NotIdentifiableError, match="holds item and stars only"):
        LONG.estimate(FRAGMENTS, Tabulation(by=("sex",)))


def test_selections_that_share_several_entries_of_a_fragment_share_its_noise_as_often():
    """One star holds fragment 0 twice and fragment 1 once; items i and j hold each of them twice: 2*2 + 1*2."""
    one_star, both_items = Selection((("stars", (0,)), ("item", (0, 1)))), Selection((("item", (0, 1)),))
    found = LONG.estimate_selections(FRAGMENTS, (one_star, both_items))
    assert found.values.tolist() == [80.0, 100.0]
    assert found.covariance == pytest.approx(NOISE * np.array([[5, 6], [6, 8]]))


def test_cells_of_several_fragments_add_their_noise_once_for_each():
    """Items by stars: (i, 1) is in two fragments, (j, 1), (j, 2) and (k, 2) in one each, the others in none."""
    found = LONG.estimate(FRAGMENTS, Tabulation(by=("item", "stars")))
    # A zero is not known to less than a row.
    assert found.left_open.low_variances == pytest.approx([2 * NOISE, 0, NOISE, NOISE, 0, NOISE])


def test_where_every_unit_is_published_nobody_is_left():
    """Fifty units, all of them in the second column, and nine in the first: an item of the first may have 41 more."""
    law = LONG.model_copy(update={"public_size": 50})
    found = law.estimate(FRAGMENTS, Tabulation(by=("item",)))
    assert (found.left_open.high - found.values).tolist() == [0, 0, 41]
    alone = law.estimate(FRAGMENTS, Tabulation(where=Selection((("item", (2,)),))))
    assert alone.values.tolist() == [9]


def test_a_noisy_number_of_units_makes_what_is_left_less_sure():
    """Sixty with noise of its own: item k may have 51 more, with the error of its one fragment and that of 60 less 9."""
    total = NoisyTotal(count=60, epsilon=0.5)
    law = LONG.model_copy(update={"public_size": None, "total": total})
    found = law.estimate(FRAGMENTS, Tabulation(by=("item",)))
    assert (found.left_open.high - found.values).tolist() == [10, 10, 51]
    errors = math.sqrt(NOISE) + math.sqrt(total.noise.variance + NOISE)
    assert found.left_open.high_variances[2] == pytest.approx(errors**2)


def test_units_are_added_up_by_column():
    """Nine in the first, 30 and 20 in the second, each once for all its items; none of items that are in no column."""
    columns = LONG._published_columns(FRAGMENTS)
    assert columns.sums.tolist() == [9, 50, 0]
    assert columns.numbers.tolist() == [1, 2, 0]
