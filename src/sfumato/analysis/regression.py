"""Regression through the law: perturbed response, perturbed covariates, or both."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, get_args

import numpy as np

from sfumato.analysis.counts import CellCounts, Countable, Source, ask_sums, keep_cells
from sfumato.analysis.equations import EXACT, Root, find_root, score_interval, solve
from sfumato.analysis.formulas import (
    FAMILIES,
    SHOWN,
    Codes,
    Coefficient,
    Columns,
    FamilyName,
    Fitted,
    Formula,
    GeneralizedLinearModel,
    Response,
    Term,
    Words,
    build_columns,
    describe_cell,
    read_formula,
    read_response,
    stated_cells,
)
from sfumato.analysis.identified_sets import (
    UNBOUNDED,
    At,
    Room,
    are_loose,
    beyond,
    claim_of,
    note_of_bounds,
    ranges,
)
from sfumato.analysis.moments import WHOLE_RANGE, NumberEstimate
from sfumato.arrays import Floats, Integers
from sfumato.errors import NotIdentifiableError, ParameterError, QueryError, TooLargeError, nearest
from sfumato.estimates.estimates import Certainty, Estimates, EstimatesBesideKnown, normal_quantile
from sfumato.estimates.intervals import combined_ends
from sfumato.laws import Target, refuse_target
from sfumato.query.selection import Predicate, Selection
from sfumato.release.release import Release
from sfumato.results import ResultTable
from sfumato.schema import Schema
from sfumato.text import percent_as_stated

# --------------------------------------------------------------------------------------------------
# A regression from several smaller tables, where no table of all its attributes is published.


MOST_CELLS = 400
"""Of all tables together; the covariance between them is asked for pair by pair."""

MOST_KNOWN_CELLS = 1_000_000
"""Of the covariates' table, where it is known exactly and needs no covariance."""

FROM_BLOCKS = "no table of all the attributes is published, or it is too large: it is fitted from those of each term with the response and that of the covariates"
MODEL_BASED = "the error of drawing the rows is the model's own, right where the model is"


@dataclass(frozen=True, eq=False)
class Blocks:
    """What a fit needs: counts of all tables one after the other, and the model on them.

    Parameters
    ----------
    counts
        With the covariance between tables.
    model
        Scores by cell: tables with the response tell the sums of response times term, that of the covariates the rest.
    terms
        Term of each column, as written.
    """

    counts: Estimates
    model: GeneralizedLinearModel
    terms: tuple[str, ...]


def ask_blocks(
    release: Release, formula: Formula, response: Response, words: tuple[str, ...], *, where: str = ""
) -> Blocks | None:
    """Counts of each term with the response, and of the covariates; None where they would not do.

    For a canonical link the scores are ``sum x y - sum x mean(x)``: the first sum needs each term with the response, the second
    the covariates alone. Rows without a value cannot be left out of some tables and not of others, so attributes
    that may lack one are not fitted this way.
    """
    schema = release.schema
    needed = {*response.names, *(each.name for term in formula.terms for each in term if each.is_score)}
    if len(formula.terms) < 2 or any(schema[name].missing_code is not None for name in needed):
        return None
    alike = _alike(response, schema)
    tables = [_response_cells(term, response, schema, alike) for term in formula.terms]
    told = sum(next(iter(each.values())).size for each in tables)
    covariates = math.prod(schema[name].size for name in formula.names)
    if told > MOST_CELLS:
        return None
    try:
        among = Predicate.parse(where, schema).single()
        known = _known_cells(release, formula.names, where) if told + covariates > MOST_CELLS else None
        if told + covariates > MOST_CELLS and known is None:
            return None
        codes = tables if known else [*tables, _cells(formula.names, schema)]
        asked = [each for block in codes for each in _selections(block, among, alike)]
        counts = release.law.estimate_selections(release, asked)
    except (NotIdentifiableError, QueryError, TooLargeError):
        return None
    if counts.covariance is None or np.isnan(counts.covariance).any():
        return None
    if known is not None:
        codes = [*codes, known[0]]
        counts = EstimatesBesideKnown.of(counts, known[1])
    return _model_of_blocks(formula, response, schema, codes, counts, words)


