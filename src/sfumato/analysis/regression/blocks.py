"""A regression from several smaller tables, where no table of all its attributes is published."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.analysis.regression.design import Codes, Response, build_columns, describe_cell
from sfumato.analysis.regression.formula import Formula
from sfumato.analysis.regression.glm import FAMILIES, GeneralizedLinearModel, Words
from sfumato.errors import NotIdentifiableError, QueryError
from sfumato.release.release import Release
from sfumato.values.arrays import Floats, Integers
from sfumato.values.estimates import Estimates
from sfumato.values.predicate import Predicate
from sfumato.values.schema import Schema
from sfumato.values.selection import Selection

MOST_CELLS = 400
"""Of all tables together; the covariance between them is asked for pair by pair."""

FROM_BLOCKS = "no table of all the attributes is published: it is fitted from those of each term with the response and that of the covariates"
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
    release: Release, formula: Formula, response: Response, words: str, *, where: str = ""
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
    tables = [
        *(tuple(dict.fromkeys((*(each.name for each in term), *response.names))) for term in formula.terms),
        formula.names,
    ]
    if sum(math.prod(schema[name].size for name in each) for each in tables) > MOST_CELLS:
        return None
    codes = [_cells(each, schema) for each in tables]
    try:
        among = Predicate.parse(where, schema).single()
        asked = [each for block in codes for each in _selections(block, among)]
        counts = release.law.estimate_selections(release, asked)
    except (NotIdentifiableError, QueryError):
        return None
    if counts.covariance is None or np.isnan(counts.covariance).any():
        return None
    return _model(formula, response, schema, codes, counts, words)


def _cells(names: Sequence[str], schema: Schema) -> Mapping[str, Integers]:
    grid = np.indices([schema[name].size for name in names]).reshape(len(names), -1)
    return dict(zip(names, grid, strict=True))


def _selections(codes: Codes, among: Selection) -> list[Selection]:
    names = list(codes)
    rows = zip(*(codes[name].tolist() for name in names), strict=True)
    return [
        Selection(tuple((name, (code,)) for name, code in zip(names, row, strict=True))) & among
        for row in rows
    ]


def _model(
    formula: Formula,
    response: Response,
    schema: Schema,
    codes: Sequence[Codes],
    counts: Estimates,
    words: str,
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
