"""Whether a release exists, and what it holds when nothing passed, tells nobody how many rows there are."""

from __future__ import annotations

import subprocess
import sys

import pyarrow as pa
import pytest
from pyarrow import csv

from sfumato import Schema, load_release, publish, read_table
from sfumato.errors import SfumatoError
from sfumato.methods.columnized_counts.design import ColumnizedCounts
from sfumato.release.release import Release
from sfumato.report import write_report

SCHEMA = Schema.from_toml("""
[attributes.a]
role = "sensitive"
categories = ["x", "y"]

[attributes.b]
role = "quasi-identifier"
categories = ["u", "v"]
""")
EMPTY = "spends epsilon again"


def table(rows, others=0):
    """Identical rows, and some that can never be published."""
    return pa.table({"a": ["x"] * rows + ["y"] * others, "b": ["u"] * (rows + others)})


@pytest.mark.parametrize(("rows", "others"), [(0, 0), (1, 0), (9, 0), (9, 1)])
def test_a_release_is_made_whatever_the_number_of_rows(tmp_path, rows, others):
    """Fewer than k rows are never published, and the release is made all the same, with a warning to its maker alone."""
    for number in range(5):
        with pytest.warns(UserWarning, match=EMPTY):
            release = publish(
                read_table(table(rows, others), SCHEMA),
                ColumnizedCounts(k=10, epsilon=1.0),
                tmp_path / str(number),
            )
        assert release.number_of_rows == 0


@pytest.mark.filterwarnings("ignore:the release is empty")
def test_one_row_that_cannot_be_published_decides_nothing(tmp_path):
    """31 identical rows, 32, and 31 with another: seeded alike, every release is made."""
    design = ColumnizedCounts(k=10, epsilon=1.0)
    for number, (rows, others) in enumerate([(31, 0), (32, 0), (31, 1)] * 10):
        made = publish(read_table(table(rows, others), SCHEMA), design, tmp_path / str(number), seed=number)
        assert made.law.total is not None


@pytest.fixture
def empty(tmp_path):
    """A release in which nothing passed, opened again."""
    with pytest.warns(UserWarning, match=EMPTY):
        made = publish(
            read_table(table(5), SCHEMA), ColumnizedCounts(k=10, epsilon=1.0), tmp_path / "r", seed=1
        )
    return load_release(made.folder)


QUESTIONS = {
    "query": lambda release: release.query("a = 'x'"),
    "all rows": lambda release: release.query(),
    "row": lambda release: release.query("a = 'x' AND b = 'u'"),
    "counts": lambda release: release.counts(["a", "b"]),
    "consistent": lambda release: release.consistent_counts(["a"]),
    "population": lambda release: release.counts(["a"], target="population"),
    "share": lambda release: release.proportion("a = 'x'", given="b = 'u'"),
    "difference": lambda release: release.difference("a = 'x'", given="b = 'u'", versus="b = 'v'"),
    "measures": lambda release: release.measures("a", "b"),
    "regression": lambda release: release.regression("a ~ b"),
    "independence": lambda release: release.independence("a", "b"),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", list(QUESTIONS))
def test_an_empty_release_answers_or_refuses_in_words(empty: Release, name):
    """No fault, no warning."""
    try:
        text = str(QUESTIONS[name](empty))
    except SfumatoError as refused:
        text = str(refused)
    assert len(text) > 20


def test_an_empty_release_is_reported(empty, tmp_path):
    """With its number of rows."""
    write_report(empty, tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size > 1_000


def test_the_command_line_writes_the_empty_release_and_warns_on_stderr(tmp_path):
    """Exit 0; the warning is talk, not data."""
    csv.write_csv(table(5), tmp_path / "rows.csv")
    (tmp_path / "schema.toml").write_text(SCHEMA.to_toml(), encoding="utf-8")
    verb = "publish rows.csv --schema schema.toml --method columnized-counts --set epsilon=1 --out release"
    ledger = f"--ledger {tmp_path / 'ledger.db'}"
    done = subprocess.run(
        [sys.executable, "-c", "from sfumato.cli import main; main()", *verb.split(), *ledger.split()],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert EMPTY in " ".join(done.stderr.split())
    assert EMPTY not in done.stdout
    assert load_release(tmp_path / "release").number_of_rows == 0
