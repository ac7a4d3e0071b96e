"""The measures, each one declaration: formula, value at independence, range, what it needs.

Of a table of shares p, rows are the first attribute and columns the second; "1" is the second category of a
binary attribute, or that a condition holds. Formulas follow Guo (2010), Table 3.6, corrected where it is
wrong (`docs/errata.md`). They are written for complex numbers too, since they are differentiated that way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

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
