"""The table of what randomization preserves, held against random tables and matrices: it claims no more than is true."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sfumato.analysis.measure_formulas import MEASURES
from sfumato.analysis.unknown_distortion import KNOWLEDGE, PROPERTIES, broken_generators

ROUNDING = 1e-7
"""Roots of what rounding leaves of zero, which is about 1e-16, are about 1e-8."""

chances = st.floats(0.02, 0.98)


def shares_of(rows, columns):
    """Tables of shares without an empty cell."""
    return st.lists(st.floats(0.01, 1), min_size=rows * columns, max_size=rows * columns).map(
        lambda numbers: np.array(numbers).reshape(rows, columns) / sum(numbers)
    )


def matrices_of(size, knowing):
    """Matrices ``[true, published]`` of which so much is known."""
    if knowing == "uniform":
        return st.floats(0.0, 1.0).map(lambda kept: kept * np.eye(size) + (1 - kept) / size)
    if knowing == "keeping":
        kept = st.tuples(chances, chances).filter(lambda pair: sum(pair) >= 1)
        return kept.map(lambda pair: np.array([[pair[0], 1 - pair[0]], [1 - pair[1], pair[1]]]))
    return st.lists(st.floats(0.01, 1), min_size=size * size, max_size=size * size).map(
        lambda numbers: (
            np.array(numbers).reshape(size, size)
            / np.array(numbers).reshape(size, size).sum(axis=1, keepdims=True)
        )
    )


def value(name, table):
    """The measure itself, of 1,000 rows."""
    return MEASURES[name].shown(float(MEASURES[name].formula(table, 1_000)))


def distance(name, table):
    """How far a table is from independence by a measure."""
    return abs(value(name, table) - MEASURES[name].null)


CLAIMS = [
    (each.task, size, needed)
    for each in PROPERTIES
    if each.about == "size" and each.task in MEASURES
    for size, needed in ((2, each.binary), (3, each.larger))
    if needed is not None
]


@pytest.mark.parametrize(("name", "size", "knowing"), CLAIMS)
@given(data=st.data())
def test_sizes_shrink_where_the_table_says_so(name, size, knowing, data):
    """Whatever matrices are allowed by what is known."""
    table = data.draw(shares_of(size, size))
    rows, columns = data.draw(matrices_of(size, knowing)), data.draw(matrices_of(size, knowing))
    seen = rows.T @ table @ columns
    assert distance(name, seen) <= distance(name, table) * (1 + ROUNDING) + ROUNDING


def grows(name, size, knowing):
    """Whether some matrices of which so much is known take a measure farther from independence somewhere."""
    draw = np.random.default_rng(3)
    for _ in range(4_000):
        table, matrices = _alike(draw) if size == 3 else _binary(draw, knowing)
        seen = matrices[0].T @ table @ matrices[1]
        if (seen > 1e-9).all() and distance(name, seen) > distance(name, table) + 1e-6:
            return True
    return False


def _binary(draw, knowing):
    table = draw.dirichlet(np.full(4, 0.5)).reshape(2, 2) + 1e-3
    kept = draw.uniform(0, 1, (2, 2))
    if knowing == "keeping":
        kept = np.where(kept.sum(axis=1, keepdims=True) < 1, 1 - kept, kept)
    return table / table.sum(), [np.array([[own[0], 1 - own[0]], [1 - own[1], own[1]]]) for own in kept]


def _alike(draw):
    """Two categories that are alike and that a matrix nearly merges: the normaliser falls, the dependence does not."""
    halves = draw.dirichlet(np.ones(6)).reshape(3, 2) + 1e-3
    table = np.column_stack([halves[:, 0], halves[:, 1] / 2, halves[:, 1] / 2])
    merging = np.array([[1, 0, 0], [0, 0.95, 0.05], [0, 0.85, 0.15]])
    sides = (np.eye(3), merging)
    if draw.uniform() < 0.5:
        table, sides = table.T, sides[::-1]
    return table / table.sum(), sides


@pytest.mark.parametrize(("name", "size", "knowing"), [each for each in CLAIMS if each[2] != "uniform"])
def test_no_claim_is_broken_by_what_breaks_others(name, size, knowing):
    """Random matrices seldom merge categories; those that show the limits of other measures do."""
    assert not grows(name, size, knowing)


LIMITS = [
    (each.task, size, KNOWLEDGE[KNOWLEDGE.index(needed) - 1])
    for each in PROPERTIES
    if each.about == "size" and each.task in MEASURES
    for size, needed in ((2, each.binary), (3, each.larger))
    if needed not in {None, "nothing"}
]


@pytest.mark.parametrize(("name", "size", "less"), LIMITS)
def test_less_knowledge_would_not_do(name, size, less):
    """For every condition there is a table that shows the need of it."""
    assert grows(name, size, less)


ORDERS = [each for each in PROPERTIES if each.about == "order"]


@pytest.mark.parametrize("each", ORDERS, ids=lambda each: each.task)
@given(data=st.data())
def test_orders_are_kept_where_the_table_says_so(each, data):
    """Of two pairs randomized alike; what must be untouched is."""
    tables = [data.draw(shares_of(2, 2)) for _ in range(2)]
    rows, columns = (
        np.eye(2) if part in each.untouched else data.draw(matrices_of(2, each.binary))
        for part in ("first", "second")
    )
    for matrix in (rows, columns):
        assume(abs(np.trace(matrix) - 1) > 0.01)
    null = MEASURES[each.task].null
    size = (
        (lambda table: value(each.task, table))
        if null is None
        else (lambda table: distance(each.task, table))
    )
    truth = [size(table) for table in tables]
    seen = [size(rows.T @ table @ columns) for table in tables]
    assume(abs(truth[0] - truth[1]) > 1e-6)
    assert (truth[0] < truth[1]) == (seen[0] < seen[1])


@pytest.mark.parametrize("each", [each for each in ORDERS if each.untouched], ids=lambda each: each.task)
def test_orders_are_lost_when_what_must_be_untouched_is_randomized(each):
    """Some pair of tables shows it."""
    draw = np.random.default_rng(1)
    null = MEASURES[each.task].null or 0
    matrix = np.array([[0.8, 0.2], [0.2, 0.8]])
    for _ in range(4_000):
        tables = draw.dirichlet(np.ones(4), 2).reshape(2, 2, 2)
        seen = [(matrix.T @ table if "first" in each.untouched else table @ matrix) for table in tables]
        truth = [abs(value(each.task, table) - null) for table in tables]
        published = [abs(value(each.task, table) - null) for table in seen]
        if (truth[0] - truth[1]) * (published[0] - published[1]) < -1e-6:
            return
    pytest.fail("no order was lost")


def test_conditional_independence_is_kept_and_lost_as_korn_says():
    """P(C) = (.4, .6), P(A=0|C) = (.8, .3), P(B=0|C) = (.7, .2); C randomized by .8 gives odds ratios 2.476 and 1.911."""
    group, first, second = np.array([0.4, 0.6]), np.array([0.8, 0.3]), np.array([0.7, 0.2])
    true = np.einsum(
        "c,ca,cb->abc", group, np.column_stack([first, 1 - first]), np.column_stack([second, 1 - second])
    )
    matrix = np.array([[0.8, 0.2], [0.2, 0.8]])

    def odds(table):
        return table[0, 0] * table[1, 1] / (table[0, 1] * table[1, 0])

    sides = np.einsum("abc,ax,by->xyc", true, matrix, matrix)
    np.testing.assert_allclose([odds(sides[..., place]) for place in range(2)], 1)
    strata = np.einsum("abc,cz->abz", true, matrix)
    np.testing.assert_allclose(
        sorted(odds(strata[..., place]) for place in range(2)), [1.911, 2.476], atol=5e-4
    )
    assert broken_generators((("a", "c"), ("b", "c")), frozenset({"a", "b"})) == ()
    assert broken_generators((("a", "c"), ("b", "c")), frozenset({"c"})) == ("c",)


def partial(table):
    """Partial correlation of the first two of three binary attributes given the third."""

    def phi(pair):
        rows, columns = pair.sum(axis=1), pair.sum(axis=0)
        return (pair[1, 1] - rows[1] * columns[1]) / np.sqrt(rows.prod() * columns.prod())

    ab, ac, bc = phi(table.sum(axis=2)), phi(table.sum(axis=1)), phi(table.sum(axis=0))
    return (ab - ac * bc) / np.sqrt((1 - ac**2) * (1 - bc**2))


@given(data=st.data())
def test_partial_correlation_shrinks_when_the_given_attribute_is_untouched(data):
    """Result 11."""
    table = data.draw(shares_of(4, 2)).reshape(2, 2, 2)
    first, second = (data.draw(matrices_of(2, "nothing")) for _ in range(2))
    seen = np.einsum("abc,ax,by->xyc", table, first, second)
    assert abs(partial(seen)) <= abs(partial(table)) * (1 + 1e-7) + ROUNDING


def test_partial_correlation_can_grow_when_the_given_attribute_is_randomized():
    """About one table in fifty."""
    draw = np.random.default_rng(2)
    grown = 0
    for _ in range(2_000):
        table = draw.dirichlet(np.ones(8)).reshape(2, 2, 2)
        matrix = np.array([[0.8, 0.2], [0.2, 0.8]])
        grown += abs(partial(np.einsum("abc,cz->abz", table, matrix))) > abs(partial(table)) + 1e-9
    assert grown > 0
