"""Sample uniques: rows that no other row equals on unperturbed attributes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Self, cast

import numpy as np
import numpy.typing as npt

from sfumato.arrays import MixedRadix, sorted_scattered
from sfumato.data.chunks import CodedBatch
from sfumato.schema import Attribute, Role
from sfumato.text import counted, show_share

# --------------------------------------------------------------------------------------------------
# Combinations that one row alone has, counted while rows pass by: each by itself, or a sample of them by
# their keys.


Keys = npt.NDArray[np.uint64]
"""Numbers that stand for combinations, spread evenly over 64 bits."""


class CellCounter:
    """Combinations of few attributes, each counted."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self._radix = MixedRadix(sizes)
        self.cells = int(np.prod(sizes, dtype=np.int64))
        self._seen = np.zeros(self.cells, dtype=np.uint8)

    def add(self, codes: Sequence[npt.NDArray[Any]]) -> None:
        """Count rows, given by their codes of each attribute."""
        found = np.bincount(self._radix.encode(codes), minlength=self.cells)
        # Two is as good as many.
        self._seen = np.minimum(self._seen + found, 2).astype(np.uint8)

    def merge(self, other: Self) -> None:
        """Take over what another counter has seen of other rows."""
        self._seen = np.minimum(self._seen + other._seen, 2)

    def unique(self) -> int:
        """Combinations that one row has."""
        return int(np.count_nonzero(self._seen == 1))


class _Familiar:
    """Keys that were met twice and have nothing more to say: where rows are repeated, most of those that come.

    Each is remembered in a slot of its own first bits. Of several with one slot one is, and the others are not known
    here: whoever sorts what is left finds them.

    Parameters
    ----------
    keys
        What was met twice.
    halvings
        How many first bits of all keys are zero.
    """

    def __init__(self, keys: Keys, halvings: int) -> None:
        bits = keys.size.bit_length() + 1
        self._down, self._up = np.uint64(64 - bits), np.uint64(halvings)
        # An empty slot has a key that belongs into another one.
        self._slots = np.zeros(1 << bits, np.uint64)
        self._slots[0] = np.iinfo(np.uint64).max
        self._slots[self._slot(keys)] = keys

    def _slot(self, keys: Keys) -> Keys:
        return (keys << self._up) >> self._down

    def others_of(self, keys: Keys) -> Keys:
        """The keys that are not remembered."""
        return keys[np.not_equal(self._slots.take(self._slot(keys)), keys)]


