"""What measures tend to as cells that are surely empty do, and the most that those of whole tables can be."""

from __future__ import annotations

import math

import numpy as np

from sfumato.analysis.asking import Crossed
from sfumato.analysis.measures.declarations import Measure


def limit_of(declared: Measure, table: Crossed) -> float | None:
    """What a measure tends to as the cells that are surely empty do; None where noise, not emptiness, left it undefined."""
    counts = table.counts.values
    if (counts < 0).any() or (table.counts.variances[counts == 0] > 0).any():
        return None
    total = counts.sum()

    def nearly(share: float) -> float:
        shares = np.where(counts == 0, share, counts / total).reshape(table.shape)
        return declared.shown(float(np.real(declared.formula(shares + 0j, total))))

    near, nearer = nearly(1e-100), nearly(1e-200)
    if near > 1e50 and nearer > near:
        return math.inf
    return 0.0 if 0 <= nearer < near < 1e-50 else nearer


def limit_text(limit: float | None) -> str:
    """In words, behind why a measure is undefined; empty where it tends to nothing that is known."""
    if limit is None:
        return ""
    return f"; as that cell empties it tends to {'infinity' if math.isinf(limit) else f'{limit:.4g}'}"


def most_of(declared: Measure, shape: tuple[int, int], rows: float) -> float:
    """The most that a measure of a table of so many rows can be, on its own scale; infinite where there is no such number.

    Examples
    --------
    >>> from sfumato.analysis.measures.declarations import MEASURES
    >>> most_of(MEASURES["chi-square"], (2, 3), 100.0)
    100.0
    """
    fewer = min(shape)
    known = {
        "phi-squared": fewer - 1,
        "chi-square": rows * (fewer - 1),
        "mutual-information": math.log(fewer),
        "g-square": 2 * rows * math.log(fewer),
    }
    return float(known.get(declared.name, math.inf))
