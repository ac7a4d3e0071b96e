"""Models of the joint of some attributes, whose parameters are drawn given true counts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sfumato.analysis.loglinear.model import Model
from sfumato.errors import TooLargeError
from sfumato.values.arrays import Floats, Integers
from sfumato.values.schema import Schema

PRIOR_ROWS = 0.5
"""Rows that a model's prior counts for, for each parameter: Jeffreys' for a table of cells without a model."""

LARGEST_TABLE = 100_000
"""Cells of a declared model, all of which are kept; without a model only combinations that occur are."""

SMALLEST_SHARE = 1e-300
"""Of a cell; smaller ones are no numbers to divide by."""


class Parameters(Protocol):
    """A model's parameters, as an array that only it reads."""

    @property
    def prior_rows(self) -> float:
        """Rows that the prior counts for."""

    def start(self) -> Floats:
        """Parameters to begin with: all true values alike."""

    def shares(self, parameters: Floats) -> Floats:
        """Shares of true values within each group of exact ones, ``(groups, width)``."""

    def draw(self, parameters: Floats, counts: Floats, generator: np.random.Generator) -> Floats:
        """Parameters drawn anew, given the last ones and counts of true rows, ``(groups, width)``."""


@dataclass(frozen=True)
class Saturated:
    """No model: every group has shares of its own.

    Parameters
    ----------
    groups, width
        Combinations of exact attributes that occur, and combinations of perturbed ones.
    """

    groups: int
    width: int

    @property
    def prior_rows(self) -> float:
        """Half a row for each cell."""
        return PRIOR_ROWS * self.groups * self.width

    def start(self) -> Floats:
        """All alike."""
        return np.full((self.groups, self.width), 1 / self.width)

    def shares(self, parameters: Floats) -> Floats:
        """The parameters themselves."""
        return parameters

    def draw(self, parameters: Floats, counts: Floats, generator: np.random.Generator) -> Floats:
        """From Dirichlet distributions, whatever came before."""
        del parameters
        drawn = generator.standard_gamma(counts + PRIOR_ROWS)
        return np.asarray(drawn / drawn.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class Hierarchical:
    """A hierarchical loglinear model.

    Parameters
    ----------
    margins
        For each of its generators the margin's cell of every cell of the whole table, ``(cells,)``.
    places
        Cells of the whole table of every group and combination of perturbed values, ``(groups, width)``.
    cells
        Of the whole table.
    parameters
        Free ones.

    Notes
    -----
    Bayesian iterative fitting: margin after margin is drawn from its Dirichlet distribution, and the shares within it are
    kept; the shares of the whole table are then a Gibbs draw from the model's constrained Dirichlet distribution.

    References
    ----------
    Schafer, J. L. (1997). Analysis of incomplete multivariate data. Chapman & Hall, section 8.4.
    """

    margins: tuple[Integers, ...]
    places: Integers
    cells: int
    parameters: int

    @classmethod
    def of(cls, model: Model, schema: Schema, codes: Mapping[str, Integers]) -> Hierarchical:
        """From the model, and the codes of every group and combination of perturbed values, ``(groups, width)`` each.

        Raises
        ------
        TooLargeError
            When the whole table is too large to keep.
        """
        sizes = {name: schema[name].size for name in codes}
        cells = math.prod(sizes.values())
        if cells > LARGEST_TABLE:
            raise TooLargeError(
                f"the model's attributes have {cells:,} combinations of categories, and at most {LARGEST_TABLE:,} are kept. "
                "Leave attributes out."
            )
        grid = dict(zip(sizes, np.indices(list(sizes.values())).reshape(len(sizes), -1), strict=True))
        margins = tuple(
            np.ravel_multi_index(tuple(grid[name] for name in each), [sizes[name] for name in each])
            for each in model.generators
        )
        places = np.ravel_multi_index(tuple(codes.values()), list(sizes.values()))
        free = sum(math.prod(sizes[each.name] - 1 for each in term) for term in model.terms)
        return cls(margins, np.asarray(places), cells, free)

    @property
    def prior_rows(self) -> float:
        """Half a row for each parameter."""
        return PRIOR_ROWS * (self.parameters + 1)

    def start(self) -> Floats:
        """All alike, which every model allows."""
        return np.full(self.cells, 1 / self.cells)

    def shares(self, parameters: Floats) -> Floats:
        """Those of the table, within groups."""
        found = parameters[self.places]
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def draw(self, parameters: Floats, counts: Floats, generator: np.random.Generator) -> Floats:
        """One round over the margins."""
        table = parameters
        rows = np.full(self.cells, self.prior_rows / self.cells)
        rows[self.places.ravel()] += counts.ravel()
        for margin in self.margins:
            drawn = generator.standard_gamma(np.bincount(margin, rows))
            table = table * (drawn / np.bincount(margin, table))[margin]
        # Shares as small as that are zero; they must not become what nothing can be divided by.
        return np.asarray(np.maximum(table / table.sum(), SMALLEST_SHARE))
