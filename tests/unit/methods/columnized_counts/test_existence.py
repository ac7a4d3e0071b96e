"""Whether a release exists, and what it holds when nothing passed, tells nobody how many rows there are."""

from __future__ import annotations

import pyarrow as pa
import pytest

from sfumato import Schema, publish, read_table
from sfumato.methods.columnized_counts.design import ColumnizedCounts

SCHEMA = Schema.from_toml('[attributes.a]\nrole = "other"\ncategories = ["x", "y"]')
LEFT_OPEN = pytest.mark.xfail(strict=True, reason="a table of fewer rows than the threshold is refused")


def table(rows, others=0):
    """Identical rows, and some that can never be published."""
    return read_table(pa.table({"a": ["x"] * rows + ["y"] * others}), SCHEMA)


@LEFT_OPEN
@pytest.mark.parametrize(("rows", "others"), [(1, 0), (31, 0), (32, 0), (31, 1)])
def test_a_release_is_made_whatever_the_number_of_rows(tmp_path, rows, others):
    """The median of the release probability is at 32: one row more or less must not decide by itself."""
    for seed in range(5):
        with pytest.warns(UserWarning):
            release = publish(table(rows, others), ColumnizedCounts(k=40, epsilon=1.0), tmp_path / str(seed))
        assert release.number_of_rows == 0
