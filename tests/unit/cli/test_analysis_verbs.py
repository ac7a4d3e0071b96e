"""The verbs that compute from a release, through its law."""

from __future__ import annotations

import json

from sfumato import load_release


def test_measures_prints_the_fields_of_the_contract(run, release):
    """The same numbers as in Python."""
    shown = json.loads(run("measures", release, "--of", "sex,job", "--json").stdout)
    assert shown["of"] == ["sex", "job"]
    assert shown.keys() >= {"interval", "confidence", "method", "law", "target", "measures", "notes"}
    assert shown["measures"] == load_release(release).measures("sex", "job").to_dict()["measures"]
    assert shown["measures"][0].keys() >= {"measure", "estimate", "std_error", "low", "high"}


def test_measures_takes_conditions(run, release):
    """Each --of is one side, so that a condition may hold commas."""
    outcome = run("measures", release, "--of", "sex", "--of", "job IN ('Care', 'Tech')")
    assert outcome.exit_code == 0, outcome.stderr
    assert "odds-ratio" in outcome.stdout


def test_measures_of_one_attribute_is_misused(run, release):
    """Two are needed."""
    outcome = run("measures", release, "--of", "sex")
    assert outcome.exit_code == 2
    assert "two attributes or conditions" in outcome.stderr


def test_measures_of_an_unknown_attribute_is_refused(run, release):
    """In one sentence."""
    outcome = run("measures", release, "--of", "sex,jbo")
    assert outcome.exit_code == 1
    assert "did you mean 'job'?" in outcome.stderr


def test_mean_prints_the_fields_of_the_contract(run, release):
    """Age was not perturbed: the error is what bins hide, and nothing else."""
    shown = json.loads(run("mean", release, "age", "--json").stdout)
    assert shown["std_error"] == 0
    assert shown["lowest"] < shown["estimate"] < shown["highest"]
    assert shown == load_release(release).mean("age").to_dict() | {"notes": []}


def test_mean_gives_quantiles_and_variances(run, release):
    """One statistic a call."""
    median = json.loads(run("mean", release, "age", "--quantile", "0.5", "--json").stdout)
    assert median["statistic"] == "median of age"
    assert median["estimate"] == load_release(release).quantile("age", 0.5).estimate
    spread = json.loads(run("mean", release, "age", "--variance", "--where", "sex = 'Male'", "--json").stdout)
    assert spread["estimate"] == load_release(release).variance("age", where="sex = 'Male'").estimate
    assert run("mean", release, "age", "--variance", "--quantile", "0.5").exit_code == 2


def test_mean_of_names_is_refused_and_scores_help(run, release):
    """An unordered attribute has no mean unless its categories get numbers."""
    refused = run("mean", release, "sex")
    assert refused.exit_code == 1
    assert "not declared as ordered numbers" in refused.stderr
    scored = run("mean", release, "sex", "--score", "Female=1", "--score", "Male=0", "--json")
    share = load_release(release).proportion("sex = 'Female'").estimate
    assert abs(json.loads(scored.stdout)["estimate"] - share) < 1e-12
    assert run("mean", release, "sex", "--score", "Female").exit_code == 2


def test_regression_prints_the_fields_of_the_contract(run, release):
    """The same numbers as in Python."""
    formula = "job = 'Care' ~ sex"
    shown = json.loads(run("regression", release, formula, "--target", "population", "--json").stdout)
    assert shown.keys() >= {
        "formula",
        "family",
        "target",
        "interval",
        "covariance",
        "strength",
        "steps",
        "notes",
    }
    assert shown["family"] == "logistic"
    fitted = load_release(release).regression(formula, target="population")
    assert shown["coefficients"] == [each.to_dict() for each in fitted.coefficients]
    assert shown["coefficients"][1]["term"] == "sex = 'Male'"


def test_regression_shows_a_table(run, release):
    """Estimate, standard error, interval, odds ratio."""
    shown = run("regression", release, "job = 'Care' ~ sex", "--interval", "score").stdout
    assert "Std. error" in shown
    assert "Odds ratio" in shown


def test_regression_on_an_unknown_name_is_refused(run, release):
    """With its place."""
    outcome = run("regression", release, "job = 'Care' ~ sxe")
    assert outcome.exit_code == 1
    assert "at character 16 of the formula" in outcome.stderr


def test_independence_prints_its_p_value(run, release):
    """Job goes with sex in these rows; the same numbers as in Python."""
    shown = json.loads(run("independence", release, "--of", "sex,job", "--json").stdout)
    assert shown["p_value"] < 0.01
    assert shown == load_release(release).independence("sex", "job").to_dict()
    assert "Corrected chi-square" in run("independence", release, "--of", "sex,job").stdout


def test_rules_prints_the_fields_of_the_contract(run, release):
    """The same numbers as in Python."""
    asked = ("--minimum-support", "0.05", "--minimum-confidence", "0.3", "--longest", "2")
    shown = json.loads(run("rules", release, *asked, "--decide-by", "lower", "--json").stdout)
    same = load_release(release).rules(
        minimum_support=0.05, minimum_confidence=0.3, longest=2, decide_by="lower"
    )
    assert shown == json.loads(json.dumps(same.to_dict()))
    assert shown["rules"][0].keys() >= {"antecedent", "consequent", "support", "confidence_low", "lift_high"}
    assert shown["sets"][0].keys() >= {"items", "support", "std_error", "low", "high"}


def test_rules_of_private_data_say_that_they_are_private(run):
    """With a schema the argument is data, not a release."""
    outcome = run(
        "rules", "people.csv", "--schema", "schema.toml", "--among", "sex", "--among", "job = 'Care'"
    )
    assert outcome.exit_code == 0, outcome.stderr
    assert "private: computed from the data" in outcome.stdout


def test_rules_with_wrong_thresholds_are_refused(run, release):
    """In one sentence, with what is allowed."""
    outcome = run("rules", release, "--minimum-support", "0")
    assert outcome.exit_code == 1
    assert "minimum_support is a share above 0" in outcome.stderr


def test_counts_gives_shares_and_simultaneous_intervals(run, release):
    """The same as in Python."""
    shown = json.loads(
        run(
            "counts", release, "--by", "sex,job", "--shares", "row", "--simultaneous", "max-t", "--json"
        ).stdout
    )
    same = load_release(release).shares(["sex", "job"], within=["sex"], simultaneous="max-t")
    assert shown["rows"] == same.to_dict()["rows"]
    assert shown["shares_within"] == ["sex"]
    assert shown["confidence_of_each"] > 0.95
    column = json.loads(run("counts", release, "--by", "sex,job", "--shares", "column", "--json").stdout)
    assert column["shares_within"] == ["job"]


def test_shares_of_consistent_counts_are_misused(run, release):
    """They are made of unbiased ones."""
    assert run("counts", release, "--by", "sex,job", "--shares", "row", "--consistent").exit_code == 2
    assert run("counts", release, "--by", "job", "--simultaneous", "max-t", "--consistent").exit_code == 2
