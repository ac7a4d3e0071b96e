"""Each thing that can be wrong with a method is found, and said in a sentence."""

from __future__ import annotations

import dataclasses
import json
from types import SimpleNamespace
from typing import ClassVar, Literal

import numpy as np
import pytest

from conformance.sabotage import off_by_fifty, sabotage
from samples import LONG_SCHEMA, ratings
from sfumato import ColumnizedCounts, RandomizedResponse, read_table
from sfumato.attacks import ATTACKS
from sfumato.data.engine import ArrayEngine, CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.errors import NotIdentifiableError, ParameterError, SfumatoError
from sfumato.estimates.estimates import Estimates
from sfumato.laws import LAWS
from sfumato.schema import Schema
from sfumato.testing import check_method, release_in_memory, sample_table
from sfumato.testing.queries import SAMPLE_SCHEMA
from sfumato.testing.suite import disagreeing_doors, not_picklable, unattackable, undocumented
from sfumato.testing.trials import run_trials

DESIGN = RandomizedResponse(retention=0.5)
FEW = 30


def two_attributes():
    """The sample's sex and job alone: every kind of question and the attack, in a third of the time, for what does not hang on the table."""
    rows = sample_table().source
    schema = Schema(attributes=SAMPLE_SCHEMA.select(("sex", "job")))
    codes = {name: rows.codes[name] for name in schema.names}
    return PrivateTable(CodedRows(schema, codes), schema, engine=ArrayEngine())


class Unheard(RandomizedResponse):
    """A method that no entry point names, and that says little of itself."""

    method: Literal["unheard"] = "unheard"
    loudness: float = 1.0

    weaknesses: ClassVar[tuple[str, ...]] = ()


@pytest.fixture
def law():
    """The law of randomized response, to be broken."""
    return LAWS.get("perturbed-rows")


def aspects(report):
    """What was found."""
    return {each.aspect for each in report.failures}


def test_a_sound_method_has_no_failures_and_a_report_of_plain_data():
    """Thirty releases find nothing; the report says how it was tried."""
    report = check_method(DESIGN, releases=FEW)
    assert report.is_honest
    report.raise_for_failures()
    stored = json.loads(json.dumps(report.to_dict()))
    assert stored["method"] == "randomized-response"
    assert stored["releases"] == FEW
    assert stored["random_checks"] > 100


def test_the_same_seed_gives_the_same_report(law, monkeypatch):
    """So that a failure can be looked at again."""
    sabotage(monkeypatch, law, off_by_fifty)
    one, other = (check_method(DESIGN, two_attributes(), releases=FEW, seed=3) for _ in range(2))
    assert one == other
    assert not one.is_honest


def test_too_few_releases_are_refused():
    """They would find nothing wrong with anything."""
    with pytest.raises(ParameterError, match="30 or more, got 5"):
        check_method(DESIGN, releases=5)


def test_what_a_method_does_not_say_is_named():
    """Parameters without help, empty weaknesses, paragraphs that are missing."""
    said = [each.sentence for each in undocumented(Unheard)]
    assert any("'loudness'" in each for each in said)
    assert any("weaknesses" in each for each in said)
    assert any("'Promise'" in each for each in said)
    assert not list(undocumented(RandomizedResponse))


def test_a_method_that_is_not_found_by_its_name_is_told_to_use_the_entry_point():
    """A release of it could be read by nobody."""
    report = check_method(Unheard(retention=0.5), two_attributes(), releases=FEW)
    assert any("'sfumato.methods'" in each.sentence for each in report.failures if each.aspect == "manifest")


def test_a_step_that_cannot_be_pickled_is_named():
    """By its table; one that can, and rows without a step, pass."""
    steps = [SimpleNamespace(step=lambda rows: rows), SimpleNamespace(step=len), SimpleNamespace()]
    tables = [SimpleNamespace(name=f"t{place}", rows=rows) for place, rows in enumerate(steps)]
    (failure,) = not_picklable(SimpleNamespace(tables=tables))
    assert "'t0'" in failure.sentence


