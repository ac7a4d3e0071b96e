"""Similarity and clustering of items or attributes into columns; fragments of rows and units."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sfumato.arrays import Booleans, Codes, Counts, Integers, MixedRadix, Words
from sfumato.data.long_format import SparseUnits, rank_within
from sfumato.errors import MissingExtraError, ParameterError, TooLargeError
from sfumato.randomness.noise import DiscreteLaplace, scale_at_least
from sfumato.randomness.streams import NoiseSource
from sfumato.schema import Attribute

# --------------------------------------------------------------------------------------------------
# How alike two items, or two attributes, are: the measures that columns are made from.


ItemSimilarity = Literal["agreement", "agreement-over-product", "cosine", "phi-squared"]
"""Agreeing units over units that have either item (Li and Li, section 7.2); over the product of the supports
(section 6.1); over its root; mean square contingency of having the two items."""

LARGEST_EXACT = 2**24
"""Whole numbers below this are exact in float32, and so is every count of pairs."""

UNITS_PER_BLOCK = 4096
ITEMS_PER_BLOCK = 1024
DENSE_COST = 12
"""How many multiplications of a dense product cost as much as one of a sparse product; measured."""


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Numbers of units over pairs of items, as float32 where they are whole numbers below 2**24.

    Parameters
    ----------
    agreeing
        ``(items, items)`` units that have both items with equal values.
    both
        ``(items, items)`` units that have both.
    supports
        ``(items,)`` units that have the item.
    units
        All of them.
    """

    agreeing: Counts
    both: Counts
    supports: Counts
    units: float

    def similarity(self, measure: ItemSimilarity) -> Counts:
        """``(items, items)``, between 0 and 1, with ones on the diagonal; 0 where nobody has an item.

        Examples
        --------
        >>> two = SparseUnits.from_triples(["a", "b"], [0, 0, 1], [0, 1, 0], [4, 4, 3], 2, 5)
        >>> count_pairs(two).similarity("agreement")[0, 1].item()
        0.5
        """
        size = self.supports.size
        result = np.empty((size, size), np.float32)
        for first in range(0, size, ITEMS_PER_BLOCK):
            rows = slice(first, first + ITEMS_PER_BLOCK)
            result[rows] = self._similarity_of(rows, measure)
        np.fill_diagonal(result, 1)
        return result

    def _similarity_of(self, rows: slice, measure: ItemSimilarity) -> Counts:
        """Some rows of the similarity, in double: with thousands of items the whole would not fit."""
        mine, yours = self.supports[rows, None], self.supports[None, :]
        both = self.both[rows].astype(np.float64) if self.both.size else np.zeros(0)
        if measure == "phi-squared":
            # phi^2 = (n n_ij - n_i n_j)^2 / (n_i n_j (n - n_i) (n - n_j)).
            top = (self.units * both - mine * yours) ** 2
            bottom = mine * yours * (self.units - mine) * (self.units - yours)
        else:
            top = self.agreeing[rows].astype(np.float64)
            product = mine * yours
            bottoms = {"agreement-over-product": product, "cosine": np.sqrt(product)}
            bottom = bottoms[measure] if measure in bottoms else mine + yours - both
        shares = np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)
        # Noise can push a share beyond what counts could give.
        return np.asarray(np.clip(shares, 0, 1))


def count_pairs(units: SparseUnits, *, with_agreement: bool = True) -> PairCounts:
    """Pair counts of all items; sparse or dense products, whichever is cheaper.

    Dense blocks win where units have more than about a tenth of all items; memory is a few matrices of
    items by items and one block of units.
    """
    if units.number_of_units >= LARGEST_EXACT:
        raise TooLargeError(
            f"pairs of items are counted exactly for fewer than {LARGEST_EXACT:,} units, and there are more. "
            "Give column_sets, learned from a part of the units that is not published."
        )
    size = units.number_of_items
    is_alike = units.number_of_values == 1
    both = np.zeros((size, size), np.float32)
    agreeing = np.zeros((size, size), np.float32) if with_agreement and not is_alike else both
    lengths = np.diff(units.starts).astype(np.float64)
    is_dense = float((lengths**2).sum()) * DENSE_COST > units.number_of_units * float(size) ** 2
    add = _add_dense if is_dense else _add_sparse
    for part in _blocks(units):
        add(both, part)
        if agreeing is not both:
            for value in range(units.number_of_values):
                add(agreeing, part.keep(part.values == value))
    return PairCounts(agreeing, both, units.supports().astype(np.float64), float(units.number_of_units))


