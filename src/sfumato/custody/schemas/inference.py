"""A first schema for a table, each guess with what a person must check; data checked against a schema."""

from __future__ import annotations

import re
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np

from sfumato.custody.schemas.profiles import (
    LARGEST_CATEGORY_LIST,
    LONGEST_TEXT,
    ColumnProfile,
    TableProfile,
    date_bins,
    prefixes,
    profile_table,
)
from sfumato.custody.schemas.roles import PROPOSED, EncodedColumn, Label, Roles, infer_roles
from sfumato.custody.schemas.value_formats import MISSING_TEXTS
from sfumato.data.coding import Misfit, quote_name
from sfumato.data.duckdb_engine import DuckDBEngine, column_hint
from sfumato.data.engine import Engine
from sfumato.data.sources import open_source
from sfumato.data.sources.base import Source
from sfumato.errors import DataError, SourceError, without_origins
from sfumato.results import ResultTable
from sfumato.schema import Attribute, Role, Schema
from sfumato.schema.attribute import DateBins
from sfumato.text import FEW_LISTED, Cell, capital, counted, listed

# --------------------------------------------------------------------------------------------------
# What a person must check in a guessed schema, and how much harm an unchecked mistake would do.


DECISIONS = 8
"""How many are put before a person at once; the schema file holds all of them."""

MOST_SHOWN = 20
"""Columns of a table that are shown one by one; of wider tables, how many have each role."""


class Harm(IntEnum):
    """What an unchecked mistake would do, worst first."""

    NO_HEADER = 110
    ROW = 100
    TOGETHER = 95
    KEPT_BACK = 90
    WEIGHT = 85
    SECRET = 80
    MISREAD = 75
    RARE = 70
    CODES = 65
    LEARNED = 60
    EDGES = 55
    NO_ANSWER = 50
    LEFT_OUT = 45
    ROLE = 40


@dataclass(frozen=True)
class Check:
    """Why something was guessed, and what a person must check: a sentence for all columns, and what holds of one alone."""

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
    """What was guessed about one column, in words without values of the data; no role where it is left out.

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
    >>> guess = infer_schema(pa.table({"job": ["a", "b"] * 20, "town": ["x"] * 40}))
    >>> guess
    InferredSchema(job)
    >>> print(guess)
    Guessed schema
    column  role       described by  categories
    job     sensitive  categories             2
    town               constant               0
    """

    schema: Schema
    findings: tuple[ColumnFinding, ...]
    general: tuple[Check, ...] = ()

    def __repr__(self) -> str:
        return f"InferredSchema({', '.join(self.schema.names)})"

    def __str__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """A table of the guesses, without values of the data; of a wide table, how many columns have each role."""
        rows: list[tuple[Cell, ...]] = [
            (each.name, each.role or "", each.kind, each.size) for each in self.findings
        ]
        if len(rows) <= MOST_SHOWN:
            return ResultTable(
                "Guessed schema", ("column", "role", "described by", "categories"), tuple(rows)
            ).to_text()
        names: dict[tuple[str, str], list[str]] = defaultdict(list)
        for each in self.findings:
            names[str(each.role or ""), each.kind].append(each.name)
        rows = [(*key, len(found), listed(found, most=3)) for key, found in names.items()]
        return ResultTable(
            "Guessed schema", ("role", "described by", "columns", "names"), tuple(rows)
        ).to_text()

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
            f"Left out: {each.name!r}. {' '.join(map(str, each.checks))}"
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


FEWEST_PERSONS = 10
"""Persons that have a category, at least; rarer ones are merged."""

MOST_LISTED_NUMBERS = 20
"""A column of numbers with more different values than this gets bins."""

MOST_LISTED_CODES = 50
"""A column of codes of one width with more different values than this is cut to their beginnings."""

FEWEST_ROWS_TO_CALL_UNIQUE = 20
"""In shorter tables, values that hardly repeat say nothing."""

FEWEST_DIGITS_OF_CODES = 5
"""Digits that every value has before it is asked whether they are codes; years have four."""

HOURS_OF_A_DAY = 24

MERGED = "other values"
"""The category that rare ones become."""

