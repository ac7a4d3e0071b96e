"""A population in which nearly everybody is alike: a few have something rare, and in some groups nobody has."""

from __future__ import annotations

import numpy as np

from sfumato.data.engine import ArrayEngine, CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.schema import Attribute, Role, Schema

COUNTS = {
    ("north", "no"): (100, 100, 100, 96),
    ("north", "yes"): (2, 2, 0, 0),
    ("south", "no"): (200, 150, 130, 119),
    ("south", "yes"): (1, 0, 0, 0),
    ("west", "no"): (50, 50, 50, 50),
}
"""People by region, whether they have something rare, and job: nobody of the last two jobs or of the west has it, one in 600 of the south."""


def people() -> PrivateTable:
    """The population, a row for each."""
    sizes = {"region": ("north", "south", "west"), "rare": ("no", "yes"), "job": ("a", "b", "c", "d")}
    schema = Schema(
        attributes=tuple(
            Attribute(
                name=name, role=Role.SENSITIVE if name == "job" else Role.QUASI_IDENTIFIER, categories=labels
            )
            for name, labels in sizes.items()
        )
    )
    rows = np.array(
        [
            (sizes["region"].index(region), sizes["rare"].index(rare), job)
            for (region, rare), counts in COUNTS.items()
            for job, count in enumerate(counts)
            for _ in range(count)
        ]
    )
    codes = {each.name: rows[:, place].astype(each.code_type) for place, each in enumerate(schema.attributes)}
    return PrivateTable(CodedRows(schema, codes), schema, engine=ArrayEngine())
