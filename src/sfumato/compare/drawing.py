"""Questions drawn for a workload: from schema and seed, as the papers draw them, from cells that occur or do not."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from sfumato.compare.questions import Question
from sfumato.data.coded_rows import ArrayEngine, CodedRows
from sfumato.errors import ParameterError
from sfumato.values.arrays import Booleans, Integers
from sfumato.values.mixed_radix import MixedRadix
from sfumato.values.number_text import counted
from sfumato.values.predicate import Predicate
from sfumato.values.schema import Attribute, Role, Schema
from sfumato.values.selection import Selection

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
