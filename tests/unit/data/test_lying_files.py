"""Parquet files whose statistics are not those of their values: damaged, or made to harm whoever reads them."""

from __future__ import annotations

import struct
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

COMMAND = "from sfumato.cli import main; main()"

CLAIMED, TRUE = 78, 42_502_721_483_309_134
"""What the file says that its numbers are, and what they are: too long for the bytes that the first needs."""


@pytest.fixture
def lying(tmp_path):
    """A file of forty numbers, of which the statistics say something else."""
    path = tmp_path / "people.parquet"
    table = pa.table({"age": [CLAIMED] * 40, "sex": ["F", "M"] * 20})
    pq.write_table(table, path, use_dictionary=False, compression="none")
    content = path.read_bytes()
    values = struct.pack("<q", CLAIMED) * 40
    assert content.count(values) == 1
    path.write_bytes(content.replace(values, struct.pack("<q", TRUE) * 40))
    assert pq.read_table(path)["age"].to_pylist() == [TRUE] * 40
    assert pq.read_metadata(path).row_group(0).column(0).statistics.max == CLAIMED
    return path


def test_a_schema_is_learned_from_what_is_there(lying):
    """In a process of its own, which a fault of memory would end."""
    out = lying.parent / "schema.toml"
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, "schema", "infer", str(lying), "--out", str(out)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert str(CLAIMED) not in out.read_text(encoding="utf-8")


def test_rows_are_counted_by_what_is_there(lying):
    """And not by what would fit into the bytes that the statistics ask for."""
    code = (
        "import sys; from sfumato.data.duckdb_engine import DuckDBEngine; from sfumato.data.duckdb_connection import small_cursor\n"
        "engine = DuckDBEngine()\n"
        "for cursor in (engine._connection.cursor(), small_cursor()):\n"
        "    for what in ('age', 'cast(age as varchar)'):\n"
        "        asked = f\"select {what} as x, sex, count(*) from read_parquet('{sys.argv[1]}') group by all order by sex\"\n"
        "        print(*(str(each) for row in cursor.execute(asked).fetchall() for each in row))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(lying)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"{TRUE} F 20 {TRUE} M 20"] * 4
