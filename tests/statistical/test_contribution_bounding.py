"""Rows of units are drawn uniformly without replacement, in one engine as in splits."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato import Schema, read_table
from sfumato.data import duckdb_engine
from sfumato.data.distributed import splits, units
from sfumato.data.distributed.engine import LocalRunner, SplitEngine
from sfumato.data.duckdb_engine import DuckDBEngine
from sfumato.randomness.streams import NoiseSource

pytestmark = pytest.mark.statistical

UNITS, ROWS, KEPT = 12_000, 4, 2
SUBSETS = [bits for bits in range(2**ROWS) if bits.bit_count() == KEPT]

SCHEMA = Schema.from_toml(f"""
[attributes.person]
role = "unit"
rows_per_unit = {KEPT}
excess_rows = "sample"
[attributes.who]
role = "other"
bins = [{", ".join(map(str, range(0, UNITS + 1, 120)))}]
[attributes.rest]
role = "other"
bins = [{", ".join(map(str, range(121)))}]
[attributes.turn]
role = "sensitive"
categories = ["0", "1", "2", "3"]
""")


def people(folder):
    """Four rows of each person, which say whose they are and which one it is; they lie in different splits."""
    who = np.tile(np.arange(UNITS), ROWS)
    table = pa.table(
        {
            "person": [f"p{number}" for number in who],
            "who": who,
            "rest": who % 120,
            "turn": np.repeat(np.arange(ROWS), UNITS).astype(str),
        }
    )
    pq.write_table(table, folder / "people.parquet", row_group_size=5_000)
    return folder / "people.parquet"


@pytest.mark.parametrize("kind", ["duckdb", "splits"])
def test_every_subset_of_a_unit_is_equally_likely(alarm_budget, tmp_path, monkeypatch, kind):
    """Null: all 6 subsets of 2 of 4 rows are equally likely. Statistic: chi-square, n = 12,000 units.

    Twin: the first rows of each unit in the order of the file.
    """
    check = alarm_budget.draw("subsets of the rows of units", pieces=2)
    monkeypatch.setattr(splits, "ROWS_PER_SPLIT", 10_000)
    path = people(tmp_path)

    def p_value():
        engine = DuckDBEngine() if kind == "duckdb" else SplitEngine(LocalRunner(tmp_path))
        table = read_table(path, SCHEMA, engine=engine).drawn_by(NoiseSource.seeded(check.seed))
        subsets = np.zeros(UNITS, np.int64)
        for batch in table.scan():
            who = batch.codes["who"].astype(np.int64) * 120 + batch.codes["rest"]
            np.bitwise_or.at(subsets, who, 1 << batch.codes["turn"].astype(np.int64))
        engine.close()
        observed = [np.count_nonzero(subsets == each) for each in SUBSETS]
        assert sum(observed) == UNITS
        return alarm_budget.chi_square_p_value(observed, np.full(len(SUBSETS), UNITS / len(SUBSETS)))

    alarm_budget.assert_passes(p_value(), check)
    monkeypatch.setattr(duckdb_engine, "hashed_place", lambda _, place: place)
    draw = units.drawn_of_each
    monkeypatch.setattr(
        units, "drawn_of_each", lambda whose, words, most: draw(whose, np.zeros_like(words), most)
    )
    alarm_budget.assert_rejects(p_value(), check)
