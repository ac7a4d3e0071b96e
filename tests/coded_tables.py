"""Tables in memory by their codes."""

from __future__ import annotations

import numpy as np

from sfumato.data.engine import ArrayEngine, CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.schema import Schema


def table_of(sizes, codes, *, ordered=False):
    """A table in memory: attributes x0, x1, ... are public, with categories in an order or not, the last one is sensitive."""
    names = [*(f"x{place}" for place in range(len(sizes) - 1)), "s"]
    schema = Schema.from_dict(
        {
            "attributes": {
                name: {
                    "role": "sensitive" if name == "s" else "quasi-identifier",
                    "categories": [f"{name}-{code}" for code in range(size)],
                    "ordered": ordered and name != "s",
                }
                for name, size in zip(names, sizes, strict=True)
            }
        }
    )
    held = {
        name: np.asarray(column).astype(schema[name].code_type)
        for name, column in zip(names, codes, strict=True)
    }
    return PrivateTable(CodedRows(schema, held), schema, engine=ArrayEngine())


def with_learned_lists(table):
    """The same table in memory, its lists of categories read off the data: what is suppressed is not listed."""
    source = table.source
    schema = Schema(
        attributes=tuple(each.model_copy(update={"learned": True}) for each in table.schema.attributes)
    )
    return PrivateTable(CodedRows(schema, source.codes), schema, engine=ArrayEngine())
