"""What groups keep as they stand: by hand, and by the definitions with loops on small tables."""

from __future__ import annotations

import math

import numpy as np
import pytest

from coded_tables import table_of
from sfumato import inspect_table
from sfumato.custody.inspect import group_criteria
from sfumato.guarantees import class_criteria as class_counts
from sfumato.guarantees import class_criteria as class_tables


def test_two_groups_by_hand():
    """Group 0 holds a, a, b; group 1 holds b, b, b, c. Of seven rows a 2, b 4, c 1."""
    table = table_of([2, 3], [np.array([0, 0, 0, 1, 1, 1, 1]), np.array([0, 0, 1, 1, 1, 1, 2])])
    found = group_criteria(table, ["x0"], table.schema["s"])
    assert (found.k, found.l_distinct, found.lacks_a_value) == (3, 2, True)
    assert found.l_share == pytest.approx(4 / 3)
    entropy = -(3 / 4 * math.log(3 / 4) + 1 / 4 * math.log(1 / 4))
    assert found.l_entropy == pytest.approx(math.exp(entropy))
    # Shares 2/3, 1/3, 0 against 2/7, 4/7, 1/7: half of 8/21 + 5/21 + 3/21.
    assert found.t_equal == pytest.approx(8 / 21)
    # Cumulative: 8/21 and 3/21 of the first group, 2/7 and 3/28 of the second, over two steps.
    assert found.t_ordered == pytest.approx((8 / 21 + 3 / 21) / 2)
    # a grows from 2/7 to 2/3.
    assert found.beta == pytest.approx((2 / 3) / (2 / 7) - 1)
    assert found.delta == pytest.approx(math.log((2 / 3) / (2 / 7)))


@pytest.mark.parametrize("at_once", [1, 3, 10**6])
@pytest.mark.parametrize("most", [5, 10**6])
def test_as_the_definitions_say(monkeypatch, at_once, most):
    """Loops over groups of a skewed table with a value that nobody has, however many are worked on at a time or in a pass."""
    monkeypatch.setattr(class_tables, "CELLS_AT_ONCE", at_once)
    monkeypatch.setattr(class_counts, "COMBINATIONS_AT_ONCE", most)
    # By a count for each combination, or in several passes.
    monkeypatch.setattr(class_counts, "DENSE_CELLS_AT_ONCE", 2**28 if most > 5 else 0)
    generator = np.random.default_rng(3)
    codes = [
        generator.integers(0, 3, 90),
        generator.integers(0, 4, 90),
        generator.choice(5, 90, p=[0.5, 0.3, 0.1, 0.1, 0]),
    ]
    table = table_of([3, 4, 5], codes)
    found = group_criteria(table, ["x0", "x1"], table.schema["s"])
    overall = np.bincount(codes[2], minlength=5) / 90
    held = [value for value in range(5) if overall[value] > 0]
    groups = {}
    for first, second, value in zip(*codes, strict=True):
        groups.setdefault((first, second), []).append(value)
    shares = [{value: rows.count(value) / len(rows) for value in held} for rows in groups.values()]
    assert found.k == min(len(rows) for rows in groups.values())
    assert found.l_distinct == min(len(set(rows)) for rows in groups.values())
    assert found.beta == pytest.approx(
        max((each[v] - overall[v]) / overall[v] for each in shares for v in held)
    )
    assert found.delta == pytest.approx(
        max(abs(math.log(each[v] / overall[v])) for each in shares for v in held if each[v] > 0)
    )
    assert found.t_equal == pytest.approx(
        max(sum(abs(each[v] - overall[v]) for v in held) / 2 for each in shares)
    )
    assert found.l_entropy == pytest.approx(
        min(math.exp(-sum(p * math.log(p) for p in each.values() if p > 0)) for each in shares)
    )
    assert found.lacks_a_value == any(0 in each.values() for each in shares)


def test_an_inspection_tells_them_and_its_words_do_not():
    """In the tables and in plain data; not in what a log would show."""
    table = table_of([2, 3], [np.array([0, 0, 0, 1, 1, 1, 1]), np.array([0, 0, 1, 1, 1, 1, 2])])
    found = inspect_table(table)
    (told,) = found.to_dict()["criteria"]
    assert (told["k"], told["attribute"]) == (3, "s")
    assert "What these groups keep as they stand" in found.summary()
    assert repr(found.criteria[0]) == "GroupCriteria(s; private)"
