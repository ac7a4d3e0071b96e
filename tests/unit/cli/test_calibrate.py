"""Parameters chosen for a goal, from the command line to a release that says so."""

from __future__ import annotations

import json

import pytest


def test_a_chosen_design_can_be_published(run, folder):
    """What calibrate writes, publish reads; the promise is the goal."""
    assert (
        run("calibrate", "--schema", "schema.toml", "--goal", "epsilon=1", "--out", "design.toml").exit_code
        == 0
    )
    outcome = run(
        "publish", "people.csv", "--schema", "schema.toml", "--design", "design.toml", "--out", "chosen"
    )
    assert outcome.exit_code == 0
    manifest = json.loads((folder / "chosen" / "datapackage.json").read_text())["sfumato"]
    total = sum(manifest["guarantees"][0]["epsilon_by_attribute"].values())
    # The retention is rounded down to keep the promise, so the total may fall short by that much.
    assert total == pytest.approx(1, abs=1e-4)
    assert total <= 1


def test_a_goal_on_risk_marks_the_release(run, folder):
    """Retentions found on the private table are said to be so in the manifest."""
    chosen = run(
        "calibrate", "people.csv", "--schema", "schema.toml", "--goal", "max-risk=0.5",
        "--goal", "quasi-identifiers=sex", "--out", "design.toml",
    )  # fmt: skip
    assert chosen.exit_code == 0, chosen.stderr
    assert "private" in chosen.stderr
    outcome = run(
        "publish", "people.csv", "--schema", "schema.toml", "--design", "design.toml", "--out", "chosen"
    )
    assert outcome.exit_code == 0, outcome.stderr
    manifest = json.loads((folder / "chosen" / "datapackage.json").read_text())["sfumato"]
    assert manifest["chosen_from_private_data"]


def test_a_gamma_is_advised_without_data(run):
    """The smallest group size that is private and accurate enough."""
    outcome = run(
        "calibrate", "--schema", "schema.toml", "--method", "splu-gen", "--goal", "wanted_error_probability=0.6",
        "--json",
    )  # fmt: skip
    assert json.loads(outcome.stdout)["gamma"] == 7


def test_a_goal_that_no_gamma_meets_writes_no_design(run, folder):
    """The sentence says what could be had."""
    outcome = run(
        "calibrate", "--schema", "schema.toml", "--method", "splu-gen", "--goal", "wanted_error_probability=0.9",
        "--out", "design.toml",
    )  # fmt: skip
    assert outcome.exit_code == 1
    assert "No gamma" in outcome.stderr
    assert not (folder / "design.toml").exists()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--goal", "epsilom=1"), "did you mean 'epsilon'"),
        (("--goal", "max-risk=0.2"), "Name the data"),
        (("--method", "anatomy", "--goal", "epsilon=1"), "there is no goal 'epsilon'"),
        (("--method", "anatomy", "--goal", "belief=1"), "protects nothing"),
        (("--method", "sample-perturb-scale", "--goal", "relative_error=0.2"), "Give DATA"),
        (("--goal", "epsilon=30"), "protects nothing"),
        (("--goal", "epsilon=1", "--goal", "risk=0.1"), "one kind at a time"),
        (("--method", "splu-gen", "--goal", "allowed_error_probability=2"), "less than 1"),
    ],
)
def test_goals_that_cannot_be_are_refused(run, arguments, reason):
    """With one sentence."""
    outcome = run("calibrate", "--schema", "schema.toml", *arguments)
    assert outcome.exit_code == 1
    assert reason in outcome.stderr


@pytest.mark.parametrize(
    ("method", "goals", "setting"),
    [
        ("anatomy", ("belief=0.5",), "l_value = 2"),
        ("generalization", ("match=0.2", "belief=0.9"), "k = 5"),
        ("noisy-marginals", ("epsilon=0.7", "delta=1e-6"), 'mechanism = "discrete-gaussian"'),
        ("columnized-counts", ("epsilon=0.7", "k=4"), "k = 4"),
    ],
)
def test_a_goal_on_the_promise_needs_no_rows(run, folder, method, goals, setting):
    """The design that is written publishes, and the release does not say that rows chose anything."""
    stated = [part for each in goals for part in ("--goal", each)]
    out = ("--out", "design.toml")
    outcome = run("calibrate", "--schema", "schema.toml", "--method", method, *stated, *out)
    assert outcome.exit_code == 0, outcome.stderr
    assert "What a release of it promises" in outcome.stdout
    written = (folder / "design.toml").read_text(encoding="utf-8")
    assert setting in written
    assert "chosen_from_private_data" not in written
    made = run("publish", "people.csv", "--schema", "schema.toml", "--design", "design.toml", "--out", "made")
    assert made.exit_code == 0, made.stderr


def test_a_standard_error_by_formulas_needs_the_number_of_rows_alone(run, folder):
    """What is chosen can be published, and rows chose nothing; without the number, rows are asked for."""
    asked = ("calibrate", "--schema", "schema.toml", "--goal", "std-error=40")
    outcome = run(*asked, "--rows", "900", "--out", "design.toml")
    assert outcome.exit_code == 0, outcome.stderr
    assert "keeps std-error of at most 40" in outcome.stdout
    assert "chosen_from_private_data" not in (folder / "design.toml").read_text(encoding="utf-8")
    without = run(*asked)
    assert without.exit_code == 1
    assert "--rows N" in without.stderr


def test_two_groups_can_be_compared(run, release):
    """The difference of shares is that of the two shares."""
    asked = ("query", "release", "job = 'Tech'", "--given", "sex = 'Male'", "--json")
    difference = json.loads(run(*asked, "--versus", "sex = 'Female'").stdout)
    first = json.loads(run(*asked).stdout)
    second = json.loads(run("query", "release", "job = 'Tech'", "--given", "sex = 'Female'", "--json").stdout)
    assert difference["estimate"] == pytest.approx(first["estimate"] - second["estimate"])
    # The groups share no row and the groups' sizes are exact, so the errors add up in squares.
    assert difference["std_error"] ** 2 == pytest.approx(first["std_error"] ** 2 + second["std_error"] ** 2)


def test_versus_needs_given(run, release):
    """Half a comparison is misuse."""
    assert run("query", "release", "job = 'Tech'", "--versus", "sex = 'Female'").exit_code == 2


def test_a_goal_on_standard_errors_of_questions_of_ones_own(run, folder):
    """Resampling answers about a value alone, with an error; together with others it refuses, and keeps no goal."""
    (folder / "alone.txt").write_text("job = 'Other'\n", encoding="utf-8")
    (folder / "together.txt").write_text("job = 'Other' AND sex = 'Female'\n", encoding="utf-8")
    arguments = (
        *("calibrate", "people.csv", "--schema", "schema.toml", "--method", "distribution-resampling"),
        *("--goal", "std-error=200", "--seed", "1"),
    )
    chosen = run(*arguments, "--questions", "alone.txt", "--out", "design.toml")
    assert chosen.exit_code == 0, chosen.stderr
    assert "keeps std-error of at most 200" in chosen.stdout
    refused = run(*arguments, "--questions", "together.txt")
    assert refused.exit_code == 1
    assert "no design answers all questions with a std-error" in refused.stderr
