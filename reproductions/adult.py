"""Complete training rows of Adult on a few attributes, as several reproductions need them."""

from __future__ import annotations

from pathlib import Path

from sfumato import Schema, read_table
from sfumato.data.private_table import PrivateTable

EMGRW = ("education", "marital_status", "sex", "race", "workclass")
"""Guo's data set of that name; the last one is sensitive."""

ESGRO = ("education", "income", "sex", "race", "occupation")
"""The other one, which calls income salary."""


def read_adult(data: Path, names: tuple[str, ...]) -> PrivateTable:
    """Complete training rows on some attributes, with the categories that occur; the last one is sensitive."""
    import duckdb

    with duckdb.connect() as connection:
        rows = connection.sql(
            f"select {', '.join(names)} from read_csv('{data}', all_varchar=true) where part = 'train' and "
            "workclass is not null and occupation is not null and native_country is not null"
        ).to_arrow_table()
    attributes = {
        name: {
            "role": "sensitive" if name == names[-1] else "quasi-identifier",
            "categories": sorted(rows[name].unique().to_pylist()),
        }
        for name in names
    }
    return read_table(rows, Schema.from_dict({"attributes": attributes}))
