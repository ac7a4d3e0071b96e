"""A first schema for a table: guesses, each with what a person must check.

Everything guessed from rows is marked ``learned``: the domain of a release is public, so what was read
off private rows becomes public with it, and the manifest says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.custody.infer.checks import Check, Harm
from sfumato.custody.infer.edges import spread_edges, without_empty_bins
from sfumato.custody.infer.inferred import ColumnFinding, InferredSchema
from sfumato.custody.infer.kinds import (
    HOURS_OF_A_DAY,
    Kind,
    date_bins,
    has_long_decimals,
    kind_of,
    prefix_length,
)
from sfumato.custody.infer.name_hints import HOUSEHOLD_WORDS, IDENTIFIER_WORDS, sensitive_word, suggests
from sfumato.custody.infer.profiles import ColumnProfile, count_in_bins, profile_columns
from sfumato.custody.infer.summaries import is_value
from sfumato.data.duckdb import DuckDBEngine
from sfumato.data.engine import Engine
from sfumato.data.sources import open_source
from sfumato.data.sources.base import Source
from sfumato.data.sql_text import quote_name
from sfumato.errors import DataError, SourceError, without_origins
from sfumato.values.schema import Attribute, Role, Schema

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
