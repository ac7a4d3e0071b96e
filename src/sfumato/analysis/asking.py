"""What analyses ask of a release: estimated counts over ways of classifying rows."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from sfumato.analysis.classification import Classification, holds
from sfumato.analysis.within_bounds import UNBOUNDED, are_loose, narrowed
from sfumato.errors import NoSolutionError, TooLargeError
from sfumato.laws import Target
from sfumato.laws.asking import LARGEST_COVARIANCE, answer, binding
from sfumato.release.release import Release
from sfumato.values.answer_tables import AnswerTable
from sfumato.values.arrays import Booleans, Floats, Integers
from sfumato.values.estimates import Estimates, known_bounds
from sfumato.values.number_text import show_with_error
from sfumato.values.occupied_estimates import OccupiedEstimates
from sfumato.values.predicate import Predicate
from sfumato.values.schema import Schema
from sfumato.values.selection import Tabulation

LARGEST_ANALYSED = 2_000
"""Cells whose covariance an analysis asks for, twice as many as a table's: a measure of so many takes some seconds, and a matrix 32 MB."""

MOST_CLASSES = 100
"""Combinations of classes that are asked for one by one where their cells are too many: the law looks at all pairs."""

LARGEST_SUMS = 20_000_000
"""Weights of cells in classes that are kept at once."""


class Countable(Protocol):
    """A release, as far as an analysis needs one."""

    @property
    def schema(self) -> Schema:
        """The attributes that can be asked about."""

    def counts(self, by: str | Sequence[str], *, where: str = "", target: Target = "table") -> AnswerTable:
        """Estimated counts over the categories of some attributes."""


class Source(Protocol):
    """Where counts come from: an answer of a release, as far as a result repeats it."""

    @property
    def method(self) -> str:
        """Of the release."""

    @property
    def law(self) -> str:
        """Of the release, by name."""

    @property
    def estimator(self) -> str:
        """What must be known of the numbers."""


@dataclass(frozen=True)
class _Occupied:
    """The source of counts of cells that occur."""

    method: str
    law: str
    estimator: str


@dataclass(frozen=True, eq=False)
class CellCounts:
    """Estimated counts of cells, with what they are cells of.

    Parameters
    ----------
    codes
        Of every cell, its code by attribute.
    estimates
        With the whole ``table`` covariance.
    source
        What gave them.
    rows
        Between what all of them add up to for certain.
    """

    codes: Mapping[str, Integers]
    estimates: Estimates
    source: Source
    rows: tuple[float, float] = UNBOUNDED

    def rows_of(self, kept: Booleans) -> tuple[float, float]:
        """Between what some of them add up to: all rows may be among them, and none must."""
        return self.rows if kept.all() else (-math.inf, self.rows[1])

    def merge(self, classes: Integers, number: int) -> Estimates:
        """Counts of classes of cells, ``(number,)``."""
        if classes.size == number and np.array_equal(classes, np.arange(number)):
            return self.estimates
        weights: Booleans = classes[None, :] == np.arange(number)[:, None]
        return self.estimates.linear(weights.astype(np.float64))

    @property
    def notes(self) -> tuple[str, ...]:
        """What must be said of numbers computed from counts that are not unbiased."""
        return caveats(self.source)


def caveats(source: Source) -> tuple[str, ...]:
    """What must be said of numbers computed from counts that are not unbiased."""
    about = source.estimator
    return () if about.startswith("unbiased") else (f"the counts behind it are not unbiased: {about}",)