def _known_cells(release: Release, names: Sequence[str], where: str) -> tuple[Codes, Floats] | None:
    """Combinations of covariates that occur, with their rows; None where a law does not know them, or they are too many.

    What is bounded is known to the few rows that were left out, where estimates assume nothing.
    """
    if math.prod(release.schema[name].size for name in names) > MOST_KNOWN_CELLS:
        return None
    table = release.counts(names, where=where)
    needed = Certainty.BOUNDED if table.estimator.startswith("unbiased") else Certainty.EXACT
    if (table.estimates.certainty < needed).any():
        return None
    occurs = np.flatnonzero(table.estimates.values)
    grid = np.meshgrid(*(np.array(each) for each in table.codes), indexing="ij")
    codes = {each.name: axis.ravel()[occurs] for each, axis in zip(table.attributes, grid, strict=True)}
    return codes, table.estimates.values[occurs]


def _cells(names: Sequence[str], schema: Schema) -> Mapping[str, Integers]:
    grid = np.indices([schema[name].size for name in names]).reshape(len(names), -1)
    return dict(zip(names, grid, strict=True))


def _alike(response: Response, schema: Schema) -> Mapping[str, Mapping[int, tuple[int, ...]]]:
    """By the response's attribute, where it is one: of codes with the same outcome the first, with all of them; none of outcome zero."""
    if len(response.names) != 1:
        return {}
    (name,) = response.names
    every = np.arange(schema[name].size)
    outcomes, own = np.unique(response.outcomes({name: every}), axis=0, return_inverse=True)
    classes = (
        tuple(np.flatnonzero(own.ravel() == place).tolist()) for place in np.flatnonzero(outcomes.any(axis=1))
    )
    return {name: {each[0]: each for each in classes}}


def _response_cells(
    term: Term, response: Response, schema: Schema, alike: Mapping[str, Mapping[int, tuple[int, ...]]]
) -> Codes:
    """Cells of a term with the response, without those that add nothing; codes of one outcome are one."""
    names = tuple(dict.fromkeys((*(each.name for each in term), *response.names)))
    whole = _cells(names, schema)
    kept = np.logical_and.reduce([np.isin(whole[name], list(first)) for name, first in alike.items()])
    return {name: each[np.broadcast_to(kept, each.shape)] for name, each in whole.items()}


def _selections(
    codes: Codes, among: Selection, alike: Mapping[str, Mapping[int, tuple[int, ...]]]
) -> list[Selection]:
    names = list(codes)
    rows = zip(*(codes[name].tolist() for name in names), strict=True)
    return [
        Selection(
            tuple(
                (name, alike.get(name, {}).get(code, (code,))) for name, code in zip(names, row, strict=True)
            )
        )
        & among
        for row in rows
    ]


def _model_of_blocks(
    formula: Formula,
    response: Response,
    schema: Schema,
    codes: Sequence[Codes],
    counts: Estimates,
    words: tuple[str, ...],
) -> Blocks:
    *with_response, covariates = codes
    columns = build_columns(formula, schema, covariates)
    sums = [
        _response_sums(formula, place, response, schema, own, columns.terms)
        for place, own in enumerate(with_response)
    ]
    before = sum(each.shape[1] for each in sums)
    rows, width = columns.values.shape
    design = np.vstack([np.zeros((before, width)), columns.values])
    total = len(response.categories) * width
    model = GeneralizedLinearModel(
        FAMILIES[response.family],
        design,
        np.hstack([*sums, np.zeros((total, rows))]),
        Words(
            tuple(itertools.chain.from_iterable(columns.names for _ in response.categories)),
            lambda place: describe_cell(formula.names, schema, covariates, max(place - before, 0)),
            words,
        ),
        _squares(formula, response, with_response, rows) if response.family == "linear" else None,
    )
    return Blocks(counts, model, columns.terms)


def _response_sums(
    formula: Formula, place: int, response: Response, schema: Schema, codes: Codes, terms: Sequence[str]
) -> Floats:
    """What a row of each cell of one term's table adds to the sums of response times column, ``(p, cells)``.

    Every table tells the sum of the response itself; the mean of what they say is taken.
    """
    own = build_columns(Formula("", (formula.terms[place],)), schema, codes)
    outcomes = response.outcomes(codes)
    width = len(terms)
    sums = np.zeros((outcomes.shape[1], width, len(outcomes)))
    sums[:, 0] = outcomes.T / len(formula.terms)
    places = [column for column, term in enumerate(terms) if term == own.terms[1]]
    sums[:, places] = outcomes.T[:, None, :] * own.values[:, 1:].T[None]
    return sums.reshape(-1, len(outcomes))


