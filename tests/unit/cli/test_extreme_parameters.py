"""Numbers and texts beyond every bound are refused in a sentence; none is a fault of ours."""

from __future__ import annotations

import shutil

import pytest

from foreign import rewritten

PLAN = ("plan", "--schema", "schema.toml")


def plan(method, *settings, rows="1000"):
    """A plan of a method with some parameters."""
    return (
        *(*PLAN, "--method", method, "--rows", rows),
        *(part for each in settings for part in ("--set", each)),
    )


REFUSED = {
    "a list for a word": plan("noisy-marginals", "epsilon=1", "mechanism=[1]"),
    "a tiny epsilon": plan("noisy-marginals", "epsilon=5e-324"),
    "a tiny local epsilon": plan("randomized-response", "epsilon=5e-324"),
    "a huge k": plan("generalization", "k=9223372036854775808"),
    "a huge semantic k": plan("columnized-counts", "k=9223372036854775808", "epsilon=2"),
    "a huge relative error": plan("sample-perturb-scale", "retention=0.5", "relative_error=1e300"),
    "a tiny relative error": plan("sample-perturb-scale", "retention=0.5", "relative_error=5e-324"),
    "a tiny retention": plan("sample-perturb-scale", "retention=5e-324"),
    "huge small counts": plan("splu-gen", "gamma=3", "largest_small_count=1000000000"),
    "more groups than memory": plan("anatomy", "l_value=2", rows="1000000000000"),
    "more rows than any table": plan("randomized-response", "retention=0.5", rows=str(10**30)),
    "thousands of digits": plan("generalization", f"k={'9' * 5_000}"),
    "deep nesting": plan("randomized-response", f"retention={'[' * 3_000}{']' * 3_000}"),
}


@pytest.mark.parametrize("case", list(REFUSED))
def test_a_parameter_beyond_its_ends_is_refused(case, run):
    """Exit 1, one sentence."""
    outcome = run(*REFUSED[case])
    assert outcome.exit_code == 1, outcome
    assert "fault" not in outcome.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("query", "release", "job = 'Sales'", "--confidence", "0.9999999999999999"),
        ("counts", "release", "--by", "job\nsex"),
        ("attack", "release", "--attack", "anatomy-naive-bayes", "--set", "starts=1000000000"),
    ],
    ids=lambda each: each[0],
)
@pytest.mark.usefixtures("release")
def test_a_question_beyond_its_ends_is_refused(arguments, run):
    """Also of those who have only a release."""
    outcome = run(*arguments)
    assert outcome.exit_code == 1, outcome
    assert "fault" not in outcome.stderr


def test_a_size_in_a_manifest_is_looked_at_before_memory_is_asked_for(run, release, folder):
    """Six thousand million categories that no list has."""

    def grown(block):
        for each in block["law"]["distortions"].values():
            each["size"] = 6_000_000_000

    rewritten(folder / release, grown)
    outcome = run("query", release, "job = 'Sales'")
    assert outcome.exit_code == 1, outcome
    assert "fault" not in outcome.stderr


@pytest.mark.parametrize(
    ("method", "settings", "spoil"),
    [
        ("generalization", ("k=2",), lambda law: law["attributes"][-1]["categories"].pop()),
        ("noisy-marginals", ("epsilon=1",), lambda law: law["marginals"][0]["sizes"].append(3)),
    ],
    ids=["generalization", "noisy-marginals"],
)
def test_a_law_that_does_not_fit_its_columns_is_refused_on_opening(run, folder, method, settings, spoil):
    """Not in the middle of a question."""
    publish = ("publish", "people.csv", "--schema", "schema.toml", "--method", method, "--seed", "1")
    made = run(*publish, *(part for each in settings for part in ("--set", each)), "--out", "made")
    assert made.exit_code == 0, made.stderr
    copied = shutil.copytree(folder / "made", folder / "copied")
    rewritten(copied, lambda block: spoil(block["law"]))
    outcome = run("counts", "copied", "--by", "job")
    assert outcome.exit_code == 1, outcome
    assert "Get the release again" in outcome.stderr
