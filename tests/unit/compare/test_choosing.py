"""Parameters for a measured goal: the grid's best that keeps it, never one that protects nothing, never with more digits."""

from __future__ import annotations

import pytest

from sfumato import METHODS, load_release, publish
from sfumato.compare.calibrate import COARSE, choose_by_measuring, choose_from, is_measured
from sfumato.compare.frontier import Comparison
from sfumato.compare.grid import RAW, Candidate
from sfumato.compare.trial import RARE_WITH, RARE_WITHOUT, SURE_RARE_WITH, Outcome
from sfumato.custody.audit.scores import LINKABLE, MEANINGS
from sfumato.errors import ParameterError
from sfumato.methods.planning import is_epsilon_on_grid, is_retention_on_grid
from sfumato.testing import sample_table


def measured(label, risks, error, covered=1.0):
    """Outcomes with these risks and this error on every split."""
    scores = dict.fromkeys(MEANINGS, 0.1)
    numbers = {
        "error": error,
        "relative error": 2 * error,
        "absolute error": 100 * error,
        "largest standard error": 200 * error,
        "refused": 0.0,
        "covered": covered,
        **dict.fromkeys((RARE_WITH, RARE_WITHOUT, SURE_RARE_WITH), 0.0),
    }
    return [
        Outcome(label, place, "", {**scores, LINKABLE: 0.1 + risk}, scores, {}, numbers, 0.0)
        for place, risk in enumerate(risks)
    ]


def comparison():
    """Retentions from hardly any protection to much; the strongest does not cover."""
    labels = {0.95: "mild", 0.5: "middling", 0.2: "strong", 0.1: "dishonest"}
    candidates = tuple(
        Candidate(label, "randomized-response", {"retention": retention})
        for retention, label in labels.items()
    )
    outcomes = (
        *measured(RAW.label, (0.60, 0.61, 0.60), 0.0),
        *measured("mild", (0.60, 0.61, 0.60), 0.01),
        *measured("middling", (0.30, 0.31, 0.30), 0.05),
        *measured("strong", (0.10, 0.11, 0.10), 0.2),
        *measured("dishonest", (0.05, 0.05, 0.06), 0.04, covered=0.5),
    )
    return Comparison((RAW, *candidates), outcomes, "s", 3, 1)


@pytest.mark.parametrize(
    ("goal", "chosen"),
    [
        ({"risk": 0.5}, "middling"),
        ({"risk": 0.2}, "strong"),
        ({"error": 0.1}, "middling"),
        ({"relative-error": 0.5}, "strong"),
        ({"absolute-error": 6.0}, "middling"),
        ({"std-error": 45.0}, "strong"),
        ({"std-error": 11.0}, "middling"),
        ({"risk": 0.5, "error": 0.3}, "middling"),
    ],
)
def test_the_design_that_keeps_the_goal_and_loses_least(goal, chosen):
    """A bound on risk: the smallest error; on an error: the smallest risk; intervals that lie are left out."""
    found = choose_from(comparison(), "randomized-response", goal)
    assert found.point.candidate.label == chosen
    assert chosen in found.summary()
    assert found.design.choices.keys() == {"retention"}


def test_what_protects_nothing_is_refused_as_such():
    """Only the mildest design has so small an error, and people are found in it as in the table itself."""
    found = choose_from(comparison(), "randomized-response", {"error": 0.02})
    assert found.point is None
    with pytest.raises(ParameterError, match="protects nothing"):
        _ = found.design


def test_where_the_table_itself_costs_nothing_it_is_said():
    """Nothing can be found less often than by chance: a design is chosen, and the sentence says what was not measured."""
    design = Candidate("mild", "randomized-response", {"retention": 0.9})
    outcomes = (*measured(RAW.label, (0.01, -0.02, 0.01), 0.0), *measured("mild", (-0.01, 0.02, 0.0), 0.01))
    found = choose_from(
        Comparison((RAW, design), outcomes, "s", 3, 1), "randomized-response", {"error": 0.02}
    )
    assert found.point is not None
    assert "nothing that could be measured" in found.sentence
    assert (
        "nothing that could be measured"
        not in choose_from(comparison(), "randomized-response", {"error": 0.1}).sentence
    )


def test_equal_risk_says_on_which_side_of_a_grid_a_level_lies():
    """A method that always risks more cannot reach it; one that always risks less is no worse for it."""
    (row,) = comparison().equal_risk().rows
    assert row[:4] == ("randomized-response", "cannot reach", "cannot reach", "cannot reach")
    # Errors of .04 and .2 at risks of 5 and 10 % would rise with the risk: both are taken as their mean.
    assert row[4] == "0.120 (0.120 to 0.120)"
    mild = Candidate("k", "generalization", {"k": 50})
    few = Comparison(
        (RAW, mild), (*measured(RAW.label, (0.6,) * 3, 0.0), *measured("k", (0.015,) * 3, 0.3)), "s", 3, 1
    )
    (row,) = few.equal_risk().rows
    assert row == ("generalization", "cannot reach", *["always less risk"] * 3)


