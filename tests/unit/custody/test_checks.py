"""Checks before publication: columns that look like keys, by the rules of roles."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sfumato import RandomizedResponse, Schema, publish, read_table
from sfumato.errors import CheckRefusedError

SUBJECTS, VISITS = 60, 8


def visits(**changed):
    """Rows of subjects: sex and year of birth are the subject's own, arm and result vary."""
    draw = np.random.default_rng(4)
    subject = np.repeat(np.arange(SUBJECTS), VISITS)
    columns = {
        "usubjid": [f"CT-{7_301 + 37 * each}" for each in subject],
        "sex": [str(each) for each in draw.choice(["f", "m"], SUBJECTS)[subject]],
        "birth": [str(each) for each in draw.integers(1950, 1990, SUBJECTS)[subject]],
        "result": [str(each) for each in draw.choice(["good", "bad"], SUBJECTS * VISITS)],
    }
    return pa.table(columns | changed)


def schema_of(table):
    """Every list public, the result sensitive."""
    return Schema.from_dict(
        {
            "attributes": {
                name: {
                    "role": "sensitive" if name == "result" else "quasi-identifier",
                    "categories": sorted(
                        {each for each in table[name].to_pylist() if each is not None} or {"a", "b"}
                    ),
                    "missing": "category",
                }
                for name in table.column_names
            }
        }
    )


def test_a_key_that_repeats_is_refused_and_named(tmp_path):
    """A subject number in a long table: no row is unique on it, and every row names its person."""
    table = visits()
    with pytest.raises(CheckRefusedError, match="looks like a key") as refused:
        publish(
            read_table(table, schema_of(table)),
            RandomizedResponse(retention=0.5),
            tmp_path / "out",
            accept="singled-out",
        )
    assert (refused.value.check, refused.value.columns) == ("key-column", ("usubjid",))
    assert not (tmp_path / "out").exists()
    accepted = ("singled-out", "key-column")
    release = publish(
        read_table(table, schema_of(table)),
        RandomizedResponse(retention=0.5),
        tmp_path / "out",
        accept=accepted,
    )
    assert "key-column" in release.manifest.accepted


@pytest.mark.parametrize("values", [None, "ward 1"])
def test_a_column_with_one_value_or_none_is_no_key(tmp_path, values):
    """Nor a fault."""
    table = visits(usubjid=pa.array([values] * (SUBJECTS * VISITS), pa.string()))
    schema = schema_of(table)
    if values is not None:
        schema = Schema(
            attributes=tuple(
                each.model_copy(update={"categories": (values, "ward 2")}) if each.name == "usubjid" else each
                for each in schema.attributes
            )
        )
    release = publish(
        read_table(table, schema), RandomizedResponse(retention=0.5), tmp_path / "out", accept="singled-out"
    )
    assert "key-column" not in release.manifest.accepted
