"""Tables of estimates among rows that conditions choose, however these are joined."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from sfumato.errors import ParameterError, TooLargeError
from sfumato.laws import Law, Target
from sfumato.laws.base import Published
from sfumato.values.arrays import Floats
from sfumato.values.estimates import Estimates, known_bounds
from sfumato.values.feasibility import Feasibility
from sfumato.values.predicate import Predicate
from sfumato.values.schema import Schema
from sfumato.values.selection import Selection, Tabulation

LARGEST_WITH_COVARIANCE = 150
"""Parts of cells of which all pairs are looked at; above, each cell is asked for by itself."""

LARGEST_NUMBER_OF_PARTS = 5_000
"""Parts of cells that are asked for one by one."""


def axes_of(schema: Schema, by: str | Sequence[str]) -> tuple[str, ...]:
    """The names of the attributes to tabulate, one or several.

    Raises
    ------
    ParameterError
        When there is none, or one twice.
    """
    names = tuple(each.name for each in schema.select([by] if isinstance(by, str) else by))
    if not names or len(set(names)) != len(names):
        raise ParameterError(
            f"tabulate over one or more different attributes, got {', '.join(names) or 'none'}. "
            "Name each attribute once.",
            parameter="by",
        )
    return names


def remarks_on(law: Law, published: Published, where: Predicate, estimates: Estimates) -> tuple[str, ...]:
    """What a law says of its answer to one question; nothing of one that is exact.

    Remarks hold the unbiased estimate against its standard error. Other estimators have their own caveat.
    """
    if estimates.is_exact[0]:
        return ()
    return tuple(note for part in where.parts for note in law.notes(published, part, estimates))


def estimate_table(
    law: Law, published: Published, by: tuple[str, ...], where: Predicate, target: Target
) -> Estimates:
    """Estimates of the cells of a table among the rows chosen, in the order of its attributes.

    Where conditions choose rows in several ways that exclude each other, each cell is the sum over these.

    Raises
    ------
    TooLargeError
        When several ways and many cells are too many to ask for.
    """
    if len(where.parts) == 1:
        return law.estimate(published, Tabulation(by, where.single()), target=target)
    codes = [where.codes(law.question_schema(published.schema)[name]) for name in by]
    number = math.prod(map(len, codes)) * len(where.parts)
    if number > LARGEST_NUMBER_OF_PARTS:
        raise TooLargeError(
            f"a table of {number // len(where.parts):,} cells among rows chosen in {len(where.parts)} ways that exclude "
            f"each other takes {number:,} counts; {LARGEST_NUMBER_OF_PARTS:,} are asked for one by one. Tabulate fewer "
            "attributes, or ask without OR."
        )
    cells = [each & where for each in _cells(by, codes)]
    if number <= LARGEST_WITH_COVARIANCE:
        return law.estimate_predicates(published, cells, target=target)
    return _side_by_side([law.estimate_predicates(published, (each,), target=target) for each in cells])


def consistent_table(
    law: Law, published: Published, by: tuple[str, ...], where: Predicate, feasibility: Feasibility
) -> Estimates:
    """Consistent counts of the cells of a table, with the errors and intervals of the unbiased ones they came from."""
    tabulation = Tabulation(by, where.single())
    unbiased = law.estimate(published, tabulation)
    consistent = law.consistent(published, tabulation, feasibility=feasibility)

    limits = partial(_holding_both, unbiased, consistent)
    return replace(unbiased, values=consistent, covariance=None, limits=limits)


def _holding_both(unbiased: Estimates, consistent: Floats, level: float) -> tuple[Floats, Floats]:
    low, high = unbiased.intervals(level)
    # What is not exact is not known to less than a row.
    return np.minimum(low, consistent), np.maximum(high, consistent + 1)


def _cells(by: tuple[str, ...], codes: list[tuple[int, ...]]) -> Iterator[Predicate]:
    for cell in itertools.product(*codes):
        yield Predicate((Selection(tuple((name, (code,)) for name, code in zip(by, cell, strict=True))),))


def _side_by_side(parts: list[Estimates]) -> Estimates:
    """Estimates of one number each as estimates of many, without the covariance between them."""
    return Estimates(
        np.concatenate([each.values for each in parts]),
        np.concatenate([each.variances for each in parts]),
        bounds=known_bounds(*(np.concatenate([each.ends()[side] for each in parts]) for side in (0, 1))),
        certainty=np.concatenate([each.certainty for each in parts]),
        limits=partial(_ends_side_by_side, parts),
    )


def _ends_side_by_side(parts: list[Estimates], confidence_level: float) -> tuple[Floats, Floats]:
    ends = [each.intervals(confidence_level) for each in parts]
    return np.concatenate([low for low, _ in ends]), np.concatenate([high for _, high in ends])
