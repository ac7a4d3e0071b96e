"""Tests of independence, mutual and conditional, on estimated counts or unadjusted rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from sfumato.analysis.counts import (
    ClassCounts,
    Classification,
    Countable,
    PublishedRows,
    ask_classes,
    keep_cells,
    show_count,
)
from sfumato.analysis.equations import LEVEL, POWER, ResidualTest, judge_residuals, refuse_open_counts
from sfumato.analysis.identified_sets import refuse_assumed
from sfumato.arrays import Floats, Integers
from sfumato.errors import NoSolutionError, NotIdentifiableError, ParameterError, QueryError
from sfumato.estimates.estimates import Estimates
from sfumato.query.selection import Predicate
from sfumato.release.release import Release
from sfumato.results import Charted, bar_chart
from sfumato.text import percent_as_stated, show_cell

# --------------------------------------------------------------------------------------------------
# Tables of groups and classes, and whether what they are classified by could be independent within groups.


@dataclass(frozen=True, eq=False)
class GroupTable:
    """Counts of groups and classes, flattened with the groups first.

    Parameters
    ----------
    counts
        With the whole ``table`` covariance.
    codes
        Of every cell, its group and its class on each side, ``(1 + sides, cells)``.
    """

    counts: Estimates
    codes: Integers

    def without_empty_classes(self) -> GroupTable:
        """Classes that surely have no row, within a group or at all, say nothing, and no margin of theirs is divided by.

        Raises
        ------
        NoSolutionError
            When no row is there.
        """
        is_empty = (self.counts.values == 0) & (self.counts.variances == 0)
        groups, kept = self.codes[0], np.ones(is_empty.size, dtype=bool)
        for own in self.codes[1:]:
            filled = np.zeros((int(groups.max()) + 1, int(own.max()) + 1), dtype=bool)
            filled[groups[~is_empty], own[~is_empty]] = True
            kept &= filled[groups, own]
        if kept.all():
            return self
        if not kept.any():
            raise NoSolutionError(
                "there is no test of independence: no row is there. Ask about conditions that rows satisfy.",
                reason="undefined",
            )
        return GroupTable(keep_cells(self.counts, kept), self.codes[:, kept])

    def fitted(self) -> Floats:
        """What independence within groups makes of the counts: the product of shares, times the group."""
        values, groups = self.counts.values, self.codes[0]
        totals = np.bincount(groups, values)
        fitted = totals[groups]
        for own in self.codes[1:]:
            margins = np.zeros((totals.size, int(own.max()) + 1))
            np.add.at(margins, (groups, own), values)
            fitted = fitted * margins[groups, own] / totals[groups]
        return np.asarray(fitted)

    def judge(self) -> ResidualTest:
        """Test whether the sides could be independent within groups; every margin must be positive."""
        return judge_residuals(self.counts, self.fitted(), self._columns())

    def _columns(self) -> Floats:
        """Indicators of every group with every class of each side, ``(cells, p)``."""
        groups = self.codes[0]
        columns = [
            (groups == group) & (own == place)
            for own in self.codes[1:]
            for group in np.unique(groups)
            for place in np.unique(own)
        ]
        return np.array(columns, dtype=float).T


# --------------------------------------------------------------------------------------------------
# Tests of independence, mutual and conditional, that keep their level on released rows and on estimated
# counts.


Counts = Literal["estimated", "published"]
"""What is tested: counts estimated through the law, or the published rows as they stand."""

FEW_EXPECTED = 5
"""Rows below which a cell is too small for a test that takes its error for known."""


@dataclass(frozen=True)
class IndependenceTest(Charted):
    """Whether attributes could be independent in the population behind a release.

    Parameters
    ----------
    of
        The attributes or conditions; more than two are tested for mutual independence.
    statistic, degrees, p_value
        Pearson's statistic with the second-order correction of Rao and Scott, its degrees of freedom (a fraction
        where the noise is uneven), and its p-value.
    pearson
        The plain statistic of the counts. Of estimated ones it must not be referred to a chi-square distribution.
    design_effect
        By how much noise multiplies the plain statistic on average; about that many times more rows are
        needed for the power of the private table. Of published rows it is not a number: what was lost there is in the law.
    wald, wald_degrees, wald_p_value
        Another test of the same, which weighs what is left over by how well it is known: it finds more where noise is much stronger in
        some cells than in others, and needs a well-known covariance. Degrees are a fraction where noise has heavy tails.
    detectable, detectable_without_noise
        Least size of an association, as Cramér's V, that the test finds in four of five releases at 5 %, and that it would
        find in the private table. The first is not a number where the law does not tell it.
    method, law
        Of the release.
    given
        Attributes within whose groups the independence is meant.
    counts
        ``"estimated"`` through the law, or ``"published"`` as they stand.
    notes
        What a reader must know.
    """

    of: tuple[str, ...]
    statistic: float
    degrees: float
    p_value: float
    pearson: float
    design_effect: float
    wald: float
    wald_degrees: float
    wald_p_value: float
    detectable: float
    detectable_without_noise: float
    method: str
    law: str
    given: tuple[str, ...] = ()
    counts: Counts = "estimated"
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        given = f" given {' and '.join(self.given)}" if self.given else ""
        return f"IndependenceTest({' with '.join(self.of)}{given}: p = {self.p_value:.3g})"

    def __str__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """A few lines for people."""
        given = f" given {' and '.join(self.given)}" if self.given else ""
        named = "Chi-square of the published rows" if self.counts == "published" else "Corrected chi-square"
        lines = [
            f"{'Mutual independence' if len(self.of) > 2 else 'Independence'} of {' and '.join(self.of)}{given} in the population",
            f"{named} {show_cell(self.statistic)} on {show_cell(self.degrees)} degrees, p = {self.p_value:.3g}",
            f"Wald {show_cell(self.wald)} on {show_cell(self.wald_degrees)}, p = {self.wald_p_value:.3g}",
            self._power(),
            f"({self.method}, law {self.law})",
        ]
        return "\n".join([*lines, *(f"Note: {each}" for each in self.notes)])

    def _power(self) -> str:
        found = f"found {percent_as_stated(POWER)} of the time at {LEVEL:g}"
        private = f"V = {show_cell(self.detectable_without_noise)} in the private table"
        if math.isnan(self.detectable):
            return f"Power was lost, how much the law does not tell; {private} is {found}"
        effect = (
            ""
            if math.isnan(self.design_effect)
            else f"Design effect {show_cell(self.design_effect)}: without noise, {show_cell(1 / self.design_effect)} of the "
            "rows tell as much; "
        )
        said = f"{effect}an association of V = {show_cell(self.detectable)} is {found} here, one of {private}"
        return said[0].upper() + said[1:]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as ``independence --json`` prints it."""
        lists = {name: list(getattr(self, name)) for name in ("of", "given", "notes")}
        return {**vars(self), **lists}

    def to_arrow(self) -> Any:
        """A pyarrow table of one row."""
        import pyarrow as pa

        return pa.table({name: [value] for name, value in self.to_dict().items()})

    def figure(self) -> dict[str, Any]:
        """A Vega-Lite chart of the least association that is found, here and in the private table, as plain data."""
        reached = {"this release": self.detectable, "the private table": self.detectable_without_noise}
        points = [{"label": label, "value": value} for label, value in reached.items()]
        found = f"Cramér's V found {percent_as_stated(POWER)} of the time at {LEVEL:g}"
        return bar_chart(points, title=" with ".join(self.of), unit=found)


