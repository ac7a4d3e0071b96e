"""Layers that are declared are layers that are there."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import grimp
import pytest

import sfumato

ROOT = Path(sfumato.__file__).parents[2]
PUBLIC_HALF, PRIVATE_HALF = "methods: law, kernels", "methods: design, plan"
MOST_APART = 1


def contracts() -> list[dict[str, Any]]:
    """The import contracts of the project."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = settings["tool"]["importlinter"]["contracts"]
    return found


def declared() -> tuple[str, ...]:
    """The layers of the import contract, top to bottom, and the two halves of a method's folder."""
    return (
        *next(each["layers"] for each in contracts() if each["type"] == "layers"),
        PUBLIC_HALF,
        PRIVATE_HALF,
    )


def room(module: str) -> str | None:
    """The room that a module stands in; none for the package itself and folders that only hold others."""
    _, *parts = module.split(".")
    if not parts or parts[0] != "methods":
        return parts[0] if parts else None
    if len(parts) == 1 or (len(parts) == 2 and parts[1] not in {"base", "planning"}):
        return None
    return (
        PUBLIC_HALF if len(parts) > 2 and parts[2] not in {"design", "count_phase", "plan"} else PRIVATE_HALF
    )


def imports_between_rooms() -> dict[str, set[str]]:
    """Which rooms each room imports, anywhere in its modules; doors that point up are no layers."""
    graph = grimp.build_graph("sfumato")
    found: dict[str, set[str]] = {}
    for module in graph.modules - {"sfumato.release.verbs"}:
        rooms = {room(each) for each in graph.find_modules_directly_imported_by(module)}
        if (own := room(module)) is not None:
            found.setdefault(own, set()).update(rooms - {own, None})
    # A release finds the law it was published with by discovery, which no import shows.
    found["release"].add(PUBLIC_HALF)
    return found


def longest_chain(imports: dict[str, set[str]]) -> tuple[str, ...]:
    """The most rooms that stand one on the other."""

    @cache
    def below(own: str) -> tuple[str, ...]:
        return (own, *max((below(each) for each in imports.get(own, ())), key=len, default=()))

    return max(map(below, imports), key=len)


def uncovered(modules: Iterable[str], patterns: Iterable[str]) -> set[str]:
    """Modules that no pattern of a contract names, neither themselves nor a package above them."""
    listed = list(patterns)
    return {
        module
        for module in modules
        if not any(fnmatchcase(module, each) or fnmatchcase(module, f"{each}.*") for each in listed)
    }


def modules_below(folder: str) -> set[str]:
    """Dotted names of the modules in a folder of the package, package files aside."""
    package = Path(sfumato.__file__).parent
    return {
        ".".join(path.relative_to(package.parent).with_suffix("").parts)
        for path in (package / folder).rglob("*.py")
        if path.name != "__init__.py"
    }


def public_files_of_methods() -> set[str]:
    """Modules in a method's folder that are not of the custodian's half."""
    return {each for each in modules_below("methods") if room(each) == PUBLIC_HALF}


@pytest.mark.parametrize("name", ["The public half of a method", "Formulas do not read"])
def test_contracts_name_every_public_file_of_a_method(name):
    """A new file of mathematics is under both contracts from its first day."""
    contract = next(each for each in contracts() if each["name"].startswith(name))
    files = public_files_of_methods()
    assert len(files) > 8
    assert not uncovered(files, contract["source_modules"])
    assert uncovered({*files, "sfumato.methods.anatomy.new"}, contract["source_modules"])


def test_the_contract_of_the_studio_names_every_file_but_the_planner():
    """A new page or module of the server cannot read private rows unseen."""
    contract = next(each for each in contracts() if each["name"].startswith("The studio's server"))
    files = modules_below("studio") - {"sfumato.studio.planner"}
    assert not uncovered(files, contract["source_modules"])
    assert uncovered({"sfumato.studio.new"}, contract["source_modules"])


def test_the_longest_chain_of_imports_is_as_long_as_the_list_of_layers():
    """A list much longer than any chain is everything in order, not layers; a longer chain would leave the list."""
    layers, chain = declared(), longest_chain(imports_between_rooms())
    assert abs(len(layers) - len(chain)) <= MOST_APART, (layers, chain)


def test_a_list_of_layers_that_no_import_needs_is_noticed():
    """The same rooms, of which none imports the next but the first."""
    chain = longest_chain(imports_between_rooms())
    apart = {chain[0]: set(chain[1:])}
    assert len(longest_chain(apart)) == 2
    assert abs(len(declared()) - len(longest_chain(apart))) > MOST_APART
