"""The verbs attack and attacks."""

from __future__ import annotations

import json

import pytest

from sfumato.attacks import ATTACKS, Attack, AttackResult


class CountingAttack(Attack):
    """An attack that counts what the attacker knows."""

    attack: str = "counting"
    times: int = 1

    title = "counting"
    summary = "Counts."
    assumptions = ("The attacker can count.",)
    citations = ()
    laws = ("perturbed-rows",)

    def run(self, release, knowledge=None):
        """Count."""
        known = 0 if knowledge is None else int(knowledge.counts().total)
        return AttackResult("counting", {"known": self.times * known, "published": release.number_of_rows})


@pytest.fixture
def _one_attack(monkeypatch):
    monkeypatch.setitem(ATTACKS.__dict__, "members", {"counting": CountingAttack})


@pytest.mark.usefixtures("_one_attack")
def test_attack_runs_with_knowledge_and_parameters(run, release):
    """Parameters come by --set, knowledge from a file of records."""
    arguments = ("--attack", "counting", "--knowledge", "people.csv", "--set", "times=2", "--json")
    outcome = run("attack", release, *arguments)
    assert outcome.exit_code == 0, outcome.stderr
    assert json.loads(outcome.stdout)["findings"] == {"known": 800, "published": 400}
    assert "known" in run("attack", release, "--attack", "counting").stdout


def test_a_version_without_attacks_says_so(run, monkeypatch):
    """An empty listing is explained on stderr."""
    monkeypatch.setitem(ATTACKS.__dict__, "members", {})
    assert "no attacks" in run("attacks").stderr


@pytest.mark.usefixtures("_one_attack")
def test_attacks_lists_and_describes(run):
    """The listing names the laws, the description the assumptions and parameters."""
    assert "counting (on perturbed-rows)" in run("attacks").stdout
    described = json.loads(run("attacks", "counting", "--json").stdout)
    assert described["assumptions"] == ["The attacker can count."]
    assert described["parameters"] == [
        {"name": "times", "type": "whole number", "default": "default 1", "help": ""}
    ]


def test_an_unknown_attack_is_refused(run, release):
    """There is nothing to run."""
    assert run("attack", release, "--attack", "nothing").exit_code == 1
