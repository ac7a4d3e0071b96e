"""A mutant in a function that is alive is the mutant in its file; what is done on importing is told apart."""

from __future__ import annotations

import subprocess
import sys
from functools import cached_property, lru_cache

import pytest

from mutants.mutations import mutations
from mutants.nursery import _caches, changed_functions, put_in
from mutants.reaching import Reach
from mutants.rooms import ROOT

SOURCE = """
SCALE = 2
TABLE = [each + 1 for each in range(3)]

def outer(x, y=1):
    def inner(z):
        return z * 3
    return inner(x) + y

class Shape:
    side = 4

    @property
    def area(self):
        return self.side * 5
"""


@pytest.fixture
def slips(tmp_path):
    """The mutants of a small module, by what they make of a statement."""
    file = tmp_path / "shapes.py"
    file.write_text(SOURCE)
    return {each.mutated: each for each in mutations(SOURCE, str(file))}


@pytest.mark.parametrize(
    ("mutated", "functions"),
    [
        ("return z / 3", ["outer"]),
        ("return inner(x) - y", ["outer"]),
        ("return self.side / 5", ["Shape.area"]),
        ("SCALE = 3", None),
        ("TABLE = [each - 1 for each in range(3)]", None),
        ("side = 5", None),
        ("def outer(x, y=2):\n    ...", None),
    ],
)
def test_what_a_mutant_changes(slips, mutated, functions):
    """The outermost function; nothing where importing does the work."""
    found = changed_functions(slips[mutated])
    assert (None if found is None else [each.co_qualname for each in found]) == functions


def test_functions_that_are_alive_are_changed_under_their_decorators(slips):
    """Whoever holds them: a property, a cache, a name elsewhere."""
    file = slips["SCALE = 3"].file
    space: dict[str, object] = {}
    exec(compile(SOURCE, file, "exec"), space)
    shape, outer = space["Shape"], space["outer"]
    cached = lru_cache(outer)
    functions = {
        (each.__code__.co_filename, each.__code__.co_qualname, each.__code__.co_firstlineno): [each]
        for each in (shape.area.fget, outer)
    }
    assert put_in(slips["return z / 3"], functions)
    assert put_in(slips["return self.side / 5"], functions)
    assert not put_in(slips["SCALE = 3"], functions)
    assert not put_in(slips["return z / 3"], {})
    assert (cached(6), outer(9)) == (3, 4)
    assert shape().area == 0.8
    assert isinstance(shape.area, property)
    assert not isinstance(shape.area, cached_property)


def test_what_the_package_remembers_is_found():
    """Numbers computed while tests are collected would hide a slip from all of them."""
    from sfumato.methods.columnized_counts.noisy_counts import _release_words

    assert any(each is _release_words for each in _caches())


def test_the_fastest_test_of_a_line_comes_first():
    """Of the files asked about only."""
    reach = Reach(
        {"a.py::1": 2.0, "a.py::2": 1.0, "b.py::3": 0.1},
        {"x.py": {7: {"a.py::1", "b.py::3"}, 8: {"a.py::2"}}},
    )
    assert reach.tests_of("x.py", [7, 8], ["a.py"]) == ["a.py::2", "a.py::1"]
    assert reach.tests_of("x.py", [7], ["a.py", "b.py"]) == ["b.py::3", "a.py::1"]
    assert reach.tests_of("y.py", [7], ["a.py"]) == []


def test_a_second_run_uses_what_the_first_recorded(tmp_path):
    """From the command line, with a record of lines that the next run uses: the same score, the same survivors."""
    arguments = [
        "--seed",
        "3",
        "--number",
        "6",
        "--rooms",
        "guarantees",
        "--files",
        "small_sum_privacy",
        "--quick",
    ]
    runs = [
        subprocess.run(
            [sys.executable, "-m", "mutants", *arguments, "--keep", str(tmp_path)],
            cwd=ROOT,
            env={"PYTHONPATH": str(ROOT / "tests"), "PATH": "", "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )
        for _ in range(2)
    ]
    assert runs[0].stdout == runs[1].stdout
    assert "seed 3: 6 of" in runs[0].stdout
    assert "killed" in runs[0].stdout
    assert list(tmp_path.glob("*.json"))