def independence(
    release: Countable,
    first: str,
    second: str,
    *others: str,
    given: Sequence[str] = (),
    where: str = "",
    counts: Counts | None = None,
) -> IndependenceTest:
    """Test whether attributes are independent in the population.

    Parameters
    ----------
    release
        What is asked.
    first, second, others
        Attributes, or conditions of the query language. More than two are tested for mutual independence.
    given
        Attributes; independence is then meant within each of their groups.
    where
        Only rows that satisfy these conditions.
    counts
        ``"estimated"`` through the law; ``"published"``: the rows as they stand, which keeps the level where what was changed was
        made from its own column alone (randomized response, decoys) and neither ``given`` nor ``where`` names it. When not given, the
        first, or the second where the law is withheld.

    Raises
    ------
    NoSolutionError
        When a margin is estimated as not positive.
    NotIdentifiableError
        When rows were left out of which nobody can tell what they are; when counts are known within bounds only; when published rows are asked for and a test of
        them would not keep its level.

    Notes
    -----
    Independence is a loglinear model, whose residuals are tested as
    :func:`sfumato.analysis.equations.judge_residuals` has it. On published rows their own draw is all there is, and the
    statistic is Pearson's (Guo 2010, results 9 and 10).
    """
    chosen = chosen_counts(release, counts)
    sides = tuple(Classification.parse(each, release.schema) for each in (first, second, *others))
    _refuse_shared(sides, given)
    rows = published_where_valid(release, given, where) if chosen == "published" else None
    cells = _ask(rows or release, sides, given, where)
    tested, table = _test(cells, sides, tuple(given), release)
    if rows is not None:
        return _of_published(rows.release, cells, sides, tuple(given), where, tested, table)
    reach = _reach(tested.detectable, table), _reach(tested.detectable_without_noise, table)
    return IndependenceTest(
        tuple(each.text for each in sides),
        tested.statistic,
        tested.degrees,
        tested.p_value,
        tested.pearson,
        tested.design_effect,
        tested.wald,
        tested.wald_degrees,
        tested.wald_p_value,
        *reach,
        cells.source.method,
        cells.source.law,
        tuple(given),
        notes=(*cells.notes, *_wald_notes(table)),
    )


