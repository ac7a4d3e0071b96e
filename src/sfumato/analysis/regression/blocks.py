"""A regression from several smaller tables, where no table of all its attributes is published."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.analysis.regression.design import Codes, Response, build_columns, describe_cell
from sfumato.analysis.regression.formula import Formula, Term
from sfumato.analysis.regression.glm import FAMILIES, GeneralizedLinearModel, Words
from sfumato.errors import NotIdentifiableError, QueryError, TooLargeError
from sfumato.release.release import Release
from sfumato.values.arrays import Floats, Integers
from sfumato.values.certainty import Certainty
from sfumato.values.estimates import Estimates
from sfumato.values.occupied_estimates import EstimatesBesideKnown
from sfumato.values.predicate import Predicate
from sfumato.values.schema import Schema
from sfumato.values.selection import Selection

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
    return _model(formula, response, schema, codes, counts, words)


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


def _model(
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
