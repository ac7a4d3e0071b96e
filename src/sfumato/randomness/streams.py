"""Secret random bits in named streams, and draws from them with exact probabilities."""

from __future__ import annotations

import hashlib
import hmac
import operator
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NoReturn, TypeVar

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from sfumato.arrays import Booleans, Floats, Integers, Words, sorted_scattered
from sfumato.errors import ParameterError

# --------------------------------------------------------------------------------------------------
# Finite distributions whose probabilities are whole numbers of 64-bit words.
#
# A draw takes one uniform word. Here the ``NUMBER_OF_WORDS`` possible words are dealt out to the
# outcomes in exact integer arithmetic; :mod:`sfumato.randomness.streams` supplies the words and draws.


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


# --------------------------------------------------------------------------------------------------
# Secret bits, and draws from them whose probabilities are exact.
#
# Every row that sfumato perturbs is perturbed by bits from here: an AES-256 keystream in counter
# mode under a key that the operating system gave. A draw compares or divides 64-bit words as
# integers, so each probability is a whole number over ``NUMBER_OF_WORDS``: no rounding of floats
# stands between the promise and what is drawn.
#
# A :class:`NoiseSource` holds the key and never changes; a :class:`NoiseStream` is one numbered run
# of bits that is used up. Batches and partitions that take different numbers share no bits.


KEY_BYTES = 32
# The 8-byte block counter ends after 2**64 blocks of two words; the next block would carry into
# the stream number and repeat the bits of the following stream.
WORDS_PER_STREAM = 2 * 2**64
# Half a megabyte: large enough that a call costs nothing, small enough to stay in the cache.
WORDS_PER_BLOCK = 2**16

_ZEROS = bytes(8 * WORDS_PER_BLOCK)
_SEED_TAG = b"sfumato seeded noise source 1:"

_Words = Words
_Codes = npt.NDArray[np.integer[Any]]
_Item = TypeVar("_Item", bound=np.integer[Any])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NoiseSource:
    """A secret key from which any number of independent streams of bits are made.

    The same number gives the same stream, so a repeated task repeats its bits; give each batch or
    partition its own number, and each use of a source its own :meth:`named` child. Pickling is
    allowed, because workers need the source, and **carries the key**: send it to workers of the
    same job only, and never store it.

    Examples
    --------
    >>> noise = NoiseSource.from_operating_system()
    >>> noise
    NoiseSource(is_reproducible=False)
    >>> noise.named("occupation").stream(0).words(3).shape
    (3,)
    """

    _key: bytes
    is_reproducible: bool

    def __post_init__(self) -> None:
        if not isinstance(self._key, bytes) or len(self._key) != KEY_BYTES:
            raise ParameterError(
                f"the key of a noise source is not {KEY_BYTES} bytes. "
                "Use NoiseSource.from_operating_system() or NoiseSource.seeded(seed).",
                parameter="key",
            )

    def __repr__(self) -> str:
        return f"NoiseSource(is_reproducible={self.is_reproducible})"

    @classmethod
    def from_operating_system(cls) -> NoiseSource:
        """Source that nobody can repeat: the only one a private release may use."""
        return cls(os.urandom(KEY_BYTES), is_reproducible=False)

    @classmethod
    def seeded(cls, seed: int) -> NoiseSource:
        """Source that the seed alone determines, for tests and demonstrations.

        Who knows or guesses the seed can undo the perturbation: what it publishes is not private.
        """
        text = str(require_whole_number(seed, "seed", None, None)).encode()
        return cls(hashlib.sha256(_SEED_TAG + text).digest(), is_reproducible=True)

    def named(self, purpose: str) -> NoiseSource:
        """Independent child source; the same purpose gives the same child."""
        if not isinstance(purpose, str) or not purpose:
            raise ParameterError(
                "the purpose of a noise source is not a text with at least one character. "
                "Name what the bits are for, for example 'perturb occupation'.",
                parameter="purpose",
            )
        key = hmac.digest(self._key, purpose.encode(), "sha256")
        return NoiseSource(key, is_reproducible=self.is_reproducible)

    def stream(self, number: int) -> NoiseStream:
        """Stream of bits with this number, from its beginning; ``0 <= number < 2**64``."""
        return NoiseStream(self._key, require_whole_number(number, "number", 0, NUMBER_OF_WORDS - 1))


