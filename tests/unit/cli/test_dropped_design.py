"""A release of a survey whose design was dropped does not answer about the population."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

from sfumato import RandomizedResponse, Schema, load_release, publish, read_table
from sfumato.errors import ParameterError
from sfumato.release.loading import load_release as load

ROWS = 2_000
SCHEMA = """
[attributes.job]
role = "sensitive"
categories = ["a", "b"]
[attributes.age]
role = "quasi-identifier"
bins = [0, 30, 60, 90]
[attributes.smokes]
role = "other"
categories = ["no", "yes"]
"""
WEIGHT = '[attributes.w]\nrole = "weight"\n'
NOTE = "the survey design was dropped (weight: w), so numbers describe the rows of the sample, not its population"


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    """The same sample, published with a declared weight and without."""
    folder = tmp_path_factory.mktemp("survey")
    draw = np.random.default_rng(1)
    stratum = draw.random(ROWS) < 0.5
    data = pa.table(
        {
            "job": np.where(draw.random(ROWS) < np.where(stratum, 0.6, 0.1), "a", "b"),
            "age": draw.integers(0, 90, ROWS),
            "smokes": draw.choice(["no", "yes"], ROWS),
            "w": np.where(stratum, 1.0, 9.0),
        }
    )
    design = RandomizedResponse(retention=0.5)
    return {
        name: publish(read_table(data, Schema.from_toml(schema)), design, folder / name, seed=1)
        for name, schema in (("weighted", SCHEMA + WEIGHT), ("plain", SCHEMA))
    }


VERBS = {
    "query": lambda release, target: release.query("job = 'a'", target=target),
    "queries": lambda release, target: release.queries(["job = 'a'"], target=target),
    "proportion": lambda release, target: release.proportion("job = 'a'", given="age < 30", target=target),
    "difference": lambda release, target: release.difference("job = 'a'", given="age < 30", versus="age >= 30", target=target),
    "counts": lambda release, target: release.counts("job", target=target),
    "shares": lambda release, target: release.shares("job", target=target),
    "mean": lambda release, target: release.mean("age", target=target),
    "variance": lambda release, target: release.variance("age", target=target),
    "quantile": lambda release, target: release.quantile("age", 0.5, target=target),
    "measures": lambda release, target: release.measures("job", "age", target=target),
    "partial_correlation": lambda release, target: release.partial_correlation(
        "job = 'a'", "smokes", given="age < 30", target=target
    ),
    "regression": lambda release, target: release.regression("job ~ age", target=target),
    "loglinear": lambda release, target: release.loglinear("job * age", target=target),
    "rules": lambda release, target: release.rules(target=target),
    "check_matrix": lambda release, target: release.check_matrix("job", retention=0.5, target=target),
    "naive bayes": lambda release, target: release.naive_bayes("job", ["age"]).error(release, target=target),
    "tree": lambda release, target: release.tree("job", ["age"]).error(release, target=target),
}  # fmt: skip


@pytest.mark.parametrize("verb", VERBS)
def test_no_verb_answers_about_the_population(releases, verb):
    """One sentence says why and what to ask instead; without a weight every verb answers."""
    with pytest.raises(ParameterError, match=r"dropped the survey's weight \(w\)") as refused:
        VERBS[verb](releases["weighted"], "population")
    assert refused.value.parameter == "target"
    assert "--target table" in str(refused.value)
    VERBS[verb](releases["plain"], "population")


def test_answers_say_that_weights_were_dropped(releases):
    """Numbers, tables, means and the first look; nothing is said where nothing was dropped."""
    weighted, plain = releases["weighted"], releases["plain"]
    assert NOTE in weighted.query("job = 'a'").note
    assert NOTE in weighted.counts("job").summary()
    assert weighted.counts("job").to_dict()["notes"] == [NOTE]
    assert NOTE in weighted.mean("age").notes
    assert NOTE in weighted.overview().summary()
    assert weighted.self_checks()
    for said in (plain.query("job = 'a'").note, plain.counts("job").summary(), str(plain.mean("age").notes)):
        assert "survey" not in said
    assert "survey design" not in plain.overview().summary()


def test_the_manifest_records_what_was_dropped(releases):
    """Roles and columns, from format version 2 on; left out where nothing was."""
    stored = json.loads((releases["weighted"].folder / "datapackage.json").read_text(encoding="utf-8"))[
        "sfumato"
    ]
    assert (stored["format_version"], stored["dropped_design"]) == (2, {"weight": ["w"]})
    plain = json.loads((releases["plain"].folder / "datapackage.json").read_text(encoding="utf-8"))["sfumato"]
    assert "dropped_design" not in plain
    assert load(releases["weighted"].folder).dropped_design == {"weight": ("w",)}
    assert load_release(releases["plain"].folder).dropped_design == {}


def test_the_command_line_refuses_the_population(releases, run):
    """With the same sentence, and says the note otherwise."""
    folder = str(releases["weighted"].folder)
    refused = run("query", folder, "job = 'a'", "--target", "population")
    assert refused.exit_code != 0
    assert "dropped the survey's weight" in " ".join(refused.stderr.split())
    answered = run("query", folder, "job = 'a'")
    assert answered.exit_code == 0
    assert "survey design was dropped" in answered.stdout
