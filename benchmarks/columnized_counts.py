"""Columnized counts at size: 100,000 units, 1,000 items, 20 million values, from file to release."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from measuring import WORK, Measurement, finish, run_python

MAKE = """
import sys
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
out, units, items, values = sys.argv[1], *map(int, sys.argv[2:])
draw = np.random.default_rng(1)
share = draw.lognormal(0, 1, items)
share = np.clip(share / share.mean() * values / units / items, 0, 0.9)
# Cutting at 0.9 loses some; the rest is scaled until the total is right.
for _ in range(50):
    share = np.clip(share * values / units / share.sum(), 0, 0.9)
group = draw.integers(0, 10, items)
names = pa.array([f"item-{i}" for i in range(items)])
stars = pa.array(["1", "2", "3", "4", "5"])
schema = pa.schema([("user", pa.string()), ("item", pa.dictionary(pa.int16(), pa.string())), ("stars", pa.dictionary(pa.int8(), pa.string()))])
with pq.ParquetWriter(out, schema, compression="zstd") as writer:
    for first in range(0, units, 5_000):
        number = min(5_000, units - first)
        unit, item = np.nonzero(draw.random((number, items)) < share)
        taste = draw.integers(0, 5, (number, 10))
        code = np.where(draw.random(unit.size) < 0.6, taste[unit, group[item]], draw.integers(0, 5, unit.size))
        people = pa.DictionaryArray.from_arrays(pa.array(unit.astype("int32")), pa.array([f"u{first + u}" for u in range(number)]))
        writer.write_batch(pa.RecordBatch.from_arrays([
            people.dictionary_decode(),
            pa.DictionaryArray.from_arrays(pa.array(item.astype("int16")), names),
            pa.DictionaryArray.from_arrays(pa.array(code.astype("int8")), stars)], schema=schema))
categories = ", ".join(f'"item-{i}"' for i in range(items))
open(out + ".schema.toml", "w").write(f'''[long]
unit = "user"
item = "item"
value = "stars"
[attributes.user]
role = "identifier"
[attributes.item]
role = "other"
categories = [{categories}]
[attributes.stars]
role = "sensitive"
categories = ["1", "2", "3", "4", "5"]
''')
"""

PUBLISH = """
import shutil, sys
from sfumato import publish, read_table
from sfumato.methods.columnized_counts.design import ColumnizedCounts
data, schema, out = sys.argv[1:]
shutil.rmtree(out, ignore_errors=True)
design = ColumnizedCounts(k=10, epsilon=2.3, delta=1e-5, columns=(5, 10, 50), column_budget=8, schema_share=0.2)
publish(read_table(data, schema), design, out)
"""


def measure(units: int, items: int, values: int) -> Iterator[Measurement]:
    """Processor seconds and peak memory of similarity, columnization and publishing, reading included."""
    WORK.mkdir(exist_ok=True)
    data = WORK / f"ratings-{units}-{items}-{values}.parquet"
    schema = Path(f"{data}.schema.toml")
    if not schema.exists():
        run_python(MAKE, data, str(units), str(items), str(values))
    run = run_python(PUBLISH, data, schema, WORK / "release-columnized")
    what = f"{units:,} units, {items:,} items, {values / 1e6:g} M values"
    yield Measurement(f"columnized counts, {what}, CPU s", run.cpu, 60, f"{run.wall:.1f} s on the clock")
    yield Measurement(f"columnized counts, {what}, GB", run.megabytes / 1024, 4)


if __name__ == "__main__":
    sizes = tuple(int(each) for each in sys.argv[1:]) or (100_000, 1_000, 20_000_000)
    finish(measure(*sizes))
