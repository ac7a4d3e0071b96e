"""Workloads: queries that every design is asked, drawn or given, with their true answers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from sfumato.arrays import Booleans, Floats, Integers, MixedRadix
from sfumato.data.engine import ArrayEngine, CodedRows
from sfumato.errors import ParameterError
from sfumato.query.selection import Predicate, Selection
from sfumato.schema import Attribute, Role, Schema
from sfumato.text import counted

# --------------------------------------------------------------------------------------------------
# A question, questions that every design is asked, and their true answers.


@dataclass(frozen=True)
class Question:
    """How many rows satisfy a condition, or how much larger a share of one group satisfies it than of another.

    Parameters
    ----------
    pool
        Questions that are averaged together.
    where
        The condition.
    groups
        Two groups, where a difference of shares is asked for.
    """

    pool: str
    where: Predicate
    groups: tuple[Predicate, Predicate] | None = None

    @property
    def predicates(self) -> tuple[Predicate, ...]:
        """Everything it takes to ask: the condition, then the groups."""
        return (self.where, *(self.groups or ()))


@dataclass(frozen=True)
class Workload:
    """Questions for all designs.

    Parameters
    ----------
    name
        Of its kind.
    questions
        In a fixed order.
    is_by_size
        Small, middling and large truths count equally within a pool.

    Raises
    ------
    ValueError
        When it mixes counts and differences of shares, which have no scale in common.
    """

    name: str
    questions: tuple[Question, ...]
    is_by_size: bool = False

    def __post_init__(self) -> None:
        if len({each.groups is None for each in self.questions}) > 1:
            raise ValueError("a workload asks for counts or for differences of shares, not for both")

    @property
    def is_of_differences(self) -> bool:
        """Its questions are about differences of shares."""
        return any(each.groups is not None for each in self.questions)


def true_counts(rows: CodedRows, asked: Sequence[Predicate]) -> Integers:
    """How many rows satisfy each condition.

    Examples
    --------
    >>> from sfumato.testing import sample_table
    >>> table = sample_table(600)
    >>> asked = [Predicate.parse("sex = 'Female' OR sex = 'Male'", table.schema)]
    >>> true_counts(table.source, asked).tolist()
    [600]
    """
    masks: dict[tuple[str, tuple[int, ...]], Booleans] = {}

    def mask(name: str, codes: tuple[int, ...]) -> Booleans:
        if (name, codes) not in masks:
            masks[name, codes] = np.isin(rows.codes[name], codes)
        return masks[name, codes]

    everybody = np.ones(rows.number_of_rows, bool)

    def number(part: Selection) -> int:
        found = everybody
        for condition in part.conditions:
            found = found & mask(*condition)
        return int(found.sum())

    return np.array([sum(number(part) for part in each.parts) for each in asked], np.int64)


def true_answers(rows: CodedRows, questions: Sequence[Question]) -> Floats:
    """The true answer to each question: a number of rows, or a difference of shares; of an empty group the share is 0.

    Examples
    --------
    >>> from sfumato.testing import sample_table
    >>> table = sample_table(600)
    >>> job, female, male = (
    ...     Predicate.parse(text, table.schema) for text in ("job = 'Tech'", "sex = 'Female'", "sex = 'Male'")
    ... )
    >>> both = [Question("one", job, (female, male)), Question("one", job, (male, female))]
    >>> first, second = true_answers(table.source, both).tolist()
    >>> first == -second != 0
    True
    """
    needed = dict.fromkeys(part for each in questions for part in _counted(each))
    counts = dict(zip(needed, true_counts(rows, list(needed)).astype(np.float64).tolist(), strict=True))
    return np.array([answer_from(each, counts.__getitem__) for each in questions], np.float64)


def answer_from(question: Question, number: Callable[[Predicate], float]) -> float:
    """The answer to a question by numbers of rows that satisfy conditions; the share of an empty group is 0."""
    counts = [number(each) for each in _counted(question)]
    if question.groups is None:
        return counts[0]
    among_first, first, among_second, second = counts
    return (among_first / first if first else 0.0) - (among_second / second if second else 0.0)


def _counted(question: Question) -> tuple[Predicate, ...]:
    if question.groups is None:
        return (question.where,)
    return tuple(part for group in question.groups for part in (group & question.where, group))


# --------------------------------------------------------------------------------------------------
# Questions drawn for a workload: from schema and seed, as the papers draw them, from cells that occur or do
# not.


MOST_ATTRIBUTES = 3
"""Attributes of a question at most; of a conjunction, public ones."""

SMALL_COUNTS = (1, 10)
LARGE_SHARES = (0.005, 0.05)
"""True counts of the small pool, and shares of the rows of the large pool (Fu et al. 2014, section 6)."""

SMALLEST_GROUP, SMALLEST_SHARE = 30, 0.005
"""People, and share of the rows, that a group must have for a difference of shares to be asked about it."""

SETS_FOR_EACH = 4
"""Sets of attributes drawn for each question about a cell; where no cell of them is empty there is nothing to ask."""

TRIES_FOR_EACH = 400
"""Conjunctions drawn for each one wanted before a pool is taken to have no more."""


def draw_strata(schema: Schema, number: int, generator: np.random.Generator) -> Iterator[Question]:
    """One to three attributes, with and without a sensitive one, as many of each; no row is looked at."""
    public = [each for each in schema.publishable.attributes if each.role is not Role.SENSITIVE]
    sensitive = list(schema.publishable.with_role(Role.SENSITIVE))
    kinds = [
        (size, has_sensitive)
        for size in range(1, MOST_ATTRIBUTES + 1)
        for has_sensitive in (False, True)
        if size - has_sensitive <= len(public) and (sensitive or not has_sensitive)
    ]
    if not kinds or number < len(kinds):
        raise ParameterError(
            f"a workload of {number} questions cannot hold one of each kind. Ask for at least {max(len(kinds), 1)}.",
            parameter="queries",
        )
    for place in range(number):
        size, has_sensitive = kinds[place % len(kinds)]
        chosen = [public[each] for each in generator.permutation(len(public))[: size - has_sensitive]]
        chosen += [sensitive[int(generator.integers(len(sensitive)))]] if has_sensitive else []
        codes = [int(generator.integers(each.size)) for each in chosen]
        yield Question(f"{size} attributes{', one sensitive' if has_sensitive else ''}", _cell(chosen, codes))


def draw_cells(
    public: Sequence[Attribute],
    sensitive: Attribute,
    rows: CodedRows,
    number: int,
    generator: np.random.Generator,
) -> Iterator[Question]:
    """Of one to three public attributes with the sensitive one; for every cell that occurs one of the same table that does not."""
    found: list[Question] = []
    tables: dict[tuple[int, ...], Integers] = {}
    for _ in range(SETS_FOR_EACH * number):
        if len(found) + 2 > number:
            break
        size = int(generator.integers(1, min(MOST_ATTRIBUTES, len(public)) + 1))
        places = tuple(sorted(generator.permutation(len(public))[:size].tolist()))
        attributes = (*(public[place] for place in places), sensitive)
        cells = MixedRadix([each.size for each in attributes])
        if places not in tables:
            known = ArrayEngine().count_occupied(rows, attributes)
            tables[places] = np.sort(cells.encode(known.codes))
        occupied = tables[places]
        empty = _outside(occupied, cells.combinations, generator)
        if empty is None or not len(occupied):
            continue
        for cell, told in ((int(generator.choice(occupied)), "occur"), (empty, "do not occur")):
            codes = [int(each[0]) for each in cells.decode(np.array([cell]))]
            found.append(Question(f"cells of {size + 1} attributes that {told}", _cell(attributes, codes)))
    yield from _occurring(found)


def _outside(occupied: Integers, number_of_cells: int, generator: np.random.Generator) -> int | None:
    """A cell that is none of these, evenly among the others; None where there is none."""
    if number_of_cells <= 2 * len(occupied):
        others = np.setdiff1d(np.arange(number_of_cells), occupied)
        return int(generator.choice(others)) if len(others) else None
    while True:
        # More than half of the cells are empty.
        cell = int(generator.integers(number_of_cells))
        place = int(np.searchsorted(occupied, cell))
        if place == len(occupied) or occupied[place] != cell:
            return cell


def draw_differences(
    public: Sequence[Attribute],
    sensitive: Attribute,
    rows: CodedRows,
    number: int,
    generator: np.random.Generator,
) -> Iterator[Question]:
    """Two groups that differ in one public value, of one attribute or within a category of another; neither of them tiny."""
    fewest = max(SMALLEST_GROUP, SMALLEST_SHARE * rows.number_of_rows)
    several = [each for each in public if each.size > 1]
    found: list[Question] = []
    for _ in range(TRIES_FOR_EACH * number if several else 0):
        if len(found) == number:
            break
        apart = several[int(generator.integers(len(several)))]
        others = [each for each in public if each is not apart]
        within = [others[int(generator.integers(len(others)))]] if others and generator.integers(2) else []
        fixed = [int(generator.integers(each.size)) for each in within]
        codes = generator.permutation(apart.size)[:2].tolist()
        if any(_matching((apart, *within), [code, *fixed], rows).sum() < fewest for code in codes):
            continue
        first, second = (_cell((apart, *within), [code, *fixed]) for code in codes)
        where = _cell([sensitive], [int(generator.integers(sensitive.size))])
        pool = f"groups of {counted(1 + len(within), 'attribute')}"
        found.append(Question(pool, where, (first, second)))
    yield from _occurring(found)


def _matching(attributes: Sequence[Attribute], codes: Sequence[int], rows: CodedRows) -> Booleans:
    matches = (rows.codes[each.name] == code for each, code in zip(attributes, codes, strict=True))
    found: Booleans = np.logical_and.reduce(list(matches))
    return found


def draw_conjunctions(
    public: Sequence[Attribute],
    sensitive: Attribute,
    rows: CodedRows,
    number: int,
    generator: np.random.Generator,
) -> Iterator[Question]:
    """Values are drawn uniformly from the categories, and kept where the true count falls in a pool that is not full."""
    large = [share * rows.number_of_rows for share in LARGE_SHARES]
    pools: dict[str, Callable[[int], bool]] = {
        f"true of {SMALL_COUNTS[0]} to {SMALL_COUNTS[1]} rows": lambda count: (
            SMALL_COUNTS[0] <= count <= SMALL_COUNTS[1]
        ),
        f"true of {LARGE_SHARES[0]:.1%} to {LARGE_SHARES[1]:.0%} of the rows": lambda count: (
            large[0] <= count < large[1]
        ),
    }
    found: dict[str, list[Question]] = {pool: [] for pool in pools}
    wanted = max(number // len(pools), 1)
    masks = [[rows.codes[each.name] == code for code in range(each.size)] for each in (*public, sensitive)]
    for _ in range(TRIES_FOR_EACH * number):
        if all(len(each) >= wanted for each in found.values()):
            break
        size = int(generator.integers(1, min(MOST_ATTRIBUTES, len(public)) + 1))
        places = [*generator.permutation(len(public))[:size].tolist(), len(public)]
        codes = [int(generator.integers(len(masks[place]))) for place in places]
        count = int(
            np.logical_and.reduce(
                [masks[place][code] for place, code in zip(places, codes, strict=True)]
            ).sum()
        )
        for pool, fits in pools.items():
            if fits(count) and len(found[pool]) < wanted:
                where = _cell([(*public, sensitive)[place] for place in places], codes)
                found[pool].append(Question(pool, where))
    yield from _occurring(itertools.chain(*found.values()))


def draw_base(
    public: Sequence[Attribute],
    sensitive: Attribute,
    rows: CodedRows,
    number: int,
    generator: np.random.Generator,
) -> Iterator[Question]:
    """Cells of all public attributes with the sensitive one."""
    attributes = (*public, sensitive)
    yield from _occurring(_cells(attributes, rows, number, generator, "cells of all attributes"))


def draw_cube(
    public: Sequence[Attribute],
    sensitive: Attribute,
    rows: CodedRows,
    number: int,
    generator: np.random.Generator,
) -> Iterator[Question]:
    """Sets of attributes are drawn evenly by their size, then a cell of the set that occurs."""
    wanted: dict[tuple[int, ...], int] = {}
    for _ in range(number):
        size = int(generator.integers(0, len(public) + 1))
        chosen = tuple(sorted(generator.permutation(len(public))[:size].tolist()))
        wanted[chosen] = wanted.get(chosen, 0) + 1
    yield from _occurring(
        question
        for chosen, times in wanted.items()
        for question in _cells(
            (*(public[place] for place in chosen), sensitive),
            rows,
            times,
            generator,
            f"cells of {len(chosen) + 1} attributes",
        )
    )


def _cells(
    attributes: Sequence[Attribute],
    rows: CodedRows,
    number: int,
    generator: np.random.Generator,
    pool: str,
) -> Iterator[Question]:
    """Cells that occur, evenly among the cells and not among the rows; all of them where they are few."""
    known = ArrayEngine().count_occupied(rows, attributes)
    for place in generator.permutation(len(known.counts))[:number].tolist():
        yield Question(pool, _cell(attributes, [int(codes[place]) for codes in known.codes]))


def _cell(attributes: Sequence[Attribute], codes: Sequence[int]) -> Predicate:
    conditions = tuple((each.name, (int(code),)) for each, code in zip(attributes, codes, strict=True))
    return Predicate((Selection(conditions),))


def _occurring(questions: Iterable[Question]) -> Iterator[Question]:
    listed = list(questions)
    if not listed:
        raise ParameterError(
            "workload: no row satisfies any question of this kind, so every release of nothing would answer them. "
            "Choose another workload, or ask questions of your own.",
            parameter="workload",
        )
    yield from listed


# --------------------------------------------------------------------------------------------------
# Workloads: questions that every design is asked, by the name of their kind or the custodian's own.


WorkloadName = Literal["strata", "cells", "differences", "conjunctions", "base", "cube"]
"""Kinds of workload; ``strata`` looks at no row, the others are drawn from what occurs."""

OWN = "own questions"


def make_workload(
    name: WorkloadName, schema: Schema, rows: CodedRows, number: int, seed: int, *, sensitive: str
) -> Workload:
    """So many questions of one kind.

    Parameters
    ----------
    name
        ``strata``: one to three attributes, with and without a sensitive one, as many of each, from the schema alone.
        ``cells``: cells of up to three public attributes and the sensitive one, as many that occur as that do not.
        ``differences``: how much larger a share of one group has a sensitive value than of another.
        ``conjunctions``: up to three public attributes and the sensitive one, half of them true of few rows, half of many.
        ``base``: cells of all public attributes and the sensitive one that occur. ``cube``: the same over every set of
        attributes that holds the sensitive one.
    schema, rows
        Of the table.
    number, seed
        How many, and what repeats them.
    sensitive
        The attribute attacked.

    Raises
    ------
    ParameterError
        When too few are asked for, or no row satisfies any such question.
    """
    if name not in get_args(WorkloadName):
        raise ParameterError(
            f"workload must be one of {', '.join(get_args(WorkloadName))}, got {name!r}.",
            parameter="workload",
        )
    generator = np.random.default_rng(seed)
    if name == "strata":
        return Workload(name, tuple(draw_strata(schema, number, generator)), is_by_size=True)
    public = [each for each in schema.publishable.with_role(Role.QUASI_IDENTIFIER) if each.name != sensitive]
    make = {
        "cells": draw_cells,
        "differences": draw_differences,
        "conjunctions": draw_conjunctions,
        "base": draw_base,
        "cube": draw_cube,
    }[name]
    return Workload(name, tuple(make(public, schema[sensitive], rows, number, generator)))


def own_workload(texts: Sequence[str], schema: Schema, rows: CodedRows) -> Workload:
    """The custodian's own questions, one condition each.

    Raises
    ------
    QueryError
        With the number of the first that cannot be read.
    ParameterError
        When no row satisfies any of them.
    """
    questions = tuple(Question(OWN, each) for each in Predicate.parse_all(texts, schema.publishable))
    if not questions or not any(true_counts(rows, [each.where])[0] for each in questions):
        raise ParameterError(
            "questions: no row satisfies any of them, so every release of nothing would answer them. Ask about values that occur.",
            parameter="questions",
        )
    return Workload(OWN, questions)
