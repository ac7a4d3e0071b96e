"""A small table to try a method on.

It has categories, bins and missing values, an association between a public attribute and the sensitive one, and
combinations from hundreds of people down to nobody.
"""

from __future__ import annotations

import numpy as np

from sfumato.data.coded_rows import ArrayEngine, CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.values.schema import Schema

SAMPLE_SCHEMA = Schema.from_toml("""
[attributes.sex]
role = "quasi-identifier"
categories = ["Female", "Male"]

[attributes.age]
role = "quasi-identifier"
bins = [17, 35, 55, 91]

[attributes.region]
role = "quasi-identifier"
categories = ["North", "South", "East"]
missing = "category"

[attributes.job]
role = "sensitive"
categories = ["Sales", "Tech", "Care", "Other"]
""")

SHARES_OF_SEX = np.array([0.58, 0.42])
SHARES_OF_AGE = np.array([0.45, 0.35, 0.20])
REGION_BY_AGE = np.array([[0.46, 0.32, 0.21, 0.01], [0.42, 0.32, 0.24, 0.02], [0.36, 0.32, 0.28, 0.04]])
JOB_BY_SEX = np.array([[0.26, 0.15, 0.55, 0.04], [0.32, 0.51, 0.15, 0.02]])


def sample_table(rows: int = 1_000) -> PrivateTable:
    """A table in memory that is the same every time.

    Parameters
    ----------
    rows
        Its size; shares of combinations are as even as whole numbers allow.

    Examples
    --------
    >>> table = sample_table(500)
    >>> table, table.number_of_rows
    (PrivateTable(sex, age, region, job), 500)
    """
    shares = np.einsum("s,a,ar,sj->sarj", SHARES_OF_SEX, SHARES_OF_AGE, REGION_BY_AGE, JOB_BY_SEX)
    # Rounding the running total leaves no row over and moves no combination by more than one.
    ends = np.round(np.cumsum(rows * shares.ravel())).astype(np.int64)
    counts = ends - np.concatenate([[0], ends[:-1]])
    combinations = np.indices(shares.shape).reshape(shares.ndim, -1)
    codes = {
        each.name: np.repeat(place, counts).astype(each.code_type)
        for each, place in zip(SAMPLE_SCHEMA.attributes, combinations, strict=True)
    }
    return PrivateTable(CodedRows(SAMPLE_SCHEMA, codes), SAMPLE_SCHEMA, engine=ArrayEngine())
