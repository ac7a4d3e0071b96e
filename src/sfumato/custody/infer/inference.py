"""A first schema for a table: guesses, each with what a person must check.

Everything guessed from rows is marked ``learned``: the domain of a release is public, so what was read
off private rows becomes public with it, and the manifest says so.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sfumato.custody.infer.name_hints import suggests_identifier, suggests_sensitive
from sfumato.custody.infer.profiles import LARGEST_CATEGORY_LIST, ColumnProfile, profile_columns
from sfumato.custody.infer.round_edges import round_edges
from sfumato.data.duckdb import DuckDBEngine
from sfumato.data.sources import open_source
from sfumato.errors import DataError
from sfumato.values.result_tables import ResultTable
from sfumato.values.schema import Attribute, Role, Schema

MOST_LISTED_NUMBERS = 20
"""A column of numbers with more different values than this gets bins."""

FEWEST_ROWS_TO_CALL_UNIQUE = 20
"""In shorter tables, values that hardly repeat say nothing."""

Kind = Literal["categories", "bins", "never read", "left out"]

_HEADER = """\
# A first guess, made by looking at the data: correct it before publishing.
# THIS FILE HOLDS VALUES FROM THE DATA. Whatever stays in it becomes public with the release.
# Once a list or the edges are replaced by publicly known ones, remove its line learned = true.
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
        Sentences: why it was guessed, and what a person must check.

    Examples
    --------
    >>> ColumnFinding("job", Role.SENSITIVE, "categories", 5, ("Is it?",)).to_dict()["role"]
    'sensitive'
    """

    name: str
    role: Role | None
    kind: Kind
    size: int
    checks: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "name": self.name,
            "role": None if self.role is None else str(self.role),
            "kind": self.kind,
            "categories": self.size,
            "check": list(self.checks),
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

    Examples
    --------
    >>> import pyarrow as pa
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
        """What a person must check, columns with the same question together; without values of the data."""
        names_by_check: dict[str, list[str]] = {}
        for each in self.findings:
            for check in each.checks:
                names_by_check.setdefault(check, []).append(repr(each.name))
        return tuple(f"{', '.join(names)}: {check}" for check, names in names_by_check.items())

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without values of the data."""
        return {"columns": [each.to_dict() for each in self.findings]}

    def to_toml(self) -> str:
        """The schema file, with what to check as comments."""
        comments = {
            each.name: [line for check in each.checks for line in textwrap.wrap(check, 100)]
            for each in self.findings
        }
        left_out = "".join(
            f"# {line}\n"
            for each in self.findings
            if each.role is None
            for line in textwrap.wrap(f"Left out: {each.name!r}. {' '.join(each.checks)}", 100)
        )
        return f"{_HEADER}{left_out}\n{self.schema.to_toml(comments)}"


def infer_schema(data: Any, *, table: str | None = None, query: str | None = None) -> InferredSchema:
    """Guess roles and categories of a table's columns.

    Columns in which hardly a value repeats are taken for identifiers. A column is taken for sensitive
    when its name says so; when no name does, the last column is. Numbers with many values get bins at
    round edges that do not show where the data begin and end.

    Parameters
    ----------
    data
        Anything :func:`~sfumato.data.private_table.read_table` takes.
    table, query
        What to read of a database.

    Raises
    ------
    DataError
        When there are no rows, or no column is left that could be published.

    Examples
    --------
    >>> import pyarrow as pa
    >>> guess = infer_schema(pa.table({"age": list(range(17, 57)), "hiv": ["no", "yes"] * 20}))
    >>> [(each.name, str(each.role), each.kind) for each in guess.findings]
    [('age', 'identifier', 'never read'), ('hiv', 'sensitive', 'categories')]
    """
    source = open_source(data, table=table, query=query)
    profiles = profile_columns(source, DuckDBEngine())
    sensitive, is_named = _sensitive_columns(profiles)
    described = [_describe(each, is_sensitive=each.name in sensitive, is_named=is_named) for each in profiles]
    attributes = tuple(attribute for attribute, _ in described if attribute is not None)
    if all(each.role is Role.IDENTIFIER for each in attributes):
        raise DataError(
            f"{source.description} has no column that could be published: each is nearly unique in every row, "
            "or the same in all rows. Write the schema by hand if some should be grouped into bins or categories."
        )
    return InferredSchema(Schema(attributes=attributes), tuple(finding for _, finding in described))


