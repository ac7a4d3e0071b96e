"""Ways to spoil an input, all from one seeded generator of plain randomness."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

Chance = random.Random

NUMBERS = (
    0,
    1,
    -1,
    2,
    0.5,
    1e-9,
    5e-324,
    1e300,
    -1e300,
    float("inf"),
    float("-inf"),
    float("nan"),
    2**31,
    2**53 + 1,
    2**63 - 1,
    2**63,
    2**64,
    -(2**63),
    10**30,
    10**400,
    0.9999999999999999,
    6_000_000_000,
)
"""Where arithmetic, types and memory end."""

TEXTS = (
    "",
    " ",
    "'",
    '"',
    "''",
    "\x00",
    "\x1b[2J",
    "\u202e",
    "\ud7ff",
    "😀",
    "é",
    "../../etc/passwd",
    "/dev/zero",
    "=1+1",
    "<script>alert(1)</script>",
    "{{7*7}}",
    "%s%n",
    "'; drop table x; --",
    "select",
    "NULL",
    "nan",
    "inf",
    "1_5",
    "0x10",
    "1e400",
    "9" * 5_000,
    "a" * 70_000,
    "(" * 3_000,
    "\n",
    "\r\n",
    "\t",
    "(missing)",
    "*",
    "[17,35)",
)
"""Texts that mean something to somebody else."""


def spoiled_bytes(chance: Chance, content: bytes, tokens: Sequence[bytes]) -> bytes:
    """Some bytes changed, taken out, doubled, moved, or put in."""
    data = bytearray(content)
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        place = chance.randrange(len(data) + 1)
        length = chance.choice((1, 1, 2, 5, 20, 200))
        change = chance.randrange(7)
        if change == 0 and place < len(data):
            data[place] = chance.randrange(256)
        elif change == 1:
            del data[place : place + length]
        elif change == 2:
            data[place:place] = data[place : place + length]
        elif change == 3:
            data[place:place] = chance.choice(tokens)
        elif change == 4:
            elsewhere = chance.randrange(len(data) + 1)
            data[elsewhere:elsewhere] = data[place : place + length]
        elif change == 5:
            data[place : place + length] = bytes(chance.randrange(256) for _ in range(length))
        else:
            lines = bytes(data).split(b"\n")
            chance.shuffle(lines) if chance.random() < 0.2 else lines.pop(chance.randrange(len(lines)))
            data = bytearray(b"\n".join(lines))
    return bytes(data)


def spoiled_text(chance: Chance, text: str, tokens: Sequence[str]) -> str:
    """The same for text, which stays text."""
    changed = spoiled_bytes(
        chance, text.encode(), [each.encode("utf-8", "surrogatepass") for each in (*tokens, *TEXTS)]
    )
    return changed.decode("utf-8", "replace")


def any_value(chance: Chance, depth: int = 0) -> Any:
    """A value of any kind that JSON and TOML have."""
    kinds: tuple[Callable[[], Any], ...] = (
        lambda: chance.choice(NUMBERS),
        lambda: chance.choice(TEXTS),
        lambda: chance.choice((True, False)),
        lambda: [any_value(chance, depth + 1) for _ in range(chance.randrange(4))] if depth < 3 else [],
        lambda: (
            {chance.choice(TEXTS[:20]): any_value(chance, depth + 1) for _ in range(chance.randrange(3))}
            if depth < 3
            else {}
        ),
    )
    return chance.choice(kinds)()


def places(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in nested lists and tables."""
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    found = []
    for key in keys:
        found += [(*place, key), *places(value[key], (*place, key))]
    return found


def spoiled_tree(chance: Chance, value: Any, *, known: Sequence[Any] = ()) -> Any:
    """A nested value with one or a few places changed, dropped, doubled, or filled from elsewhere in it."""
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        found = places(value)
        if not found:
            return any_value(chance)
        *outer, last = chance.choice(found)
        inner = value
        for key in outer:
            inner = inner[key]
        change = chance.randrange(6)
        if change == 0:
            del inner[last]
        elif change == 1:
            inner[last] = copy.deepcopy(inner_of(value, chance.choice(found)))
        elif change == 2 and known:
            inner[last] = chance.choice(known)
        elif change == 3 and isinstance(inner[last], int | float) and not isinstance(inner[last], bool):
            # A whole number too large for a fraction stays as it is.
            with suppress(OverflowError):
                inner[last] = inner[last] * chance.choice((-1, 0, 1.0000001, 10, 1e-3, 2**40))
        elif change == 4 and isinstance(inner, list):
            inner.append(any_value(chance))
        else:
            inner[last] = any_value(chance)
    return value


def inner_of(value: Any, place: tuple[Any, ...]) -> Any:
    """What stands at a place; the whole where the place is gone."""
    for key in place:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return 0
    return value
