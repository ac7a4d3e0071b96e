"""Which files hold formulas, and which tests are their own."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path("src/sfumato")
ROOMS = {
    "laws": (
        "laws/**/*.py",
        "estimates/exact_intervals.py",
        "methods/*/law.py",
        "methods/*/variances.py",
        "methods/anatomy/buckets.py",
        "methods/anatomy/permutations.py",
        "methods/columnized_counts/noisy_counts.py",
        "methods/splu_gen/decoy_*.py",
    ),
    "guarantees": ("guarantees/**/*.py",),
    "randomness": ("randomness/**/*.py",),
    "kernels": ("methods/*/kernels.py", "methods/generalization/search.py"),
}
GATED = ("laws", "guarantees")
"""Rooms whose score is required."""
PRIVATE_HALF = {"design", "count_phase", "plan"}
"""Files of a method that hold no formulas."""
# What every law shares is tried by the laws that use it; what is believed through a law, by what all of them share.
TESTS_OF_USERS = {"laws": ("tests/unit/methods/*/test_law*.py", "tests/unit/methods/*/test_*beliefs.py")}
BELIEFS = ("tests/unit/laws/test_*.py", "tests/unit/attacks/test_posterior.py")
# Promises are held against every way tiny tables can be published, and against the laws of releases.
# All ways to ask a law agree, and what is believed through it is held against every true table.
PROMISES = ("tests/exact/test_*.py", "tests/boundaries/test_promises_follow.py")
WIDE_TESTS = {
    "guarantees": PROMISES,
    "laws": ("tests/conformance/test_two_doors.py", *PROMISES),
}


def files_of(room: str) -> list[Path]:
    """The files of a room, from the root of the project, sorted."""
    found = {path for pattern in ROOMS[room] for path in (ROOT / PACKAGE).glob(pattern)}
    return [path.relative_to(ROOT) for path in sorted(found)]


def module_name(file: Path) -> str:
    """The name by which a file is imported."""
    parts = file.relative_to("src").with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def own_tests(file: Path, *, is_quick: bool = False) -> list[Path]:
    """The tests of a file, those most likely to see a slip in it first.

    The unit tests named after the file or its folders, the other unit tests of the mirrored folder, statistical
    tests and properties named after anything in its folder (for a method: the method's folder), its doctests. A
    quick trial leaves out statistics and properties.
    """
    parts = file.relative_to(PACKAGE).with_suffix("").parts
    folder = ROOT / "tests/unit" / Path(*parts[:-1])
    while not folder.is_dir():
        folder = folder.parent
    unit = sorted(folder.rglob("test_*.py")) if folder != ROOT / "tests/unit" else []
    # What designs and plans do with a law or a kernel is no test of it.
    private = PRIVATE_HALF if parts[0] == "methods" else set()
    unit = [path for path in unit if path.stem.removeprefix("test_").partition("_of_")[0] not in private]
    own = [f"test_{part}" for part in reversed(parts)]
    unit.sort(key=lambda path: own.index(path.stem) if path.stem in own else len(own))
    unit += [path for pattern in TESTS_OF_USERS.get(parts[0], ()) for path in sorted(ROOT.glob(pattern))]
    is_law = parts[0] == "laws" or (parts[0] == "methods" and parts[2] == "law")
    unit += [path for pattern in BELIEFS if is_law for path in sorted(ROOT.glob(pattern)) if path not in unit]
    depth = 2 if parts[0] == "methods" else 1
    subjects = {path.stem for path in (ROOT / PACKAGE / Path(*parts[:depth])).rglob("*.py")}
    subjects |= set(parts[:depth]) - {"methods"}
    wide = [
        path
        for name in (() if is_quick else ("properties", "statistical"))
        for path in sorted((ROOT / "tests" / name).glob("test_*.py"))
        if path.stem.removeprefix("test_") in subjects
    ]
    if not is_quick:
        patterns = WIDE_TESTS.get("laws" if is_law else parts[0], ())
        wide += [path for pattern in patterns for path in sorted(ROOT.glob(pattern))]
    return [path.relative_to(ROOT) for path in (*unit, *wide, ROOT / file)]
