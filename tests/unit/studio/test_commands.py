"""Forms from declarations: every parameter of every method has a control, and what it sends is read back."""

from __future__ import annotations

import pytest

import samples
from sfumato import METHODS
from sfumato.errors import ParameterError
from sfumato.studio.commands import SET_BY_PLAN, controls, read_form

EXPECTED = {
    ("anatomy", "l_value"): "number",
    ("anatomy", "attribute"): "attribute",
    ("anatomy", "partition"): "radio",
    ("columnized-counts", "columns"): "toml",
    ("noisy-marginals", "queries"): "toml",
    ("noisy-marginals", "attributes"): "attributes",
    ("randomized-response", "retention"): "by-attribute",
    ("randomized-response", "matrix"): "toml",
    ("sample-perturb-scale", "strict"): "checkbox",
    ("splu-gen", "together"): "attributes",
}


def sent_by(made) -> dict[str, list[str]]:
    """What a browser sends of a form that nobody touched."""
    sent = {}
    for each in made:
        if each.kind == "attributes":
            sent[each.name] = list(each.ticked)
        elif each.kind == "checkbox":
            sent |= {each.name: ["true"]} if each.value else {}
        else:
            sent[each.name] = [each.value]
            for place, value in enumerate((each.values or {}).values()):
                sent[f"{each.name}.{place}"] = [value]
    return sent


@pytest.mark.parametrize("name", METHODS.members)
def test_a_form_that_nobody_touched_says_what_was_chosen(name):
    """Parameters to form and back are the same design, for every method and all its parameters."""
    member = METHODS.get(name)
    design = member.example(samples.SCHEMA.publishable)
    chosen = {key: value for key, value in design.to_dict().items() if key != "method"}
    made = controls(member, samples.SCHEMA, chosen)
    assert {each.name for each in made} == set(member.model_fields) - {"method", *SET_BY_PLAN}
    again = METHODS.make(name, read_form(member, samples.SCHEMA, sent_by(made)))
    assert again == design


@pytest.mark.parametrize(("place", "kind"), EXPECTED.items())
def test_a_declaration_decides_its_control(place, kind):
    """By type and bounds alone."""
    name, parameter = place
    found = {each.name: each for each in controls(METHODS.get(name), samples.SCHEMA, {})}
    assert found[parameter].kind == kind


def test_one_number_for_each_attribute_wins_over_one_for_all():
    """Places of attributes stand for their names, which may hold anything."""
    sent = {"retention": ["0.5"], "retention.3": ["0.25"], "retention.0": [""]}
    found = read_form(METHODS.get("randomized-response"), samples.SCHEMA, sent)
    assert found == {"retention": {"job": 0.25}}


def test_sliders_reach_both_ends_and_stand_where_the_number_is():
    """Even steps for a share, factors for a budget."""
    found = {
        each.name: each
        for each in controls(
            METHODS.get("randomized-response"), samples.SCHEMA, {"retention": 0.25, "epsilon": 1.0}
        )
    }
    assert found["retention"].slider == (0.0, 1.0, 0.25)
    low, high, now = found["epsilon"].slider
    assert (low, high, now) == (-2.0, 1.0, 0.0)
    whole = {each.name: each for each in controls(METHODS.get("anatomy"), samples.SCHEMA, {})}
    assert whole["l_value"].slider is None


@pytest.mark.parametrize("text", ["x", "1e", "0.5.5", "nan_"])
def test_a_number_that_is_none_is_refused_by_name(text):
    """With what is allowed."""
    with pytest.raises(ParameterError, match="retention must be a number"):
        read_form(METHODS.get("randomized-response"), samples.SCHEMA, {"retention": [text]})
