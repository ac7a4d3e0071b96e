"""Which attributes, or items, go into one column: given, or learned from the private rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.chance.noise import DiscreteLaplace, scale_at_least
from sfumato.chance.randomness import NoiseSource
from sfumato.data.private_table import PrivateTable
from sfumato.errors import ParameterError, nearest
from sfumato.methods.columnized_counts.kernels.clustering import (
    Groups,
    overlapping_columns,
    require_clustering,
)
from sfumato.methods.columnized_counts.kernels.similarity import (
    ItemSimilarity,
    count_pairs,
    noisy_pairs,
    phi_squared,
)
from sfumato.methods.columnized_counts.kernels.units import SparseUnits
from sfumato.values.schema import Schema

LARGEST_PAIR_TABLE = 1_000_000
"""Cells of a two-way table that similarities of attributes are counted from."""


@dataclass(frozen=True)
class SimilarityBudget:
    """How similarities are made from private rows.

    Parameters
    ----------
    measure
        For items; attributes of a wide table are compared by phi-squared.
    epsilon
        Spent on noise in the counts they are made from; None for exact counts.
    items_of_unit
        To which units are cut first, where there is noise.
    """

    measure: ItemSimilarity
    epsilon: float | None
    items_of_unit: int


def named_columns(sets: Sequence[Sequence[str]], known: Sequence[str], what: str) -> Groups:
    """Columns given by name, as numbers.

    Raises
    ------
    ParameterError
        When a name is unknown, or stands twice in a column.
    """
    places = {name: place for place, name in enumerate(known)}
    for column in sets:
        unknown = next((name for name in column if name not in places), None)
        if unknown is not None:
            raise ParameterError(
                f"column_sets names {what} {unknown!r}, which there is not; {nearest(unknown, known)}",
                parameter="column_sets",
            )
        if not column or len(set(column)) < len(column):
            raise ParameterError(
                f"a column of column_sets is empty or names {what} twice. Name each {what} once in a column.",
                parameter="column_sets",
            )
    return tuple(tuple(sorted(places[name] for name in column)) for column in sets)


def item_columns(
    units: SparseUnits, numbers: Sequence[int], budget: SimilarityBudget, noise: NoiseSource
) -> Groups:
    """Columns of items, from how often units agree on them."""
    require_clustering(numbers, units.number_of_items)
    pairs = (
        count_pairs(units, with_agreement=budget.measure != "phi-squared")
        if budget.epsilon is None
        else noisy_pairs(units, budget.measure, budget.epsilon, budget.items_of_unit, noise)
    )
    similarity = pairs.similarity(budget.measure)
    # With twenty thousand items each matrix takes 1.6 GB; the distances come next.
    del pairs
    return overlapping_columns(similarity, numbers)


def attribute_columns(
    table: PrivateTable, numbers: Sequence[int], budget: SimilarityBudget, noise: NoiseSource
) -> Groups:
    """Columns of attributes, from phi-squared of their two-way tables."""
    require_clustering(numbers, len(table.schema.publishable.attributes))
    return overlapping_columns(attribute_similarities(table, budget.epsilon, noise), numbers)


def attribute_similarities(
    table: PrivateTable, epsilon: float | None, noise: NoiseSource
) -> npt.NDArray[Any]:
    """Phi-squared of every pair of publishable attributes; from noisy tables where there is an epsilon.

    A row is in one cell of each of the tables, so that adding or removing it changes as many counts by
    one as there are pairs.
    """
    schema: Schema = table.schema.publishable
    size = len(schema.attributes)
    result = np.eye(size)
    pairs = list(itertools.combinations(schema.attributes, 2))
    for one, other in pairs:
        if one.size * other.size > LARGEST_PAIR_TABLE:
            raise ParameterError(
                f"attributes {one.name!r} and {other.name!r} have more than {LARGEST_PAIR_TABLE:,} "
                "pairs of categories; their similarity cannot be counted. Give column_sets instead.",
                parameter="columns",
            )
    counted = table.count_tables([(one.name, other.name) for one, other in pairs])
    for number, (first, second) in enumerate(itertools.combinations(range(size), 2)):
        counts: npt.NDArray[Any] = counted[number].counts
        if epsilon is not None:
            law = DiscreteLaplace(scale=scale_at_least(Fraction(math.comb(size, 2)) / Fraction(epsilon)))
            drawn = law.draw(noise.named("pairs of attributes").stream(number), counts.size)
            counts = np.clip(counts + drawn.reshape(counts.shape), 0, None)
        result[first, second] = result[second, first] = phi_squared(counts)
    return result