class KeyCounter:
    """Combinations by their keys. When there are too many, those whose keys are large are let go: a fair sample remains."""

    def __init__(self, most: int, cells: float = float("inf"), *, left: int | None = None) -> None:
        self.most = most
        self.cells = cells
        # Keys that are left at most once there were too many.
        self._left = most if left is None else min(left, most)
        self._halvings = 0
        self._once = np.empty(0, np.uint64)
        self._again = np.empty(0, np.uint64)
        self._waiting: list[Keys] = []
        self._familiar = _Familiar(self._again, 0)

    def __getstate__(self) -> dict[str, Any]:
        """What travels is what was counted, and not what it is looked up by."""
        self._settle()
        return {name: value for name, value in self.__dict__.items() if name != "_familiar"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._familiar = _Familiar(self._again, self._halvings)

    @property
    def is_sample(self) -> bool:
        """Whether combinations were let go."""
        return self._halvings > 0

    def add(self, keys: Keys) -> None:
        """Count rows, given by their keys."""
        keys = self._sampled(keys)
        self._waiting.append(self._familiar.others_of(keys))
        if sum(each.size for each in self._waiting) >= self.most:
            self._settle()

    def merge(self, other: Self) -> None:
        """Take over what another counter has seen of other rows."""
        other._settle()
        # Both are the keys below a bound; what one has let go the other must let go too.
        self._halvings = max(self._halvings, other._halvings)
        again = self._sampled(other._again)
        self._waiting = [*map(self._sampled, self._waiting), self._sampled(other._once), again, again]
        self._once, self._again = self._sampled(self._once), self._sampled(self._again)
        self._settle()

    def _settle(self) -> None:
        """Sorted, equal keys are neighbours; a key that was met before is there twice by itself."""
        if not self._waiting:
            return
        keys = sorted_scattered(np.concatenate([*self._waiting, self._once, self._again, self._again]))
        self._waiting = []
        differs = np.ones(keys.size + 1, np.bool_)
        np.not_equal(keys[1:], keys[:-1], out=differs[1:-1])
        first, last = differs[:-1], differs[1:]
        self._once, self._again = keys[first & last], keys[first & ~last]
        if self._once.size + self._again.size > self.most:
            while self._once.size + self._again.size > self._left:
                self._halvings += 1
                self._once, self._again = self._sampled(self._once), self._sampled(self._again)
        self._familiar = _Familiar(self._again, self._halvings)

    def _sampled(self, keys: Keys) -> Keys:
        return keys[keys < np.uint64(1 << (64 - self._halvings))] if self._halvings else keys

    def unique(self) -> int:
        """Combinations that one row has; by the share that was kept where some were let go."""
        self._settle()
        return int(self._once.size) << self._halvings


# --------------------------------------------------------------------------------------------------
# Rows that nobody else equals on what is published as it is: the gate that a release goes through.
#
# Whoever knows three things about a person finds a row that is unique on them, and reads off everything else
# that stands
# in it as it is. How many rows are unique is counted while rows pass by, without another pass over them and
# in memory
# that does not grow with them.


KNOWN_ATTRIBUTES = 3
"""Attributes that somebody is taken to know of a person; fewer where only so many leave something to reveal."""

TELLING_ATTRIBUTES = 10
"""Attributes, those with the most categories, whose triples are looked at: 120 of them."""

TELLING_SHARE = 0.05
"""Share of rows unique on a triple from which a release is refused until somebody accepts it."""

MOST_CELLS = 2**17
"""Combinations that are counted one by one; more are counted by a sample of them."""

MOST_KEYS_OF_SETS = 2**16
"""Combinations of a triple that are kept. A share of 5 % is then known to about a fortieth of itself."""

MOST_KEYS = 2**19
"""Combinations of all attributes that are kept: so many different rows are counted exactly."""

FEWEST_SAMPLED = 2**17
"""Combinations of all attributes that are left of more than that. A smaller sample is sorted anew more seldom, and
knows a share well enough to be told: of so many combinations, half of them unique, to one in two hundred and fifty."""

MOST_BUNDLED = 2**16 - 1
"""Combinations of attributes whose keys are looked up at once: their number, too, fits two bytes."""


@dataclass(frozen=True)
class UniqueRows:
    """How many rows are unique on attributes that stand in them as they are.

    Parameters
    ----------
    attributes
        Those attributes.
    number_of_rows
        In all.
    unique
        Rows that no other row equals on all of the attributes.
    is_estimated
        There were too many combinations to keep them all; the number is good to about one in two hundred.
    found_by
        The few attributes, of those looked at, on which the most rows are unique; empty unless those are a telling
        share of all and leave something to reveal.
    found
        Rows unique on these few.
    revealed
        What a row that was found by them tells besides: attributes as they are that are no quasi-identifiers.
    """

    attributes: tuple[str, ...]
    number_of_rows: int
    unique: int
    is_estimated: bool = False
    found_by: tuple[str, ...] = ()
    found: int = 0
    revealed: tuple[str, ...] = ()

    @property
    def share(self) -> float:
        """Of all rows; 0 where there are none."""
        return self.unique / max(self.number_of_rows, 1)

    @property
    def reveals(self) -> bool:
        """A telling share of the rows can be found by a few attributes, and tells more than these."""
        return bool(self.found_by)

    def sentence(self, *, condition: str = "that are published as they are") -> str:
        """All of it for a reader.

        Examples
        --------
        >>> UniqueRows(("age", "job"), 1_000, 20).sentence()
        '20 of 1,000 rows (2.0 %) are unique on the 2 attributes that are published as they are.'
        """
        which = (
            f"the attribute {condition.replace('that are', 'that is').replace('they are', 'it is')}"
            if len(self.attributes) == 1
            else f"the {len(self.attributes):,} attributes {condition}"
        )
        about = "about " if self.is_estimated else ""
        verb = "is" if self.unique == 1 else "are"
        said = f"{about}{self.unique:,} of {counted(self.number_of_rows, 'row')} ({show_share(self.share)}) {verb} unique on {which}"
        if not self.reveals:
            return f"{said}."
        share = show_share(self.found / self.number_of_rows)
        return f"{said}, and {share} of all rows already on {_listed(self.found_by)} alone."

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "attributes": list(self.attributes),
            "number_of_rows": self.number_of_rows,
            "unique_rows": self.unique,
            "is_estimated": self.is_estimated,
            "found_by": list(self.found_by),
            "found_rows": self.found,
            "revealed": list(self.revealed),
        }


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


