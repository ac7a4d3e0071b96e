"""What every attack declares, and what it gives back."""

from __future__ import annotations

import csv
import itertools
import os
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

from sfumato.data.knowledge import Knowledge
from sfumato.frozen import Frozen
from sfumato.release import Release
from sfumato.values.arrays import Floats
from sfumato.values.number_text import Cell
from sfumato.values.plain_text import as_text
from sfumato.values.result_tables import ResultTable
from sfumato.writing import write_whole

OWNER_ONLY = 0o600

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
        with write_whole(path, parameter="people") as (temporary,):
            # Made with its mode: others could read it for a moment otherwise.
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
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