def _blocks(units: SparseUnits) -> Iterator[SparseUnits]:
    for first in range(0, units.number_of_units, UNITS_PER_BLOCK):
        starts = units.starts[first : first + UNITS_PER_BLOCK + 1]
        inside = slice(int(starts[0]), int(starts[-1]))
        yield SparseUnits(
            (),
            starts - starts[0],
            units.items[inside],
            units.values[inside],
            units.number_of_items,
            units.number_of_values,
        )


def _add_dense(total: Counts, part: SparseUnits) -> None:
    """Add ``X'X`` for the incidence matrix of a block; the symmetric product does half the work."""
    from scipy.linalg.blas import ssyrk

    incidence = np.zeros((part.number_of_items, part.number_of_units), np.float32, order="F")
    incidence[part.items, part.units()] = 1
    product = ssyrk(1.0, incidence, lower=0)
    total += product
    total += np.tril(product.T, -1)


def _add_sparse(total: Counts, part: SparseUnits) -> None:
    from scipy.sparse import csr_array

    ones = np.ones(part.items.size, np.float32)
    shape = (part.number_of_units, part.number_of_items)
    incidence = csr_array((ones, part.items.astype(np.int32), part.starts), shape=shape)
    product = (incidence.T @ incidence).tocoo()
    # Coordinates of a product are unique, so plain indexing adds every entry.
    total[product.row, product.col] += product.data


def pair_sensitivity(items_of_unit: int, measure: ItemSimilarity) -> int:
    """How much a unit with at most so many items changes the statistics that a measure needs, in L1.

    Every pair of its items is in one cell of each matrix used, every item in one support; phi-squared also
    needs the number of units.

    Examples
    --------
    >>> pair_sensitivity(10, "agreement"), pair_sensitivity(10, "cosine"), pair_sensitivity(10, "phi-squared")
    (100, 55, 56)
    """
    pairs = math.comb(items_of_unit, 2)
    matrices = 2 if measure == "agreement" else 1
    return matrices * pairs + items_of_unit + (measure == "phi-squared")


def noisy_pairs(
    units: SparseUnits, measure: ItemSimilarity, epsilon: float, items_of_unit: int, noise: NoiseSource
) -> PairCounts:
    """Pair counts with discrete Laplace noise: epsilon-private for one unit more or less.

    Units are first cut to ``items_of_unit`` random items, so that one of them changes only so much.
    """
    from fractions import Fraction

    cut = units.at_most(items_of_unit, noise.named("items of units").stream(0))
    exact = count_pairs(cut, with_agreement=measure != "phi-squared")
    law = DiscreteLaplace(
        scale=scale_at_least(Fraction(pair_sensitivity(items_of_unit, measure)) / Fraction(epsilon))
    )
    size = units.number_of_items

    def added(counts: Counts, purpose: str) -> Counts:
        # In place and row by row above the diagonal: a second matrix would not fit beside thousands of items.
        bits = noise.named(purpose)
        for row in range(size - 1):
            noisy = counts[row, row + 1 :].astype(np.int64) + law.draw(bits.stream(row), size - row - 1)
            counts[row, row + 1 :] = noisy
            counts[row + 1 :, row] = noisy
        return counts

    supports = exact.supports + law.draw(noise.named("supports").stream(0), size)
    needs_agreement, needs_both = measure != "phi-squared", measure in ("agreement", "phi-squared")
    # Where all values are equal the two matrices are one, and each gets noise of its own.
    agreeing = exact.agreeing.copy() if exact.agreeing is exact.both else exact.agreeing
    total = exact.units + int(law.draw(noise.named("units").stream(0), 1)[0])
    return PairCounts(
        added(agreeing, "agreeing") if needs_agreement else np.zeros(0),
        added(exact.both, "both") if needs_both else np.zeros(0),
        np.maximum(supports, 1),
        max(float(total), float(supports.max()) + 1),
    )


