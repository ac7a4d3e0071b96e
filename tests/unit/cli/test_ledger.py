"""The ledger from the command line."""

from __future__ import annotations

import json

PUBLISH = ("publish", "people.csv", "--schema", "schema.toml", "--method", "randomized-response", "--set")


def test_a_table_is_published_once_unless_again_is_said(run, folder):
    """Refused with the sum, and nothing is written."""
    assert run(*PUBLISH, "retention=0.5", "--out", "first").exit_code == 0
    refused = run(*PUBLISH, "retention=0.4", "--out", "second")
    assert refused.exit_code == 1
    assert "Together:" in refused.stderr
    assert not (folder / "second").exists()
    assert run(*PUBLISH, "retention=0.4", "--out", "second", "--again").exit_code == 0
    assert "2 releases of one table" in run("ledger", "compose").stdout


def test_entries_are_listed_and_withdrawn(run, folder):
    """As text and as JSON."""
    assert run("ledger", "list").stdout == ""
    run(*PUBLISH, "retention=0.5", "--out", "first")
    assert run("ledger", "withdraw", "1").exit_code == 0
    assert json.loads(run("ledger", "list", "--json").stdout)[0]["state"] == "withdrawn"
    assert "withdrawn" in run("ledger", "list").stdout
    assert run(*PUBLISH, "retention=0.5", "--out", "second").exit_code == 0
    assert run("ledger", "withdraw", "7").exit_code == 1


def test_a_ledger_can_be_named(run, folder):
    """Another file than the usual one."""
    assert run(*PUBLISH, "retention=0.5", "--out", "first", "--ledger", "own.db").exit_code == 0
    assert run("ledger", "list").stdout == ""
    assert "first" in run("ledger", "list", "--ledger", "own.db").stdout


def test_a_seeded_release_is_not_entered(run, folder):
    """It protects nobody."""
    run(*PUBLISH, "retention=0.5", "--out", "first", "--seed", "1")
    assert run("ledger", "compose").stdout == ""
