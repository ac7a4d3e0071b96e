"""Large-sum utility: counts of many people come out right with a stated probability."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.guarantees.base import Guarantee
from sfumato.guarantees.small_sum_privacy import error_probabilities, require_gamma
from sfumato.values.arrays import Integers
from sfumato.values.bounds import LARGEST_ERROR, SMALLEST_ERROR
from sfumato.values.number_text import percent

MOST_COUNTS = 20_000
"""Counts up to which the threshold is looked for among all of them."""


class LargeSumUtility(Guarantee):
    """The published count of a frequent sensitive value is right within ``relative_error``, almost always.

    Promise
        A sensitive value held by at least the threshold's number of rows (the paper's T_f) is published
        in a number of rows that is off by ``relative_error`` times its count, or more, with at most
        ``error_probability``.
    Against whom
        Nobody: it is a promise to analysts.
    Weaknesses
        It is about counts of one sensitive value; combinations with public attributes have larger errors,
        which every answer states. Between the small and the large counts nothing is promised.

    References
    ----------
    Fu, Wang, Wong, Wang and Jiang (2014), Definition 1. The threshold here is exact; the paper's
    Theorem 3 and Lemma 1 are too optimistic by a factor of f (gamma - 1).

    Examples
    --------
    >>> promise = LargeSumUtility(gamma_by_attribute={"job": 10}, relative_error=0.3, error_probability=0.05)
    >>> promise.smallest_large_count("job")
    41
    """

    guarantee: Literal["large-sum-utility"] = "large-sum-utility"
    gamma_by_attribute: Annotated[
        dict[str, Annotated[int, Field(strict=True, ge=2, le=1_000_000)]], Field(min_length=1)
    ]
    relative_error: Annotated[float, Field(ge=SMALLEST_ERROR, le=LARGEST_ERROR)]
    error_probability: Annotated[float, Field(gt=0, lt=1)]

    protected_unit: ClassVar[str] = "none: this is what analysts are promised"
    neighbours: ClassVar[str] = "none: nothing is hidden by it"
    attacker: ClassVar[str] = "none: it is made to analysts"
    reference: ClassVar[str] = "Fu, Wang, Wong, Wang and Jiang (2014), Definition 1, threshold corrected"

    def smallest_large_count(self, attribute: str) -> int:
        """The count from which on the promise holds (T_f)."""
        return exact_threshold(
            self.gamma_by_attribute[attribute], self.relative_error, self.error_probability
        )

    @property
    def sentence(self) -> str:
        """The promise with its numbers."""
        parts = ", ".join(f"{name} {self.smallest_large_count(name):,}" for name in self.gamma_by_attribute)
        return (
            f"large-sum utility: the published count of a sensitive value is within {self.relative_error:.4g} "
            f"times itself with probability {1 - self.error_probability:.4g} from this count on: {parts}."
        )

    @property
    def plain_words(self) -> str:
        """The promise for a reader who is not a statistician."""
        largest = max(map(self.smallest_large_count, self.gamma_by_attribute))
        return (
            f"The number published for a sensitive value that {largest:,} people or more share is within "
            f"{percent(self.relative_error)} of the truth, {percent(1 - self.error_probability)} of the time."
        )


def chebyshev_bound(count: float, gamma: int, relative_error: float) -> float:
    """Chebyshev's bound on the error probability, corrected: ``(1 - 1/gamma) / (relative_error^2 f)``.

    The variance of Binomial(gamma f, 1/gamma) is f (1 - 1/gamma). The bound may exceed 1.

    Examples
    --------
    >>> round(chebyshev_bound(500, 10, 0.1), 12)
    0.18
    """
    require_gamma(gamma)
    return (1 - 1 / gamma) / (relative_error**2 * count)


def chebyshev_threshold(gamma: int, relative_error: float, error_probability: float) -> float:
    """The count from which on Chebyshev's corrected bound keeps the promise.

    Examples
    --------
    >>> round(chebyshev_threshold(10, 0.3, 0.05), 9)
    200.0
    """
    return chebyshev_bound(error_probability, gamma, relative_error)


def chernoff_threshold(relative_error: float, error_probability: float) -> float:
    """The count from which on Chernoff's ``2 exp(-min(relative_error, relative_error^2) f / 3)`` keeps the promise.

    Examples
    --------
    >>> round(chernoff_threshold(0.3, 0.05), 1)
    123.0
    """
    return 3 * math.log(2 / error_probability) / min(relative_error, relative_error**2)


# Every sentence about the promise needs it again, and it takes milliseconds.
@lru_cache(maxsize=256)
def exact_threshold(gamma: int, relative_error: float, error_probability: float) -> int:
    """T_f: the smallest count from which on the exact error probability never exceeds the promised one.

    The probability is a sawtooth in the count, so the threshold is one above the last violation; beyond
    Chebyshev's threshold and Chernoff's there is none. An answer exactly at the relative error counts as wrong.
    Where counts are many only the tips of the teeth are looked at: as long as answers that are off by the same whole
    number are wrong, a larger count spreads further, and is wrong more often.

    Examples
    --------
    >>> exact_threshold(5, 0.2, 0.05)
    81
    """
    chebyshev = chebyshev_threshold(gamma, relative_error, error_probability)
    chernoff = chernoff_threshold(relative_error, error_probability)
    last = math.ceil(min(chebyshev, chernoff))
    counts = np.arange(1, last + 1) if last <= MOST_COUNTS else _tips(relative_error, last)
    wrong = error_probabilities(counts, gamma, relative_error, boundary="wrong")
    violations = np.flatnonzero(wrong > error_probability)
    return int(counts[violations[-1]]) + 1 if violations.size else 1


def _tips(relative_error: float, last: int) -> Integers:
    """Counts beyond which answers must be off by one more to be wrong, and their neighbours, which rounding may mean."""
    tips = np.arange(1, relative_error * last + 1) / relative_error
    near = np.unique(np.floor(tips)[:, np.newaxis] + np.arange(-1, 2)).astype(np.int64)
    return near[(near >= 1) & (near <= last)]


def misprinted_theorem_3_bound(count: float, gamma: int, relative_error: float) -> float:
    """The paper's Theorem 3 *as printed, which is wrong*: ``1 / (gamma relative_error^2 f^2)``.

    Its proof divides the variance by the number of draws twice. At gamma 10, f = 5 and a relative error
    of 0.3 it gives 0.044 where the truth, in the paper's own Example 1, is 0.48. For comparison only.

    Examples
    --------
    >>> round(misprinted_theorem_3_bound(5, 10, 0.3), 4)
    0.0444
    """
    require_gamma(gamma)
    return 1 / (gamma * relative_error**2 * count**2)


def misprinted_lemma_1_threshold(gamma: int, relative_error: float, error_probability: float) -> float:
    """The paper's Lemma 1 *as printed, which is wrong*: ``(1 / (gamma relative_error^2 T_E))^(1/2)``.

    Examples
    --------
    >>> round(misprinted_lemma_1_threshold(10, 0.3, 0.05), 2)
    4.71
    """
    require_gamma(gamma)
    return math.sqrt(1 / (gamma * relative_error**2 * error_probability))
