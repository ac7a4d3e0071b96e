"""Several tables of counts from one pass over the rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.data.portions import ROWS_PER_BATCH
from sfumato.values.batches import CodedBatch
from sfumato.values.counts import CountTable, empty_counts
from sfumato.values.mixed_radix import MixedRadix
from sfumato.values.schema import Attribute, Schema
from sfumato.watching import watcher

MOST_MERGED_CELLS = 2**17
"""Sets are merged while their union has no more cells than this: counting is then fast in a processor's cache."""

CELLS_AT_ONCE = 2**25
"""Cells of all tables that are counted in the same pass: 256 MB."""

MERGED_FOR_MANY = 2**15
"""Cells of a union where very many tables are counted, so that the unions fit a cache and memory together."""


def count_tables(
    batches: Iterable[CodedBatch], sets: Sequence[Sequence[Attribute]]
) -> tuple[CountTable, ...]:
    """Counts over the product of each set's attributes; no set is empty.

    Codes of a row become one number for each set, and numbers are counted: some nanoseconds a row and
    set, far less than a hash table for each.

    Examples
    --------
    >>> from sfumato.values.schema import Role
    >>> sex = Attribute(name="sex", role=Role.OTHER, categories=("F", "M"))
    >>> job = Attribute(name="job", role=Role.OTHER, categories=("a", "b", "c"))
    >>> rows = CodedBatch({"sex": np.array([0, 1, 1]), "job": np.array([2, 0, 0])}, 3)
    >>> [each.counts.tolist() for each in count_tables([rows], [(sex,), (sex, job)])]
    [[1, 2], [[0, 0, 1], [2, 0, 0]]]
    """
    totals = [empty_counts(each).reshape(-1) for each in sets]
    radixes = [MixedRadix([each.size for each in attributes]) for attributes in sets]
    for batch in batches:
        # Once for all sets: a column is in many of them, and numbers of one type are added fastest.
        columns = {name: column.astype(np.int64) for name, column in batch.codes.items()}
        for attributes, radix, total in zip(sets, radixes, totals, strict=True):
            add_codes(radix.encode([columns[each.name] for each in attributes]), total)
    return tuple(
        CountTable(tuple(attributes), total.reshape([each.size for each in attributes]))
        for attributes, total in zip(sets, totals, strict=True)
    )


def watched(
    phase: str, batches: Iterable[CodedBatch], total: Callable[[], int | None]
) -> Iterator[CodedBatch]:
    """The same rows; whoever watches is told how many came, of how many where that is known."""
    found, done = watcher(), 0
    expected = None if found is None else total()
    for batch in batches:
        yield batch
        done += batch.number_of_rows
        if found is not None:
            found.show(phase, done, expected)
    if found is not None:
        found.finish()


def attributes_of(sets: Iterable[Sequence[Attribute]]) -> tuple[Attribute, ...]:
    """Every attribute of some sets, once."""
    return tuple({each.name: each for attributes in sets for each in attributes}.values())


def add_codes(cells: npt.NDArray[Any], total: npt.NDArray[Any]) -> None:
    """Add one to the total of each cell that a row has."""
    if total.size <= ROWS_PER_BATCH:
        np.add(total, np.bincount(cells, minlength=total.size), out=total)
    else:
        # A table far larger than a batch must not be gone through for each.
        np.add.at(total, cells, 1)


