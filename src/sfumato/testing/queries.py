"""Tables to try a method on, in memory, and queries with their true answers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, Protocol, get_args

import numpy as np

from sfumato.arrays import Booleans, Floats
from sfumato.custody.publish import in_memory
from sfumato.data.engine import ArrayEngine, CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.errors import SfumatoError
from sfumato.estimates.answers import Answer, AnswerTable
from sfumato.estimates.estimates import Certainties, Certainty, Estimates
from sfumato.laws.estimator import Target
from sfumato.query.selection import Predicate, Selection
from sfumato.randomness.streams import NoiseSource
from sfumato.release.release import Release
from sfumato.schema import Schema

# --------------------------------------------------------------------------------------------------
# Tables and releases in memory, for whoever publishes many times.


def redrawn(table: PrivateTable, noise: NoiseSource) -> PrivateTable:
    """A table of as many rows, or units, drawn from those of a table in memory with replacement.

    The table is thereby a population whose counts are known.
    """
    rows = table.source
    if not isinstance(rows, CodedRows):
        return redrawn(in_memory(table), noise)
    stream = noise.named("redrawn rows").stream(0)
    if table.schema.long is None:
        count = rows.number_of_rows
        drawn = rows.take(stream.integers_below(np.full(count, count)).astype(np.int64))
    else:
        # Rows of a unit stand together; a unit drawn twice becomes two.
        unit = table.schema.long.unit
        _, starts, sizes = np.unique(rows.codes[unit], return_index=True, return_counts=True)
        chosen = stream.integers_below(np.full(sizes.size, sizes.size)).astype(np.int64)
        places = [np.arange(starts[each], starts[each] + sizes[each]) for each in chosen]
        drawn = rows.take(np.concatenate(places))
        renumbered = np.repeat(np.arange(chosen.size), sizes[chosen])
        drawn = CodedRows(rows.schema, {**drawn.codes, unit: renumbered})
    return PrivateTable(drawn, table.schema, engine=table.engine)


def as_asked(table: PrivateTable, asked: Schema) -> PrivateTable:
    """The private rows in the form that a release answers in: of baskets and ratings a row for each unit, where it does.

    Parameters
    ----------
    table
        In memory.
    asked
        The attributes that the release can be asked about.
    """
    long, rows = table.schema.long, table.source
    if long is None or not isinstance(rows, CodedRows) or set(asked.names) <= set(table.schema.names):
        return table
    _, unit = np.unique(rows.codes[long.unit], return_inverse=True)
    code = 1 if long.value is None else rows.codes[long.value].astype(np.int64) + 1
    wide = np.zeros((len(asked.names), int(unit.max()) + 1), np.int64)
    wide[rows.codes[long.item], unit] = code
    columns = {
        each.name: codes.astype(each.code_type) for each, codes in zip(asked.attributes, wide, strict=True)
    }
    return PrivateTable(CodedRows(asked, columns), asked, engine=ArrayEngine())


# --------------------------------------------------------------------------------------------------
# A small table to try a method on.
#
# It has categories, bins and missing values, an association between a public attribute and the sensitive one,
# and
# combinations from hundreds of people down to nobody.


SAMPLE_SCHEMA = Schema.from_toml("""
[attributes.sex]
role = "quasi-identifier"
categories = ["Female", "Male"]

[attributes.age]
role = "quasi-identifier"
bins = [17, 35, 55, 91]

[attributes.region]
role = "quasi-identifier"
categories = ["North", "South", "East"]
missing = "category"