class UniqueRowCounter:
    """Counts unique rows while they pass by.

    Parameters
    ----------
    attributes
        Those that stand in the rows as they are.

    Examples
    --------
    >>> jobs = Attribute(name="job", role=Role.OTHER, categories=("a", "b", "c"))
    >>> counter = UniqueRowCounter([jobs])
    >>> counter.add(CodedBatch({"job": np.array([0, 0, 2], np.uint8)}, 3))
    >>> counter.result().unique
    1
    """

    def __init__(self, attributes: Sequence[Attribute]) -> None:
        self.attributes = tuple(attributes)
        self.number_of_rows = 0
        self._scattered = {
            each.name: _scatter(each.size, place) for place, each in enumerate(self.attributes)
        }
        self._bundles = _bundles(self.attributes, self._scattered)
        self._whole = KeyCounter(MOST_KEYS, left=2 * FEWEST_SAMPLED)
        self._revealed = {each: _beyond(each, self.attributes) for each in telling_sets(self.attributes)}
        by_name = {each.name: each for each in self.attributes}
        self._sets = {names: _counter([by_name[name] for name in names]) for names in self._revealed}

    def add(self, batch: CodedBatch) -> None:
        """Count the rows of a batch, which has the codes of the attributes."""
        self.number_of_rows += batch.number_of_rows
        codes = {each.name: batch.codes[each.name] for each in self.attributes}
        self._whole.add(_sum_of((each.keys(codes) for each in self._bundles), batch.number_of_rows))
        # No more rows can be unique than there are combinations.
        least = TELLING_SHARE * self.number_of_rows
        self._sets = {names: each for names, each in self._sets.items() if each.cells >= least}
        for names, each in self._sets.items():
            if isinstance(each, CellCounter):
                each.add([codes[name] for name in names])
            else:
                keys = (self._scattered[name].take(codes[name]) for name in names)
                each.add(_sum_of(keys, batch.number_of_rows))

    def merge(self, other: UniqueRowCounter) -> None:
        """Take over what another counter of the same attributes has seen, of other rows."""
        self.number_of_rows += other.number_of_rows
        self._whole.merge(other._whole)
        # A set that either has let go has too few combinations for all rows together as well.
        self._sets = {names: each for names, each in self._sets.items() if names in other._sets}
        for names, each in self._sets.items():
            # The same attributes have counters of the same kind.
            each.merge(cast("Any", other._sets[names]))

    def result(self) -> UniqueRows:
        """What was counted so far."""
        names = tuple(each.name for each in self.attributes)
        found = {each: counter.unique() for each, counter in self._sets.items()}
        worst = max(found, key=lambda each: found[each], default=())
        telling = bool(worst) and found[worst] >= max(TELLING_SHARE * self.number_of_rows, 1)
        return UniqueRows(
            names,
            self.number_of_rows,
            min(self._whole.unique(), self.number_of_rows),
            is_estimated=self._whole.is_sample,
            found_by=worst if telling else (),
            found=min(found[worst], self.number_of_rows) if telling else 0,
            revealed=self._revealed[worst] if telling else (),
        )


