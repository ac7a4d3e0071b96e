"""Every file of formulas has tests of its own, found by its place in the tree."""

from __future__ import annotations

from pathlib import Path

import pytest

from mutants.rooms import ROOMS, ROOT, files_of, module_name, own_tests


@pytest.mark.parametrize("room", list(ROOMS))
def test_every_file_of_a_room_has_tests(room):
    """At least one beside its doctests, and none twice."""
    files = files_of(room)
    assert files
    for file in files:
        tests = own_tests(file)
        assert len(tests) == len(set(tests)) > 1
        assert all((ROOT / test).is_file() for test in tests)
        assert tests[-1] == file


def test_the_tests_named_after_a_file_come_first():
    """Most slips are seen by the first file of tests."""
    tests = own_tests(Path("src/sfumato/randomness/noise.py"))
    assert tests[0] == Path("tests/unit/randomness/test_noise.py")
    assert Path("tests/statistical/test_noise.py") in tests


def test_a_method_is_tested_by_what_is_named_after_anything_in_its_folder():
    """The law of SPLU-Gen by the statistics of its decoys too, and not by those of another method."""
    tests = own_tests(Path("src/sfumato/methods/splu_gen/kernels.py"))
    assert tests[0] == Path("tests/unit/methods/splu_gen/test_kernels.py")
    assert Path("tests/statistical/test_splu_gen.py") in tests
    assert Path("tests/statistical/test_anatomy.py") not in tests
    assert Path("tests/unit/methods/splu_gen/test_design.py") not in tests
    assert Path("tests/unit/methods/splu_gen/test_plan.py") not in tests
    assert Path("tests/unit/methods/splu_gen/test_telling.py") in tests


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("src/sfumato/randomness/noise.py", "sfumato.randomness.noise"),
        ("src/sfumato/randomness/distortion.py", "sfumato.randomness.distortion"),
    ],
)
def test_module_names(file, name):
    """As they are imported."""
    assert module_name(Path(file)) == name
