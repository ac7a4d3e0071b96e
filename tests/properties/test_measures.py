"""Which measures survive randomization unread: the preservation matrix of Guo (2010), corrected.

Vertical: read off the release, a measure is no farther from independence than in truth. Horizontal: of two
pairs that were randomized alike, the larger in truth is the larger in the release.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sfumato.analysis.measure_formulas import MEASURES

ROUNDING = 1e-9

# Vertical for any binary matrices, whatever they do.
ALWAYS = (
    "phi",
    "phi-squared",
    "chi-square",
    "g-square",
    "mutual-information",
    "uncertainty-of-first",
    "uncertainty-of-second",
    "concentration",
    "reverse-risk-difference",
    "risk-difference",
    "leverage",
)
# Vertical where each matrix keeps at least as often as it changes on average: p0 + p1 >= 1.
WHERE_KEPT = (
    *ALWAYS,
    "certainty",
    "added-value",
    "kappa",
    "odds-ratio",
    "lift",
    "conviction",
    "collective-strength",
    "j-measure",
    "standardized-residual",
)

shares = st.lists(st.floats(0.01, 1), min_size=4, max_size=4).map(
    lambda numbers: np.array(numbers).reshape(2, 2) / sum(numbers)
)
chances = st.floats(0.02, 0.98)
matrices = st.tuples(chances, chances).map(lambda keep: binary(*keep))
keeping = st.tuples(chances, chances).filter(lambda keep: sum(keep) >= 1).map(lambda keep: binary(*keep))


def binary(zero, one):
    """Columns are true categories, rows published ones; each is kept with its own probability."""
    return np.array([[zero, 1 - one], [1 - zero, one]])


def value(name, table):
    """The measure itself of a table of shares, of 1,000 rows."""
    return MEASURES[name].shown(float(MEASURES[name].formula(table, 1_000)))


def released(table, rows, columns):
    """Shares to expect in the release."""
    return rows @ table @ columns.T


def assert_nearer_to_independence(name, table, seen):
    """As far from its null as in truth, or nearer."""
    null = MEASURES[name].null
    distance = abs(value(name, table) - null)
    assert abs(value(name, seen) - null) <= distance * (1 + ROUNDING) + ROUNDING


@pytest.mark.parametrize("name", ALWAYS)
@given(table=shares, rows=matrices, columns=matrices)
def test_no_randomization_takes_these_from_independence(name, table, rows, columns):
    """Column V* of the matrix."""
    assert_nearer_to_independence(name, table, released(table, rows, columns))


@pytest.mark.parametrize("name", WHERE_KEPT)
@given(table=shares, rows=keeping, columns=keeping)
def test_no_keeping_randomization_takes_these_from_independence(name, table, rows, columns):
    """Column V+ of the matrix."""
    assert_nearer_to_independence(name, table, released(table, rows, columns))


@given(tables=st.tuples(shares, shares), rows=matrices, columns=matrices)
def test_order_of_leverage_is_kept_by_matrices_that_both_pairs_share(tables, rows, columns):
    """Column H1: it shrinks by one factor, s of the rows times s of the columns."""
    factor = (np.trace(rows) - 1) * (np.trace(columns) - 1)
    for table in tables:
        seen = value("leverage", released(table, rows, columns))
        np.testing.assert_allclose(seen, factor * value("leverage", table), atol=ROUNDING)


def order_is_kept(name, tables, rows, columns):
    """Whether the distances from independence are ordered in the release as in truth."""
    null = MEASURES[name].null
    truth = [abs(value(name, each) - null) for each in tables]
    seen = [abs(value(name, released(each, rows, columns)) - null) for each in tables]
    assume(abs(truth[0] - truth[1]) > 1e-6)
    return (truth[0] < truth[1]) == (seen[0] < seen[1])


@given(tables=st.tuples(shares, shares), matrix=matrices)
def test_order_of_added_value_is_kept_when_the_antecedent_is_untouched(tables, matrix):
    """Column H2 with the row of Guo's table put right: the consequent may be randomized."""
    assume(abs(np.trace(matrix) - 1) > 0.01)
    assert order_is_kept("added-value", tables, np.eye(2), matrix)


