"""Four hundred wards, in one of which a disease is at home that nobody else has."""

from __future__ import annotations

import numpy as np

from sfumato.data.engine import CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.methods.splu_gen.design import SPLUGen
from sfumato.schema import Schema
from sfumato.testing import in_memory

WARDS, RARE, HOLDERS, GAMMA = 400, 20, 8, 10
SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "ward": {"role": "quasi-identifier", "categories": [f"ward-{each}" for each in range(WARDS)]},
            "sex": {"role": "quasi-identifier", "categories": ["Female", "Male"]},
            "disease": {"role": "sensitive", "categories": [f"disease-{each}" for each in range(RARE + 1)]},
        }
    }
)
ROWS = 10 * WARDS
DESIGN = SPLUGen(gamma=GAMMA)


def rows_of_wards():
    """Four hundred wards of ten; eight of the ten people of the first hold a disease that nobody else has."""
    codes = {
        "ward": np.repeat(np.arange(WARDS), 10).astype(np.uint16),
        "sex": (np.arange(ROWS) % 2).astype(np.uint8),
        "disease": (np.arange(ROWS) * 7 % RARE).astype(np.uint8),
    }
    codes["disease"][:HOLDERS] = RARE
    return codes


def wards():
    """These rows as a private table."""
    return in_memory(PrivateTable(CodedRows(SCHEMA, rows_of_wards()), SCHEMA))


def table_of(tables, start):
    """The table whose title begins so."""
    (found,) = [each for each in tables if each.title.startswith(start)]
    return found
