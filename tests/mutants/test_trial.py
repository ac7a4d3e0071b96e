"""A mutant runs inside the import of its tests: seen, unseen, and never ending."""

from __future__ import annotations

import subprocess
import sys

import pytest

from mutants.mutations import mutations
from mutants.rooms import ROOT

FILE = "src/sfumato/guarantees/amplification.py"


def outcome(mutated, tests, seconds=60):
    """What tests make of one mutant, in a process that has not imported the package."""
    script = f"""
from pathlib import Path
from mutants.mutations import mutations
from mutants.trial import Trial, run
source = Path({str(ROOT / FILE)!r}).read_text("utf-8")
chosen = next((each for each in mutations(source, {FILE!r}) if each.mutated == {mutated!r}), None)
for _, outcome, _ in run({{0: Trial((Path({str(tests)!r}),), chosen, {seconds})}}, 1):
    print(outcome.name)
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={"PYTHONPATH": f"{ROOT / 'src'}:{ROOT / 'tests'}", "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_the_slip_used_here_is_one_that_is_tried():
    """Otherwise the next tests would run the original."""
    source = (ROOT / FILE).read_text("utf-8")
    assert "return 1 - retention * size / (1 - retention)" in {
        each.mutated for each in mutations(source, FILE)
    }


@pytest.mark.parametrize(
    ("mutated", "claim", "expected"),
    [
        ("return 1 - retention * size / (1 - retention)", "gamma_of_retention(0.5, 2) == 3", "KILLED"),
        ("return 1 - retention * size / (1 - retention)", "gamma_of_retention(0.5, 2) != 7", "SURVIVED"),
        (None, "gamma_of_retention(0.5, 2) == 3", "SURVIVED"),
        (None, "[each for each in iter(int, 1)]", "ENDLESS"),
    ],
)
def test_what_the_tests_see(tmp_path, mutated, claim, expected):
    """A test that states the number sees the slip; one that states little does not."""
    tests = tmp_path / "test_it.py"
    tests.write_text(
        f"from sfumato.guarantees.amplification import gamma_of_retention\ndef test_it(): assert {claim}\n"
    )
    assert outcome(mutated, tests, seconds=3) == expected
