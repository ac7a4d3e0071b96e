"""Keyed fingerprints of tables, from which overlap of two tables can be seen."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from sfumato.arrays import Integers
from sfumato.data.chunks import CodedBatch, Read, refuse_changed_table
from sfumato.data.coding import quote_name, quote_text
from sfumato.data.distributed.engine import SplitEngine
from sfumato.data.distributed.splits import SplitTask
from sfumato.data.duckdb_engine import DuckDBEngine
from sfumato.data.engine import Engine, add_codes
from sfumato.data.sources.base import Source
from sfumato.estimates.counts import CountTable
from sfumato.schema import Attribute

# --------------------------------------------------------------------------------------------------
# Fingerprints of tables: enough to see that two are the same or share people, and nothing else without the
# key.
#
# The digest of a column is a keyed hash summed over its cells, so that it does not depend on the order of the
# rows and a table is recognized whatever was made of it. The people of a declared identifier are kept as a
# bottom-k sketch: the smallest keyed hashes, from which the overlap of two tables can be estimated. Serial
# numbers (1 to n, P0001 to P0400) occur in unrelated tables too and are no evidence by themselves.


SKETCH_SIZE = 1024
"""Smallest hashes kept of a column of people; the standard error of an overlap is then at most 1.6 points."""

DIGITS = 15
"""Hexadecimal digits of a hash that are added up at a time: 60 bits, so that no sum of rows overflows 128."""

MISSING = "\x00missing"
"""What stands for a cell without a value; no cell of a table holds this text."""

NOBODY = ("", "NA", "N/A", "NAN", "NULL", "NONE", ".", "?", "UNKNOWN")
"""Values of an identifier, in capitals, that name no person."""

BLOCK = 16
"""Consecutive numbers in a block: identifiers with two or more in the average occupied block are serial.

Numbers drawn at random from a range of 3 n have 5.3, from a range of 10 n about 2, from larger ones fewer.
"""

LARGEST_RANGE = 3
"""A row number counts within a range of less than so many times the number of rows."""


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
        Column of a declared identifier or unit to the sketch of its values, unless they are serial.
    serial
        Columns of serial numbers, which unrelated tables have alike.
    """

    number_of_rows: int
    columns: dict[str, str]
    people: dict[str, Sketch]
    serial: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Fingerprint({len(self.columns)} columns)"

    def is_same_table(self, other: Fingerprint) -> bool:
        """Whether the rows are the same, in whatever order and with whichever columns.

        A column may have been corrected or recoded in between, so most of the shared columns suffice; equal serial
        numbers alone do not.
        """
        shared = self.columns.keys() & other.columns.keys()
        equal = {name for name in shared if self.columns[name] == other.columns[name]}
        return (
            self.number_of_rows == other.number_of_rows
            and 2 * len(equal) > len(shared)
            and not equal <= {*self.serial, *other.serial}
        )

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
    return _finished([_read_part(source, engine, key, people, tally)])


@dataclass(frozen=True)
class _Part:
    """Fingerprint of some of the rows; parts of disjoint rows add up."""

    number_of_rows: int
    digests: dict[str, tuple[int, int]]
    whole_numbers: dict[str, tuple[int, int]]
    """Smallest and largest value of columns of different whole numbers."""
    people: dict[str, tuple[Sketch, Sketch]]
    """Values and blocks of values."""


def _read_part(
    source: Source, engine: DuckDBEngine, key: bytes, people: Sequence[str], tally: CellTally | None = None
) -> _Part:
    seen = tally.names if tally is not None and tally.number_of_rows else ()
    names, secret = [each for each in source.columns() if each not in seen], key.hex()
    digests = {} if tally is None else {name: _numbers(tally.digest(name, key)) for name in seen}
    rows = tally.number_of_rows if tally is not None and seen else None
    whole_numbers = {}
    if names:
        found = 0
        for number, found, first, second, different, low, high in _asked(
            source, engine, partial(_digests, names, secret)
        ):
            digests[names[number]] = (first, second)
            if different == found:
                whole_numbers[names[number]] = (low, high)
        if rows is not None and found != rows:
            refuse_changed_table()
        rows = found
    sketches = {name: [Sketch((), 0), Sketch((), 0)] for name in people}
    hashes = _asked(source, engine, partial(_smallest, people, secret)) if people else []
    for number, kind, different, *smallest in hashes:
        sketches[people[number]][kind] = Sketch(tuple(smallest), different)
    return _Part(
        rows or 0,
        digests,
        whole_numbers,
        {name: (values, blocks) for name, (values, blocks) in sketches.items()},
    )


def _finished(parts: Sequence[_Part]) -> Fingerprint:
    """The fingerprint of all rows together."""
    if not parts:
        return Fingerprint(0, {}, {})
    rows = sum(each.number_of_rows for each in parts)
    columns = {
        name: "-".join(f"{sum(sums):x}" for sums in zip(*(each.digests[name] for each in parts), strict=True))
        for name in parts[0].digests
    }
    people, serial = {}, []
    for name in columns:
        ranges = [each.whole_numbers[name] for each in parts if name in each.whole_numbers]
        if len(ranges) == len(parts):
            width = max(high for _, high in ranges) - min(low for low, _ in ranges) + 1
            if width < LARGEST_RANGE * rows:
                serial.append(name)
    for name in parts[0].people:
        values = _joined([each.people[name][0] for each in parts])
        blocks = _joined([each.people[name][1] for each in parts])
        if name not in serial and values.different < 2 * blocks.different:
            people[name] = values
        elif name not in serial:
            serial.append(name)
    return Fingerprint(rows, columns, people, tuple(serial))


