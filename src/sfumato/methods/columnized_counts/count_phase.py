"""The count phase: which attributes form a column, distinct fragments counted, tables drawn."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.arrays import Integers
from sfumato.data.chunks import CodedBatch, Portion
from sfumato.data.long_format import SparseUnits
from sfumato.data.private_table import PrivateTable
from sfumato.errors import ParameterError, nearest
from sfumato.methods.columnized_counts.kernels import (
    FragmentCounts,
    FragmentTally,
    Groups,
    ItemSimilarity,
    WideColumn,
    choose_columns,
    count_fragments,
    count_pairs,
    cut_into_fragments,
    keyed_words,
    noisy_pairs,
    overlapping_columns,
    phi_squared,
    require_clustering,
    truncate,
)
from sfumato.methods.columnized_counts.law import NoisyRows
from sfumato.methods.columnized_counts.noisy_counts import (
    COLUMN_COLUMN,
    COUNT_COLUMN,
    FRAGMENT_COLUMN,
    LongColumns,
    NoisyCountMatrix,
    PublishedColumn,
)
from sfumato.randomness.noise import DiscreteLaplace, scale_at_least
from sfumato.randomness.streams import NoiseSource
from sfumato.release.publication import DrawnRows, PublishedTable
from sfumato.schema import Attribute, LongForm, Schema
from sfumato.schema.recoding import BETWEEN_GROUPED, classes_of_groups, merge_classes

# --------------------------------------------------------------------------------------------------
# Which attributes, or items, go into one column: given, or learned from the private rows.


LARGEST_PAIR_TABLE = 1_000_000
"""Cells of a two-way table that similarities of attributes are counted from."""


@dataclass(frozen=True)
class SimilarityBudget:
    """How similarities are made from private rows.

    Parameters
    ----------
    measure
        For items; attributes of a wide table are compared by phi-squared.
    epsilon
        Spent on noise in the counts they are made from; None for exact counts.
    items_of_unit
        To which units are cut first, where there is noise.
    """

    measure: ItemSimilarity
    epsilon: float | None
    items_of_unit: int


def named_columns(sets: Sequence[Sequence[str]], known: Sequence[str], what: str) -> Groups:
    """Columns given by name, as numbers.

    Raises
    ------
    ParameterError
        When a name is unknown, or stands twice in a column.
    """
    places = {name: place for place, name in enumerate(known)}
    for column in sets:
        unknown = next((name for name in column if name not in places), None)
        if unknown is not None:
            raise ParameterError(
                f"column_sets names {what} {unknown!r}, which there is not; {nearest(unknown, known)}",
                parameter="column_sets",
            )
        if not column or len(set(column)) < len(column):
            raise ParameterError(
                f"a column of column_sets is empty or names {what} twice. Name each {what} once in a column.",
                parameter="column_sets",
            )
    return tuple(tuple(sorted(places[name] for name in column)) for column in sets)


def item_columns(
    units: SparseUnits, numbers: Sequence[int], budget: SimilarityBudget, noise: NoiseSource
) -> Groups:
    """Columns of items, from how often units agree on them."""
    require_clustering(numbers, units.number_of_items)
    pairs = (
        count_pairs(units, with_agreement=budget.measure != "phi-squared")
        if budget.epsilon is None
        else noisy_pairs(units, budget.measure, budget.epsilon, budget.items_of_unit, noise)
    )
    similarity = pairs.similarity(budget.measure)
    # With twenty thousand items each matrix takes 1.6 GB; the distances come next.
    del pairs
    return overlapping_columns(similarity, numbers)


def attribute_columns(
    table: PrivateTable, numbers: Sequence[int], budget: SimilarityBudget, noise: NoiseSource
) -> Groups:
    """Columns of attributes, from phi-squared of their two-way tables."""
    require_clustering(numbers, len(table.schema.publishable.attributes))
    return overlapping_columns(attribute_similarities(table, budget.epsilon, noise), numbers)


def attribute_similarities(
    table: PrivateTable, epsilon: float | None, noise: NoiseSource
) -> npt.NDArray[Any]:
    """Phi-squared of every pair of publishable attributes; from noisy tables where there is an epsilon.

    A row is in one cell of each of the tables, so that adding or removing it changes as many counts by
    one as there are pairs.
    """
    schema: Schema = table.schema.publishable
    size = len(schema.attributes)
    result = np.eye(size)
    pairs = list(itertools.combinations(schema.attributes, 2))
    for one, other in pairs:
        if one.size * other.size > LARGEST_PAIR_TABLE:
            raise ParameterError(
                f"attributes {one.name!r} and {other.name!r} have more than {LARGEST_PAIR_TABLE:,} "
                "pairs of categories; their similarity cannot be counted. Give column_sets instead.",
                parameter="columns",
            )
    counted = table.count_tables([(one.name, other.name) for one, other in pairs])
    for number, (first, second) in enumerate(itertools.combinations(range(size), 2)):
        counts: npt.NDArray[Any] = counted[number].counts
        if epsilon is not None:
            law = DiscreteLaplace(scale=scale_at_least(Fraction(math.comb(size, 2)) / Fraction(epsilon)))
            drawn = law.draw(noise.named("pairs of attributes").stream(number), counts.size)
            counts = np.clip(counts + drawn.reshape(counts.shape), 0, None)
        result[first, second] = result[second, first] = phi_squared(counts)
    return result


# --------------------------------------------------------------------------------------------------
# Counting the different fragments of every column, from rows or from units.


ColumnChoice = Groups | tuple[int, ...]
"""The columns themselves, or how many there shall be in each cut."""

Recoding = Mapping[str, Sequence[Sequence[str]]]
Coarser = dict[str, tuple[Attribute, Integers]]


def _is_given(columns: ColumnChoice) -> bool:
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
        columns: ColumnChoice,
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
        columns: ColumnChoice,
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


# --------------------------------------------------------------------------------------------------
# The tables of a release of noisy rows: counts drawn by the matrix, and nothing of what was left out.


ROWS_TABLE, FRAGMENTS_TABLE = "rows", "fragments"
"""Names of the published tables: of an uncut table, and of unit-item-value data."""

ArraysByName = dict[str, npt.NDArray[Any]]


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
    name: str, attributes: tuple[Attribute, ...], rows: ArraysByName, integers: Sequence[str]
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
) -> ArraysByName:
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
    rows: ArraysByName = {
        long.item: fragments.items[places],
        COLUMN_COLUMN: np.repeat(fragments.column + 1, lengths),
        FRAGMENT_COLUMN: np.repeat(numbers, lengths),
        COUNT_COLUMN: np.repeat(drawn[shown], lengths),
    }
    return rows if long.value is None else {**rows, long.value: fragments.values[places]}
