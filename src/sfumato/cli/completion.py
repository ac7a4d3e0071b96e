"""Completion in the shell: names of methods, attacks and their parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from sfumato.families import Family

Item = tuple[str, str]
"""What is completed, and its help."""


def complete_methods(incomplete: str) -> list[Item]:
    """Methods whose name begins so."""
    from sfumato.methods.base import METHODS

    return _members(METHODS, incomplete)


def complete_attacks(incomplete: str) -> list[Item]:
    """Attacks whose name begins so."""
    from sfumato.attacks import ATTACKS

    return _members(ATTACKS, incomplete)


def complete_datasets(incomplete: str) -> list[Item]:
    """Data sets whose name begins so."""
    from sfumato.datasets import list_datasets

    return [(each.name, each.title) for each in list_datasets() if each.name.startswith(incomplete)]


def complete_settings(ctx: typer.Context, incomplete: str) -> list[Item]:
    """Parameters of the method or attack already on the line; of all of them when none is yet."""
    from sfumato.attacks import ATTACKS
    from sfumato.methods.base import METHODS

    family: Family[Any] = ATTACKS if "attack" in ctx.params else METHODS
    chosen = ctx.params.get(family.tag)
    members = [family.members[chosen]] if chosen in family.members else list(family.members.values())
    found = {
        f"{name}=": field.description or ""
        for member in members
        for name, field in member.model_fields.items()
        if name != family.tag and f"{name}=".startswith(incomplete)
    }
    return list(found.items())


def _members(family: Family[Any], incomplete: str) -> list[Item]:
    return [(name, member.title) for name, member in family.members.items() if name.startswith(incomplete)]
