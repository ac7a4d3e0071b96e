"""A guessed schema: what it says, and what a person must check in it."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Any

from sfumato.custody.infer.checks import DECISIONS, Check, decision_text, grouped
from sfumato.values.result_tables import ResultTable
from sfumato.values.schema import Role, Schema

_HEADER = """\
# A first guess, made by looking at the data: correct it before publishing.
# THIS FILE HOLDS VALUES FROM THE DATA. Whatever stays in it becomes public with the release.
# learned = true says that a list, edges or dates were read off the data, and the release repeats it: that a rare value
# exists is itself information. Once they are replaced by publicly known ones, remove the line.
# `sfumato schema explain` says what can stand here; `sfumato schema check` what does not fit.
"""


@dataclass(frozen=True)
class ColumnFinding:
    """What was guessed about one column, in words without values of the data.

    Parameters
    ----------
    name
        Of the column.
    role
        The guessed role, or None for a column left out of the schema.
    kind
        How the column is described.
    size
        Number of categories, 0 where there are none.
    checks
        Why it was guessed, and what a person must check.

    Examples
    --------
    >>> ColumnFinding("job", Role.SENSITIVE, "categories", 5, ()).to_dict()["role"]
    'sensitive'
    """

    name: str
    role: Role | None
    kind: str
    size: int
    checks: tuple[Check, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "name": self.name,
            "role": None if self.role is None else str(self.role),
            "kind": self.kind,
            "categories": self.size,
            "check": [str(each) for each in self.checks],
        }


@dataclass(frozen=True)
class InferredSchema:
    """A guessed schema and what must be checked in it. Its ``repr`` shows names only.

    Parameters
    ----------
    schema
        The guess; it holds values from the data.
    findings
        One for each column of the data, those left out included.
    general
        What must be checked of the table as a whole.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from sfumato.custody.infer import infer_schema
    >>> guess = infer_schema(pa.table({"job": ["a", "b"], "town": ["x", "x"]}))
    >>> guess
    InferredSchema(job)
    >>> print(guess)
    Guessed schema
    column  role       described by  categories
    job     sensitive  categories             2
    town               left out               0
    """

    schema: Schema
    findings: tuple[ColumnFinding, ...]
    general: tuple[Check, ...] = ()

    def __repr__(self) -> str:
        return f"InferredSchema({', '.join(self.schema.names)})"

    def __str__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """A table of the guesses, without values of the data."""
        rows = tuple((each.name, each.role or "", each.kind, each.size) for each in self.findings)
        return ResultTable("Guessed schema", ("column", "role", "described by", "categories"), rows).to_text()

    @property
    def checks(self) -> tuple[str, ...]:
        """Everything a person must check, columns with the same question together, most harmful first."""
        found = [(None, each) for each in self.general]
        of_columns = [(each.name, check) for each in self.findings for check in each.checks]
        return tuple(decision_text(check, names) for check, names in grouped([*found, *of_columns]))

    @property
    def decisions(self) -> tuple[str, ...]:
        """The few checks that matter most, most harmful first."""
        return self.checks[:DECISIONS]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without values of the data."""
        return {"decisions": list(self.decisions), "columns": [each.to_dict() for each in self.findings]}

    def to_toml(self) -> str:
        """The schema file, with what to check as comments."""
        comments = {
            each.name: [line for check in each.checks for line in textwrap.wrap(str(check), 100)]
            for each in self.findings
        }
        notes = [check.sentence for check in self.general]
        notes += [
            f"Left out: {each.name!r}. {' '.join(check.sentence for check in each.checks)}"
            for each in self.findings
            if each.role is None
        ]
        above = "".join(f"# {line}\n" for note in notes for line in textwrap.wrap(note, 100))
        return f"{_HEADER}{above}\n{self.schema.to_toml(comments)}"
