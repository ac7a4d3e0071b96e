"""How two attributes go together when a third is held fixed: partial correlation through the law."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sfumato.analysis.asking import Countable, ask_classes
from sfumato.analysis.classification import Classification
from sfumato.analysis.differentiation import differentiate
from sfumato.analysis.numbers import WHOLE_RANGE, NumberEstimate
from sfumato.analysis.routine import carry
from sfumato.analysis.within_bounds import beyond_box, claim_of, note_of_bounds
from sfumato.errors import NoSolutionError, QueryError
from sfumato.laws import Target


def partial_correlation(
    release: Countable,
    first: str,
    second: str,
    *,
    given: str,
    where: str = "",
    confidence_level: float = 0.95,
    target: Target = "table",
) -> NumberEstimate:
    """Correlation of two binary attributes or conditions with what a third explains taken out.

    Parameters
    ----------
    release
        What is asked; any of the three may be perturbed.
    first, second, given
        Attributes of two categories, or conditions of the query language.
    where, confidence_level, target
        As for any question.

    Raises
    ------
    QueryError
        When an attribute has more than two categories, or one is named twice.
    NoSolutionError
        When a margin is not estimated as positive, or one attribute determines another.

    Notes
    -----
    ``(r_ab - r_ac r_bc) / sqrt((1 - r_ac^2)(1 - r_bc^2))`` with the phi coefficients of the three pairs (Guo 2010, eq. 4.5).
    """
    sides = [Classification.parse(each, release.schema) for each in (first, second, given)]
    for each in sides:
        if len(each.labels) != 2:
            raise QueryError(
                f"a partial correlation is of attributes with two categories, and {each.text!r} has {len(each.labels)}. Write a condition "
                "such as \"job = 'Sales'\"."
            )
    names = [name for each in sides for name in each.names]
    if len(set(names)) < len(names):
        raise QueryError("each of the three attributes of a partial correlation is named once. Name others.")
    cells = ask_classes(release, sides, where=where)
    counts = cells.estimates
    value = _partial(counts.values)
    if value is None:
        raise NoSolutionError(
            "the partial correlation is not defined: a margin is not estimated as positive, or one of the attributes determines "
            "another. Ask about conditions that more rows satisfy.",
            reason="undefined",
        )
    found = carry(np.array([value]), differentiate(_formula, counts.values)[None, :], counts, target)
    least, most = found.intervals(confidence_level)
    low, high = beyond_box((float(least[0]), float(most[0])), value, _formula, counts, cells.rows, target)
    ends = float(np.clip(low, -1, 1)), float(np.clip(high, -1, 1))
    return NumberEstimate(
        f"correlation of {sides[0].text} and {sides[1].text} given {sides[2].text}",
        value,
        float(found.standard_errors[0]),
        *ends,
        confidence_level,
        cells.source.method,
        cells.source.law,
        target,
        notes=(*cells.notes, *note_of_bounds(counts), *([WHOLE_RANGE] if ends == (-1, 1) else [])),
        certainty=claim_of(counts, target),
    )


def _phi(pair: Any) -> Any:
    rows, columns = pair.sum(axis=1), pair.sum(axis=0)
    spread = rows[0] * rows[1] * columns[0] * columns[1]
    return (pair[1, 1] * pair[0, 0] - pair[0, 1] * pair[1, 0]) / np.sqrt(spread)


def _formula(counts: Any) -> Any:
    table = counts.reshape(2, 2, 2)
    ab, ac, bc = (_phi(table.sum(axis=axis)) for axis in (2, 1, 0))
    return (ab - ac * bc) / np.sqrt((1 - ac**2) * (1 - bc**2))


def _partial(counts: Any) -> float | None:
    table = counts.reshape(2, 2, 2)
    if any((table.sum(axis=axes) <= 0).any() for axes in ((1, 2), (0, 2), (0, 1))):
        return None
    with np.errstate(invalid="ignore", divide="ignore"):
        value = float(_formula(counts))
    return value if math.isfinite(value) else None
