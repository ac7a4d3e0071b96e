"""Fingerprints of tables: enough to see that two are the same or share people, and nothing else without the key.

The digest of a column is a keyed hash summed over its cells, so that it does not depend on the order of the
rows and a table is recognized whatever was made of it. The people of a declared identifier are kept as a
bottom-k sketch: the smallest keyed hashes, from which the overlap of two tables can be estimated.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from sfumato.data.counting import add_codes
from sfumato.data.duckdb import DuckDBEngine
from sfumato.data.portions import Read, refuse_changed_table
from sfumato.data.sources.base import Source
from sfumato.data.sql_text import quote_name, quote_text
from sfumato.values.arrays import Integers
from sfumato.values.batches import CodedBatch
from sfumato.values.counts import CountTable
from sfumato.values.schema import Attribute

SKETCH_SIZE = 1024
"""Smallest hashes kept of a column of people; the standard error of an overlap is then at most 1.6 points."""

DIGITS = 15
"""Hexadecimal digits of a hash that are added up at a time: 60 bits, so that no sum of rows overflows 128."""

MISSING = "\x00missing"
"""What stands for a cell without a value; no cell of a table holds this text."""


@dataclass(frozen=True)
class Sketch:
    """The smallest keyed hashes of a column's different values, and how many different values there are."""

    hashes: tuple[int, ...]
    different: int

    def shared_with(self, other: Sketch) -> float:
        """About how many different values two columns share.

        Among the smallest hashes of the union, the share that both columns have estimates their Jaccard index
        J; the intersection is J/(1 + J) of the two sizes added up (Broder, 1997).

        Examples
        --------
        >>> Sketch((1, 2, 3), 3).shared_with(Sketch((2, 3, 9), 3))
        2.0
        """
        both = set(self.hashes) & set(other.hashes)
        union = sorted(set(self.hashes) | set(other.hashes))
        # A sketch that holds every value of its column does not limit the union.
        sizes = [len(each.hashes) for each in (self, other) if each.different > len(each.hashes)]
        smallest = union[: min(sizes, default=len(union))]
        if not smallest:
            return 0.0
        jaccard = sum(each in both for each in smallest) / len(smallest)
        return jaccard / (1 + jaccard) * (self.different + other.different)


@dataclass(frozen=True)
class Fingerprint:
    """What identifies a table to the holder of the key.

    Parameters
    ----------
    number_of_rows
        Rows of the table.
    columns
        Column to the keyed digest of the multiset of its cells.
    people
        Column of a declared identifier or unit to the sketch of its values.
    """

    number_of_rows: int
    columns: dict[str, str]
    people: dict[str, Sketch]

    def __repr__(self) -> str:
        return f"Fingerprint({len(self.columns)} columns)"

    def is_same_table(self, other: Fingerprint) -> bool:
        """Whether the rows are the same, in whatever order and with whichever columns.

        A column may have been mended or recoded in between, so most of the shared columns suffice.
        """
        shared = self.columns.keys() & other.columns.keys()
        equal = sum(self.columns[name] == other.columns[name] for name in shared)
        return self.number_of_rows == other.number_of_rows and 2 * equal > len(shared)

    def people_shared_with(self, other: Fingerprint) -> float | None:
        """About how many people two tables share, or None where no identifier tells."""
        names = self.people.keys() & other.people.keys()
        return max((self.people[name].shared_with(other.people[name]) for name in names), default=None)


class CellTally:
    """How often each cell occurs in columns whose categories are their cells, counted while rows pass by.

    Parameters
    ----------
    attributes
        Whose categories have one cell each, their label.
    """

    def __init__(self, attributes: Sequence[Attribute]) -> None:
        self.number_of_rows = 0
        self._attributes = {each.name: each for each in attributes}
        self._counts: dict[str, Integers] = {}

    def watching(self, read: Read) -> Read:
        """What reads the same rows, which are counted as they pass; for one pass only."""

        def reading(names: Sequence[str]) -> Iterator[CodedBatch]:
            chosen = [self._attributes[name] for name in names if name in self._attributes]
            self._counts = {each.name: np.zeros(each.size, np.int64) for each in chosen}
            self.number_of_rows = 0
            for batch in read(names):
                self._add(batch)
                yield batch

        return reading

    def _add(self, batch: CodedBatch) -> None:
        self.number_of_rows += batch.number_of_rows
        for name, total in self._counts.items():
            add_codes(batch.codes[name], total)

    def take(self, tables: Iterable[CountTable], number_of_rows: int) -> None:
        """Take over what was counted elsewhere, of one attribute each."""
        self.number_of_rows = number_of_rows
        self._counts = {each.attributes[0].name: each.counts for each in tables}

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """What can be counted."""
        return tuple(self._attributes.values())

    @property
    def names(self) -> tuple[str, ...]:
        """Columns that were counted."""
        return tuple(self._counts)

    def digest(self, name: str, key: bytes) -> str:
        """The digest of a column, which is the one that reading its cells gives."""
        sums = [0, 0]
        for label, times in zip(self._attributes[name].labels, self._counts[name].tolist(), strict=True):
            if times:
                digits = hashlib.sha256(f"{key.hex()}{name}:{label}".encode()).hexdigest()
                sums = [
                    sums[0] + times * int(digits[:DIGITS], 16),
                    sums[1] + times * int(digits[DIGITS : 2 * DIGITS], 16),
                ]
        return f"{sums[0]:x}-{sums[1]:x}"


