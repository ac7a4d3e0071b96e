"""The gate: nobody publishes rows that everybody can find without having been told."""

from __future__ import annotations

import json
import re

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv

from sfumato import RandomizedResponse, Schema, publish, read_table
from sfumato.errors import UniqueRowsError

ROWS, COLUMNS = 2_000, 60
METHOD = ("--method", "randomized-response", "--set", "retention=0.5")
PUBLISH = ("publish", "wide.csv", "--schema", "wide.toml", "--out", "out")


def wide_schema(role):
    """A secret and many columns of ten categories."""
    digits = json.dumps(list("0123456789"))
    columns = [
        f'[attributes.c{place}]\nrole = "{role}"\ncategories = {digits}' for place in range(COLUMNS - 1)
    ]
    return "\n".join([*columns, f'[attributes.secret]\nrole = "sensitive"\ncategories = {digits}'])


@pytest.fixture
def wide(folder):
    """Writes a table of 60 columns whose rows are all unique, with columns of a role; three of them say who it is."""

    def write(role, *, alike=False):
        draw = np.random.default_rng(1)
        names = [*(f"c{place}" for place in range(COLUMNS - 1)), "secret"]
        columns = {name: draw.integers(0, 10, ROWS).astype(str) for name in names}
        if alike:
            columns |= {name: np.zeros(ROWS, int).astype(str) for name in names[:-1]}
        csv.write_csv(pa.table(columns), folder / "wide.csv")
        (folder / "wide.toml").write_text(wide_schema(role), encoding="utf-8")

    return write


def test_rows_that_everybody_finds_are_refused(run, wide, folder):
    """Nothing is written; the sentence says how many, by what, what it reveals, and the flag."""
    wide("other")
    outcome = run(*PUBLISH, *METHOD)
    assert outcome.exit_code == 1, outcome.stderr
    assert "2,000 of 2,000 rows (100.0 %) are unique on the 59 attributes" in outcome.stderr
    assert re.search(r"of all rows already on c\d+, c\d+ and c\d+ alone", outcome.stderr)
    assert "--accept-unique-rows" in outcome.stderr
    assert not (folder / "out").exists()
    assert not [each for each in folder.iterdir() if each.name.startswith(".")]


def test_they_are_published_when_that_is_accepted(run, wide, folder):
    """And the number stands on top of the report, which warns."""
    wide("other")
    outcome = run(*PUBLISH, *METHOD, "--accept-unique-rows")
    assert outcome.exit_code == 0, outcome.stderr
    assert "2,000 of 2,000 rows (100.0 %) are unique" in outcome.stdout
    assert run("report", "out", "--out", "report.html").exit_code == 0
    page = (folder / "report.html").read_text(encoding="utf-8")
    top = page[: page.index("What was published")]
    assert "2,000 of 2,000 rows (100.0 %) are unique" in top
    assert "Many rows can be found" in top


def test_a_refused_release_is_in_no_ledger(run, wide):
    """It was not made, so that the next one is the first."""
    wide("other")
    assert run(*PUBLISH, *METHOD).exit_code == 1
    assert run(*PUBLISH, *METHOD, "--accept-unique-rows").exit_code == 0


def test_quasi_identifiers_alone_are_one_warning(run, wide):
    """The attacker of these methods knows them."""
    wide("quasi-identifier")
    outcome = run(*PUBLISH, *METHOD)
    assert outcome.exit_code == 0, outcome.stderr
    assert sum("are unique on" in line for line in outcome.stderr.splitlines()) == 1
    assert "2,000 of 2,000 rows" in outcome.stdout


def test_rows_that_nobody_finds_are_published_with_the_number(run, wide, folder):
    """The number is said when it is nought too."""
    wide("other", alike=True)
    outcome = run(*PUBLISH, *METHOD, "--json")
    assert outcome.exit_code == 0, outcome.stderr
    assert json.loads(outcome.stdout)["unique_rows"]["unique_rows"] == 0
    assert run("report", "out", "--out", "report.html").exit_code == 0
    assert "0 of 2,000 rows (0.0 %) are unique" in (folder / "report.html").read_text(encoding="utf-8")


def test_methods_that_publish_no_rows_have_no_gate(run, wide):
    """There is no row to find."""
    wide("other")
    outcome = run(
        *(*PUBLISH, "--method", "noisy-marginals", "--set", "epsilon=1"),
        *("--set", 'marginals=[["c0", "c1"]]', "--json"),
    )
    assert outcome.exit_code == 0, outcome.stderr
    assert json.loads(outcome.stdout)["unique_rows"] is None


def test_columns_that_are_changed_do_not_count(run, wide):
    """When all columns are perturbed there is nothing by which rows are found."""
    wide("other")
    outcome = run(*PUBLISH, *METHOD, "--set", f"attributes={','.join(f'c{n}' for n in range(59))},secret")
    assert outcome.exit_code == 0, outcome.stderr
    assert "unique" not in outcome.stdout


def test_inspect_says_it_in_one_sentence(run, wide):
    """Before anything is published."""
    wide("other")
    outcome = run("inspect", "wide.csv", "--schema", "wide.toml")
    assert outcome.exit_code == 0, outcome.stderr
    last = outcome.stdout.strip().splitlines()[-1]
    assert last.startswith(
        "2,000 of 2,000 rows (100.0 %) are unique on the 60 attributes that could be published"
    )


def test_the_gate_is_in_the_library_too(tmp_path):
    """Not only in front of it; nothing of the folder remains."""
    schema = Schema.from_toml(wide_schema("other"))
    draw = np.random.default_rng(1)
    table = read_table(
        pa.table({name: draw.integers(0, 10, 500).astype(str) for name in schema.names}), schema
    )
    with pytest.raises(UniqueRowsError, match="unique"):
        publish(table, RandomizedResponse(retention=0.5), tmp_path / "out", seed=1)
    assert not list(tmp_path.iterdir())
    release = publish(
        table, RandomizedResponse(retention=0.5), tmp_path / "out", seed=1, accept_unique_rows=True
    )
    assert release.number_of_rows == 500
