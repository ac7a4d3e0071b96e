"""Probabilities of picking the right row, as the literature and ARX define them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[Any]


@dataclass(frozen=True)
class Risk:
    """Risk of re-identification of published rows.

    Parameters
    ----------
    highest
        Largest probability of a row.
    success_rate
        Share of rows that are re-identified on average.
    records_at_risk
        Share of rows whose probability is above a threshold.
    """

    highest: float
    success_rate: float
    records_at_risk: float


def prosecutor_risk(sizes: Numbers, threshold: float, stays: Numbers | None = None) -> Risk:
    """The attacker knows that the target is in the table: 1/f in a class of f rows.

    Parameters
    ----------
    sizes
        ``(classes,)`` published rows f of every class.
    threshold
        Probability above which a row is at risk.
    stays
        ``(classes,)`` probability that a row of the class was published with its true quasi-identifiers;
        1 unless they were perturbed. The probability of the right pick is multiplied by it.

    References
    ----------
    El Emam (2013), measures pRa, pRb, pRc; as ARX computes them.

    Examples
    --------
    Classes of 1, 2 and 5 rows: three right picks among eight.

    >>> prosecutor_risk(np.array([1, 2, 5]), 0.3)
    Risk(highest=1.0, success_rate=0.375, records_at_risk=0.375)
    """
    probabilities = (np.ones(len(sizes)) if stays is None else stays) / sizes
    return Risk(
        float(probabilities.max()),
        float((probabilities * sizes).sum() / sizes.sum()),
        float(sizes[probabilities > threshold].sum() / sizes.sum()),
    )


def journalist_risk(sizes: Numbers, outside: Numbers, threshold: float) -> Risk:
    """The attacker does not know that the target is in the table: 1/F among F people outside who fit.

    Parameters
    ----------
    sizes
        ``(classes,)`` published rows f.
    outside
        ``(classes,)`` outside records F that fit each class, never 0.
    threshold
        Probability above which a row is at risk.

    Notes
    -----
    The success rate is the larger of two: of someone who picks a person outside and looks for the row
    (classes / sum F), and of someone who picks a row and looks for the person (the marketer's).

    References
    ----------
    El Emam (2013), measures jRa, jRb, jRc; as ARX computes them.

    Examples
    --------
    >>> journalist_risk(np.array([1, 2]), np.array([4, 2]), 0.3)
    Risk(highest=0.5, success_rate=0.4166666666666667, records_at_risk=0.6666666666666666)
    """
    forward = len(sizes) / outside.sum()
    return Risk(
        float(1 / outside.min()),
        float(max(forward, marketer_risk(sizes, outside))),
        float(sizes[1 / outside > threshold].sum() / sizes.sum()),
    )


def marketer_risk(sizes: Numbers, outside: Numbers) -> float:
    """Share of all published rows that are matched rightly when every one is matched at random: mean of f/F.

    References
    ----------
    El Emam (2013), measure mR; as ARX computes it.

    Examples
    --------
    >>> round(marketer_risk(np.array([1, 2]), np.array([4, 2])), 4)
    0.4167
    """
    return float((sizes / outside).sum() / sizes.sum())
