"""Fitting a regression to the estimated counts of a release."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal, get_args

import numpy as np

from sfumato.analysis.asking import Countable, ask_sums, keep_cells
from sfumato.analysis.regression.design import (
    Codes,
    Columns,
    Response,
    build_columns,
    describe_cell,
    read_response,
    stated_cells,
)
from sfumato.analysis.regression.formula import read_formula
from sfumato.analysis.regression.glm import FAMILIES, FamilyName, GeneralizedLinearModel, Words
from sfumato.analysis.regression.result import Coefficient, Regression
from sfumato.analysis.routine import Root, solve
from sfumato.analysis.score_interval import score_interval
from sfumato.errors import ParameterError, QueryError
from sfumato.laws import Target
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
    cells = ask_sums(release, (*read.names, *response.names), where=where)
    stated = stated_cells(read, response, release.schema, cells.codes)
    counts = cells.estimates if stated.all() else keep_cells(cells.estimates, stated)
    # What occurs is kept in its place and weighs nothing; of a whole table, what is not stated is gone.
    gone = counts.values.size < stated.size
    codes = {name: each[stated] if gone else each for name, each in cells.codes.items()}
    describe = partial(describe_cell, read.names, release.schema, codes)
    columns = build_columns(read, release.schema, codes)
    model = _model(columns, response, codes, describe)
    root = solve(model, counts, np.zeros(len(model.words.terms)), target)
    return Regression(
        formula,
        (read, release.schema, response),
        _coefficients(model, counts, root, response, interval, confidence_level, target),
        root.estimates,
        tuple(term for _ in response.categories for term in columns.terms),
        target,
        interval,
        confidence_level,
        root.strength,
        root.steps,
        cells.source.method,
        cells.source.law,
        (*cells.notes, *_notes(root, response, interval, is_whole=bool(stated.all()))),
    )


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
    kind = "share" if response.is_share else "mean"
    words = Words(terms, describe, f"the {kind} of {response.categories[0] or response.text}")
    return GeneralizedLinearModel.of_joint(
        FAMILIES[response.family], columns.values, response.outcomes(codes), words
    )


def _coefficients(
    model: GeneralizedLinearModel,
    counts: Estimates,
    root: Root,
    response: Response,
    interval: CoefficientInterval,
    confidence_level: float,
    target: Target,
) -> tuple[Coefficient, ...]:
    estimates = root.estimates
    ends = list(zip(*estimates.intervals(confidence_level), strict=True))
    if interval == "score":
        ends = [
            score_interval(model, counts, root, place, target, confidence_level) for place in range(len(ends))
        ]
    width = len(ends) // len(response.categories)
    categories = [each for each in response.categories for _ in range(width)]
    rows = zip(model.words.terms, categories, estimates.values, estimates.standard_errors, ends, strict=True)
    return tuple(
        Coefficient(term, category, float(value), float(error), float(low), float(high))
        for term, category, value, error, (low, high) in rows
    )


def _notes(
    root: Root, response: Response, interval: CoefficientInterval, *, is_whole: bool
) -> tuple[str, ...]:
    notes = []
    if response.is_share and interval == "normal" and root.estimates.standard_errors.max() > LARGE_ERROR:
        notes.append(
            f"a standard error exceeds {LARGE_ERROR:g}: normal intervals are too wide there (they cover 97 to 100 %); "
            "interval='score' is dependable"
        )
    if not is_whole:
        notes.append("rows without a value of the response or of a score are left out")
    return tuple(notes)
