"""Count tables by hand: projecting, conditioning, merging."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import QueryError, TooLargeError
from sfumato.estimates import counts
from sfumato.estimates.counts import CountTable, OccupiedCounts, empty_counts
from sfumato.schema import Attribute, Role
from strategies import count_tables, schemas

SEX = Attribute(name="sex", role=Role.OTHER, categories=("F", "M"))
JOB = Attribute(name="job", role=Role.SENSITIVE, categories=("a", "b", "c"))
AGE = Attribute(name="age", role=Role.OTHER, bins=(0, 30, 60), missing="error")


@pytest.fixture
def table():
    """Counts over sex, job and age, cell by cell.

    ===  ===  ======  =======
    sex  job  [0,30)  [30,60)
    ===  ===  ======  =======
    F    a         1        2
    F    b         3        4
    F    c         5        6
    M    a        10       20
    M    b        30       40
    M    c        50       60
    ===  ===  ======  =======
    """
    female = [[1, 2], [3, 4], [5, 6]]
    male = [[10, 20], [30, 40], [50, 60]]
    return CountTable((SEX, JOB, AGE), np.array([female, male]))


def test_total_is_the_sum_of_all_cells(table):
    """21 women and 210 men are 231 people."""
    assert table.total == 231


def test_projection_sums_out_what_is_not_named(table):
    """Women 1+...+6, men ten times as many."""
    projected = table.project(["sex"])
    assert projected.names == ("sex",)
    assert projected.counts.tolist() == [21, 210]


def test_projection_keeps_the_order_asked_for(table):
    """Age first, then sex, although the table has them the other way round."""
    projected = table.project(["age", "sex"])
    assert projected.names == ("age", "sex")
    assert projected.counts.tolist() == [[9, 90], [12, 120]]


def test_projection_on_every_attribute_in_cyclic_order_moves_every_cell(table):
    """A cyclic order is its own inverse for no axis, so a wrong transposition shows."""
    projected = table.project(["job", "age", "sex"])
    assert projected.counts.shape == (3, 2, 2)
    assert projected.counts[2, 0].tolist() == [5, 50]
    assert projected.counts[0, 1].tolist() == [2, 20]


def test_projection_on_nothing_is_the_total(table):
    """Without attributes one cell remains."""
    projected = table.project([])
    assert projected.names == ()
    assert projected.counts.shape == ()
    assert projected.total == 231


def test_projection_on_an_attribute_twice_is_refused(table):
    """A table has one axis for each attribute."""
    with pytest.raises(QueryError):
        table.project(["sex", "sex"])


def test_condition_keeps_the_codes_and_sums_the_attribute_out(table):
    """Jobs a and c: 1+5 and 2+6 women, ten times as many men."""
    conditioned = table.condition("job", [2, 0])
    assert conditioned.names == ("sex", "age")
    assert conditioned.counts.tolist() == [[6, 8], [60, 80]]


def test_condition_counts_a_repeated_code_once(table):
    """A code is in the set or not."""
    assert table.condition("job", [1, 1]).counts.tolist() == [[3, 4], [30, 40]]


def test_condition_on_no_code_leaves_no_rows(table):
    """An empty set of codes selects nobody."""
    assert table.condition("job", []).counts.tolist() == [[0, 0], [0, 0]]


def test_condition_on_the_last_attribute_leaves_one_cell(table):
    """Women with job b under 30 are three."""
    cell = table.condition("sex", [0]).condition("job", [1]).condition("age", [0])
    assert cell.names == ()
    assert cell.counts.shape == ()
    assert cell.total == 3


def test_condition_on_a_negative_code_is_refused(table):
    """Codes run from zero."""
    with pytest.raises(QueryError):
        table.condition("job", [-1])


def test_merging_adds_categories_that_become_one(table):
    """Jobs a and c become 'other', b stays: 1+5 and 3 young women."""
    coarse = Attribute(name="job", role=Role.SENSITIVE, categories=("b", "other"))
    merged = table.merge("job", coarse, [1, 0, 1])
    assert merged.attributes == (SEX, coarse, AGE)
    assert merged.counts.tolist() == [[[3, 4], [6, 8]], [[30, 40], [60, 80]]]


def test_merging_leaves_categories_nobody_maps_to_empty(table):
    """A new category without an old one has no rows."""
    wider = Attribute(name="sex", role=Role.OTHER, categories=("M", "F", "X"))
    merged = table.merge("sex", wider, [1, 0]).project(["sex"])
    assert merged.counts.tolist() == [210, 21, 0]


def test_merging_into_a_negative_code_is_refused(table):
    """Codes run from zero."""
    coarse = Attribute(name="job", role=Role.SENSITIVE, categories=("b", "other"))
    with pytest.raises((QueryError, ValueError)):
        table.merge("job", coarse, [1, 0, -1])


def test_merging_with_a_code_missing_is_refused(table):
    """Every old code has a new one."""
    coarse = Attribute(name="job", role=Role.SENSITIVE, categories=("b", "other"))
    with pytest.raises(ValueError, match="shape"):
        table.merge("job", coarse, [1, 0])


@pytest.mark.parametrize(
    "ask",
    [
        lambda table: table.axis_of("jb"),
        lambda table: table.project(["sex", "jb"]),
        lambda table: table.condition("jb", [0]),
        lambda table: table.merge("jb", SEX, [0, 1]),
    ],
)
def test_unknown_attribute_is_refused_with_a_suggestion(table, ask):
    """Every operation names the nearest attribute that the table has."""
    with pytest.raises(QueryError, match=r"^the table has no attribute 'jb'; did you mean 'job'\?$"):
        ask(table)


def test_counts_of_another_shape_are_refused():
    """Axes have the sizes of their attributes, in order."""
    with pytest.raises(ValueError, match=r"counts have shape \(3, 2\), the attributes ask for \(2, 3\)\."):
        CountTable((SEX, JOB), np.zeros((3, 2)))


def test_counts_cannot_be_changed(table):
    """A table that exists does not change."""
    with pytest.raises(ValueError, match="read-only"):
        table.counts[0, 0, 0] = 7
    with pytest.raises(ValueError, match="read-only"):
        table.project(["sex"]).counts[0] = 7


def test_array_given_stays_writable():
    """Making a table does not change what the caller has."""
    given_counts = np.zeros((2, 3))
    CountTable((SEX, JOB), given_counts)
    given_counts[0, 0] = 1


def test_later_change_of_the_caller_does_not_reach_the_table():
    """What a table holds is its own, also when it was given a view."""
    cells = np.zeros(6)
    made = CountTable((SEX, JOB), cells.reshape(2, 3))
    cells[0] = 1
    assert made.total == 0


def test_repr_shows_names_and_size_but_no_count(table):
    """Counts may be private, so the one line has none."""
    assert repr(table) == "CountTable(sex, job, age: 12 cells)"


def test_empty_counts_are_zeros_over_the_product():
    """Integers, one for each combination."""
    zeros = empty_counts([SEX, JOB])
    assert zeros.shape == (2, 3)
    assert zeros.dtype == np.int64
    assert not zeros.any()
    assert empty_counts([]).shape == ()


def test_table_that_would_not_fit_is_refused(monkeypatch):
    """The refusal says how large it would be, what fits, and what to ask instead."""
    monkeypatch.setattr(counts, "LARGEST_TABLE", 6)
    assert empty_counts([SEX, JOB]).size == 6
    with pytest.raises(TooLargeError) as caught:
        empty_counts([SEX, JOB, AGE])
    assert str(caught.value) == (
        "a table over sex, job, age has 12 cells; at most 6 fit. "
        "Ask for fewer attributes, or condition on some of them instead of tabulating them."
    )


@given(st.data())
def test_projection_keeps_the_total(data):
    """Summing out moves counts together and loses none."""
    table = data.draw(schemas().flatmap(count_tables))
    if not table.names:
        return
    kept = data.draw(st.lists(st.sampled_from(table.names), min_size=1, unique=True))
    assert table.project(kept).total == table.total


@given(st.data())
def test_conditions_on_both_parts_of_the_codes_add_up(data):
    """Rows with a code in a set and rows with a code outside it are all rows."""
    table = data.draw(schemas().flatmap(count_tables))
    if not table.names:
        return
    attribute = data.draw(st.sampled_from(table.attributes))
    inside = data.draw(st.sets(st.integers(0, attribute.size - 1)))
    outside = set(range(attribute.size)) - inside
    parts = [table.condition(attribute.name, codes).counts for codes in (inside, outside)]
    axis = table.axis_of(attribute.name)
    assert np.array_equal(parts[0] + parts[1], table.counts.sum(axis=axis))


@pytest.mark.parametrize("size", [2, 300, 60_000], ids=["few", "some", "more than one number tells apart"])
def test_what_occurs_in_rows_is_counted_as_by_hand(size):
    """Also where all combinations are too many for one number, with codes of the type that holds them."""
    draw = np.random.default_rng(size)
    attributes = [
        Attribute(name=name, role=Role.OTHER, categories=tuple(map(str, range(size)))) for name in "abcde"
    ]
    kinds = draw.integers(0, size, (40, 5))
    rows = kinds[draw.integers(0, 40, 1_000)]
    found = OccupiedCounts.of_rows(attributes, [column.astype(attributes[0].code_type) for column in rows.T])
    codes = zip(*(each.tolist() for each in found.codes), strict=True)
    assert dict(zip(codes, found.counts.tolist(), strict=True)) == Counter(map(tuple, rows.tolist()))
    assert {each.dtype for each in found.codes} == {attributes[0].code_type}
