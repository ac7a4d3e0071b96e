"""Long category lists and wide tables: the same boxes as where everything is counted as a table."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from array_tables import ArrayTable
from sfumato import Schema, publish, read_table
from sfumato.arrays import MixedRadix, OccurringNumbers, radix_groups
from sfumato.errors import ParameterError
from sfumato.methods.generalization import search as domains_module
from sfumato.methods.generalization.design import Generalization
from sfumato.methods.generalization.kernels import Criterion, DistinctRows, WideRows
from sfumato.methods.generalization.search import Nested, Ordered, cut_boxes, tighten
from sfumato.schema import Attribute, Role
from sfumato.schema.hierarchies import balanced_hierarchy, flat_hierarchy, hierarchy_from_tree

WORK = Attribute(name="work", role=Role.QUASI_IDENTIFIER, categories=("a", "b", "c", "d", "e"))
SIZES = (6, 5)
DOMAINS = [
    Ordered(6),
    # 'c' is right below the root, 'a' two levels further down.
    Nested(hierarchy_from_tree(WORK, {"abde": {"ab": ["a", "b"], "d": [], "e": []}, "c": []})),
]

tables = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4), st.integers(0, 2)), min_size=1, max_size=80)


def columns_of(table):
    """One array of codes for each attribute, the sensitive one last."""
    return list(np.array(table).T)


def distinct(table):
    """Rows kept as one number each."""
    radix, columns = MixedRadix(SIZES), columns_of(table)
    return DistinctRows.count(radix, 3, [radix.encode(columns[:2]) * 3 + columns[2]])


def classes(rows, boxes):
    """What is published of every combination: independent of how boxes are numbered."""
    return sorted(
        zip(
            *(rows.codes(place).tolist() for place in range(2)),
            rows.sensitive.tolist(),
            *(boxes.values[boxes.box, place].tolist() for place in range(2)),
            boxes.sizes[boxes.box].tolist(),
            strict=True,
        )
    )


@given(tables, st.integers(1, 6))
@settings(deadline=None)
def test_sorting_rows_cuts_as_counting_tables_does(table, k):
    """Only what occurs is looked at, and every cut is the same."""
    rows = distinct(table)
    if len(table) < k:
        return
    counted = cut_boxes(rows, DOMAINS, Criterion(k))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(domains_module, "FEW_CELLS", 0)
        patch.setattr(domains_module, "CELLS_PER_ROW", 0)
        sorted_ = cut_boxes(rows, DOMAINS, Criterion(k))
    assert classes(rows, counted) == classes(rows, sorted_)


@given(tables, st.integers(1, 6), st.integers(1, 60))
@settings(deadline=None)
def test_rows_by_column_are_those_by_number(table, k, rows_per_batch):
    """The same different rows with the same counts, and the same boxes, tight or not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sfumato.arrays.LARGEST_GROUP", 2)
        columns = columns_of(table)
        batches = [
            [each[start : start + rows_per_batch] for each in columns]
            for start in range(0, len(table), rows_per_batch)
        ]
        patch.setattr("sfumato.methods.generalization.kernels.KEYS_WAITING", 10)
        wide = WideRows.count(SIZES, [3], batches)
    narrow = distinct(table)
    assert wide.counts.tolist() == narrow.counts.tolist()
    assert wide.sensitive.tolist() == narrow.sensitive.tolist()
    assert [wide.codes(place).tolist() for place in range(2)] == [
        narrow.codes(place).tolist() for place in range(2)
    ]
    assert np.all(np.diff(wide.combinations) >= 0)
    if len(table) >= k:
        boxes = [cut_boxes(each, DOMAINS, Criterion(k)) for each in (wide, narrow)]
        assert classes(wide, boxes[0]) == classes(narrow, boxes[1])
        tight = [tighten(each, rows, DOMAINS) for each, rows in zip(boxes, (wide, narrow), strict=True)]
        assert classes(wide, tight[0]) == classes(narrow, tight[1])