def _sensitive_columns(profiles: Sequence[ColumnProfile]) -> tuple[set[str], bool]:
    """Names of the columns guessed sensitive, and whether their names say so."""
    usable = [each for each in profiles if not _is_identifier(each) and not _is_constant(each)]
    named = {each.name for each in usable if suggests_sensitive(each.name)}
    return (named, True) if named else ({each.name for each in usable[-1:]}, False)


def _is_constant(profile: ColumnProfile) -> bool:
    return profile.number_of_values + (profile.number_missing > 0) < 2


def _is_identifier(profile: ColumnProfile) -> bool:
    if suggests_identifier(profile.name):
        return True
    if profile.is_number and suggests_sensitive(profile.name):
        # Incomes hardly repeat either, and are not names of people: they get bins.
        return False
    nearly_unique = (
        profile.number_of_rows >= FEWEST_ROWS_TO_CALL_UNIQUE
        and 2 * profile.number_of_values > profile.number_of_rows
    )
    return nearly_unique or (not profile.is_number and profile.number_of_values > LARGEST_CATEGORY_LIST)


def _describe(
    profile: ColumnProfile, *, is_sensitive: bool, is_named: bool
) -> tuple[Attribute | None, ColumnFinding]:
    name = profile.name
    if _is_constant(profile):
        check = "Every row has the same value, or none, so it carries no information."
        return None, ColumnFinding(name, None, "left out", 0, (check,))
    if _is_identifier(profile):
        finding = ColumnFinding(name, Role.IDENTIFIER, "never read", 0, (_why_identifier(name),))
        return Attribute(name=name, role=Role.IDENTIFIER), finding
    role = Role.SENSITIVE if is_sensitive else Role.QUASI_IDENTIFIER
    domain, domain_check = _domain(profile)
    attribute = Attribute.model_validate(
        {
            "name": name,
            "role": role,
            "missing": "category" if profile.number_missing else "error",
            "missing_values": profile.missing_texts,
            "learned": True,
            **domain,
        }
    )
    checks = [_why_role(is_sensitive=is_sensitive, is_named=is_named), domain_check]
    if profile.missing_texts:
        checks.append("Some texts were taken for missing values: check missing_values.")
    kind: Kind = "bins" if "bins" in domain else "categories"
    return attribute, ColumnFinding(name, role, kind, attribute.size, tuple(checks))


def _domain(profile: ColumnProfile) -> tuple[dict[str, Any], str]:
    """The guessed categories or bins, and what to check about them."""
    if profile.is_number and profile.number_of_values > MOST_LISTED_NUMBERS:
        assert profile.low is not None
        assert profile.high is not None
        return {"bins": round_edges(profile.low, profile.high)}, (
            "The bins are round steps that cover the numbers in the data: choose edges that mean something, "
            "and outer ones that cover every possible value."
        )
    assert profile.values is not None
    return {"categories": profile.values}, (
        "The categories are those that occur in the data: add every one that could occur, merge rare ones."
    )


def _why_role(*, is_sensitive: bool, is_named: bool) -> str:
    if not is_sensitive:
        return "Taken for a quasi-identifier: could others know it of a person? If not, it may be sensitive or other."
    if is_named:
        return "Taken for sensitive by its name: is it what must be protected?"
    return (
        "No column's name says that it is sensitive, so the last one was taken: that is only a guess. "
        "Which column must be protected?"
    )


def _why_identifier(name: str) -> str:
    because = "its name says so" if suggests_identifier(name) else "its values hardly repeat"
    return (
        f"Taken for an identifier because {because}: it is never read and never published. "
        "If it is to be published, give it another role and bins or categories."
    )
