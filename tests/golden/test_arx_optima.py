"""The optima that ARX 3.9.2 finds on a table anyone can make again.

The table and the expected levels stand in ``benchmarks/generalization.py``: optimal full-domain search with
ARX's loss metric, suppression limit 5 %.
"""

from __future__ import annotations

import importlib
from pathlib import Path

import pyarrow as pa
import pytest

from sfumato import Schema, read_table
from sfumato.methods.generalization.design import Generalization

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def reference(monkeypatch, tmp_path):
    """The benchmark's module, writing to a folder of the test."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    module = importlib.import_module("generalization")
    monkeypatch.setattr(module, "WORK", tmp_path)
    return module


def recoded(reference, rows, *, is_diverse):
    """The recoding of the reference table, from rows in memory."""
    table = pa.table(
        {
            name: column if name == "age" else pa.array([f"{name[:3]}_{value}" for value in column])
            for name, column in reference.arx_columns(rows).items()
        }
    )
    schema = Schema.read(reference.arx_schema(is_diverse=is_diverse))
    design = Generalization.model_validate(reference.arx_design(is_diverse=is_diverse))
    return design.recode(read_table(table, schema))


def assert_optimum(reference, rows, *, is_diverse):
    """Levels and dropped rows as ARX reports them."""
    found = recoded(reference, rows, is_diverse=is_diverse)
    levels, suppressed = reference.OPTIMA[rows, is_diverse]
    assert found.levels is not None
    assert tuple(found.levels.values()) == levels
    assert found.suppressed == suppressed


@pytest.mark.parametrize("is_diverse", [False, True], ids=["k = 10", "k = 10, l = 5"])
def test_the_optimum_at_30162_rows_is_that_of_arx(reference, is_diverse):
    """K = 10, without and with distinct 5-diversity of occupation."""
    assert_optimum(reference, 30_162, is_diverse=is_diverse)


@pytest.mark.slow
@pytest.mark.parametrize("is_diverse", [False, True], ids=["k = 10", "k = 10, l = 5"])
def test_the_optimum_at_a_million_rows_is_that_of_arx(reference, is_diverse):
    """The same goals on a million rows."""
    assert_optimum(reference, 1_000_000, is_diverse=is_diverse)


@pytest.mark.slow
def test_the_penalty_on_adult_is_below_that_of_basic_mondrian(reference):
    """K = 10 on the eight attributes of the Mondrian literature: at most 28.5 %. Needs the network once."""
    data, schema = reference.adult()
    design = Generalization.model_validate(reference.MONDRIAN)
    loss = design.recode(read_table(data, Schema.read(schema))).loss
    assert loss.normalized_certainty_penalty <= 0.285