def phi_squared(table: npt.ArrayLike) -> float:
    """Mean square contingency of a two-way table, divided by its largest possible value.

    ``1 / (min(rows, columns) - 1) * sum (f_ij - f_i f_j)^2 / (f_i f_j)`` over shares; 0 for independent
    attributes, 1 where one determines the other.

    Examples
    --------
    >>> phi_squared([[3, 1], [1, 3]])
    0.25
    """
    counts = np.asarray(table, np.float64)
    total = counts.sum()
    smallest = min(counts.shape) - 1
    if total <= 0 or smallest < 1:
        return 0.0
    shares = counts / total
    independent = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    parts = np.divide(
        (shares - independent) ** 2, independent, out=np.zeros_like(shares), where=independent > 0
    )
    return float(min(parts.sum() / smallest, 1.0))


# --------------------------------------------------------------------------------------------------
# Columns by partitioning around medoids.


Groups = tuple[tuple[int, ...], ...]
"""Attributes of each column, by number."""


def require_clustering(numbers: Sequence[int], size: int) -> None:
    """Refuse, before anything is counted, what would need the clustering library when it is not there.

    Raises
    ------
    MissingExtraError
        Unless every number of columns is 1 or that of the attributes, which needs no clustering.
    """
    if all(number in (1, size) for number in numbers):
        return
    try:
        import kmedoids  # noqa: F401
    except ImportError:
        feature = "choosing columns by clustering (column_sets names them without)"
        raise MissingExtraError(feature, extra="learning") from None


def columns_by_medoids(similarity: npt.NDArray[Any], number: int, *, spread_loose: bool = True) -> Groups:
    """Cut attributes into a number of columns: each goes to the medoid it is most alike.

    Partitioning around medoids of the distances ``1 - similarity``, from the deterministic BUILD start;
    ties go to the first medoid.

    Parameters
    ----------
    similarity
        ``(attributes, attributes)``, between 0 and 1.
    number
        Of columns, from 1 to the number of attributes.
    spread_loose
        Attributes that are like no medoid at all go round the columns in turn. Otherwise ties put them all
        into the first column, which becomes too wide to be published.

    Returns
    -------
    tuple of tuple of int
        Columns in the order of their first attribute; none is empty.

    Examples
    --------
    >>> alike = np.array([[1, 0.6, 0, 0], [0.6, 1, 0, 0], [0, 0, 1, 0.75], [0, 0, 0.75, 1]])
    >>> columns_by_medoids(alike, 2)
    ((0, 1), (2, 3))
    """
    size = len(similarity)
    if not 1 <= number <= size:
        raise ParameterError(
            f"columns must be from 1 to the {size} attributes there are, got {number}. Ask for fewer.",
            parameter="columns",
        )
    if number in (1, size):
        return (tuple(range(size)),) if number == 1 else tuple((each,) for each in range(size))
    distances = 1 - np.asarray(similarity, np.float32)
    if not np.isfinite(distances).all():
        raise ParameterError("similarities must be numbers, and some are not. Count the pairs again.")
    import kmedoids

    # One processor: with several the sums, and so the ties, could come out differently.
    found = kmedoids.fasterpam(distances, number, init="build", n_cpu=1).medoids.astype(np.int64)
    medoids = _completed(found, number, size)
    to_medoids = distances[:, medoids]
    labels = to_medoids.argmin(axis=1)
    labels[medoids] = np.arange(number)
    if spread_loose:
        is_loose = np.asarray((to_medoids >= 1).all(axis=1))
        is_loose[medoids] = False
        labels[is_loose] = np.arange(np.count_nonzero(is_loose)) % number
    groups = (tuple(np.flatnonzero(labels == each).tolist()) for each in range(number))
    return tuple(sorted(groups))


