"""Fitting a regression to the estimated counts of a release."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

import numpy as np

from sfumato.analysis.asking import CellCounts, Countable, Source, ask_sums, keep_cells
from sfumato.analysis.coefficients import Coefficient
from sfumato.analysis.regression.blocks import FROM_BLOCKS, MODEL_BASED, ask_blocks
from sfumato.analysis.regression.design import (
    Codes,
    Columns,
    Response,
    build_columns,
    describe_cell,
    read_response,
    stated_cells,
)
from sfumato.analysis.regression.formula import Formula, read_formula
from sfumato.analysis.regression.glm import FAMILIES, FamilyName, GeneralizedLinearModel, Words
from sfumato.analysis.regression.result import Regression
from sfumato.analysis.routine import Root, find_root, solve
from sfumato.analysis.score_interval import score_interval
from sfumato.analysis.within_bounds import (
    UNBOUNDED,
    At,
    Room,
    are_loose,
    beyond,
    claim_of,
    note_of_bounds,
    ranges,
)
from sfumato.errors import NotIdentifiableError, ParameterError, QueryError, TooLargeError
from sfumato.laws import Target
from sfumato.release.release import Release
from sfumato.values.arrays import Floats
from sfumato.values.estimates import Estimates

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
