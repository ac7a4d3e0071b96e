"""Mutants that no test can kill, because they compute the same: a kept list, each with its reason."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path

from mutants.mutations import Mutation

LIST = Path(__file__).with_name("equivalent.toml")
Identity = tuple[str, str, str, str]


def reasons(path: Path = LIST) -> dict[Identity, str]:
    """Why each listed mutant is equivalent, by file, function, original and mutated statement.

    Raises
    ------
    ValueError
        An entry has no reason.
    """
    entries = tomllib.loads(path.read_text(encoding="utf-8")).get("mutant", [])
    found = {
        (each["file"], each["function"], each["original"], each["mutated"]): each["reason"].strip()
        for each in entries
    }
    silent = [identity for identity, reason in found.items() if not reason]
    if silent:
        raise ValueError(
            f"{len(silent)} mutants are called equivalent without a reason, the first is {silent[0]}."
        )
    return found


def outdated(listed: Iterable[Identity], existing: Iterable[Mutation]) -> list[Identity]:
    """Listed mutants of files that were read whose statement is no longer there."""
    existing = list(existing)
    files, known = {each.file for each in existing}, {each.identity for each in existing}
    return [each for each in listed if each[0] in files and each not in known]
