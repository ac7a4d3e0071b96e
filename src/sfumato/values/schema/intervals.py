"""Bins of numbers: their edges, open ends included, and their labels."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sfumato.values.toml_text import number_text


def with_open_ends(
    bins: Sequence[float], *, bottom_code: float | None = None, top_code: float | None = None
) -> tuple[float, ...]:
    """Edges of all bins, where everything below the bottom code is one bin and everything from the top code on.

    Examples
    --------
    >>> with_open_ends((0, 20, 40, 60), top_code=50)
    (0, 20, 40, 50, inf)
    >>> with_open_ends((0, 20, 40, 60), bottom_code=18, top_code=60)
    (-inf, 18, 20, 40, 60, inf)
    """
    edges = list(bins)
    if top_code is not None:
        edges = [*(edge for edge in edges if edge < top_code), top_code, math.inf]
    if bottom_code is not None:
        edges = [-math.inf, bottom_code, *(edge for edge in edges if edge > bottom_code)]
    return tuple(edges)


def interval_label(low: float, high: float) -> str:
    """The published text of an interval that contains its lower end.

    Examples
    --------
    >>> interval_label(17, 25), interval_label(65, math.inf), interval_label(-math.inf, 0.5)
    ('[17,25)', '65 or more', 'less than 0.5')
    """
    if math.isinf(high):
        return f"{number_text(low)} or more"
    if math.isinf(low):
        return f"less than {number_text(high)}"
    return f"[{number_text(low)},{number_text(high)})"
