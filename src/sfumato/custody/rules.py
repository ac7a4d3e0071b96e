"""Association rules of private rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.analysis.itemsets import BitColumns, BitSupports, Distorted, Item, items_of
from sfumato.analysis.rules import Rules, Settings, mine
from sfumato.arrays import Booleans, Integers
from sfumato.data.long_format import LongTable, SparseUnits
from sfumato.data.private_table import PrivateTable
from sfumato.schema import LongForm, Schema


def mine_table(
    table: PrivateTable,
    settings: Settings | None = None,
    *,
    among: Sequence[str] | None = None,
    category: str | None = None,
    consequents: Sequence[str] | None = None,
) -> Rules:
    r"""Frequent item sets and association rules of private rows, as they are. Private: for the custodian's eyes.

    Parameters
    ----------
    table
        Rows, whose items are the categories of attributes; or units and items, where the schema has ``[long]``.
    settings
        What is looked for; about the table itself every number is exact.
    among, category, consequents
        As for a release.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from sfumato import Schema, read_table
    >>> schema = Schema.from_toml('''
    ... [long]
    ... unit = "receipt"
    ... item = "article"
    ... [attributes.receipt]
    ... role = "identifier"
    ... [attributes.article]
    ... role = "sensitive"
    ... categories = ["bread", "milk", "tea"]
    ... ''')
    >>> rows = {"receipt": [1, 1, 2, 2, 3], "article": ["bread", "milk", "bread", "milk", "tea"]}
    >>> found = mine_table(read_table(pa.table(rows), schema), Settings(minimum_support=0.5))
    >>> [str(each) for each in found.rules], found.rules[0].lift.estimate
    (['milk => bread', 'bread => milk'], 1.5)
    """
    chosen = settings or Settings()
    long = table.schema.long
    asked = table.schema.publishable if long is None else _widened(table.schema, long)
    items = items_of(asked, are_present=long is not None, among=among, category=category)
    about = (
        None
        if consequents is None
        else items_of(asked, are_present=long is not None, among=consequents, category=category)
    )
    supports = _of_rows(table, items) if long is None else _of_units(table, long, asked, items)
    mined = mine(supports, chosen, consequents=about)
    return Rules(mined.rules, mined.sets, chosen, mined.sets_counted, mined.rules_considered, is_private=True)


def _widened(schema: Schema, long: LongForm) -> Schema:
    published = Schema(attributes=schema.publishable.select(long.names))
    return LongTable(table="", item=long.item, value=long.value, number_of_units=1).widened(published)


def _of_units(table: PrivateTable, long: LongForm, asked: Schema, items: tuple[Item, ...]) -> BitSupports:
    value = None if long.value is None else table.schema[long.value]
    units = SparseUnits.from_rows(table.rows_of_units(), table.schema[long.item], value)
    place_of = {name: place for place, name in enumerate(asked.names)}
    unit = units.units()
    # A number for each item with its value, as the items of rules are.
    entries = units.items.astype(np.int64) * units.number_of_values + units.values
    numbers = np.array([place_of[each.attribute] * units.number_of_values + each.code - 1 for each in items])
    counts = np.bincount(entries, minlength=units.number_of_items * units.number_of_values)

    def bits(places: Sequence[int]) -> BitColumns:
        row_of = np.full(counts.size, -1, np.int64)
        row_of[numbers[list(places)]] = np.arange(len(places))
        rows = row_of[entries]
        has = np.zeros((len(places), units.number_of_units), np.bool_)
        has[rows[rows >= 0], unit[rows >= 0]] = True
        return BitColumns.of(has)

    return BitSupports(items, units.number_of_units, counts[numbers], Distorted.exactly(len(items)), bits)


def _of_rows(table: PrivateTable, items: tuple[Item, ...]) -> BitSupports:
    tables: dict[str, Integers] = {
        name: table.count_by((name,)).counts for name in dict.fromkeys(each.attribute for each in items)
    }

    def bits(places: Sequence[int]) -> BitColumns:
        chosen = [items[place] for place in places]
        held: list[list[Booleans]] = [[] for _ in chosen]
        for batch in table.scan(tuple(dict.fromkeys(each.attribute for each in chosen))):
            for kept, item in zip(held, chosen, strict=True):
                kept.append(batch.codes[item.attribute] == item.code)
        return BitColumns.of(np.concatenate(each) for each in held)

    counts = np.array([tables[each.attribute][each.code] for each in items])
    return BitSupports(items, table.number_of_rows, counts, Distorted.exactly(len(items)), bits)
