"""Questions that every design is asked, made from the schema and a seed alone, and how wrong the answers are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.data.coded_rows import CodedRows
from sfumato.errors import ParameterError, SfumatoError
from sfumato.release import Release
from sfumato.values.schema import Role, Schema
from sfumato.values.selection import Selection

SANITY_SHARE = 0.005
"""Share of all rows below which a true count is not divided by itself."""

SHARE_EDGES = (0.001, 0.01)
"""True shares of the rows between which errors are averaged apart: most cells are small, and would hide the others."""

MOST_ATTRIBUTES = 3
"""Attributes of a question at most."""


@dataclass(frozen=True)
class Question:
    """How many rows have some categories.

    Parameters
    ----------
    stratum
        Number of attributes, and whether the sensitive one is among them.
    where
        The conditions.
    """

    stratum: str
    where: Selection


@dataclass(frozen=True)
class Errors:
    """How wrong the answers to a workload are.

    Parameters
    ----------
    error
        Mean of ``min(1, |answer - truth| / max(truth, 0.5 % of the rows))``, equally over kinds of questions and sizes of
        the truth; what is refused counts 1.
    refused, covered
        Shares of questions that are refused, and of answered ones whose 95 % interval holds the truth.
    """

    error: float
    refused: float
    covered: float


def make_workload(schema: Schema, number: int, seed: int) -> tuple[Question, ...]:
    """So many questions, as many of each kind: one to three attributes, with and without the sensitive one.

    Examples
    --------
    >>> from sfumato.testing.sample import SAMPLE_SCHEMA
    >>> len(make_workload(SAMPLE_SCHEMA, 12, 1)), make_workload(SAMPLE_SCHEMA, 12, 1) == make_workload(SAMPLE_SCHEMA, 12, 1)
    (12, True)
    """
    public = [each for each in schema.publishable.attributes if each.role is not Role.SENSITIVE]
    sensitive = list(schema.publishable.with_role(Role.SENSITIVE))
    kinds = [
        (size, has_sensitive)
        for size in range(1, MOST_ATTRIBUTES + 1)
        for has_sensitive in (False, True)
        if size - has_sensitive <= len(public) and (sensitive or not has_sensitive)
    ]
    if not kinds or number < len(kinds):
        raise ParameterError(
            f"a workload of {number} questions cannot hold one of each kind. Ask for at least {max(len(kinds), 1)}.",
            parameter="queries",
        )
    generator = np.random.default_rng(seed)
    found = []
    for place in range(number):
        size, has_sensitive = kinds[place % len(kinds)]
        chosen = [public[each] for each in generator.permutation(len(public))[: size - has_sensitive]]
        chosen += [sensitive[int(generator.integers(len(sensitive)))]] if has_sensitive else []
        where = Selection(tuple((each.name, (int(generator.integers(each.size)),)) for each in chosen))
        found.append(Question(f"{size} attributes{', one sensitive' if has_sensitive else ''}", where))
    return tuple(found)


def measure_errors(release: Release, rows: CodedRows, questions: tuple[Question, ...]) -> Errors:
    """Ask a release everything, and hold the answers against the rows it was made from."""
    number = rows.number_of_rows
    cells: dict[tuple[str, int], list[float]] = {}
    refused, covered, answered = 0, 0, 0
    for each in questions:
        truth = _true_count(rows, each.where)
        place = (each.stratum, int(np.searchsorted(SHARE_EDGES, truth / number)))
        try:
            found = release.law.estimate_selections(release, [each.where])
            low, high = (float(end[0]) for end in found.intervals(0.95))
            error = min(1.0, abs(float(found.values[0]) - truth) / max(truth, SANITY_SHARE * number))
        except SfumatoError:
            refused += 1
            cells.setdefault(place, []).append(1.0)
            continue
        answered += 1
        covered += low - 1e-9 <= truth <= high + 1e-9
        cells.setdefault(place, []).append(error if np.isfinite(error) else 1.0)
    mean = float(np.mean([np.mean(each) for each in cells.values()]))
    return Errors(mean, refused / len(questions), covered / answered if answered else float("nan"))


def _true_count(rows: CodedRows, where: Selection) -> int:
    inside = np.ones(rows.number_of_rows, bool)
    for name, codes in where.conditions:
        inside &= np.isin(rows.codes[name], codes)
    return int(inside.sum())
