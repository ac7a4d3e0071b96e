"""Noise on counts: discrete distributions sampled exactly, their variances, tails and quantiles."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from statistics import NormalDist
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from sfumato.arrays import Booleans, Floats, Integers, Words
from sfumato.errors import MissingExtraError, ParameterError
from sfumato.immutable import Frozen
from sfumato.randomness.streams import NoiseStream, require_whole_number

# --------------------------------------------------------------------------------------------------
# Exponential numbers from words, decided exactly where a float leaves a doubt.


_UNIFORM_BITS = 63
# The one bit of a word that the uniform number leaves over is the sign.
MARGIN = 2.0**-34
# A logarithm of a word is at most 44, where doubles are 2**-47 apart; its rounding, that of the
# word and that of the products after it stay below 2**-44. The margin is a thousand times that.
SMALLEST_SAFE_WORD = 2**44
# Below it the word, which is known to one unit, leaves more than 2**-45 of its logarithm open.


def minus_log(words: Words) -> Floats:
    """``-ln U`` at the middle of what each word leaves open of the uniform number U."""
    middles = words.astype(np.float64)
    middles += 0.5
    np.log(middles, out=middles)
    np.subtract(_UNIFORM_BITS * math.log(2), middles, out=middles)
    return middles


def geometric(stream: NoiseStream, words: Words, scale: float) -> Integers:
    """``floor(-scale ln U)``, which is k with probability ``(1-q) q^k`` exactly."""
    exponential = minus_log(words)
    exponential *= scale
    guesses = np.floor(exponential)
    doubt = scale * MARGIN
    distances = np.abs(exponential - np.rint(exponential))
    drawn = guesses.astype(np.int64)
    for item in np.flatnonzero((distances < doubt) | (words < SMALLEST_SAFE_WORD)):
        drawn[item] = _exact_geometric(stream, int(words[item]), Fraction(scale))
    return drawn


def _exact_geometric(stream: NoiseStream, word: int, scale: Fraction) -> int:
    """The same floor, decided on more and more bits of U until both ends of what is left agree."""
    bits = _UNIFORM_BITS
    while True:
        if word:
            # U lies between word and word + 1 over 2**bits, so -ln U between these two.
            lowest, highest = _log_bounds(word, bits)
            first = math.floor(scale * lowest)
            if first == math.floor(scale * highest):
                return first
        word, bits = (word << 64) | int(stream.words(1)[0]), bits + 64


def exceeds(stream: NoiseStream, word: int, exponent: Fraction) -> bool:
    """Whether ``-ln U`` is above an exact exponent, decided on as many bits as it takes."""
    bits = _UNIFORM_BITS
    while True:
        if word:
            lowest, highest = _log_bounds(word, bits)
            if lowest > exponent:
                return True
            if highest <= exponent:
                return False
        word, bits = (word << 64) | int(stream.words(1)[0]), bits + 64


def _log_bounds(word: int, bits: int) -> tuple[Fraction, Fraction]:
    """Rational bounds of ``-ln U`` for U between word and word + 1 over 2**bits."""
    with localcontext() as context:
        # Decimal's logarithm is correctly rounded, so one unit in the last place covers its error.
        context.prec = bits // 2 + 30
        unit = Decimal(10) ** (3 - context.prec)
        size = Decimal(2).ln() * bits
        low = size - Decimal(word + 1).ln() - unit * size
        high = size - Decimal(word).ln() + unit * size
        return max(Fraction(low), Fraction(0)), Fraction(high)


# --------------------------------------------------------------------------------------------------
# Noise on counts: discrete laws drawn exactly, their variances, tails and intervals.
#
# A draw is decided twice. A float guesses it, in a few nanoseconds; where the guess lies so close to a
# boundary that rounding could have moved it, whole-number arithmetic decides, on as many more secret
# bits as that takes. What is drawn therefore follows the stated law exactly, on all integers, and a
# promise of pure epsilon stays pure: no table ends, and nothing is left over for a delta.


LARGEST_SCALE = 2.0**40
"""Counts stay far inside 64-bit integers, and guesses far inside a double's digits."""

LARGEST_SUMMED_GAUSSIAN = 2.0**16
"""Scale up to which the discrete Gaussian is summed over its support; beyond, the normal law is as good."""

DRAWS_PER_BLOCK = 2**16
"""Half a megabyte of words: the working arrays stay in the cache."""