def telling_sets(attributes: Sequence[Attribute]) -> tuple[tuple[str, ...], ...]:
    """The triples that are looked at: all of the ten attributes with the most categories that leave something to reveal.

    Examples
    --------
    >>> def named(name, size, role):
    ...     return Attribute(name=name, role=role, categories=tuple(map(str, range(size))))
    >>> known = [named(name, 9, Role.QUASI_IDENTIFIER) for name in "abcd"]
    >>> telling_sets(known)
    ()
    >>> len(telling_sets([*known, named("e", 2, Role.OTHER)]))
    4
    """
    most = sorted(attributes, key=lambda each: -each.size)[:TELLING_ATTRIBUTES]
    known = min(KNOWN_ATTRIBUTES, len(attributes) - 1)
    if known < 1:
        return ()
    order = {each.name: place for place, each in enumerate(attributes)}
    chosen = sorted((each.name for each in most), key=order.__getitem__)
    return tuple(names for names in combinations(chosen, known) if _beyond(names, attributes))


def _beyond(names: Iterable[str], attributes: Sequence[Attribute]) -> tuple[str, ...]:
    """What a row tells besides these names: quasi-identifiers are what an attacker is taken to know."""
    known = set(names)
    return tuple(
        each.name for each in attributes if each.name not in known and each.role is not Role.QUASI_IDENTIFIER
    )


def _scatter(size: int, place: int) -> Keys:
    """A number for each code of an attribute, such that sums of them over attributes hardly ever meet (splitmix64)."""
    number = np.arange(size, dtype=np.uint64) + (np.uint64(place + 1) << np.uint64(40))
    number *= np.uint64(0x9E3779B97F4A7C15)
    number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return number ^ (number >> np.uint64(31))


@dataclass(frozen=True, eq=False)
class _Bundle:
    """Attributes whose keys are looked up together, since together they have few combinations.

    Parameters
    ----------
    attributes
        Some.
    sums
        The sum of their keys, for each combination of codes.
    """

    attributes: tuple[Attribute, ...]
    sums: Keys

    def keys(self, codes: Mapping[str, npt.NDArray[Any]]) -> Keys:
        """The sum of the keys of each row, ``(rows,)``."""
        first, *others = self.attributes
        if not others:
            return self.sums.take(codes[first.name])
        place = codes[first.name].astype(np.uint16)
        for each in others:
            place *= np.uint16(each.size)
            place += codes[each.name].astype(np.uint16, copy=False)
        return self.sums.take(place)


def _bundles(attributes: Iterable[Attribute], scattered: Mapping[str, Keys]) -> tuple[_Bundle, ...]:
    """All attributes, those with few categories together."""
    bundles: list[_Bundle] = []
    for each in sorted(attributes, key=lambda each: each.size):
        own = scattered[each.name]
        if bundles and bundles[-1].sums.size * each.size <= MOST_BUNDLED:
            last = bundles.pop()
            sums = (last.sums[:, None] + own[None, :]).reshape(-1)
            bundles.append(_Bundle((*last.attributes, each), sums))
        else:
            bundles.append(_Bundle((each,), own))
    return tuple(bundles)


def _sum_of(keys: Iterable[Keys], rows: int) -> Keys:
    total = np.zeros(rows, dtype=np.uint64)
    for each in keys:
        total += each
    return total


def _counter(attributes: Sequence[Attribute]) -> CellCounter | KeyCounter:
    sizes = [each.size for each in attributes]
    cells = float(np.prod(sizes, dtype=np.float64))
    return CellCounter(sizes) if cells <= MOST_CELLS else KeyCounter(MOST_KEYS_OF_SETS, cells)
