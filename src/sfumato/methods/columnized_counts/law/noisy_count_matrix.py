"""The matrix of noisy count publishing: how likely a row that occurs i times is published j times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from sfumato.chance.exact_distributions import NUMBER_OF_WORDS
from sfumato.chance.noise import DiscreteLaplace
from sfumato.chance.randomness import NoiseSource
from sfumato.frozen import Frozen
from sfumato.methods.columnized_counts.law.count_matrices import matrix_row
from sfumato.values.arrays import Floats, Integers
from sfumato.values.bounds import LARGEST_EPSILON

LONGEST_CURVE = 2_000_000
"""Counts that a curve of release probabilities may need before it saturates."""

_DIGITS = 60
# Decimal digits of the directed bounds: a 64-bit word has 20, so that a floor is never in doubt.


class NoisyCountMatrix(Frozen):
    """The matrix of noisy count publishing, with its parameters fixed.

    A row that occurs i times is left out with probability ``1 - w_i`` and else published
    ``k + max(0, i - k + G)`` times, with G two-sided geometric of ratio ``r = exp(-exponent epsilon)``.

    Parameters
    ----------
    k
        Rows that occur less often never appear.
    epsilon, delta
        Of (epsilon, delta)-differential privacy, one row more or less.
    exponent
        Share of epsilon that the noise of counts uses; the rest makes rows appear sooner. The paper's is 1/2.

    Notes
    -----
    ``w_k = delta`` and ``w_i = min(1 - (1 - w_{i-1}) exp(-epsilon), r exp(epsilon) w_{i-1})`` beyond. The
    paper prints ``r^(i-j)`` in eq. 4, which exceeds 1; it must be ``r^|i-j|``. ``1 - w`` is tracked directly:
    in floats ``w`` is 1.0 long before ``1 - w`` is 0. Draws use whole numbers of 64-bit words instead, rounded
    so that every ratio still holds (:meth:`words`).

    References
    ----------
    Li and Li, Microdata publishing with algorithmic privacy guarantees, eq. 4 and 5, theorem 5.

    Examples
    --------
    >>> matrix = NoisyCountMatrix(k=10, epsilon=1.0, delta=1e-5)
    >>> matrix.release_probabilities(36)[0][[10, 30, 35, 36]].round(6).tolist()
    [1e-05, 0.220265, 0.980023, 0.992651]
    >>> [matrix.threshold(share) for share in (0.01, 0.5, 0.99)]
    [24, 32, 36]
    """

    k: Annotated[int, Field(ge=1, le=1_000_000)]
    epsilon: Annotated[float, Field(gt=0, le=LARGEST_EPSILON)]
    delta: Annotated[float, Field(gt=0, lt=1)]
    exponent: Annotated[float, Field(gt=0, lt=1)] = 0.5

    @model_validator(mode="after")
    def _check(self) -> Self:
        largest = -math.expm1(-self.epsilon)
        if self.delta >= largest:
            raise ValueError(
                f"delta must be below 1 - exp(-epsilon) = {largest:.4g} at epsilon {self.epsilon:.4g}, got {self.delta}. "
                "Use a delta well below 1 / number of rows, for example 1e-5."
            )
        length = (math.log(1 / self.delta) / (1 - self.exponent) + math.log(NUMBER_OF_WORDS)) / self.epsilon
        if length > LONGEST_CURVE or self.delta * NUMBER_OF_WORDS * self._growth_rate < 2:
            raise ValueError(
                f"epsilon {self.epsilon:.3g} at delta {self.delta:.3g} is so small that no row could survive: a row would "
                f"have to occur some {length:,.0f} times. Raise epsilon, or use fewer columns."
            )
        return self

    @property
    def _growth_rate(self) -> float:
        """``r exp(epsilon) - 1``, how fast release probabilities grow at first."""
        return math.expm1((1 - self.exponent) * self.epsilon)

    @property
    def noise(self) -> DiscreteLaplace:
        """Noise of the count of a row that is published."""
        return DiscreteLaplace(scale=1 / (self.exponent * self.epsilon))

    @property
    def ratio(self) -> float:
        """The r of eq. 4."""
        return self.noise.ratio

    def release_probabilities(self, largest: int) -> tuple[Floats, Floats]:
        """Probability that a row is published, and that it is left out, for counts 0..largest."""
        return self.release_probabilities_of(np.arange(largest + 1))

    def release_probabilities_of(self, counts: npt.ArrayLike) -> tuple[Floats, Floats]:
        """The same for an array of counts."""
        appears, is_left_out = _release_curve(self.epsilon, self.delta, self.k, self.exponent)
        places = np.asarray(counts, np.int64)
        inside = np.clip(places, 0, appears.size - 1)
        # Beyond the curve 1 - w shrinks by exp(-epsilon) a step.
        beyond = np.exp(-self.epsilon * (places - inside).astype(np.float64))
        left_out = is_left_out[inside] * beyond
        return np.where(places > inside, 1 - left_out, appears[inside]), left_out

    def row(self, count: int, largest: int) -> Floats:
        """Probabilities of publishing 0..largest copies of a row that occurs ``count`` times."""
        appears, left_out = (float(each[0]) for each in self.release_probabilities_of([count]))
        return np.array(matrix_row(count, largest, self.k, self.ratio, appears, left_out))

    def mean(self, count: int) -> float:
        """Expected published count: ``w_i (i + r^(i-k+1) / (1 - r^2))``.

        The paper's eq. 6 has the exponent i+1: it forgets that counts are cut at k, not at 0.
        """
        if count < self.k:
            return 0.0
        appears = float(self.release_probabilities_of([count])[0][0])
        return appears * (count + self.ratio ** (count - self.k + 1) / (1 - self.ratio**2))

    def expected_noise(self, counts: npt.ArrayLike) -> Floats:
        """Expected ``|published - true| / true`` for true counts of at least 1.

        ``(1-w) + w (2r - r^(i-k+1)) / ((1-r^2) i)``, and 1 below k: the row never appears.
        """
        places = np.asarray(counts, np.float64)
        appears, left_out = self.release_probabilities_of(np.asarray(counts))
        r = self.ratio
        cut = np.power(r, np.maximum(places - self.k + 1, 0))
        inside = left_out + appears * (2 * r - cut) / ((1 - r**2) * np.maximum(places, 1))
        return np.asarray(np.where(places < self.k, 1.0, inside))

    def threshold(self, probability: float = 0.5) -> int:
        """Smallest count from which a row is published with at least this probability, below 1."""
        appears, _ = _release_curve(self.epsilon, self.delta, self.k, self.exponent)
        return int(np.argmax(appears >= probability))

    def words(self) -> tuple[int, ...]:
        """Words out of 2**64 that release a row, for counts from k on; the last holds for all beyond.

        The recursion in whole numbers: what must not be exceeded is rounded down and what must not be
        fallen short of is rounded up, so that the ratios hold for what is really drawn.
        """
        return _release_words(self.epsilon, self.delta, self.exponent)

    def draw(self, counts: npt.ArrayLike, noise: NoiseSource) -> Integers:
        """Published counts of rows with these true counts, independently; 0 where a row is left out.

        Examples
        --------
        >>> matrix = NoisyCountMatrix(k=5, epsilon=2.0, delta=1e-5)
        >>> matrix.draw([4, 0, 3], NoiseSource.from_operating_system()).tolist()
        [0, 0, 0]
        """
        true = np.asarray(counts, np.int64)
        thresholds = np.array((0, *self.words()), np.uint64)
        places = np.clip(true - self.k + 1, 0, thresholds.size - 1)
        is_released = noise.named("release").stream(0).words(true.size) < thresholds[places]
        published = np.zeros(true.size, np.int64)
        drawn = self.noise.draw(noise.named("count").stream(0), int(np.count_nonzero(is_released)))
        published[is_released] = self.k + np.maximum(true[is_released] - self.k + drawn, 0)
        return published

    def certificate(self) -> MatrixCertificate:
        """The proof of theorem 5, checked number by number on the words that are really drawn.

        Examples
        --------
        >>> NoisyCountMatrix(k=10, epsilon=1.0, delta=1e-5).certificate().holds
        True
        """
        return certify_words(self.words(), self.epsilon, self.delta, self.exponent)


@dataclass(frozen=True)
class MatrixCertificate:
    """Whether a matrix keeps its promise, with the worst of the three ratios of every row.

    Parameters
    ----------
    holds
        Every ratio is within exp(±epsilon), and the mass of unsafe outputs within delta; exact bounds.
    worst_up, worst_down, worst_left_out
        Largest ``ln(w_i / (r w_{i-1}))``, smallest ``ln(r w_i / w_{i-1})``, smallest ``ln(v_i / v_{i-1})``.
    unsafe_mass
        ``w_k``: probability of the outputs that only the larger of two neighbours can give.
    rows
        Rows of the matrix that were checked; beyond them nothing changes any more.
    """

    holds: bool
    worst_up: float
    worst_down: float
    worst_left_out: float
    unsafe_mass: float
    rows: int


def certify_words(
    words: Sequence[int], epsilon: float, delta: float, exponent: float = 0.5
) -> MatrixCertificate:
    """Check release words, for counts from k on, against conditions (b2) and (b3) of the paper.

    Examples
    --------
    Releasing everything from k on breaks the bound at once.

    >>> certify_words([2**63, 2**64 - 1], 1.0, 0.6).holds
    False
    """
    rate = 1 / Fraction(DiscreteLaplace(scale=1 / (exponent * epsilon)).scale)
    limit = Fraction(epsilon)
    # Ratios of whole numbers against rational bounds on the safe side of every exponential.
    most_growth, least_left_out = _exp_bounds(limit - rate)[0], _exp_bounds(-limit)[1]
    left_out = [NUMBER_OF_WORDS - each for each in words]
    pairs = [(words[i - 1], words[i], left_out[i - 1], left_out[i]) for i in range(1, len(words))]
    holds = (
        rate <= limit
        and Fraction(words[0], NUMBER_OF_WORDS) <= Fraction(delta)
        and left_out[0] >= NUMBER_OF_WORDS * least_left_out
        and all(
            0 < before <= after <= before * most_growth and out_after >= out_before * least_left_out
            for before, after, out_before, out_after in pairs
        )
    )
    up = [math.log(after / before) + float(rate) for before, after, _, _ in pairs if before and after]
    out = [math.log(after / before) for _, _, before, after in pairs if before and after]
    return MatrixCertificate(
        holds,
        max(up, default=0.0),
        min((each - 2 * float(rate) for each in up), default=0.0),
        min(out, default=0.0),
        words[0] / NUMBER_OF_WORDS,
        len(words),
    )


@lru_cache(maxsize=64)
def _release_curve(epsilon: float, delta: float, k: int, exponent: float) -> tuple[Floats, Floats]:
    """Eq. 5, w and 1 - w, for counts from 0 until w is 1 in a double; 1 - w only shrinks by then."""
    shrink, growth = math.exp(-epsilon), math.exp((1 - exponent) * epsilon)
    appears, left_out = [delta], [1 - delta]
    while left_out[-1] > 1e-20:
        by_absence, by_growth = left_out[-1] * shrink, growth * appears[-1]
        # Eq. 5; whichever of the two numbers is small is the one that is computed.
        if 1 - by_absence < by_growth:
            appears.append(1 - by_absence)
            left_out.append(by_absence)
        else:
            appears.append(by_growth)
            left_out.append(1 - by_growth)
    curves = np.array([0.0] * k + appears), np.array([1.0] * k + left_out)
    for each in curves:
        each.setflags(write=False)
    return curves


@lru_cache(maxsize=64)
def _release_words(epsilon: float, delta: float, exponent: float) -> tuple[int, ...]:
    limit = Fraction(epsilon)
    rate = 1 / Fraction(DiscreteLaplace(scale=1 / (exponent * epsilon)).scale)
    growth, shrink = _exp_bounds(limit - rate)[0], _exp_bounds(-limit)[1]
    released = [math.floor(Fraction(delta) * NUMBER_OF_WORDS)]
    while True:
        before = released[-1]
        # -(-a // b) is the ceiling: what is left out may not fall below exp(-epsilon) of before.
        left_out = -(-(NUMBER_OF_WORDS - before) * shrink.numerator // shrink.denominator)
        after = min(NUMBER_OF_WORDS - left_out, before * growth.numerator // growth.denominator)
        if after <= before:
            return tuple(released)
        released.append(after)


def _exp_bounds(exponent: Fraction) -> tuple[Fraction, Fraction]:
    """Rational numbers below and above ``exp(exponent)``, which agree to dozens of digits."""
    with localcontext() as context:
        context.prec = _DIGITS
        power = (Decimal(exponent.numerator) / Decimal(exponent.denominator)).exp()
        # The quotient is off by half a unit in its last place and is below 1000; so is the power.
        slack = power * Decimal(10) ** (6 - _DIGITS)
        return Fraction(power - slack), Fraction(power + slack)
