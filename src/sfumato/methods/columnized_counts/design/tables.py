"""The tables of a release of noisy rows: counts drawn by the matrix, and nothing of what was left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.chance.randomness import NoiseSource
from sfumato.methods.columnized_counts.design.counting import LongCounting, WideCounting
from sfumato.methods.columnized_counts.kernels.fragments import FragmentCounts
from sfumato.methods.columnized_counts.law.columns import (
    COLUMN_COLUMN,
    COUNT_COLUMN,
    FRAGMENT_COLUMN,
    LongColumns,
    PublishedColumn,
)
from sfumato.methods.columnized_counts.law.noisy_count_matrix import NoisyCountMatrix
from sfumato.methods.columnized_counts.law.noisy_rows import NoisyRows
from sfumato.release.publication import DrawnRows, PublishedTable
from sfumato.values.batches import CodedBatch
from sfumato.values.schema import Attribute, LongForm, Schema

ROWS_TABLE, FRAGMENTS_TABLE = "rows", "fragments"
"""Names of the published tables: of an uncut table, and of unit-item-value data."""

Columns = dict[str, npt.NDArray[Any]]


def wide_columns(counting: WideCounting) -> tuple[PublishedColumn, ...]:
    """The columns of an ordinary table as the law names them: one table for each."""
    is_cut = len(counting.columns) > 1
    return tuple(
        PublishedColumn(
            table=f"column-{number}" if is_cut else ROWS_TABLE,
            attributes=column.names,
            sizes=tuple(each.size for each in column.attributes),
        )
        for number, column in enumerate(counting.columns, start=1)
    )


def long_columns(form: LongForm, counting: LongCounting) -> LongColumns:
    """The columns of unit-item-value data as the law names them: one table for all."""
    return LongColumns(table=FRAGMENTS_TABLE, item=form.item, value=form.value, columns=counting.columns)


def published_tables(
    law: NoisyRows, counting: WideCounting | LongCounting, noise: NoiseSource
) -> tuple[PublishedTable, ...]:
    """Draw every count and make the tables; a table may come out empty."""
    if isinstance(counting, LongCounting):
        assert law.long is not None
        rows = _long_rows(law.long, law.matrix, counting.fragments, noise)
        integers = (COLUMN_COLUMN, FRAGMENT_COLUMN, COUNT_COLUMN)
        return (_table(law.long.table, counting.attributes, rows, integers),)
    tables = []
    for place, column in enumerate(law.columns):
        attributes = counting.columns[place].attributes
        codes, counts = counting.fragments[place]
        drawn = law.matrix.draw(counts, noise.named(column.table))
        shown = drawn > 0
        rows = {each.name: codes[shown, i].astype(each.code_type) for i, each in enumerate(attributes)}
        tables.append(_table(column.table, attributes, {**rows, COUNT_COLUMN: drawn[shown]}, (COUNT_COLUMN,)))
    return tuple(tables)


def has_rows(tables: Sequence[PublishedTable]) -> bool:
    """Whether anything passed."""
    drawn = (each.rows for each in tables if isinstance(each.rows, DrawnRows))
    return any(batch.number_of_rows for each in drawn for batch in each.batches())


def _table(
    name: str, attributes: tuple[Attribute, ...], rows: Columns, integers: Sequence[str]
) -> PublishedTable:
    batch = CodedBatch(rows, rows[COUNT_COLUMN].size)
    return PublishedTable(
        name,
        Schema(attributes=attributes),
        DrawnRows(lambda: iter([batch])),
        tuple(integers),
        may_be_empty=True,
    )


def _long_rows(
    long: LongColumns, matrix: NoisyCountMatrix, counted: FragmentCounts, noise: NoiseSource
) -> Columns:
    """One row for each item of each published fragment."""
    drawn = matrix.draw(counted.counts, noise)
    shown = drawn > 0
    fragments = counted.fragments.keep(shown)
    # Only fragments that are shown are numbered: larger numbers would tell how many were left out.
    numbers = noise.named("numbers").stream(0).permutation(fragments.column.size).astype(np.int64)
    lengths = fragments.ends - fragments.starts
    # Entries of the kept fragments: a run of places from each start.
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    places = np.repeat(fragments.starts, lengths) + within
    rows: Columns = {
        long.item: fragments.items[places],
        COLUMN_COLUMN: np.repeat(fragments.column + 1, lengths),
        FRAGMENT_COLUMN: np.repeat(numbers, lengths),
        COUNT_COLUMN: np.repeat(drawn[shown], lengths),
    }
    return rows if long.value is None else {**rows, long.value: fragments.values[places]}
