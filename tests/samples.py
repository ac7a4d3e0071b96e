"""Small tables that many tests use."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sfumato.values.schema import Schema

SCHEMA = Schema.from_toml("""
[attributes.person]
role = "identifier"

[attributes.sex]
role = "quasi-identifier"
categories = ["Female", "Male"]

[attributes.age]
role = "quasi-identifier"
bins = [17, 35, 55, 91]

[attributes.region]
role = "other"
categories = ["North", "South", "East"]
missing = "category"
missing_values = ["?"]

[attributes.job]
role = "sensitive"
categories = ["Sales", "Tech", "Care", "Other"]
""")
"""Every kind of attribute: identifier, categories, bins, missing values, sensitive."""


def people(rows: int = 1_000, seed: int = 7) -> pa.Table:
    """Rows that fit :data:`SCHEMA`, skewed and dependent; sorted by job, so that order would tell."""
    draw = np.random.default_rng(seed)
    sex = draw.choice(["Female", "Male"], rows, p=[0.6, 0.4])
    job = np.where(
        sex == "Female",
        draw.choice(["Sales", "Tech", "Care", "Other"], rows, p=[0.1, 0.1, 0.7, 0.1]),
        draw.choice(["Sales", "Tech", "Care", "Other"], rows, p=[0.3, 0.5, 0.1, 0.1]),
    )
    order = np.argsort(job, kind="stable")
    return pa.table(
        {
            "person": [f"person-{number}" for number in range(rows)],
            "sex": sex[order],
            "age": draw.integers(17, 91, rows),
            "region": draw.choice(["North", "South", "East", "?", None], rows, p=[0.4, 0.3, 0.2, 0.05, 0.05]),
            "job": job[order],
        }
    )
