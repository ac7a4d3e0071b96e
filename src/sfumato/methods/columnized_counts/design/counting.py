"""Counting the different fragments of every column, from rows or from units."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.chance.randomness import NoiseSource
from sfumato.data.coarsening.merging import classes_of_groups, merge_classes
from sfumato.data.portions import Portion
from sfumato.data.private_table import PrivateTable
from sfumato.methods.columnized_counts.design.choice import SimilarityBudget, attribute_columns, item_columns
from sfumato.methods.columnized_counts.kernels.clustering import Groups
from sfumato.methods.columnized_counts.kernels.fragments import (
    FragmentCounts,
    count_fragments,
    cut_into_fragments,
    keyed_words,
    truncate,
)
from sfumato.methods.columnized_counts.kernels.units import SparseUnits
from sfumato.methods.columnized_counts.kernels.wide_rows import (
    FragmentTally,
    WideColumn,
    choose_columns,
)
from sfumato.values.arrays import Integers
from sfumato.values.batches import CodedBatch
from sfumato.values.merged_labels import BETWEEN_GROUPED
from sfumato.values.schema import Attribute, Schema

Columns = Groups | tuple[int, ...]
"""The columns themselves, or how many there shall be in each cut."""

Recoding = Mapping[str, Sequence[Sequence[str]]]
Coarser = dict[str, tuple[Attribute, Integers]]


def _is_given(columns: Columns) -> bool:
    return isinstance(columns[0], tuple)


@dataclass(frozen=True, eq=False)
class WideCounting:
    """Fragments of an ordinary table's rows; private.

    Parameters
    ----------
    columns
        With the attributes as they are published.
    fragments
        For each column, codes ``(different, attributes)`` and counts ``(different,)``.
    number_of_units
        Rows of the table.
    """

    columns: tuple[WideColumn, ...]
    fragments: tuple[tuple[npt.NDArray[Any], Integers], ...]
    number_of_units: int

    def __repr__(self) -> str:
        return f"WideCounting({len(self.columns)} columns)"

    def counts(self) -> list[Integers]:
        """Counts of the different fragments of each column."""
        return [counts for _, counts in self.fragments]

    @classmethod
    def of(
        cls,
        table: PrivateTable,
        *,
        columns: Columns,
        column_budget: int | None,
        recoding: Recoding,
        similarity: SimilarityBudget,
        truncation_key: str | None,
        fewest: int,
        noise: NoiseSource,
    ) -> WideCounting:
        """Count a table; ``column_budget`` is given when rows must be kept to it.

        Fragments of fewer rows than ``fewest`` may be left out: of a wide table that is nearly all of them.
        """
        del truncation_key
        schema = table.schema.publishable
        groups: Any = columns
        if not _is_given(columns):
            if set(columns) == {1}:
                groups = (tuple(range(len(schema.attributes))),) * len(columns)
            else:
                groups = attribute_columns(table, groups, similarity, noise.named("columns"))
        coarser = {name: _recode(schema[name], groups_of) for name, groups_of in recoding.items()}
        cut = tuple(
            WideColumn(tuple(_published(schema.attributes[place], coarser) for place in group))
            for group in groups
        )
        if column_budget is None:
            tallies = [_count_column(table, column, coarser, fewest) for column in cut]
        else:
            tallies = _count_truncated(table, schema, cut, coarser, column_budget, noise.named("truncation"))
        # By counting, which does not refuse a table without rows: whether there is a release would tell.
        number_of_rows = int(table.count_by(()).counts)
        return cls(cut, tuple(each.result() for each in tallies), number_of_rows)


def _published(attribute: Attribute, coarser: Coarser) -> Attribute:
    return coarser[attribute.name][0] if attribute.name in coarser else attribute


def _recoded(codes: Mapping[str, npt.NDArray[Any]], coarser: Coarser) -> dict[str, npt.NDArray[Any]]:
    return {name: coarser[name][1][each] if name in coarser else each for name, each in codes.items()}


def _count_column(table: PrivateTable, column: WideColumn, coarser: Coarser, fewest: int) -> FragmentTally:
    """Every row has its part in the column: the engine counts."""
    # Several fragments may become one where categories are grouped, and then be more.
    is_merged = any(name in coarser for name in column.names)
    found = table.count_occupied(column.names, fewest=1 if is_merged else fewest)
    codes = _recoded(dict(zip(column.names, found.codes, strict=True)), coarser)
    covered = column.is_covered(codes)
    tally = FragmentTally(len(column.names))
    rows = np.stack([codes[name][covered].astype(np.int64) for name in column.names], axis=1)
    tally.add(rows, found.counts[covered])
    return tally


def _count_truncated(
    table: PrivateTable,
    schema: Schema,
    cut: Sequence[WideColumn],
    coarser: Coarser,
    column_budget: int,
    noise: NoiseSource,
) -> list[FragmentTally]:
    """Every row keeps its parts in a random choice of the columns it covers; portions are added up."""
    tallies = [FragmentTally(len(column.names)) for column in cut]
    step = CountTruncated(tuple(cut), coarser, column_budget, noise)
    for portion in table.map_portions(schema.names, step):
        for tally, found in zip(tallies, portion, strict=True):
            tally.add(*found)
    return tallies


@dataclass(frozen=True, eq=False)
class CountTruncated:
    """Counts the fragments of a portion when every row keeps only some of its columns.

    Parameters
    ----------
    cut
        The columns.
    coarser
        Attributes that are published with fewer categories.
    column_budget
        Columns that a row may keep.
    noise
        Chooses them.
    """

    cut: tuple[WideColumn, ...]
    coarser: Coarser
    column_budget: int
    noise: NoiseSource

    def __call__(self, batches: Iterator[CodedBatch], number: int) -> list[tuple[npt.NDArray[Any], Integers]]:
        """For each column its different fragments and how often each occurs."""
        tallies = [FragmentTally(len(column.names)) for column in self.cut]
        for place, batch in enumerate(batches):
            codes = _recoded(batch.codes, self.coarser)
            covered = np.stack([column.is_covered(codes) for column in self.cut], axis=1)
            stream = self.noise.stream(Portion(number, None).stream_number(place))
            words = stream.words(covered.size).reshape(covered.shape)
            chosen = choose_columns(covered, self.column_budget, words)
            for where, (column, tally) in enumerate(zip(self.cut, tallies, strict=True)):
                kept = chosen[:, where]
                tally.add(np.stack([codes[name][kept].astype(np.int64) for name in column.names], axis=1))
        return [each.result() for each in tallies]


@dataclass(frozen=True, eq=False)
class LongCounting:
    """Fragments of unit-item-value data; private.

    Parameters
    ----------
    columns
        Codes of the items of each column.
    attributes
        Item and value as they are published.
    fragments
        The different fragments of all columns with their counts.
    number_of_units
        Units that have at least one item.
    """

    columns: Groups
    attributes: tuple[Attribute, ...]
    fragments: FragmentCounts
    number_of_units: int

    def __repr__(self) -> str:
        return f"LongCounting({len(self.columns)} columns)"

    def counts(self) -> list[Integers]:
        """Counts of the different fragments of each column."""
        of_column = self.fragments.fragments.column
        return [self.fragments.counts[of_column == each] for each in range(len(self.columns))]

    @classmethod
    def of(
        cls,
        table: PrivateTable,
        *,
        columns: Columns,
        column_budget: int | None,
        recoding: Recoding,
        similarity: SimilarityBudget,
        truncation_key: str | None,
        fewest: int,
        noise: NoiseSource,
    ) -> LongCounting:
        """Count a table; ``column_budget`` is given when units must be kept to it."""
        del fewest
        units, attributes = read_units(table, recoding)
        groups: Any = columns
        if not _is_given(columns):
            if set(columns) == {1}:
                groups = (tuple(range(units.number_of_items)),) * len(columns)
            else:
                groups = item_columns(units, groups, similarity, noise.named("columns"))
        fragments = cut_into_fragments(units, groups)
        if column_budget is not None:
            words = (
                noise.named("truncation").stream(0).words(fragments.column.size)
                if truncation_key is None
                else keyed_words(fragments, units.names, truncation_key)
            )
            fragments = truncate(fragments, column_budget, words)
        counted = count_fragments(fragments, units.number_of_values, noise)
        return cls(groups, attributes, counted, units.number_of_units)


def read_units(table: PrivateTable, recoding: Recoding) -> tuple[SparseUnits, tuple[Attribute, ...]]:
    """Units of long data, with item and value as they will be published; missing values are dropped."""
    long = table.schema.long
    assert long is not None
    rows = table.rows_of_units()
    item = table.schema[long.item]
    if long.value is None:
        return SparseUnits.from_rows(rows, item, None), (item,)
    of_unit = np.repeat(np.arange(len(rows.names)), np.diff(rows.ends, prepend=0))
    value = table.schema[long.value]
    codes, items = rows.codes[value.name], rows.codes[item.name]
    if value.missing_code is not None:
        known = codes != value.missing_code
        codes, items, of_unit = codes[known], items[known], of_unit[known]
    units = SparseUnits.from_triples(rows.names, of_unit, items, codes, item.size, value.size)
    if value.name in recoding:
        coarse, code_of = _recode(value, recoding[value.name])
        return units.recoded(code_of, coarse.size), (item, coarse)
    return units, (item, value)


def _recode(attribute: Attribute, groups: Sequence[Sequence[str]]) -> tuple[Attribute, Integers]:
    """A coarser attribute, by a public list of groups of labels, and the new code of every old one."""
    class_of = classes_of_groups(attribute, groups, parameter="recoding")
    return merge_classes(attribute, class_of, between=BETWEEN_GROUPED), class_of
