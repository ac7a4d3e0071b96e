"""What the tasks of a publication send back is small, however many rows they looked at."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from published_rows import category_attribute
from sfumato import RandomizedResponse, publish, read_table
from sfumato.data import sample_uniques
from sfumato.data.distributed import splits
from sfumato.data.distributed import splits as resting
from sfumato.data.distributed.engine import LocalRunner, SplitEngine
from sfumato.release import distributed as parts
from sfumato.schema import Role, Schema

ROWS = 8_000
MOST_BYTES = 600
"""Of a file's answer: its name, its digest and its rows."""


@pytest.fixture(autouse=True)
def small_splits(monkeypatch):
    """Splits of 2,000 rows, files of 1,000."""
    for module in (splits, resting):
        monkeypatch.setattr(module, "ROWS_PER_SPLIT", 2_000)
    monkeypatch.setattr(parts, "ROWS_PER_FILE", 1_000)


@pytest.mark.parametrize("most", [2**19, 1_000])
def test_counters_of_all_splits_together_fit_this_process(tmp_path, monkeypatch, most):
    """Nearly every row is unique: of more rows than combinations are kept, every split counts a sample; parts stay small."""
    monkeypatch.setattr(sample_uniques, "MOST_KEYS", most)
    counted = sample_uniques.CountPersons.__call__
    kept = []

    def weighed_counter(self, *given):
        found = counted(self, *given)
        found._uniques[0].unique()
        kept.append(found._uniques[0]._keys._once.size)
        return found

    names = ("a", "b", "c", "secret")
    schema = Schema(
        attributes=tuple(
            category_attribute(name, 40, Role.SENSITIVE if name == "secret" else Role.QUASI_IDENTIFIER)
            for name in names
        )
    )
    draw = np.random.default_rng(1)
    rows = pa.table({name: draw.integers(0, 40, ROWS).astype(str) for name in names})
    pq.write_table(rows, tmp_path / "people.parquet")
    sizes, unique = [], []
    monkeypatch.setattr(sample_uniques.CountPersons, "__call__", weighed_counter)
    exchange = SplitEngine.exchange

    def weighed(self, *given):
        found = exchange(self, *given)
        sizes.extend(len(pickle.dumps(each)) for each in found)
        return found

    monkeypatch.setattr(SplitEngine, "exchange", weighed)
    design = RandomizedResponse(retention=0.5, attributes=("secret",))
    for number, engine in enumerate((SplitEngine(LocalRunner(tmp_path)), None)):
        given = {} if engine is None else {"engine": engine}
        table = read_table(tmp_path / "people.parquet", schema, **given)
        publish(
            table,
            design,
            tmp_path / f"out-{number}",
            seed=1,
            accept=("singled-out",),
            tell=unique.append,
            say=str,
        )
    assert len(sizes) == 8
    assert max(sizes) < MOST_BYTES
    there, here = (each.uniques for each in unique)
    assert sum(kept[:-1]) <= 1.2 * most
    assert abs(there.share - here.share) < (0.2 if most < ROWS else 1e-9)
    assert here.share > 0.7
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith("sfumato-")] == []
