"""Tables too wide for a search: which attributes to leave out."""

from __future__ import annotations

import math
from collections.abc import Mapping

from sfumato.errors import ParameterError
from sfumato.values.mixed_radix import LARGEST_KEY

MOST_NODES = 10_000_000
"""Combinations of levels that a full-domain search can hold bounds for."""


def require_countable(sizes: Mapping[str, int], search: str, *, watched: int = 1) -> None:
    """Refuse attributes whose combinations cannot be told apart by one number.

    Parameters
    ----------
    sizes
        Attribute to the number of its values.
    search
        Which search is asked for.
    watched
        Combinations of the sensitive values that a criterion looks at.

    Raises
    ------
    ParameterError
        Naming the fewest attributes without which it could.

    Examples
    --------
    >>> require_countable(dict.fromkeys("abcdefghijklmnopqrs", 10), "full-domain")
    Traceback (most recent call last):
    sfumato.errors.ParameterError: the 19 attributes have 1e+19 combinations of values, and search = 'full-domain' can tell
    4.61e+18 apart. Leave out or coarsen 'a', or use search = 'mondrian', which has no such limit.
    """
    excess = _largest_first(sizes, LARGEST_KEY // watched)
    if excess:
        raise ParameterError(
            f"the {len(sizes)} attributes have {watched * math.prod(sizes.values()):.3g} combinations of values, and "
            f"search = {search!r} can tell {LARGEST_KEY:.3g} apart. Leave out or coarsen {_listed(excess)}, or use "
            "search = 'mondrian', which has no such limit.",
            parameter="search",
        )


def require_searchable(levels: Mapping[str, int]) -> None:
    """Refuse attributes whose levels have too many combinations to be searched.

    Raises
    ------
    ParameterError
        Naming the fewest attributes without which they could be.

    Examples
    --------
    >>> require_searchable(dict.fromkeys("abcdefghijklmnopqrs", 2))
    >>> require_searchable(dict.fromkeys("abcdefghijklmnopqrs", 3))
    Traceback (most recent call last):
    sfumato.errors.ParameterError: the 19 attributes have 1.16e+09 combinations of levels, and a full-domain search looks
    through 1e+07. Leave out 'a', 'b', 'c', 'd', 'e', or give them fewer levels, or use search = 'mondrian'.
    """
    excess = _largest_first(levels, MOST_NODES)
    if excess:
        raise ParameterError(
            f"the {len(levels)} attributes have {math.prod(levels.values()):.3g} combinations of levels, and a "
            f"full-domain search looks through {MOST_NODES:.3g}. Leave out {_listed(excess)}, or give them fewer levels, or "
            "use search = 'mondrian'.",
            parameter="search",
        )


def _largest_first(sizes: Mapping[str, int], most: int) -> list[str]:
    """The fewest attributes without which the product is at most so much: those with the largest sizes."""
    product = math.prod(sizes.values())
    excess: list[str] = []
    for name in sorted(sizes, key=lambda each: -sizes[each]):
        if product <= most:
            break
        excess.append(name)
        product //= sizes[name]
    return excess


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names))
