"""Measures as functions of counts, what noise adds to those that grow with it, and how far it takes logarithms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sfumato.analysis.asking import Crossed
from sfumato.analysis.differentiation import (
    Formula,
    differentiate,
    noise_bias,
    noise_spread,
    own_curvatures,
)
from sfumato.analysis.measures.declarations import Measure
from sfumato.analysis.routine import carry, drawing, quadratic_interval
from sfumato.laws import Target
from sfumato.values.arrays import Floats
from sfumato.values.estimates import Estimates

FEWER_ROWS = 1
"""Rows by which a small count is taken smaller before its logarithm is looked at: they are whole, and none has no logarithm."""


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


def range_above_noise(
    formula: Formula, table: Crossed, variance: float, half_width: float, target: Target
) -> tuple[float, tuple[float, float], float]:
    """Of a measure that grows with noise: what noise adds on average, ends on the measure's own scale, and the variance near independence.

    Near independence a measure is told from nothing by what noise would do there, so that is looked at in the table of independent
    attributes with these margins. The estimated cells do not say it where they are few: of three rows, none published as
    'yes', a draw seems not to vary at all, and by a cell below nothing it seems to vary by less than that. What noise adds on average
    follows from the estimated cells too, and is the better number far from independence; the ends reach as far as either says.

    Parameters
    ----------
    formula, table
        Of counts, and which.
    variance
        By the delta method.
    half_width
        In standard errors.
    target
        What the ends are about.
    """
    counts = table.counts
    raw = float(np.real(formula(counts.values + 0j)))
    bias = noise_bias(formula, counts.values, covariance_about(counts, target))
    expected, spread = if_independent(formula, table, target)
    low, _ = quadratic_interval(raw - max(bias, expected), raw, variance, spread, half_width)
    _, high = quadratic_interval(raw - min(bias, expected), raw, variance, spread, half_width)
    return bias, (low, high), spread


def if_independent(formula: Formula, table: Crossed, target: Target) -> tuple[float, float]:
    """What noise would add to a measure if the attributes were independent with these margins: on average, and its variance.

    Notes
    -----
    With H the second derivatives and C the covariance there, ``tr(HC) / 2`` and ``tr(HCHC) / 2``. A drawn count of e rows has a fourth cumulant
    of e, as Poisson's law does, and adds ``H_ii^2 e / 4``: the terms of 1 / e in Haldane's variance of Pearson's statistic.

    References
    ----------
    Haldane, J. B. S. (1937). The exact value of the moments of the distribution of chi-squared, used as a test of goodness of fit, when
    expectations are small. Biometrika 29, 133-143.
    """
    counts = table.counts
    assert counts.covariance is not None
    cells = counts.values.reshape(table.shape)
    expected = (np.outer(cells.sum(axis=1), cells.sum(axis=0)) / cells.sum()).ravel()
    covariance, tails = counts.covariance, 0.0
    if target == "population":
        covariance = covariance + drawing(np.eye(expected.size), expected)
        tails = float(np.square(own_curvatures(formula, expected)) @ expected / 4)
    return noise_bias(formula, expected, covariance), noise_spread(formula, expected, covariance) + tails


def needed_cells(declared: Measure, shape: tuple[int, int]) -> tuple[tuple[int, ...], ...]:
    """Row and column of the cells whose share must be positive."""
    return tuple(np.ndindex(*shape)) if declared.positive == "all" else declared.positive


def beyond_logarithms(
    ends: tuple[float, float],
    raw: float,
    declared: Measure,
    table: Crossed,
    half_width: float,
    target: Target = "table",
) -> tuple[float, float]:
    """Ends of the interval of a logarithm of counts with noise, of which some may be of nobody.

    Noise is added to a count, and not to its logarithm: a count of no more than its interval's half-width may be of nobody, and its
    logarithm anything below. So one that is added reaches below by as much as the logarithm of the lower end of its interval, one that is
    subtracted as much above. What the draw of rows adds stays as it is, for who was drawn is not nobody. Rows are whole, and a ratio has a
    value only where there is one at all: on that side a count of no more than twice its half-width is taken with a row less. Where
    all counts are more than four times their half-widths, both ways are nearly the same, and the ends stay as they are.

    Parameters
    ----------
    ends, raw
        The ends so far, and the number.
    declared, table
        A measure whose errors are carried on the logarithm's scale, and what it is of.
    half_width
        In standard errors.
    target
        What the ends are about: the draw of rows makes counts small too.

    Notes
    -----
    Of a draw of x rows the lower end is ``(x - 1) exp(-z / sqrt(x - 1))``, for x of 2, 4 and 10 at 95 % 0.14, 0.97 and 4.7; exact ones for Poisson's
    law are 0.24, 1.1 and 4.8, and x with no row less gives 0.50, 1.5 and 5.4.
    """
    formula, counts = of_counts(declared, table.shape), table.counts
    logged = _logged(formula, counts.values, needed_cells(declared, table.shape), table.shape)
    about = np.clip(np.diagonal(covariance_about(counts, target)), counts.variances, None)
    is_small = (logged != 0) & (half_width * np.sqrt(about) >= counts.values / 2)
    is_loose = (logged != 0) & (half_width * counts.standard_errors >= counts.values / 4)
    if not (is_small | is_loose).any():
        return ends

    def reach(side: int, so_far: float) -> float:
        fewer = replace(counts, values=counts.values - FEWER_ROWS * (is_small & (logged == side)))
        if (half_width * counts.standard_errors >= fewer.values)[logged == side].any():
            return math.inf
        gradient = differentiate(formula, fewer.values)[None, :]
        moved = float(np.real(formula(fewer.values + 0j)))
        carried = carry(np.array([moved]), gradient, fewer, target)
        # A cell that is logged is also part of sums that are divided by: the slope there hides how near to nobody it is.
        relative = np.divide(counts.variances, fewer.values**2, out=np.zeros(logged.size), where=logged != 0)
        share = relative[logged == side].sum() / (relative.sum() or 1.0)
        noise = half_width * math.sqrt(share * float(counts.linear(gradient).variances[0]))
        return abs(raw - moved) + _further(max(so_far, half_width * float(carried.standard_errors[0])), noise)

    return raw - reach(1, raw - ends[0]), raw + reach(-1, ends[1] - raw)


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