def ask_cells(release: Countable, names: Sequence[str], *, where: str = "") -> CellCounts:
    """Estimated counts of every combination of some attributes' categories, with their covariance.

    Raises
    ------
    TooLargeError
        When the combinations are too many for a covariance.
    NotIdentifiableError
        When the release's law leaves the joint of the attributes open.
    """
    table = release.counts(tuple(names), where=where, target="table")
    estimates = table.estimates
    if (
        estimates.covariance is None
        and not estimates.variances.any()
        and np.isfinite(estimates.variances).all()
    ):
        # Published as they are: nothing varies, so nothing varies together.
        size = estimates.values.size
        estimates = dataclasses.replace(estimates, covariance=np.zeros((size, size)))
    if estimates.covariance is None and isinstance(release, Release):
        estimates = _with_covariance(release, tuple(names), where, estimates)
    if estimates.covariance is None:
        size = estimates.values.size
        reason = (
            f"the covariance of at most {LARGEST_ANALYSED:,} is computed"
            if size > LARGEST_ANALYSED
            else "the release's law gives no covariance between them"
            if not where.strip()
            else "the release's law gives no covariance between them among rows chosen like that"
        )
        raise TooLargeError(
            f"a table over {', '.join(names)} has {size:,} cells, and {reason}. Name fewer attributes, or where conditions may "
            "stand for attributes, conditions on those with many categories."
        )
    grid = np.meshgrid(*(np.array(each) for each in table.codes), indexing="ij")
    codes = {each.name: axis.ravel() for each, axis in zip(table.attributes, grid, strict=True)}
    return CellCounts(codes, estimates, table, _rows_between(release, where, estimates))


def _rows_between(release: Countable, where: str, counts: Estimates) -> tuple[float, float]:
    """Between what counts add up to; asked for where some are known within bounds only, whose sum is known better."""
    if not isinstance(release, Release) or not are_loose(counts).any():
        return UNBOUNDED
    whole = release.law.estimate_predicates(release, [Predicate.parse(where, release.schema)])
    low, high = whole.ends()
    return float(low[0]), float(high[0])


def _with_covariance(release: Release, names: tuple[str, ...], where: str, found: Estimates) -> Estimates:
    """The same numbers with the covariance that a table of them is spared, where it can be had."""
    among = Predicate.parse(where, release.schema)
    if found.values.size > LARGEST_ANALYSED or len(among.parts) != 1:
        return found
    asked = (binding(Tabulation(names, among.single()), release.schema),)
    formula = release.law.formula(release, asked)
    return answer(formula, asked, "table", largest_covariance=LARGEST_ANALYSED)


def ask_sums(release: Countable, names: Sequence[str], *, where: str = "") -> CellCounts:
    """Counts of cells of which only sums are needed: of those that occur, where all of them are too many for a covariance.

    Raises
    ------
    TooLargeError, NotIdentifiableError
        As for :func:`ask_cells`.
    """
    among = Predicate.parse(where, release.schema)
    needed = tuple(dict.fromkeys((*names, *among.names)))
    cells = math.prod(release.schema[name].size for name in names)
    if not isinstance(release, Release) or cells <= LARGEST_COVARIANCE:
        return ask_cells(release, names, where=where)
    found = release.law.estimate_occupied(release, needed)
    if found is None:
        return ask_cells(release, names, where=where)
    kept = np.asarray(holds(among, found.codes), dtype=bool)
    estimates = found.estimates.keep(kept) if where.strip() else found.estimates
    return CellCounts(found.codes, estimates, _told(release))


def _told(release: Release) -> _Occupied:
    return _Occupied(release.method, str(release.manifest.law["law"]), release.law.estimate_is)


@dataclass(frozen=True, eq=False)
class ClassCounts:
    """Estimated counts of combinations of classes.

    Parameters
    ----------
    estimates
        Flattened, the last way of classifying fastest, with the whole ``table`` covariance.
    source
        What gave them.
    """

    estimates: Estimates
    source: Source
    rows: tuple[float, float] = UNBOUNDED

    @property
    def notes(self) -> tuple[str, ...]:
        """What must be said of numbers computed from counts that are not unbiased."""
        return caveats(self.source)


