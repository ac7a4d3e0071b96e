"""Published rows that the tests of the law share."""

from __future__ import annotations

import numpy as np
import pytest

from published_rows import PublishedRows, category_attribute
from sfumato.schema import Role


@pytest.fixture(scope="module")
def published():
    """Six thousand published rows; every job and every pay is far from being in all groups."""
    draw = np.random.default_rng(3)
    job = draw.choice(8, 6_000, p=np.array([5, 4, 3, 3, 3, 3, 2, 1]) / 24)
    columns = {"area": (job + draw.integers(0, 3, 6_000)) % 3, "job": job, "pay": draw.integers(0, 6, 6_000)}
    attributes = (
        category_attribute("area", 3, Role.OTHER),
        category_attribute("job", 8),
        category_attribute("pay", 6),
    )
    return PublishedRows(attributes, columns)


@pytest.fixture(scope="module")
def wide():
    """Two public attributes, one with an empty category and one of a single row; a job and a pay that nobody shows."""
    draw = np.random.default_rng(8)
    job = np.append(draw.choice(7, 2_999, p=np.array([5, 4, 3, 3, 3, 3, 3]) / 24), 0)
    area = np.append((job[:-1] + draw.integers(0, 2, 2_999)) % 3, 4)
    columns = {"area": area, "sex": draw.integers(0, 2, 3_000), "job": job, "pay": draw.integers(0, 5, 3_000)}
    attributes = (
        category_attribute("area", 5, Role.OTHER),
        category_attribute("sex", 2, Role.OTHER),
        category_attribute("job", 8),
        category_attribute("pay", 6),
    )
    return PublishedRows(attributes, columns)
