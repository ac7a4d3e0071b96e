"""A release in each format."""

from __future__ import annotations

import pytest

from samples import SCHEMA, people
from sfumato import RandomizedResponse, publish, read_table


@pytest.fixture(scope="module", params=["parquet", "csv"])
def release(request, tmp_path_factory):
    """A release of a thousand people, in each format."""
    folder = tmp_path_factory.mktemp("releases") / request.param
    return publish(
        read_table(people(), SCHEMA), RandomizedResponse(retention=0.6), folder, format=request.param, seed=1
    )