def _completed(medoids: npt.NDArray[np.int64], number: int, size: int) -> npt.NDArray[np.int64]:
    """As many medoids as columns, in order.

    Where attributes are alike in everything, a further medoid lowers no cost, and fewer are found. Any other then costs as
    much: the first that are left join them.
    """
    found = np.unique(medoids)
    left = np.setdiff1d(np.arange(size), found)
    return np.sort(np.concatenate([found, left[: number - found.size]]))


def overlapping_columns(
    similarity: npt.NDArray[Any], numbers: Sequence[int], *, spread_loose: bool = True
) -> Groups:
    """The columns of one cut for each number, end to end; equal columns are kept and published again.

    Examples
    --------
    >>> overlapping_columns(np.eye(3), [1, 3])
    ((0, 1, 2), (0,), (1,), (2,))
    """
    return tuple(
        column
        for number in numbers
        for column in columns_by_medoids(similarity, number, spread_loose=spread_loose)
    )


# --------------------------------------------------------------------------------------------------
# Fragments: what a unit has in one column, and how many units have exactly the same.


@dataclass(frozen=True, eq=False)
class Fragments:
    """Fragments of all columns, sorted by column; units that have nothing in a column have none there.

    Parameters
    ----------
    column, unit
        ``(fragments,)``.
    starts, ends
        ``(fragments,)`` places in ``items`` and ``values``.
    items, values
        Codes of the entries, fragment by fragment.
    """

    column: Integers
    unit: Integers
    starts: Integers
    ends: Integers
    items: npt.NDArray[Any]
    values: npt.NDArray[Any]

    def __repr__(self) -> str:
        return "Fragments()"

    def keep(self, chosen: Booleans) -> Fragments:
        """Some of the fragments; entries stay where they are."""
        return Fragments(
            self.column[chosen],
            self.unit[chosen],
            self.starts[chosen],
            self.ends[chosen],
            self.items,
            self.values,
        )


@dataclass(frozen=True, eq=False)
class FragmentCounts:
    """Different fragments with the number of units that have each; private until noise is on the counts."""

    fragments: Fragments
    counts: Integers

    def __repr__(self) -> str:
        return "FragmentCounts()"


def cut_into_fragments(units: SparseUnits, columns: Sequence[Sequence[int]]) -> Fragments:
    """Cut every unit into its fragments; overlapping columns give an entry to several of them.

    Examples
    --------
    >>> units = SparseUnits.from_triples(["a", "b"], [0, 0, 1], [0, 2, 1], [4, 1, 3], 3, 5)
    >>> cut = cut_into_fragments(units, [(0, 1), (2,)])
    >>> cut.column.tolist(), cut.unit.tolist()
    ([0, 0, 1], [0, 1, 0])
    """
    of_entry = units.units()
    parts: list[tuple[Integers, Integers, Integers, npt.NDArray[Any], npt.NDArray[Any]]] = []
    for first, column_of_item in _cuts(columns, units.number_of_items):
        column = column_of_item[units.items]
        order = np.argsort(column, kind="stable")
        # Items outside every column of this cut sort last.
        order = order[: np.count_nonzero(column != np.iinfo(column.dtype).max)]
        column, unit = column[order].astype(np.int64), of_entry[order]
        is_start = np.ones(order.size, np.bool_)
        is_start[1:] = (column[1:] != column[:-1]) | (unit[1:] != unit[:-1])
        starts = np.flatnonzero(is_start)
        parts.append((column[starts] + first, unit[starts], starts, units.items[order], units.values[order]))
    return _end_to_end(parts)


def _cuts(columns: Sequence[Sequence[int]], items: int) -> list[tuple[int, npt.NDArray[Any]]]:
    """Runs of consecutive columns without a common item, each as first column and column of every item."""
    runs: list[tuple[int, Integers]] = []
    nowhere = -1
    for number, column in enumerate(columns):
        chosen = np.asarray(column, np.int64)
        if not runs or (runs[-1][1][chosen] != nowhere).any():
            runs.append((number, np.full(items, nowhere)))
        runs[-1][1][chosen] = number - runs[-1][0]
    result = []
    for first, of_item in runs:
        # Small unsigned numbers are sorted by counting; the largest stands for no column.
        kind = np.min_scalar_type(int(of_item.max()) + 1)
        result.append((first, np.where(of_item == nowhere, np.iinfo(kind).max, of_item).astype(kind)))
    return result


