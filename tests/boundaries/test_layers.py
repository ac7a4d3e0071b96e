"""Layers that are declared are layers that are there."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

import grimp

import sfumato

ROOT = Path(sfumato.__file__).parents[2]
PUBLIC_HALF, PRIVATE_HALF = "methods: law, kernels", "methods: design, plan"
MOST_APART = 1


def declared() -> tuple[str, ...]:
    """The layers of the import contract, top to bottom, and the two halves of a method's folder."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    return (
        *next(each["layers"] for each in contracts if each["type"] == "layers"),
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
