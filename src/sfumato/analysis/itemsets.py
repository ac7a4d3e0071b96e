"""Items, bitsets of rows, and supports of itemsets with their errors."""

from __future__ import annotations

import functools
import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from sfumato.analysis.identified_sets import narrowed
from sfumato.arrays import Booleans, Floats, Integers
from sfumato.data.long_format import PRESENT
from sfumato.errors import ParameterError, QueryError
from sfumato.estimates.estimates import Certainty, Estimates, all_claim, known_bounds
from sfumato.query.selection import Predicate, Selection
from sfumato.query.text import write_condition
from sfumato.release.release import Release
from sfumato.schema import Schema

# --------------------------------------------------------------------------------------------------
# Which rows have which items, a bit for each, and how many rows have all items of a set.


Bits = npt.NDArray[np.uint64]
ItemSet = tuple[int, ...]
"""Places of items, increasing."""

BYTES_AT_ONCE = 2**24
"""Of the rows of several sets that are looked at together."""


@dataclass(frozen=True, eq=False)
class BitColumns:
    """Items as columns of bits, one for each row, in words of 64.

    Parameters
    ----------
    words
        ``(items, words)``; bits beyond the last row are 0.

    Examples
    --------
    >>> columns = BitColumns.of([np.array([True, True, False]), np.array([False, True, True])])
    >>> columns.count([(0,), (0, 1)])
    {(0,): 2, (0, 1): 1}
    """

    words: Bits

    @classmethod
    def of(cls, columns: Iterable[Booleans]) -> BitColumns:
        """From whether each row has each item, ``(rows,)`` for every item."""
        return cls(np.stack([_packed(each) for each in columns]))

    def count(self, sets: Iterable[ItemSet]) -> dict[ItemSet, int]:
        """Rows that have all items of each set; sets that begin alike should stand together."""
        counts: dict[ItemSet, int] = {}
        for beginning, endings in _by_beginning(sets):
            rows = np.bitwise_and.reduce(self.words[list(beginning)], axis=0) if beginning else None
            for part in self._parts(endings):
                together = self.words[part] if rows is None else self.words[part] & rows
                found = np.bitwise_count(together).sum(axis=1, dtype=np.int64)
                counts.update(
                    ((*beginning, last), int(number)) for last, number in zip(part, found, strict=True)
                )
        return counts

    def _parts(self, places: list[int]) -> Iterator[list[int]]:
        number = max(BYTES_AT_ONCE // max(8 * self.words.shape[1], 1), 1)
        return (places[start : start + number] for start in range(0, len(places), number))


def _packed(column: Booleans) -> Bits:
    packed = np.packbits(column)
    return np.pad(packed, (0, -packed.size % 8)).view(np.uint64)


def _by_beginning(sets: Iterable[ItemSet]) -> Iterator[tuple[ItemSet, list[int]]]:
    """What all items but the last are, with the last ones that go with it."""
    for beginning, group in itertools.groupby(sets, key=lambda each: each[:-1]):
        yield beginning, [each[-1] for each in group]


def subsets(chosen: ItemSet) -> Iterator[ItemSet]:
    """All sets within one, the empty one and itself included, in the order of binary numbers, the first item the highest bit.

    Examples
    --------
    >>> list(subsets((4, 7)))
    [(), (7,), (4,), (4, 7)]
    """
    for taken in itertools.product((False, True), repeat=len(chosen)):
        yield tuple(itertools.compress(chosen, taken))


def joined(frequent: Iterable[ItemSet], attribute_of: Integers) -> Iterator[ItemSet]:
    """Sets with one item more, of which all sets with one item less are frequent; no two items of one attribute.

    Examples
    --------
    >>> list(joined([(0, 1), (0, 2), (1, 2), (1, 3)], np.arange(4)))
    [(0, 1, 2)]
    """
    ordered = sorted(frequent)
    known = set(ordered)
    for beginning, endings in _by_beginning(ordered):
        for place, one in enumerate(endings):
            for other in endings[place + 1 :]:
                if attribute_of[one] == attribute_of[other]:
                    continue
                candidate = (*beginning, one, other)
                # The two that it was joined from are known.
                if all(candidate[:left] + candidate[left + 1 :] in known for left in range(len(beginning))):
                    yield candidate


# --------------------------------------------------------------------------------------------------
# What rules are made of: a category of an attribute is an item that a row has or lacks.


@dataclass(frozen=True)
class Item:
    """One category of one attribute.

    Parameters
    ----------
    attribute, code
        What a row must have.
    text
        How it is called: the name of an article of a basket, else the condition.
    """

    attribute: str
    code: int
    text: str

    @property
    def condition(self) -> tuple[str, tuple[int, ...]]:
        """As a condition of a selection."""
        return self.attribute, (self.code,)


def selection_of(items: Sequence[Item]) -> Selection:
    """The rows that have all of some items."""
    return Selection(tuple(each.condition for each in items))


def items_of(
    schema: Schema, *, are_present: bool, among: Sequence[str] | None = None, category: str | None = None
) -> tuple[Item, ...]:
    r"""The items that a schema has.

    Parameters
    ----------
    schema
        The attributes that can be asked about.
    are_present
        The first category of every attribute says that a unit lacks an item, and is none itself.
    among
        Attributes, all categories of which are items, or conditions on one attribute; all attributes when not given.
    category
        Only this category of every attribute is an item, such as ``"yes"``.

    Raises
    ------
    QueryError
        When a text is neither an attribute nor a condition on one.
    ParameterError
        When nothing is left.

    Examples
    --------
    >>> schema = Schema.from_toml('[attributes.job]\nrole = "sensitive"\ncategories = ["a", "b"]')
    >>> [each.text for each in items_of(schema, are_present=False)]
    ["job = 'a'", "job = 'b'"]
    """
    published = schema.publishable
    first = 1 if are_present else 0
    chosen: dict[tuple[str, int], None] = {}
    for text in published.names if among is None else among:
        chosen.update(dict.fromkeys(_named(text, published, first=first)))
    found = tuple(
        Item(name, code, _text(schema, name, code, are_present=are_present))
        for name, code in chosen
        if category is None or schema[name].labels[code] == category
    )
    if not found:
        raise ParameterError(
            "there are no items to make rules of"
            + ("" if category is None else f": no attribute has the category {category!r}")
            + ". Name attributes, or conditions such as \"bread = 'yes'\".",
            parameter="among" if category is None else "category",
        )
    return found


def _named(text: str, schema: Schema, *, first: int) -> list[tuple[str, int]]:
    if text in schema:
        return [(text, code) for code in range(first, schema[text].size)]
    if not any(mark in text for mark in "=<>'"):
        # The refusal names the nearest attribute.
        return [(schema[text].name, 0)]
    parts = Predicate.parse(text, schema).parts
    if len(parts) != 1 or len(parts[0].conditions) != 1:
        raise QueryError(
            f"items are categories of one attribute, got {text!r}. Name an attribute, or one condition."
        )
    ((name, codes),) = parts[0].conditions
    return [(name, code) for code in codes]


def _text(schema: Schema, name: str, code: int, *, are_present: bool) -> str:
    attribute = schema[name]
    if are_present and attribute.labels[1:] == (PRESENT,):
        return name
    return write_condition(attribute, (code,))


# --------------------------------------------------------------------------------------------------
# How many rows have all items of a set, with the error of saying so.


CELLS_FROM_SETS = np.array([[1.0, -1, -1, 1], [-1, 0, 1, 0], [-1, 1, 0, 0], [1, 0, 0, 0]])
"""Rows with neither, the second only, the first only and both, from those with both, the first, the second, and all."""


class Supports(ABC):
    """What answers for item sets.

    Parameters
    ----------
    items
        All that there are.
    """

    items: tuple[Item, ...]

    @property
    def attributes(self) -> Integers:
        """A number for the attribute of each item; a row has one category of each."""
        numbers = {
            name: place for place, name in enumerate(dict.fromkeys(each.attribute for each in self.items))
        }
        return np.array([numbers[each.attribute] for each in self.items])

    @abstractmethod
    def whole(self) -> Estimates:
        """Rows, or units, of which shares are taken: one number."""

    @abstractmethod
    def singles(self) -> Estimates:
        """Rows that have each item, about the table's own rows, ``(items,)``, with what is claimed of them and no covariance."""

    @abstractmethod
    def of(self, sets: Sequence[ItemSet]) -> Estimates:
        """The same of sets of one length; all sets within them were asked about before."""

    @abstractmethod
    def cells(self, both: ItemSet, first: ItemSet, second: ItemSet) -> Estimates:
        """Rows with neither of two sets, the second only, the first only and both, with covariance, about the table."""


class CountedSupports(Supports):
    """Supports from the estimated tables of a release, whatever its law.

    Parameters
    ----------
    release
        What is asked.
    items
        Categories of its attributes.
    """

    def __init__(self, release: Release, items: tuple[Item, ...]) -> None:
        self.release = release
        self.items = items

    def whole(self) -> Estimates:
        """As the law estimates it."""
        return self._whole

    @functools.cached_property
    def _whole(self) -> Estimates:
        return self.release.law.estimate_selections(self.release, [Selection(())])

    def singles(self) -> Estimates:
        """One table for each attribute."""
        return self.of([(place,) for place in range(len(self.items))])

    def of(self, sets: Sequence[ItemSet]) -> Estimates:
        """One table for each set of attributes, from which all sets over them are read."""
        values, variances, low, high = np.empty((4, len(sets)))
        certainty = all_claim(Certainty.ESTIMATED, len(sets))
        by_names: dict[tuple[str, ...], list[int]] = {}
        for place, chosen in enumerate(sets):
            by_names.setdefault(tuple(self.items[each].attribute for each in chosen), []).append(place)
        with self.release.counting(by_names):
            for names, places in by_names.items():
                table = self.release.counts(names).estimates
                shape = [each.size for each in self.release.schema.select(names)]
                codes = [[self.items[each].code for each in sets[place]] for place in places]
                cells = np.ravel_multi_index(tuple(np.array(codes).T), shape)
                values[places], variances[places] = table.values[cells], table.variances[cells]
                low[places], high[places] = (each[cells] for each in table.ends())
                certainty[places] = table.certainty[cells]
        return Estimates(values, variances, bounds=known_bounds(low, high), certainty=certainty)

    def cells(self, both: ItemSet, first: ItemSet, second: ItemSet) -> Estimates:
        """From the four selections and their covariance."""
        law = self.release.law
        asked = [
            selection_of([self.items[place] for place in chosen]) for chosen in (both, first, second, ())
        ]
        found = law.estimate_selections(self.release, asked).linear(CELLS_FROM_SETS)
        if not (found.certainty == Certainty.BOUNDED).any():
            return found
        # Bounds of sums and differences are wider than those of the cells themselves, which a law has too.
        having = [Predicate((each,)) for each in asked[1:3]]
        lacking = [each.others(self.release.schema) for each in having]
        pairs = itertools.product((lacking[0], having[0]), (lacking[1], having[1]))
        return narrowed(found, law.estimate_predicates(self.release, [one & other for one, other in pairs]))


@dataclass(frozen=True, eq=False)
class Distorted:
    """How an item was distorted: what a row counts toward it, without and with it as published.

    A row without the item counts ``without``, one with it ``without + step``, so that the expectation is whether
    it truly has the item.

    Parameters
    ----------
    without, step
        ``(items,)``; 0 and 1 where items are as they are.
    least
        ``(items, 2)``: the mean square of what a row counts that truly lacks the item, and that has it.
    """

    without: Floats
    step: Floats
    least: Floats

    @classmethod
    def exactly(cls, number: int) -> Distorted:
        """Items as they are."""
        return cls(np.zeros(number), np.ones(number), np.tile([0.0, 1.0], (number, 1)))

    @classmethod
    def by(cls, matrix: Floats, inverse: Floats, code: int) -> tuple[float, float, float, float]:
        """Those of one item: a code of an attribute, of which all other codes count alike."""
        weights = inverse[:, code]
        other = 0 if code else 1
        squares = matrix @ weights**2
        # A row that lacks the item has some other code; the least of their mean squares is a bound for all.
        lacking = float(np.delete(squares, code).min())
        return float(weights[other]), float(weights[code] - weights[other]), lacking, float(squares[code])


@dataclass(eq=False)
class BitSupports(Supports):
    """Supports from published rows that were distorted item by item, or from rows as they are.

    The product of what a row counts toward each item of a set is a sum over the sets within it, so that
    estimates, variances and covariances all follow from published counts of sets, each of which is counted once.

    Parameters
    ----------
    items
        All that there are.
    rows
        Number of rows.
    counts
        Published rows that have each item, ``(items,)``.
    distorted
        How.
    columns
        Gives the columns of some items.
    """

    items: tuple[Item, ...]
    rows: int
    counts: Integers
    distorted: Distorted
    columns: Callable[[Sequence[int]], BitColumns]
    counted: dict[ItemSet, int] = field(init=False)

    def __post_init__(self) -> None:
        self.counted = {(): self.rows}
        self._columns: BitColumns | None = None
        self._place_of: dict[int, int] = {}

    def whole(self) -> Estimates:
        """As published."""
        return Estimates(np.array([float(self.rows)]), np.zeros(1), certainty=all_claim(Certainty.EXACT, 1))

    def singles(self) -> Estimates:
        """From the counts of all items."""
        self.counted.update(((place,), int(number)) for place, number in enumerate(self.counts))
        return self._estimated(np.arange(len(self.items))[:, None], self._with_empty(self.counts[:, None]))

    def _with_empty(self, counts: Integers) -> Floats:
        return np.concatenate([np.full((len(counts), 1), self.rows), counts], axis=1).astype(np.float64)

    def of(self, sets: Sequence[ItemSet]) -> Estimates:
        """From one new count for each set, and those of the sets within it."""
        if not sets:
            return Estimates(np.zeros(0), np.zeros(0))
        if len(sets[0]) == 2:
            # Items that no pair holds are not looked at again.
            needed = sorted(set(itertools.chain.from_iterable(sets)))
            self._columns = self.columns(needed)
            self._place_of = {place: number for number, place in enumerate(needed)}
        assert self._columns is not None
        number_of = self._place_of
        found = self._columns.count(tuple(number_of[each] for each in chosen) for chosen in sets)
        self.counted.update(zip(sets, found.values(), strict=True))
        places = np.array(sets)
        if not self.distorted.without.any():
            # Rows as they are: nothing within the set matters.
            values = np.array(list(found.values()), dtype=np.float64)
            return self._claimed(places, values, np.zeros(len(sets)))
        within = np.array(
            [[self.counted[each] for each in subsets(chosen)] for chosen in sets], dtype=np.float64
        )
        return self._estimated(places, within)

    def _claimed(self, places: Integers, values: Floats, variances: Floats) -> Estimates:
        """Sets ``(n, k)`` of items that are all as they are have their true counts."""
        as_they_are = (self.distorted.without == 0) & (self.distorted.step == 1)
        claims = np.where(as_they_are[places].all(axis=1), Certainty.EXACT, Certainty.ESTIMATED)
        return Estimates(values, variances, certainty=claims.astype(np.int8))

    def _estimated(self, places: Integers, within: Floats) -> Estimates:
        """Estimates of sets ``(n, k)`` from counts of the sets within them, ``(n, 2^k)``."""
        without, step = self.distorted.without[places], self.distorted.step[places]
        values = _contracted(within, without, step)
        # The square of what a row counts: without^2, and (without + step)^2 with the item.
        squares = _contracted(within, without**2, 2 * without * step + step**2)
        lacking, having = self.distorted.least[places].transpose(2, 0, 1)
        # Whatever a row truly has, it adds at least this to the variance.
        least = np.minimum(np.minimum(lacking, having).prod(axis=1), having.prod(axis=1) - 1)
        variances = np.maximum(squares - values, self.rows * np.clip(least, 0, None))
        return self._claimed(places, values, variances)

    def cells(self, both: ItemSet, first: ItemSet, second: ItemSet) -> Estimates:
        """By the second moments of what rows count toward the four sets; what two sets share is in both of them."""
        sets = (both, first, second, ())
        within = np.array([[float(self.counted[each]) for each in subsets(both)]])
        factors = np.array([[place in chosen for place in both] for chosen in sets])
        values = np.array([self._moment(within, both, one) for one in factors])
        covariance = np.empty((4, 4))
        for row, column in itertools.combinations_with_replacement(range(4), 2):
            one, other = factors[row], factors[column]
            union = values[0] if (one | other).all() else self._moment(within, both, one | other)
            moment = self._moment(within, both, one.astype(int) + other) - union
            covariance[row, column] = covariance[column, row] = moment
        return Estimates.with_covariance(values, covariance).linear(CELLS_FROM_SETS)

    def _moment(self, within: Floats, both: ItemSet, powers: Integers) -> float:
        """Sum over rows of the product of what they count toward items, each to its power 0, 1 or 2."""
        without, step = self.distorted.without[list(both)], self.distorted.step[list(both)]
        start = np.where(powers == 0, 1.0, np.where(powers == 1, without, without**2))
        change = np.where(powers == 0, 0.0, np.where(powers == 1, step, 2 * without * step + step**2))
        return float(_contracted(within, start[None, :], change[None, :])[0])


def _contracted(within: Floats, start: Floats, change: Floats) -> Floats:
    """Sums over the sets within each set: a factor ``start`` for an item left out, ``change`` for one taken, ``(n,)``."""
    number, length = start.shape
    left = within.reshape(number, *([2] * length))
    for place in reversed(range(length)):
        shape = (number, *([1] * place))
        left = left[..., 0] * start[:, place].reshape(shape) + left[..., 1] * change[:, place].reshape(shape)
    return np.asarray(left)
