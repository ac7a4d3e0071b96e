"""Labels that a spreadsheet would run are written so that it does not, or refused, by choice, and that is said."""

from __future__ import annotations

import csv
import json
import unicodedata

import pyarrow as pa
import pytest
from pyarrow import parquet

from sfumato.attacks.base import PeopleGuesses

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


@pytest.mark.parametrize("formulas", ["quote", "keep"])
def test_no_label_commands_the_terminal_that_a_table_is_shown_on(run, folder, formulas):
    """Control characters and marks that turn the direction of reading are written out, as they are on the terminal."""
    labels = ["a\x1b[2J", "b\x9b31m", "\u202ec", "=\x1b[2J", "plain"]
    parquet.write_table(pa.table({"job": labels * 100}), folder / "jobs.parquet")
    listed = ", ".join(json.dumps(each) for each in labels)
    (folder / "jobs.toml").write_text(f'[attributes.job]\nrole = "sensitive"\ncategories = [{listed}]\n')
    assert run(*PUBLISH, "--set", "retention=0.5", "--out", "out").exit_code == 0
    done = run("counts", "out", "--by", "job", "--csv", "out.csv", "--formulas", formulas)
    assert done.exit_code == 0, done.stderr
    written = (folder / "out.csv").read_text(encoding="utf-8")
    assert not [each for each in written if unicodedata.category(each) in ("Cc", "Cf") and each != "\n"]
    assert r"a\x1b[2J," in written
    assert (r"'=\x1b[2J," in written) == (formulas == "quote")


def test_the_people_of_an_attack_are_written_so_too(tmp_path):
    """The same table for another file."""
    PeopleGuesses({"name\x1b[2J": ["a\x1b[2J", "=1"]}).write(tmp_path / "people.csv")
    assert (tmp_path / "people.csv").read_text() == "name\\x1b[2J\na\\x1b[2J\n'=1\n"
