"""The estimator of a law for one tabulation: values, variances, covariance, second moments."""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, Protocol, get_args

import numpy as np
import numpy.typing as npt

from sfumato.arrays import Booleans, Floats, Integers, MixedRadix
from sfumato.errors import NotIdentifiableError, ParameterError, TooLargeError
from sfumato.estimates.counts import LARGEST_TABLE, CountTable
from sfumato.estimates.estimates import Certainties, Certainty, Estimates, Limits, all_claim, known_bounds
from sfumato.estimates.exact_intervals import FewSteps, IntervalEnds, Skews, Spread
from sfumato.estimates.identified_region import Ends, LeftOut
from sfumato.estimates.intervals import Terms
from sfumato.query.selection import Selection, Tabulation
from sfumato.randomness.distortion import AxisMatrix, TwoValued, contract
from sfumato.schema import Schema

# --------------------------------------------------------------------------------------------------
# Taking a tabulation apart: what filters, what is an axis, which codes are shown, in which order.


def names_of(asked: Iterable[Tabulation]) -> tuple[str, ...]:
    """Every attribute that is shown or conditioned on, once; those of a tabulation's axes first.

    Examples
    --------
    >>> names_of([Tabulation(by=("job",), where=Selection((("sex", (0,)),)))])
    ('job', 'sex')
    """
    return tuple(dict.fromkeys(name for each in asked for name in (*each.by, *each.where.names)))


def binding(tabulation: Tabulation, schema: Schema) -> Tabulation:
    """The same question without conditions that every category satisfies, which say nothing."""
    return Tabulation(tabulation.by, tabulation.where.binding(schema))


def conditions_on(where: Selection, names: Container[str]) -> Selection:
    """The conditions of a selection on these attributes."""
    return Selection(tuple(each for each in where.conditions if each[0] in names))


def conditions_outside(where: Selection, names: Container[str]) -> Selection:
    """The conditions of a selection on all other attributes."""
    return Selection(tuple(each for each in where.conditions if each[0] not in names))


def common_conditions(asked: Sequence[Tabulation], is_exact: Callable[[str], bool]) -> Selection:
    """What all ask alike of attributes that were published as they are.

    Such conditions may filter the published rows; tabulated, they could outgrow memory. A condition on a
    distorted attribute may not: it is about the truth, so its axis is kept.

    Examples
    --------
    >>> both = [Tabulation(where=Selection((("sex", (0,)), ("job", (1,))))), Tabulation(where=Selection((("sex", (0,)),)))]
    >>> common_conditions(both, lambda name: True).names
    ('sex',)
    """
    first = asked[0].where.conditions if asked else ()
    return Selection(
        tuple(
            (name, codes)
            for name, codes in first
            if is_exact(name) and all(each.where.codes(name) == codes for each in asked)
        )
    )


def codes_shown(schema: Schema, tabulation: Tabulation, name: str) -> tuple[int, ...]:
    """Codes of an attribute that a tabulation asks about, in order: those chosen, else all."""
    chosen = tabulation.where.codes(name)
    return tuple(range(schema[name].size)) if chosen is None else chosen


def shape_of(schema: Schema, tabulation: Tabulation, names: Sequence[str] | None = None) -> tuple[int, ...]:
    """Cells along each axis of a tabulation, or along some of them."""
    shown = tabulation.by if names is None else names
    return tuple(len(codes_shown(schema, tabulation, name)) for name in shown)


def indicator(size: int, codes: Sequence[int] | None) -> Floats:
    """1 for the chosen categories, for all when none are named, ``(size,)``.

    Examples
    --------
    >>> indicator(3, (0, 2)).tolist()
    [1.0, 0.0, 1.0]
    """
    if codes is None:
        return np.ones(size)
    result = np.zeros(size)
    result[list(codes)] = 1
    return result