def fingerprint(
    source: Source,
    engine: DuckDBEngine,
    key: bytes,
    people: Sequence[str] = (),
    *,
    tally: CellTally | None = None,
) -> Fingerprint:
    """Read a table once for its columns and once for each column of people; not at all where a tally has seen them.

    Parameters
    ----------
    source
        The private rows, with all their columns.
    engine
        Reads them.
    key
        Secret; fingerprints under different keys cannot be compared.
    people
        Columns that say whose a row is.
    tally
        What was counted of the same rows.

    Raises
    ------
    SourceError
        When the rows are not as many as the tally saw.
    """
    seen = tally.names if tally is not None and tally.number_of_rows else ()
    names, secret = [each for each in source.columns() if each not in seen], key.hex()
    columns = {} if tally is None else {name: tally.digest(name, key) for name in seen}
    rows = tally.number_of_rows if tally is not None and seen else None
    if names:
        digests = _asked(source, engine, partial(_digests, names, secret))
        columns |= {names[number]: f"{first:x}-{second:x}" for number, _, first, second in digests}
        found = digests[0][1] if digests else 0
        if rows is not None and found != rows:
            refuse_changed_table()
        rows = found
    sketches = {}
    for name in people:
        smallest = _asked(source, engine, partial(_smallest, name, secret))
        sketches[name] = Sketch(tuple(number for number, _ in smallest), smallest[0][1] if smallest else 0)
    return Fingerprint(rows or 0, columns, sketches)


def _asked(source: Source, engine: DuckDBEngine, question: Callable[[str], str]) -> list[tuple[int, ...]]:
    """Rows of a result; opened anew for each question, because a stream can be read once."""
    with engine.open(source) as (cursor, relation):
        return [tuple(map(int, row)) for row in cursor.sql(question(relation)).fetchall()]


def _digests(names: Sequence[str], secret: str, relation: str) -> str:
    """SQL: for each column, two sums of keyed hashes over its cells. Cells are hashed once a different value."""
    chosen = " ".join(
        f"when grouping({quote_name(name)}) = 0 then {number}" for number, name in enumerate(names)
    )
    # A column is recognized by its name, wherever it stands.
    values = " ".join(
        f"when grouping({quote_name(name)}) = 0 then {quote_text(f'{name}:')} || {_cell(name)}"
        for name in names
    )
    sets = ", ".join(f"({quote_name(name)})" for name in names)
    return (
        f"with cells as (select case {chosen} end as number, case {values} end as cell, count(*) as times "
        f"from {relation} group by grouping sets ({sets})), "
        f"hashed as (select number, times, sha256({quote_text(secret)} || cell) as hash from cells) "
        f"select number, sum(times), sum({_part(1)} * times), sum({_part(1 + DIGITS)} * times) from hashed group by number order by number"
    )


def _smallest(name: str, secret: str, relation: str) -> str:
    """SQL: the smallest keyed hashes of a column's different values."""
    return (
        f"with hashed as (select sha256({quote_text(secret)} || 'person:' || cell) as hash "
        f"from (select distinct {_cell(name)} as cell from {relation})) "
        f"select {_part(1)} as number, count(*) over () from hashed order by number limit {SKETCH_SIZE}"
    )


def _cell(name: str) -> str:
    return f"coalesce(cast({quote_name(name)} as varchar), {quote_text(MISSING)})"


def _part(first: int) -> str:
    return f"('0x' || substr(hash, {first}, {DIGITS}))::ubigint::hugeint"
