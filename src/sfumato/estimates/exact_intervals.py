"""Exact intervals of counts seen through randomness: Blaker, Clopper-Pearson, sums of noise; which one a law's answer takes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.arrays import Booleans, Floats, Integers, MixedRadix
from sfumato.estimates.estimates import Limits, normal_quantile
from sfumato.estimates.intervals import Terms, heavier_quantiles, score_limits
from sfumato.randomness.distortion import AxisMatrix, TwoValued, contract, transposed
from sfumato.randomness.noise import DiscreteGaussian, DiscreteLaplace

# --------------------------------------------------------------------------------------------------
# Sums of independent noise on counts: how far from zero they stay with a given probability.


LARGEST_EXACT_SUM = 256
"""Cells up to which the law of a sum of Laplace noise is computed; beyond, it is normal for all purposes."""

FINEST_SCALE = 64.0
"""Scale on whose grid a sum is computed: steps are below two hundredths of a standard deviation."""

_GRID = 2**16


@lru_cache(maxsize=1024)
def half_width_of_sum(
    noise: DiscreteLaplace | DiscreteGaussian, cells: int, confidence_level: float
) -> float:
    """Half-width of an interval that holds the sum of so many cells' noise with a probability.

    Laplace noise has heavier tails than the normal law: 1.96 standard errors hold one cell's noise with
    probability 0.937, not 0.95, and 2.58 of them with 0.974, not 0.99.

    Notes
    -----
    One cell: exact. More: the power of the Fourier transform of one cell's law, on a grid that is exact
    up to ``FINEST_SCALE`` and rounds up beyond. Sums of discrete Gaussian noise are normal.

    Examples
    --------
    >>> one = DiscreteLaplace(scale=2.0)
    >>> half_width_of_sum(one, 1, 0.95), half_width_of_sum(one, 4, 0.95)
    (6.0, 11.0)
    """
    normal = normal_quantile(confidence_level) * math.sqrt(cells * noise.variance)
    if cells == 1:
        return float(noise.half_width(confidence_level))
    if isinstance(noise, DiscreteGaussian) or cells > LARGEST_EXACT_SUM:
        return normal
    step = max(noise.scale / FINEST_SCALE, 1.0)
    magnitudes = np.minimum(np.arange(_GRID), np.arange(_GRID, 0, -1))
    single = DiscreteLaplace(scale=noise.scale / step).probability(magnitudes)
    sums = np.fft.irfft(np.fft.rfft(single) ** cells, _GRID)[: _GRID // 2]
    sums[1:] *= 2
    steps = int(np.searchsorted(np.cumsum(sums), confidence_level))
    # The last of many nines are beyond what a transform resolves.
    return step * steps if steps < sums.size - 1 else 2 * normal


def half_widths_of_sums(
    noise: DiscreteLaplace | DiscreteGaussian, cells: npt.ArrayLike, confidence_level: float
) -> Floats:
    """The same for sums of different numbers of cells, ``(n,)``.

    Examples
    --------
    >>> half_widths_of_sums(DiscreteLaplace(scale=2.0), [1, 4, 1], 0.95).tolist()
    [6.0, 11.0, 6.0]
    """
    different, place = np.unique(np.asarray(cells, np.int64), return_inverse=True)
    widths = [half_width_of_sum(noise, int(each), confidence_level) for each in different]
    return np.array(widths, np.float64)[place]


# --------------------------------------------------------------------------------------------------
# Limits of counts that are binomial draws.


UNSEEN_LEVEL = 0.95
"""Of the interval whose end an unseen count is held against."""


def binomial_limits(low: Floats, high: Floats, rows: float, confidence_level: float) -> tuple[Floats, Floats]:
    """Exact limits of the expected count of a draw of so many rows, by Clopper and Pearson.

    A normal interval about a count of a few rows is too short and does not know that counts are skewed; about
    a count of none it has no width at all, though up to three rows are to be expected of what none was drawn of.

    Parameters
    ----------
    low, high
        The count drawn, or the ends between which it lies, ``(n,)`` each; the upper ones may be infinite.
    rows
        How many rows were drawn.
    confidence_level
        Of the two limits together.

    Examples
    --------
    >>> none = np.array([0.0])
    >>> [round(float(each[0]), 2) for each in binomial_limits(none, none, 1_000, 0.95)]
    [0.0, 3.68]
    """
    from scipy.special import betaincinv

    tail = (1 - confidence_level) / 2
    least, most = np.clip(low, 0, rows), np.clip(high, 0, rows)
    # The quantiles of none and of all are not numbers; none and all are what stands there.
    lower = rows * betaincinv(least, rows - least + 1, tail)
    upper = rows * betaincinv(most + 1, rows - most, 1 - tail)
    ends = np.where(least > 0, lower, 0.0), np.where(most < rows, upper, rows)
    return ends[0], np.where(np.isinf(high), np.inf, ends[1])


def unseen_variance(chance: npt.ArrayLike) -> Floats:
    """Variance of a count of none, when each row would have been seen with some chance, independently.

    Zero seen is not zero there. The standard error is such that a normal 95 % interval about zero ends where so
    many rows would all have gone unseen with a probability of 5 %: the rule of three, with the chance in it.

    Examples
    --------
    >>> round(float(unseen_variance(0.5)) ** 0.5, 2)
    2.21
    """
    # log(0.05) / log(1 - chance) rows; none can go unseen where the chance is 1.
    with np.errstate(divide="ignore"):
        rows = np.log(1 - UNSEEN_LEVEL) / np.log1p(-np.asarray(chance, dtype=np.float64))
    return np.asarray((rows / normal_quantile(UNSEEN_LEVEL)) ** 2)


# --------------------------------------------------------------------------------------------------
# Limits of counts that are seen through chance, where what is seen takes so few values that no normal curve
# describes them.


LARGEST_DEVIATION = 4.0
"""Standard deviation of the number seen up to which its values are gone through; above, each of them weighs next to nothing."""

FEWEST_DEVIATION = 1.0
"""Standard deviation of the number seen up to which it hardly varies."""

WINDOWS = (32, 64, 128)
"""Numbers seen that are looked at: the least of these that reaches :data:`REACH` standard deviations to either side."""

REACH = 7.5
"""Standard deviations beyond which nothing is seen."""

MOST_CONFIDENT = 1 - 1e-9
"""Level above which probabilities worked out by a transform are too coarse."""

MOST_COUNTS = 64
"""True counts that are tried for each number seen: where more are possible, some are passed over, and an end may lie further out than it must."""

LARGEST_PRODUCT = 2_000_000
"""Numbers that are worked out at once: cases by true counts by frequencies."""

ROUNDING = 1e-12
"""Chances that differ by less are one."""

TIE = 1 + 1e-9
"""Probabilities that differ by less are of the same size, but for rounding."""


@dataclass(frozen=True, eq=False)
class FewSteps:
    """Limits by level of true counts of which each row is seen with one chance, and every other row with another.

    Of n rows x are meant, and y are seen: of the x each with the chance ``kept``, of the others each with ``gained``, all
    independently. So y is the sum of two binomial draws whose only unknown is x. Where it varies by a few, the ends of a score interval
    fall between two of its values: of counts of 1 to 10 in a group of fifty, kept with .95 and gained with .01, 92 % held.

    Parameters
    ----------
    seen, rows
        y and n, ``(cells,)`` each.
    kept, gained
        Chances, ``(cells,)`` each; the one is not the other.
    besides
        Limits that intervals hold too, where one of the chances is an estimate.

    Notes
    -----
    An x is accepted when numbers seen that are as far out as y, by the smaller of their two tails, have more probability than one less the
    level. So what is accepted holds the truth at least as often as is said, and it is part of what Clopper and Pearson's equal tails accept.
    The ends are the least and the largest x that are accepted; not a number where y varies by more than :data:`LARGEST_DEVIATION`.

    References
    ----------
    Blaker, H. (2000). Confidence curves and improved exact confidence intervals for discrete distributions.
    Canadian Journal of Statistics 28, 783-798.

    Examples
    --------
    Three of a thousand baskets show an item that one in a thousand shows without having it:

    >>> limits = FewSteps(*(np.array([each]) for each in (3.0, 1_000.0, 0.9, 0.001)))
    >>> [each.tolist() for each in limits(0.95)]
    [[0.0], [4.0]]
    """

    seen: Floats
    rows: Floats
    kept: Floats
    gained: Floats
    besides: Limits | None = None

    def __call__(self, confidence_level: float) -> tuple[Floats, Floats]:
        """Lower and upper ends."""
        low, high = np.full(self.seen.size, np.nan), np.full(self.seen.size, np.nan)
        is_few = self._varies_within(LARGEST_DEVIATION)
        if confidence_level > MOST_CONFIDENT or not is_few.any():
            return low, high
        cases, place = _different([each[is_few] for each in (self.seen, self.rows, self.kept, self.gained)])
        low[is_few], high[is_few] = (each[place] for each in _Cases.of(*cases).ends(1 - confidence_level))
        # An estimate may lie beyond what the rows allow, and what is not exact is not known to less than a row.
        is_one = low == high
        low, high = low - is_one / 2, high + is_one / 2
        estimates = (self.seen - self.rows * self.gained) / (self.kept - self.gained)
        low, high = np.minimum(low, estimates), np.maximum(high, estimates)
        if self.besides is None:
            return low, high
        others = self.besides(confidence_level)
        return np.minimum(low, others[0]), np.maximum(high, others[1])

    def hardly_varies(self) -> Booleans:
        """Which numbers seen are the expected one most of the time: what these are combined to is off by a whole step or not at all."""
        return self._varies_within(FEWEST_DEVIATION)

    def _varies_within(self, deviation: float) -> Booleans:
        """Which numbers seen have a standard deviation of no more, if the true count is the estimate."""
        slope = self.kept - self.gained
        true = np.clip((self.seen - self.rows * self.gained) / slope, 0, self.rows)
        variances = true * self.kept * (1 - self.kept) + (self.rows - true) * self.gained * (1 - self.gained)
        return np.asarray(variances <= deviation**2)


def chances_of_being_seen(distortion: AxisMatrix, selector: AxisMatrix, size: int) -> tuple[Floats, Floats]:
    """How likely a row of each sum of categories is published as one of them, and any other row; ``(k,)`` each.

    Not a number where that hangs on the category that the row has.

    Parameters
    ----------
    distortion
        ``(size, size)``, true categories by published ones.
    selector
        Which categories each sum adds up, ``(size, k)`` of 0 and 1.

    Examples
    --------
    >>> ratings = np.array([[0.9, 0.1, 0.0], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    >>> [each.round(1).tolist() for each in chances_of_being_seen(ratings, None, 3)]
    [[0.9, 0.8, 0.8], [0.1, 0.1, nan]]
    """
    entries = _by_true(distortion, selector, size)
    if entries is None:
        return _two_chances(distortion, selector, size)
    return _only_value(*entries), _only_value(entries[0], ~entries[1])


def largest_chances(distortion: AxisMatrix, selector: AxisMatrix, size: int) -> tuple[Floats, Floats]:
    """The largest chance with which a row of each sum of categories is published as one of them, and any other row; ``(k,)`` each.

    Examples
    --------
    >>> ratings = np.array([[0.9, 0.1, 0.0], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    >>> [each.round(1).tolist() for each in largest_chances(ratings, None, 3)]
    [[0.9, 0.8, 0.8], [0.1, 0.1, 0.1]]
    """
    entries = _by_true(distortion, selector, size)
    if entries is None:
        return _two_chances(distortion, selector, size)
    chances, is_inside = entries
    inside, outside = (np.max(chances, axis=0, where=each, initial=0.0) for each in (is_inside, ~is_inside))
    return inside, outside


def _by_true(distortion: AxisMatrix, selector: AxisMatrix, size: int) -> tuple[Floats, Booleans] | None:
    """For every category how likely it is published as one of each sum, and whether it is one; None where two values say it all."""
    if isinstance(distortion, TwoValued) and (selector is None or isinstance(selector, TwoValued)):
        # The product would take the square of a long category list.
        return None
    chosen = np.eye(size) if selector is None else selector
    chosen = chosen.dense(size) if isinstance(chosen, TwoValued) else chosen
    return contract(chosen, [transposed(distortion)]), np.asarray(chosen == 1)


def _two_chances(distortion: AxisMatrix, selector: AxisMatrix, size: int) -> tuple[Floats, Floats]:
    assert isinstance(distortion, TwoValued)
    columns = selector.columns if isinstance(selector, TwoValued) else None
    number = size if columns is None else len(columns)
    return np.full(number, distortion.diagonal), np.full(number, distortion.elsewhere)


def _only_value(chances: Floats, is_meant: Booleans) -> Floats:
    """What the entries meant in each column have in common; not a number where they differ, or there is none."""
    least = np.min(chances, axis=0, where=is_meant, initial=np.inf)
    most = np.max(chances, axis=0, where=is_meant, initial=-np.inf)
    return np.where(np.abs(most - least) <= ROUNDING, np.clip(most, 0, 1), np.nan)


def _different(columns: list[Floats]) -> tuple[list[Floats], Integers]:
    """Different rows of some columns, and which of them each row is."""
    values, places = zip(*(np.unique(each, return_inverse=True) for each in columns), strict=True)
    radix = MixedRadix([each.size for each in values])
    keys, place = np.unique(radix.encode(list(places)), return_inverse=True)
    return [each[code] for each, code in zip(values, radix.decode(keys), strict=True)], place


@dataclass(frozen=True, eq=False)
class _Cases:
    """Different cases; after :meth:`of` rows that are meant are more likely to be seen than others."""

    seen: Floats
    rows: Floats
    kept: Floats
    gained: Floats

    @classmethod
    def of(cls, seen: Floats, rows: Floats, kept: Floats, gained: Floats) -> _Cases:
        """The cases; where it is the other way round, rows that are not seen are counted."""
        is_turned = kept < gained
        return cls(
            np.where(is_turned, rows - seen, seen),
            rows,
            np.where(is_turned, 1 - kept, kept),
            np.where(is_turned, 1 - gained, gained),
        )

    def ends(self, miss: float) -> tuple[Floats, Floats]:
        """The least and the largest count that is accepted."""
        first, last = self._possible(miss)
        numbers = np.minimum(last - first + 1, MOST_COUNTS)
        low, high = np.empty(self.seen.size), np.empty(self.seen.size)
        order = np.argsort(numbers)
        start = 0
        while start < order.size:
            # Cases with as many counts to try go together, as far as memory is spent on them.
            most = numbers[order[start:]].astype(np.int64) * (WINDOWS[-1] // 2 + 1)
            taken = max(int(np.searchsorted(most * np.arange(1, most.size + 1), LARGEST_PRODUCT)), 1)
            chosen = order[start : start + taken]
            some = _Cases(*(each[chosen] for each in (self.seen, self.rows, self.kept, self.gained)))
            low[chosen], high[chosen] = some._accepted_between(
                first[chosen], last[chosen], int(numbers[chosen].max()), miss
            )
            start += taken
        return low, high

    def _possible(self, miss: float) -> tuple[Floats, Floats]:
        """Counts between which all lie that can be accepted.

        Whatever is accepted has more than half of what may be missed in either tail. By Bernstein's inequality the number seen is at least d from
        what is expected with a probability of ``exp(-d^2 / (2 v + 2 d / 3))`` at most, where v is the variance; of a true count x that is
        ``d = |x - estimate| (kept - gained)``, and v grows or falls by a known number with each row.
        """
        slope = self.kept - self.gained
        own, other = self.kept * (1 - self.kept), self.gained * (1 - self.gained)
        estimates = (self.seen - self.rows * self.gained) / slope
        variances = np.maximum(estimates * own + (self.rows - estimates) * other, 0)
        needed = np.log(2 / miss)
        reaches = []
        for steps in ((other - own), (own - other)):
            # d^2 = 2 L (v + d (steps / slope + 1 / 3)), solved for d.
            half = needed * np.maximum(steps / slope + 1 / 3, 0)
            reaches.append((half + np.sqrt(half**2 + 2 * needed * variances)) / slope)
        first = np.clip(np.floor(estimates - reaches[0]), 0, self.rows)
        last = np.clip(np.ceil(estimates + reaches[1]), 0, self.rows)
        return first, last

    def _accepted_between(
        self, first: Floats, last: Floats, number: int, miss: float
    ) -> tuple[Floats, Floats]:
        """The same, of counts between two ends of which so many are tried."""
        strides = np.ceil((last - first + 1) / number)
        counts = np.minimum(first[:, None] + strides[:, None] * np.arange(number), last[:, None])
        chances, place = self._chances(counts)
        tails = np.minimum(chances.cumsum(axis=2), chances[:, :, ::-1].cumsum(axis=2)[:, :, ::-1])
        width = chances.shape[2]
        own = np.take_along_axis(tails, np.clip(place, 0, width - 1)[:, :, None], axis=2)
        as_far = np.where(tails <= own * TIE, chances, 0.0).sum(axis=2)
        is_accepted = (as_far > miss) & (place >= 0) & (place < width)
        # Where nothing is, what was seen is beyond all that the rows allow.
        nearest = np.clip((self.seen - self.rows * self.gained) / (self.kept - self.gained), first, last)
        low = np.where(is_accepted, counts, np.inf).min(axis=1)
        high = np.where(is_accepted, counts, -np.inf).max(axis=1)
        is_any = is_accepted.any(axis=1)
        # Counts that were passed over may be accepted.
        return (
            np.where(is_any, np.maximum(low - strides + 1, first), np.round(nearest)),
            np.where(is_any, np.minimum(high + strides - 1, last), np.round(nearest)),
        )

    def _chances(self, counts: Floats) -> tuple[Floats, Integers]:
        """Probabilities of the numbers in a window about the expected one, ``(cases, counts, window)``, and the place of what was seen.

        By the characteristic function: what lies outside the window is laid over it, and is next to nothing.
        """
        others = self.rows[:, None] - counts
        kept, gained = self.kept[:, None], self.gained[:, None]
        deviation = np.sqrt(np.max(counts * kept * (1 - kept) + others * gained * (1 - gained)))
        window = next((each for each in WINDOWS if each >= 2 * REACH * deviation), WINDOWS[-1])
        first = np.round(counts * kept + others * gained) - window // 2
        angles = 2 * np.pi * np.arange(window // 2 + 1) / window
        own, other = (_logarithms(each, angles)[:, None, :] for each in (self.kept, self.gained))
        exponents = counts[:, :, None] * own + others[:, :, None] * other - 1j * first[:, :, None] * angles
        chances = np.clip(np.fft.irfft(np.exp(exponents).conj(), window, axis=2), 0, None)
        return chances, (self.seen[:, None] - first).astype(np.int64)


def _logarithms(chances: Floats, angles: Floats) -> npt.NDArray[np.complex128]:
    """Of the characteristic function of one row's being seen, ``(cases, angles)``."""
    function = 1 + np.outer(chances, np.exp(1j * angles) - 1)
    # A chance of one half makes it vanish at one angle; the logarithm there is as good as any large negative number.
    return np.asarray(np.log(np.where(np.abs(function) < 1e-300, 1e-300, function)))


# --------------------------------------------------------------------------------------------------
# Ends of the intervals of a law's answers: worked out when they are asked for, and able to travel without the
# release.


@dataclass(eq=False)
class Spread:
    """Variances that intervals start from, and how much each changes with its count for each row, ``(n,)`` each.

    Most answers are never asked for it. What it is worked out from, a release, stays behind when it is pickled.
    """

    work_out: Callable[[], tuple[Floats, Floats]] = field(repr=False)

    @cached_property
    def both(self) -> tuple[Floats, Floats]:
        """Variances and slopes."""
        return self.work_out()

    def __getstate__(self) -> dict[str, Any]:
        return {"both": self.both}


@dataclass(frozen=True, eq=False)
class Skews:
    """Covariance of each estimate with its estimated variance, ``(n,)``."""

    spread: Spread
    variances: Floats

    def __call__(self) -> Floats:
        """Variances times their slopes."""
        return self.spread.both[1] * self.variances


@dataclass(frozen=True, eq=False)
class IntervalEnds:
    """Ends of intervals by confidence level: score intervals, save where a law knows better or only a draw is unsure.

    Parameters
    ----------
    values, spread, fourth_cumulants, wholes
        Estimates, how they vary, and the known counts that they are a part of.
    known
        What a law knows of the cells of each tabulation, and how many these are.
    drawn, least, most, rows
        Which numbers have no error but that of drawing so many rows from a population, and between what the table's
        own numbers of them lie. About a table no number is drawn, and its rows are infinitely many.
    parts
        What was added up to these numbers, where some of it takes few values.
    """

    values: Floats
    spread: Spread
    fourth_cumulants: Floats | None
    known: Sequence[tuple[int, Limits | None]]
    drawn: Booleans
    least: Floats
    most: Floats
    rows: float
    wholes: Floats
    parts: Terms | None = None

    def __call__(self, confidence_level: float) -> tuple[Floats, Floats]:
        """Lower and upper ends."""
        low, high = self.smooth(confidence_level)
        few = self._few_ends(confidence_level)
        return np.where(np.isnan(few[0]), low, few[0]), np.where(np.isnan(few[1]), high, few[1])

    def few(self, confidence_level: float, *, is_part: bool) -> tuple[Floats, Floats]:
        """How far intervals reach of numbers that take few values; as parts of a combination only where they hardly vary. Not a number of all others."""
        low, high = self._few_ends(confidence_level)
        if is_part:
            is_told = np.zeros(self.values.size, bool)
            for place, each in self._stepwise():
                is_told[place] = each.hardly_varies()
            low, high = np.where(is_told, low, np.nan), np.where(is_told, high, np.nan)
        return self.values - low, high - self.values

    def _few_ends(self, confidence_level: float) -> tuple[Floats, Floats]:
        """Ends of numbers that take few values; not a number of all others."""
        if self.parts is not None:
            few, (low, high) = self.parts.few(confidence_level, is_part=False), self.smooth(confidence_level)
            return np.minimum(self.values - few[0], low), np.maximum(self.values + few[1], high)
        low, high = np.full(self.values.size, np.nan), np.full(self.values.size, np.nan)
        for place, each in self._stepwise():
            low[place], high[place] = each(confidence_level)
        return low, high

    def _stepwise(self) -> Iterator[tuple[slice, FewSteps]]:
        """What is known of numbers that may take few values, and where these are."""
        first = 0
        for number, each in self.known:
            if isinstance(each, FewSteps):
                yield slice(first, first + number), each
            first += number

    def smooth(self, confidence_level: float) -> tuple[Floats, Floats]:
        """Ends as if no number took few values."""
        variances, slopes = self.spread.both
        quantiles = heavier_quantiles(normal_quantile(confidence_level), variances, self.fourth_cumulants)
        low, high = score_limits(self.values, variances, slopes, quantiles, self.wholes)
        first = 0
        for number, each in self.known:
            if each is not None and not isinstance(each, FewSteps):
                place = slice(first, first + number)
                found_low, found_high = each(confidence_level)
                low[place] = np.where(np.isnan(found_low), low[place], found_low)
                high[place] = np.where(np.isnan(found_high), high[place], found_high)
            first += number
        if self.drawn.any():
            # What the table has for certain is still a draw of the population's.
            least, most = self.least[self.drawn], self.most[self.drawn]
            low[self.drawn], high[self.drawn] = binomial_limits(least, most, self.rows, confidence_level)
        return low, high
