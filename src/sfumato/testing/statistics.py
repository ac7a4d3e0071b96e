"""How unlikely a run of answers would be, if the law were honest."""

from __future__ import annotations

import math

import numpy as np

from sfumato.values.arrays import Floats

FEWEST_VALUES = 30
"""Below this many values the law of a mean is not known well enough to say anything."""


def mean_p_value(values: Floats) -> float:
    r"""Probability that the mean of independent values comes out this far above zero, if it is zero or less.

    The larger of Student's and the one after Hall's correction for skewness, so that a few large values do
    not raise an alarm by themselves. Asymptotic.

    Notes
    -----
    With T Student's statistic, n values and sample skewness g, Hall's transformation is
    T + g T\ :sup:`2` / (3 \sqrt n) + g\ :sup:`2` T\ :sup:`3` / (27 n) + g / (6 \sqrt n).

    References
    ----------
    Hall, P. (1992). On the removal of skewness by transformation. JRSS B 54, 221-228.

    Examples
    --------
    >>> mean_p_value(np.zeros(40))
    1.0
    >>> mean_p_value(np.ones(40))
    0.0
    """
    from scipy.special import stdtr

    sample = values[np.isfinite(values)]
    if sample.size < FEWEST_VALUES or sample.mean() <= 0:
        return 1.0
    spread = float(sample.std(ddof=1))
    if spread <= np.finfo(np.float64).eps * abs(float(sample.mean())):
        return 0.0
    root = math.sqrt(sample.size)
    student = float(sample.mean()) * root / spread
    skew = float(np.mean((sample - sample.mean()) ** 3)) / spread**3 / root
    corrected = student + skew * student**2 / 3 + skew**2 * student**3 / 27 + skew / 6
    return float(stdtr(sample.size - 1, -min(student, corrected)))


def coverage_p_value(covered: Floats, least: float) -> float:
    """Probability that so few intervals hold the truth, if each does with the least probability; exact binomial.

    Examples
    --------
    >>> round(coverage_p_value(np.zeros(10), 0.9), 12)
    1e-10
    """
    from scipy.special import bdtr

    asked = covered[np.isfinite(covered)]
    return float(bdtr(asked.sum(), asked.size, least)) if asked.size else 1.0