@given(st.lists(st.tuples(*[st.integers(0, 2)] * 5), min_size=1, max_size=30))
@settings(deadline=None)
def test_numbers_of_what_occurs_follow_its_order(rows):
    """Different rows have different numbers, in the order of rows, and what does not occur has none."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sfumato.arrays.LARGEST_GROUP", 9)
        groups = radix_groups([3] * 5)
    columns = np.array(rows).T
    words = np.stack(
        [groups[0].encode(columns[:2]), groups[1].encode(columns[2:4]), groups[2].encode(columns[4:])], axis=1
    )
    numbering, numbers = OccurringNumbers.of(groups, words)
    assert numbers.tolist() == [sorted(set(rows)).index(row) for row in rows]
    every = np.indices([3] * 5).reshape(5, -1)
    expected = [
        sorted(set(rows)).index(tuple(row)) if tuple(row) in set(rows) else -1 for row in every.T.tolist()
    ]
    assert numbering.encode(list(every)).tolist() == expected


def city(size):
    """An attribute of many categories."""
    return Attribute(
        name="city", role=Role.QUASI_IDENTIFIER, categories=tuple(f"c{place}" for place in range(size))
    )


@pytest.mark.parametrize("make", [flat_hierarchy, lambda each: balanced_hierarchy(each, 8)])
def test_memory_follows_rows_and_not_their_product_with_categories(make):
    """20,000 categories in 1,000 boxes of another attribute: a table of both would be 160 MB."""
    size, rows = 20_000, 30_000
    domains = [Nested(flat_hierarchy(city(1_000))), Nested(make(city(size)))]
    draw = np.random.default_rng(1)
    radix = MixedRadix([1_000, size])
    # Every value of the first attribute fills a class, none of the second does.
    codes = [np.arange(rows) % 1_000, draw.integers(0, size, rows)]
    distinct_rows = DistinctRows.count(radix, 1, [radix.encode(codes)])
    for domain in domains:
        domain.propose(np.array([domain.whole]), np.zeros(1, np.int64), np.zeros(1, np.int64), np.ones(1), 1)
    tracemalloc.start()
    boxes = cut_boxes(distinct_rows, domains, Criterion(5))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert boxes is not None
    assert len(boxes.sizes) >= 1_000
    assert peak < 60e6


@pytest.mark.parametrize("number", [19, 55])
def test_wide_tables_are_published_and_keep_their_promise(tmp_path, number):
    """Combinations of nineteen attributes of ten categories do not fit 64 bits, of 55 far from it."""
    draw = np.random.default_rng(2)
    rows, size = 400, 10
    schema = Schema(
        attributes=tuple(
            Attribute(
                name=f"a{place}",
                role=Role.QUASI_IDENTIFIER,
                categories=tuple(f"v{code}" for code in range(size)),
            )
            for place in range(number)
        )
    )
    columns = {
        f"a{place}": [f"v{code}" for code in (size * draw.random(rows) ** 4).astype(int)]
        for place in range(number)
    }
    release = publish(
        read_table(pa.table(columns), schema), Generalization(k=7), tmp_path / "release", seed=1
    )
    kept = release.schema.names
    assert release.number_of_rows == rows
    sizes = release.count_occupied([name for name in kept if name in release.manifest.tables[0].attributes])
    assert sizes.counts.min() >= 7
    assert len(sizes.counts) > 1


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"search": "full-domain"}, "Leave out or coarsen 'a0', 'a1'"),
        ({"search": "fixed", "levels": {"a3": 1}}, "Leave out or coarsen 'a0'"),
    ],
)
def test_searches_that_cannot_take_so_many_attributes_name_those_to_leave_out(parameters, message):
    """With the largest first, and the search that has no limit."""
    schema = Schema(
        attributes=tuple(
            Attribute(
                name=f"a{place}",
                role=Role.QUASI_IDENTIFIER,
                categories=tuple(f"v{code}" for code in range(30 if place < 2 else 10)),
            )
            for place in range(20)
        )
    )
    codes = {each.name: np.zeros(50, each.code_type) for each in schema.attributes}
    with pytest.raises(ParameterError, match=message) as caught:
        Generalization(k=2, **parameters).recode(ArrayTable(schema, codes))
    assert "mondrian" in str(caught.value)
