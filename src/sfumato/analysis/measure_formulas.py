"""Measures of association as formulas of counts, and the bias that noise adds to them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sfumato.analysis.counts import Crossed
from sfumato.analysis.equations import (
    Formula,
    carry,
    differentiate,
    drawing,
    noise_bias,
    noise_spread,
    own_curvatures,
    quadratic_interval,
)
from sfumato.arrays import Floats
from sfumato.estimates.estimates import Estimates
from sfumato.laws import Target

# --------------------------------------------------------------------------------------------------
# The measures, each one declaration: formula, value at independence, range, what it needs.
#
# Of a table of shares p, rows are the first attribute and columns the second; "1" is the second category of a
# binary attribute, or that a condition holds. Formulas follow Guo (2010), Table 3.6, corrected where it is
# wrong (`docs/errata.md`). They are written for complex numbers too, since they are differentiated that way.


Shares = npt.NDArray[Any]
Scale = Literal["as it is", "logarithm", "square"]
"""Where the errors are carried and the interval is made: on the measure, its logarithm, or its square."""


@dataclass(frozen=True)
class Measure:
    """One measure of a table of two attributes.

    Parameters
    ----------
    name
        Public name.
    title
        What it is, in a few words.
    formula
        Of shares ``(rows, columns)`` and the number of rows, the measure on its scale.
    null
        Its value where the attributes are independent; None where that depends on the margins.
    lowest, highest
        Range of values.
    is_binary
        Defined for two by two categories only.
    is_quadratic
        Noise alone makes it larger; what noise adds on average is taken out.
    positive
        Cells whose share must be positive, or ``"all"``.
    scale
        Where errors are carried.
    """

    name: str
    title: str
    formula: Callable[[Shares, Any], Any]
    null: float | None
    lowest: float = -math.inf
    highest: float = math.inf
    is_binary: bool = True
    is_quadratic: bool = False
    positive: tuple[tuple[int, int], ...] | Literal["all"] = ()
    scale: Scale = "as it is"

    def shown(self, value: float) -> float:
        """A number on the measure's scale as the measure itself."""
        if self.scale == "logarithm":
            return math.inf if value == math.inf else math.exp(min(value, 700))
        return math.sqrt(max(value, 0.0)) if self.scale == "square" else value

    def slope(self, value: float) -> float:
        """How much the measure changes with the number on its scale, there."""
        if self.scale == "logarithm":
            return math.exp(min(value, 700))
        if self.scale == "square":
            return 0.5 / math.sqrt(value) if value > 0 else math.nan
        return 1.0


def _rows(p: Shares) -> Any:
    return p.sum(axis=1)


def _columns(p: Shares) -> Any:
    return p.sum(axis=0)


def _phi_squared(p: Shares) -> Any:
    return (p**2 / np.outer(_rows(p), _columns(p))).sum() - p.sum()


def _times_logarithm(p: Shares, ratio: Shares) -> Any:
    """``p log(ratio)``, which is 0 where p is."""
    return (p * np.log(np.where(p == 0, 1, ratio))).sum()


def _information(p: Shares) -> Any:
    return _times_logarithm(p, p / np.outer(_rows(p), _columns(p)))


def _entropy(shares: Shares) -> Any:
    return -_times_logarithm(shares, shares)


def _gini_decrease(p: Shares) -> Any:
    return (p**2 / _rows(p)[:, None]).sum() - (_columns(p) ** 2).sum()


def _confidence(p: Shares) -> Any:
    return p[1, 1] / _rows(p)[1]


def _agreement(p: Shares) -> tuple[Any, Any]:
    """Share on the diagonal, and what independence leads to expect there."""
    return np.trace(p), (_rows(p) * _columns(p)).sum()


def _leverage(p: Shares) -> Any:
    return p[1, 1] - _rows(p)[1] * _columns(p)[1]


def _j_measure(p: Shares) -> Any:
    return _times_logarithm(p[1], p[1] / (_rows(p)[1] * _columns(p)))


def _collective_strength(p: Shares) -> Any:
    agreed, expected = _agreement(p)
    return agreed / expected * (1 - expected) / (1 - agreed)


def _kappa(p: Shares) -> Any:
    agreed, expected = _agreement(p)
    return (agreed - expected) / (1 - expected)


def _log_odds_ratio(p: Shares) -> Any:
    return np.log(p[1, 1]) + np.log(p[0, 0]) - np.log(p[1, 0]) - np.log(p[0, 1])


