"""What a query says, as a tree: conditions, joined and negated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Condition:
    """An attribute has one of these codes."""

    name: str
    codes: frozenset[int]


@dataclass(frozen=True)
class Joined:
    """All of the parts hold, or at least one of them."""

    word: Literal["AND", "OR"]
    parts: tuple[Expression, ...]


@dataclass(frozen=True)
class Negated:
    """The part does not hold."""

    part: Expression


Expression = Condition | Joined | Negated
EVERY_ROW = Joined("AND", ())
"""What a query without conditions says."""
