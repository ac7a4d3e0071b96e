"""Every test belongs to a part whose minutes are stated."""

from __future__ import annotations

from pathlib import Path

import pytest

import minutes

TESTS = Path(__file__).resolve().parents[1]


def test_no_folder_with_tests_is_forgotten():
    """A new folder needs a part."""
    folders = {f"tests/{path.relative_to(TESTS).parts[0]}" for path in TESTS.glob("*/**/test_*.py")}
    stated = [each for part in minutes.PARTS.values() for each in part]
    assert folders <= set(stated)
    assert len(stated) == len(set(stated))


def test_seconds_are_summed_by_part_and_tests_are_counted_once():
    """A test has three phases; parameters may hold anything but the tab that comes last."""
    lines = [
        "tests/unit/a/test_b.py::test_c[x\ty]\t1.0",
        "tests/unit/a/test_b.py::test_c[x\ty]\t2.0",
        "src/sfumato/errors.py::sfumato.errors.Nothing\t0.5",
        "tests/errata/test_li.py::test_d\t60",
        "tests/minutes.py::tests.minutes.summed\t1.5",
    ]
    seconds, tests = minutes.summed(lines)
    assert seconds == {"unit": 5.0, "recomputation": 60.0}
    assert tests == {"unit": 3, "recomputation": 1}
    with pytest.raises(StopIteration):
        minutes.part_of("tests/nowhere/test_e.py::test_f")


def test_the_table_stands_between_its_marks_and_nothing_else_changes():
    """Written twice it is the same."""
    page = minutes.PAGE.read_text(encoding="utf-8")
    found = minutes.table({"unit": 90.0}, {"unit": 1_234}, {"make test": 600.0})
    assert "| unit | 1,234 | 1.5 |" in found
    assert "| `make test` by the clock | | 10.0 |" in found
    once = minutes.written(page, found)
    assert minutes.written(once, found) == once
    assert once.split(minutes.BEGIN)[0] == page.split(minutes.BEGIN)[0]
    assert once.split(minutes.END)[1] == page.split(minutes.END)[1]
