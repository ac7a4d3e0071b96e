"""``sfumato falsify``: verdict and exit codes."""

from __future__ import annotations

import json


def test_a_method_that_is_what_it_says_is_not_refuted(run, folder):
    """With and without rows; JSON says the same."""
    arguments = ("falsify", "--method", "randomized-response", "--set", "retention=0.5", "--repeats", "2")
    outcome = run(*arguments, "--seed", "1")
    assert outcome.exit_code == 0, outcome.stderr
    assert outcome.stdout.startswith("Not refuted in 8 trials at level 0.0001.")
    assert "no differential privacy is promised" in outcome.stdout
    outcome = run("falsify", "people.csv", *arguments[1:], "--schema", "schema.toml", "--seed", "1", "--json")
    assert outcome.exit_code == 0, outcome.stderr
    told = json.loads(outcome.stdout)
    assert told["refuted"] == []
    assert any("the table given" in each["claim"] for each in told["tried"])


def test_a_fault_in_the_draws_ends_with_3(run, folder, monkeypatch):
    """Every draw keeps the true value: the stated matrix is refuted, and the witness is printed."""
    from sfumato.methods.randomized_response import kernels

    def as_they_are(stream, codes, kernel):
        del stream, kernel
        return codes

    monkeypatch.setattr(kernels, "_redraw", as_they_are)
    outcome = run("falsify", "--method", "randomized-response", "--set", "retention=0.5", "--repeats", "2")
    assert outcome.exit_code == 3, outcome.stdout + outcome.stderr
    assert outcome.stdout.startswith("REFUTED at level 0.0001, with this witness: published illness")


def test_rows_without_a_schema_are_a_misuse(run, folder):
    """Exit 2."""
    outcome = run("falsify", "people.csv", "--method", "randomized-response", "--set", "retention=0.5")
    assert outcome.exit_code == 2