def _end_to_end(
    parts: Sequence[tuple[Integers, Integers, Integers, npt.NDArray[Any], npt.NDArray[Any]]],
) -> Fragments:
    offsets = np.cumsum([0, *(part[3].size for part in parts)])
    pairs = list(zip(parts, offsets[:-1].tolist(), strict=True))
    starts = np.concatenate([part[2] + offset for part, offset in pairs])
    return Fragments(
        np.concatenate([part[0] for part in parts]),
        np.concatenate([part[1] for part in parts]),
        starts,
        np.append(starts[1:], offsets[-1]),
        np.concatenate([part[3] for part in parts]),
        np.concatenate([part[4] for part in parts]),
    )


def truncate(fragments: Fragments, column_budget: int, words: Words) -> Fragments:
    """At most so many fragments of every unit: those with the smallest words.

    With secret uniform words the choice is uniform. That breaks the pointwise form of differential privacy
    and keeps the additive one; words that depend on the unit's public name alone keep both.

    Examples
    --------
    >>> units = SparseUnits.from_triples(["a"], [0, 0], [0, 1], [0, 0], 2, 1)
    >>> cut = cut_into_fragments(units, [(0,), (1,)])
    >>> truncate(cut, 1, np.array([7, 3], np.uint64)).column.tolist()
    [1]
    """
    return fragments.keep(rank_within(fragments.unit, words) < column_budget)


def keyed_words(fragments: Fragments, names: Sequence[str], key: str) -> Words:
    """A word for every fragment from a public key, the unit's name and the column, and nothing else.

    Examples
    --------
    >>> units = SparseUnits.from_triples(["a"], [0, 0], [0, 1], [0, 0], 2, 1)
    >>> cut = cut_into_fragments(units, [(0,), (1,)])
    >>> bool((keyed_words(cut, ["a"], "2024") == keyed_words(cut, ["a"], "2024")).all())
    True
    """
    secret = hashlib.sha256(key.encode()).digest()
    digests = (hashlib.blake2b(name.encode(), digest_size=8, key=secret).digest() for name in names)
    of_unit = np.frombuffer(b"".join(digests), np.uint64)
    # The finalizer of splitmix64: one word a unit becomes one a unit and column.
    mixed = of_unit[fragments.unit] + (fragments.column.astype(np.uint64) + np.uint64(1)) * np.uint64(
        0x9E3779B97F4A7C15
    )
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))


def count_fragments(fragments: Fragments, number_of_values: int, noise: NoiseSource) -> FragmentCounts:
    """Different fragments of every column with the number of units that have exactly that.

    Fragments are compared by two sums of secret random words, one word for each item and value: two
    different fragments agree with probability 2**-128.

    Examples
    --------
    >>> units = SparseUnits.from_triples(["a", "b"], [0, 1], [0, 0], [4, 4], 1, 5)
    >>> cut = cut_into_fragments(units, [(0,)])
    >>> count_fragments(cut, 5, NoiseSource.from_operating_system()).counts.tolist()
    [2]
    """
    if not fragments.column.size:
        return FragmentCounts(fragments, np.zeros(0, np.int64))
    pairs = MixedRadix([int(fragments.items.max()) + 1, number_of_values]).encode(
        [fragments.items, fragments.values]
    )
    places = np.stack([fragments.starts, fragments.ends], axis=1).ravel()
    sums = []
    for number in range(2):
        words = noise.named("fragments").stream(number).words(int(pairs.max()) + 1)
        # The last end is one past the array; a zero there makes it a place.
        entries = np.append(words[pairs], np.uint64(0))
        sums.append(np.add.reduceat(entries, places)[::2])
    order = np.lexsort((sums[1], sums[0], fragments.column))
    is_new = np.zeros(order.size, np.bool_)
    is_new[0] = True
    for each in (fragments.column, *sums):
        ordered = each[order]
        is_new[1:] |= ordered[1:] != ordered[:-1]
    firsts = np.flatnonzero(is_new)
    chosen = np.zeros(order.size, np.bool_)
    chosen[order[firsts]] = True
    counts = np.zeros(order.size, np.int64)
    counts[order[firsts]] = np.diff(np.append(firsts, order.size))
    return FragmentCounts(fragments.keep(chosen), counts[chosen])