def take_codes(counts: npt.NDArray[Any], names: Sequence[str], where: Selection) -> Floats:
    """Counts with one axis for each name, cut to the codes that a selection leaves of each."""
    result = np.asarray(counts, dtype=np.float64)
    for axis, name in enumerate(names):
        chosen = where.codes(name)
        if chosen is not None:
            result = result.take(list(chosen), axis=axis)
    return result


def order_of(by: Sequence[str], laid_out: Sequence[str], shape: Sequence[int]) -> Integers:
    """Where each cell of a tabulation stands among cells whose axes come in another order.

    Parameters
    ----------
    by
        The order asked for.
    laid_out, shape
        The order at hand and the cells along each axis; a last axis without a name stays last.

    Examples
    --------
    >>> order_of(("job", "sex"), ("sex", "job"), (2, 3)).tolist()
    [0, 3, 1, 4, 2, 5]
    """
    places = np.arange(math.prod(shape)).reshape(shape)
    axes = [laid_out.index(name) for name in by]
    return places.transpose([*axes, *range(len(laid_out), places.ndim)]).ravel()


def satisfying(codes: Mapping[str, npt.NDArray[Any]], where: Selection, number: int) -> Booleans:
    """Which of so many combinations, given by their codes, satisfy a selection, ``(number,)``."""
    result = np.ones(number, dtype=bool)
    for name, chosen in where.conditions:
        result &= np.isin(codes[name], chosen)
    return result


def cell_of(
    codes: Mapping[str, npt.NDArray[Any]], axes: Mapping[str, Sequence[int]], is_selected: Booleans
) -> Integers:
    """Flat index, over the product of the axes' codes, of the cell that each selected combination falls in."""
    if not axes:
        return np.zeros(int(np.count_nonzero(is_selected)), dtype=np.int64)
    places = [np.searchsorted(shown, codes[name][is_selected]) for name, shown in axes.items()]
    return MixedRadix([len(shown) for shown in axes.values()]).encode(places)


def require_small(sizes: Sequence[int], names: Sequence[str]) -> None:
    """Refuse a table that would not fit in memory."""
    cells = math.prod(sizes)
    if cells > LARGEST_TABLE:
        raise TooLargeError(
            f"a table over {', '.join(names)} has {cells:,} cells; at most {LARGEST_TABLE:,} fit. "
            "Ask for fewer attributes, or condition on some of them instead of tabulating them."
        )


# --------------------------------------------------------------------------------------------------
# Published counts that a question needs, read as seldom as memory allows.


MOST_READ_TOGETHER = 80
"""Selections up to which one table over all their attributes is read; a table of many costs each of them time."""

LARGEST_JOINT_TABLE = 5_000_000
"""Cells of that table up to which it is."""


class Counting(Protocol):
    """What is asked of a release here."""

    @property
    def schema(self) -> Schema:
        """The published schema."""

    def count_by(self, names: Sequence[str], where: Selection) -> CountTable:
        """Published counts over some attributes, among the rows of the first table selected."""


