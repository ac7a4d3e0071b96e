"""The transition matrix of noisy counts, and sums of published fragments with their errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache, partial
from typing import Annotated, Any, Self, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from sfumato.arrays import Booleans, Floats, Integers
from sfumato.errors import NotIdentifiableError
from sfumato.estimates.estimates import Certainties, Certainty, Limits, all_claim
from sfumato.estimates.exact_intervals import half_widths_of_sums
from sfumato.estimates.identified_region import Ends, LeftOut
from sfumato.immutable import LARGEST_EPSILON, MOST_CATEGORIES, MOST_ROWS, Frozen
from sfumato.laws.base import Published
from sfumato.laws.estimator import Formula, Target, cell_of, codes_shown, names_of, satisfying
from sfumato.query.selection import Tabulation
from sfumato.randomness.noise import DiscreteLaplace, DiscreteNoise, scale_at_least
from sfumato.randomness.streams import NUMBER_OF_WORDS, NoiseSource
from sfumato.schema import Schema

# --------------------------------------------------------------------------------------------------
# A row of the practical matrix of count publishing (Li and Li, eq. 4).
#
# It takes :class:`fractions.Fraction` as well as floats, so that worked examples are exact.


Number = TypeVar("Number", float, Fraction)


def matrix_row(
    count: int, largest: int, k: int, ratio: Number, appears: Number, left_out: Number
) -> list[Number]:
    """Row of eq. 4: probabilities of publishing 0..largest copies.

    Examples
    --------
    >>> row = matrix_row(3, 4, 2, Fraction(1, 2), Fraction(1, 5), Fraction(4, 5))
    >>> [str(each) for each in row]
    ['4/5', '0', '1/15', '1/15', '1/30']
    """
    row = [left_out] + [0 * ratio] * largest
    if count >= k:
        for copies in range(k, largest + 1):
            # What would fall to k or below is published as k: the sum of a geometric tail.
            share = 1 / (1 + ratio) if copies == k else (1 - ratio) / (1 + ratio)
            row[copies] = share * ratio ** abs(count - copies) * appears
    return row


# --------------------------------------------------------------------------------------------------
# The matrix of noisy count publishing: how likely a row that occurs i times is published j times.


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


# --------------------------------------------------------------------------------------------------
# How many rows, or units, the private table has: published with noise, or public anyway.


class NoisyTotal(Frozen):
    """The number of rows, or units, with noise.

    One row more or less changes it by one, so that discrete Laplace noise of scale ``1 / epsilon`` costs epsilon.

    Parameters
    ----------
    count
        As published; noise can make it negative.
    epsilon
        What it costs.
    """

    count: Annotated[int, Field(ge=-MOST_ROWS, le=MOST_ROWS)]
    epsilon: Annotated[float, Field(gt=0, le=LARGEST_EPSILON)]

    @classmethod
    def draw(cls, number: int, epsilon: float, noise: NoiseSource) -> NoisyTotal:
        """The total of a table of so many rows."""
        drawn = cls(count=0, epsilon=epsilon).noise.draw(noise.stream(0), 1)
        return cls(count=number + int(drawn[0]), epsilon=epsilon)

    @property
    def noise(self) -> DiscreteLaplace:
        """Of the count."""
        return DiscreteLaplace(scale=scale_at_least(1 / Fraction(self.epsilon)))


# --------------------------------------------------------------------------------------------------
# What a release of noisy rows consists of: columns, their tables, and the entries in them.


COUNT_COLUMN = "count"
"""Column of a published table that holds the noisy counts."""

COLUMN_COLUMN = "column"
FRAGMENT_COLUMN = "fragment"
"""Columns of a table of long fragments: which column, and which fragment of it, an entry belongs to."""


class PublishedColumn(Frozen):
    """One published table of fragments over some attributes.

    Parameters
    ----------
    table
        Name of the published table.
    attributes, sizes
        What a fragment is made of, and the number of categories of each.
    """

    table: str
    attributes: Annotated[tuple[str, ...], Field(min_length=1)]
    sizes: tuple[Annotated[int, Field(ge=1, le=MOST_CATEGORIES)], ...]


class LongColumns(Frozen):
    """The columns of unit-item-value data, all in one published table.

    Parameters
    ----------
    table
        Name of the published table; a row is one item of one fragment.
    item, value
        Its attributes; no value for baskets.
    columns
        Codes of the items of each column.
    """

    table: str
    item: str
    value: str | None = None
    columns: tuple[tuple[Annotated[int, Field(ge=0, le=MOST_CATEGORIES)], ...], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Attributes that can be asked about."""
        return (self.item,) if self.value is None else (self.item, self.value)

    def home_of(self, items: int) -> Integers:
        """For every item the column that answers for it: the one with the fewest items; -1 for none."""
        home = np.full(items, -1)
        for number in sorted(range(len(self.columns)), key=lambda each: -len(self.columns[each])):
            home[list(self.columns[number])] = number
        return home


