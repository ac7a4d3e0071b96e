"""Labels that a spreadsheet would run are written so that it does not, or refused, by choice, and that is said."""

from __future__ import annotations

import csv

import pyarrow as pa
import pytest
from pyarrow import parquet

LABELS = ["=cmd|' /C calc'!A0", "@SUM(A1)", "+1+1", "-2+3", "-9", "plain"]
PUBLISH = ("publish", "jobs.parquet", "--schema", "jobs.toml", "--method", "randomized-response")


@pytest.fixture
def jobs(folder):
    """A table whose labels are formulas, two numbers and words apart."""
    parquet.write_table(pa.table({"job": LABELS * 100}), folder / "jobs.parquet")
    listed = ", ".join(f'"{each}"' for each in LABELS)
    (folder / "jobs.toml").write_text(
        f'[attributes.job]\nrole = "sensitive"\ncategories = [{listed}]\n', encoding="utf-8"
    )


@pytest.mark.usefixtures("jobs")
def test_a_release_in_csv_is_refused_unless_they_are_kept(run, folder):
    """The number of such labels is said, and what can be done; a Parquet file runs nothing."""
    refused = run(*PUBLISH, "--set", "retention=0.5", "--format", "csv", "--out", "out")
    assert refused.exit_code == 1
    assert "4 labels" in refused.stderr
    assert "--formulas keep" in refused.stderr
    assert not (folder / "out").exists()
    kept = run(
        *PUBLISH, "--set", "retention=0.5", "--format", "csv", "--out", "out", "--formulas", "keep", "--again"
    )
    assert kept.exit_code == 0, kept.stderr
    assert run(*PUBLISH, "--set", "retention=0.5", "--out", "other", "--again").exit_code == 0


@pytest.mark.usefixtures("jobs")
def test_tables_of_counts_are_written_so_that_nothing_runs(run, folder):
    """By default with an apostrophe before them; or refused; or as they are. Each is said."""
    assert run(*PUBLISH, "--set", "retention=0.5", "--out", "out").exit_code == 0
    quoted = run("counts", "out", "--by", "job", "--csv", "quoted.csv")
    assert quoted.exit_code == 0
    assert "4 labels that a spreadsheet would run as a formula now begin with an apostrophe" in quoted.stderr
    kept = run("counts", "out", "--by", "job", "--csv", "kept.csv", "--formulas", "keep")
    assert "were written as they are" in kept.stderr
    refused = run("counts", "out", "--by", "job", "--csv", "refused.csv", "--formulas", "refuse")
    assert refused.exit_code == 1
    assert not (folder / "refused.csv").exists()

    def labels(name):
        with (folder / name).open(encoding="utf-8", newline="") as file:
            return [row["job"] for row in csv.DictReader(file)]

    assert labels("kept.csv") == LABELS
    assert labels("quoted.csv") == [f"'{each}" for each in LABELS[:4]] + LABELS[4:]
