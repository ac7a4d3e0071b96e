"""Parameters for a bound on a promise: kept by the design, broken by the next looser one, refused where nobody is protected."""

from __future__ import annotations

import pytest

from sfumato import METHODS
from sfumato.compare.calibrate import choose_by_measuring, is_measured
from sfumato.custody.calibrate import METHODS_WITH_GOALS, choose, choose_for_promise, promised_parameters
from sfumato.errors import ParameterError
from sfumato.methods.planning import PromiseGoal, parameters_for
from sfumato.testing import sample_table

SCHEMA = sample_table(300).schema


@pytest.mark.parametrize(
    ("method", "goal", "parameters"),
    [
        ("anatomy", {"belief": 0.3}, {"l_value": 4}),
        ("anatomy", {"belief": 1 / 3}, {"l_value": 3}),
        ("anatomy", {"l_value": 2.5}, {"l_value": 3}),
        ("anatomy", {"l_value": 2, "belief": 0.26}, {"l_value": 4}),
        ("anatomy", {"belief": 0.26, "l_value": 2}, {"l_value": 4}),
        ("generalization", {"k": 7}, {"k": 7}),
        ("generalization", {"match": 0.1}, {"k": 10}),
        ("generalization", {"k": 3, "belief": 0.4}, {"k": 3, "l_value": 2.5, "diversity": "fraction"}),
        ("generalization", {"k": 2, "t": 0.3, "beta": 2.0}, {"k": 2, "t": 0.3, "beta": 2.0}),
        ("noisy-marginals", {"epsilon": 0.7}, {"epsilon": 0.7}),
        (
            "noisy-marginals",
            {"epsilon": 0.7, "delta": 1e-6},
            {"epsilon": 0.7, "delta": 1e-6, "mechanism": "discrete-gaussian"},
        ),
        ("columnized-counts", {"epsilon": 1.5, "k": 20}, {"epsilon": 1.5, "k": 20}),
    ],
)
def test_parameters_follow_from_the_promise(method, goal, parameters):
    """Written down by hand from the definitions; the design says so, and nothing of it came from rows."""
    found = choose_for_promise(method, goal, SCHEMA)
    told = found.design.to_dict()
    assert {name: told[name] for name in parameters} == parameters
    assert found.design.choices == {}
    assert found.promises
    assert all(each.statement in found.promises for each in found.design.guarantees(SCHEMA))
    for name in goal:
        assert name in found.sentence
    assert choose(method, goal, SCHEMA) == found


def test_the_promise_of_what_was_chosen_is_the_bound():
    """A class of 10 hides a person among ten; a bucket of four shows a value once in four; what is looser does not keep it."""
    (anonymous,) = choose_for_promise("generalization", {"match": 0.1}, SCHEMA).design.guarantees(SCHEMA)
    assert 1 / anonymous.k <= 0.1 < 1 / (anonymous.k - 1)
    (diverse,) = choose_for_promise("anatomy", {"belief": 0.3}, SCHEMA).design.guarantees(SCHEMA)
    assert 1 / diverse.l_value <= 0.3 < 1 / (diverse.l_value - 1)
    (private,) = choose_for_promise("noisy-marginals", {"epsilon": 0.7}, SCHEMA).design.guarantees(SCHEMA)
    assert private.epsilon == pytest.approx(0.7)
    both = choose_for_promise("noisy-marginals", {"epsilon": 0.7, "delta": 1e-6}, SCHEMA).design.guarantees(
        SCHEMA
    )[0]
    assert both.epsilon <= 0.7
    assert both.delta <= 1e-6


