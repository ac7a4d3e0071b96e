"""What every release is asked, about counts of every size."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import get_args

import numpy as np
import numpy.typing as npt

from sfumato import Release
from sfumato.data.private_table import PrivateTable
from sfumato.errors import NotIdentifiableError
from sfumato.estimates.counts import Feasibility
from sfumato.query.selection import Selection
from sfumato.schema import Schema
from sfumato.testing.queries import Answers, Asked, Block, Combined, CountsOf, Shares

Floats = npt.NDArray[np.float64]

CLASS_EDGES = (1, 10, 100)
CLASSES = ("0", "1-9", "10-99", "100+")

PAIRS = (("age", "job"), ("region", "job"), ("school", "job"), ("region", "school"))
"""The sensitive attribute with attributes of groups and with one outside them; public ones of both kinds."""

THREE = ("sex", "region", "job")
"""Attributes of single cells: so many that most counts are small."""

GROUPS = ("region", "school")
"""Attributes in whose categories shares of jobs are asked, by turns: one that makes groups, one that does not."""

SUMS_PER_TABLE = 8
CELLS_OF_A_SUM = 4


def size_class(counts: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Place in :data:`CLASSES` of true counts.

    Examples
    --------
    >>> size_class([0, 9, 10, 400]).tolist()
    [0, 1, 2, 3]
    """
    return np.searchsorted(CLASS_EDGES, np.asarray(counts), side="right")


@dataclass(frozen=True)
class Sized:
    """Questions with the counts by which their size is judged: those themselves, or the smallest that they rest on.

    They are asked of every release whose number leaves ``turn`` when divided by ``turns``.
    """

    block: Block
    rests_on: tuple[tuple[Selection, ...], ...] = ()
    turn: int = 0
    turns: int = 1

    @property
    def kind(self) -> str:
        """Of the answers."""
        return self.block.kind

    def sizes(self, table: PrivateTable, truth: Floats) -> Floats:
        """The count by which each question is put into a size class, ``(n,)``."""
        if not self.rests_on:
            return truth
        return np.array([min(_count(table, each) for each in group) for group in self.rests_on], float)