_DECLARED = (
    Measure(
        "phi-squared",
        "mean square contingency",
        lambda p, _: _phi_squared(p),
        0,
        0,
        is_binary=False,
        is_quadratic=True,
    ),
    Measure(
        "cramers-v",
        "Cramér's V",
        lambda p, _: _phi_squared(p) / (min(p.shape) - 1),
        0,
        0,
        1,
        is_binary=False,
        is_quadratic=True,
        scale="square",
    ),
    Measure(
        "chi-square",
        "Pearson's statistic, N times phi-squared",
        lambda p, rows: rows * _phi_squared(p),
        0,
        0,
        is_binary=False,
        is_quadratic=True,
    ),
    Measure(
        "g-square",
        "likelihood-ratio statistic",
        lambda p, rows: 2 * rows * _information(p),
        0,
        0,
        is_binary=False,
        is_quadratic=True,
        positive="all",
    ),
    Measure(
        "mutual-information",
        "in nats",
        lambda p, _: _information(p),
        0,
        0,
        is_binary=False,
        is_quadratic=True,
        positive="all",
    ),
    Measure(
        "uncertainty-of-first",
        "mutual information by the entropy of the first (Guo's M)",
        lambda p, _: _information(p) / _entropy(_rows(p)),
        0,
        0,
        1,
        is_binary=False,
        is_quadratic=True,
        positive="all",
    ),
    Measure(
        "uncertainty-of-second",
        "mutual information by the entropy of the second (Guo's U)",
        lambda p, _: _information(p) / _entropy(_columns(p)),
        0,
        0,
        1,
        is_binary=False,
        is_quadratic=True,
        positive="all",
    ),
    Measure(
        "gini-decrease",
        "of the second's Gini impurity when the first is known",
        lambda p, _: _gini_decrease(p),
        0,
        0,
        1,
        is_binary=False,
        is_quadratic=True,
    ),
    Measure(
        "concentration",
        "Goodman and Kruskal's tau of the second given the first",
        lambda p, _: _gini_decrease(p) / (1 - (_columns(p) ** 2).sum()),
        0,
        0,
        1,
        is_binary=False,
        is_quadratic=True,
    ),
    Measure(
        "phi",
        "correlation of two binary attributes",
        lambda p, _: (
            (p[1, 1] * p[0, 0] - p[0, 1] * p[1, 0]) / np.sqrt(np.prod(_rows(p)) * np.prod(_columns(p)))
        ),
        0,
        -1,
        1,
    ),
    Measure(
        "odds-ratio",
        "odds of the second with the first, by those without",
        lambda p, _: _log_odds_ratio(p),
        1,
        0,
        positive="all",
        scale="logarithm",
    ),
    Measure(
        "risk-ratio",
        "share of the second with the first, by that without",
        lambda p, _: np.log(p[1, 1] / _rows(p)[1]) - np.log(p[0, 1] / _rows(p)[0]),
        1,
        0,
        positive=((1, 1), (0, 1)),
        scale="logarithm",
    ),
    Measure(
        "risk-difference",
        "share of the second with the first, less that without",
        lambda p, _: p[1, 1] / _rows(p)[1] - p[0, 1] / _rows(p)[0],
        0,
        -1,
        1,
    ),
    Measure(
        "reverse-risk-difference",
        "share of the first with the second, less that without (Guo's D)",
        lambda p, _: p[0, 0] / _columns(p)[0] - p[0, 1] / _columns(p)[1],
        0,
        -1,
        1,
    ),
    Measure(
        "leverage",
        "support above independence (Piatetsky-Shapiro)",
        lambda p, _: _leverage(p),
        0,
        -0.25,
        0.25,
    ),
    Measure(
        "certainty",
        "certainty factor",
        lambda p, _: (_confidence(p) - _columns(p)[1]) / (1 - _columns(p)[1]),
        0,
        -math.inf,
        1,
    ),
    Measure(
        "added-value",
        "confidence above the second's share",
        lambda p, _: _confidence(p) - _columns(p)[1],
        0,
        -1,
        1,
    ),
    Measure("kappa", "agreement above chance", lambda p, _: _kappa(p), 0, -1, 1),
    Measure(
        "lift",
        "support by what independence expects (interest)",
        lambda p, _: np.log(p[1, 1]) - np.log(_rows(p)[1]) - np.log(_columns(p)[1]),
        1,
        0,
        positive=((1, 1),),
        scale="logarithm",
    ),
    Measure(
        "conviction",
        "what independence expects without the second, by what there is",
        lambda p, _: np.log(_rows(p)[1]) + np.log(_columns(p)[0]) - np.log(p[1, 0]),
        1,
        0,
        positive=((1, 0),),
        scale="logarithm",
    ),
    Measure(
        "collective-strength",
        "odds of agreement by those of chance",
        lambda p, _: _collective_strength(p),
        1,
        0,
    ),
    Measure(
        "j-measure",
        "information of the rule",
        lambda p, _: _j_measure(p),
        0,
        0,
        is_quadratic=True,
        positive=((1, 1), (1, 0)),
    ),
    Measure(
        "standardized-residual",
        "of the cell where both hold",
        lambda p, rows: np.sqrt(rows) * _leverage(p) / np.sqrt(_rows(p)[1] * _columns(p)[1]),
        0,
    ),
    Measure(
        "cosine",
        "support by the root of both shares (IS)",
        lambda p, _: p[1, 1] / np.sqrt(_rows(p)[1] * _columns(p)[1]),
        None,
        0,
        1,
    ),
    Measure(
        "jaccard",
        "both, among either",
        lambda p, _: p[1, 1] / (_rows(p)[1] + _columns(p)[1] - p[1, 1]),
        None,
        0,
        1,
    ),
    Measure(
        "laplace",
        "confidence with one more of each",
        lambda p, rows: (rows * p[1, 1] + 1) / (rows * _rows(p)[1] + 2),
        None,
        0,
        1,
    ),
    Measure("support", "share where both hold", lambda p, _: p[1, 1], None, 0, 1),
    Measure("confidence", "share of the second with the first", lambda p, _: _confidence(p), None, 0, 1),
)

MEASURES: Mapping[str, Measure] = {each.name: each for each in _DECLARED}
"""All of them, by name, those of tables of any size first."""


# --------------------------------------------------------------------------------------------------
# Measures as functions of counts, what noise adds to those that grow with it, and how far it takes
# logarithms.


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