[attributes.job]
role = "sensitive"
categories = ["Sales", "Tech", "Care", "Other"]
""")

SHARES_OF_SEX = np.array([0.58, 0.42])
SHARES_OF_AGE = np.array([0.45, 0.35, 0.20])
REGION_BY_AGE = np.array([[0.46, 0.32, 0.21, 0.01], [0.42, 0.32, 0.24, 0.02], [0.36, 0.32, 0.28, 0.04]])
JOB_BY_SEX = np.array([[0.26, 0.15, 0.55, 0.04], [0.32, 0.51, 0.15, 0.02]])


def sample_table(rows: int = 1_000) -> PrivateTable:
    """A table in memory that is the same every time.

    Parameters
    ----------
    rows
        Its size; shares of combinations are as even as whole numbers allow.

    Examples
    --------
    >>> table = sample_table(500)
    >>> table, table.number_of_rows
    (PrivateTable(sex, age, region, job), 500)
    """
    shares = np.einsum("s,a,ar,sj->sarj", SHARES_OF_SEX, SHARES_OF_AGE, REGION_BY_AGE, JOB_BY_SEX)
    # Rounding the running total leaves no row over and moves no combination by more than one.
    ends = np.round(np.cumsum(rows * shares.ravel())).astype(np.int64)
    counts = ends - np.concatenate([[0], ends[:-1]])
    combinations = np.indices(shares.shape).reshape(shares.ndim, -1)
    codes = {
        each.name: np.repeat(place, counts).astype(each.code_type)
        for each, place in zip(SAMPLE_SCHEMA.attributes, combinations, strict=True)
    }
    return PrivateTable(CodedRows(SAMPLE_SCHEMA, codes), SAMPLE_SCHEMA, engine=ArrayEngine())


# --------------------------------------------------------------------------------------------------
# What a release is asked when its honesty is checked, and the true answers.


Kind = Literal["margin", "joint", "cell", "sum", "contrast", "share"]
"""Counts over one attribute; over two; one combination of all attributes, asked for by a query; sums of cells of
a table; one cell less another; shares within a group."""

KINDS: tuple[Kind, ...] = get_args(Kind)

LARGEST_NUMBER_OF_PAIRS = 6
LARGEST_NUMBER_OF_CELLS = 6
LARGEST_NUMBER_OF_SHARES = 3


@dataclass(frozen=True, eq=False)
class Answers:
    """Numbers answered together: estimates, standard errors and ends of 95 % intervals, each ``(n,)``.

    ``least`` and ``most`` are the ends between which the release calls the truth certain, infinite where it does not;
    ``certainty`` is what each number claims of itself, and ``is_assumed`` whether an assumption besides chance stands
    between it and the truth, of which a standard error does not speak.
    """

    values: Floats
    standard_errors: Floats
    low: Floats
    high: Floats
    least: Floats
    most: Floats
    certainty: Certainties
    is_assumed: Booleans

    @classmethod
    def of_estimates(cls, estimates: Estimates) -> Answers:
        """What estimates say at 95 %."""
        low, high = estimates.intervals(0.95)
        least, most = estimates.ends()
        nothing = np.zeros(estimates.values.size)
        below, above = (nothing, nothing) if estimates.leeway is None else estimates.leeway
        is_assumed = (estimates.certainty == Certainty.BOUNDED) | (below > 0) | (above > 0)
        errors, claims = estimates.standard_errors, estimates.certainty
        return cls(estimates.values, errors, low, high, least, most, claims, is_assumed)

    @classmethod
    def of_answers(cls, answers: Sequence[Answer]) -> Answers:
        """Several single answers side by side."""
        numbers = [
            (
                each.estimate,
                each.std_error,
                each.low,
                each.high,
                *((each.estimate,) * 2 if each.is_exact else each.bounds or (-np.inf, np.inf)),
            )
            for each in answers
        ]
        values, errors, low, high, least, most = np.array(numbers, dtype=np.float64).T
        claims = np.array([each.certainty for each in answers], dtype=np.int8)
        is_assumed = np.array(
            [each.certainty is Certainty.BOUNDED or each.leeway is not None for each in answers]
        )
        return cls(values, errors, low, high, least, most, claims, is_assumed)


class Asked:
    """A release that keeps its tables of counts, for a target, while several questions are asked of it."""

    def __init__(self, release: Release, target: Target) -> None:
        self.release = release
        self.target = target
        self._tables: dict[tuple[str, ...], AnswerTable | SfumatoError] = {}

    def counts(self, names: tuple[str, ...]) -> AnswerTable:
        """Counts over some attributes; a refusal is repeated."""
        if names not in self._tables:
            try:
                self._tables[names] = self.release.counts(names, target=self.target)
            except SfumatoError as refusal:
                self._tables[names] = refusal
        found = self._tables[names]
        if isinstance(found, SfumatoError):
            raise found
        return found


class Block(Protocol):
    """Questions that are answered together or refused together."""

    @property
    def kind(self) -> Kind:
        """What kind of answer it is."""

    @property
    def labels(self) -> tuple[str, ...]:
        """What is asked, in words; one text for each number."""

    def ask(self, asked: Asked) -> Answers:
        """The release's answers."""

    def truth(self, table: PrivateTable) -> Floats:
        """The true numbers, ``(n,)``."""


