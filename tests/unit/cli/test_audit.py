"""``sfumato audit``: what is said, what is not, and how it ends."""

from __future__ import annotations

import hashlib
import json
import shutil
import stat

import pyarrow as pa
import pytest
from pyarrow import csv

from foreign import rewritten
from samples import people

AUDIT = ("--against", "people.csv", "--schema", "schema.toml", "--seed", "1")


def publish(run, retention, out, rows="people.csv"):
    """A release of randomized response."""
    outcome = run(
        "publish",
        rows,
        "--schema",
        "schema.toml",
        "--method",
        "randomized-response",
        "--set",
        f"retention={retention}",
        "--format",
        "csv",
        "--seed",
        "1",
        "--out",
        out,
    )
    assert outcome.exit_code == 0, outcome.stderr


def test_a_right_release_is_not_refuted(run, folder):
    """Verdict with its level, control by name, everything skipped with its reason; JSON says the same."""
    publish(run, 0.5, "release")
    outcome = run("audit", "release", *AUDIT)
    assert outcome.exit_code == 0
    assert outcome.stdout.startswith("Not refuted in 4 tests of the law at a family-wise level of 0.0001.")
    assert "against the same people, their own row left out" in outcome.stdout
    assert "attack averaging" in outcome.stdout
    told = json.loads(run("audit", "release", *AUDIT, "--json").stdout)
    assert told["refuted"] == []
    assert told["attributes"][0]["control"] == "the same people, their own row left out"
    assert {each["reason"] != "" for each in told["skipped"]} == {True}


def test_rows_that_were_distorted_less_than_stated_are_refuted(run, folder):
    """Rows of a release that kept nine of ten under a manifest that states one half: exit 3, and what was refuted."""
    publish(run, 0.5, "release")
    publish(run, 0.9, "weaker")
    rows = folder / "release" / "rows.csv"
    shutil.copy(folder / "weaker" / "rows.csv", rows)
    digest = hashlib.sha256(rows.read_bytes()).hexdigest()
    rewritten(folder / "release", lambda block: block["tables"][0].update(sha256=digest))
    outcome = run("audit", "release", *AUDIT)
    assert outcome.exit_code == 3, outcome.stderr
    assert outcome.stdout.startswith("REFUTED: published job")


def test_exposed_people_stand_in_a_private_file_alone(run, folder):
    """Readable by its owner only, and no line of it in what is printed."""
    table = people(400)
    alone = table.slice(0, 60).set_column(1, "sex", pa.array(["Female"] * 60))
    csv.write_csv(alone, folder / "few.csv")
    publish(run, 0.999, "release", rows="few.csv")
    arguments = ("audit", "release", "--against", "few.csv", "--schema", "schema.toml", "--seed", "1")
    outcome = run(*arguments, "--people", "exposed.csv")
    assert outcome.exit_code == 0, outcome.stderr
    written = folder / "exposed.csv"
    assert stat.S_IMODE(written.stat().st_mode) == 0o600
    lines = written.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "sex,age,attribute,stated,probability,right"
    assert len(lines) > 1
    assert not any(line in outcome.stdout for line in lines[1:])
    again = run(*arguments, "--people", "exposed.csv")
    assert again.exit_code == 1


def test_people_who_are_not_in_the_table_are_the_first_control(run, folder):
    """They are named in the output; too few of them are refused."""
    publish(run, 0.5, "release")
    csv.write_csv(people(200, seed=99), folder / "others.csv")
    csv.write_csv(people(10, seed=99), folder / "few.csv")
    outcome = run("audit", "release", *AUDIT, "--control", "others.csv")
    assert "against people who are not in the table, as given" in outcome.stdout
    refused = run("audit", "release", *AUDIT, "--control", "few.csv")
    assert refused.exit_code == 1
    assert "10 rows, too few for an interval" in refused.stderr


def test_the_table_itself_is_no_control(run, folder):
    """In whatever order its rows stand."""
    publish(run, 0.5, "release")
    header, *lines = (folder / "people.csv").read_text(encoding="utf-8").splitlines()
    (folder / "others.csv").write_text("\n".join([header, *reversed(lines)]) + "\n", encoding="utf-8")
    refused = run("audit", "release", *AUDIT, "--control", "others.csv")
    assert refused.exit_code == 1
    assert "the very rows of the table" in refused.stderr


def test_a_method_whose_rows_cannot_be_taken_out_is_published_again(run, folder):
    """The figures are labelled as about the design."""
    outcome = run(
        "publish", "people.csv", "--schema", "schema.toml", "--method", "anatomy", "--set", "l_value=2",
        "--seed", "1", "--out", "release",
    )  # fmt: skip
    assert outcome.exit_code == 0, outcome.stderr
    audited = run("audit", "release", *AUDIT, "--repeats", "3")
    assert audited.exit_code == 0, audited.stderr
    assert "people held out of the design published again" in audited.stdout
    assert "does not show which rows" not in audited.stdout


@pytest.mark.parametrize("how", ["rows", "categories"])
def test_another_table_is_refused_with_what_differs(run, folder, how):
    """Rows that the release cannot be of, or an attribute with other categories."""
    publish(run, 0.5, "release")
    if how == "rows":
        csv.write_csv(people(400, seed=3), folder / "people.csv")
    else:
        path = folder / "schema.toml"
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace('"Other"]', '"Other", "None"]'), encoding="utf-8")
    outcome = run("audit", "release", *AUDIT)
    assert outcome.exit_code == 1
    said = {"rows": "rows whose sex, age the table's rows have not as often", "categories": "the same job as"}
    assert said[how] in outcome.stderr


def test_two_releases_tell_more_than_one(run, folder):
    """Used together they are named as such; the most linkable are guessed no less."""
    for number, name in enumerate(("first", "second")):
        outcome = run(
            "publish", "people.csv", "--schema", "schema.toml", "--method", "randomized-response", "--set",
            "retention=0.5", "--seed", str(number), "--out", name,
        )  # fmt: skip
        assert outcome.exit_code == 0, outcome.stderr
    both = run("audit", "first", "second", *AUDIT)
    assert both.exit_code == 0, both.stderr
    assert "2 releases of one table, used together." in both.stdout


def test_an_audit_is_written_as_a_page_for_its_owner_alone(run, folder):
    """Risk with and without, the curve of stated probabilities, weaknesses, parameters and the command; no line about single people."""
    publish(run, 0.5, "release")
    outcome = run("audit", "release", *AUDIT, "--report", "audit.html")
    assert outcome.exit_code == 0, outcome.stderr
    path = folder / "audit.html"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    page = path.read_text(encoding="utf-8")
    for told in ("Risk to job", "without, ", "Stated probabilities and how often", "Weaknesses", "noindex"):
        assert told in page
    assert "sfumato audit release --against people.csv --schema schema.toml" in page
    assert "&#34;retention&#34;" in page or "retention" in page
    assert run("audit", "release", *AUDIT, "--report", "audit.html").exit_code == 1
