"""Combinations of a column's categories that a cell is about, published or not."""

from __future__ import annotations

import math

import numpy as np

from sfumato.laws.asking import codes_shown
from sfumato.methods.columnized_counts.law.columns import PublishedColumn
from sfumato.values.arrays import Booleans
from sfumato.values.schema import Schema
from sfumato.values.selection import Tabulation


def combinations_of_a_cell(column: PublishedColumn, schema: Schema, asked: Tabulation) -> int:
    """How many different rows of a column each cell of a tabulation adds up.

    Examples
    --------
    >>> from sfumato.values.schema import Attribute, Role
    >>> job = Attribute(name="job", role=Role.OTHER, categories=("a", "b", "c"))
    >>> sex = Attribute(name="sex", role=Role.OTHER, categories=("F", "M"))
    >>> column = PublishedColumn(table="rows", attributes=("sex", "job"), sizes=(2, 3))
    >>> combinations_of_a_cell(column, Schema(attributes=(sex, job)), Tabulation(by=("sex",)))
    3
    """
    # A Python number: wide columns have more combinations than 64 bits hold.
    return math.prod(
        1 if name in asked.by else len(codes_shown(schema, asked, name)) for name in column.attributes
    )


def has_rows_without_values(column: PublishedColumn, schema: Schema, asked: Tabulation) -> Booleans:
    """Which cells, ``(cells,)``, have rows that lack every value of a column: these are not counted at all."""
    axes = [codes_shown(schema, asked, name) for name in asked.by]
    codes = dict(
        zip(asked.by, (each.ravel() for each in np.meshgrid(*axes, indexing="ij")), strict=True)
        if axes
        else ()
    )
    found = np.ones(math.prod(map(len, axes)), np.bool_)
    for name in column.attributes:
        missing = schema[name].missing_code
        if missing is None:
            return np.zeros(found.size, np.bool_)
        found &= codes[name] == missing if name in codes else missing in codes_shown(schema, asked, name)
    return found