@dataclass(frozen=True)
class CountsOf:
    """All cells of a table of counts."""

    schema: Schema
    names: tuple[str, ...]
    kind: Kind

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """One condition for each cell."""
        return tuple(each.describe(self.schema) for each in self.selections())

    def selections(self) -> list[Selection]:
        """One selection for each cell, in the order of the table."""
        sizes = [range(each.size) for each in self.schema.select(self.names)]
        return [
            Selection(tuple((name, (code,)) for name, code in zip(self.names, codes, strict=True)))
            for codes in itertools.product(*sizes)
        ]

    def ask(self, asked: Asked) -> Answers:
        """By ``counts``."""
        return Answers.of_estimates(asked.counts(self.names).estimates)

    def truth(self, table: PrivateTable) -> Floats:
        """By counting."""
        return _true_counts(table, self.names)


@dataclass(frozen=True, eq=False)
class Combined:
    """Weighted sums of the cells of a table of counts, by the covariance that comes with it.

    ``weights`` is ``(n, cells)``.
    """

    names: tuple[str, ...]
    weights: Floats
    labels: tuple[str, ...]
    kind: Kind

    def ask(self, asked: Asked) -> Answers:
        """By ``counts`` and its covariance."""
        return Answers.of_estimates(asked.counts(self.names).estimates.linear(self.weights))

    def truth(self, table: PrivateTable) -> Floats:
        """By counting and adding."""
        return self.weights @ _true_counts(table, self.names)