class CountsInTurns:
    """Tables over very many sets of attributes, in as few passes over the rows as memory allows.

    The first pass is made at once, others when a table of theirs is asked for; the tables of the last one are held.

    Parameters
    ----------
    schema
        The attributes.
    count
        Gives the tables of some sets, from one pass over the rows.
    sets
        Names of the attributes of each table, at least one.

    Examples
    --------
    >>> from sfumato.values.schema import Role
    >>> sex = Attribute(name="sex", role=Role.OTHER, categories=("F", "M"))
    >>> job = Attribute(name="job", role=Role.OTHER, categories=("a", "b", "c"))
    >>> rows = CodedBatch({"sex": np.array([0, 1, 1]), "job": np.array([2, 0, 0])}, 3)
    >>> schema = Schema(attributes=(sex, job))
    >>> counts = CountsInTurns(schema, lambda sets: count_tables([rows], sets), [("job", "sex"), ("sex",)])
    >>> counts[0].counts.tolist(), counts[1].counts.tolist()
    ([[0, 2], [0, 0], [1, 0]], [1, 2])
    """

    def __init__(
        self,
        schema: Schema,
        count: Callable[[Sequence[Sequence[Attribute]]], tuple[CountTable, ...]],
        sets: Sequence[Sequence[str]],
    ) -> None:
        self._schema = schema
        self._count_sets = count
        self._sets = [tuple(each) for each in sets]
        self._turns = list(_turns([_cells(schema, each) for each in self._sets]))
        self._held: dict[frozenset[str], CountTable] = {}
        self._now = range(0)
        if self._sets:
            self._count(0)

    def __getitem__(self, place: int) -> CountTable:
        """The table of a set, its axes as the set names them."""
        if place not in self._now:
            self._count(place)
        names = frozenset(self._sets[place])
        smallest = min(
            (each for held, each in self._held.items() if names <= held), key=lambda each: each.counts.size
        )
        return smallest.project(self._sets[place])

    def _count(self, place: int) -> None:
        turn = next(each for each in self._turns if place in each)
        sets = [frozenset(self._sets[each]) for each in turn]
        covering = covering_sets(sets, self._schema, most_cells=MERGED_FOR_MANY)
        chosen = [[name for name in self._schema.names if name in each] for each in covering]
        self._held = {}
        tables = self._count_sets([self._schema.select(each) for each in chosen])
        self._held = {frozenset(each.names): each for each in tables}
        self._now = turn


def _turns(cells: Sequence[int]) -> Iterator[range]:
    """Runs of tables that are counted together."""
    start, room = 0, CELLS_AT_ONCE
    for place, number in enumerate(cells):
        # Two sets or more may become one of MERGED_FOR_MANY cells.
        needed = max(number, MERGED_FOR_MANY // 2)
        if needed > room and place > start:
            yield range(start, place)
            start, room = place, CELLS_AT_ONCE
        room -= needed
    if cells:
        yield range(start, len(cells))


def _cells(schema: Schema, names: Iterable[str]) -> int:
    return math.prod(schema[name].size for name in names)


def covering_sets(
    sets: Iterable[frozenset[str]], schema: Schema, *, most_cells: int = MOST_MERGED_CELLS
) -> list[frozenset[str]]:
    """Fewer sets of attributes that contain all of some sets: each is merged where the union stays small.

    Parameters
    ----------
    sets
        Of attributes' names.
    schema
        The attributes.
    most_cells
        Of a union.

    Examples
    --------
    >>> from sfumato.values.schema import Role
    >>> sizes = {"a": 10, "b": 20, "c": 30, "d": 90_000}
    >>> schema = Schema(
    ...     attributes=tuple(
    ...         Attribute(name=name, role=Role.OTHER, categories=tuple(map(str, range(size))))
    ...         for name, size in sizes.items()
    ...     )
    ... )
    >>> found = covering_sets([frozenset("ab"), frozenset("bc"), frozenset("d"), frozenset("a")], schema)
    >>> sorted("".join(sorted(each)) for each in found)
    ['abc', 'd']
    """
    sizes = {each.name: each.size for each in schema.attributes}

    def cells(names: Iterable[str]) -> int:
        return math.prod(sizes[name] for name in names)

    merged: list[frozenset[str]] = []
    cells_of: list[int] = []
    for each in sorted(set(sets), key=lambda names: (-cells(names), sorted(names))):
        if any(each <= other for other in merged):
            continue
        growths = [
            (growth, place)
            for place, number in enumerate(cells_of)
            # Few attributes have one category; what is nearly full is not looked at for each set again.
            if 2 * number <= most_cells and (growth := cells(each - merged[place])) * number <= most_cells
        ]
        if growths:
            growth, place = min(growths)
            merged[place] |= each
            cells_of[place] *= growth
        else:
            merged.append(each)
            cells_of.append(cells(each))
    return merged