class JointCounts:
    """Published counts of the cells of several tabulations, and of what two selections share.

    Parameters
    ----------
    published
        The release.
    asked
        The whole question. Conditions that all share filter the rows; the others become axes.
    kept
        Attributes whose conditions are about the truth and do not filter: whole axes of everything counted.

    Examples
    --------
    >>> from sfumato.schema import Attribute, Role
    >>> job = Attribute(name="job", role=Role.SENSITIVE, categories=("a", "b"))
    >>> class Release:
    ...     schema = Schema(attributes=(job,))
    ...     def count_by(self, names, where):
    ...         return CountTable((job,), np.array([7, 5]))
    >>> asked = Tabulation(by=("job",))
    >>> JointCounts(Release(), (asked,)).cells(asked).tolist()
    [7.0, 5.0]
    """

    def __init__(self, published: Counting, asked: Sequence[Tabulation], kept: Sequence[str] = ()) -> None:
        self._published = published
        self._kept = tuple(kept)
        self._filter = common_conditions(asked, lambda name: name not in kept)
        self._together = self._names(asked)
        sizes = [published.schema[name].size for name in (*self._together, *self._kept)]
        few = len(asked) <= MOST_READ_TOGETHER and math.prod(sizes) <= LARGEST_JOINT_TABLE
        self.is_one_table = few or len(asked) == 1
        self._tables: dict[tuple[str, ...], CountTable] = {}
        self._cells: dict[Tabulation, Floats] = {}

    def cells(self, asked: Tabulation) -> Floats:
        """Counts with one axis for each attribute that is shown and not kept, then one for each that is kept."""
        by = tuple(name for name in asked.by if name not in self._kept)
        public = Tabulation(by, conditions_outside(asked.where, self._kept))
        if public not in self._cells:
            names = self._together if self.is_one_table else self._names([public])
            if names not in self._tables:
                self._tables[names] = self._published.count_by((*names, *self._kept), self._filter)
            counts = take_codes(self._tables[names].counts, names, public.where)
            gone = tuple(axis for axis, name in enumerate(names) if name not in by)
            left = [name for name in names if name in by]
            order = [*(left.index(name) for name in by), *range(len(left), len(left) + len(self._kept))]
            self._cells[public] = np.asarray(counts.sum(axis=gone)).transpose(order)
        return self._cells[public]

    def _names(self, asked: Sequence[Tabulation]) -> tuple[str, ...]:
        """Attributes that need an axis: shown ones, and those whose conditions do not filter."""
        shown = {name for each in asked for name in each.by}
        needed = [name for name in names_of(asked) if name in shown or name not in self._filter.names]
        return tuple(name for name in needed if name not in self._kept)


# --------------------------------------------------------------------------------------------------
# Second moments of what every published row adds to the cells asked for.


def second_moment(counts: Floats, left: Sequence[AxisMatrix], right: Sequence[AxisMatrix]) -> Floats:
    """``sum over published cells of count * h g'``, one axis at a time.

    A published row of a cell adds h to one set of estimates and g to another, each a product of one
    factor for each axis.

    Parameters
    ----------
    counts
        Published counts, ``(d_0, d_1, ...)``.
    left, right
        For each axis the factors of h and of g, ``(d_i, e_i)`` and ``(d_i, f_i)``.

    Returns
    -------
    numpy.ndarray
        ``(product of the e, product of the f)``.

    Examples
    --------
    >>> second_moment(np.array([3.0, 1.0]), [np.eye(2)], [np.ones((2, 1))]).tolist()
    [[3.0], [1.0]]
    """
    pairs = [
        (_entries(one, size), _entries(other, size))
        for one, other, size in zip(left, right, counts.shape, strict=True)
    ]
    # Axes that end as one number go first: the pairs below then stand on a small table.
    is_summed = [one.shape[1] == other.shape[1] == 1 for one, other in pairs]
    tensor = contract(
        counts,
        [one * other if summed else None for (one, other), summed in zip(pairs, is_summed, strict=True)],
    )
    for (one, other), summed in zip(pairs, is_summed, strict=True):
        # The next published axis is always the first; its pair of output axes is put last.
        moved = np.moveaxis(tensor, 0, -1)[..., None]
        tensor = moved if summed else one.T @ (moved * other)
    number = len(pairs)
    # Each output axis now has its twin beside it; bring the first of every pair to the front.
    order = [*range(0, 2 * number, 2), *range(1, 2 * number, 2)]
    shape = [math.prod(each[side].shape[1] for each in pairs) for side in (0, 1)]
    return tensor.transpose(order).reshape(shape)


def _entries(matrix: AxisMatrix, size: int) -> Floats:
    """The matrix of an axis entry by entry; the identity where the axis is left alone."""
    if matrix is None:
        return np.eye(size)
    return matrix.dense(size) if isinstance(matrix, TwoValued) else matrix


# --------------------------------------------------------------------------------------------------
# A law's formula, and the one way in which a question is answered by it.


Target = Literal["table", "population"]
"""What an estimate is about: the rows of the private table itself, or the population they were drawn from."""