@dataclass(frozen=True)
class Queries:
    """Counts asked for one by one."""

    schema: Schema
    predicates: tuple[Predicate, ...]
    kind: Kind

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The query texts."""
        return tuple(each.describe(self.schema) for each in self.predicates)

    def ask(self, asked: Asked) -> Answers:
        """By ``query``."""
        return Answers.of_answers([asked.release.query(each, target=asked.target) for each in self.labels])

    def truth(self, table: PrivateTable) -> Floats:
        """By counting."""
        return np.array([sum(_true_count(table, part) for part in each.parts) for each in self.predicates])


@dataclass(frozen=True)
class Shares:
    """Shares of rows that satisfy a question, among those of a group; pairs of question and group."""

    schema: Schema
    pairs: tuple[tuple[Selection, Selection], ...]
    kind: Kind = field(default="share", init=False)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """What is the share of what."""
        return tuple(f"share of {question} among {group}" for question, group in self._texts)

    @cached_property
    def _texts(self) -> tuple[tuple[str, str], ...]:
        return tuple(
            (question.describe(self.schema), group.describe(self.schema)) for question, group in self.pairs
        )

    def ask(self, asked: Asked) -> Answers:
        """By ``proportion``."""
        return Answers.of_answers(
            [
                asked.release.proportion(question, given=group, target=asked.target)
                for question, group in self._texts
            ]
        )

    def truth(self, table: PrivateTable) -> Floats:
        """By counting and dividing; no number where the group is empty."""
        with np.errstate(invalid="ignore"):
            return np.array(
                [
                    np.divide(_true_count(table, question & group), _true_count(table, group))
                    for question, group in self.pairs
                ]
            )


def blocks_of(schema: Schema, table: PrivateTable) -> tuple[Block, ...]:
    """Questions about the attributes of a release that the private table has as well.

    Parameters
    ----------
    schema
        The attributes that a release of the table answers in.
    table
        Says which cells are the largest, so that single cells, shares and differences are about some rows.
    """
    known = {each.name: each for each in table.schema.publishable.attributes}
    names = [
        each.name
        for each in schema.attributes
        if each.name in known and known[each.name].labels == each.labels
    ]
    pairs = list(itertools.combinations(names, 2))[-LARGEST_NUMBER_OF_PAIRS:]
    blocks: list[Block] = [CountsOf(schema, (name,), "margin") for name in names]
    blocks += [CountsOf(schema, pair, "joint") for pair in pairs]
    blocks += [_sums(schema, pair) for pair in pairs]
    blocks += [_contrasts(schema, pair, table) for pair in pairs]
    blocks += [_shares(schema, pair, table) for pair in pairs[-LARGEST_NUMBER_OF_SHARES:]]
    # One block for each: a law may leave a single combination open.
    blocks += [
        Queries(schema, (_either(schema, pair, table),), "sum") for pair in pairs[-LARGEST_NUMBER_OF_SHARES:]
    ]
    blocks += [Queries(schema, (Predicate((each,)),), "cell") for each in _largest_cells(names, table)]
    return tuple(blocks)


def _sums(schema: Schema, names: tuple[str, ...]) -> Combined:
    """Half of the cells, and every other cell."""
    places = np.arange(math.prod(each.size for each in schema.select(names)))
    weights = np.array([places < places.size / 2, places % 2 == 0], dtype=np.float64)
    over = " and ".join(names)
    return Combined(
        names, weights, (f"the first half of the cells of {over}", f"every other cell of {over}"), "sum"
    )


def _contrasts(schema: Schema, names: tuple[str, ...], table: PrivateTable) -> Combined:
    """The largest cell less the largest that differs from it in one attribute, for each of the two.

    A covariance that is left out makes sums too wide and these too narrow, or the other way round.
    """
    counts = _true_counts(table, names)
    codes = np.array(list(np.ndindex(*[each.size for each in schema.select(names)])))
    first = int(np.argmax(counts))
    differs = codes != codes[first]
    weights, labels = np.zeros((len(names), counts.size)), []
    cells = CountsOf(schema, names, "joint").labels
    for axis in range(len(names)):
        only_here = differs[:, axis] & (differs.sum(axis=1) == 1)
        second = int(np.argmax(np.where(only_here, counts, -1)))
        weights[axis, [first, second]] = 1, -1
        labels.append(f"{cells[first]} less {cells[second]}")
    return Combined(names, weights, tuple(labels), "contrast")


def _shares(schema: Schema, names: tuple[str, ...], table: PrivateTable) -> Shares:
    """The share of the second attribute's most frequent category within that of the first."""
    group, question = (_most_frequent(name, table) for name in names)
    return Shares(schema, ((question, group),))


def _either(schema: Schema, names: tuple[str, ...], table: PrivateTable) -> Predicate:
    """The most frequent category of one attribute or of the other."""
    texts = (_most_frequent(name, table).describe(schema) for name in names)
    return Predicate.parse(" OR ".join(texts), schema)


def _most_frequent(name: str, table: PrivateTable) -> Selection:
    return Selection(((name, (int(np.argmax(_true_counts(table, (name,)))),)),))


def _largest_cells(names: Sequence[str], table: PrivateTable) -> list[Selection]:
    """The largest combinations of all attributes, largest first."""
    occupied = table.count_occupied(names)
    largest = np.argsort(-occupied.counts, kind="stable")[:LARGEST_NUMBER_OF_CELLS]
    return [
        Selection(
            tuple((name, (int(codes[place]),)) for name, codes in zip(names, occupied.codes, strict=True))
        )
        for place in largest
    ]


def _true_counts(table: PrivateTable, names: tuple[str, ...]) -> Floats:
    return table.count_by(names).counts.ravel().astype(np.float64)


def _true_count(table: PrivateTable, where: Selection) -> float:
    return float(table.count_by((), where).counts)
