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