Scale = Annotated[float, Field(strict=True, gt=0, le=LARGEST_SCALE)]


class DiscreteLaplace(Frozen):
    """Integers k with probability proportional to ``exp(-|k| / scale)``.

    Added to counts that one person can change by at most D in total, it gives pure differential
    privacy with epsilon ``D / scale``.

    Parameters
    ----------
    scale
        The b of the Laplace law; any positive number up to ``LARGEST_SCALE``.

    References
    ----------
    Ghosh, Roughgarden and Sundararajan (2009); Canonne, Kamath and Steinke (2020), section 5.

    Examples
    --------
    >>> from sfumato.randomness.streams import NoiseSource
    >>> noise = DiscreteLaplace(scale=2.0)
    >>> round(noise.variance, 4), noise.half_width(0.95)
    (7.8354, 6)
    >>> noise.draw(NoiseSource.from_operating_system().stream(0), 3).dtype
    dtype('int64')
    """

    form: Literal["discrete-laplace"] = "discrete-laplace"
    scale: Scale

    @property
    def ratio(self) -> float:
        """Factor between the probabilities of neighbouring magnitudes, ``exp(-1 / scale)``."""
        return math.exp(-1 / self.scale)

    @property
    def variance(self) -> float:
        """``2 q / (1 - q)^2`` with q the ratio; ``2 scale^2`` less about a sixth."""
        # 1 - q by expm1, which keeps its digits when the scale is large.
        return 2 * self.ratio / math.expm1(-1 / self.scale) ** 2

    @property
    def fourth_cumulant(self) -> float:
        """``2 q (1 + 4 q + q^2) / (1 - q)^4``: twice that of a geometric number, whose difference of two it is."""
        q = self.ratio
        return 2 * q * (1 + 4 * q + q**2) / (1 - q) ** 4

    def probability(self, values: npt.ArrayLike) -> Floats:
        """Probability of each integer: ``(1-q)/(1+q) q^|k|``."""
        magnitudes = np.abs(np.asarray(values, np.float64))
        return np.asarray(math.tanh(0.5 / self.scale) * np.exp(-magnitudes / self.scale))

    def cumulative(self, values: npt.ArrayLike) -> Floats:
        """Probability of at most each integer."""
        points = np.asarray(values, np.float64)
        # P(X <= -k) = P(X >= k) = q^k / (1+q) for k >= 0.
        tails = np.exp(-np.where(points < 0, -points, points + 1) / self.scale) / (1 + self.ratio)
        return np.asarray(np.where(points < 0, tails, 1 - tails))

    def tail(self, distance: float) -> float:
        """Probability that the noise is at least this far from zero, in either direction."""
        steps = math.ceil(distance)
        return 1.0 if steps <= 0 else 2 * math.exp(-steps / self.scale) / (1 + self.ratio)

    def half_width(self, confidence_level: float) -> int:
        """Smallest h with ``P(|noise| <= h)`` at least the level: ends of an exact interval."""
        miss = _missed_share(confidence_level)
        # Solves 2 q^(h+1) / (1+q) <= miss, the tail from h+1 on.
        steps = self.scale * math.log(2 / ((1 + self.ratio) * miss))
        return max(math.ceil(steps * (1 - 1e-14)) - 1, 0)

    def draw(self, stream: NoiseStream, count: int) -> Integers:
        """Independent draws, shape (count,)."""
        drawn = np.empty(require_whole_number(count, "count", 0, None), np.int64)
        for start in range(0, drawn.size, DRAWS_PER_BLOCK):
            block = drawn[start : start + DRAWS_PER_BLOCK]
            self._fill(stream, block)
        return drawn

    def _fill(self, stream: NoiseStream, block: Integers) -> None:
        """A sign and a geometric magnitude; minus zero is drawn again, or zero would come twice."""
        block[:] = self._signed_magnitudes(stream, block.size)
        refused = np.flatnonzero(block == _MINUS_ZERO)
        while refused.size:
            block[refused] = self._signed_magnitudes(stream, refused.size)
            refused = refused[block[refused] == _MINUS_ZERO]

    def _signed_magnitudes(self, stream: NoiseStream, count: int) -> Integers:
        words = stream.words(count)
        sign = (words & np.uint64(1)).view(np.int64)
        magnitude = geometric(stream, words >> np.uint64(1), self.scale)
        # In two's complement (m ^ -s) + s is m or -m, and the mark for s = 1, m = 0 is set after.
        signed = (magnitude ^ -sign) + sign
        signed[(sign == 1) & (magnitude == 0)] = _MINUS_ZERO
        return signed