def ask_classes(release: Countable, ways: Sequence[Classification], *, where: str = "") -> ClassCounts:
    """Estimated counts of rows classified in several ways at once, with their covariance.

    Cells are counted and added up; where they are too many for a covariance, those that occur, or each combination of classes
    by itself: conditions on attributes of many categories are few classes.

    Raises
    ------
    TooLargeError, NotIdentifiableError
        As for :func:`ask_cells`.
    """
    names = tuple(dict.fromkeys(name for each in ways for name in each.names))
    sizes = [len(each.labels) for each in ways]
    number = math.prod(sizes)
    cells = math.prod(release.schema[name].size for name in names)
    if isinstance(release, Release) and cells > LARGEST_COVARIANCE and number <= MOST_CLASSES:
        by_themselves = _class_by_class(release, ways, where)
        return ClassCounts(by_themselves, _told(release), _rows_between(release, where, by_themselves))
    found = ask_sums(release, names, where=where) if number <= LARGEST_COVARIANCE else None
    if found is None or number * found.estimates.values.size > LARGEST_SUMS:
        found = ask_cells(release, names, where=where)
    classes = np.zeros(found.estimates.values.size, dtype=np.int64)
    for size, way in zip(sizes, ways, strict=True):
        classes = classes * size + way.classes(found.codes)
    merged = found.merge(classes, number)
    is_sum = merged is not found.estimates and number <= MOST_CLASSES
    if is_sum and isinstance(release, Release) and are_loose(merged).any():
        # Bounds of cells added up are wider than those of the class, which may be known exactly.
        merged = narrowed(merged, _class_by_class(release, ways, where))
    return ClassCounts(merged, found.source, found.rows)


def _class_by_class(release: Release, ways: Sequence[Classification], where: str) -> Estimates:
    among = Predicate.parse(where, release.schema)
    asked = [
        functools.reduce(operator.and_, each, among)
        for each in itertools.product(*(way.predicates(release.schema) for way in ways))
    ]
    return release.law.estimate_predicates(release, asked)


@dataclass(frozen=True, eq=False)
class Crossed:
    """Estimated counts of two classifications crossed.

    Parameters
    ----------
    sides
        The classifications: rows, then columns.
    counts
        ``(rows * columns,)``, columns fastest, with the whole ``table`` covariance.
    rows
        Between what all of them add up to for certain.
    """

    sides: tuple[Classification, Classification]
    counts: Estimates
    rows: tuple[float, float] = field(default=UNBOUNDED, kw_only=True)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return len(self.sides[0].labels), len(self.sides[1].labels)

    def refuse_empty_margins(self, what: str) -> None:
        """Refuse what divides by margins when one is not estimated as positive.

        Raises
        ------
        NoSolutionError
            Naming the margin and its estimate.
        """
        places = np.indices(self.shape).reshape(2, -1)
        for side, codes, number in zip(self.sides, places, self.shape, strict=True):
            for place in range(number):
                weights = (codes == place).astype(float)
                if weights @ self.counts.values <= 0:
                    raise NoSolutionError(
                        f"{what}: rows with {side.describe(place)} are estimated as {show_count(self.counts, weights)}, "
                        "and it divides by that margin. Ask about a condition that more rows satisfy, or merge categories.",
                        reason="undefined",
                    )


@dataclass(frozen=True, eq=False)
class TwoWay(Crossed):
    """Those of a release.

    Parameters
    ----------
    cells
        What the release gave.
    """

    cells: ClassCounts


def ask_two_way(release: Countable, first: str, second: str, *, where: str = "") -> TwoWay:
    """Estimated counts of two attributes, or conditions, crossed."""
    sides = Classification.parse(first, release.schema), Classification.parse(second, release.schema)
    cells = ask_classes(release, sides, where=where)
    return TwoWay(sides, cells.estimates, cells, rows=cells.rows)


def keep_cells(counts: Estimates, kept: Booleans) -> Estimates:
    """Some of the counts, with the covariance between them."""
    if isinstance(counts, OccupiedEstimates):
        return counts.keep(kept)
    assert counts.covariance is not None
    low, high = counts.ends()
    return Estimates(
        counts.values[kept],
        counts.variances[kept],
        counts.covariance[np.ix_(kept, kept)],
        known_bounds(low[kept], high[kept]),
        counts.certainty[kept],
    )


def show_count(counts: Estimates, weights: Floats) -> str:
    """An estimated number of rows with its error, as text for a sentence."""
    summed = counts.linear(weights[None, :])
    value, error = float(summed.values[0]), float(summed.standard_errors[0])
    return show_with_error(value, error)


def as_columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Rows of plain data as columns, for Arrow."""
    return {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}
