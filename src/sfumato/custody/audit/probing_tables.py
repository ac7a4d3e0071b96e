"""Tables made to try a method on: no row of them is anybody's."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sfumato.data.coded_rows import ArrayEngine, CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.values.arrays import Integers
from sfumato.values.schema import Attribute, Role, Schema

LADDER = (1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 18, 20, 24, 28, 32, 40, 60)
"""Copies of the combinations of a table of crowds: thresholds of every size are met."""

CROWDS = 180
"""Combinations of a table of crowds."""

LONERS = 600
"""People of a table in which few share their public values."""

TOY_SCHEMA = Schema(
    attributes=(
        Attribute(
            name="place", role=Role.QUASI_IDENTIFIER, categories=tuple(f"place {n}" for n in range(1, 31))
        ),
        Attribute(
            name="year", role=Role.QUASI_IDENTIFIER, categories=tuple(str(1950 + n) for n in range(30))
        ),
        Attribute(
            name="illness", role=Role.SENSITIVE, categories=("none", "flu", "asthma", "diabetes", "measles")
        ),
    )
)
"""Two public attributes and a sensitive one, for who gives no schema."""


def crowds(schema: Schema, generator: np.random.Generator) -> PrivateTable:
    """Combinations of all attributes with from one to many copies each; sensitive values about evenly.

    Examples
    --------
    >>> table = crowds(TOY_SCHEMA, np.random.default_rng(0))
    >>> sorted(set(table.count_occupied(table.schema.names).counts.tolist()))[:4]
    [1, 2, 3, 4]
    """
    chosen = _combinations(schema, CROWDS, generator)
    copies = np.resize(LADDER, len(next(iter(chosen.values()))))
    return _table(schema, {name: np.repeat(codes, copies) for name, codes in chosen.items()})


def loners(schema: Schema, generator: np.random.Generator) -> PrivateTable:
    """People few of whom share their public values, each with a value of their own.

    Examples
    --------
    >>> loners(TOY_SCHEMA, np.random.default_rng(0)).number_of_rows
    600
    """
    codes = {each.name: generator.integers(0, each.size, LONERS) for each in schema.publishable.attributes}
    for each in schema.publishable.with_role(Role.SENSITIVE):
        # As even as can be: methods that deal values to groups need that.
        codes[each.name] = generator.permutation(np.resize(np.arange(each.size), LONERS))
    return _table(schema, codes)


def one_row_other(table: PrivateTable, row: int, codes: Mapping[str, int] | None) -> PrivateTable:
    """The table with one row replaced, or without it where nothing is given in its place."""
    rows = table.source
    assert isinstance(rows, CodedRows)
    if codes is None:
        kept = np.delete(np.arange(rows.number_of_rows), row)
        return PrivateTable(rows.take(kept), table.schema, engine=table.engine)
    changed = {name: column.copy() for name, column in rows.codes.items()}
    for name, code in codes.items():
        changed[name][row] = code
    return PrivateTable(CodedRows(rows.schema, changed), table.schema, engine=table.engine)


def _combinations(schema: Schema, number: int, generator: np.random.Generator) -> dict[str, Integers]:
    attributes = schema.publishable.attributes
    drawn = np.stack([generator.integers(0, each.size, 4 * number) for each in attributes], axis=1)
    for place, each in enumerate(attributes):
        if each.role is Role.SENSITIVE:
            drawn[:, place] = np.resize(np.arange(each.size), len(drawn))
    _, first = np.unique(drawn, axis=0, return_index=True)
    kept = drawn[np.sort(first)][:number]
    return {each.name: kept[:, place] for place, each in enumerate(attributes)}


def _table(schema: Schema, codes: Mapping[str, Integers]) -> PrivateTable:
    public = schema.publishable
    held = {each.name: codes[each.name].astype(each.code_type) for each in public.attributes}
    return PrivateTable(CodedRows(public, held), public, engine=ArrayEngine())