def _squares(formula: Formula, response: Response, with_response: Sequence[Codes], rows: int) -> Floats:
    """What a row of each cell adds to the sum of the response's squares: every table tells it, and the mean is taken."""
    told = [np.square(response.outcomes(own)).sum(axis=1) / len(formula.terms) for own in with_response]
    return np.concatenate([*told, np.zeros(rows)])


# --------------------------------------------------------------------------------------------------
# A fitted regression.


ALL_ALIKE = "all rows drawn with these covariates are alike: what others of the population may be, the release does not tell"
"""What is said of a prediction that varies with nothing: nobody knows how far it may be from the population's."""


@dataclass(frozen=True)
class TermTest:
    """Whether all coefficients of a term could be zero: a Wald test about the population."""

    term: str
    statistic: float
    degrees: int
    p_value: float


@dataclass(frozen=True, eq=False)
class Regression(Fitted):
    """A regression fitted through the law of a release.

    Parameters
    ----------
    formula
        As it was asked.
    model
        Formula, schema and response as read.
    coefficients
        In the order of the formula; for several categories of the response, those of the first come first.
    estimates
        The coefficients with their covariance.
    terms
        Term of each coefficient, as written.
    strength
        Standard errors by which the information differs from zero where it does least.
    steps
        Newton steps taken.
    is_within_bounds, is_assumed
        Whether counts behind it are known within bounds only, and whether the estimates then rest on an assumption.
    """

    formula: str
    model: tuple[Formula, Schema, Response]
    coefficients: tuple[Coefficient, ...]
    estimates: Estimates
    terms: tuple[str, ...]
    target: Target
    interval: str
    confidence_level: float
    strength: float
    steps: int
    method: str
    law: str
    notes: tuple[str, ...] = ()
    is_within_bounds: bool = False
    is_assumed: bool = False

    @property
    def family(self) -> str:
        """logistic, multinomial, poisson or linear."""
        return self.model[2].family

    @property
    def covariance(self) -> Floats:
        """Of the coefficients, ``(p, p)``."""
        assert self.estimates.covariance is not None
        return self.estimates.covariance

    def __repr__(self) -> str:
        number = len(self.coefficients)
        return f"Regression({self.formula}: {self.family}, {number} coefficients, about the {self.target})"

    def summary(self) -> str:
        """A table for people."""
        has_categories = self.family == "multinomial"
        is_ratio = self.model[2].is_share
        rows = tuple(
            (
                *((each.category,) if has_categories else ()),
                *each.shown(),
                *((f"{math.exp(min(each.estimate, 700)):.4g}",) if is_ratio else ()),
            )
            for each in self.coefficients
        )
        columns = (
            *(("Category",) if has_categories else ()),
            *SHOWN,
            *(("Odds ratio",) if is_ratio else ()),
        )
        level = percent_as_stated(self.confidence_level)
        modelled = self.model[2].categories[0] if self.family == "logistic" else ""
        about = f" (of {modelled})" if modelled and modelled != self.model[2].text else ""
        title = f"{self.family} regression {self.formula}{about}, {level} {self.interval} intervals, about the {self.target}"
        table = ResultTable(title[0].upper() + title[1:], columns, rows).to_text()
        return "\n".join(
            [table, f"({self.method}, law {self.law})", *(f"Note: {each}" for each in self.notes)]
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as ``regression --json`` prints it; infinite ends are null there."""
        return {
            "formula": self.formula,
            "family": self.family,
            "target": self.target,
            "interval": self.interval,
            "confidence": self.confidence_level,
            "coefficients": [each.to_dict() for each in self.coefficients],
            "covariance": self.covariance.tolist(),
            "strength": self.strength,
            "steps": self.steps,
            "method": self.method,
            "law": self.law,
            "notes": list(self.notes),
        }

    def figure(self) -> dict[str, Any]:
        """A Vega-Lite chart of the coefficients, as plain data; ends that are infinite are not drawn."""
        return self.chart(title="coefficient", unit=self.formula)

    def test(self, term: str) -> TermTest:
        """Test whether all coefficients of a term are zero in the population.

        Raises
        ------
        ParameterError
            When the fit is about the table's own rows, in which nothing is exactly zero.
        NotIdentifiableError
            When its counts are known within bounds only, and its estimates rest on an assumption.
        """
        from scipy.stats import chi2

        if self.target != "population":
            raise ParameterError(
                "a test is about the population, and this fit is about the table's own rows. "
                'Fit again with target="population".',
                parameter="target",
            )
        if self.is_assumed:
            raise NotIdentifiableError(
                "a test of a term would not keep its level: counts behind it are known within bounds only, and the fit assumes what happened "
                "within. Read the ranges of the coefficients, which hold whatever the bounds allow."
            )
        chosen = [place for place, each in enumerate(self.terms) if each == term]
        if not chosen:
            raise QueryError(f"the formula has no term {term!r}; {nearest(term, dict.fromkeys(self.terms))}")
        values = self.estimates.values[chosen]
        statistic = float(values @ np.linalg.solve(self.covariance[np.ix_(chosen, chosen)], values))
        return TermTest(term, statistic, len(chosen), float(chi2.sf(statistic, len(chosen))))

    def predict(self, covariates: Mapping[str, str], *, category: str | None = None) -> NumberEstimate:
        """Mean or share of the response to expect of rows with given covariates.

        Parameters
        ----------
        covariates
            Category of each attribute of the formula's terms, by label.
        category
            Of a multinomial response; its second category when not given.
        """
        formula, schema, response = self.model
        unknown = [name for name in formula.names if name not in covariates]
        if unknown:
            raise QueryError(
                f"covariate {unknown[0]!r} is missing. Give a category for each of {', '.join(formula.names)}."
            )
        codes = {name: np.array([schema[name].code_of(covariates[name])]) for name in formula.names}
        row = build_columns(formula, schema, codes).values[0]
        place = response.categories.index(category) if category is not None else 0
        family = FAMILIES[response.family]
        predictors = self.estimates.values.reshape(-1, row.size) @ row
        value = float(family.mean(predictors[None, :])[0, place])
        gradient = np.kron(family.spread(predictors[None, :])[0, place], row)
        spread = Estimates(self.estimates.values, self.estimates.variances, self.covariance).linear(
            gradient[None, :]
        )
        error = float(spread.standard_errors[0])
        low, high = _ends(value, error, normal_quantile(self.confidence_level), is_share=response.is_share)
        if self.is_within_bounds:
            low, high = self._predicted_within(row, place)
        bounds = (
            (0.0, 1.0)
            if response.is_share
            else (0.0, math.inf)
            if response.family == "poisson"
            else (-math.inf, math.inf)
        )
        what = response.categories[place] or response.text
        ends = float(np.clip(low, *bounds)), float(np.clip(high, *bounds))
        notes = self.notes
        if self.target == "population" and error <= EXACT * max(abs(value), 1.0):
            ends, notes = bounds, (*notes, ALL_ALIKE)
        elif ends == bounds:
            notes = (*notes, WHOLE_RANGE)
        claim = min(each.certainty for each in self.coefficients)
        return NumberEstimate(
            f"{'share' if response.is_share else 'mean'} of {what} among "
            + (" and ".join(f"{name} = {covariates[name]!r}" for name in formula.names) or "all rows"),
            value,
            error,
            *ends,
            self.confidence_level,
            self.method,
            self.law,
            self.target,
            notes=notes,
            certainty=claim,
        )

    def _predicted_within(self, row: Floats, place: int) -> tuple[float, float]:
        """Ends of a prediction whose every coefficient lies within its range; a category's share falls with the predictors of others."""
        family = FAMILIES[self.model[2].family]
        ranges = np.array([(each.low, each.high) for each in self.coefficients]).T
        low, high = (
            each.ravel() for each in combined_ends(np.kron(np.eye(ranges.shape[1] // row.size), row), *ranges)
        )
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            return -math.inf, math.inf
        is_own = np.arange(low.size) == place
        return tuple(  # type: ignore[return-value]
            float(family.mean(np.where(is_own, own, others)[None, :])[0, place])
            for own, others in ((low, high), (high, low))
        )


def _ends(value: float, error: float, half_width: float, *, is_share: bool) -> tuple[float, float]:
    """Ends of the interval of a prediction; of a share as far as that of its log-odds, which leans away from none and from all.

    Where few of a group differ from the rest, the error of a share is small when fewer of them were drawn than are to be expected.

    Examples
    --------
    >>> [round(each, 3) for each in _ends(0.99, 0.01, 1.96, is_share=True)]
    [0.932, 1.01]
    """
    low, high = value - half_width * error, value + half_width * error
    if not is_share or not 0 < value < 1:
        return low, high
    odds, factor = value / (1 - value), math.exp(min(half_width * error / (value * (1 - value)), 700))
    least, most = odds / factor, odds * factor
    return min(low, least / (1 + least)), max(high, most / (1 + most))


# --------------------------------------------------------------------------------------------------
# Fitting a regression to the estimated counts of a release.


CoefficientInterval = Literal["normal", "score"]
LARGE_ERROR = 0.7
"""Standard error of a logit beyond which normal intervals are too wide."""


def regress(
    release: Countable,
    formula: str,
    *,
    family: FamilyName | None = None,
    where: str = "",
    interval: CoefficientInterval = "normal",
    confidence_level: float = 0.95,
    target: Target = "table",
) -> Regression:
    """Fit a regression through the law: response, covariates or both may be perturbed.

    Parameters
    ----------
    release
        What is asked.
    formula
        Such as ``"income ~ age + sex"``, ``"job IN ('Sales', 'Tech') ~ sex*score(age)"``.
    family
        ``"logistic"``, ``"multinomial"``, ``"poisson"`` or ``"linear"``; follows from the response when not given.
    where
        Only rows that satisfy these conditions.
    interval
        ``"normal"``, or ``"score"``, which keeps its level where the counts tell little; its ends may be infinite.
    confidence_level
        Of the intervals.
    target
        ``"table"``: the fit that the private table itself would give, with the error of publishing.
        ``"population"``: the coefficients behind the table, with robust standard errors.

    Raises
    ------
    NoSolutionError
        When the estimated counts determine no coefficients, with the reason.
    NotIdentifiableError
        When the release's law leaves the joint of the attributes open.

    Notes
    -----
    The sum of the scores over estimated counts is unbiased whatever cells are negative, so counts are never cut:
    a fit to cut counts is biased.
    """
    refuse_target(release, target)
    _refuse_wrong(family, interval)
    read = read_formula(formula, release.schema)
    response = read_response(read.response, release.schema, family)
    shared = set(read.names) & set(response.names)
    if shared:
        raise QueryError(
            f"attribute {min(shared)!r} stands on both sides of the formula. Leave it out of one."
        )
    try:
        prepared = _from_joint(release, read, response, where)
    except (NotIdentifiableError, TooLargeError):
        found = _from_blocks(release, read, response, where, target)
        if found is None:
            raise
        prepared = found
    model, counts = prepared.model, prepared.counts
    root = solve(model, counts, np.zeros(len(model.words.terms)), target, is_joint=prepared.is_joint)
    coefficients = _coefficients(prepared, root, response, interval, confidence_level, target)
    return Regression(
        formula,
        (read, release.schema, response),
        coefficients,
        root.estimates,
        tuple(term for _ in response.categories for term in prepared.terms),
        target,
        interval,
        confidence_level,
        root.strength,
        root.steps,
        prepared.source.method,
        prepared.source.law,
        (*prepared.notes, *_notes(root, response, coefficients, interval)),
        bool(are_loose(counts).any()),
        prepared.is_assumed,
    )


@dataclass(frozen=True, eq=False)
class _Prepared:
    """A model with the counts it is fitted to, and what must be said of them."""

    model: GeneralizedLinearModel
    counts: Estimates
    terms: tuple[str, ...]
    source: Source
    notes: tuple[str, ...]
    is_joint: bool = True
    rows: tuple[float, float] = UNBOUNDED

    @property
    def is_assumed(self) -> bool:
        """Whether the estimates rest on an assumption about counts within bounds."""
        return not self.source.estimator.startswith("unbiased") and bool(are_loose(self.counts).any())

    def at(self, start: Floats) -> At:
        """Coefficients of other counts, with their slopes; found from some to begin with."""
        size = self.counts.values.size
        without_error = np.zeros((size, size))

        def solved(place: Floats) -> tuple[Floats, Floats]:
            counts = Estimates(place, np.zeros(size), without_error)
            theta, _ = find_root(self.model, counts, start)
            try:
                slopes = np.linalg.solve(self.model.information(theta, place), self.model.scores(theta))
            except np.linalg.LinAlgError:
                slopes = np.full((theta.size, size), np.nan)
            return theta, np.asarray(slopes, dtype=np.float64)

        return solved


def _from_joint(release: Countable, formula: Formula, response: Response, where: str) -> _Prepared:
    """From the table of all attributes, or of what occurs of it."""
    cells = ask_sums(release, (*formula.names, *response.names), where=where)
    stated = stated_cells(formula, response, release.schema, cells.codes)
    counts = cells.estimates if stated.all() else keep_cells(cells.estimates, stated)
    # What occurs is kept in its place and weighs nothing; of a whole table, what is not stated is gone.
    gone = counts.values.size < stated.size
    codes = {name: each[stated] if gone else each for name, each in cells.codes.items()}
    columns = build_columns(formula, release.schema, codes)
    model = _model(columns, response, codes, partial(describe_cell, formula.names, release.schema, codes))
    left_out = () if stated.all() else ("rows without a value of the response or of a score are left out",)
    notes = (*cells.notes, *note_of_bounds(counts), *left_out)
    return _Prepared(model, counts, columns.terms, cells.source, notes, rows=cells.rows_of(stated))


def _from_blocks(
    release: Countable,
    formula: Formula,
    response: Response,
    where: str,
    target: Target,
) -> _Prepared | None:
    """From smaller tables; None where those would not do either."""
    if not isinstance(release, Release):
        return None
    found = ask_blocks(release, formula, response, _modelled(response), where=where)
    if found is None:
        return None
    # Any of the tables says how the release estimates.
    source = release.counts(formula.names[:1], where=where)
    about = (*CellCounts({}, found.counts, source).notes, *note_of_bounds(found.counts))
    notes = (*about, FROM_BLOCKS, *([MODEL_BASED] if target == "population" else []))
    return _Prepared(found.model, found.counts, found.terms, source, notes, is_joint=False)


def _refuse_wrong(family: str | None, interval: str) -> None:
    if family is not None and family not in FAMILIES:
        raise ParameterError(
            f"family must be one of {', '.join(FAMILIES)}, got {family!r}. Leave it out to let the response decide.",
            parameter="family",
        )
    if interval not in get_args(CoefficientInterval):
        raise ParameterError(
            f"interval must be one of {', '.join(get_args(CoefficientInterval))}, got {interval!r}.",
            parameter="interval",
        )


def _model(
    columns: Columns, response: Response, codes: Codes, describe: Callable[[int], str]
) -> GeneralizedLinearModel:
    terms = tuple(name for _ in response.categories for name in columns.names)
    words = Words(terms, describe, _modelled(response))
    return GeneralizedLinearModel.of_joint(
        FAMILIES[response.family], columns.values, response.outcomes(codes), words
    )


def _modelled(response: Response) -> tuple[str, ...]:
    kind = "share" if response.is_share else "mean"
    return tuple(f"the {kind} of {each or response.text}" for each in response.categories)


def _coefficients(
    prepared: _Prepared,
    root: Root,
    response: Response,
    interval: CoefficientInterval,
    confidence_level: float,
    target: Target,
) -> tuple[Coefficient, ...]:
    estimates, model, counts = root.estimates, prepared.model, prepared.counts
    ends = list(zip(*estimates.intervals(confidence_level), strict=True))
    if interval == "score":
        ends = [
            score_interval(model, counts, root, place, target, confidence_level, is_joint=prepared.is_joint)
            for place in range(len(ends))
        ]
    if are_loose(counts).any():
        room = Room.of(counts, prepared.rows)
        between = zip(*ranges(prepared.at(estimates.values), room, counts.values), strict=True)
        ends = [
            beyond(own, float(value), allowed, counts, target)
            for own, value, allowed in zip(ends, estimates.values, between, strict=True)
        ]
    claim = claim_of(counts, target)
    width = len(ends) // len(response.categories)
    categories = [each for each in response.categories for _ in range(width)]
    rows = zip(model.words.terms, categories, estimates.values, estimates.standard_errors, ends, strict=True)
    return tuple(
        Coefficient(term, category, float(value), float(error), float(low), float(high), claim)
        for term, category, value, error, (low, high) in rows
    )


def _notes(
    root: Root,
    response: Response,
    coefficients: tuple[Coefficient, ...],
    interval: CoefficientInterval,
) -> tuple[str, ...]:
    notes = []
    untold = [each.term for each in coefficients if math.isinf(each.low) and math.isinf(each.high)]
    if untold:
        notes.append(
            f"the interval of {' and '.join(untold)} is the whole range: the release does not tell it"
        )
    if response.is_share and interval == "normal" and root.estimates.standard_errors.max() > LARGE_ERROR:
        notes.append(
            f"a standard error exceeds {LARGE_ERROR:g}: normal intervals are too wide there (they cover 97 to 100 %); "
            "interval='score' is dependable"
        )
    return tuple(notes)