def refuse_unknown_target(target: str) -> None:
    """A misspelt target would be answered as the other one."""
    if target not in get_args(Target):
        raise ParameterError(
            f"target must be one of {', '.join(get_args(Target))}, got {target!r}. Leave it out for the table's own rows.",
            parameter="target",
        )


def refuse_target(release: object, target: str) -> None:
    """Refuse an unknown target, and the population where a release has lost the design of its survey."""
    refuse_unknown_target(target)
    if target == "population" and (dropped := getattr(release, "dropped_design", None)):
        names = ", ".join(name for each in dropped.values() for name in each)
        raise ParameterError(
            f"the release dropped the survey's {' and '.join(dropped)} ({names}), so it cannot answer about the population. "
            "Ask about the table (--target table).",
            parameter="target",
        )


LARGEST_COVARIANCE = 1_000
"""Numbers up to which the whole covariance is computed; beyond it, variances only."""

LEAST_VARIANCE = 1.0
"""Of a count that is not exact and of which a law could compute no error: that of a row more or less."""


class Formula(ABC):
    """A law applied to what it read of a release for one question.

    A question is a list of tabulations: one, or several without axes, whose selections may overlap. What a
    formula says of a tabulation depends on its cells alone, never on what else is asked: so a cell of a
    table and the same cell asked by itself have one estimate and one error.
    """

    number_of_rows: float
    """Rows of the private table, or their estimate: what a population's table would have again."""

    @abstractmethod
    def values(self, asked: Tabulation) -> Floats:
        """Estimates of the cells, in the order of the tabulation, ``(cells,)``."""

    @abstractmethod
    def variances(self, asked: Tabulation) -> Floats:
        """Their variances about the private table's own counts, ``(cells,)``, in memory of that order."""

    @abstractmethod
    def covariance(self, one: Tabulation, other: Tabulation) -> Floats:
        """Covariance between the cells of two tabulations, ``(cells, cells)``; not a number where unknown.

        Either both are the same, or neither has axes. The diagonal may be below :meth:`variances` where an
        unbiased variance came out below what is possible.
        """

    def bounds(self, asked: Tabulation) -> tuple[Floats, Floats] | None:
        """Numbers between which the true counts lie for certain; None where the release says nothing."""
        del asked
        return None

    def certainty(self, asked: Tabulation, number: int) -> Certainties:
        """What each of so many cells claims, ``(cells,)``; estimated unless a law says otherwise.

        Exact only what surely is the table's own count; bounded what lies between :meth:`bounds` for certain and
        has no chance error besides.
        """
        del asked
        return all_claim(Certainty.ESTIMATED, number)

    def spread(self, asked: Tabulation) -> tuple[Floats, Floats] | None:
        """Variances that intervals start from, and how much each changes with its count for each row, ``(cells,)`` each.

        None where the variance does not hang on the count; intervals are then normal.
        """
        del asked
        return None

    def wholes(self, asked: Tabulation) -> Floats | None:
        """Known counts that the cells are a part of, ``(cells,)``, near which intervals end as they do near nothing; None where there are none."""
        del asked
        return None

    def fourth_cumulants(self, asked: Tabulation) -> Floats | None:
        """Of the errors, ``(cells,)``; None where their tails are not heavier than normal ones."""
        del asked
        return None

    def limits(self, asked: Tabulation, target: Target) -> Limits | None:
        """Ends of intervals by confidence level, where the errors' law is known and is not normal.

        Not a number for cells of which it says nothing.
        """
        del asked, target
        return None

    def left_open(self, asked: Sequence[Tabulation]) -> LeftOut | Ends | None:
        """Between what the numbers of a question lie that claim to be open; None where none does."""
        del asked
        return None

    def has_covariance(self, asked: Sequence[Tabulation], number: int, largest: int) -> bool:
        """Whether the covariance between so many numbers is worth its memory and time, where up to ``largest`` may be."""
        del asked
        return number <= largest

    def shared(self, one: Tabulation, other: Tabulation) -> Floats:
        """Estimated rows that are in both, for all pairs of cells of two tabulations, ``(cells, cells)``.

        Not a number where what the release says of each does not say it of both.
        """
        if one is other:
            # Cells of one table do not overlap.
            return np.diag(self.values(one))
        try:
            return self.values(Tabulation(where=one.where & other.where))[:, None]
        except NotIdentifiableError:
            return np.full((1, 1), np.nan)


