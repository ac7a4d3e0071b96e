"""A first schema for a table, each guess with what a person must check; data checked against a schema."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from sfumato.custody.schemas.profiles import (
    HOURS_OF_A_DAY,
    ColumnProfile,
    Kind,
    count_in_bins,
    date_bins,
    has_long_decimals,
    kind_of,
    prefix_length,
    profile_columns,
    spread_edges,
    without_empty_bins,
)
from sfumato.custody.schemas.value_formats import (
    HOUSEHOLD_WORDS,
    IDENTIFIER_WORDS,
    is_value,
    sensitive_word,
    suggests,
)
from sfumato.data.coding import Misfit, quote_name
from sfumato.data.duckdb_engine import DuckDBEngine, column_hint
from sfumato.data.engine import Engine
from sfumato.data.sources import open_source
from sfumato.data.sources.base import Source
from sfumato.errors import DataError, SourceError, without_origins
from sfumato.results import ResultTable
from sfumato.schema import Attribute, Role, Schema
from sfumato.text import FEW_LISTED, Cell, capital, counted, listed

# --------------------------------------------------------------------------------------------------
# What a person must check in a guessed schema, and how much harm an unchecked mistake would do.


DECISIONS = 5
"""How many are put before a person at once; the schema file holds all of them."""


class Harm(IntEnum):
    """What an unchecked mistake would do, worst first."""

    SECRET_UNKNOWN = 100
    SECRET = 90
    MISREAD = 85
    TOGETHER = 80
    WEIGHT = 75
    CODES = 70
    LEARNED = 65
    NOT_PUBLISHED = 60
    NO_ANSWER = 55
    LEFT_OUT = 50
    ROLE = 45
    EDGES = 40


@dataclass(frozen=True)
class Check:
    """Why something was guessed, and what a person must check; without values of the data.

    Parameters
    ----------
    harm
        Of an unchecked mistake.
    sentence
        The same for every column with the same question.
    because
        What holds of one column alone.
    """

    harm: Harm
    sentence: str
    because: str = field(default="", compare=False)

    def __str__(self) -> str:
        return f"{self.sentence} ({self.because}.)" if self.because else self.sentence


def grouped(checks: Iterable[tuple[str | None, Check]]) -> list[tuple[Check, list[str]]]:
    """The same question once, with the columns it is about; most harmful first."""
    names: dict[Check, list[str]] = {}
    for name, check in checks:
        told = f"{name!r} ({check.because})" if check.because else repr(name)
        names.setdefault(check, []).extend([] if name is None else [told])
    return sorted(names.items(), key=lambda each: -each[0].harm)


def decision_text(check: Check, names: list[str]) -> str:
    """One decision in words: which columns, and what to check."""
    if not names:
        return check.sentence
    return f"{listed(names, most=FEW_LISTED)}: {check.sentence}"


# --------------------------------------------------------------------------------------------------
# A guessed schema: what it says, and what a person must check in it.


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
    >>> from sfumato.custody.schemas.inference import infer_schema
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


# --------------------------------------------------------------------------------------------------
# A first schema for a table: guesses, each with what a person must check.
#
# Everything guessed from rows is marked ``learned``: the domain of a release is public, so what was read
# off private rows becomes public with it, and the manifest says so.


FEWEST_DIGITS_OF_CODES = 5
"""Digits that every value has before it is asked whether they are codes; years have four."""

SECRET_UNKNOWN = Check(
    Harm.SECRET_UNKNOWN,
    "No column's name says that it is the secret to protect, and nothing else tells: it is not known which one is. "
    'Give that column role = "sensitive"; until then methods that protect a secret refuse.',
)

ODD_TEXTS = Check(
    Harm.MISREAD,
    "Nearly all of its values are numbers or dates, and the few texts among them were taken for missing values: check "
    "missing_values. If one of them is a value, put a number or a date for it into the data.",
)


@without_origins()
def infer_schema(
    data: Any,
    *,
    table: str | None = None,
    query: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    names: Sequence[str] | None = None,
    has_header: bool = False,
    engine: Engine | None = None,
) -> InferredSchema:
    """Guess roles and categories of a table's columns.

    What a column is is told by how its values are written and how they repeat; names, in English, German and
    French, settle what that leaves open. A column is taken for sensitive when its name says so, and for no other reason.
    Numbers with many values get bins at round edges that give every bin its share of the rows.

    Parameters
    ----------
    data
        Anything :func:`~sfumato.data.private_table.read_table` takes.
    table, query, encoding, delimiter, names
        As for :func:`~sfumato.data.private_table.read_table`.
    has_header
        The first line holds the names of the columns, although they look like values.
    engine
        DuckDB on this machine unless said otherwise; no other can profile columns.

    Raises
    ------
    SourceError
        When the names of the columns look like values: the file seems to have no header line.
    DataError
        When there are no rows, or no column is left that could be published.

    Examples
    --------
    >>> import pyarrow as pa
    >>> guess = infer_schema(pa.table({"age": list(range(17, 57)), "hiv": ["no", "yes"] * 20}))
    >>> [(each.name, str(each.role), each.kind) for each in guess.findings]
    [('age', 'identifier', 'never read'), ('hiv', 'sensitive', 'categories')]
    """
    source = open_source(
        data,
        table=table,
        query=query,
        encoding=encoding,
        delimiter=delimiter,
        names=names,
        engine=engine,
    )
    if not has_header:
        refuse_values_as_names(source)
    profiling = engine if isinstance(engine, DuckDBEngine) else DuckDBEngine()
    profiles = profile_columns(source, profiling)
    if not has_header:
        refuse_names_among_values(source, profiles)
    kinds = {each.name: kind_of(each) for each in profiles}
    edges = _edges(source, profiling, [each for each in profiles if kinds[each.name] is Kind.BINS])
    has_unique = any(each.is_unique and kinds[each.name] is Kind.IDENTIFIER for each in profiles)
    labels = source.value_labels()
    described = _one_of_each(
        [
            _describe(
                each, kinds[each.name], edges.get(each.name), labels.get(each.name, ()), has_unique=has_unique
            )
            for each in profiles
        ]
    )
    attributes = tuple(attribute for attribute, _ in described if attribute is not None)
    if not any(each.role.is_published for each in attributes):
        raise DataError(
            f"{source.description} has no column that could be published: each is nearly unique in every row, "
            "or the same in all rows. Write the schema by hand if some should be grouped into bins or categories."
        )
    known = any(each.role is Role.SENSITIVE for each in attributes)
    remarks = tuple(Check(Harm.LEFT_OUT, remark) for remark in source.remarks)
    general = remarks if known else (SECRET_UNKNOWN, *remarks)
    return InferredSchema(Schema(attributes=attributes), tuple(finding for _, finding in described), general)


_LOOKS_LIKE_A_VALUE = re.compile(r"\s*([+-]?\d+([.,]\d+)*|\d{1,4}[-./]\d{1,2}[-./]\d{1,4}.*|)\s*")


def refuse_values_as_names(source: Source) -> None:
    """Refuse a source whose columns have names that look like numbers, dates or nothing at all."""
    names = source.columns()
    values = [name for name in names if _LOOKS_LIKE_A_VALUE.fullmatch(name)]
    if values:
        raise _no_header(
            source, f"{len(values)} of the {len(names)} names of columns are numbers or dates, as values are"
        )


def refuse_names_among_values(source: Source, profiles: Sequence[ColumnProfile]) -> None:
    """Refuse a source whose columns mostly are called as one of their own values: the first line is a row."""
    listed = [each for each in profiles if each.values is not None and each.number_of_values > 1]
    own = [each for each in listed if each.name in {text for text, _ in each.values or ()}]
    if own and 2 * len(own) >= len(listed):
        raise _no_header(
            source, f"{len(own)} of the {len(profiles)} names of columns are values of the same column"
        )


def _no_header(source: Source, why: str) -> SourceError:
    return SourceError(
        f"{source.description} seems to have no header line: {why}. Give the names of the columns by --names, or put a line with "
        "them first; if the first line does hold them, say so with --header."
    )


def _edges(
    source: Source, engine: DuckDBEngine, profiles: Sequence[ColumnProfile]
) -> dict[str, tuple[float, ...]]:
    """Edges for columns of many numbers; those chosen by quantiles are held against the rows once more."""
    edges = {
        each.name: spread_edges([value for value, _ in each.sample], [rows for _, rows in each.sample])
        for each in profiles
    }
    sampled = {each.name: (each.shape, edges[each.name]) for each in profiles if each.values is None}
    counts = count_in_bins(source, engine, sampled)
    return {**edges, **{name: without_empty_bins(edges[name], rows) for name, rows in counts.items()}}


_Described = tuple[Attribute | None, ColumnFinding]


def _one_of_each(described: list[_Described]) -> list[_Described]:
    """A table has one unit and one household; further columns that look like one are identifiers."""
    taken: set[Role] = set()
    kept: list[_Described] = []
    for attribute, finding in described:
        if attribute is not None and attribute.role in taken:
            check = Check(
                Harm.TOGETHER,
                f"Looks like a {attribute.role} too, and a table has one: taken for an identifier. Which one is it?",
            )
            other = Attribute(name=attribute.name, role=Role.IDENTIFIER)
            kept.append(
                (other, ColumnFinding(attribute.name, Role.IDENTIFIER, Kind.IDENTIFIER.value, 0, (check,)))
            )
            continue
        if attribute is not None and attribute.role in (Role.UNIT, Role.HOUSEHOLD):
            taken.add(attribute.role)
        kept.append((attribute, finding))
    return kept


def _describe(
    profile: ColumnProfile,
    kind: Kind,
    edges: tuple[float, ...] | None,
    labels: tuple[str, ...],
    *,
    has_unique: bool,
) -> _Described:
    name = profile.name
    said = {"description": profile.description} if profile.description else {}
    signed = (_take_out_the_sign(profile),) if profile.shape.sign else ()
    if kind is Kind.CONSTANT:
        check = Check(Harm.LEFT_OUT, "Every row has the same value, or none, so it carries no information.")
        return None, ColumnFinding(name, None, kind.value, 0, (check,))
    if kind in (Kind.IDENTIFIER, Kind.TOGETHER, Kind.WEIGHT):
        role, check = _withheld(profile, kind, has_unique=has_unique)
        keys = profile.shape.notation.keys if kind is Kind.WEIGHT and profile.shape.notation else {}
        attribute = Attribute.model_validate({"name": name, "role": role, **keys, **said})
        return attribute, ColumnFinding(name, role, kind.value, 0, (check, *signed))
    word = sensitive_word(profile.words)
    role = Role.QUASI_IDENTIFIER if word is None else Role.SENSITIVE
    domain, checks = _domain(profile, kind, edges, labels)
    checks += signed
    attribute = Attribute.model_validate(
        {
            "name": name,
            "role": role,
            "learned": True,
            **domain,
            **said,
            "missing": "category" if profile.number_missing else "error",
            "missing_values": profile.shape.missing_texts,
        }
    )
    if profile.shape.has_odd_texts:
        checks += (ODD_TEXTS,)
    elif profile.shape.missing_texts:
        checks += (
            Check(
                Harm.NO_ANSWER, "Some texts or numbers were taken for missing values: check missing_values."
            ),
        )
    return attribute, ColumnFinding(name, role, kind.value, attribute.size, (_why_role(word), *checks))


def _withheld(profile: ColumnProfile, kind: Kind, *, has_unique: bool) -> tuple[Role, Check]:
    """The role of a column that is not published, and what to check."""
    if kind is Kind.WEIGHT:
        return Role.WEIGHT, Check(
            Harm.WEIGHT,
            "Taken for a survey weight, because its numbers have more decimals than anybody measures, or by its name: it is "
            "checked and not published. If it is a measurement, give it bins and another role.",
        )
    if kind is Kind.TOGETHER:
        # Where another column tells every row apart, rows are people and this one is what they share.
        role = Role.HOUSEHOLD if has_unique or suggests(profile.words, HOUSEHOLD_WORDS) else Role.UNIT
        other = Role.UNIT if role is Role.HOUSEHOLD else Role.HOUSEHOLD
        return role, Check(
            Harm.TOGETHER,
            f"Taken for a {role}, because a few rows each share a value and stand together: it is not published. Is it a {role}, "
            f"or a {other}? Promises are about people only if the unit is declared; neither may be forgotten.",
        )
    because = "its name says so" if suggests(profile.name, IDENTIFIER_WORDS) else "its values hardly repeat"
    return Role.IDENTIFIER, Check(
        Harm.NOT_PUBLISHED,
        f"Taken for an identifier because {because}: it is never read and never published. "
        "If it is to be published, give it another role and bins or categories.",
    )


def _take_out_the_sign(profile: ColumnProfile) -> Check:
    # In brackets, because a shell would take a dollar with a backslash before it for something else.
    sign = re.sub(r"[$.]", r"[\g<0>]", profile.shape.sign)
    column = quote_name(profile.name)
    return Check(
        Harm.MISREAD,
        "Its numbers have a sign behind them, so that they are texts here. Take the sign out and infer again, with "
        '--query "select * replace (...) from data": for the dots comes what stands in brackets for each column, with commas between.',
        because=f"regexp_replace({column}, '[\\s\\p{{Z}}]*{sign}', '') as {column}",
    )


def _domain(
    profile: ColumnProfile, kind: Kind, edges: tuple[float, ...] | None, labels: tuple[str, ...]
) -> tuple[dict[str, Any], tuple[Check, ...]]:
    """The guessed categories, bins or dates, and what to check about them."""
    shape = profile.shape
    if kind is Kind.BINS:
        assert shape.notation is not None
        marks: Mapping[str, str] = shape.notation.keys
        checks = [
            Check(
                Harm.EDGES,
                "The bins are round and give every bin its share of the rows: choose edges that mean something, and outer "
                "ones that cover every possible value, or top_code and bottom_code.",
            )
        ]
        if len(shape.notations) > 1:
            checks.append(
                Check(
                    Harm.MISREAD,
                    "Its numbers can be read in two ways, with a mark for decimals or for thousands. Check decimal and thousands.",
                )
            )
        if has_long_decimals(profile):
            checks.append(
                Check(
                    Harm.WEIGHT,
                    "Its numbers have more decimals than anybody measures, and would be published in bins. If they are survey weights, "
                    'say role = "weight": those are checked and not published.',
                )
            )
        if shape.digits is not None and shape.digits >= FEWEST_DIGITS_OF_CODES:
            checks.append(
                Check(
                    Harm.MISREAD,
                    f"Every value has {shape.digits} digits: are they amounts, or codes of a classification? Codes are not binned: "
                    "give them prefix and categories, or the code_list that others published.",
                )
            )
        return {"bins": edges, **marks}, tuple(checks)
    if kind is Kind.DATES:
        return {"dates": date_bins(profile.dates)}, _checks_of_dates(profile)
    if kind is Kind.HOURS:
        hours = tuple(f"{hour:02}" for hour in range(HOURS_OF_A_DAY))
        return {"prefix": 2, "categories": hours, "ordered": True, "learned": False}, (
            Check(
                Harm.EDGES,
                "The hours of the day stand for its times: merge them where an hour says too much.",
            ),
        )
    if kind is Kind.PREFIX:
        length = prefix_length(profile)
        assert length is not None
        assert profile.prefixes is not None
        sizes = ", ".join(f"{each}: {len(found)}" for each, found in profile.prefixes.items())
        return {"prefix": length, "categories": profile.prefixes[length]}, (
            Check(
                Harm.CODES,
                f"Taken for codes with too many values to publish, so {length} first characters stand for each (length and "
                f"number of categories: {sizes}). Choose the length, and list all beginnings there are: better from the "
                "published classification, with code_list.",
            ),
        )
    assert profile.values is not None
    texts = tuple(text for text, _ in profile.values)
    # A file may have a label for no answer without declaring its code missing.
    declared = tuple(label for label in labels if is_value(label, shape.missing_texts))
    if {*texts} <= {*declared}:
        return {"categories": declared}, (
            Check(
                Harm.LEARNED,
                "The categories are the labels that the file declares, in the order of its codes, those that no row has included "
                "(learned = true). If they are those of the questionnaire, remove that line; if the order means something, say ordered.",
            ),
        )
    # Categories are unique, though texts such as 1 and 1.0 may be the same number.
    is_ordered = profile.is_number and len(profile.sample) == len(texts) > 2
    return {"categories": texts, **({"ordered": True} if is_ordered else {})}, (
        Check(
            Harm.LEARNED,
            "The categories are those that occur in the data (learned = true): that a value exists becomes public with the "
            "release. Add every one that could occur, merge rare ones, or name the code_list that others published.",
        ),
    )


def _checks_of_dates(profile: ColumnProfile) -> tuple[Check, ...]:
    periods = Check(
        Harm.EDGES,
        "The periods cover the dates in the data: choose a first and a last that are publicly known, and a period no "
        "shorter than needed.",
    )
    formats = {each[0] for each in profile.dates}
    if len(formats) < 2:
        return (periods,)
    return (
        periods,
        Check(
            Harm.MISREAD,
            "Its dates can be read with the day first or with the month first; the day was taken. Check format.",
        ),
    )


def _why_role(word: str | None) -> Check:
    if word is None:
        return Check(
            Harm.ROLE,
            "Taken for a quasi-identifier: could others know it of a person? If not, it may be sensitive or other.",
        )
    return Check(
        Harm.SECRET,
        "Taken for sensitive because of what it is called: is it what must be protected? If not, change its role.",
        because=f"its name or description says {word!r}",
    )


# --------------------------------------------------------------------------------------------------
# Everything in which data and schema do not fit, all at once, without values.


@dataclass(frozen=True)
class SchemaCheck:
    """How data fit a schema: numbers of rows and reasons, without values of the data.

    Parameters
    ----------
    misfits
        Columns that do not fit, each with a reason and a number of rows.
    absent
        Attributes of the schema that the data lack, with what may have been meant.
    undeclared
        Columns of the data that the schema does not name; they are not published.
    untold
        How many more there are of these whose names are not told: where one of the schema's is absent, the first line may be no
        header but a row, or a broken header with a row behind it, and its names cells.
    remarks
        What a reader of the data might not expect, such as columns without a name.
    """

    misfits: tuple[Misfit, ...]
    absent: tuple[tuple[str, str], ...]
    undeclared: tuple[str, ...]
    remarks: tuple[str, ...] = ()
    untold: int = 0

    @property
    def fits(self) -> bool:
        """Whether the data could be published with the schema."""
        return not self.misfits and not self.absent

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is wrong and what to do, a sentence or two each."""
        return (
            *(f"the data have no column {name!r}; {hint}" for name, hint in self.absent),
            *map(str, self.misfits),
        )

    def summary(self) -> str:
        """A table of what does not fit, and what is left out."""
        rows: tuple[tuple[Cell, ...], ...] = (
            *((name, "no such column", "all") for name, _ in self.absent),
            *((each.attribute, each.reason, each.number_of_rows) for each in self.misfits),
        )
        table = ResultTable(
            "What does not fit the schema", ("column", "reason", "rows"), rows, is_private=True
        )
        parts = [table.to_text()] if rows else ["Every row fits the schema."]
        if self.undeclared:
            names = ", ".join(map(repr, self.undeclared))
            parts.append(f"Not in the schema, so not published: {names}.")
        if self.untold:
            parts.append(
                f"{capital(counted(self.untold, 'column'))} not in the schema, so not published. Names of the schema are not "
                "among theirs, so theirs are not shown: if the file has no header line, or a broken one, they are values of a "
                "row. Look at its first line; where it is no header, give the names of the columns by --names."
            )
        return "\n\n".join([*parts, *self.remarks])

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as ``schema check --json`` prints it."""
        return {
            "fits": self.fits,
            "private": True,
            "misfits": [
                {"column": each.attribute, "reason": each.reason, "number_of_rows": each.number_of_rows}
                for each in self.misfits
            ],
            "absent": [name for name, _ in self.absent],
            "undeclared": list(self.undeclared),
            "untold": self.untold,
            "remarks": list(self.remarks),
        }


@without_origins()
def check_schema(
    data: Any,
    schema: Schema,
    *,
    table: str | None = None,
    query: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    names: Sequence[str] | None = None,
    engine: Engine | None = None,
) -> SchemaCheck:
    r"""Hold data against a schema, and name everything that does not fit.

    Parameters
    ----------
    data
        Anything :func:`~sfumato.data.private_table.read_table` takes.
    schema
        What they should fit.
    table, query, encoding, delimiter, names, engine
        As for :func:`~sfumato.data.private_table.read_table`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> schema = Schema.from_toml('[attributes.job]\nrole = "sensitive"\ncategories = ["a", "b"]')
    >>> print(check_schema(pa.table({"job": ["a", "c", None]}), schema).summary())
    What does not fit the schema  [private: computed from the data]
    column  reason   rows
    job     missing     1
    job     outside     1
    """
    source = open_source(
        data,
        table=table,
        query=query,
        encoding=encoding,
        delimiter=delimiter,
        names=names,
        engine=engine,
    )
    present = source.columns()
    absent = tuple((name, column_hint(name, present)) for name in schema.names if name not in present)
    known = tuple(each for each in schema.attributes if each.name in present)
    undeclared = tuple(name for name in present if name not in schema)
    may_be_cells = bool(absent)
    return SchemaCheck(
        (engine or DuckDBEngine()).misfits(source, known),
        absent,
        () if may_be_cells else undeclared,
        source.remarks,
        len(undeclared) if may_be_cells else 0,
    )
