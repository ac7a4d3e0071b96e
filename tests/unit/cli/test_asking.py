"""The verbs query and counts."""

from __future__ import annotations

import csv
import json

import pytest

from samples import people

ROWS = 400
WOMEN = people(ROWS)["sex"].to_pylist().count("Female")


def test_query_prints_the_fields_of_the_contract(run, release):
    """An attribute that was not perturbed is known exactly, so the true number is the estimate."""
    answer = json.loads(run("query", release, "sex = 'Female'", "--confidence", "0.9", "--json").stdout)
    expected = {"estimate": WOMEN, "std_error": 0, "low": WOMEN, "high": WOMEN, "confidence": 0.9}
    assert {name: answer[name] for name in expected} == expected
    assert (answer["method"], answer["law"]) == ("randomized-response", "perturbed-rows")


def test_query_with_given_is_a_share(run, release):
    """The share of women among women is one."""
    answer = json.loads(run("query", release, "sex = 'Female'", "--given", "sex = 'Female'", "--json").stdout)
    assert answer["estimate"] == pytest.approx(1, rel=1e-12)


def test_query_about_the_population_is_less_certain(run, release):
    """Drawing the table from a population adds its own error."""
    answers = [
        json.loads(run("query", release, "job = 'Care'", "--target", target, "--json").stdout)
        for target in ("table", "population")
    ]
    assert answers[0]["std_error"] < answers[1]["std_error"]


def test_query_shows_people_its_error(run, release):
    """Without --json the answer is a few lines with the interval."""
    shown = run("query", release, "job = 'Care'").stdout
    assert "std. error" in shown
    assert "95 % interval" in shown


def test_counts_prints_the_fields_of_the_contract(run, release):
    """One row for each combination, attributes in the order asked for."""
    table = json.loads(run("counts", release, "--by", "job,sex", "--json").stdout)
    assert table["attributes"] == ["job", "sex"]
    assert len(table["rows"]) == 4 * 2
    assert set(table["rows"][0]) == {"values", "estimate", "std_error", "low", "high", "certainty"}
    assert table["rows"][0]["values"] == {"job": "Sales", "sex": "Female"}


def test_counts_takes_by_several_times_and_where(run, release):
    """Conditions restrict the rows."""
    arguments = ("--by", "sex", "--by", "region", "--where", "sex = 'Female'", "--json")
    table = json.loads(run("counts", release, *arguments).stdout)
    assert table["attributes"] == ["sex", "region"]
    assert sum(row["estimate"] for row in table["rows"]) == WOMEN


def test_consistent_counts_are_never_negative_and_add_up(run, release):
    """The consistent call is labelled and feasible."""
    table = json.loads(run("counts", release, "--by", "sex,age,job", "--consistent", "--json").stdout)
    assert table["consistent"] is True
    assert min(row["estimate"] for row in table["rows"]) >= 0
    assert sum(row["estimate"] for row in table["rows"]) == pytest.approx(ROWS, rel=1e-6)


def test_counts_writes_a_csv_file(run, release, folder):
    """The file holds what --json prints; stdout stays empty."""
    outcome = run("counts", release, "--by", "sex", "--csv", "counts.csv")
    assert (outcome.exit_code, outcome.stdout) == (0, "")
    with (folder / "counts.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["sex", "estimate", "std_error", "low", "high"]
    assert [float(cell) for cell in rows[1][1:]] == [WOMEN, 0, WOMEN, WOMEN]


def test_counts_does_not_overwrite_a_csv_file(run, release, folder):
    """An existing file is kept."""
    (folder / "counts.csv").write_text("mine")
    assert run("counts", release, "--by", "sex", "--csv", "counts.csv").exit_code == 1
    assert (folder / "counts.csv").read_text() == "mine"


def test_query_answers_a_file_of_questions(run, folder, release):
    """As many objects as lines that hold something, each what the question alone would give."""
    (folder / "questions.txt").write_text("job = 'Sales'\n\n  sex = 'Male' AND age < 35\n", encoding="utf-8")
    outcome = run("query", release, "--file", "questions.txt", "--json")
    assert outcome.exit_code == 0, outcome.stderr
    alone = [
        json.loads(run("query", release, question, "--json").stdout)
        for question in ("job = 'Sales'", "sex = 'Male' AND age < 35")
    ]
    assert json.loads(outcome.stdout) == alone
    text = run("query", release, "--file", "questions.txt").stdout
    assert text.count("Exactly") + text.count("Estimate") == 2


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"job = 'Sales'\njob = 'Slaes'\n", "question 2"), (b"\n \n", "no question"), (b"\xff\xfe", "UTF-8")],
)
def test_a_file_of_questions_that_cannot_be_asked_is_refused(run, folder, release, content, said):
    """In one sentence, without a single answer."""
    (folder / "questions.txt").write_bytes(content)
    outcome = run("query", release, "--file", "questions.txt")
    assert (outcome.exit_code, outcome.stdout) == (1, "")
    assert said in outcome.stderr


@pytest.mark.parametrize(
    "arguments", [(), ("job = 'Sales'", "--file", "q.txt"), ("--file", "q.txt", "--given", "sex = 'Male'")]
)
def test_one_question_or_a_file_of_them(run, release, arguments):
    """Both or neither is misuse."""
    assert run("query", release, *arguments).exit_code == 2
