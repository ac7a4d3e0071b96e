"""Rows with noisy counts, their law and a design of them: two columns in one table, cut columns, items of units."""

from __future__ import annotations

import numpy as np

from sfumato.data.chunks import CodedBatch
from sfumato.methods.columnized_counts.design import ColumnizedCounts
from sfumato.methods.columnized_counts.law import NoisyRows
from sfumato.methods.columnized_counts.noisy_counts import (
    LongColumns,
    NoisyCountMatrix,
    NoisyTotal,
    PublishedColumn,
)
from sfumato.schema import Attribute, Role, Schema

MATRIX = NoisyCountMatrix(k=5, epsilon=2.0, delta=1e-5)
SEX = Attribute(name="sex", role=Role.OTHER, categories=("F", "M"))
JOB = Attribute(name="job", role=Role.SENSITIVE, categories=("a", "b", "c"))
AGE = Attribute(name="age", role=Role.OTHER, categories=("young", "old"))
ITEM = Attribute(name="item", role=Role.OTHER, categories=("i", "j", "k"))
STARS = Attribute(name="stars", role=Role.SENSITIVE, categories=("1", "2"))


class Given:
    """A release whose tables are given as columns."""

    def __init__(self, attributes, **tables):
        self.schema = Schema(attributes=attributes)
        self.tables = {
            name: {key: np.array(each) for key, each in columns.items()} for name, columns in tables.items()
        }

    def scan(self, table, names):
        """All rows in one batch; none when there are none."""
        columns = self.tables[table]
        size = len(next(iter(columns.values())))
        if size:
            yield CodedBatch({name: columns[name] for name in names}, size)


ROWS = Given(
    (SEX, JOB),
    rows={"sex": [0, 0, 1], "job": [0, 1, 1], "count": [100, 40, 7]},
)
LAW = NoisyRows(
    matrix=MATRIX,
    columns=(PublishedColumn(table="rows", attributes=("sex", "job"), sizes=(2, 3)),),
    public_size=147,
)
"""Of 147 rows all were published, as far as their noise tells."""
NOISY = LAW.model_copy(update={"public_size": None, "total": NoisyTotal(count=207, epsilon=0.5)})
NOISE = MATRIX.noise.variance


CUT = NoisyRows(
    matrix=MATRIX,
    columns=(
        PublishedColumn(table="column-1", attributes=("sex", "job"), sizes=(2, 3)),
        PublishedColumn(table="column-2", attributes=("age", "sex"), sizes=(2, 2)),
    ),
    column_budget=1,
    public_size=180,
)
COLUMNS = Given(
    (SEX, JOB, AGE),
    **{
        "column-1": {"sex": [0], "job": [0], "count": [50]},
        "column-2": {"age": [1, 0], "sex": [0, 1], "count": [60, 30]},
    },
)


LONG = NoisyRows(
    matrix=MATRIX,
    long=LongColumns(table="fragments", item="item", value="stars", columns=((0, 1, 2), (0, 1))),
    public_size=60,
)
FRAGMENTS = Given(
    (ITEM, STARS),
    fragments={
        "item": [0, 1, 0, 1, 2, 0],
        "stars": [0, 0, 0, 1, 1, 1],
        "column": [2, 2, 2, 2, 1, 1],
        "fragment": [0, 0, 1, 1, 2, 2],
        "count": [30, 30, 20, 20, 9, 9],
    },
)


def design(**parameters):
    """A design with the parameters given."""
    return ColumnizedCounts(**{"k": 5, "epsilon": 2.0, "delta": 1e-4, **parameters})