def answer(
    formula: Formula,
    asked: Sequence[Tabulation],
    target: Target,
    sums: Floats | None = None,
    *,
    largest_covariance: int | None = None,
) -> Estimates:
    """Estimates of all cells of all tabulations, one after the other: the only way a law answers.

    Parameters
    ----------
    formula, asked, target
        What to ask of what, about whom.
    sums
        Answer these sums of the numbers instead, ``(k, n)`` of 0 and 1, each over cells that do not overlap.
    largest_covariance
        Numbers up to which the covariance is computed, in the place of :data:`LARGEST_COVARIANCE`.
    """
    parts = [_cells(formula, each) for each in asked]
    of_table = Estimates(
        _joined([each.values for each in parts]),
        _joined([each.variances for each in parts]),
        certainty=np.concatenate([all_claim(Certainty.EXACT, 0), *(each.certainty for each in parts)]),
        bounds=known_bounds(*(_joined([each.ends()[side] for each in parts]) for side in (0, 1))),
        fourth_cumulants=_fourth_cumulants(formula, asked, [each.values.size for each in parts]),
    ).open_between(formula.left_open(asked))
    shared = None
    largest = LARGEST_COVARIANCE if largest_covariance is None else largest_covariance
    if formula.has_covariance(asked, of_table.values.size, largest):
        of_table = replace(of_table, covariance=_whole(asked, formula.covariance))
        shared = _whole(asked, formula.shared) if target == "population" else None
    numbers = [each.values.size for each in parts]
    sure = np.repeat([_is_of_every_table(each) for each in asked], numbers)
    limits = [formula.limits(each, target) for each in asked]
    wholes = _laid_out([formula.wholes(each) for each in asked], numbers, np.inf)
    spreads = partial(_spreads, formula, asked, of_table, numbers)
    stepwise = None
    if sums is not None:
        stepwise = _stepwise_parts(of_table, tuple(zip(numbers, limits, strict=True)), Spread(spreads), sums)
        # Added up before anybody is drawn: what is exact of the table stays so, and sums of it have the draw's own law.
        spreads = partial(_added_spreads, spreads, of_table, sums)
        of_table = of_table.linear(sums)
        shared = None if shared is None else sums @ shared @ sums.T
        sure = np.asarray((sums @ ~sure == 0) & (sums.sum(axis=1) == 1))
        limits, numbers, wholes = [], [], np.full(len(sums), np.inf)
    found, rows = of_table, math.inf
    if target == "population":
        # Not asked for otherwise: a release may not say it.
        rows = max(formula.number_of_rows, 1.0)
        found = for_population(of_table, formula.number_of_rows, shared, sure & of_table.is_exact)
        spreads = partial(_drawn_spreads, spreads, of_table, found, rows)
    spread = Spread(spreads)
    is_drawn = (of_table.certainty >= Certainty.BOUNDED) & (found.certainty == Certainty.ESTIMATED)
    known = tuple(zip(numbers, limits, strict=True))
    ends = IntervalEnds(
        found.values,
        spread,
        found.fourth_cumulants,
        known,
        is_drawn,
        *of_table.ends(),
        rows,
        wholes,
        stepwise,
    )
    return replace(found, limits=ends, skews=Skews(spread, found.variances))


def without_errors(estimates: Estimates) -> Estimates:
    """The same numbers of a biased estimator: how far it is off is not known, so they have no error and no interval."""
    variances = np.where(estimates.is_exact, 0.0, np.nan)
    return replace(estimates, variances=variances, covariance=None, limits=None, skews=None, leeway=None)