@dataclass(frozen=True)
class Differences:
    """Differences of shares between two groups; triples of question, group and other group."""

    schema: Schema
    triples: tuple[tuple[Selection, Selection, Selection], ...]
    kind: str = "difference of shares"

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """What is compared with what."""
        return tuple("share of {} among {} less among {}".format(*each) for each in self._texts)

    @cached_property
    def _texts(self) -> tuple[tuple[str, ...], ...]:
        return tuple(tuple(part.describe(self.schema) for part in each) for each in self.triples)

    def ask(self, asked: Asked) -> Answers:
        """By ``difference``."""
        return Answers.of_answers(
            [
                asked.release.difference(question, given=given, versus=versus, target=asked.target)
                for question, given, versus in self._texts
            ]
        )

    def truth(self, table: PrivateTable) -> Floats:
        """By counting and dividing; no number where a group is empty."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.array(
                [
                    np.divide(_count(table, question & given), _count(table, given))
                    - np.divide(_count(table, question & versus), _count(table, versus))
                    for question, given, versus in self.triples
                ]
            )


@dataclass(frozen=True)
class OtherCounts:
    """All cells of a table by another call: made consistent, or by another estimator of the law.

    Parameters
    ----------
    within
        Whether consistent counts are asked for the unbiased intervals that theirs hold: these cover no more, whatever
        made them consistent, and cost nothing.
    """

    cells: CountsOf
    feasibility: Feasibility | None = None
    estimator: str | None = None
    within: bool = False

    @property
    def kind(self) -> str:
        """With the name of what makes the counts."""
        return f"consistent ({self.feasibility})" if self.feasibility else f"estimator {self.estimator}"

    @property
    def labels(self) -> tuple[str, ...]:
        """One condition for each cell."""
        return self.cells.labels

    def ask(self, asked: Asked) -> Answers:
        """By ``consistent_counts``, which is about the table only, or by ``counts`` with an estimator."""
        if self.feasibility is None:
            counted = asked.release.counts(self.cells.names, target=asked.target, estimator=self.estimator)
        elif asked.target == "table" and self.within:
            counted = asked.counts(self.cells.names)
        elif asked.target == "table":
            counted = asked.release.consistent_counts(self.cells.names, feasibility=self.feasibility)
        else:
            raise NotIdentifiableError("consistent counts are about the table's own rows.")
        return Answers.of_estimates(counted.estimates)

    def truth(self, table: PrivateTable) -> Floats:
        """By counting."""
        return self.cells.truth(table)


def questions_for(release: Release, table: PrivateTable, *, again: bool = False) -> tuple[Sized, ...]:
    """Every kind of answer, about counts of every size that the population has.

    Parameters
    ----------
    release
        Any release of the setting: what its law calls its estimators.
    table
        The population.
    again
        Whether it is asked what still waits: then everything of every release.
    """
    schema = release.schema
    pairs = [pair for pair in PAIRS if set(pair) <= set(schema.names)]
    tables = [CountsOf(schema, pair, "joint") for pair in pairs]
    found = [Sized(CountsOf(schema, (name,), "margin")) for name in schema.names]
    found += [Sized(each) for each in tables]
    found += [Sized(_sums(each, table)) for each in tables]
    found += [_contrasts(each, table) for each in tables]
    if set(THREE) <= set(schema.names):
        found.append(Sized(CountsOf(schema, THREE, "cell")))
    groups = [name for name in GROUPS if {name, "job"} <= set(schema.names)]
    for place, name in enumerate(groups):
        turn = (0, 1) if again else (place, len(groups))
        found += _shares(schema, (name, "job"), table, turn)
        found += _differences(schema, (name, "job"), table, turn)
    found += [Sized(OtherCounts(tables[0], feasibility=each, within=again)) for each in get_args(Feasibility)]
    found += [
        Sized(OtherCounts(each, estimator=name)) for name in release.law.estimators for each in tables[:2]
    ]
    return tuple(found)


def _sums(cells: CountsOf, table: PrivateTable) -> Combined:
    """Sums of a few cells of like size, from the smallest to the largest, and of every other cell."""
    order = np.argsort(cells.truth(table), kind="stable")
    starts = np.linspace(0, order.size - CELLS_OF_A_SUM, SUMS_PER_TABLE).astype(int)
    weights = np.zeros((SUMS_PER_TABLE + 1, order.size))
    for row, start in enumerate(starts):
        weights[row, order[start : start + CELLS_OF_A_SUM]] = 1
    # Like the squares of a board: with an even number of categories every other cell in order would be a margin.
    codes = np.indices([each.size for each in cells.schema.select(cells.names)]).reshape(len(cells.names), -1)
    weights[-1, codes.sum(axis=0) % 2 == 0] = 1
    over = " and ".join(cells.names)
    labels = (
        *(f"{CELLS_OF_A_SUM} cells of {over}, number {each}" for each in range(SUMS_PER_TABLE)),
        f"every other cell of {over}",
    )
    return Combined(cells.names, weights, labels, "sum")


def _contrasts(cells: CountsOf, table: PrivateTable) -> Sized:
    """Cells less the next in order of size."""
    order = np.argsort(cells.truth(table), kind="stable")
    starts = np.linspace(0, order.size - 2, SUMS_PER_TABLE).astype(int)
    weights = np.zeros((SUMS_PER_TABLE, order.size))
    weights[np.arange(SUMS_PER_TABLE), order[starts + 1]] = 1
    weights[np.arange(SUMS_PER_TABLE), order[starts]] = -1
    selections = cells.selections()
    pairs = [(selections[order[each + 1]], selections[order[each]]) for each in starts]
    labels = tuple(f"cell {row} of {' and '.join(cells.names)} less another" for row in range(SUMS_PER_TABLE))
    return Sized(Combined(cells.names, weights, labels, "contrast"), tuple(pairs))


def _shares(schema: Schema, pair: tuple[str, str], table: PrivateTable, turn: tuple[int, int]) -> list[Sized]:
    """A category of the second attribute among one of the first, of each size."""
    cells = CountsOf(schema, pair, "joint")
    selections = cells.selections()
    found = []
    for place in _one_of_each_size(cells.truth(table)):
        given, question = (Selection((each,)) for each in selections[place].conditions)
        # One block for each: a law may leave a single combination open.
        shares = Shares(schema, ((question, given),))
        found.append(Sized(shares, ((question & given,),), *turn))
    return found


def _differences(
    schema: Schema, pair: tuple[str, str], table: PrivateTable, turn: tuple[int, int]
) -> list[Sized]:
    """A category of the second attribute in two groups of the first, the smaller count of each size."""
    groups, question = schema.select(pair)
    counts = CountsOf(schema, pair, "joint").truth(table).reshape(groups.size, question.size)
    order = np.argsort(counts, axis=0, kind="stable")
    smaller = np.take_along_axis(counts, order, axis=0)[:-1]
    found = []
    for place in _one_of_each_size(smaller.ravel()):
        rank, code = divmod(place, question.size)
        given, versus = (Selection(((groups.name, (int(order[rank + each, code]),)),)) for each in (1, 0))
        asked = Selection(((question.name, (code,)),))
        differences = Differences(schema, ((asked, given, versus),))
        found.append(Sized(differences, ((asked & given, asked & versus),), *turn))
    return found


def _one_of_each_size(counts: Floats) -> list[int]:
    """Place of a count in the middle of every size class that there is."""
    places = size_class(counts)
    found: list[int] = []
    for each in range(len(CLASSES)):
        inside = np.flatnonzero(places == each)
        ordered = inside[np.argsort(counts[inside], kind="stable")]
        found += ordered[ordered.size // 2 : ordered.size // 2 + 1].tolist()
    return found


def _count(table: PrivateTable, where: Selection) -> float:
    return float(table.count_by((), where).counts)
