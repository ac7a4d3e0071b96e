"""Noisy tables and answers, as a release states them."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
from pydantic import Field

from sfumato.chance.noise import DiscreteNoise
from sfumato.frozen import Frozen
from sfumato.laws.base import Published
from sfumato.methods.noisy_marginals.law.marginal_effects import NoisyTable
from sfumato.values.bounds import MOST_CATEGORIES, MOST_ROWS
from sfumato.values.selection import Tabulation

COUNT_COLUMN = "count"
"""Column of a published marginal that holds the noisy counts."""


class NoisyMarginal(Frozen):
    """One published table of noisy counts over the full product of some attributes.

    Parameters
    ----------
    table
        Name of the published table.
    attributes, sizes
        What it is tabulated over, and the number of categories of each.
    noise
        Of every cell, independent of all others.
    """

    table: str
    attributes: tuple[str, ...]
    sizes: tuple[Annotated[int, Field(ge=1, le=MOST_CATEGORIES)], ...]
    noise: DiscreteNoise

    @property
    def title(self) -> str:
        """What it counts, in words."""
        return " by ".join(self.attributes)

    def cells_added(self, asked: Tabulation) -> int:
        """Cells that add up to one cell of a question."""
        summed = [
            size if (codes := asked.where.codes(name)) is None else len(codes)
            for name, size in zip(self.attributes, self.sizes, strict=True)
            if name not in asked.by
        ]
        return math.prod(summed)


class NoisyAnswer(Frozen):
    """The noisy answer to one declared query.

    Parameters
    ----------
    question
        The condition, in canonical form.
    count
        How many rows satisfy it, plus noise.
    noise
        Of the answer, independent of all others.
    """

    question: str
    count: Annotated[int, Field(ge=-MOST_ROWS, le=MOST_ROWS)]
    noise: DiscreteNoise


def read_marginal(published: Published, marginal: NoisyMarginal) -> NoisyTable:
    """The noisy counts of one published table, as they stand."""
    counts = np.zeros(marginal.sizes)
    for batch in published.scan(marginal.table, (*marginal.attributes, COUNT_COLUMN)):
        counts[tuple(batch.codes[name] for name in marginal.attributes)] = batch.codes[COUNT_COLUMN]
    return NoisyTable(marginal.attributes, counts, marginal.noise.variance)