def test_goals_that_nothing_keeps_say_what_can_be_reached():
    """With the best number of the grid."""
    found = choose_from(comparison(), "randomized-response", {"risk": 0.01})
    with pytest.raises(ParameterError, match=r"risk reaches 0\.0\d+ at best"):
        _ = found.design


@pytest.mark.parametrize(
    ("name", "value"), [("risk", 0), ("error", "small"), ("risk", True), ("nothing", 1.0)]
)
def test_goals_that_are_none_are_refused(name, value):
    """A number above 0, of a goal that exists."""
    with pytest.raises(ParameterError, match=r"must be a number above 0|there is no goal"):
        choose_by_measuring(sample_table(300), "anatomy", {name: value})
    assert not is_measured("randomized-response", {"epsilon": 1.0})
    assert is_measured("randomized-response", {"risk": 0.1})
    with pytest.raises(ParameterError, match="did you mean 'risk'"):
        is_measured("anatomy", {"rsk": 0.1})


def test_every_method_has_a_coarse_grid():
    """Retentions in steps of .05, epsilons 1, 2 or 5 times a power of ten; all can be made."""
    assert set(COARSE) == set(METHODS.members)
    for method, grid in COARSE.items():
        for parameters in grid:
            METHODS.make(method, dict(parameters))
            assert is_retention_on_grid(parameters.get("retention", 0.5))
            assert is_epsilon_on_grid(parameters.get("epsilon", 1.0))


def test_the_release_says_that_its_parameters_were_chosen_from_the_rows(tmp_path):
    """Measured, published, opened: the promise takes the parameter as known."""
    table = sample_table(400)
    found = choose_by_measuring(table, "anatomy", {"absolute-error": 1_000.0}, queries=12, seed=1, workers=0)
    assert found.comparison.points[0].candidate == RAW
    design = METHODS.make(
        "noisy-marginals", {"epsilon": 1.0, "chosen_from_private_data": {"epsilon": "the grid's best"}}
    )
    publish(table, design, tmp_path / "release", seed=1)
    release = load_release(tmp_path / "release")
    assert release.manifest.chosen_from_private_data["epsilon"] == "the grid's best"
    assert "chosen from the private rows" in release.guarantees[0].statement
    plain = METHODS.make("noisy-marginals", {"epsilon": 1.0})
    publish(table, plain, tmp_path / "plain", seed=1)
    assert "chosen from" not in load_release(tmp_path / "plain").guarantees[0].statement


def test_standard_errors_of_questions_of_ones_own():
    """Randomized response keeps a value with p: the standard error of an answer over m values is at most sqrt(n) / 2 / p, and refused goals say so."""
    table = sample_table(400)
    asked = ["job = 'Tech'", "job = 'Care' AND sex = 'Female'"]
    settings = {"questions": asked, "seed": 1, "workers": 0, "repeats": 3}
    found = choose_by_measuring(table, "randomized-response", {"std-error": 25.0}, **settings)
    assert found.comparison.workload == "own questions"
    numbers = {
        each.candidate.label: each.numbers["largest standard error"] for each in found.comparison.points
    }
    assert numbers["the table itself"] == 0
    for retention in (0.9, 0.5, 0.2):
        # 320 rows are published of 400.
        assert 0 < numbers[f"randomized-response retention={retention}"] <= 320**0.5 / 2 / retention
    assert found.point is not None
    assert found.point.numbers["largest standard error"] <= 25
    with pytest.raises(ParameterError, match="std-error reaches"):
        _ = choose_from(found.comparison, "randomized-response", {"std-error": 0.1}).design
    refusing = choose_by_measuring(table, "distribution-resampling", {"std-error": 1e6}, **settings)
    with pytest.raises(ParameterError, match="No design"):
        _ = refusing.design


@pytest.mark.parametrize("method", sorted(set(COARSE) - {"distribution-resampling"}))
def test_every_law_knows_what_calibration_may_choose(method, tmp_path):
    """A release of every method can say that its parameters were chosen, opens again, and refuses names that are none."""
    parameters = dict(COARSE[method][0])
    chosen = {name: "measured" for name in parameters if name != "delta"}
    design = METHODS.make(method, {**parameters, "chosen_from_private_data": chosen})
    publish(sample_table(4_000), design, tmp_path / "release", seed=1)
    assert chosen.items() <= load_release(tmp_path / "release").manifest.chosen_from_private_data.items()
    with pytest.raises(ParameterError, match="chosen_from_private_data"):
        other = METHODS.make(method, {**parameters, "chosen_from_private_data": {"nothing": "measured"}})
        publish(sample_table(4_000), other, tmp_path / "other", seed=1)