class NoiseStream:
    """One run of secret bits, used up from its beginning; made by :meth:`NoiseSource.stream`.

    Not to be shared between threads: give each its own number. It cannot be copied or pickled,
    since the copy would repeat the bits.

    Examples
    --------
    >>> stream = NoiseSource.from_operating_system().stream(0)
    >>> stream.bernoulli(4, 2**63).dtype, stream.uniform_codes(4, 50).dtype
    (dtype('bool'), dtype('uint8'))
    """

    def __init__(self, key: bytes, number: int) -> None:
        first_block = number.to_bytes(8, "big") + bytes(8)
        self._keystream = Cipher(algorithms.AES(key), modes.CTR(first_block)).encryptor()
        self._block: _Words = np.empty(0, np.uint64)
        self._words_left = WORDS_PER_STREAM

    def __repr__(self) -> str:
        return "NoiseStream()"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a NoiseStream cannot be copied or pickled, since both copies would give the same bits."
            " Send the NoiseSource and take a stream with another number there."
        )

    def words(self, count: int) -> _Words:
        """Next ``count`` words, each uniform on ``0..2**64-1``, shape (count,)."""
        drawn: _Words = np.empty(require_whole_number(count, "count", 0, None), np.uint64)
        self._fill(drawn)
        return drawn

    def bernoulli(self, count: int, threshold: int) -> Booleans:
        """Booleans that are true with probability exactly ``threshold / 2**64``, shape (count,)."""
        threshold = require_whole_number(threshold, "threshold", 0, NUMBER_OF_WORDS)
        drawn = np.zeros(require_whole_number(count, "count", 0, None), np.bool_)
        for rows, words in self._blocks(drawn.size):
            # The last word below the threshold fits 64 bits; the threshold 2**64 would not.
            if threshold:
                np.less_equal(words, np.uint64(threshold - 1), out=drawn[rows])
        return drawn

    def uniform_codes(self, count: int, size: int) -> npt.NDArray[np.unsignedinteger[Any]]:
        """Codes uniform on ``0..size-1``, of type ``code_dtype(size)``, shape (count,)."""
        drawn = np.zeros(require_whole_number(count, "count", 0, None), code_dtype(size))
        if size <= 1:
            return drawn
        for rows, words in self._blocks(drawn.size):
            if size & (size - 1) == 0:
                # A power of two divides the words evenly: dividing is looking at their top bits, and none is drawn again.
                columns = np.right_shift(words, np.uint64(NUMBER_OF_WORDS.bit_length() - size.bit_length()))
            else:
                columns, _ = self._columns_and_remainders(words, size)
            np.copyto(drawn[rows], columns, casting="unsafe")
        return drawn

    def integers_below(self, bounds: npt.ArrayLike) -> _Words:
        """Integers uniform on ``0..bounds[i]-1``, one for each bound, shape (count,).

        Examples
        --------
        >>> stream = NoiseSource.from_operating_system().stream(0)
        >>> bool((stream.integers_below([1, 2, 3]) < [1, 2, 3]).all())
        True
        """
        limits = np.asarray(bounds)
        _refuse_shape(limits, "bounds")
        _refuse_outside(limits, 1, NUMBER_OF_WORDS, "bounds")
        drawn: _Words = np.empty(limits.size, np.uint64)
        for rows, words in self._blocks(limits.size):
            limit = limits[rows].astype(np.uint64)
            # A word is refused when the run of `limit` words that it lies in is cut off by 2**64;
            # `-limit` in 64 bits is the last place where a whole run can begin.
            last_start = np.negative(limit)
            remainders = words % limit
            refused = np.flatnonzero(words - remainders > last_start)
            while refused.size:
                fresh = self.words(refused.size)
                remainders[refused] = fresh % limit[refused]
                refused = refused[fresh - remainders[refused] > last_start[refused]]
            drawn[rows] = remainders
        return drawn

    def permutation(self, count: int) -> Integers:
        """Order of ``0..count-1``, every order being equally likely, shape (count,).

        Examples
        --------
        >>> sorted(NoiseSource.from_operating_system().stream(0).permutation(4).tolist())
        [0, 1, 2, 3]
        """
        count = require_whole_number(count, "count", 0, LARGEST_SIZE)
        index_bits = np.uint64(max(count - 1, 0).bit_length())
        index_mask = np.uint64((1 << int(index_bits)) - 1)
        keys = self.words(count)
        np.bitwise_and(keys, ~index_mask, out=keys)
        np.bitwise_or(keys, np.arange(count, dtype=np.uint64), out=keys)
        keys = sorted_scattered(keys)
        random_parts = keys >> index_bits
        is_tied = random_parts[1:] == random_parts[:-1]
        np.bitwise_and(keys, index_mask, out=keys)
        if is_tied.any():
            # Equal random parts were sorted by their index, which is not random: the members of
            # each run of equal parts are put in the order a fresh permutation gives them.
            members = np.flatnonzero(np.append(is_tied, False) | np.append(False, is_tied))
            shuffled = members[self.permutation(members.size)]
            by_run = np.argsort(random_parts[shuffled], kind="stable")
            keys[members] = keys[shuffled[by_run]]
        return keys.view(np.int64)

    def categories(
        self, sampler: CategorySampler, given: npt.ArrayLike
    ) -> npt.NDArray[np.unsignedinteger[Any]]:
        """One draw for each item, from the distribution in row ``given[i]``, shape (count,).

        Parameters
        ----------
        sampler
            The distributions; the draws have the type ``code_dtype(sampler.n_outcomes)``.
        given
            Row of the sampler for each item, shape (count,), integers.

        Examples
        --------
        >>> sampler = CategorySampler.from_probabilities([[0.0, 1.0], [1.0, 0.0]])
        >>> NoiseSource.from_operating_system().stream(0).categories(sampler, [0, 0, 1]).tolist()
        [1, 1, 0]
        """
        rows_given = np.asarray(given)
        _refuse_shape(rows_given, "given")
        drawn = np.zeros(rows_given.size, code_dtype(sampler.n_outcomes))
        for rows, words in self._blocks(rows_given.size):
            _refuse_outside(rows_given[rows], 0, sampler.n_given, "given")
            if sampler.n_outcomes > 1:
                columns, remainders = self._columns_and_remainders(words, sampler.n_outcomes)
                cells = rows_given[rows].astype(np.int64)
                cells *= sampler.n_outcomes
                cells += columns.view(np.int64)
                # Every cell is in the table, so "clip" changes nothing: it only skips a copy.
                thresholds = sampler.thresholds.take(cells, mode="clip")
                aliases = sampler.aliases.take(cells, mode="clip")
                own = columns.astype(aliases.dtype)
                drawn[rows] = _choose(remainders < thresholds, own, aliases)
        return drawn

    def perturb_uniformly(self, codes: npt.NDArray[_Item], kernel: UniformReplacement) -> npt.NDArray[_Item]:
        """Codes of which each is kept or replaced by a uniform category, shape (count,).

        The type of the codes is kept; it must hold every code below ``kernel.size``.

        Examples
        --------
        >>> kernel = UniformReplacement.from_retention(0.5, 10)
        >>> stream = NoiseSource.from_operating_system().stream(0)
        >>> stream.perturb_uniformly(np.zeros(3, np.uint8), kernel).dtype
        dtype('uint8')
        """
        codes = np.asarray(codes)
        _refuse_shape(codes, "codes")
        if np.iinfo(codes.dtype).max < kernel.size - 1:
            raise ParameterError(
                f"codes of type {codes.dtype} cannot hold {kernel.size} categories. "
                f"Convert them to {code_dtype(kernel.size)} first.",
                parameter="codes",
            )
        published = np.empty(codes.size, codes.dtype)
        threshold = np.uint64(kernel.keep_threshold)
        words_per_category = np.uint64(kernel.words_per_category)
        for rows, words in self._blocks(codes.size):
            kept = codes[rows]
            _refuse_outside(kept, 0, kernel.size, "codes")
            is_kept = words < threshold
            # Words below the threshold wrap around to nonsense here; they are not used.
            np.subtract(words, threshold, out=words)
            np.floor_divide(words, words_per_category, out=words)
            published[rows] = _choose(is_kept, kept, words.astype(codes.dtype))
        return published

    def _fill(self, destination: _Words) -> None:
        """Put the next words of the keystream into an array; the only place that takes bits."""
        if destination.size > self._words_left:
            raise ParameterError(
                f"the stream has {self._words_left} words left and {destination.size} were asked "
                f"for; a stream gives {WORDS_PER_STREAM}. Take another stream number.",
                parameter="count",
            )
        self._words_left -= destination.size
        for start in range(0, destination.size, WORDS_PER_BLOCK):
            part = destination[start : start + WORDS_PER_BLOCK].data.cast("B")
            self._keystream.update_into(memoryview(_ZEROS)[: part.nbytes], part)

    def _blocks(self, count: int) -> Iterator[tuple[slice, _Words]]:
        """Yield the rows of each block with a word for each; the words are overwritten next."""
        if self._block.size < min(count, WORDS_PER_BLOCK):
            self._block = np.empty(min(count, WORDS_PER_BLOCK), np.uint64)
        for start in range(0, count, WORDS_PER_BLOCK):
            rows = slice(start, min(start + WORDS_PER_BLOCK, count))
            words = self._block[: rows.stop - start]
            self._fill(words)
            yield rows, words

    def _columns_and_remainders(self, words: _Words, size: int) -> tuple[_Words, _Words]:
        """Divide each word by ``2**64 // size``, drawing those again that give no column."""
        words_per_column = np.uint64(NUMBER_OF_WORDS // size)
        columns = words // words_per_column
        while columns.max() >= size:
            refused = np.flatnonzero(columns >= size)
            words[refused] = self.words(refused.size)
            columns[refused] = words[refused] // words_per_column
        return columns, words - columns * words_per_column


def secret_bytes(count: int) -> bytes:
    """Bytes from the operating system, for keys that are kept."""
    return os.urandom(count)


def _choose(is_first: Booleans, first: npt.NDArray[_Item], second: npt.NDArray[_Item]) -> npt.NDArray[_Item]:
    """Give ``np.where`` of two arrays of one type without a branch: twenty times faster."""
    chosen: npt.NDArray[_Item] = np.bitwise_xor(first, second)
    chosen &= np.negative(is_first.astype(first.dtype))
    chosen ^= second
    return chosen


def _refuse_shape(array: npt.NDArray[Any], name: str) -> None:
    """Refuse what is not one-dimensional integers."""
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ParameterError(
            f"{name} must be a one-dimensional array of integers, got {array.ndim} dimensions of "
            f"type {array.dtype}. Convert it first.",
            parameter=name,
        )


def _refuse_outside(values: _Codes, lowest: int, end: int, name: str) -> None:
    """Refuse integers outside ``lowest..end-1``, telling how many and never which."""
    if values.size and (values.max() >= end or values.min() < lowest):
        number_of_rows = np.count_nonzero((values >= end) | (values < lowest))
        raise ParameterError(
            f"{name}: {number_of_rows} of {values.size} values are outside {lowest}..{end - 1}. "
            "Encode them against the schema that the parameters were made for.",
            parameter=name,
        )