def _wald_notes(table: GroupTable) -> tuple[str, ...]:
    """That Wald's test, which needs the covariance to be well known, may reject too often in tables with hardly any rows in places."""
    few = int((table.fitted() < FEW_EXPECTED).sum())
    if not few:
        return ()
    return (
        f"{few:,} of {table.counts.values.size:,} expected counts are below {FEW_EXPECTED}: Wald's test may then reject too often, go by the corrected one",
    )


def chosen_counts(release: Countable, counts: Counts | None) -> Counts:
    """What is tested when nothing is asked for: estimates, or published rows where the law is withheld.

    Raises
    ------
    ParameterError
        When something else is asked for.
    """
    if counts is None:
        return "published" if isinstance(release, Release) and release.law.is_withheld else "estimated"
    if counts not in get_args(Counts):
        raise ParameterError(
            f"counts must be one of {', '.join(get_args(Counts))}, got {counts!r}. Leave it out for what the law allows.",
            parameter="counts",
        )
    return counts


def published_where_valid(release: Countable, given: Sequence[str], where: str) -> PublishedRows:
    """Published rows, where a test of them within groups keeps its level.

    Raises
    ------
    NotIdentifiableError
        When columns were not changed each by itself, or a group is made by what was changed.
    """
    if not isinstance(release, Release):
        raise NotIdentifiableError("only a release has published rows. Ask for estimated counts.")
    rows = PublishedRows(release)
    changed = set(release.law.changed_attributes)
    hidden = [name for name in (*given, *Predicate.parse(where, release.schema).names) if name in changed]
    if hidden:
        raise NotIdentifiableError(
            f"a test of published rows within groups of {hidden[0]!r} is not valid: it was changed, so that its published groups "
            "mix the true ones, and what is independent within those is not within these. Name attributes that were published "
            "as they are, or ask through a law that is told."
        )
    return rows


