"""Measures as functions of counts, what noise adds to those that grow with it, and how far it takes logarithms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sfumato.analysis.asking import Crossed
from sfumato.analysis.differentiation import Formula, differentiate, noise_bias
from sfumato.analysis.measures.declarations import Measure
from sfumato.analysis.routine import drawing
from sfumato.laws import Target
from sfumato.values.arrays import Floats
from sfumato.values.estimates import Estimates


def of_counts(declared: Measure, shape: tuple[int, int]) -> Formula:
    """The measure's formula, of counts in the place of shares."""

    def formula(numbers: Any) -> Any:
        rows = numbers.sum()
        return declared.formula((numbers / rows).reshape(shape), rows)

    return formula


def without_noise(declared: Measure, table: Crossed) -> tuple[float, float]:
    """A measure of the table that grows with noise, on its own scale, with what noise adds on average taken out; and as it is.

    For whoever compares many and asks for no range, which takes most of the time: second derivatives along all pairs of directions.
    """
    formula, counts = of_counts(declared, table.shape), table.counts
    raw = float(np.real(formula(counts.values + 0j)))
    return raw - noise_bias(formula, counts.values, covariance_about(counts, "table")), raw


def covariance_about(counts: Estimates, target: Target) -> Floats:
    """Of the counts about the target: a measure of a draw is too large by the draw's noise as well."""
    assert counts.covariance is not None
    if target == "table":
        return counts.covariance
    return np.asarray(counts.covariance + drawing(np.eye(counts.values.size), counts.values))


def needed_cells(declared: Measure, shape: tuple[int, int]) -> tuple[tuple[int, ...], ...]:
    """Row and column of the cells whose share must be positive."""
    return tuple(np.ndindex(*shape)) if declared.positive == "all" else declared.positive


def beyond_logarithms(
    ends: tuple[float, float], raw: float, declared: Measure, table: Crossed, half_width: float
) -> tuple[float, float]:
    """Ends of the interval of a logarithm of counts with noise, of which some may be of nobody.

    Noise is added to a count, and not to its logarithm: a count of no more than its interval's half-width may be of nobody, and its
    logarithm anything below. So one that is added reaches below by as much as the logarithm of the lower end of its interval, one that is
    subtracted as much above. What the draw of rows adds stays as it is, for who was drawn is not nobody. Where all counts are
    more than twice their half-widths, both ways are nearly the same, and the ends stay as they are.

    Parameters
    ----------
    ends, raw
        The ends so far, and the number.
    declared, table
        A measure whose errors are carried on the logarithm's scale, and what it is of.
    half_width
        In standard errors.
    """
    formula, counts = of_counts(declared, table.shape), table.counts
    reaches = half_width * counts.standard_errors
    logged = _logged(formula, counts.values, needed_cells(declared, table.shape), table.shape)
    if not ((reaches >= counts.values / 2) & (logged != 0)).any():
        return ends
    gradient = differentiate(formula, counts.values)
    parts = np.array([gradient, np.maximum(gradient, 0), np.maximum(-gradient, 0)])
    whole, added, subtracted = counts.linear(parts).variances.tolist()
    noise = half_width * math.sqrt(whole)
    below, above = (noise * math.sqrt(each / (added + subtracted)) for each in (added, subtracted))
    # A cell that is part of a sum which is divided by moves both together, and less; down to nobody it takes all with it.
    may_be_nobody = reaches >= counts.values
    low = math.inf if (may_be_nobody & (logged > 0)).any() else _further(raw - ends[0], below)
    high = math.inf if (may_be_nobody & (logged < 0)).any() else _further(ends[1] - raw, above)
    return raw - low, raw + high


def _logged(
    formula: Formula, counts: Floats, needed: Sequence[tuple[int, ...]], shape: tuple[int, int]
) -> Floats:
    """Of which cells a logarithm is added, 1, or subtracted, -1, ``(cells,)``: where the formula goes as they empty."""
    found = np.zeros(counts.size)
    for place in (int(np.ravel_multi_index(each, shape)) for each in needed):
        emptied = np.where(np.arange(counts.size) == place, 1e-100 * counts, counts)
        found[place] = np.sign(np.real(formula(counts + 0j) - formula(emptied + 0j)))
    return found


def _further(reach: float, noise: float) -> float:
    """How far an interval reaches whose part by noise is taken from the count in the place of the logarithm.

    Examples
    --------
    A count of 30 with a half-width of 20: down to 10 and not to 15.

    >>> round(30 * math.exp(-_further(2 / 3, 2 / 3)), 6), round(30 * math.exp(-2 / 3), 1)
    (10.0, 15.4)
    """
    return math.inf if noise >= 1 else math.sqrt(max(reach**2 - noise**2, 0.0) + math.log1p(-noise) ** 2)
