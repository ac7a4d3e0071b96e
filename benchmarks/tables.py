"""Make a table and its schema: ``tables.py OUT.parquet ROWS COLUMN ...``, run in a process of its own.

A column is ``name:size:role`` or ``name:size:role:skew``: values are drawn with weights ``1 / place ** skew``, all
columns independently. ``name*5:...`` makes five such columns; ``name:bins 100:role`` a number in a hundred bins.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROWS_AT_ONCE = 500_000


def columns(texts: list[str]) -> Iterator[tuple[str, str, str, float]]:
    """Name, size, role and skew of every column."""
    for text in texts:
        name, size, role, *skew = text.split(":")
        stem, _, times = name.partition("*")
        names = [f"{stem}{place}" for place in range(int(times))] if times else [name]
        for each in names:
            yield each, size, role, float(skew[0]) if skew else 0.0


def labels(name: str, size: str) -> list[str]:
    """Categories of a column."""
    return [f"{name}-{place}" for place in range(int(size))]


def write(path: Path, rows: int, chosen: list[tuple[str, str, str, float]]) -> None:
    """The rows, in portions."""
    draw = np.random.default_rng(1)
    kinds = {
        name: pa.float64() if size.startswith("bins") else pa.dictionary(pa.int32(), pa.string())
        for name, size, *_ in chosen
    }
    schema = pa.schema(list(kinds.items()))
    ends = {}
    for name, size, _, skew in chosen:
        weights = 1 / np.arange(1, int(size.split()[-1]) + 1) ** skew
        ends[name] = np.cumsum(weights / weights.sum())
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for start in range(0, rows, ROWS_AT_ONCE):
            number = min(ROWS_AT_ONCE, rows - start)
            arrays = []
            for name, size, *_ in chosen:
                codes = np.minimum(np.searchsorted(ends[name], draw.random(number)), ends[name].size - 1)
                arrays.append(
                    pa.array(codes + draw.random(number))
                    if size.startswith("bins")
                    else pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), labels(name, size))
                )
            writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))


def describe(name: str, size: str, role: str) -> str:
    """The lines of a schema file about a column."""
    if size.startswith("bins"):
        domain = f"bins = {list(range(int(size.split()[1]) + 1))}"
    else:
        domain = "categories = [" + ", ".join(f'"{label}"' for label in labels(name, size)) + "]"
    return f'[attributes.{name}]\nrole = "{role}"\n{domain}\n'


if __name__ == "__main__":
    out, number_of_rows, *given = sys.argv[1:]
    made = list(columns(given))
    write(Path(out), int(number_of_rows), made)
    Path(out).with_suffix(".schema.toml").write_text(
        "\n".join(itertools.starmap(describe, (each[:3] for each in made))), encoding="utf-8"
    )