@given(tables=st.tuples(shares, shares), matrix=matrices)
def test_order_of_the_reverse_risk_difference_is_kept_when_the_second_is_untouched(tables, matrix):
    """Column H2."""
    assume(abs(np.trace(matrix) - 1) > 0.01)
    assert order_is_kept("reverse-risk-difference", tables, matrix, np.eye(2))


def test_order_of_added_value_is_lost_when_the_antecedent_is_randomized():
    """The counterexample to Guo's result 7 as printed."""
    first = np.array([[0.30, 0.05], [0.10, 0.55]])
    second = np.array([[0.05, 0.85], [0.05, 0.05]])
    assert round(value("added-value", first), 3) == 0.246
    assert round(value("added-value", second), 3) == -0.4
    seen = [released(each, binary(0.8, 0.8), np.eye(2)) for each in (first, second)]
    assert round(value("added-value", seen[0]), 3) == 0.163
    assert round(value("added-value", seen[1]), 3) == -0.092


RISING = np.array([[0.4, 0.1], [0.05, 0.2], [0.05, 0.2]])
RISING_MATRIX = np.array([[1, 0, 0], [0, 0.95, 0.85], [0, 0.05, 0.15]])


def test_normalized_information_can_rise_under_larger_matrices():
    """The counterexamples to Guo's result 8: the normaliser shrinks too."""
    seen = RISING_MATRIX @ RISING
    assert round(value("uncertainty-of-first", RISING), 4) == 0.1854
    assert round(value("uncertainty-of-first", seen), 4) == 0.2253
    assert round(value("uncertainty-of-second", RISING.T), 4) == 0.1854
    assert round(value("uncertainty-of-second", seen.T), 4) == 0.2253
    assert round(value("concentration", RISING.T), 4) == 0.2160
    assert round(value("concentration", seen.T), 4) == 0.3006


table_of_three = st.lists(st.floats(0.01, 1), min_size=9, max_size=9).map(
    lambda numbers: np.array(numbers).reshape(3, 3) / sum(numbers)
)
matrix_of_three = st.lists(st.floats(0.01, 1), min_size=9, max_size=9).map(
    lambda numbers: np.array(numbers).reshape(3, 3) / np.array(numbers).reshape(3, 3).sum(axis=0)
)
uniform_of_three = st.floats(0.0, 1.0).map(lambda kept: kept * np.eye(3) + (1 - kept) / 3)


@pytest.mark.parametrize("name", ["chi-square", "g-square", "mutual-information", "cramers-v"])
@given(table=table_of_three, rows=matrix_of_three, columns=matrix_of_three)
def test_no_matrices_raise_dependence_in_larger_tables(name, table, rows, columns):
    """Data processing: what a published value tells of another is no more than the true one told."""
    assert_nearer_to_independence(name, table, released(table, rows, columns))


@pytest.mark.parametrize("name", ["uncertainty-of-first", "uncertainty-of-second", "concentration"])
@given(table=table_of_three, rows=uniform_of_three, columns=uniform_of_three)
def test_uniform_randomization_does_not_raise_normalized_dependence(name, table, rows, columns):
    """Where every change is equally likely, the normaliser does not shrink."""
    assert_nearer_to_independence(name, table, released(table, rows, columns))


@pytest.mark.parametrize("name", ["support", "confidence", "cosine", "jaccard", "laplace"])
def test_measures_without_a_null_go_either_way(name):
    """Randomizing both sides by 0.8 raises it where few rows have both, and lowers it where nearly all do."""
    few, nearly_all = np.array([[0.90, 0.08], [0.018, 0.002]]), np.array([[0.04, 0.02], [0.04, 0.90]])
    few_seen, nearly_all_seen = (released(each, *[binary(0.8, 0.8)] * 2) for each in (few, nearly_all))
    assert value(name, few_seen) > value(name, few)
    assert value(name, nearly_all_seen) < value(name, nearly_all)