@pytest.mark.parametrize(
    ("method", "goal", "reason"),
    [
        ("anatomy", {"belief": 1}, "protects nothing"),
        ("anatomy", {"l_value": 1}, "protects nothing"),
        ("generalization", {"k": 1}, "protects nothing"),
        ("generalization", {"match": 1.0}, "protects nothing"),
        ("generalization", {"k": 5, "belief": 1}, "protects nothing"),
        ("generalization", {"k": 5, "t": 1}, "protects nothing"),
        ("noisy-marginals", {"epsilon": 2_000}, "nine of ten counts"),
        ("randomized-response", {"epsilon": 12}, "protects nothing"),
        ("randomized-response", {"epsilon": 200}, "protects nothing"),
        ("anatomy", {"belief": 0}, "above 0 and at most 1"),
        ("anatomy", {"belief": 1.2}, "above 0 and at most 1"),
        ("anatomy", {"belief": "half"}, "above 0 and at most 1"),
        ("anatomy", {"l_value": True}, "must be a number"),
        ("anatomy", {"beleif": 0.3}, "did you mean 'belief'"),
        ("generalization", {"belief": 0.3}, "leave k of generalization open"),
        ("columnized-counts", {"k": 10}, "leave epsilon of columnized-counts open"),
        ("sample-perturb-scale", {"relative_error": 0.2}, "leave retention"),
        ("distribution-resampling", {"epsilon": 1}, "there is no goal 'epsilon' of distribution-resampling"),
        ("noisy-marginals", {"delta": 0.1, "epsilon": 1e9}, "epsilon"),
    ],
)
def test_what_cannot_be_or_protects_nobody_is_refused(method, goal, reason):
    """With the reason."""
    with pytest.raises(ParameterError, match=reason):
        choose(method, goal, SCHEMA)


def test_goals_that_ask_for_different_things_are_refused():
    """Two bounds that fix one parameter at different values."""
    goals = {
        "one": PromiseGoal("a", "p", "exactly"),
        "other": PromiseGoal("b", "p", "exactly"),
        "third": PromiseGoal("c", "q", "at least", besides={"p": 7}),
    }
    assert parameters_for("m", goals, {"one": 7, "third": 1}) == {"p": 7, "q": 1}
    with pytest.raises(ParameterError, match="another goal for"):
        parameters_for("m", goals, {"one": 1, "other": 2})
    with pytest.raises(ParameterError, match="another goal for"):
        parameters_for("m", goals, {"one": 1, "third": 2})


def test_every_method_takes_a_goal_on_its_promise_unless_it_has_none():
    """Of a method that promises nothing there is nothing to bound."""
    without = {name for name, each in METHODS.members.items() if not each.promise_goals}
    assert without == {*METHODS_WITH_GOALS, "distribution-resampling"}
    assert METHODS.make("distribution-resampling", {}).guarantees(SCHEMA) == ()


def test_what_a_promise_leaves_open_is_measured():
    """Every design measured keeps the promise; of them the one with the smallest error; rows chose the rest, and it says so."""
    table = sample_table(400)
    assert is_measured("sample-perturb-scale", {"relative_error": 0.2})
    assert not is_measured("anatomy", {"belief": 0.3})
    settings = {"queries": 12, "seed": 1, "workers": 0, "repeats": 3}
    goal = {"relative_error": 0.2, "error_probability": 0.4}
    found = choose_by_measuring(table, "sample-perturb-scale", goal, **settings)
    tried = [each.candidate.parameters for each in found.comparison.points[1:]]
    assert len(tried) > 3
    assert all(each["relative_error"] == 0.2 and each["error_probability"] == 0.4 for each in tried)
    assert found.point is not None
    assert set(found.design.choices) == {"retention"}
    assert found.goal == goal
    assert "keeps relative_error = 0.2 and error_probability = 0.4 and has" in found.sentence


@pytest.mark.parametrize(
    ("method", "goal", "allowed"),
    [
        ("generalization", {"match": 0.34, "error": 0.99}, {3, 5, 10, 20, 50}),
        ("anatomy", {"belief": 0.5, "error": 0.99}, {2, 3, 4, 5, 6, 8, 10}),
        ("noisy-marginals", {"epsilon": 3, "error": 0.999}, {0.1, 0.2, 0.5, 1.0, 2.0}),
    ],
)
def test_promise_and_error_together(method, goal, allowed):
    """Only designs that keep the promise are measured; an epsilon of 3 has too many digits to be chosen by looking at rows."""
    found = choose_by_measuring(sample_table(400), method, goal, queries=12, seed=1, workers=0, repeats=3)
    (parameter,) = {"generalization": ("k",), "anatomy": ("l_value",), "noisy-marginals": ("epsilon",)}[
        method
    ]
    tried = {each.candidate.parameters[parameter] for each in found.comparison.points[1:]}
    assert tried <= allowed
    assert promised_parameters(method, {name: goal[name] for name in goal if name != "error"})[
        parameter
    ] in allowed | {3}


def test_a_measured_goal_beside_an_optimized_one_is_refused():
    """Retentions are optimized for an epsilon; there is nothing left to measure."""
    with pytest.raises(ParameterError, match="one kind at a time"):
        is_measured("randomized-response", {"epsilon": 1, "error": 0.1})
