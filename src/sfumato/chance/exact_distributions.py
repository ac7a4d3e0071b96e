"""Finite distributions whose probabilities are whole numbers of 64-bit words.

A draw takes one uniform word. Here the ``NUMBER_OF_WORDS`` possible words are dealt out to the
outcomes in exact integer arithmetic; :mod:`sfumato.chance.randomness` supplies the words and draws.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.values.arrays import Floats, Words

NUMBER_OF_WORDS = 2**64
LARGEST_SIZE = 2**32
ROW_SUM_TOLERANCE = 1e-9


def code_dtype(size: int) -> np.dtype[np.unsignedinteger[Any]]:
    """Smallest unsigned type that holds the codes ``0..size-1``.

    Examples
    --------
    >>> code_dtype(256), code_dtype(257)
    (dtype('uint8'), dtype('uint16'))
    """
    size = require_whole_number(size, "size", 1, LARGEST_SIZE)
    if size <= 2**8:
        return np.dtype(np.uint8)
    return np.dtype(np.uint16) if size <= 2**16 else np.dtype(np.uint32)


@dataclass(frozen=True, repr=False)
class CategorySampler:
    """Exact distributions over the same outcomes, one for each given category.

    Attributes
    ----------
    integer_weights
        (n_given, n_outcomes); an outcome's probability is its weight over :attr:`total`, exactly.
    thresholds, aliases
        Walker's alias tables, flat, (n_given * n_outcomes,). A column holds ``2**64 // n_outcomes``
        words: those below its threshold are its own outcome, the others its alias.

    References
    ----------
    A. J. Walker (1977), ACM Transactions on Mathematical Software 3(3), 253-256.

    Examples
    --------
    >>> sampler = CategorySampler.from_probabilities([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    >>> sampler
    CategorySampler(n_given=2, n_outcomes=3)
    >>> [weight / sampler.total for weight in sampler.integer_weights[1]]
    [0.0, 0.0, 1.0]
    """

    integer_weights: tuple[tuple[int, ...], ...]
    thresholds: Words = field(init=False, compare=False)
    aliases: npt.NDArray[np.unsignedinteger[Any]] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        weights = self.integer_weights
        require_whole_number(len(weights), "number of distributions", 1, None)
        require_whole_number(self.n_outcomes, "number of outcomes", 1, LARGEST_SIZE)
        for number, row in enumerate(weights):
            if len(row) != self.n_outcomes or min(row) < 0 or sum(row) != self.total:
                raise ParameterError(
                    f"row {number} of the weights is not a distribution: it must have "
                    f"{self.n_outcomes} whole numbers, none negative, that sum to {self.total}. "
                    "CategorySampler.from_probabilities makes such weights.",
                    parameter="weights",
                )
        tables = [_alias_table(row) for row in weights]
        flat = [entry for thresholds, _ in tables for entry in thresholds]
        # A lone column would hold 2**64 words, more than a word can say; it needs no draw.
        if self.n_outcomes == 1:
            flat = [NUMBER_OF_WORDS - 1] * len(weights)
        outcomes = [entry for _, aliases in tables for entry in aliases]
        for name, table in (
            ("thresholds", np.array(flat, np.uint64)),
            ("aliases", np.array(outcomes, code_dtype(self.n_outcomes))),
        ):
            table.setflags(write=False)
            object.__setattr__(self, name, table)

    def __repr__(self) -> str:
        return f"CategorySampler(n_given={self.n_given}, n_outcomes={self.n_outcomes})"

    @classmethod
    def from_probabilities(cls, matrix: npt.ArrayLike) -> CategorySampler:
        """Sampler of the nearest integer weights to a matrix (n_given, n_outcomes).

        Each row is divided by its exact sum and rounded by largest remainders. What is impossible
        stays impossible, and what is possible keeps at least one word of the total.
        """
        probabilities = np.asarray(matrix, np.float64)
        if probabilities.ndim != 2 or not probabilities.size:
            raise ParameterError(
                f"the matrix of probabilities has shape {probabilities.shape}; it must be a "
                "non-empty (n_given, n_outcomes). Give one row for each given category.",
                parameter="matrix",
            )
        # Comparisons with nan are false, so a nan counts as wrong; infinities make one when summed.
        with np.errstate(invalid="ignore"):
            is_right = np.abs(probabilities.sum(axis=1) - 1) <= ROW_SUM_TOLERANCE
        is_right &= (probabilities >= 0).all(axis=1)
        if not is_right.all():
            raise ParameterError(
                f"{np.count_nonzero(~is_right)} rows of the matrix are not distributions: "
                f"probabilities must be 0 or more and sum to 1 within {ROW_SUM_TOLERANCE}. "
                "Divide each row by its sum.",
                parameter="matrix",
            )
        return cls(tuple(_largest_remainder_weights(row.tolist()) for row in probabilities))

    @property
    def n_given(self) -> int:
        """Number of distributions."""
        return len(self.integer_weights)

    @property
    def n_outcomes(self) -> int:
        """Number of outcomes of each distribution."""
        return len(self.integer_weights[0])

    @property
    def total(self) -> int:
        """What the weights of a row sum to: the largest multiple of n_outcomes up to 2**64."""
        return self.n_outcomes * (NUMBER_OF_WORDS // self.n_outcomes)

    def probabilities(self) -> Floats:
        """What is really drawn, as the nearest floats, shape (n_given, n_outcomes)."""
        total = self.total
        return np.array([[weight / total for weight in row] for row in self.integer_weights])


@dataclass(frozen=True)
class UniformReplacement:
    """Keep a category with probability :attr:`retention`, else publish a uniform one of ``size``.

    One word decides both: below the threshold the category is kept, and the words from the
    threshold on are shared out evenly over the categories.

    Examples
    --------
    >>> kernel = UniformReplacement.from_retention(0.2, 10)
    >>> kernel.retention <= Fraction(0.2), float(kernel.retention)
    (True, 0.2)
    """

    size: int
    keep_threshold: int

    def __post_init__(self) -> None:
        require_whole_number(self.size, "size", 2, LARGEST_SIZE)
        require_whole_number(self.keep_threshold, "keep_threshold", 0, NUMBER_OF_WORDS - self.size)
        if (NUMBER_OF_WORDS - self.keep_threshold) % self.size:
            raise ParameterError(
                f"keep_threshold leaves a number of words that {self.size} categories cannot share "
                "evenly; it must be 2**64 less a multiple of size. Use from_retention.",
                parameter="keep_threshold",
            )

    @classmethod
    def from_retention(cls, retention: float, size: int) -> UniformReplacement:
        """Kernel of the largest exact retention that is not above the one asked for.

        Rounding down keeps the promise: less retention never reveals more.
        """
        size = require_whole_number(size, "size", 2, LARGEST_SIZE)
        lowest = size / NUMBER_OF_WORDS
        if not lowest <= retention < 1:
            raise ParameterError(
                f"retention must be at least {lowest:.3g} and below 1 for {size} categories, "
                f"got {retention!r}. Choose a probability in between.",
                parameter="retention",
            )
        # K = 2**64 - size * ceil((1 - retention) * 2**64 / size); -(-a // b) is the ceiling.
        replaced = (1 - Fraction(retention)) * NUMBER_OF_WORDS
        return cls(size, NUMBER_OF_WORDS + size * (-replaced // size))

    @property
    def words_per_category(self) -> int:
        """Number of words that replace a category by one particular category."""
        return (NUMBER_OF_WORDS - self.keep_threshold) // self.size

    @property
    def retention(self) -> Fraction:
        """Exact probability of keeping, ``keep_threshold / 2**64``."""
        return Fraction(self.keep_threshold, NUMBER_OF_WORDS)


def _alias_table(weights: Sequence[int]) -> tuple[list[int], list[int]]:
    """Thresholds and aliases of one distribution, exact because all of it is whole numbers."""
    capacity = sum(weights) // len(weights)
    thresholds = list(weights)
    aliases = list(range(len(weights)))
    short = [column for column, weight in enumerate(weights) if weight < capacity]
    long = [column for column, weight in enumerate(weights) if weight > capacity]
    while short:
        column = short.pop()
        donor = long[-1]
        aliases[column] = donor
        thresholds[donor] -= capacity - thresholds[column]
        if thresholds[donor] <= capacity:
            long.pop()
            if thresholds[donor] < capacity:
                short.append(donor)
    return thresholds, aliases


def _largest_remainder_weights(probabilities: Sequence[float]) -> tuple[int, ...]:
    """Whole weights of one row that sum to the total of a :class:`CategorySampler`."""
    total = len(probabilities) * (NUMBER_OF_WORDS // len(probabilities))
    # Every float is a whole multiple of 2**-1074, so these products are exact whole numbers.
    ratios = [probability.as_integer_ratio() for probability in probabilities]
    shares = [numerator * (2**1074 // denominator) for numerator, denominator in ratios]
    sum_of_shares = sum(shares)
    parts = [divmod(share * total, sum_of_shares) for share in shares]
    weights = [max(whole, 1) if share else 0 for share, (whole, _) in zip(shares, parts, strict=True)]
    missing = total - sum(weights)
    by_remainder = sorted(range(len(weights)), key=lambda outcome: -parts[outcome][1])
    for outcome in by_remainder[: max(missing, 0)]:
        weights[outcome] += 1
    # Lifting tiny weights to 1 can overshoot by fewer words than there are outcomes.
    weights[weights.index(max(weights))] += min(missing, 0)
    return tuple(weights)


def require_whole_number(value: int, name: str, lowest: int | None, highest: int | None) -> int:
    """Give the value as a Python integer, or refuse it when it is none or out of bounds.

    Examples
    --------
    >>> require_whole_number(np.uint8(5), "size", 2, None)
    5
    """
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    is_allowed = (
        number is not None and (lowest is None or number >= lowest) and (highest is None or number <= highest)
    )
    if number is None or not is_allowed:
        low = "" if lowest is None else f" from {lowest}"
        high = "" if highest is None else f" up to {highest}"
        raise ParameterError(
            f"{name} must be a whole number{low}{high}, got {value!r}. Give one in that range.",
            parameter=name,
        )
    return number
