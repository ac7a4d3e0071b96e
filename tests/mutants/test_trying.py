"""A run that was stopped goes on: what became of a mutant is kept while sources and tests are the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mutants import trying
from mutants.mutations import mutations
from mutants.rooms import ROOT
from mutants.trial import Outcome
from mutants.trying import Bench

FILE = "src/sfumato/guarantees/amplification.py"
SOME = mutations((ROOT / FILE).read_text(encoding="utf-8"), FILE)[:3]


def bench(folder: Path, *, is_near_only: bool = True) -> Bench:
    """With the tests of one file."""
    tests = {FILE: (Path("tests/unit/guarantees/test_within.py"),)}
    return Bench(tests, folder, folder / "kept", 1, is_near_only)


@pytest.fixture
def tried(monkeypatch):
    """Mutants that were tried; those of the first statement are seen."""
    found = []

    def tried_by_tests(self, some):
        found.append([each.identity for each in some])
        outcomes = [Outcome.KILLED if each is SOME[0] else Outcome.SURVIVED for each in some]
        for each, outcome in zip(some, outcomes, strict=True):
            self._remember(each, outcome)
        return outcomes

    monkeypatch.setattr(Bench, "_tried", tried_by_tests)
    monkeypatch.setattr(trying, "warm_up", lambda: None)
    return found


def test_what_is_known_is_not_tried_again(tmp_path, tried):
    """Two mutants and then three: the third alone is new."""
    first = bench(tmp_path).outcomes(SOME[:2])
    assert first == [Outcome.KILLED, Outcome.SURVIVED]
    assert bench(tmp_path).outcomes(SOME) == [*first, Outcome.SURVIVED]
    assert tried == [[each.identity for each in SOME[:2]], [SOME[2].identity]]


def test_survivors_of_some_tests_are_tried_by_the_others(tmp_path, tried):
    """Where none are left out, only what was seen is kept."""
    for _ in range(2):
        bench(tmp_path, is_near_only=False).outcomes(SOME[:2])
    assert tried == [[each.identity for each in SOME[:2]], [SOME[1].identity]]


def test_other_tests_or_sources_try_everything_anew(tmp_path, tried, monkeypatch):
    """What was seen by tests that were changed may be seen no longer."""
    bench(tmp_path).outcomes(SOME[:1])
    other = bench(tmp_path)
    other = replace(other, tests={FILE: (Path("tests/unit/guarantees/test_units.py"),)})
    other.outcomes(SOME[:1])
    monkeypatch.setattr(Bench, "_sources", "changed")
    bench(tmp_path).outcomes(SOME[:1])
    assert len(tried) == 3


def test_lines_are_recorded_anew_for_other_sources_where_no_other_tests_are_tried(tmp_path, monkeypatch):
    """A line more above a statement, and its tests would be those of the statement before it."""
    near, all_of_them = (bench(tmp_path, is_near_only=each)._records for each in (True, False))
    assert list(near) == list(all_of_them)
    monkeypatch.setattr(Bench, "_sources", "changed")
    assert bench(tmp_path, is_near_only=False)._records == all_of_them
    assert set(bench(tmp_path)._records.values()).isdisjoint(near.values())
