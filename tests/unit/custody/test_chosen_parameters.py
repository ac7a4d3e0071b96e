"""What is chosen from private rows is chosen from a coarse public grid, and every promise says that it was."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from samples import SCHEMA as PEOPLE
from samples import people
from sfumato import RandomizedResponse, Schema, publish, read_table
from sfumato.custody.calibrate import METHODS_WITH_GOALS, choose
from sfumato.custody.plan import plan
from sfumato.errors import ParameterError
from sfumato.methods.noisy_marginals.design import NoisyMarginals

SCHEMA = Schema.from_toml("""
[attributes.ward]
role = "quasi-identifier"
categories = ["north", "south", "east"]

[attributes.disease]
role = "sensitive"
categories = ["Cancer", "Flu", "Cold", "Other"]
""")
GOALS = {
    "randomized-response": [{"max-risk": bound} for bound in (0.33, 0.32, 0.31, 0.28)],
    "splu-gen": [{"wanted_error_probability": 0.3}],
}
"""For every method that has goals."""
STEP = 0.05


def rows(value):
    """A table in which one person has the value, and everybody else what they have."""
    counts = {
        "north": {"Cancer": 9, "Flu": 21, "Cold": 25, "Other": 12},
        "south": {"Cancer": 14, "Flu": 8, "Cold": 11, "Other": 13},
        "east": {"Cancer": 11, "Flu": 13, "Cold": 9, "Other": 10},
    }
    counts = {ward: {name: 8 * number for name, number in held.items()} for ward, held in counts.items()}
    counts["north"][value] += 1
    pairs = [
        (ward, disease)
        for ward, held in counts.items()
        for disease, number in held.items()
        for _ in range(number)
    ]
    return read_table(pa.table({"ward": [a for a, _ in pairs], "disease": [b for _, b in pairs]}), SCHEMA)


def chosen_numbers(design):
    """Every number of a design that a goal chose."""
    parameters = design.to_dict()
    retention = parameters.get("retention", {})
    return [parameters["gamma"]] if "gamma" in parameters else sorted(retention.items())


def test_every_method_with_goals_is_tried():
    """A method that learns to choose is tried here."""
    assert set(GOALS) == set(METHODS_WITH_GOALS)


@pytest.mark.parametrize(
    ("method", "goal"), [(method, goal) for method, goals in GOALS.items() for goal in goals], ids=str
)
def test_a_persons_value_is_not_read_off_the_chosen_numbers(method, goal):
    """All four values that a person could have give the same numbers."""
    found = [
        chosen_numbers(choose(method, goal, SCHEMA, table=rows(value)).design)
        for value in SCHEMA["disease"].labels
    ]
    assert all(each == found[0] for each in found)


def test_at_a_boundary_of_the_grid_numbers_are_one_step_apart():
    """The optima for this goal lie on both sides of a multiple of the step; nothing else differs."""
    found = [
        dict(
            chosen_numbers(
                choose("randomized-response", {"max-risk": 0.29}, SCHEMA, table=rows(value)).design
            )
        )
        for value in SCHEMA["disease"].labels
    ]
    assert len({json.dumps(each) for each in found}) == 2
    for name in found[0]:
        numbers = [each[name] for each in found]
        assert max(numbers) - min(numbers) <= STEP + 1e-9


@pytest.mark.parametrize("goal", GOALS["randomized-response"], ids=str)
def test_chosen_retentions_have_no_more_digits_than_the_grid(goal):
    """Multiples of a twentieth."""
    design = choose("randomized-response", goal, SCHEMA, table=rows("Flu")).design
    assert design.retention
    for each in design.retention.values():
        assert each == round(each, 2)
        assert (each / STEP) == pytest.approx(round(each / STEP))


def test_the_release_says_that_they_were_chosen(tmp_path):
    """In every promise about the draws, and in the manifest; in the plan already."""
    table = rows("Flu")
    design = choose("randomized-response", {"max-risk": 0.31}, SCHEMA, table=table).design
    release = publish(table, design, tmp_path / "r", seed=1)
    assert "retention" in release.manifest.chosen_from_private_data
    about_draws = [each for each in release.guarantees if not each.holds_of_tables]
    assert about_draws
    assert all("retention, chosen from the private rows" in each.statement for each in about_draws)


def test_a_plan_says_so_before():
    """The same words."""
    design = choose("randomized-response", {"max-risk": 0.31}, SCHEMA, table=rows("Flu")).design
    promised = plan(design, SCHEMA, 200).guarantees
    assert any("chosen from the private rows" in each.statement for each in promised)


def test_a_finer_choice_is_refused():
    """Also one that somebody declares by hand: retentions, and epsilons of 1, 2 and 5."""
    for parameters in ({"retention": 0.66684}, {"epsilon": 0.3}):
        (name,) = parameters
        with pytest.raises(ParameterError, match="more digits would tell"):
            RandomizedResponse(**parameters, chosen_from_private_data={name: "looked at the rows"})
    assert RandomizedResponse(epsilon=0.5, chosen_from_private_data={"epsilon": "looked"}).choices


def test_an_epsilon_of_marginals_chosen_from_the_rows_is_coarse_and_said(tmp_path):
    """As for every planner: the promise takes it as known, and more digits are refused."""
    chosen = {"epsilon": "to hide groups"}
    design = NoisyMarginals(epsilon=0.5, chosen_from_private_data=chosen)
    release = publish(read_table(people(200), PEOPLE), design, tmp_path / "release")
    condition = "the parameter epsilon, chosen from the private rows"
    assert all(condition in each.given for each in release.guarantees)
    assert all(condition in each.given for each in plan(design, PEOPLE, 100).guarantees)
    with pytest.raises(ParameterError, match="1, 2 or 5 times a power of ten"):
        NoisyMarginals(epsilon=0.4082, chosen_from_private_data=chosen)
