"""The verbs that compute from a release, through its law."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

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


def test_advise_prints_the_fields_of_the_contract(run, release):
    """Job is perturbed by a law that is told; the advice is as if it were not."""
    shown = json.loads(run("advise", release, "--of", "sex,job", "--given", "age", "--json").stdout)
    assert shown.keys() >= {"of", "given", "knowing", "perturbed", "judged"}
    assert shown == load_release(release).advise("sex", "job", given=["age"]).to_dict()
    assert run("advise", release).exit_code == 0
    assert run("advise", release, "--of", "sex").exit_code == 2


def test_check_matrix_prints_the_fields_of_the_contract(run, release, folder):
    """By retention, by a matrix in a file, with a margin."""
    shown = json.loads(run("check-matrix", release, "job", "--retention", "0.5", "--json").stdout)
    assert shown["conclusion"] == "not refuted"
    (folder / "matrix.csv").write_text(
        "\n".join(",".join("0.625" if i == j else "0.125" for j in range(4)) for i in range(4))
    )
    assert run("check-matrix", release, "job", "--matrix", "@matrix.csv").exit_code == 0
    margin = [part for label in ("Sales", "Tech", "Care", "Other") for part in ("--margin", f"{label}=0.25")]
    refuted = run("check-matrix", release, "job", "--retention", "0.5", *margin)
    assert "refuted" in refuted.stdout
    assert run("check-matrix", release, "job", "--retention", "0.5", "--margin", "Sales").exit_code == 2
    assert run("check-matrix", release, "job", "--matrix", "0.5").exit_code == 2
    assert run("check-matrix", release, "age", "--retention", "0.5").exit_code == 1


def test_independence_takes_groups_and_more_attributes(run, release):
    """Given, mutual, and on published rows."""
    given = json.loads(run("independence", release, "--of", "sex,job", "--given", "age", "--json").stdout)
    assert (given["given"], given["wald_degrees"]) == (["age"], 9)
    several = json.loads(run("independence", release, "--of", "sex,age,job", "--json").stdout)
    assert several["wald_degrees"] == 24 - 1 - 1 - 2 - 3
    stand = run("independence", release, "--of", "sex,job", "--counts", "published", "--json")
    assert json.loads(stand.stdout)["degrees"] == 3
    assert run("independence", release, "--of", "sex").exit_code == 2


def test_loglinear_fits_or_searches(run, release):
    """The same numbers as in Python."""
    shown = json.loads(run("loglinear", release, "sex*job + age", "--json").stdout)
    assert shown.keys() >= {"model", "generators", "coefficients", "test", "fitted", "notes"}
    assert shown["coefficients"] == load_release(release).loglinear("sex*job + age").to_dict()["coefficients"]
    found = json.loads(run("loglinear", release, "--search", "sex,job,age", "--json").stdout)
    assert found["exploratory"] is True
    assert len(found["candidates"]) == 9
    assert run("loglinear", release).exit_code == 2
    assert run("loglinear", release, "sex*jbo").exit_code == 1


def test_a_withheld_law_is_published_and_refuses_estimates(run, folder):
    """Exit 1 with what stays valid; tests go on."""
    made = run(
        *("publish", "people.csv", "--schema", "schema.toml", "--method", "randomized-response"),
        *("--set", "retention=0.5", "--withhold-law", "--out", "hidden"),
    )
    assert made.exit_code == 0, made.stderr
    assert "Cannot be checked" in made.stdout
    assert "local differential privacy" in made.stderr
    refused = run("query", "hidden", "job = 'Sales'")
    assert refused.exit_code == 1
    assert "sfumato advise" in refused.stderr
    assert run("independence", "hidden", "--of", "sex,job").exit_code == 0
    assert "cannot be checked" in run("verify", "hidden").stdout.lower()
    assert run("show", "hidden").exit_code == 0


def test_classify_prints_the_tree_and_its_error(run, release):
    """By tree or naive Bayes; tested on the same release or another."""
    shown = json.loads(run("classify", release, "--of", "job", "--by", "sex,age", "--json").stdout)
    assert shown["tree"] == load_release(release).tree("job", ["sex", "age"]).to_dict()
    assert 0 <= shown["error"]["low"] <= shown["error"]["high"] <= 1
    text = run("classify", release, "--of", "job", "--by", "sex,age", "--test", release)
    assert "predicted wrongly" in text.stdout
    bayes = run(
        "classify", release, "--of", "job", "--by", "sex,age", "--classifier", "naive-bayes", "--json"
    )
    assert json.loads(bayes.stdout)["classifier"] == "naive-bayes"
    assert run("classify", release, "--of", "job", "--by", "jbo").exit_code == 1
    assert run("classify", release, "--of", "job", "--by", "sex", "--shrink", "counts").exit_code == 2


def test_classify_answers_what_naive_bayes_marginals_identify(run, release):
    """The joint of the features is not published: classifier and predictions are answered, the error is said to be unknown."""
    made = run(
        *(
            "publish",
            "people.csv",
            "--schema",
            "schema.toml",
            "--method",
            "noisy-marginals",
            "--out",
            "bayes",
        ),
        *("--set", "epsilon=5", "--set", "marginals=naive-bayes", "--set", "class_attribute=job"),
    )
    assert made.exit_code == 0, made.stderr
    Path("rows.csv").write_text("age,sex\n21,Female\n36,Male\n90,Female\n")
    asked = ("classify", "bayes", "--of", "job", "--by", "sex,age", "--classifier", "naive-bayes")
    shown = json.loads(run(*asked, "--predict", "rows.csv", "--json").stdout)
    model = load_release("bayes").naive_bayes("job", ["sex", "age"])
    labels = load_release("bayes").schema["age"].labels
    rows = [
        {"sex": "Female", "age": labels[0]},
        {"sex": "Male", "age": labels[1]},
        {"sex": "Female", "age": labels[2]},
    ]
    assert [each["predicted job"] for each in shown["predictions"]] == model.predict(rows).tolist()
    found = [[each[f"P({name})"] for name in model.classes_] for each in shown["predictions"]]
    assert found == model.predict_proba(rows).tolist()
    assert [{name: each[name] for name in ("sex", "age")} for each in shown["predictions"]] == rows
    assert shown["error"] is None
    assert "cannot be estimated" in shown["error_note"]
    assert sum(shown["naive-bayes"]["prior"].values()) == pytest.approx(1)
    assert sum(shown["naive-bayes"]["likelihoods"]["age"]["Tech"].values()) == pytest.approx(1)
    text = run(*asked, "--predict", "rows.csv")
    assert text.exit_code == 0, text.stderr
    for part in ("prior of job", "Probability of age given job", "cannot be estimated", "predicted job"):
        assert part in text.stdout
    # Where the joint is published, the error is estimated.
    one = json.loads(run(*asked[:4], "--by", "sex", *asked[6:], "--json").stdout)
    assert 0 <= one["error"]["low"] <= one["error"]["high"] <= 1
    tree = json.loads(run(*asked[:6], "--predict", "rows.csv", "--json").stdout)
    assert tree["error"] is not None
    assert [each["predicted job"] for each in tree["predictions"]] == load_release("bayes").tree(
        "job", ["sex", "age"]
    ).predict(rows).tolist()
    assert "does not determine deeper splits" in json.dumps(tree["tree"])


@pytest.mark.parametrize("content", ["sex\nFemale\n", "sex,age\nZyklop,21\n", ""])
def test_classify_refuses_rows_that_do_not_fit(run, release, content):
    """A missing column, a value of no category, nothing at all: one sentence without the value."""
    Path("rows.csv").write_text(content)
    refused = run("classify", release, "--of", "job", "--by", "sex,age", "--predict", "rows.csv")
    assert refused.exit_code == 1
    assert "Zyklop" not in refused.stderr + refused.stdout
    assert (
        run("classify", release, "--of", "job", "--by", "sex,age", "--predict", "absent.csv").exit_code == 1
    )


def test_shrink_is_for_noise_of_one_size(run, release):
    """Refused on perturbed rows; of noisy tables the same numbers as in Python."""
    refused = run("shrink", release, "--by", "job")
    assert refused.exit_code == 1
    assert "noise of one size" in refused.stderr
    made = run(
        *("publish", "people.csv", "--schema", "schema.toml", "--method", "noisy-marginals"),
        *("--set", "epsilon=1", "--set", 'marginals=[["sex", "job"]]', "--out", "noisy"),
    )
    assert made.exit_code == 0, made.stderr
    shown = json.loads(run("shrink", "noisy", "--by", "sex,job", "--json").stdout)
    assert shown["rows"] == load_release("noisy").shrink(["sex", "job"]).to_dict()["rows"]
    assert run("shrink", "noisy", "--by", "sex,job", "--mode", "exact").exit_code == 0


def test_several_measures_are_separated_by_commas(run, release):
    """As attributes are; once more, the same by repetition."""
    asked = ("measures", release, "--of", "sex,job", "--json")
    together = json.loads(run(*asked, "--only", "cramers-v,phi-squared").stdout)
    apart = json.loads(run(*asked, "--only", "cramers-v", "--only", "phi-squared").stdout)
    assert together == apart
    assert len(together["measures"]) == 2


def test_impute_writes_the_draws_of_python(run, release):
    """A folder of Parquet files, whole or not at all; refused where the folder is there or nothing was redrawn."""
    import pyarrow.parquet as pq

    shown = run("impute", release, "--by", "sex,job", "--draws", "3", "--out", "draws", "--json")
    assert shown.exit_code == 0, shown.stderr
    found = load_release(release).impute(["sex", "job"], draws=3)
    assert json.loads(shown.stdout) == json.loads(json.dumps(found.to_dict()))
    assert pq.read_table("draws/draw-2.parquet").to_pydict() == found[1].to_arrow().to_pydict()
    assert "already exists" in run("impute", release, "--by", "sex,job", "--out", "draws").stderr
    refused = run("impute", release, "--by", "sex", "--out", "others")
    assert refused.exit_code == 1
    assert "published rows are the true ones" in refused.stderr
    assert run("impute", release, "--model", "sex*jbo", "--out", "others").exit_code == 1
    assert not Path("others").exists()
    assert "Congenial" in run("impute", release, "--model", "sex*job", "--draws", "2", "--out", "more").stdout


def test_recommend_predicts_from_published_ratings(run, folder):
    """From a person's own ratings or from none; what is no rating is refused."""
    from pyarrow import csv

    from samples import LONG_SCHEMA, ratings

    csv.write_csv(ratings(), folder / "ratings.csv")
    (folder / "long.toml").write_text(LONG_SCHEMA.to_toml(), encoding="utf-8")
    made = run(
        *("publish", "ratings.csv", "--schema", "long.toml", "--method", "columnized-counts"),
        *("--set", "k=3", "--set", "epsilon=2", "--set", "delta=0.01", "--out", "stars"),
    )
    assert made.exit_code == 0, made.stderr
    shown = json.loads(run("recommend", "stars", "--rated", "m1=3", "--number", "2", "--json").stdout)
    assert [each["item"] for each in shown["items"]].count("m1") == 0
    assert len(shown["items"]) == 2
    assert run("recommend", "stars").exit_code == 0
    assert run("recommend", "stars", "--rated", "m1").exit_code == 2
    assert run("recommend", "stars", "--rated", "m9=3").exit_code == 1


def test_hiding_noise_is_computed_for_the_custodian(run):
    """A number that is private."""
    shown = json.loads(
        run(
            "hiding-noise", "people.csv", "--schema", "schema.toml", "--of", "job", "--by", "sex", "--json"
        ).stdout
    )
    assert shown["private"] is True
    assert shown["of"] == "job"
    text = run("hiding-noise", "people.csv", "--schema", "schema.toml", "--of", "job", "--by", "sex")
    assert "[private" in text.stdout
    wrong = run("hiding-noise", "people.csv", "--schema", "schema.toml", "--of", "job", "--by", "job")
    assert wrong.exit_code == 1
    asked = (
        "hiding-noise",
        "people.csv",
        "--schema",
        "schema.toml",
        "--of",
        "job",
        "--by",
        "sex",
        "--unknown",
    )
    assert "Rows with Care are in the groups" in run(*asked, "Care").stdout
    assert run(*asked, "Caer").exit_code == 1