def for_population(
    estimates: Estimates,
    number_of_rows: float,
    shared: Floats | None = None,
    is_sure: Booleans | None = None,
) -> Estimates:
    """The same numbers for a population that the table was drawn from: the error of the draw added.

    Parameters
    ----------
    estimates
        Of the table's own counts.
    number_of_rows
        N, of the table.
    shared
        ``(n, n)``, estimated rows that are in both of two cells; cells do not overlap when not given.
    is_sure
        ``(n,)``, which numbers every table of so many rows has, such as the rows themselves.

    Notes
    -----
    A draw of N rows has the covariance ``N (p_both - p p')``. With unbiased estimates x of the table's counts
    and an unbiased covariance C of their errors, ``x x' - C`` is unbiased for the product of the table's
    counts, and ``(x_both - (x x' - C) / N) N / (N - 1)`` for the covariance of the draw (Guo 2010, S1 beside
    S2). Noise can make a count, and with it the variance of its draw, negative: then none is added to the
    variance of the count itself, while the covariance stays unbiased, for sums. What is exact for a table is
    an estimate for a population, and not known to less than the draw of one row, even where none was drawn. What is
    bounded keeps its bounds as leeway beside the error of the draw.
    """
    rows = max(number_of_rows, 1.0)
    inflate = rows / max(rows - 1, 1.0)
    values, variances = estimates.values, estimates.variances
    one_row = rows / (rows + 2) * (1 - 1 / (rows + 2))
    drawn = np.clip((values - (values**2 - variances) / rows) * inflate, 0, None)
    found = np.maximum(variances + drawn, one_row)
    is_open = estimates.certainty == Certainty.OPEN
    sure = np.zeros(values.size, bool) if is_sure is None else is_sure
    unsure = np.where(is_open, Certainty.OPEN, Certainty.ESTIMATED)
    claims = np.where(sure, Certainty.EXACT, unsure).astype(np.int8)
    found = np.where(sure, 0.0, found)
    left_open, leeway = _drawn_too(estimates, rows), _leeway(estimates)
    if estimates.covariance is None:
        lone = Estimates(
            values, found, certainty=claims, fourth_cumulants=estimates.fourth_cumulants, leeway=leeway
        )
        return lone.open_between(left_open)
    both = np.diag(values) if shared is None else shared
    drawing = (both - (np.outer(values, values) - estimates.covariance) / rows) * inflate
    drawn_too = Estimates(
        values,
        found,
        estimates.covariance + drawing,
        certainty=claims,
        fourth_cumulants=estimates.fourth_cumulants,
        leeway=leeway,
    )
    return drawn_too.open_between(left_open)


def _drawn_too(estimates: Estimates, rows: float) -> LeftOut | Ends | None:
    """What is left open of numbers of a population: the draw varies most for the number nearest to one half."""
    if estimates.left_open is None:
        return None
    ends = estimates.left_open.of(estimates.values)
    halfway = np.clip(rows / 2, ends.low, ends.high)
    # Of nobody or of all, and beyond, there is nothing to draw.
    return estimates.left_open.more_uncertain(np.maximum(halfway * (1 - halfway / rows), 1.0))


def _leeway(estimates: Estimates) -> tuple[Floats, Floats] | None:
    """How far the table's own counts may be from estimates that rest on an assumption: to their bounds."""
    is_bounded = estimates.certainty == Certainty.BOUNDED
    if not is_bounded.any():
        return None
    low, high = estimates.ends()
    return np.where(is_bounded, estimates.values - low, 0.0), np.where(
        is_bounded, high - estimates.values, 0.0
    )


def _whole(asked: Sequence[Tabulation], entry: Callable[[Tabulation, Tabulation], Floats]) -> Floats:
    """A square matrix over all cells of a question, put together from pairs of its tabulations."""
    if len(asked) == 1:
        return entry(asked[0], asked[0])
    result = np.empty(2 * (len(asked),))
    for i, j in itertools.combinations_with_replacement(range(len(asked)), 2):
        result[i, j] = result[j, i] = entry(asked[i], asked[j]).item()
    return result


