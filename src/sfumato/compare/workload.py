"""Questions that every design is asked: made from schema and seed, drawn as the papers do, or the custodian's own."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from sfumato.data.coded_rows import ArrayEngine, CodedRows
from sfumato.errors import ParameterError
from sfumato.values.arrays import Booleans, Integers
from sfumato.values.predicate import Predicate
from sfumato.values.schema import Attribute, Role, Schema
from sfumato.values.selection import Selection

WorkloadName = Literal["strata", "conjunctions", "base", "cube"]
"""Kinds of workload; ``strata`` looks at no row, the others are drawn from what occurs."""

MOST_ATTRIBUTES = 3
"""Attributes of a question at most; of a conjunction, public ones."""

SMALL_COUNTS = (1, 10)
LARGE_SHARES = (0.005, 0.05)
"""True counts of the small pool, and shares of the rows of the large pool (Fu et al. 2014, section 6)."""

TRIES_FOR_EACH = 400
"""Conjunctions drawn for each one wanted before a pool is taken to have no more."""

OWN = "own questions"


@dataclass(frozen=True)
class Question:
    """How many rows satisfy a condition.

    Parameters
    ----------
    pool
        Questions that are averaged together.
    where
        The condition.
    """

    pool: str
    where: Predicate


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
    """

    name: str
    questions: tuple[Question, ...]
    is_by_size: bool = False


def make_workload(
    name: WorkloadName, schema: Schema, rows: CodedRows, number: int, seed: int, *, sensitive: str
) -> Workload:
    """So many questions of one kind.

    Parameters
    ----------
    name
        ``strata``: one to three attributes, with and without a sensitive one, as many of each, from the schema alone.
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
        return Workload(name, tuple(_strata(schema, number, generator)), is_by_size=True)
    public = [each for each in schema.publishable.with_role(Role.QUASI_IDENTIFIER) if each.name != sensitive]
    make = {"conjunctions": _conjunctions, "base": _base, "cube": _cube}[name]
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


def _strata(schema: Schema, number: int, generator: np.random.Generator) -> Iterator[Question]:
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


def _conjunctions(
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


def _base(
    public: Sequence[Attribute],
    sensitive: Attribute,
    rows: CodedRows,
    number: int,
    generator: np.random.Generator,
) -> Iterator[Question]:
    attributes = (*public, sensitive)
    yield from _occurring(_cells(attributes, rows, number, generator, "cells of all attributes"))


def _cube(
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
