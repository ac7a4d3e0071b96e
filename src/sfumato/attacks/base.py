"""The base class of attacks, what an attack gives back, and what an attacker knows from elsewhere."""

from __future__ import annotations

import csv
import itertools
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from sfumato.arrays import Floats
from sfumato.atomic_files import write_whole
from sfumato.data.duckdb_engine import DuckDBEngine
from sfumato.data.engine import Engine
from sfumato.data.sources import open_source
from sfumato.data.sources.base import Source
from sfumato.errors import DataError, nearest, without_origins
from sfumato.estimates.counts import CountTable, OccupiedCounts, empty_counts
from sfumato.immutable import Frozen
from sfumato.release import Release
from sfumato.results import ResultTable
from sfumato.schema import Schema
from sfumato.text import Cell, as_text

# --------------------------------------------------------------------------------------------------
# What an attacker knows from elsewhere: records with some attributes of some people.


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Outside records on attributes of a release.

    Parameters
    ----------
    source
        Where the records are.
    schema
        The attributes they hold, as the release declares them.
    engine
        Counts them.
    """

    source: Source
    schema: Schema
    engine: Engine

    def __repr__(self) -> str:
        return f"Knowledge({', '.join(self.schema.names)})"

    def occupied(self, names: Sequence[str] | None = None) -> OccupiedCounts:
        """Outside records of each combination that occurs; those with a value outside the schema are left out."""
        attributes = self.schema.select(self.schema.names if names is None else names)
        return self.engine.count_occupied(self.source, attributes, unfit="skip")

    def counts(self) -> CountTable:
        """How many outside records there are of each combination, in a table over all of them."""
        occupied = self.occupied()
        counts = empty_counts(occupied.attributes)
        counts[tuple(each.astype(np.int64) for each in occupied.codes)] = occupied.counts
        return CountTable(occupied.attributes, counts)

    def sentences(self, used: Sequence[str]) -> tuple[str, ...]:
        """What became of the outside records: columns used and not used, and records that were skipped.

        Parameters
        ----------
        used
            The attributes that an attack went by; none when it has no use for records.
        """
        others = [name for name in self.source.columns() if name not in used]
        told = f"Of the outside records the columns {', '.join(used)} were used" if used else ""
        if used and others:
            told += f"; {', '.join(others)} were not"
        result = [
            f"{told}."
            if used
            else "This attack has no use for outside records: none of their columns was used."
        ]
        if used:
            number = self.engine.number_of_rows(self.source)
            skipped = number - int(self.occupied(used).counts.sum())
            if skipped:
                result.append(
                    f"{skipped:,} of {number:,} outside records have a value outside the release's schema and were skipped."
                )
        return tuple(result)


def knowledge_from(source: Source, schema: Schema, *, engine: Engine | None = None) -> Knowledge:
    """Outside records, restricted to the attributes that a release also has.

    Raises
    ------
    DataError
        When no column of the records is an attribute of the release.
    """
    present = source.columns()
    shared = tuple(each for each in schema.attributes if each.name in present)
    if not shared:
        raise DataError(
            f"{source.description} has no column in common with the release; "
            f"{nearest(present[0] if present else '', schema.names)}"
        )
    return Knowledge(source, Schema(attributes=shared), engine or DuckDBEngine())


@without_origins()
def read_knowledge(
    data: Any,
    schema: Schema,
    *,
    table: str | None = None,
    query: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    names: Sequence[str] | None = None,
    engine: Engine | None = None,
) -> Knowledge:
    """Outside records from anything :func:`~sfumato.data.private_table.read_table` takes."""
    source = open_source(
        data,
        table=table,
        query=query,
        encoding=encoding,
        delimiter=delimiter,
        names=names,
        engine=engine,
    )
    return knowledge_from(source, schema, engine=engine)


# --------------------------------------------------------------------------------------------------
# What every attack declares, and what it gives back.


BELIEF_EDGES = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)
"""Between which beliefs are counted."""


@dataclass(frozen=True, eq=False)
class PeopleGuesses:
    """What an attacker would say of single people: one line for each person, or for each set of people alike.

    Parameters
    ----------
    columns
        Name to the entries of that column, all of one length.
    """

    columns: Mapping[str, Sequence[Cell]] = field(repr=False)

    def write(self, path: Path) -> None:
        """Write a CSV file that its owner alone can read; an apostrophe stands before what a spreadsheet would run."""
        with (
            write_whole(path, parameter="people", is_private=True) as (temporary,),
            temporary.open("w", encoding="utf-8", newline="") as file,
        ):
            lines = csv.writer(file)
            lines.writerow(map(as_text, self.columns))
            lines.writerows(
                [as_text(cell) if isinstance(cell, str) else cell for cell in row]
                for row in zip(*self.columns.values(), strict=True)
            )


@dataclass(frozen=True, eq=False)
class AttackResult:
    """What an attacker learned.

    Parameters
    ----------
    attack
        Public name of the attack.
    findings
        The headline numbers: name to value, in order.
    tables
        The detail.
    caveats
        Sentences a reader must know.
    people
        Guesses about single people, where the attack makes them. Private: they are no part of summary, plain data
        or report, and only go to a file that the caller names.
    """

    attack: str
    findings: dict[str, Cell]
    tables: tuple[ResultTable, ...] = ()
    caveats: tuple[str, ...] = ()
    people: PeopleGuesses | None = None

    def __repr__(self) -> str:
        return f"AttackResult({self.attack}: {', '.join(f'{k} {v}' for k, v in list(self.findings.items())[:3])})"

    def __str__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """Findings, tables and caveats as text."""
        headline = ResultTable(f"Attack: {self.attack}", ("finding", "value"), tuple(self.findings.items()))
        return "\n\n".join([headline.to_text(), *(each.to_text() for each in self.tables), *self.caveats])

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "attack": self.attack,
            "findings": self.findings,
            "tables": [each.to_dict() for each in self.tables],
            "caveats": list(self.caveats),
        }


def targets_by_belief(sensitive: str, weights: Floats, surest: Floats) -> ResultTable:
    """How many targets are believed how surely to have their likeliest value.

    Parameters
    ----------
    sensitive
        Name of the attribute.
    weights, surest
        People of each kind, and the belief in their likeliest value, in one shape.

    Examples
    --------
    >>> import numpy as np
    >>> targets_by_belief("job", np.array([3.0, 1.0]), np.array([0.3, 0.95])).rows[-1]
    ('0.9 to 1', 1.0)
    """
    rows = []
    for low, high in itertools.pairwise(BELIEF_EDGES):
        inside = (surest >= low) & ((surest < high) | (high == BELIEF_EDGES[-1]))
        rows.append((f"{low:.4g} to {high:.4g}", float(weights[inside].sum())))
    title = f"Targets by the belief in their likeliest {sensitive}"
    return ResultTable(title, ("belief", "targets"), tuple(rows))


class Attack(Frozen):
    """An attack with all its parameters fixed. It reads a release, and what the attacker knows besides.

    A member adds the tag field ``attack`` with its public name and one field for each parameter. What
    needs the truth (choosing targets by true count, scoring guesses) belongs in ``audit``.
    """

    title: ClassVar[str]
    """A few words."""
    summary: ClassVar[str]
    """What the attacker does, in two or three sentences."""
    assumptions: ClassVar[tuple[str, ...]]
    """What the attacker is assumed to know and to be able to do."""
    citations: ClassVar[tuple[str, ...]]
    """The works it comes from."""
    laws: ClassVar[tuple[str, ...]]
    """Public names of the laws whose releases it works on."""

    @classmethod
    def applies_to(cls, release: Release) -> bool:
        """Whether it works on a release: one whose law :attr:`laws` names, unless a member asks for more."""
        return release.manifest.law["law"] in cls.laws

    @abstractmethod
    def run(self, release: Release, knowledge: Knowledge | None = None) -> AttackResult:
        """Attack a release."""

    @classmethod
    def example(cls) -> Self:
        """Sensible parameters, for documentation and conformance tests."""
        return cls()
