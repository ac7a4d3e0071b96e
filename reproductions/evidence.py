"""Evidence that can fail: numbers computed anew are held against the stored ones, one by one.

A reproduction is a folder with ``claims.toml`` (what a paper prints), ``reproduce.py`` (which ends in a ``REPRODUCTION``),
``results.json`` (what we found when it was last made) and a README. ``results.json`` holds the claims it was made for, our
verdict on each, and every number. This module compares all of that with a recomputation; ``run.py`` is its command line.
"""

from __future__ import annotations

import importlib.util
import json
import lzma
import math
import platform
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
DATA = HERE / "data"
ROUNDING = 1e-6
"""Relative, between two runs with the same seeds: other versions of the libraries sum in another order."""

Claims = dict[str, Any]
Results = dict[str, Any]
Part = Callable[[Claims, Path], Any]
Verdicts = dict[str, dict[str, Any]]


class MissingDataError(Exception):
    """A data set is out of reach: nothing can be said, and nothing is written."""


@dataclass(frozen=True, kw_only=True)
class Moves:
    """How far numbers that rest on random draws may move between two runs, and why so far.

    Parameters
    ----------
    pattern
        Of paths, keys joined by " > "; the first that fits a path applies.
    absolute, relative
        The Monte-Carlo error that is allowed: both together, the relative one of the middle between both numbers. Of the larger one, as it once was, six
        tenths let a number become two and a half times as large, and so more than twice what five standard deviations are.
    factor
        For what spreads by ratios: how many times as large one of them may be as the other, of the same sign.
    why
        Where the allowance comes from.
    """

    pattern: str
    absolute: float = 0.0
    relative: float = 0.0
    factor: float = 1.0
    why: str

    def __post_init__(self) -> None:
        if self.relative >= 1:
            raise ValueError(f"{self.pattern}: a relative allowance must be below 1. State a factor.")
        if not 1 <= self.factor < math.inf:
            raise ValueError(f"{self.pattern}: a factor must be finite and at least 1.")

    def allow(self, path: str, stored: float, fresh: float) -> bool | None:
        """Whether a difference is within the allowance, None where the pattern does not fit."""
        if not fnmatchcase(path, self.pattern):
            return None
        small, large = sorted((abs(stored), abs(fresh)))
        if stored * fresh > 0 and large <= self.factor * small:
            return True
        return abs(stored - fresh) <= self.absolute + self.relative * (small + large) / 2


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """One paper's claims, and how our numbers are made.

    Parameters
    ----------
    folder
        Where everything lies.
    parts
        Name to what computes that part of the results, from the claims and a folder for data.
    quick
        Computes some numbers of the results from scratch in a few seconds; the same keys, at their own paths.
    judge
        Claims and results to a verdict on every claim: printed, ours, matched.
    differs
        Claims that are known not to hold; all others do. Pinned here, so that neither side can drift.
    moves
        Allowances; numbers that none of them fits are the same in every run.
    brought
        Parts whose data may neither be passed on nor be fetched, each with the file that the caller brings. Where everything is
        asked for they are left out without it, and that is said; asked for by name they fail.
    """

    folder: Path
    parts: Mapping[str, Part]
    quick: Part
    judge: Callable[[Claims, Results], Verdicts]
    differs: frozenset[str]
    moves: tuple[Moves, ...] = ()
    brought: Mapping[str, str] = field(default_factory=dict)

    def without_data(self, folder: Path) -> list[str]:
        """Parts whose file nobody brought."""
        return [part for part, file in self.brought.items() if not (folder / file).exists()]

    @property
    def claims(self) -> Claims:
        """As transcribed."""
        return tomllib.loads((self.folder / "claims.toml").read_text(encoding="utf-8"))

    @property
    def stored(self) -> dict[str, Any]:
        """As last made."""
        found: dict[str, Any] = json.loads((self.folder / "results.json").read_text(encoding="utf-8"))
        return found


