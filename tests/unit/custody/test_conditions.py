"""What was read off the rows is part of the promise, wherever it is shown."""

from __future__ import annotations

import json

import pytest

from samples import SCHEMA, people
from sfumato import METHODS, load_release, plan, publish, read_table, write_report
from sfumato.guarantees.base import about_learned_lists
from sfumato.methods.randomized_response.design import RandomizedResponse
from sfumato.methods.splu_gen.design import SPLUGen
from sfumato.schema import Schema

LEARNED = Schema(
    attributes=tuple(
        each.model_copy(update={"learned": True}) if each.name == "job" else each
        for each in SCHEMA.attributes
    )
)
"""The list of jobs was read off the rows."""


@pytest.mark.parametrize("name", list(METHODS.members))
def test_a_learned_list_conditions_every_promise_of_every_method(name, tmp_path):
    """In the release, its manifest, its report and the plan."""
    design = METHODS.members[name].example(SCHEMA)
    release = publish(read_table(people(400), LEARNED), design, tmp_path / "release", seed=1)
    for promise in release.guarantees:
        assert "the list of categories of job, which was read off the private rows" in promise.statement
        assert "shows that somebody has it" in promise.plain_statement
    stated = json.loads((tmp_path / "release" / "datapackage.json").read_text())["sfumato"]["guarantees"]
    assert all("read off the private rows" in each["description"]["sentence"] for each in stated)
    if release.guarantees:
        report = write_report(release, tmp_path / "report.html").read_text(encoding="utf-8")
        assert "read off the private rows" in report
        assert "read off the private rows" in plan(design, LEARNED, 400).summary()


@pytest.mark.parametrize("name", list(METHODS.members))
def test_a_public_list_conditions_nothing(name, tmp_path):
    """Unless the method chose something from the rows."""
    design = METHODS.members[name].example(SCHEMA)
    release = publish(read_table(people(400), SCHEMA), design, tmp_path / "release", seed=1)
    if not release.manifest.chosen_from_private_data:
        assert all(each.given == () for each in release.guarantees)


def test_parameters_chosen_from_the_rows_are_part_of_the_promise(tmp_path):
    """An epsilon beside a retention that was fitted to the rows is one given the retention."""
    design = RandomizedResponse(retention=0.5, chosen_from_private_data={"retention": "for the largest risk"})
    publish(read_table(people(400), SCHEMA), design, tmp_path / "release", seed=1)
    for promise in load_release(tmp_path / "release").guarantees:
        assert promise.given == ("the parameter retention, chosen from the private rows",)


def test_of_sixty_learned_lists_a_promise_names_some():
    """A sentence with sixty names is read by nobody; the schema of the release marks every one of them."""
    names = [f"v{place:02}" for place in range(60)]
    (said,) = about_learned_lists(names)
    assert said.startswith(
        "the list of categories of v00, v01, v02, v03, v04, v05, v06, v07, … (60 in all), which"
    )
    assert about_learned_lists(names[:2]) == (
        "the list of categories of v00 and v01, which was read off the private rows",
    )


@pytest.mark.parametrize("design", [SPLUGen(gamma=2, suppress_rarer_than=5), SPLUGen(gamma=2)], ids=str)
def test_a_plan_states_the_conditions_that_the_release_will(design, tmp_path):
    """A threshold decides by the rows what is left out; who plans must read it before who opens the release does."""
    release = publish(read_table(people(400), SCHEMA), design, tmp_path / "release", seed=1)
    planned = plan(design, SCHEMA, 400).guarantees
    assert [each.given for each in planned] == [each.given for each in release.guarantees]
