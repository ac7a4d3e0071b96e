"""Long lists of categories in rows that are read once for several passes."""

from __future__ import annotations

import pyarrow as pa
import pytest

from sfumato import Anatomy, publish, read_table
from sfumato.schema import Attribute, Role, Schema

pytestmark = pytest.mark.filterwarnings("ignore:.*seed.*")


def test_a_list_too_long_for_a_text_of_sql_is_read_at_rest(tmp_path):
    """The first pass asks for another attribute, and reads all of them."""
    labels = tuple(f"place {number}" for number in range(3_000))
    schema = Schema(
        attributes=(
            Attribute(name="place", role=Role.QUASI_IDENTIFIER, categories=labels),
            Attribute(name="job", role=Role.SENSITIVE, categories=("a", "b", "c", "d")),
        )
    )
    rows = pa.table({"place": list(labels), "job": ["a", "b", "c", "d"] * 750})
    release = publish(
        read_table(rows, schema),
        Anatomy(l_value=2),
        tmp_path / "out",
        seed=1,
        say=lambda _: None,
        accept=("singled-out", "key-column"),
    )
    assert release.counts("place").values.tolist() == [1.0] * 3_000