_ROLES = {
    Label.IDENTIFIER: Role.IDENTIFIER,
    Label.UNIT: Role.UNIT,
    Label.HOUSEHOLD: Role.HOUSEHOLD,
    Label.WEIGHT: Role.WEIGHT,
    Label.STRATUM: Role.STRATUM,
    Label.CLUSTER: Role.CLUSTER,
}
_LEFT_OUT = (Label.ROW_NUMBER, Label.CONSTANT, Label.DERIVED, Label.FREE_TEXT, Label.REPLICATE_WEIGHT)

SECRET_UNKNOWN = Check(
    Harm.SECRET,
    'No sensitive column was recognized by its name. Mark what must not be learned with role = "sensitive"; until then methods '
    "that protect a sensitive attribute refuse.",
)

KEPT_BACK = Check(
    Harm.KEPT_BACK,
    "Kept back as identifiers: they name persons, or might. An answer is needed only to publish one: give it another role "
    "and categories or bins.",
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

    Roles follow from names, in several languages, and from the data: how values are written, how they repeat, and what
    agrees in rows that share a value. A column that might name a person is kept back. A column is taken for sensitive when its name
    or description says so, and for no other reason.

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
        When the names of the columns look like values, and the source is no text file.
    DataError
        When there are no rows, or no column is left that could be published.

    Examples
    --------
    >>> import pyarrow as pa
    >>> guess = infer_schema(pa.table({"person_id": list(range(17, 57)), "hiv": ["no", "yes"] * 20}))
    >>> [(each.name, str(each.role), each.kind) for each in guess.findings]
    [('person_id', 'identifier', 'never read'), ('hiv', 'sensitive', 'categories')]
    """
    options: dict[str, Any] = {
        "table": table,
        "query": query,
        "encoding": encoding,
        "delimiter": delimiter,
        "engine": engine,
    }
    source = open_source(data, names=names, **options)
    profiling = engine if isinstance(engine, DuckDBEngine) else DuckDBEngine()
    general = [Check(Harm.LEFT_OUT, remark) for remark in source.remarks]
    profile: TableProfile | None = None
    if not has_header and names is None:
        profile = None if _have_names_like_values(source) else profile_table(source, profiling)
        if profile is None or _have_names_among_values(profile):
            if "names" not in source.takes:
                raise SourceError(
                    f"{source.description} seems to have no header line: names of columns look like values. Name the columns in the "
                    "data; if the first line does hold the names, say so with --header."
                )
            given = [f"column_{place}" for place in range(1, len(source.columns()) + 1)]
            source, profile = open_source(data, names=given, **options), None
            general.append(_no_header(given))
    profile = profile or profile_table(source, profiling)
    guess = _Guess(profile, infer_roles(profile.sampled), source)
    described = [guess.describe(each) for each in profile.columns]
    attributes = tuple(attribute for attribute, _ in described if attribute is not None)
    if not any(each.role.is_published for each in attributes):
        raise DataError(
            f"{source.description} has no column that could be published: each is nearly unique in every row, the same in all rows, "
            "or of categories that hardly any person has. Write the schema by hand."
        )
    general += guess.questions()
    if not any(each.role is Role.SENSITIVE for each in attributes):
        general.append(SECRET_UNKNOWN)
    return InferredSchema(
        Schema(attributes=attributes), tuple(finding for _, finding in described), tuple(general)
    )


_LOOKS_LIKE_A_VALUE = re.compile(r"\s*([+-]?\d+([.,]\d+)*|\d{1,4}[-./]\d{1,2}[-./]\d{1,4}.*|)\s*")


def _have_names_like_values(source: Source) -> bool:
    """Whether columns have names that look like numbers, dates or nothing at all."""
    return any(_LOOKS_LIKE_A_VALUE.fullmatch(name) for name in source.columns())


def _have_names_among_values(profile: TableProfile) -> bool:
    """Whether most columns are called as one of their own values: the first line is a row."""
    several = [each for each in profile.columns if 1 < each.column.size <= LARGEST_CATEGORY_LIST]
    own = [each for each in several if each.name in each.texts]
    return bool(own) and 2 * len(own) >= len(several)


def _no_header(names: Sequence[str]) -> Check:
    return Check(
        Harm.NO_HEADER,
        f"The file seems to have no header line: its columns are called {names[0]} to {names[-1]} here. Say the same names to every other "
        "verb by --names, or put a header line first; if the first line does hold the names, infer again with --header.",
    )


_Described = tuple[Attribute | None, ColumnFinding]
_Domain = tuple[str, dict[str, Any], tuple[Check, ...]]


@dataclass(frozen=True, repr=False)
class _Guess:
    """What the rules found in a table, made into attributes and questions."""

    table: TableProfile
    roles: Roles
    source: Source

    # Questions about the table as a whole.

    def questions(self) -> list[Check]:
        """Whose a row is, which rows belong together, what is a weight; each with its figures."""
        asked = [Check(Harm.ROW, self._whose())]
        if self.roles.household is not None:
            column, trait = self.roles.household.column, self.roles.household.trait
            differ = "; a trait of persons differs within" if trait is not None and trait < 0.6 else ""
            asked.append(
                Check(
                    Harm.TOGETHER,
                    f"{column.size:,} values of {column.name!r}, {column.rows_each:.1f} rows each{differ}. Taken for a household: it is "
                    "not published, and the release says that households are not protected. Is it one?",
                )
            )
        weights = self.roles.named(Label.WEIGHT)
        if weights:
            design = [
                f"{counted(len(found), str(label))} ({listed(list(map(repr, found)), most=3)})"
                for label in (Label.REPLICATE_WEIGHT, Label.STRATUM, Label.CLUSTER)
                if (found := self.roles.named(label))
            ]
            figures = ", ".join(f"{name!r} {self.roles.labels[name][1]}" for name in weights[:3])
            also = f" Kept back with it: {', '.join(design)}." if design else ""
            asked.append(
                Check(
                    Harm.WEIGHT,
                    f"{figures}. Taken for a survey weight, which is not published. Is it one?{also}",
                )
            )
        return asked

    def _whose(self) -> str:
        rows, candidates = self.table.number_of_rows, self.roles.candidates
        if self.roles.composite is not None:
            first, second = map(repr, self.roles.composite)
            return (
                f"A person seems to be named by {first} and {second} together. Both are kept back, and a row is taken for a person. If a "
                'person can have several rows, put both into one column of role = "unit".'
            )
        if not candidates:
            unique = [
                each.name
                for each in self.table.columns
                if self.roles.labels[each.name][0] is Label.IDENTIFIER and each.column.size == rows
            ]
            if unique:
                return f"{rows:,} rows, and {unique[0]!r} differs in each. A row is taken for a person. Can a person have several rows?"
            return (
                f"No column names the person, and a row is taken for one ({rows:,}). Can a person have several rows? If so, add a column "
                'that says whose they are, with role = "unit".'
            )
        best = candidates[0]
        figures = f"{rows:,} rows, {best.column.size:,} values of {best.column.name!r}"
        within = f"; {listed(list(best.fixed), most=3)} agree within each" if best.fixed else ""
        if self.roles.labels[best.column.name][0] is Label.UNIT:
            return (
                f"{figures}{within}. Taken for the unit: a row is a record of a person. If it is not, make it an identifier; if it is, "
                'methods without differential privacy need rows_per_unit = 1 and excess_rows = "sample".'
            )
        others = [repr(each.column.name) for each in candidates[1:3]]
        instead = f" (or {' or '.join(others)})" if others else ""
        return (
            f"{figures}{within}. Does it{instead} say whose rows they are? It is kept back, and a row is taken for a person. If a person has "
            'several rows, give the right column role = "unit".'
        )

    # Columns.

    def describe(self, profile: ColumnProfile) -> _Described:
        """A column's attribute and what is to be checked about it; no attribute where it is left out."""
        label, reason = self.roles.labels[profile.name]
        signed = (_take_out_the_sign(profile),) if profile.format.sign else ()
        if label in _LEFT_OUT:
            return _left_out(profile, str(label), Check(Harm.LEFT_OUT, f"{capital(reason)}."))
        if label in _ROLES:
            role, check = self._withheld(profile, label, reason)
            notation = profile.format.notations[:1] if role is Role.WEIGHT else ()
            fields = {key: mark for each in notation for key, mark in each.keys.items()} | _said(profile)
            attribute = Attribute.model_validate({"name": profile.name, "role": role, **fields})
            kind = "never read" if role in (Role.IDENTIFIER, Role.STRATUM, Role.CLUSTER) else str(role)
            return attribute, ColumnFinding(profile.name, role, kind, 0, (check, *signed))
        return self._published(profile, label, reason, signed)

    def _withheld(self, profile: ColumnProfile, label: Label, reason: str) -> tuple[Role, Check]:
        """The role of a column that is not published, and what to check."""
        column = profile.column
        if label is Label.IDENTIFIER:
            serial = "; serial, so of no use for matching" if column.name in self.roles.serial else ""
            return Role.IDENTIFIER, Check(KEPT_BACK.harm, KEPT_BACK.sentence, f"{reason}{serial}")
        missing = profile.number_missing
        if label is Label.UNIT and missing:
            return Role.UNIT, Check(
                Harm.ROW,
                "Taken for the unit, and lacks a value in some rows, with which nothing is published. Fill it in, or leave those "
                "rows out by --query.",
                counted(missing, "row"),
            )
        unusable = missing + (int((column.by_row <= 0).sum()) if label is Label.WEIGHT else 0)
        if unusable and label in (Label.HOUSEHOLD, Label.WEIGHT):
            needed = "a number above 0" if label is Label.WEIGHT else "a value"
            return Role.IDENTIFIER, Check(
                Harm.WEIGHT,
                f"Looks like a {label} and lacks {needed} in some rows, so it is kept back as an identifier. Fill it in or leave "
                f'those rows out, and give it role = "{label}".',
                counted(unusable, "row"),
            )
        return _ROLES[label], Check(Harm.NO_ANSWER, f"Taken for a {label}: it is not published.", reason)

    def _published(
        self, profile: ColumnProfile, label: Label, reason: str, signed: tuple[Check, ...]
    ) -> _Described:
        role = Role.SENSITIVE if label is Label.SENSITIVE else Role.QUASI_IDENTIFIER
        column = profile.column
        kind, domain, checks = self._domain(profile, label)
        if not domain:
            if kind == "never read":
                check = Check(KEPT_BACK.harm, KEPT_BACK.sentence, "its values hardly repeat")
                attribute = Attribute.model_validate(
                    {"name": column.name, "role": Role.IDENTIFIER, **_said(profile)}
                )
                return attribute, ColumnFinding(column.name, Role.IDENTIFIER, kind, 0, (check, *signed))
            return _left_out(profile, kind, *checks, *signed)
        attribute = Attribute.model_validate(
            {
                "name": column.name,
                "role": role,
                "learned": True,
                **domain,
                **_said(profile),
                "missing": "category" if profile.number_missing else "error",
                "missing_values": profile.format.missing_texts,
            }
        )
        why = (
            Check(
                Harm.SECRET,
                "Taken for sensitive by name: is it what must be protected? If not, change its role.",
                reason,
            )
            if role is Role.SENSITIVE
            else Check(
                Harm.ROLE,
                "Assumed quasi-identifier. Could an outsider know this value? If not, it is sensitive, or other.",
            )
        )
        if profile.format.has_odd_texts:
            checks += (ODD_TEXTS,)
        elif profile.format.missing_texts:
            checks += (
                Check(
                    Harm.NO_ANSWER,
                    "Some texts or numbers were taken for missing values: check missing_values.",
                ),
            )
        return attribute, ColumnFinding(column.name, role, kind, attribute.size, (why, *checks, *signed))

    def _domain(self, profile: ColumnProfile, label: Label) -> _Domain:
        """How a column is described, the keys that do so, and what to check; no keys where it is not published."""
        column, form = profile.column, profile.format
        in_order = _in_order(profile, label)
        if in_order is not None:
            return in_order
        texts = profile.texts
        if form.width is not None and not column.is_unique and column.size > MOST_LISTED_CODES:
            lengths = prefixes(texts)
            if lengths:
                return self._beginnings(column, texts, lengths)
        is_long = column.present >= FEWEST_ROWS_TO_CALL_UNIQUE
        if is_long and 2 * column.size > column.present and not form.notations:
            return "never read", {}, ()
        if column.size > LARGEST_CATEGORY_LIST or max(map(len, texts), default=0) > LONGEST_TEXT:
            return "left out", {}, (_TOO_MANY,)
        return self._categories(profile, texts)

    def _beginnings(
        self, column: EncodedColumn, texts: Sequence[str], lengths: Mapping[int, Sequence[str]]
    ) -> _Domain:
        """First characters that stand for codes: the length that tells most, the shortest such."""
        sizes = {length: len(found) for length, found in lengths.items()}
        length = max(sizes, key=lambda each: (sizes[each], -each))
        check = Check(
            Harm.CODES,
            f"Taken for codes with too many values to publish, so {length} first characters stand for each (length and number of "
            f"categories: {', '.join(f'{each}: {size}' for each, size in sizes.items())}). Choose the length, and list all beginnings "
            "there are: better from the published classification, with code_list.",
        )
        beginnings = {text: text[:length] for text in texts}
        merged = self._merged(column, beginnings)
        if merged is None:
            return "left out", {}, (_RARE,)
        rare = merged.get("recode", {})
        if not rare:
            return "first characters", {"prefix": length, "categories": tuple(lengths[length])}, (check,)
        # A prefix and a recoding exclude each other: the recoding names every code.
        (target, few), kept = next(iter(rare.items())), merged["categories"]
        recode = {
            each: tuple(text for text, start in beginnings.items() if start == each and text != each)
            for each in kept
        }
        recode[target] = tuple(text for text, start in beginnings.items() if start in few)
        return (
            "first characters",
            {"categories": kept, "recode": {k: v for k, v in recode.items() if v}},
            (check, _rare_merged(len(few))),
        )

    def _categories(self, profile: ColumnProfile, texts: Sequence[str]) -> _Domain:
        """The values themselves, rare ones merged."""
        column, form = profile.column, profile.format
        known = (*MISSING_TEXTS, *form.missing_texts)
        declared = [
            each for each in self.source.value_labels().get(column.name, ()) if each.strip(" ") not in known
        ]
        if declared and {*texts} <= {*declared}:
            texts = declared
            check = Check(
                Harm.LEARNED,
                "The categories are the labels that the file declares, in the order of its codes, those that no row has included "
                "(learned = true). If they are those of the questionnaire, remove that line; if the order means something, say ordered.",
            )
        else:
            check = Check(
                Harm.LEARNED,
                "The categories are those that occur in the data (learned = true): that a value exists becomes public with the "
                "release. Add every one that could occur, merge rare ones, or name the code_list that others published.",
            )
        merged = self._merged(column, {text: text for text in texts})
        if merged is None:
            return "left out", {}, (_RARE,)
        if "recode" in merged:
            (few,) = merged["recode"].values()
            return "categories", merged, (check, _rare_merged(len(few)))
        numbers = column.numbers if form.notations and not declared else None
        is_ordered = numbers is not None and len(np.unique(numbers)) == len(texts) > 2
        return "categories", merged | ({"ordered": True} if is_ordered else {}), (check,)

    def _merged(self, column: EncodedColumn, category: Mapping[str, str]) -> dict[str, Any] | None:
        """Categories that enough persons have, the others recoded into one; None where too few are left.

        ``category`` says which one each text is of.
        """
        places = {name: place for place, name in enumerate(dict.fromkeys(category.values()))}
        of_value = np.array([places[category[str(each)]] for each in column.values])
        is_present = column.codes >= 0
        codes = of_value[column.codes[is_present]]
        persons = np.arange(column.rows) if self._persons is None else self._persons
        # Values of rows that were not kept stand at the end, each for a person of its own.
        persons = np.append(persons, -1 - np.arange(column.rows - len(persons)))
        codes, holders = np.unique(np.stack([codes, persons[is_present]]), axis=1)

        def holders_of(names: Sequence[str]) -> int:
            return np.unique(holders[np.isin(codes, [places[name] for name in names])]).size

        held = dict(zip(places, np.bincount(codes, minlength=len(places)).tolist(), strict=True))
        # What the file declares and no row has says nothing about anybody.
        few = [name for name, number in held.items() if 0 < number < FEWEST_PERSONS]
        others = sorted((name for name in held if held[name] >= FEWEST_PERSONS), key=lambda name: held[name])
        while few and holders_of(few) < FEWEST_PERSONS and others:
            few.append(others.pop(0))
        kept = [name for name in places if name not in set(few)]
        if not few:
            return {"categories": tuple(kept)} if len(kept) + (column.present < column.rows) > 1 else None
        target = MERGED
        while target in places or target in category:
            target += "_"
        if not any(held[name] for name in kept):
            return None
        # In the order of the texts, so that the file does not tell which are rarer.
        merged = tuple(name for name in places if name in set(few))
        return {"categories": (*kept, target), "recode": {target: merged}}

    @property
    def _persons(self) -> Any:
        """For each row the place of its unit, if a column says whose it is."""
        unit = self.roles.candidates[0] if self.roles.candidates else None
        return None if unit is None or unit.score < PROPOSED else unit.column.codes


def _in_order(profile: ColumnProfile, label: Label) -> _Domain | None:
    """Hours, periods of dates and bins of numbers; None for a column that has none of these."""
    column, form = profile.column, profile.format
    if form.are_times_of_day and column.size > HOURS_OF_A_DAY:
        hours = tuple(f"{hour:02}" for hour in range(HOURS_OF_A_DAY))
        return "hours", {"prefix": 2, "categories": hours, "ordered": True, "learned": False}, (_HOURS,)
    if form.dates and label is Label.DATE:
        dates = date_bins(form.dates)
        if DateBins.model_validate(dates).size + (profile.number_missing > 0) < 2:
            return "left out", {}, (_ONE_PERIOD,)
        return "dates", {"dates": dates}, _checks_of_dates(profile)
    if form.notations and column.size > MOST_LISTED_NUMBERS:
        return "bins", {"bins": profile.edges(), **form.notations[0].keys}, _checks_of_bins(profile)
    return ("left out", {}, (_UNREAD_DATES,)) if label is Label.DATE else None


_HOURS = Check(
    Harm.EDGES, "The hours of the day stand for its times: merge them where an hour says too much."
)
_ONE_PERIOD = Check(Harm.LEFT_OUT, "All of its dates are in one period.")
_UNREAD_DATES = Check(
    Harm.LEFT_OUT, "Dates in a form that is not read: write them as 2019-12-31 to publish periods."
)
_TOO_MANY = Check(
    Harm.LEFT_OUT, "Too many different texts to list: group them by recode, or name a code_list."
)
_RARE = Check(
    Harm.LEFT_OUT,
    f"All of its categories but one are held by fewer than {FEWEST_PERSONS} persons: state public ones to publish it.",
)


def _rare_merged(number: int) -> Check:
    return Check(
        Harm.RARE,
        f"Categories that fewer than {FEWEST_PERSONS} persons have were merged into one by recode, with the next larger ones where "
        "these were too few. Merge them by meaning instead.",
        f"{number:,} merged",
    )


def _said(profile: ColumnProfile) -> dict[str, str]:
    return {"description": profile.column.description} if profile.column.description else {}


def _left_out(profile: ColumnProfile, kind: str, *checks: Check) -> _Described:
    return None, ColumnFinding(profile.name, None, kind, 0, checks)


def _take_out_the_sign(profile: ColumnProfile) -> Check:
    # In brackets, because a shell would take a dollar with a backslash before it for something else.
    sign = re.sub(r"[$.]", r"[\g<0>]", profile.format.sign)
    column = quote_name(profile.name)
    return Check(
        Harm.MISREAD,
        "Its numbers have a sign behind them, so that they are texts here. Take the sign out and infer again, with "
        '--query "select * replace (...) from data": for the dots comes what stands in brackets for each column, with commas between.',
        because=f"regexp_replace({column}, '[\\s\\p{{Z}}]*{sign}', '') as {column}",
    )


def _checks_of_bins(profile: ColumnProfile) -> tuple[Check, ...]:
    form = profile.format
    checks = [
        Check(
            Harm.EDGES,
            "Bins have round edges and roughly equal counts: choose edges that mean something, and outer ones that cover every "
            "possible value, or top_code and bottom_code.",
        )
    ]
    if len(form.notations) > 1:
        checks.append(
            Check(
                Harm.MISREAD,
                "Its numbers can be read in two ways, with a mark for decimals or for thousands. Check decimal and thousands.",
            )
        )
    if form.digits is not None and form.digits >= FEWEST_DIGITS_OF_CODES:
        checks.append(
            Check(
                Harm.MISREAD,
                f"Every value has {form.digits} digits: are they amounts, or codes of a classification? Codes are not binned: "
                "give them prefix and categories, or the code_list that others published.",
            )
        )
    return tuple(checks)


def _checks_of_dates(profile: ColumnProfile) -> tuple[Check, ...]:
    periods = Check(
        Harm.EDGES,
        "The periods cover the dates in the data: choose a first and a last that are publicly known, and a period no "
        "shorter than needed.",
    )
    if len({each[0] for each in profile.format.dates}) < 2:
        return (periods,)
    return (
        periods,
        Check(
            Harm.MISREAD,
            "Its dates can be read with the day first or with the month first; the day was taken. Check format.",
        ),
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