def test_doors_that_disagree_are_seen(law, monkeypatch):
    """A standard error of the selections one per mille larger than that of the table."""
    table = sample_table()
    release = release_in_memory(table, DESIGN, seed=1)
    assert not list(disagreeing_doors(release, table))
    sound = law.estimate_selections

    def wider(self, *arguments, **named):
        estimates = sound(self, *arguments, **named)
        return dataclasses.replace(estimates, variances=1.002 * estimates.variances)

    monkeypatch.setattr(law, "estimate_selections", wider)
    found = list(disagreeing_doors(release, table))
    assert {each.kind for each in found} == {"margin", "joint"}
    assert "by query" in found[0].sentence


def test_an_attack_that_does_not_run_is_named(monkeypatch):
    """Whatever it raises."""
    table = sample_table()
    release = release_in_memory(table, DESIGN, seed=1)
    assert not list(unattackable(release, table))

    def stumble(self, release, knowledge=None):
        raise ZeroDivisionError("by nothing")

    monkeypatch.setattr(ATTACKS.get("linking"), "run", stumble)
    (failure,) = unattackable(release, table)
    assert "linking names the law and does not run: ZeroDivisionError" in failure.sentence


def test_a_law_that_stumbles_is_a_finding_and_not_a_crash(law, monkeypatch):
    """An error of Python's in the place of an answer."""

    def stumble(self, *arguments, **named):
        raise IndexError("out of range")

    monkeypatch.setattr(law, "estimate", stumble)
    monkeypatch.setattr(law, "estimate_selections", stumble)
    report = check_method(DESIGN, two_attributes(), releases=FEW)
    assert "answers" in aspects(report)
    assert any("IndexError" in each.sentence for each in report.failures)


def test_a_declared_reason_is_as_good_as_an_answer(law, monkeypatch):
    """A law may leave joint questions open when it says why."""

    def refuse(self, *arguments, **named):
        raise NotIdentifiableError("nothing of the kind is published. Ask another.")

    monkeypatch.setattr(law, "estimate", refuse)
    monkeypatch.setattr(law, "estimate_selections", refuse)
    report = check_method(DESIGN, two_attributes(), releases=FEW)
    assert aspects(report) == {"answers"}
    assert report.refusals["joint", "table"].startswith("nothing of the kind")
    monkeypatch.setattr(law, "unanswerable", "it publishes one number, and that is about everybody")
    assert check_method(DESIGN, two_attributes(), releases=FEW).is_honest


def test_a_false_claim_of_exactness_needs_no_statistics(law, monkeypatch):
    """Published counts called exact; and certain bounds that do not hold the truth."""
    sound = law.estimate

    def exact(self, *arguments, **named):
        estimates = sound(self, *arguments, **named)
        return Estimates(estimates.values, 0 * estimates.variances)

    monkeypatch.setattr(law, "estimate", exact)
    found = run_trials(DESIGN, sample_table(), releases=2, seed=1).pooled("margin", "table")
    assert sum(np.nansum(each.false_claims) for each in found) > 0

    def bounded(self, *arguments, **named):
        estimates = sound(self, *arguments, **named)
        none = np.zeros(estimates.values.size)
        return dataclasses.replace(estimates, bounds=(none, none + 1))

    monkeypatch.setattr(law, "estimate", bounded)
    assert "claims" in aspects(check_method(DESIGN, two_attributes(), releases=FEW))


def test_a_design_that_does_not_fit_the_table_is_refused():
    """By its own words, before anything is tried."""
    with pytest.raises(SfumatoError, match="no attribute 'hat'"):
        check_method(RandomizedResponse(retention=0.5, attributes=("hat",)), releases=FEW)


def test_a_method_that_publishes_hardly_any_table_like_this_one_is_a_finding(monkeypatch):
    """With what it said."""

    def refuse(*_):
        raise ParameterError("this table has too few rows. Give more.")

    monkeypatch.setattr("sfumato.testing.trials.prepare", refuse)
    report = check_method(DESIGN, two_attributes(), releases=FEW)
    assert any(
        "30 of 30 tables" in each.sentence and "too few rows" in each.sentence for each in report.failures
    )


def test_unit_item_value_data_are_asked_about_too():
    """Units are redrawn as a whole, and the numbers of rows are held against the truth."""
    table = read_table(ratings(), LONG_SCHEMA)
    report = check_method(ColumnizedCounts.example(LONG_SCHEMA), table, releases=FEW)
    assert report.random_checks > 0
    assert "attacks" not in aspects(report)