# --------------------------------------------------------------------------------------------------
# Rows of an ordinary table cut into columns, and the different fragments counted.


DISTINCT_HELD = 2**20
"""Different fragments that pile up before they are merged."""


@dataclass(frozen=True)
class WideColumn:
    """One column of a table: its attributes.

    Examples
    --------
    >>> from sfumato.schema import Role
    >>> sex = Attribute(name="sex", role=Role.OTHER, categories=("F", "M"), missing="category")
    >>> WideColumn((sex,)).is_covered({"sex": np.array([0, 2])}).tolist()
    [True, False]
    """

    attributes: tuple[Attribute, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Of the attributes."""
        return tuple(each.name for each in self.attributes)

    def is_covered(self, codes: Mapping[str, Codes]) -> Booleans:
        """Which rows have a value in at least one attribute; the others have no fragment here.

        Counting fragments without any value would let one row change more columns than the budget
        of columns knows (theorem 7 fails).
        """
        length = len(codes[self.attributes[0].name])
        covered = np.zeros(length, np.bool_)
        for each in self.attributes:
            if each.missing_code is None:
                return np.ones(length, np.bool_)
            covered |= codes[each.name] != each.missing_code
        return covered


@dataclass(eq=False)
class FragmentTally:
    """Counts the different fragments of one column, batch by batch; memory grows with different ones only.

    Examples
    --------
    >>> tally = FragmentTally(2)
    >>> tally.add(np.array([[0, 1], [0, 1], [2, 0]]))
    >>> fragments, counts = tally.result()
    >>> fragments.tolist(), counts.tolist()
    ([[0, 1], [2, 0]], [2, 1])
    """

    width: int
    _fragments: list[Codes] = field(default_factory=list)
    _counts: list[Integers] = field(default_factory=list)

    def add(self, fragments: Codes, counts: Integers | None = None) -> None:
        """Add fragments ``(rows, width)``, each once or as often as said."""
        weights = np.ones(len(fragments), np.int64) if counts is None else counts
        distinct, sums = _merge(fragments, weights)
        self._fragments.append(distinct)
        self._counts.append(sums)
        if sum(map(len, self._counts)) > DISTINCT_HELD + len(self._counts[0]) and len(self._counts) > 1:
            merged = self.result()
            self._fragments, self._counts = [merged[0]], [merged[1]]

    def result(self) -> tuple[Codes, Integers]:
        """The different fragments in the order of their codes, and how often each was added."""
        if not self._fragments:
            return np.zeros((0, self.width), np.int64), np.zeros(0, np.int64)
        return _merge(np.concatenate(self._fragments), np.concatenate(self._counts))


def _merge(fragments: Codes, counts: Integers) -> tuple[Codes, Integers]:
    distinct, place = np.unique(fragments.astype(np.int64), axis=0, return_inverse=True)
    sums = np.zeros(len(distinct), np.int64)
    np.add.at(sums, place.ravel(), counts)
    return distinct, sums


def choose_columns(covered: Booleans, column_budget: int, words: Words) -> Booleans:
    """At most so many of the columns that each row covers: those with the smallest words.

    Parameters
    ----------
    covered
        ``(rows, columns)``.
    column_budget
        Columns that a row may have.
    words
        ``(rows, columns)``; with uniform words the choice is uniform.

    Examples
    --------
    >>> covered = np.array([[True, True], [True, False]])
    >>> choose_columns(covered, 1, np.array([[5, 3], [1, 2]], np.uint64)).tolist()
    [[False, True], [True, False]]
    """
    rows, columns = np.nonzero(covered)
    chosen = np.zeros(covered.shape, np.bool_)
    kept = rank_within(rows, words[rows, columns]) < column_budget
    chosen[rows[kept], columns[kept]] = True
    return chosen
