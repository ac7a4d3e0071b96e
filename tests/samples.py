"""Small tables that many tests use."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sfumato.schema import Schema

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


LONG_SCHEMA = Schema.from_toml("""
[long]
unit = "user"
item = "movie"
value = "stars"

[attributes.user]
role = "identifier"

[attributes.movie]
role = "other"
categories = ["m1", "m2", "m3", "m4", "m5", "m6"]

[attributes.stars]
role = "other"
categories = ["1", "2", "3"]
""")
"""Unit-item-value data."""


def ratings(users: int = 400, seed: int = 3) -> pa.Table:
    """Rows that fit :data:`LONG_SCHEMA`; every user has at least one."""
    draw = np.random.default_rng(seed)
    rated = draw.random((users, 6)) < np.linspace(0.8, 0.2, 6)
    rated[:, 0] = True
    user, movie = np.nonzero(rated)
    return pa.table(
        {
            "user": [f"user-{number:05}" for number in user],
            "movie": [f"m{number + 1}" for number in movie],
            "stars": [str(number) for number in draw.choice([1, 2, 3], user.size, p=[0.1, 0.2, 0.7])],
        }
    )


BASKETS = Schema.from_toml("""
[long]
unit = "receipt"
item = "article"

[attributes.receipt]
role = "identifier"

[attributes.article]
role = "sensitive"
categories = ["pão", "leite", "café", "unit"]
""")


def baskets(number=400):
    """Every receipt has bread or milk, coffee goes with milk, and nobody buys the last article."""
    rows = []
    for receipt in range(number):
        bought = ["pão"] if receipt % 5 else ["leite"]
        bought += ["leite"] if receipt % 3 == 0 and receipt % 5 else []
        bought += ["café"] if "leite" in bought and receipt % 4 else []
        rows += [(f"receipt-{receipt}", each) for each in bought]
    return pa.table({"receipt": [each for each, _ in rows], "article": [each for _, each in rows]})