class DiscreteGaussian(Frozen):
    """Integers k with probability proportional to ``exp(-k^2 / (2 scale^2))``.

    Added to counts that one person can change by at most D in Euclidean length, it gives
    zero-concentrated differential privacy with rho ``D^2 / (2 scale^2)``.

    Parameters
    ----------
    scale
        The sigma of the law; its standard deviation is this, or less when it is below 1.

    References
    ----------
    Canonne, Kamath and Steinke (2020), The discrete Gaussian for differential privacy, algorithm 3.

    Examples
    --------
    >>> DiscreteGaussian(scale=3.0).half_width(0.95)
    6
    """

    form: Literal["discrete-gaussian"] = "discrete-gaussian"
    scale: Scale

    @property
    def variance(self) -> float:
        """Sum of ``k^2 P(k)``; ``scale^2`` to a double's precision from a scale of 2 on."""
        if self.scale >= 2:
            return self.scale**2
        support = np.arange(-self._reach, self._reach + 1)
        return float(np.sum(support**2 * self.probability(support)))

    @property
    def fourth_cumulant(self) -> float:
        """``E k^4 - 3 (E k^2)^2``; none to a double's precision from a scale of 2 on, as of a normal number."""
        if self.scale >= 2:
            return 0.0
        support = np.arange(-self._reach, self._reach + 1)
        return float(np.sum(support**4 * self.probability(support))) - 3 * self.variance**2

    def probability(self, values: npt.ArrayLike) -> Floats:
        """Probability of each integer."""
        points = np.asarray(values, np.float64) / self.scale
        return np.asarray(np.exp(-0.5 * points**2) / self._total)

    def cumulative(self, values: npt.ArrayLike) -> Floats:
        """Probability of at most each integer, by summation."""
        support = np.arange(-self._reach, self._reach + 1)
        sums = np.concatenate([[0.0], np.cumsum(self.probability(support))])
        places = np.asarray(values, np.int64) + self._reach + 1
        return np.asarray(sums[np.clip(places, 0, sums.size - 1)])

    def tail(self, distance: float) -> float:
        """Probability that the noise is at least this far from zero, in either direction."""
        steps = math.ceil(distance)
        if steps <= 0:
            return 1.0
        return float(2 * np.sum(self.probability(np.arange(steps, steps + self._reach + 1))))

    def half_width(self, confidence_level: float) -> int:
        """Smallest h with ``P(|noise| <= h)`` at least the level."""
        miss = _missed_share(confidence_level)
        if self.scale > LARGEST_SUMMED_GAUSSIAN:
            return math.ceil(self.scale * NormalDist().inv_cdf(1 - miss / 2))
        inside = self.probability(np.arange(self._reach + 1))
        inside[1:] *= 2
        return int(np.searchsorted(np.cumsum(inside), 1 - miss))

    def draw(self, stream: NoiseStream, count: int) -> Integers:
        """Independent draws, shape (count,): discrete Laplace ones, of which some are refused."""
        drawn = np.empty(require_whole_number(count, "count", 0, None), np.int64)
        envelope = DiscreteLaplace(scale=math.floor(self.scale) + 1.0)
        for start in range(0, drawn.size, DRAWS_PER_BLOCK):
            block = drawn[start : start + DRAWS_PER_BLOCK]
            wanted = np.arange(block.size)
            while wanted.size:
                proposed = envelope.draw(stream, wanted.size)
                is_accepted = self._accepts(stream, proposed, envelope.scale)
                block[wanted[is_accepted]] = proposed[is_accepted]
                wanted = wanted[~is_accepted]
        return drawn

    def _accepts(self, stream: NoiseStream, proposed: Integers, envelope: float) -> Booleans:
        """Accept with probability ``exp(-(|k| - s^2/t)^2 / (2 s^2))``, t the envelope's scale."""
        center = self.scale**2 / envelope
        exponents = (np.abs(proposed) - center) ** 2 / (2 * self.scale**2)
        # The center lies within a scale of zero, so its rounding moves the root of an exponent by
        # less than 2**-50, and the exponent by less than the margin times (1 + exponent).
        doubt = MARGIN * (1 + exponents)
        words = stream.words(proposed.size) >> np.uint64(1)
        exponential = minus_log(words)
        is_accepted = exponential > exponents
        for item in np.flatnonzero((np.abs(exponential - exponents) < doubt) | (words < SMALLEST_SAFE_WORD)):
            variance = Fraction(self.scale) ** 2
            exact = (abs(int(proposed[item])) - variance / Fraction(envelope)) ** 2 / (2 * variance)
            is_accepted[item] = exceeds(stream, int(words[item]), exact)
        return is_accepted

    @property
    def _reach(self) -> int:
        """Magnitude beyond which everything together is below 1e-17."""
        return math.ceil(9 * self.scale) + 1

    @property
    def _total(self) -> float:
        if self.scale >= 2:
            # The theta function's other form: the sum differs from the integral by 2 exp(-2 pi^2 s^2).
            return math.sqrt(2 * math.pi) * self.scale
        support = np.arange(-self._reach, self._reach + 1)
        return float(np.sum(np.exp(-0.5 * (support / self.scale) ** 2)))