@dataclass(frozen=True, eq=False)
class Entries:
    """Published entries: codes by attribute, the count and the number of the fragment of each, ``(n,)``."""

    codes: dict[str, npt.NDArray[Any]]
    counts: Floats
    fragment: Integers


@dataclass(frozen=True, eq=False)
class ColumnSums:
    """What was published of each column of unit-item-value data.

    Parameters
    ----------
    item
        The attribute of items.
    home
        For every item the column that answers for it; -1, and so the last, for none.
    sums, numbers
        Noisy units of each column, and its fragments, ``(columns + 1,)``; the last are 0.
    """

    item: str
    home: Integers
    sums: Floats
    numbers: Integers


def read_table(
    published: Published, table: str, names: Sequence[str], integers: Sequence[str]
) -> tuple[dict[str, npt.NDArray[Any]], list[npt.NDArray[Any]]]:
    """Columns of a published table, which may have no rows."""
    batches = list(published.scan(table, (*names, *integers)))
    parts: dict[str, npt.NDArray[Any]] = {
        name: np.concatenate([np.zeros(0, np.int64), *(each.codes[name] for each in batches)])
        for name in (*names, *integers)
    }
    return {name: parts[name] for name in names}, [parts[name] for name in integers]


# --------------------------------------------------------------------------------------------------
# Combinations of a column's categories that a cell is about, published or not.


def combinations_of_a_cell(column: PublishedColumn, schema: Schema, asked: Tabulation) -> int:
    """How many different rows of a column each cell of a tabulation adds up.

    Examples
    --------
    >>> from sfumato.schema import Attribute, Role
    >>> job = Attribute(name="job", role=Role.OTHER, categories=("a", "b", "c"))
    >>> sex = Attribute(name="sex", role=Role.OTHER, categories=("F", "M"))
    >>> column = PublishedColumn(table="rows", attributes=("sex", "job"), sizes=(2, 3))
    >>> combinations_of_a_cell(column, Schema(attributes=(sex, job)), Tabulation(by=("sex",)))
    3
    """
    # A Python number: wide columns have more combinations than 64 bits hold.
    return math.prod(
        1 if name in asked.by else len(codes_shown(schema, asked, name)) for name in column.attributes
    )


def has_rows_without_values(column: PublishedColumn, schema: Schema, asked: Tabulation) -> Booleans:
    """Which cells, ``(cells,)``, have rows that lack every value of a column: these are not counted at all."""
    axes = [codes_shown(schema, asked, name) for name in asked.by]
    codes = dict(
        zip(asked.by, (each.ravel() for each in np.meshgrid(*axes, indexing="ij")), strict=True)
        if axes
        else ()
    )
    found = np.ones(math.prod(map(len, axes)), np.bool_)
    for name in column.attributes:
        missing = schema[name].missing_code
        if missing is None:
            return np.zeros(found.size, np.bool_)
        found &= codes[name] == missing if name in codes else missing in codes_shown(schema, asked, name)
    return found


# --------------------------------------------------------------------------------------------------
# Sums of published rows with noisy counts, their errors, and what was left out of them.


SURELY_PUBLISHED = 0.999
"""Probability with which a row would have been published that is taken to be no more than that where it is not there."""


