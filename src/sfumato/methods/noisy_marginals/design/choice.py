"""Which marginals are published, and how a privacy budget is shared out over them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from sfumato.chance.noise import DiscreteGaussian, DiscreteLaplace, scale_at_least
from sfumato.errors import ParameterError, TooLargeError
from sfumato.methods.noisy_marginals.law.marginals import COUNT_COLUMN
from sfumato.values.counts import LARGEST_TABLE
from sfumato.values.schema import Schema

MARGINAL_SETS = ("two-way", "two-way-with-sensitive", "naive-bayes")
"""Sets of marginals that have a name."""

Budget = Literal["uniform", "cells"]


@dataclass(frozen=True)
class Measurement:
    """Something that gets noise.

    Parameters
    ----------
    names
        Attributes of a marginal, or the text of a query.
    cells
        Counts in it.
    changed_by_row
        Counts that one row can change, by one each.
    """

    names: tuple[str, ...]
    cells: int
    changed_by_row: int


def choose_marginals(
    schema: Schema,
    marginals: str | Sequence[Sequence[str]],
    attributes: Sequence[str] | None = None,
    class_attribute: str | None = None,
) -> tuple[tuple[str, ...], ...]:
    """The sets of attributes to tabulate.

    Parameters
    ----------
    schema
        Of the private table.
    marginals
        ``two-way``: every pair. ``two-way-with-sensitive``: every pair without the class attribute,
        and the same pairs with it (Han 2016, section 3.4). ``naive-bayes``: the class attribute with
        each other one. Or the sets themselves.
    attributes
        What a named set is made of; all publishable ones when not given.
    class_attribute
        The only sensitive attribute when not given.

    Raises
    ------
    ParameterError, TooLargeError
        When a set repeats, or names what cannot be tabulated, or has more cells than memory holds.

    Examples
    --------
    >>> schema = Schema.from_toml('''
    ... [attributes.sex]
    ... role = "quasi-identifier"
    ... categories = ["F", "M"]
    ... [attributes.age]
    ... role = "quasi-identifier"
    ... bins = [0, 40, 120]
    ... [attributes.job]
    ... role = "sensitive"
    ... categories = ["a", "b", "c"]
    ... ''')
    >>> choose_marginals(schema, "two-way-with-sensitive")
    (('sex', 'age'), ('sex', 'age', 'job'))
    """
    if isinstance(marginals, str):
        chosen = _named_set(schema, marginals, attributes, class_attribute)
    else:
        chosen = tuple(tuple(each) for each in marginals)
    _check(schema, chosen)
    return chosen


def _named_set(
    schema: Schema, name: str, attributes: Sequence[str] | None, class_attribute: str | None
) -> tuple[tuple[str, ...], ...]:
    names = schema.publishable.names if attributes is None else tuple(attributes)
    if name == "two-way":
        pairs = tuple(itertools.combinations(names, 2))
        if not pairs:
            raise ParameterError(
                "two-way marginals need two attributes, and there is one. Name the marginals as a list.",
                parameter="marginals",
            )
        return pairs
    target = schema.sensitive(
        class_attribute,
        parameter="class_attribute",
        advice="Set class_attribute to the one that the others are crossed with.",
    ).name
    others = tuple(each for each in names if each != target)
    needed = 2 if name == "two-way-with-sensitive" else 1
    if len(others) < needed:
        raise ParameterError(
            f"{name} marginals need {needed} attributes besides {target!r}, and there are {len(others)}. "
            "Name more attributes, or the marginals as a list.",
            parameter="marginals",
        )
    if name == "naive-bayes":
        return tuple((target, each) for each in others)
    pairs = tuple(itertools.combinations(others, 2))
    return pairs + tuple((*pair, target) for pair in pairs)


def _check(schema: Schema, marginals: Sequence[tuple[str, ...]]) -> None:
    for names in marginals:
        if not names or len(set(names)) < len(names):
            raise ParameterError(
                f"a marginal is over one or more different attributes, got {', '.join(names) or 'none'}. "
                "Name each attribute once.",
                parameter="marginals",
            )
        for each in schema.select(names):
            if not each.role.is_published or each.name == COUNT_COLUMN:
                reason = (
                    f"is {each.role.as_noun}, which is never published"
                    if not each.role.is_published
                    else "has the name of the published column of counts"
                )
                raise ParameterError(
                    f"{each.name!r} {reason}, so it cannot be tabulated. Leave it out, or rename it.",
                    parameter="marginals",
                )
        cells = math.prod(schema[name].size for name in names)
        if cells > LARGEST_TABLE:
            raise TooLargeError(
                f"the marginal over {', '.join(names)} has {cells:,} cells; at most {LARGEST_TABLE:,} fit in memory. "
                "Name fewer attributes, split it into smaller marginals, or merge categories in the schema."
            )
    different = {frozenset(names) for names in marginals}
    if len(different) < len(marginals):
        raise ParameterError(
            "two marginals are over the same attributes; each takes a part of the budget. Leave one out.",
            parameter="marginals",
        )


def laplace_noises(
    measurements: Sequence[Measurement], epsilon: float, budget: Budget
) -> tuple[DiscreteLaplace, ...]:
    """Discrete Laplace noise for each measurement, together within epsilon exactly.

    With scales b, the total is the sum of ``changed / b``. ``uniform`` makes all scales equal to the
    sum of what a row changes over epsilon (Han 2016, eq. 3.12). ``cells`` minimises the sum of all
    variances, ``sum of cells * 2 b^2``: by Lagrange, epsilons proportional to
    ``(cells * changed^2)^(1/3)``.

    Examples
    --------
    >>> table = Measurement(("a", "b"), 6, 2)
    >>> [each.scale for each in laplace_noises([table] * 12, 0.5, "uniform")][:2]
    [48.0, 48.0]
    """
    if budget == "uniform":
        weights = [Fraction(each.changed_by_row) for each in measurements]
    else:
        weights = [Fraction((each.cells * each.changed_by_row**2) ** (1 / 3)) for each in measurements]
    total = sum(weights)
    return tuple(
        # Rounded up, so that the epsilons of all measurements sum to no more than the budget.
        DiscreteLaplace(scale=scale_at_least(each.changed_by_row * total / (weight * Fraction(epsilon))))
        for each, weight in zip(measurements, weights, strict=True)
    )


def gaussian_noises(
    measurements: Sequence[Measurement], rho: float, budget: Budget
) -> tuple[DiscreteGaussian, ...]:
    """Discrete Gaussian noise for each measurement, together within rho.

    A row moves a measurement by ``sqrt(changed)`` in Euclidean length, which costs
    ``changed / (2 s^2)``. ``cells`` minimises the sum of ``cells * s^2``: rhos proportional to
    ``sqrt(cells * changed)``.

    Examples
    --------
    >>> round(gaussian_noises([Measurement(("a",), 3, 2)], 0.02, "uniform")[0].scale, 6)
    7.071068
    """
    weights = [
        float(each.changed_by_row) if budget == "uniform" else math.sqrt(each.cells * each.changed_by_row)
        for each in measurements
    ]
    return tuple(
        DiscreteGaussian(
            # A few units in the last place above, for the rounding of the quotient and the root.
            scale=math.sqrt(each.changed_by_row * sum(weights) / (2 * rho * weight)) * (1 + 1e-15)
        )
        for each, weight in zip(measurements, weights, strict=True)
    )