class Laplace(Frozen):
    """The continuous Laplace law, for study only: no promise can rest on its floating draws.

    A double has gaps, and which doubles can come out depends on the count that the noise was added
    to; an attacker who sees the last digits may read the count off them (Mironov 2012). Methods
    refuse it. It is here because the papers' formulas are about it.

    Examples
    --------
    >>> Laplace(scale=10.0).variance
    200.0
    >>> round(float(Laplace(scale=10.0).cumulative(30) - Laplace(scale=10.0).cumulative(-30)), 6)
    0.950213
    """

    form: Literal["laplace"] = "laplace"
    scale: Scale

    @property
    def variance(self) -> float:
        """``2 scale^2``."""
        return 2 * self.scale**2

    def cumulative(self, values: npt.ArrayLike) -> Floats:
        """Probability of at most each value."""
        points = np.asarray(values, np.float64) / self.scale
        tails = 0.5 * np.exp(-np.abs(points))
        return np.asarray(np.where(points < 0, tails, 1 - tails))

    def tail(self, distance: float) -> float:
        """Probability that the noise is at least this far from zero."""
        return math.exp(-max(distance, 0) / self.scale)

    def half_width(self, confidence_level: float) -> float:
        """The h with ``P(|noise| <= h)`` equal to the level."""
        return -self.scale * math.log(_missed_share(confidence_level))

    def draw_for_study(self, stream: NoiseStream, count: int) -> Floats:
        """Floating draws by inversion, shape (count,). Never for publication."""
        words = stream.words(count)
        magnitude = self.scale * minus_log(words >> np.uint64(1))
        return np.where(words & np.uint64(1), -magnitude, magnitude)


DiscreteNoise = Annotated[DiscreteLaplace | DiscreteGaussian, Field(discriminator="form")]
"""What may stand in a manifest: laws that can carry a promise."""


def scale_at_least(exact: Fraction) -> float:
    """Smallest double that is not below an exact scale: more noise never breaks a promise.

    Examples
    --------
    >>> Fraction(scale_at_least(Fraction(1, 3))) >= Fraction(1, 3)
    True
    """
    nearest = float(exact)
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)


def draw_with_opendp(noise: DiscreteLaplace | DiscreteGaussian, count: int) -> Integers:
    """Draws from OpenDP's samplers in place of ours, shape (count,). They take no seed.

    Raises
    ------
    MissingExtraError
        When OpenDP is not installed.

    Examples
    --------
    >>> draw_with_opendp(DiscreteLaplace(scale=2.0), 3).shape
    (3,)
    """
    try:
        import opendp.prelude as dp
    except ImportError:
        raise MissingExtraError("drawing noise from OpenDP", extra="opendp") from None
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    measurement: Any = (
        dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=noise.scale)
        if isinstance(noise, DiscreteLaplace)
        else dp.m.make_gaussian(domain, dp.l2_distance(T="f64"), scale=noise.scale)
    )
    return np.array(measurement(np.zeros(count, np.int64)), np.int64)


_MINUS_ZERO = np.iinfo(np.int64).min


def _missed_share(confidence_level: float) -> float:
    if not 0 < confidence_level < 1:
        raise ParameterError(
            f"the confidence level must lie strictly between 0 and 1, got {confidence_level}. "
            "Use 0.95 for 95 % intervals.",
            parameter="confidence_level",
        )
    return 1 - confidence_level