def leaves(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every number, text and truth value of nested data with its path."""
    if isinstance(tree, Mapping):
        for key, each in tree.items():
            yield from leaves(each, f"{path} > {key}" if path else str(key))
    elif isinstance(tree, list | tuple):
        for place, each in enumerate(tree):
            yield from leaves(each, f"{path} > {place}")
    else:
        yield path, tree


def agree(path: str, stored: Any, fresh: Any, moves: Sequence[Moves]) -> bool:
    """Whether two values are the same, up to rounding or to a stated Monte-Carlo error."""
    if isinstance(stored, bool) or isinstance(fresh, bool) or not _both_numbers(stored, fresh):
        return bool(stored == fresh)
    if math.isnan(stored) or math.isnan(fresh):
        return math.isnan(stored) and math.isnan(fresh)
    if math.isclose(stored, fresh, rel_tol=ROUNDING, abs_tol=1e-12):
        return True
    allowed = (each.allow(path, stored, fresh) for each in moves)
    return next((found for found in allowed if found is not None), False)


def _both_numbers(*values: Any) -> bool:
    return all(isinstance(each, int | float) for each in values)


def drift(stored: Any, fresh: Any, moves: Sequence[Moves], *, is_complete: bool) -> list[str]:
    """What differs between stored and fresh results; of a part of them only what it has."""
    before, now = dict(leaves(stored)), dict(leaves(fresh))
    faults = [f"{path}: not stored" for path in now if path not in before]
    if is_complete:
        faults += [f"{path}: stored, and no longer computed" for path in before if path not in now]
    return faults + [
        f"{path}: stored {before[path]!r}, now {now[path]!r}"
        for path in now
        if path in before and not agree(path, before[path], now[path], moves)
    ]


def merged(stored: Any, fresh: Any) -> Any:
    """Stored results with the fresh numbers in their places."""
    if isinstance(stored, Mapping) and isinstance(fresh, Mapping):
        return {key: merged(each, fresh[key]) if key in fresh else each for key, each in stored.items()}
    return fresh


def check(
    reproduction: Reproduction, fresh: Results, *, is_complete: bool, stored: Any = None, claims: Any = None
) -> list[str]:
    """Everything in which claims, stored evidence and fresh numbers disagree; empty when nothing has drifted.

    Parameters
    ----------
    fresh
        Results computed just now, all of them or some.
    is_complete
        All numbers of the parts that it has.
    stored, claims
        In place of those in the folder, for tests.
    """
    stored = reproduction.stored if stored is None else stored
    claims = reproduction.claims if claims is None else claims
    faults = [f"claims > {each}" for each in drift(stored["claims"], claims, (), is_complete=True)]
    before = {part: each for part, each in stored["results"].items() if part in fresh}
    faults += drift(before, fresh, reproduction.moves, is_complete=is_complete)
    try:
        again = reproduction.judge(claims, stored["results"])
        now = reproduction.judge(claims, merged(stored["results"], fresh))
    except (KeyError, TypeError, IndexError, ValueError, ZeroDivisionError) as error:
        return [*faults, f"verdicts: the stored results cannot be judged ({type(error).__name__})"]
    faults += [f"verdicts > {each}" for each in drift(stored["verdicts"], again, (), is_complete=True)]
    for name, verdicts in (("stored", again), ("fresh", now)):
        differing = {key for key, each in verdicts.items() if not each["matched"]}
        faults += [
            f"{key}: the {name} numbers make it {'differ' if key in differing else 'match'}, against what is pinned"
            for key in sorted(differing ^ reproduction.differs)
        ]
    return faults


def judged(claims: Sequence[Mapping[str, Any]], ours: Mapping[str, float]) -> Verdicts:
    """Verdicts on single numbers: equal within a tolerance, at most or at least what is printed."""
    verdicts = {}
    for claim in claims:
        value, printed = ours[claim["id"]], claim["printed"]
        kind = claim.get("kind", "equal")
        matched = {
            "equal": abs(value - printed) <= claim["tolerance"] + 1e-12,
            "at most": value <= printed,
            "at least": value >= printed,
        }[kind]
        verdicts[claim["id"]] = {"printed": printed, "ours": float(value), "matched": bool(matched)}
    return verdicts


def compute(reproduction: Reproduction, folder: Path, parts: Sequence[str] = ()) -> Results:
    """Results from scratch: all parts, or some."""
    claims = reproduction.claims
    return {
        name: part(claims, folder) for name, part in reproduction.parts.items() if not parts or name in parts
    }


def renew(reproduction: Reproduction, fresh: Results) -> None:
    """Write fresh results as the evidence; with some parts only, the others stay as they are."""
    import numpy as np

    from sfumato import __version__

    path = reproduction.folder / "results.json"
    known = reproduction.stored["results"] if path.exists() else {}
    results = {name: fresh.get(name, known.get(name)) for name in reproduction.parts}
    # As it will be read: keys are text, and numbers are those of JSON.
    results = json.loads(json.dumps(results))
    content = {
        "made": {
            "by": f"reproductions/{reproduction.folder.name}/reproduce.py",
            "sfumato": __version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
            "date": datetime.now(UTC).date().isoformat(),
        },
        "claims": reproduction.claims,
        "verdicts": reproduction.judge(reproduction.claims, results),
        "results": results,
    }
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def names() -> list[str]:
    """All reproductions, by folder."""
    return sorted(path.parent.name for path in HERE.glob("*/reproduce.py"))


def load(name: str) -> Reproduction:
    """The reproduction in a folder; the modules beside it can be imported by it."""
    folder = HERE / name
    sys.path.insert(0, str(folder))
    try:
        spec = importlib.util.spec_from_file_location(f"{name}_reproduce", folder / "reproduce.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(folder))
    found: Reproduction = module.REPRODUCTION
    return found


def bundled(name: str, folder: Path) -> Path:
    """A bundled data set as ``NAME.csv`` in a folder, which is made.

    Raises
    ------
    MissingDataError
        When it is not there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.csv"
    if not path.exists():
        try:
            path.write_bytes(lzma.decompress((DATA / f"{name}.csv.xz").read_bytes()))
        except FileNotFoundError:
            raise MissingDataError(
                f"reproductions/data/{name}.csv.xz is not there. Get the repository again."
            ) from None
    return path


def fetched(name: str, folder: Path) -> Path:
    """A data set that may not be passed on, fetched into a folder unless it is there.

    Raises
    ------
    MissingDataError
        When it cannot be fetched.
    """
    from sfumato.datasets import fetch_dataset
    from sfumato.errors import DownloadError

    path = folder / f"{name}.csv"
    if path.exists():
        return path
    try:
        return fetch_dataset(name, folder).data
    except DownloadError as error:
        raise MissingDataError(str(error)) from None
