"""A table with small groups of people who all share a value."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sfumato.schema import Schema

VALUES = 20
GROUPS_OF_EACH_SIZE = 12


def table_with_homogeneous_groups(seed=4):
    """A thousand rows in mixed areas, and areas of two to six people who all have one job."""
    draw = np.random.default_rng(seed)
    area, job = draw.integers(0, 5, 1_000), np.arange(1_000) % VALUES
    fresh = 5
    for size in range(2, 7):
        for number in range(GROUPS_OF_EACH_SIZE):
            rows = np.flatnonzero((job == (number + size) % VALUES) & (area < 5))[:size]
            area[rows] = fresh
            fresh += 1
    schema = Schema.from_dict(
        {
            "attributes": {
                "area": {"role": "quasi-identifier", "categories": [str(code) for code in range(fresh)]},
                "job": {"role": "sensitive", "categories": [f"job-{code}" for code in range(VALUES)]},
            }
        }
    )
    return pa.table({"area": [str(code) for code in area], "job": [f"job-{code}" for code in job]}), schema
