"""Sample uniques: persons whom no other person equals on unperturbed attributes, and holders of categories."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from sfumato.arrays import Integers, sorted_scattered
from sfumato.data.chunks import CodedBatch
from sfumato.schema import Attribute
from sfumato.schema.recoding import labels_within
from sfumato.text import counted, show_share

if TYPE_CHECKING:
    from sfumato.data.private_table import PrivateTable

# --------------------------------------------------------------------------------------------------
# Combinations that one row alone has, counted while rows pass by: each by itself, or a sample of them by
# their keys.


Keys = npt.NDArray[np.uint64]
"""Numbers that stand for combinations, spread evenly over 64 bits."""


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

    def __init__(self, most: int, *, left: int | None = None, halvings: int = 0) -> None:
        self.most = most
        # Keys that are left at most once there were too many.
        self._left = most if left is None else min(left, most)
        self._halvings = halvings
        self._once = np.empty(0, np.uint64)
        self._again = np.empty(0, np.uint64)
        self._waiting: list[Keys] = []
        self._familiar = _Familiar(self._again, halvings)

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

    def different(self) -> int:
        """Different combinations; by the share that was kept where some were let go."""
        self._settle()
        return int(self._once.size + self._again.size) << self._halvings


class OwnerCounter:
    """Combinations that the rows of one person alone have, and whose they are; a fair sample where there are too many."""

    def __init__(self, most: int, *, halvings: int = 0) -> None:
        self.most = most
        self._halvings = halvings
        self._once, self._owner, self._again = (np.empty(0, np.uint64) for _ in range(3))
        self._waiting: list[tuple[Keys, Keys]] = []

    @property
    def is_sample(self) -> bool:
        """Whether combinations were let go."""
        return self._halvings > 0

    def add(self, keys: Keys, owners: Keys) -> None:
        """Count rows, given by the keys of their combinations and of their persons."""
        self._waiting.append((keys, owners))
        if sum(each.size for each, _ in self._waiting) >= self.most:
            self._settle()

    def merge(self, other: Self) -> None:
        """Take over what another counter has seen of other rows."""
        other._settle()
        self._halvings = max(self._halvings, other._halvings)
        self._waiting += [(other._once, other._owner), *_twice(other._again)]
        self._settle()

    def _settle(self) -> None:
        parts = [*self._waiting, (self._once, self._owner), *_twice(self._again)]
        self._waiting = []
        keys, owners = (np.concatenate(each) for each in zip(*parts, strict=True))
        self._keep(keys, owners)
        while self._once.size + self._again.size > self.most:
            self._halvings += 1
            self._keep(
                *(
                    np.concatenate(each)
                    for each in zip((self._once, self._owner), *_twice(self._again), strict=True)
                )
            )

    def _keep(self, keys: Keys, owners: Keys) -> None:
        kept = (
            keys < np.uint64(1 << (64 - self._halvings)) if self._halvings else np.ones(keys.size, np.bool_)
        )
        keys, owners = keys[kept], owners[kept]
        order = np.lexsort((owners, keys))
        keys, owners = keys[order], owners[order]
        new = np.ones(keys.size, np.bool_)
        new[1:] = (keys[1:] != keys[:-1]) | (owners[1:] != owners[:-1])
        keys, owners = keys[new], owners[new]
        differs = np.ones(keys.size + 1, np.bool_)
        np.not_equal(keys[1:], keys[:-1], out=differs[1:-1])
        first, last = differs[:-1], differs[1:]
        self._once, self._owner, self._again = keys[first & last], owners[first & last], keys[first & ~last]

    def unique(self) -> int:
        """Persons with a combination that no other person has; an upper estimate where combinations were let go."""
        self._settle()
        return int(np.unique(self._owner).size) << self._halvings


def _twice(keys: Keys) -> tuple[tuple[Keys, Keys], ...]:
    """Keys of several persons, as two persons who have them."""
    return (keys, np.zeros_like(keys)), (keys, np.ones_like(keys))


# --------------------------------------------------------------------------------------------------
# Persons whom no other equals on some attributes, and holders of each category, from one pass over the rows.


MOST_KEYS = 2**19
"""Combinations that are kept: so many different ones are counted exactly."""

FEWEST_SAMPLED = 2**17
"""Combinations that are left of more than that. A smaller sample is sorted anew more seldom, and
knows a share well enough to be told: of so many combinations, half of them unique, to one in two hundred and fifty."""

MOST_KEYS_OF_SETS = 2**16
"""Combinations of each set where many sets are compared. A share of 5 % is then known to about a fortieth of itself."""

MOST_BUNDLED = 2**16 - 1
"""Combinations of attributes whose keys are looked up at once: their number, too, fits two bytes."""

FEW_HOLDERS = 10
"""Holders of a category up to which persons are counted one by one."""


@dataclass(frozen=True)
class SampleUniques:
    """How many persons no other person equals on some attributes: sample uniques.

    Parameters
    ----------
    attributes
        The attributes.
    persons
        Units where the schema declares one, else rows.
    unique
        Persons with a row whose combination no other person has.
    is_estimated
        There were too many combinations to keep them all.

    Examples
    --------
    >>> print(SampleUniques(("age", "job"), 1_000, 20).sentence)
    2.0 % of the persons are unique on 2 columns that were not changed
    """

    attributes: tuple[str, ...]
    persons: int
    unique: int
    is_estimated: bool = False

    @property
    def share(self) -> float:
        """Of all persons; 0 where there are none."""
        return self.unique / max(self.persons, 1)

    @property
    def sentence(self) -> str:
        """For a reader of the release, without the full stop."""
        return self.told("that were not changed")

    def told(self, condition: str) -> str:
        """The same, of columns of which something else is said."""
        number = len(self.attributes)
        which = (
            condition.replace("that were", "that was").replace("that are", "that is")
            if number == 1
            else condition
        )
        about = "about " if self.is_estimated else ""
        return f"{about}{show_share(self.share)} of the persons are unique on {counted(number, 'column')} {which}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "attributes": list(self.attributes),
            "persons": self.persons,
            "unique_persons": self.unique,
            "is_estimated": self.is_estimated,
        }


class UniquesCounter:
    """Counts sample uniques while rows pass by.

    Parameters
    ----------
    attributes
        Whose combinations are counted.
    of_units
        Rows come with the key of their person.
    most
        Combinations that are kept.
    halvings
        How often combinations are halved beforehand.

    Examples
    --------
    >>> from sfumato.schema import Role
    >>> jobs = Attribute(name="job", role=Role.OTHER, categories=("a", "b", "c"))
    >>> counter = UniquesCounter([jobs])
    >>> counter.add(CodedBatch({"job": np.array([0, 0, 2], np.uint8)}, 3))
    >>> counter.unique()
    1
    """

    def __init__(
        self,
        attributes: Sequence[Attribute],
        *,
        of_units: bool = False,
        most: int | None = None,
        halvings: int = 0,
    ) -> None:
        self.attributes = tuple(attributes)
        self._scattered = {
            each.name: _scatter(each.size, place) for place, each in enumerate(self.attributes)
        }
        self._bundles = _bundles(self.attributes, self._scattered)
        most = MOST_KEYS if most is None else most
        self._keys: Any = (
            OwnerCounter(most, halvings=halvings)
            if of_units
            else KeyCounter(most, left=2 * FEWEST_SAMPLED, halvings=halvings)
        )

    def add(self, batch: CodedBatch, owners: Keys | None = None) -> None:
        """Count the rows of a batch, which has the codes of the attributes."""
        keys = _sum_of((each.keys(batch.codes) for each in self._bundles), batch.number_of_rows)
        self._keys.add(keys) if owners is None else self._keys.add(keys, owners)

    def merge(self, other: Self) -> None:
        """Take over what another counter of the same attributes has seen, of other rows."""
        self._keys.merge(other._keys)

    def unique(self) -> int:
        """Persons so far whom no other equals."""
        return int(self._keys.unique())

    @property
    def is_estimated(self) -> bool:
        """Whether there were too many combinations to keep them all."""
        return bool(self._keys.is_sample)


class HolderCounter:
    """Persons who hold each category of an attribute; of categories that ten hold, rows."""

    def __init__(self, size: int) -> None:
        self.rows = np.zeros(size, np.int64)
        self._codes, self._owners = np.empty(0, np.int64), np.empty(0, np.uint64)
        self._full = np.zeros(size, np.bool_)

    def add(self, codes: npt.NDArray[Any], owners: Keys | None) -> None:
        """Count rows."""
        self.rows += np.bincount(codes, minlength=self.rows.size)
        if owners is not None:
            self._know(codes.astype(np.int64), owners)

    def merge(self, other: Self) -> None:
        """Take over what another counter has seen of other rows."""
        self.rows += other.rows
        self._full |= other._full
        self._know(other._codes, other._owners)

    def _know(self, codes: Integers, owners: Keys) -> None:
        codes, owners = np.concatenate([self._codes, codes]), np.concatenate([self._owners, owners])
        open_ = ~self._full[codes]
        codes, owners = codes[open_], owners[open_]
        order = np.lexsort((owners, codes))
        codes, owners = codes[order], owners[order]
        new = np.ones(codes.size, np.bool_)
        new[1:] = (codes[1:] != codes[:-1]) | (owners[1:] != owners[:-1])
        self._codes, self._owners = codes[new], owners[new]
        self._full |= np.bincount(self._codes, minlength=self.rows.size) >= FEW_HOLDERS

    def holders(self, *, of_units: bool) -> Integers:
        """Holders of each category, ``(size,)``."""
        if not of_units:
            return self.rows
        few = np.bincount(self._codes, minlength=self.rows.size)
        return np.where(self._full, np.maximum(self.rows, FEW_HOLDERS), few)


class PersonCounts:
    """What one pass over private rows tells: sample uniques on several sets of attributes, and holders of categories.

    Parameters
    ----------
    attributes
        All that are read, as published.
    sets
        Names of the attributes of each set.
    unit
        Column with a key for each row's person, if there is one.
    most
        Combinations that are kept of each set.
    halvings
        How often combinations are halved beforehand.
    """

    def __init__(
        self,
        attributes: Sequence[Attribute],
        sets: Sequence[Sequence[str]],
        unit: str | None,
        most: int | None = None,
        halvings: int = 0,
    ) -> None:
        self.attributes = {each.name: each for each in attributes}
        self.sets, self.unit, self.number_of_rows = tuple(map(tuple, sets)), unit, 0
        self._uniques = [
            UniquesCounter(
                [self.attributes[name] for name in each],
                of_units=unit is not None,
                most=most,
                halvings=halvings,
            )
            for each in self.sets
        ]
        self._holders = {name: HolderCounter(each.size) for name, each in self.attributes.items()}
        self._units = KeyCounter(MOST_KEYS, left=2 * FEWEST_SAMPLED, halvings=halvings)

    def add(self, batch: CodedBatch) -> None:
        """Count the rows of a batch."""
        self.number_of_rows += batch.number_of_rows
        owners = None if self.unit is None else _mixed(batch.codes[self.unit].astype(np.uint64))
        if owners is not None:
            self._units.add(owners)
        for name, each in self._holders.items():
            each.add(batch.codes[name], owners)
        for counter in self._uniques:
            counter.add(batch, owners)

    def merge(self, other: Self) -> None:
        """Take over what was counted of other rows."""
        self.number_of_rows += other.number_of_rows
        self._units.merge(other._units)
        for name, each in self._holders.items():
            each.merge(other._holders[name])
        for counter, added in zip(self._uniques, other._uniques, strict=True):
            counter.merge(added)

    @property
    def persons(self) -> int:
        """Units, or rows where none is declared."""
        return self.number_of_rows if self.unit is None else self._units.different()

    def uniques(self, place: int = 0) -> SampleUniques:
        """Sample uniques on a set."""
        counter, names = self._uniques[place], self.sets[place]
        unique = min(counter.unique(), self.persons) if names else 0
        return SampleUniques(names, self.persons, unique, counter.is_estimated)

    def rows(self, name: str) -> Integers:
        """Rows of each category of an attribute, ``(size,)``."""
        return self._holders[name].rows

    def holders(self, name: str) -> Integers:
        """Persons who hold each category of an attribute, ``(size,)``; of categories that ten or more hold, rows."""
        return self._holders[name].holders(of_units=self.unit is not None)


@dataclass(frozen=True, eq=False)
class CountPersons:
    """The same of a portion of the rows; private codes become published ones by a recoding."""

    attributes: tuple[Attribute, ...]
    sets: tuple[tuple[str, ...], ...]
    unit: str | None
    recoding: Mapping[str, npt.NDArray[Any]]
    most: int | None = None
    halvings: int = 0

    def __call__(self, batches: Iterator[CodedBatch], number: int) -> PersonCounts:
        """What is found in the portion."""
        del number
        found = PersonCounts(self.attributes, self.sets, self.unit, self.most, self.halvings)
        for batch in batches:
            codes = {
                name: self.recoding[name][each] if name in self.recoding else each
                for name, each in batch.codes.items()
            }
            found.add(CodedBatch(codes, batch.number_of_rows))
        return found


def count_persons(
    table: PrivateTable,
    sets: Sequence[Sequence[str]],
    *,
    names: Iterable[str] = (),
    published: Mapping[str, Attribute] | None = None,
    most: int | None = None,
) -> PersonCounts:
    """Count sample uniques on sets of attributes, and holders of categories, by one pass over private rows.

    Parameters
    ----------
    table
        The private rows.
    sets
        Names of the attributes of each set.
    names
        Further attributes whose holders are counted.
    published
        Coarser attributes that are published in place of private ones.
    most
        Combinations that are kept of each set.

    Examples
    --------
    >>> from sfumato.testing import sample_table
    >>> found = count_persons(sample_table(600), [("sex", "age")])
    >>> found.uniques().share, found.persons
    (0.0, 600)
    """
    read = tuple(dict.fromkeys([*(name for each in sets for name in each), *names]))
    private = {name: table.schema[name] for name in read}
    recoding = {
        name: found
        for name, each in (published or {}).items()
        if name in private and (found := recoded(private[name], each)) is not None
    }
    attributes = tuple((published or {})[name] if name in recoding else private[name] for name in read)
    unit = table.unit_column
    halvings = _halvings_of_splits(table)
    step = CountPersons(attributes, tuple(map(tuple, sets)), unit, recoding, most, halvings)
    total = PersonCounts(attributes, sets, unit, most, halvings)
    if read:
        # All columns are read, so that cells that do not fit are refused together.
        for each in table.map_portions(table.schema.publishable.names, step, with_units=unit is not None):
            total.merge(each)
    return total


def _halvings_of_splits(table: PrivateTable) -> int:
    """How often combinations are halved beforehand, so that counters of all splits together fit the memory of this process."""
    from sfumato.data.distributed.engine import SplitEngine

    rows = table.number_of_rows if isinstance(table.engine, SplitEngine) else 0
    return max((rows - 1) // MOST_KEYS, 0).bit_length()


def recoded(private: Attribute, published: Attribute) -> npt.NDArray[Any] | None:
    """The published code of every private one; None where they are the same, or not each within one published label."""
    if private.labels == published.labels:
        return None
    code_of = {label: code for code, label in enumerate(private.labels)}
    found = np.full(private.size, -1)
    for code, label in enumerate(published.labels):
        found[[code_of[each] for each in labels_within(label, code_of)]] = code
    return None if (found < 0).any() else found.astype(published.code_type)


def _scatter(size: int, place: int) -> Keys:
    """A number for each code of an attribute, such that sums of them over attributes hardly ever meet."""
    return _mixed(np.arange(size, dtype=np.uint64) + (np.uint64(place + 1) << np.uint64(40)))


def _mixed(number: Keys) -> Keys:
    """Numbers spread evenly over 64 bits (splitmix64)."""
    number = number * np.uint64(0x9E3779B97F4A7C15)
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