def _spreads(
    formula: Formula, asked: Sequence[Tabulation], found: Estimates, numbers: Sequence[int]
) -> tuple[Floats, Floats]:
    """Of all cells, one tabulation after the other; the stated variances, which do not change, where there is none."""
    variances, slopes = found.variances.copy(), np.zeros(found.values.size)
    for last, number, each in zip(np.cumsum(numbers), numbers, asked, strict=True):
        spread = formula.spread(each)
        if spread is not None:
            place = slice(last - number, last)
            # What is not exact has an interval of some width, whatever a law computes.
            variances[place] = np.where(spread[0] > 0, spread[0], variances[place])
            slopes[place] = spread[1]
    return variances, slopes


def _fourth_cumulants(formula: Formula, asked: Sequence[Tabulation], numbers: Sequence[int]) -> Floats | None:
    """Of all cells, one tabulation after the other; None where there are none."""
    found = [formula.fourth_cumulants(each) for each in asked]
    return None if all(each is None for each in found) else _laid_out(found, numbers, 0.0)


def _laid_out(parts: Sequence[Floats | None], numbers: Sequence[int], otherwise: float) -> Floats:
    """What is said of the cells of each tabulation, one after the other, or of each of them the same where nothing is."""
    return _joined(
        [
            np.full(number, otherwise) if each is None else each
            for number, each in zip(numbers, parts, strict=True)
        ]
    )


def _added_spreads(
    spreads: Callable[[], tuple[Floats, Floats]], of_table: Estimates, sums: Floats
) -> tuple[Floats, Floats]:
    """The same of sums of cells: a row more is in one of a sum's cells, whichever."""
    variances, slopes = spreads()
    added = of_table.linear(sums).variances + sums @ (variances - of_table.variances)
    return added, sums @ slopes / sums.sum(axis=1)


def _drawn_spreads(
    spreads: Callable[[], tuple[Floats, Floats]], of_table: Estimates, found: Estimates, rows: float
) -> tuple[Floats, Floats]:
    """The same about a population: the draw adds N p (1 - p)."""
    variances, slopes = spreads()
    return variances + found.variances - of_table.variances, slopes + 1 - 2 * found.values / rows


def _stepwise_parts(
    of_table: Estimates, known: Sequence[tuple[int, Limits | None]], spread: Spread, sums: Floats
) -> Terms | None:
    """What is added up, where some of it takes few values."""
    if not any(isinstance(each, FewSteps) for _, each in known):
        return None
    nothing = np.full(of_table.values.size, np.inf)
    ends = IntervalEnds(
        of_table.values,
        spread,
        of_table.fourth_cumulants,
        known,
        nothing < 0,
        -nothing,
        nothing,
        math.inf,
        nothing,
    )
    return Terms(replace(of_table, limits=ends), sums)


def _joined(parts: Sequence[Floats]) -> Floats:
    return parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0), *parts])


def _cells(formula: Formula, asked: Tabulation) -> Estimates:
    """Everything that a formula says of one tabulation's cells by themselves."""
    values = formula.values(asked)
    certainty = formula.certainty(asked, values.size)
    if _is_impossible(asked):
        certainty = all_claim(Certainty.EXACT, values.size)
    stated = formula.variances(asked)
    # Whatever a law computes, a number that it does not call exact is not known to less than a row.
    unsure = np.where(stated == 0, LEAST_VARIANCE, stated)
    variances = np.where(certainty == Certainty.EXACT, 0.0, unsure)
    return Estimates(values, variances, bounds=formula.bounds(asked), certainty=certainty)


def _is_impossible(asked: Tabulation) -> bool:
    """Whether a condition leaves no category: the answer is no row, whatever was published."""
    return any(not codes for _, codes in asked.where.conditions)


def _is_of_every_table(asked: Tabulation) -> bool:
    """Whether every table of so many rows has the same number: all its rows, or none."""
    return not (asked.by or asked.where.names) or _is_impossible(asked)
