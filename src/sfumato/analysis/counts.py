"""Estimated counts and shares by attributes or conditions; published rows unadjusted."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import numpy as np

from sfumato.analysis.identified_sets import UNBOUNDED, are_loose, narrowed
from sfumato.arrays import Booleans, Floats, Integers
from sfumato.errors import (
    NoSolutionError,
    NotIdentifiableError,
    ParameterError,
    QueryError,
    TooLargeError,
    nearest,
)
from sfumato.estimates.answers import AnswerTable
from sfumato.estimates.estimates import Estimates, OccupiedEstimates, known_bounds, normal_quantile
from sfumato.laws import Target
from sfumato.laws.estimator import LARGEST_COVARIANCE, answer, binding
from sfumato.methods.randomized_response.law import PerturbedRows
from sfumato.query.selection import Predicate, Selection, Tabulation
from sfumato.query.text import write_condition
from sfumato.release.release import Release
from sfumato.release.tabulation import Simultaneous, axes_of, estimate_table, level_of_each
from sfumato.schema import Schema
from sfumato.text import show_with_error

# --------------------------------------------------------------------------------------------------
# Ways of classifying rows: by an attribute's categories, or by whether a condition holds.


@dataclass(frozen=True)
class Classification:
    """One way of classifying rows: by an attribute's categories, or by whether a condition holds.

    Parameters
    ----------
    text
        The attribute, or the condition as it is written.
    labels
        What each class is called.
    condition
        None where classes are an attribute's categories.
    """

    text: str
    labels: tuple[str, ...]
    condition: Predicate | None = None

    @classmethod
    def parse(cls, text: str, schema: Schema) -> Classification:
        """Read an attribute's name, or a condition of the query language."""
        names = schema.publishable.names
        if text in names:
            return cls(text, schema[text].labels)
        if (
            not any(mark in text for mark in "=<>")
            and " in " not in text.lower()
            and " is " not in text.lower()
        ):
            if text in schema.left_out:
                schema[text]
            raise QueryError(
                f"there is no attribute {text!r}; {nearest(text, names)} Name an attribute, or write a condition "
                "such as \"job = 'Sales'\"."
            )
        condition = Predicate.parse(text, schema)
        described = condition.describe(schema)
        return cls(described, (f"not ({described})", described), condition)

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes it looks at."""
        return (self.text,) if self.condition is None else self.condition.names

    def describe(self, place: int) -> str:
        """One class in words."""
        return self.labels[place] if self.condition is not None else f"{self.text} = {self.labels[place]!r}"

    def predicates(self, schema: Schema) -> tuple[Predicate, ...]:
        """The rows of each class."""
        if self.condition is None:
            return tuple(Predicate((Selection(((self.text, (code,)),)),)) for code in range(len(self.labels)))
        return Predicate.parse(f"NOT ({self.text})", schema), self.condition

    def classes(self, codes: Mapping[str, Integers]) -> Integers:
        """Class of each of some cells, given their codes by attribute."""
        if self.condition is None:
            return codes[self.text]
        return holds(self.condition, codes).astype(np.int64)


def holds(condition: Predicate, codes: Mapping[str, Integers]) -> Booleans:
    """Whether a condition is true of each of some cells, given their codes by attribute."""
    ways = [
        np.logical_and.reduce([np.isin(codes[name], chosen) for name, chosen in part.conditions])
        for part in condition.parts
    ]
    return np.asarray(np.logical_or.reduce(ways), dtype=bool)


# --------------------------------------------------------------------------------------------------
# What analyses ask of a release: estimated counts over ways of classifying rows.


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
    notes: tuple[str, ...] = ()


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
    said = () if about.startswith("unbiased") else (f"the counts behind it are not unbiased: {about}",)
    return (*said, *getattr(source, "notes", ()))


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
    notes = tuple(each for each in (release.manifest.note_of_dropped,) if each)
    return _Occupied(release.method, str(release.manifest.law["law"]), release.law.estimate_is, notes)


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


# --------------------------------------------------------------------------------------------------
# Percentages by group: shares of the cells of a table, of all rows or within groups.


def shares(
    release: Countable,
    by: str | Sequence[str],
    *,
    within: str | Sequence[str] = (),
    where: str = "",
    confidence_level: float = 0.95,
    target: Target = "table",
    simultaneous: Simultaneous | None = None,
) -> AnswerTable:
    """Estimated shares of every cell of a table, of all rows or within the categories of some of its attributes.

    Each is a ratio of two estimated counts, with the delta method's standard error.

    Parameters
    ----------
    release
        What is asked.
    by
        Attributes to tabulate.
    within
        Attributes of the table: those by ``["sex", "job"]`` within ``"sex"`` are the shares of jobs in each sex.
    where
        Only rows that satisfy these conditions.
    confidence_level, target
        Of the intervals, and what they are about.
    simultaneous
        Make the intervals hold all together.

    Raises
    ------
    NoSolutionError
        When a group is not estimated as positive, by its name.
    """
    normal_quantile(confidence_level)  # refuses a wrong level before anything is asked
    counted = release.counts(by, where=where, target=target)
    groups = (within,) if isinstance(within, str) else tuple(within)
    found = _shares(counted, groups)
    return dataclasses.replace(
        counted,
        estimates=found,
        confidence_level=confidence_level,
        # Not unbiased itself, even where both counts are.
        estimator=f"ratio of two counts, each {counted.estimator}",
        within=groups,
        level_of_each=simultaneous and level_of_each(found, confidence_level, simultaneous),
    )


def _shares(table: AnswerTable, within: Sequence[str]) -> Estimates:
    """Shares of the cells of a table among the cells that are equal on some attributes, with their covariance.

    Parameters
    ----------
    table
        Of counts.
    within
        Attributes of it whose categories make the groups; none for shares of all rows.

    Raises
    ------
    ParameterError
        When the table lacks an attribute, or has no other.
    NoSolutionError
        When a group is not estimated as positive, by its name.
    """
    attributes, counts = table.attributes, table.estimates
    names = [each.name for each in attributes]
    if set(within) - set(names) or len(set(within)) >= len(names):
        raise ParameterError(
            f"shares are taken within some of the attributes of the table, {', '.join(names)}, and not within all of them; got "
            f"{', '.join(within) or 'none'}. Tabulate what the groups are made of and what is shared.",
            parameter="within",
        )
    grid = np.meshgrid(*(np.array(each) for each in table.codes), indexing="ij")
    codes = np.array([each.ravel() for each in grid])
    chosen = [place for place, each in enumerate(attributes) if each.name in within]
    if chosen:
        groups, group = np.unique(codes[chosen], axis=1, return_inverse=True)
    else:
        groups, group = np.zeros((0, 1), np.int64), np.zeros(codes.shape[1], np.int64)
    sums = (group[None, :] == np.arange(groups.shape[1])[:, None]).astype(np.float64)
    totals = counts.linear(sums)
    empty = np.flatnonzero(totals.values <= 0)
    if empty.size:
        first = int(empty[0])
        named = " AND ".join(
            write_condition(attributes[place], (int(groups[row, first]),)) for row, place in enumerate(chosen)
        )
        value, error = float(totals.values[first]), float(totals.standard_errors[first])
        raise NoSolutionError(
            f"rows with {named or 'any values'} are estimated as {show_with_error(value, error)}, so that there "
            "are no shares within them. Leave them out by a condition, or merge categories.",
            reason="undefined",
        )
    return counts.ratios(list(np.eye(codes.shape[1])), list(sums[group])).within(0.0, 1.0)


# --------------------------------------------------------------------------------------------------
# Published rows as they stand, for what stays valid without undoing the distortion.


_AS_THEY_STAND = PerturbedRows(distortions={})


@dataclass(frozen=True, eq=False)
class PublishedRows:
    """The rows of a release, counted as if nothing had been done to them.

    Only tests of independence may be computed from them: the caller sees to that.

    Parameters
    ----------
    release
        One whose changed columns were each made from themselves alone.
    """

    release: Release

    def __post_init__(self) -> None:
        if not self.release.law.keeps_independence:
            raise NotIdentifiableError(
                f"published rows of this release cannot be used as they stand: {self.release.law.sentence} Only where what was changed "
                "was made from its own column alone does what is independent stay so. Ask through the law instead."
            )

    @classmethod
    def redrawn(cls, release: Release) -> Self:
        """Rows of which each was redrawn from its own values alone, by matrices known or not.

        Raises
        ------
        NotIdentifiableError
            When they were not, so that no matrix says what became of a value.
        """
        if not release.law.is_row_by_row:
            raise NotIdentifiableError(
                f"no matrix stands between true rows and published ones: {release.law.sentence} Only of rows that were each redrawn "
                "by themselves can that be asked. Ask through the law instead."
            )
        return cls(release)

    @property
    def schema(self) -> Schema:
        """Of the questions."""
        return self.release.schema

    def counts(self, by: str | Sequence[str], *, where: str = "", target: Target = "table") -> AnswerTable:
        """Published counts, with no error about themselves."""
        names, among = axes_of(self.schema, by), Predicate.parse(where, self.schema)
        estimates = estimate_table(_AS_THEY_STAND, self.release, names, among, target)
        attributes = self.schema.select(names)
        return AnswerTable(
            attributes,
            tuple(among.codes(each) for each in attributes),
            estimates,
            0.95,
            self.release.method,
            str(self.release.manifest.law["law"]),
            target,
            False,
            "unbiased for the published rows, not for the true ones",
        )