def _asked(source: Source, engine: DuckDBEngine, question: Callable[[str], str]) -> list[tuple[int, ...]]:
    """Rows of a result, a list at their end spread out; opened anew for each question, because a stream can be read once."""
    with engine.open(source) as (cursor, relation):
        rows = cursor.sql(question(relation)).fetchall()
    return [tuple(map(int, (*row[:-1], *row[-1]) if isinstance(row[-1], list) else row)) for row in rows]


def _stacked(names: Sequence[str], relation: str) -> str:
    """SQL: the cells of some columns one below the other, with the number of the column.

    Grouping sets, or a query for each column, would take some megabytes in every thread, or a pass, for each.
    """
    numbers = ", ".join(map(str, range(len(names))))
    return f"(select unnest([{numbers}]) as number, unnest([{', '.join(map(_cell, names))}]) as cell from {relation})"


def _digests(names: Sequence[str], secret: str, relation: str) -> str:
    """SQL: for each column two sums of keyed hashes over its cells, and what its whole numbers span.

    Each different value is hashed once.
    """
    # A column is recognized by its name, wherever it stands.
    titles = ", ".join(quote_text(f"{name}:") for name in names)
    return (
        f"with cells as (select number, cell, count(*) as times from {_stacked(names, relation)} group by all), "
        "hashed as (select number, times, "
        "case when not contains(cell, '.') then try_cast(cell as bigint) end::hugeint as whole, "
        f"sha256({quote_text(secret)} || [{titles}][number + 1] || cell) as hash from cells) "
        f"select number, sum(times), sum({_part(1)} * times), sum({_part(1 + DIGITS)} * times), "
        "count(whole), coalesce(min(whole), 0), coalesce(max(whole), 0) from hashed group by number order by number"
    )


def _smallest(names: Sequence[str], secret: str, relation: str) -> str:
    """SQL: for each column the number and the smallest keyed hashes of its different values, and of their blocks.

    A block is a range of the last number in a value, with the text around it.
    """
    whole = "regexp_replace(cell, '\\.0+$', '')"
    parts = f"regexp_extract({whole}, '^(.*?)([0-9]{{1,18}})([^0-9]*)$', ['stem', 'digits', 'tail'])"
    nobody = ", ".join(map(quote_text, NOBODY))
    # A stream can be read once.
    return (
        f"with people as materialized (select distinct number, cell from {_stacked(names, relation)} "
        f"where cell <> {quote_text(MISSING)} and upper(trim(cell)) not in ({nobody})), "
        "blocks as (select distinct number, if(taken.digits = '', cell, concat_ws(':', taken.stem, "
        f"taken.digits::bigint // {BLOCK}, taken.tail)) as text from (select number, cell, {parts} as taken from people)), "
        f"hashed as (select number, 0 as kind, sha256({quote_text(secret)} || 'person:' || cell) as hash from people union all "
        f"select number, 1, sha256({quote_text(secret)} || 'block:' || text) from blocks) "
        f"select number, kind, count(*), min({_part(1)}::bigint, {SKETCH_SIZE}) from hashed "
        "group by number, kind order by number, kind"
    )


def _cell(name: str) -> str:
    return f"coalesce(cast({quote_name(name)} as varchar), {quote_text(MISSING)})"


def _part(first: int) -> str:
    return f"('0x' || substr(hash, {first}, {DIGITS}))::ubigint::hugeint"


# --------------------------------------------------------------------------------------------------
# The fingerprint of a table in splits, added up from theirs.


HASHES = 2.0**60
"""Of how many numbers a hash is one."""


@dataclass(frozen=True, eq=False)
class FingerprintRows(SplitTask):
    """The fingerprint of a split.

    Parameters
    ----------
    key
        Of the ledger.
    people
        Columns that say whose a row is.
    """

    reads_cells = True

    key: bytes
    people: tuple[str, ...]

    def on(self, engine: Engine, source: Source, number: int) -> _Part:
        """Of the rows as they were given."""
        del number
        assert isinstance(engine, DuckDBEngine)
        return _read_part(source, engine, self.key, self.people)


def fingerprint_of_splits(
    source: Source, engine: SplitEngine, key: bytes, people: Sequence[str]
) -> Fingerprint:
    """The fingerprint that one reading of the whole table would give; no cell comes here but ends of whole numbers.

    How many people there are is estimated from the smallest hashes, within some per cent, where they are many.
    """
    # A frame comes once to a task, which can then not read people too.
    asked = () if engine.reads_once(source) else tuple(people)
    return _finished(engine.map(FingerprintRows(key, asked), source, ()))


def _numbers(digest: str) -> tuple[int, int]:
    first, second = digest.split("-")
    return int(first, 16), int(second, 16)


def _joined(sketches: Sequence[Sketch]) -> Sketch:
    """The sketch of all values of some parts, each of which may hold values of the others.

    Examples
    --------
    >>> _joined([Sketch((1, 5), 2), Sketch((2, 5), 2)])
    Sketch(hashes=(1, 2, 5), different=3)
    """
    if len(sketches) == 1:
        return sketches[0]
    hashes = sorted({each for sketch in sketches for each in sketch.hashes})
    if all(len(sketch.hashes) == sketch.different for sketch in sketches) and len(hashes) <= SKETCH_SIZE:
        return Sketch(tuple(hashes), len(hashes))
    kept = hashes[:SKETCH_SIZE]
    # Of n even draws the k-th smallest lies at about k/n of the range (Bar-Yossef and others, 2002).
    return Sketch(tuple(kept), max(len(kept), round((len(kept) - 1) * HASHES / (kept[-1] + 1))))