@dataclass(frozen=True, eq=False)
class _Chosen:
    """Entries that a question chooses: count, fragment and cell of each ``(n,)``, and how many cells there are."""

    counts: Floats
    fragment: Integers
    cells: Integers
    size: int

    @property
    def numbers(self) -> Integers:
        """Entries of each cell, ``(cells,)``."""
        return np.bincount(self.cells, minlength=self.size)


@dataclass(frozen=True, eq=False)
class NoisySums(Formula):
    """Published entries, added up, and what of the rows that were left out each sum may have.

    Parameters
    ----------
    matrix
        How likely a row is published with which count.
    schema
        The published one.
    entries
        By published table, its entries.
    table_of
        The table that answers for some attributes.
    columns
        By published table, its column; or of unit-item-value data, what was published of each column.
    size
        How many rows or units there are: with noise, or as everybody knows; None where the release does not say.
    share
        Which share of all parts the column budget kept.
    is_whole
        Every part was kept, or a known share of them.
    is_weighted
        Each entry counts by how likely it was to be published (Horvitz and Thompson), and nothing else does.

    Notes
    -----
    What was kept of X parts, each with probability p, is divided by p: K / p estimates X, and the draw adds
    ``X (1 - p) / p`` to the variance. Drawing the table itself from a population comes after that: it is the
    error of X, which is not divided again.

    Of T rows, P were published; the others, R = T - P, are in combinations that were not, or below the threshold of
    what could have been. A sum over some of the combinations counts the share of R that it has of the combinations that
    were not published: then all sums add up to T. It may have none of R, or all, and of each combination no more than
    what would surely have been published.
    """

    matrix: NoisyCountMatrix
    schema: Schema
    entries: Mapping[str, Entries]
    table_of: Callable[[Sequence[str]], str]
    columns: Mapping[str, PublishedColumn] | ColumnSums
    size: NoisyTotal | int | None
    share: float
    is_whole: bool
    is_weighted: bool
    _chosen: dict[tuple[Tabulation, str], _Chosen] = field(default_factory=dict, init=False, repr=False)
    _varied: dict[tuple[Tabulation, str], Floats] = field(default_factory=dict, init=False, repr=False)

    @property
    def number_of_rows(self) -> float:  # type: ignore[override]
        """As stated in public, or as published with noise.

        Raises
        ------
        NotIdentifiableError
            When the release says neither.
        """
        if self.size is None:
            raise NotIdentifiableError(
                "the release does not say how many rows the table has, so that nothing can be said of the population it was "
                "drawn from. Ask about the table, or publish with total_share above 0 or a public_size."
            )
        return float(max(self.size.count if isinstance(self.size, NoisyTotal) else self.size, 0))

    def values(self, asked: Tabulation) -> Floats:
        """Sums of published counts, divided by the share that was kept, with their share of what was left out."""
        return self._values(asked, self._table(asked))

    def _values(self, asked: Tabulation, table: str) -> Floats:
        if self._is_about_all(asked):
            return np.array([self.number_of_rows])
        sums = self._sums(asked, table)
        if self.is_weighted:
            return sums
        self._refuse_without_end(asked, table)
        return sums if self.size is None else sums + self._shares(asked, table) * self._left_out(table)[0]

    def variances(self, asked: Tabulation) -> Floats:
        """Noise of what is published, and of the number of rows where a share of those left out is counted."""
        table = self._table(asked)
        own, shares = self._own_variances(asked, table), self._shares(asked, table)
        # Var(P + cR) with Cov(P, R) = -Var(P).
        return np.asarray((1 - 2 * shares) * own + shares**2 * self._left_out(table)[1])

    def covariance(self, one: Tabulation, other: Tabulation) -> Floats:
        """Noise of the fragments that are in both; nobody can tell which parts of two columns were kept together."""
        table, elsewhere = self._table(one), self._table(other)
        shares = self._shares(one, table), self._shares(other, elsewhere)
        if table != elsewhere:
            # Columns have nothing in common but the noise of the number of rows.
            together = float(shares[0][0] * shares[1][0]) * self._size_variance
            return np.full((1, 1), together if self.share == 1 else np.nan)
        noise = (self._incidence(one).T @ self._incidence(other)).toarray() / self.share**2
        both = (
            np.diag(self._sums(one, table))
            if one is other
            else self._sums(Tabulation(where=one.where & other.where), table)[:, None]
        )
        own = self._own_variances(one, table), self._own_variances(other, table)
        whole = np.asarray(noise + both * (1 - self.share) / self.share)
        whole = whole - np.outer(own[0], shares[1]) - np.outer(shares[0], own[1])
        whole = whole + np.outer(*shares) * self._left_out(table)[1]
        if one is other:
            np.fill_diagonal(whole, self.variances(one))
        return whole

    def shared(self, one: Tabulation, other: Tabulation) -> Floats:
        """Rows in both, where one column holds both."""
        if one is other:
            return np.diag(self.values(one))
        if self._table(one) != self._table(other):
            return np.full((1, 1), np.nan)
        return self._values(Tabulation(where=one.where & other.where), self._table(one))[:, None]

    def bounds(self, asked: Tabulation) -> tuple[Floats, Floats]:
        """A published row occurs at least k times; so do those elsewhere, which leaves the rest of a public size."""
        table = self._table(asked)
        numbers = self._choose(asked, table).numbers.astype(np.float64)
        most = np.full(numbers.size, np.inf)
        if isinstance(self.size, int) and not isinstance(self.columns, ColumnSums):
            most = self.size - self.matrix.k * (self.entries[table].counts.size - numbers)
        return self.matrix.k * numbers, most

    def certainty(self, asked: Tabulation, number: int) -> Certainties:
        """Open wherever a row may have been left out; the number of all rows is published or public."""
        if self._is_about_all(asked):
            return all_claim(Certainty.EXACT if isinstance(self.size, int) else Certainty.ESTIMATED, number)
        if self.is_weighted:
            return all_claim(Certainty.ESTIMATED, number)
        is_settled = self._most(asked, self._table(asked)) == 0
        return np.where(is_settled, Certainty.ESTIMATED, Certainty.OPEN).astype(np.int8)

    def limits(self, asked: Tabulation, target: Target) -> Limits | None:
        """Of numbers without anything left out, by the law of their noise."""
        if target == "population" or self.is_weighted:
            return None
        values = self.values(asked)
        if self._is_about_all(asked):
            total = self.size
            if not isinstance(total, NoisyTotal):
                return None
            return partial(_ends_of_total, total)
        table = self._table(asked)
        is_settled = self._most(asked, table) == 0
        if self.share < 1:
            return None
        numbers = np.maximum(self._choose(asked, table).numbers, 1)
        return partial(_ends_of_sums, self.matrix.noise, values, numbers, is_settled)

    def left_open(self, asked: Sequence[Tabulation]) -> LeftOut | Ends | None:
        """What each number may have of the rows that were left out."""
        if self.is_weighted:
            return None
        tables = {self._table(each) for each in asked}
        if isinstance(self.columns, ColumnSums):
            return _joined([self._ends_of_items(each, self.columns) for each in asked])
        if len(tables) > 1:
            # Each by itself: nobody can tell which rows of one column are which of another.
            return _joined([self._left_open_of([each]).of(self.values(each)) for each in asked])
        return self._left_open_of(asked)

    def _left_open_of(self, asked: Sequence[Tabulation]) -> LeftOut:
        table = self._table(asked[0])
        rows, variance = self._left_out(table)
        shares = np.concatenate([self._shares(each, table) for each in asked])
        own = np.concatenate([self._own_variances(each, table) for each in asked])
        return LeftOut(
            rows,
            variance,
            np.concatenate([self.variances(each) for each in asked]),
            shares,
            # Cov(P + cR, R) with Cov(P, R) = -Var(P).
            shares * variance - own,
            np.concatenate([self._most(each, table) for each in asked]),
            are_apart=len(asked) == 1,
            is_part_of=None if len(asked) == 1 else _parts_and_wholes(asked),
        )

    def _ends_of_items(self, asked: Tabulation, columns: ColumnSums) -> Ends:
        """Every unit of which nothing was published in an item's column may have the item, and the value."""
        values, own = self.values(asked), self.variances(asked)
        size = math.inf if self.size is None else self.number_of_rows
        rows = np.clip(size - columns.sums, 0, None)
        errors = np.sqrt(self._size_variance + columns.numbers * self.matrix.noise.variance)
        # Items of each cell: its own along an axis, else all that were chosen. A unit has each of them once.
        chosen = codes_shown(self.schema, asked, columns.item)
        axes = [len(codes_shown(self.schema, asked, name)) for name in asked.by]
        of_cells = np.zeros((values.size, len(chosen)), np.bool_)
        if columns.item in asked.by:
            place = np.indices(axes)[asked.by.index(columns.item)].ravel()
            of_cells[np.arange(values.size), place] = True
        else:
            of_cells[:] = True
        home = columns.home[list(chosen)]
        high_errors = np.sqrt(own) + of_cells @ errors[home]
        return Ends(values, values + of_cells @ rows[home], own, high_errors**2)

    def _refuse_without_end(self, asked: Tabulation, table: str) -> None:
        """Sums of which nobody could say how much was left out of them."""
        if self.size is None and (self._most(asked, table) > self._most_of_one).any():
            raise NotIdentifiableError(
                "rows were left out of the release, and it does not say how many rows there are: a sum has no upper end. Ask "
                "for single rows, or publish with total_share above 0 or a public_size."
            )

    @property
    def _size_variance(self) -> float:
        return self.size.noise.variance if isinstance(self.size, NoisyTotal) else 0.0

    def _left_out(self, table: str) -> tuple[float, float]:
        """Rows that were left out of a published table, and the variance of that number."""
        if self.size is None:
            return math.inf, 0.0
        everything = Tabulation()
        published = float(self._sums(everything, table)[0])
        variance = self._size_variance + float(self._own_variances(everything, table)[0])
        return max(self.number_of_rows - published, 0.0), variance

    @property
    def _most_of_one(self) -> float:
        """Copies of a row that is not published: with more it would have been, as good as surely."""
        copies = self.matrix.threshold(SURELY_PUBLISHED)
        # Of X rows, X p kept their part, give or take three standard deviations.
        return (copies + 3 * math.sqrt(copies * (1 - self.share))) / self.share

    def _open(self, asked: Tabulation, table: str) -> Floats:
        """Combinations of each cell that were not published, ``(cells,)``."""
        assert not isinstance(self.columns, ColumnSums)
        numbers = self._choose(asked, table).numbers
        every = float(combinations_of_a_cell(self.columns[table], self.schema, asked))
        return np.asarray(every - numbers)

    def _most(self, asked: Tabulation, table: str) -> Floats:
        """Rows that were left out of each cell at most, ``(cells,)``; infinite where all of them could be its."""
        if isinstance(self.columns, ColumnSums) or not self.is_whole:
            return np.full(self._choose(asked, table).size, np.inf)
        without = has_rows_without_values(self.columns[table], self.schema, asked)
        return np.where(without, np.inf, self._open(asked, table) * self._most_of_one)

    def _shares(self, asked: Tabulation, table: str) -> Floats:
        """Of the combinations that were not published, the share that each cell has."""
        if self._is_about_all(asked):
            return np.ones(1)
        number = self._choose(asked, table).size
        if self.size is None or self.is_weighted or isinstance(self.columns, ColumnSums):
            return np.zeros(number)
        every = float(self._open(Tabulation(), table)[0])
        return self._open(asked, table) / every if every else np.zeros(number)

    def _is_about_all(self, asked: Tabulation) -> bool:
        """Whether the question is how many rows there are, which is published or public."""
        is_said = self.size is not None and not isinstance(self.columns, ColumnSums) and not self.is_weighted
        return is_said and not asked.by and not asked.where.conditions

    def _table(self, asked: Tabulation) -> str:
        return self.table_of(names_of([asked]))

    def _choose(self, asked: Tabulation, table: str) -> _Chosen:
        """Kept while a question is answered: all that is said of a tabulation begins with it."""
        if (asked, table) not in self._chosen:
            entries = self.entries[table]
            is_chosen = satisfying(entries.codes, asked.where, entries.counts.size)
            axes = {name: codes_shown(self.schema, asked, name) for name in asked.by}
            self._chosen[asked, table] = _Chosen(
                entries.counts[is_chosen],
                entries.fragment[is_chosen],
                cell_of(entries.codes, axes, is_chosen),
                math.prod(len(codes) for codes in axes.values()),
            )
        return self._chosen[asked, table]

    def _sums(self, asked: Tabulation, table: str) -> Floats:
        """Of what is published, ``(cells,)``."""
        chosen = self._choose(asked, table)
        added = self._weigh(chosen.counts)[0]
        sums = np.bincount(chosen.cells, weights=added, minlength=chosen.size)
        return sums.astype(np.float64) / self.share

    def _own_variances(self, asked: Tabulation, table: str) -> Floats:
        """Of the same: deviations add up within a fragment, whose noise is one, and then as squares."""
        if (asked, table) not in self._varied:
            self._varied[asked, table] = self._noise_of_sums(asked, table)
        return self._varied[asked, table]

    def _noise_of_sums(self, asked: Tabulation, table: str) -> Floats:
        chosen = self._choose(asked, table)
        found = np.zeros(chosen.size)
        if chosen.cells.size:
            order = np.lexsort((chosen.fragment, chosen.cells))
            cells, fragment = chosen.cells[order], chosen.fragment[order]
            is_new = np.ones(cells.size, np.bool_)
            is_new[1:] = (cells[1:] != cells[:-1]) | (fragment[1:] != fragment[:-1])
            starts = np.flatnonzero(is_new)
            squares = np.add.reduceat(self._weigh(chosen.counts)[1][order], starts) ** 2
            found = np.bincount(cells[starts], weights=squares, minlength=chosen.size).astype(np.float64)
        return found / self.share**2 + self._sums(asked, table) * (1 - self.share) / self.share

    def _incidence(self, asked: Tabulation) -> Any:
        """Deviation that each fragment's noise gives each cell, a sparse matrix ``(fragments, cells)``."""
        from scipy.sparse import csr_array

        table = self._table(asked)
        chosen = self._choose(asked, table)
        fragments = int(self.entries[table].fragment.max(initial=-1)) + 1
        places = (chosen.fragment, chosen.cells)
        return csr_array((self._weigh(chosen.counts)[1], places), shape=(fragments, chosen.size))

    def _weigh(self, counts: Floats) -> tuple[Floats, Floats]:
        """What each published entry adds to a sum, and its standard deviation."""
        noise = self.matrix.noise.variance
        if not self.is_weighted:
            return counts, np.full(counts.size, math.sqrt(noise))
        # Horvitz and Thompson: mean f and variance (1-w)/w f^2 + noise/w for a row of f copies, in which
        # the published count stands for f.
        appears, left_out = self.matrix.release_probabilities_of(counts)
        return counts / appears, np.sqrt(left_out / appears**2 * counts**2 + noise / appears**2)


def _parts_and_wholes(asked: Sequence[Tabulation]) -> Booleans:
    """Of selections, whether every row of one is a row of another, ``(n, n)``."""
    return np.array([[each.where & other.where == each.where for other in asked] for each in asked])


def _ends_of_total(total: NoisyTotal, confidence_level: float) -> tuple[Floats, Floats]:
    half = np.full(1, total.noise.half_width(confidence_level))
    return total.count - half, total.count + half


def _ends_of_sums(
    noise: DiscreteNoise, values: Floats, numbers: Integers, is_settled: Booleans, confidence_level: float
) -> tuple[Floats, Floats]:
    half = half_widths_of_sums(noise, numbers, confidence_level)
    half[~is_settled] = np.nan
    return values - half, values + half


def _joined(ends: Sequence[Ends]) -> Ends:
    names = ("low", "high", "low_variances", "high_variances")
    return Ends(*(np.concatenate([getattr(each, name) for each in ends]) for name in names))