def _refuse_shared(sides: Sequence[Classification], given: Sequence[str]) -> None:
    names = [name for each in sides for name in each.names] + list(given)
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise QueryError(
            f"attribute {twice!r} is named twice: it is not independent of itself. Name each attribute once."
        )


def _ask(asked: Countable, sides: Sequence[Classification], given: Sequence[str], where: str) -> ClassCounts:
    groups = [Classification.parse(name, asked.schema) for name in given]
    return ask_classes(asked, [*groups, *sides], where=where)


def _test(
    cells: ClassCounts, sides: Sequence[Classification], given: tuple[str, ...], release: Countable
) -> tuple[ResidualTest, GroupTable]:
    shape = [math.prod(release.schema[name].size for name in given), *(len(each.labels) for each in sides)]
    counts = cells.estimates
    refuse_open_counts(counts, "a test of independence")
    refuse_assumed(counts, cells.source.estimator, "a test of independence")
    codes = np.array(np.unravel_index(np.arange(math.prod(shape)), shape))
    table = GroupTable(counts, codes).without_empty_classes()
    _refuse_empty_margins(table, sides, given, release)
    return table.judge(), table


def _refuse_empty_margins(
    table: GroupTable, sides: Sequence[Classification], given: Sequence[str], release: Countable
) -> None:
    for axis, side in enumerate(sides, start=1):
        for group in np.unique(table.codes[0]):
            for place in range(len(side.labels)):
                weights = ((table.codes[0] == group) & (table.codes[axis] == place)).astype(float)
                if not weights.any() or weights @ table.counts.values > 0:
                    continue
                within = _describe_group(int(group), given, release)
                raise NoSolutionError(
                    f"there is no test of independence: rows with {side.describe(place)}{within} are estimated as "
                    f"{show_count(table.counts, weights)}, and it divides by that margin. Ask about a condition that more rows "
                    "satisfy, or merge categories.",
                    reason="undefined",
                )


def _describe_group(group: int, given: Sequence[str], release: Countable) -> str:
    sizes = [release.schema[name].size for name in given]
    codes = np.unravel_index(group, sizes) if given else ()
    labels = (
        f"{name} = {release.schema[name].labels[int(code)]!r}"
        for name, code in zip(given, codes, strict=True)
    )
    return "".join(f" and {each}" for each in labels)


def _reach(noncentrality: float, table: GroupTable) -> float:
    """A noncentrality as Cramér's V: of two sides, by the smaller number of classes; of more, of two classes each."""
    smaller = min(np.unique(own).size - 1 for own in table.codes[1:]) if len(table.codes) == 3 else 1
    total = float(table.counts.values.sum())
    return math.sqrt(noncentrality / (max(smaller, 1) * total))


def _of_published(
    release: Release,
    cells: ClassCounts,
    sides: Sequence[Classification],
    given: tuple[str, ...],
    where: str,
    tested: ResidualTest,
    table: GroupTable,
) -> IndependenceTest:
    """Published rows are counted, not estimated: their statistic is Pearson's, on the model's degrees."""
    from scipy.special import chdtrc

    texts = [each.text for each in sides]
    without = detectable = _reach(tested.detectable_without_noise, table)
    if {name for side in sides for name in side.names} & set(release.law.changed_attributes):
        try:
            # The test of estimated counts has the same power, and the law says how much that is.
            through = independence(release, *texts, given=given, where=where, counts="estimated")
            detectable = through.detectable
        except NotIdentifiableError:
            detectable = math.nan
    return IndependenceTest(
        tuple(texts),
        tested.pearson,
        tested.free,
        float(chdtrc(tested.free, tested.pearson)),
        tested.pearson,
        math.nan,
        tested.wald,
        tested.wald_degrees,
        tested.wald_p_value,
        detectable,
        without,
        cells.source.method,
        cells.source.law,
        given,
        "published",
        (
            "published rows as they stand keep the level of the test; how strong the association is cannot be read off them",
        ),
    )
