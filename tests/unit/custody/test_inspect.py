"""Looking at private rows: risk as it stands, and guessed schemas."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pytest

from samples import SCHEMA, people
from sfumato import Schema, read_table
from sfumato.custody.inspect import GroupSizes, inspect_table
from sfumato.errors import DataError

TINY = Schema.from_toml("""
[attributes.size]
role = "quasi-identifier"
categories = ["x", "y", "z"]
[attributes.sex]
role = "quasi-identifier"
categories = ["F", "M"]
missing = "category"
[attributes.job]
role = "sensitive"
categories = ["a", "b"]
""")
"""An attribute is called size, as the engine calls a column of its own."""

ROWS = [
    ("x", "F", "a"),
    ("x", "F", "a"),
    ("x", "F", "b"),
    ("y", None, "b"),
    ("y", None, "b"),
    ("z", "M", "a"),
]
"""Groups of 3, 2 and 1; the group of 2 and the group of 1 have one job each."""


def tiny(rows=ROWS):
    """A table of the tiny schema."""
    columns = zip(*rows, strict=True) if rows else ((), (), ())
    names = ("size", "sex", "job")
    return read_table(
        pa.table({name: pa.array(column, pa.string()) for name, column in zip(names, columns, strict=True)}),
        TINY,
    )


def test_group_sizes_are_a_histogram():
    """One group of each of the sizes 1, 2 and 3."""
    assert tiny().group_sizes(["size", "sex"]) == {1: 1, 2: 1, 3: 1}


def test_no_attribute_makes_one_group():
    """Rows are all alike on nothing."""
    assert tiny().group_sizes([]) == {6: 1}
    assert tiny([]).group_sizes([]) == {}


def test_diversity_counts_different_values_in_each_group():
    """The group of three has two jobs."""
    assert tiny().group_diversity(["size", "sex"], "job") == {(1, 1): 1, (2, 1): 1, (3, 2): 1}
    assert tiny().group_diversity([], "job") == {(6, 2): 1}


@pytest.mark.parametrize("unfit", [("w", "F", "a"), ("x", "F", "c")])
def test_groups_refuse_values_outside_the_schema(unfit):
    """The column and the number of rows are said, the value is not."""
    with pytest.raises(DataError, match="in 1 row") as caught:
        tiny([*ROWS, unfit]).group_diversity(["size", "sex"], "job")
    assert caught.value.number_of_rows == 1


def test_groups_agree_with_counting_by_hand():
    """On 300 rows of five kinds of column, against a dictionary."""
    table = people(300)
    rows = list(zip(table["sex"].to_pylist(), np.digitize(table["age"], [35, 55]).tolist(), strict=True))
    by_hand = Counter(rows)
    jobs = defaultdict(set)
    for key, job in zip(rows, table["job"].to_pylist(), strict=True):
        jobs[key].add(job)
    private = read_table(table, SCHEMA)
    assert private.group_sizes(["sex", "age"]) == Counter(by_hand.values())
    diversity = Counter((number, len(jobs[key])) for key, number in by_hand.items())
    assert private.group_diversity(["sex", "age"], "job") == diversity


def test_groups_over_a_domain_too_large_for_a_table_are_counted():
    """Ten attributes of a thousand categories each have 10^30 cells, and forty rows."""
    categories = tuple(str(number) for number in range(1000))
    schema = Schema.from_dict(
        {
            "attributes": {
                f"a{number}": {"role": "quasi-identifier", "categories": categories} for number in range(10)
            }
        }
    )
    values = [str(number // 2) for number in range(40)]
    table = read_table(pa.table(dict.fromkeys(schema.names, values)), schema)
    assert table.group_sizes(schema.names) == {2: 20}


def test_an_inspection_of_a_tiny_table_by_hand():
    """Three groups in six rows: one row is unique, half of the rows are linked rightly."""
    found = inspect_table(tiny()).to_dict()
    assert found["groups"] == {
        "number": 3,
        "unique_rows": 1,
        "unique_share": pytest.approx(1 / 6),
        "smallest": 1,
        "largest": 3,
        "linked_share": pytest.approx(0.5),
    }
    columns, _, _, small, alike, _ = (table["rows"] for table in found["tables"])
    assert columns[1] == {
        "column": "sex",
        "role": "quasi-identifier",
        "categories": 3,
        "present": 3,
        "missing share": pytest.approx(1 / 3),
        "largest share": 0.5,
    }
    assert [row["rows"] for row in small] == [1, 3, 6, 6, 6]
    assert alike == [
        {
            "attribute": "job",
            "groups": 2,
            "share of groups": pytest.approx(2 / 3),
            "rows": 3,
            "share of rows": 0.5,
        }
    ]


def test_everything_of_an_inspection_is_marked_private():
    """Its repr shows names only."""
    found = inspect_table(tiny())
    assert all(each.is_private for each in found.tables)
    assert str(found).count("[private: computed from the data]") == len(found.tables)
    assert repr(found) == "Inspection(size, sex; private)"
    assert repr(found.group_sizes) == "GroupSizes(private)"


def test_without_quasi_identifiers_there_are_no_groups():
    """The columns are still shown, and it is said why there is no more."""
    schema = Schema(attributes=(TINY["job"],))
    found = inspect_table(read_table(pa.table({"job": ["a", "b"]}), schema))
    assert found.to_dict()["groups"] is None
    assert "no quasi-identifier" in found.summary()


def test_an_empty_table_is_refused():
    """There is nothing to inspect."""
    with pytest.raises(DataError, match="no rows"):
        inspect_table(tiny([]))


def test_quantiles_are_the_smallest_size_that_reaches_the_share():
    """Sizes 1, 1, 1, 2, 5, 5: three of six groups, but only three of fifteen rows, are alone."""
    sizes = GroupSizes({1: 3, 2: 1, 5: 2})
    assert [sizes.quantile_of_groups(share) for share in (0.5, 0.51, 0.67, 1.0)] == [1, 2, 5, 5]
    assert [sizes.quantile_of_rows(share) for share in (0.2, 0.21, 0.34, 1.0)] == [1, 2, 5, 5]
