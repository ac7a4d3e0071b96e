"""Rows whose sensitive attribute depends on the public ones."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sfumato import Schema, read_table

SCHEMA = Schema.from_toml("""
[attributes.sex]
role = "quasi-identifier"
categories = ["F", "M"]
[attributes.age]
role = "quasi-identifier"
categories = ["young", "middle", "old"]
[attributes.job]
role = "sensitive"
categories = ["a", "b", "c", "d", "e"]
""")
ROWS = 1_501


def columns(seed=1):
    """Codes whose sensitive attribute depends on the public ones."""
    draw = np.random.default_rng(seed)
    job = draw.choice(5, ROWS, p=[0.3, 0.25, 0.2, 0.15, 0.1])
    sex = (draw.random(ROWS) < 0.15 + 0.15 * job).astype(int)
    return {"sex": sex, "age": draw.integers(0, 3, ROWS), "job": job}


def private_table():
    """The same rows as a private table."""
    labels = {each.name: np.array(each.labels) for each in SCHEMA.attributes}
    return read_table(pa.table({name: labels[name][codes] for name, codes in columns().items()}), SCHEMA)
