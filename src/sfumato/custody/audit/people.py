"""The people of a private table as an attacker knows them, with their true values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sfumato.arrays import Booleans, Floats, Integers
from sfumato.data.engine import CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.errors import DataError
from sfumato.laws.posterior import Targets, places_among
from sfumato.methods.splu_gen.law import DecoyRows
from sfumato.release import Release
from sfumato.schema import Attribute, Role, Schema
from sfumato.schema.recoding import labels_within
from sfumato.text import counted

LEAST_LINKABLE = 200
"""People that the most linkable are at least."""

SHARE_LINKABLE = 0.01
"""Share of all people that the most linkable are at least."""

MOST_TARGETS = 50_000
"""People attacked at most, drawn at random; the most linkable are taken besides."""


@dataclass(frozen=True, eq=False)
class People:
    """People by public values and true sensitive value, in the categories that a release is asked in.

    Parameters
    ----------
    public, sensitive
        The attributes.
    codes
        Each attribute's codes, ``(people,)``.
    """

    public: tuple[Attribute, ...]
    sensitive: Attribute
    codes: Mapping[str, Integers] = field(repr=False)

    @property
    def number(self) -> int:
        """How many there are."""
        return len(self.truth)

    @property
    def truth(self) -> Integers:
        """Everybody's true sensitive value."""
        return self.codes[self.sensitive.name]

    @property
    def rows(self) -> Integers:
        """Public codes, ``(people, attributes)``."""
        if not self.public:
            return np.zeros((self.number, 0), np.int64)
        return np.stack([self.codes[each.name] for each in self.public], axis=1)

    def take(self, chosen: Integers | Booleans) -> People:
        """Some of them."""
        return People(self.public, self.sensitive, {name: each[chosen] for name, each in self.codes.items()})

    def targets(self, *, are_members: bool) -> Targets:
        """As somebody who wants to know their sensitive values sees them."""
        return Targets.of(self.public, self.sensitive, self.codes, are_members=are_members)

    def sizes_among(self, members: People, *, are_members: bool) -> Integers:
        """How many people of a table share each one's public values, the person included."""
        known, counts = np.unique(members.rows, axis=0, return_counts=True)
        places = places_among(self.rows, known)
        return np.where(places >= 0, counts[places], 0) + (0 if are_members else 1)

    def margin(self) -> Floats:
        """Shares of the sensitive values."""
        return np.bincount(self.truth, minlength=self.sensitive.size) / max(self.number, 1)


def people_of(table: PrivateTable, release: Release, sensitive: str) -> People:
    """Everybody in a table, in the categories of a release.

    Raises
    ------
    DataError
        Naming every attribute of the release that the table has not, or in other categories.
    """
    public = tuple(each for each in release.schema.with_role(Role.QUASI_IDENTIFIER) if each.name != sensitive)
    attributes = (*public, release.schema[sensitive])
    recoding = {each.name: recode(table, each) for each in attributes}
    refuse_other_attributes([each.name for each in attributes if recoding[each.name] is None])
    gathered = CodedRows.gathered(table.schema, table.scan([each.name for each in attributes]))
    return People(
        public,
        release.schema[sensitive],
        {
            name: np.asarray(codes, np.int64)[gathered.codes[name].astype(np.int64)]
            for name, codes in recoding.items()
            if codes is not None
        },
    )


def refuse_other_attributes(names: list[str]) -> None:
    """Refuse a table that lacks what a release has."""
    if names:
        raise DataError(
            f"the table has not the same {', '.join(names)} as the release: no such attribute, or other categories. "
            "Give the table that was published from, with the schema it was published by.",
            attribute=names[0],
        )


def recode(table: PrivateTable, attribute: Attribute) -> Integers | None:
    """For every code of the table's attribute that of the release's; None where they are not the same attribute.

    Merged categories are told by their labels, which name all that were merged.
    """
    if attribute.name not in table.schema:
        return None
    labels = dict.fromkeys(table.schema[attribute.name].labels)
    within = [labels_within(each, labels) for each in attribute.labels]
    code_of = {label: code for code, members in enumerate(within) for label in members}
    if not all(within) or sum(map(len, within)) != len(labels) or len(code_of) != len(labels):
        return None
    return np.array([code_of[label] for label in labels], np.int64)


def counts_in(table: PrivateTable, release: Release, names: Sequence[str]) -> Integers:
    """True counts over some attributes, in the categories of a release, which may be merged or stand in another order.

    Raises
    ------
    DataError
        Naming every attribute that the table has not, or in other categories.
    """
    attributes = [release.schema[name] for name in names]
    codes = [recode(table, each) for each in attributes]
    refuse_other_attributes([name for name, known in zip(names, codes, strict=True) if known is None])
    found = np.zeros([each.size for each in attributes], np.int64)
    np.add.at(found, np.ix_(*(each for each in codes if each is not None)), table.count_by(names).counts)
    return found


def occupied_in(table: PrivateTable, release: Release, names: Sequence[str]) -> tuple[Integers, Integers]:
    """Combinations that occur, ``(combinations, attributes)``, in the categories of a release, and how often.

    Raises
    ------
    DataError
        Naming every attribute that the table has not, or in other categories.
    """
    codes = [recode(table, release.schema[name]) for name in names]
    refuse_other_attributes([name for name, known in zip(names, codes, strict=True) if known is None])
    found = table.count_occupied(names)
    columns = [known[each] for known, each in zip(codes, found.codes, strict=True) if known is not None]
    combinations, place = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    counts = np.zeros(len(combinations), np.int64)
    np.add.at(counts, place.ravel(), found.counts)
    return combinations, counts


def most_linkable(sizes: Integers) -> Booleans:
    """Who is among the people of the smallest public groups, taken until they are enough to be counted.

    Whole sizes are taken, so that control people are chosen by the same rule.

    Examples
    --------
    >>> most_linkable(np.array([1] * 250 + [9] * 9_750)).sum()
    np.int64(250)
    """
    return np.asarray(sizes <= largest_linkable(sizes))


def largest_linkable(sizes: Integers) -> int:
    """The size of group up to which people count among the most linkable; 0 where there is nobody."""
    if not sizes.size:
        return 0
    present, counts = np.unique(sizes, return_counts=True)
    enough = max(LEAST_LINKABLE, SHARE_LINKABLE * sizes.size)
    place = int(np.searchsorted(np.cumsum(counts), enough))
    return int(present[min(place, len(present) - 1)])


def refuse_other_rows(release: Release, people: People) -> None:
    """Refuse a table that cannot be the one that was published from, where rows show everybody's public values.

    Raises
    ------
    DataError
        With the numbers of rows that differ.
    """
    names = [each.name for each in people.public]
    rows = release.tables[0].schema_of_attributes
    changed = release.law.changed_attributes
    if release.manifest.law["law"] not in EXACT_PUBLIC or any(
        name not in rows or name in changed for name in names
    ):
        return
    published = release.count_occupied(names)
    codes = np.stack([each.astype(np.int64) for each in published.codes], axis=1)
    known, counts = np.unique(people.rows, axis=0, return_counts=True)
    places = places_among(codes, known)
    shown = np.zeros(len(known), np.int64)
    np.add.at(shown, places[places >= 0], published.counts[places >= 0])
    beyond = int(published.counts[places < 0].sum() + np.maximum(shown - counts, 0).sum())
    if beyond:
        raise DataError(
            f"the release holds {counted(beyond, 'row')} whose {', '.join(names)} the table's rows have not as often. "
            "Give the table that was published from."
        )
    missing = int(np.maximum(counts - shown, 0).sum())
    left_out = release.law.most_left_out(release) if isinstance(release.law, DecoyRows) else 0
    if missing > left_out:
        raise DataError(
            f"the table holds {counted(missing, 'row')} whose {', '.join(names)} the release has not as often, and it leaves out "
            f"{left_out or 'nobody'}{' at most' if left_out else ''}. Give the table that was published from, as it was then.",
            number_of_rows=missing,
        )


def refuse_unlike_releases(releases: Sequence[Release]) -> None:
    """Refuse releases whose beliefs cannot be multiplied: of other sensitive attributes, or with categories merged or suppressed in one of them.

    Raises
    ------
    DataError
        Naming the attributes.
    """
    first = releases[0].schema
    lists = {each.name: each.labels for each in first.with_role(Role.SENSITIVE, Role.QUASI_IDENTIFIER)}
    for other in (each.schema for each in releases[1:]):
        unlike = [name for name, labels in lists.items() if name in other and other[name].labels != labels]
        unlike += [each.name for each in first.with_role(Role.SENSITIVE) if each.name not in other]
        unlike += [name for name in lists if name in other.left_out and name not in unlike]
        if unlike:
            raise DataError(
                f"the releases have not the same categories of {', '.join(unlike)}: what they say cannot be put together value by value. "
                "Audit them one by one.",
                attribute=unlike[0],
            )


def refuse_the_same_people(people: People, outside: People) -> None:
    """Refuse the table itself as control: everybody in it is in it.

    Raises
    ------
    DataError
        When both hold the same rows.
    """
    if people.number != outside.number:
        return
    names = [*(each.name for each in people.public), people.sensitive.name]
    rows = (np.stack([each.codes[name] for name in names], axis=1) for each in (people, outside))
    one, other = (each[np.lexsort(each.T)] for each in rows)
    if (one == other).all():
        raise DataError(
            "the control holds the very rows of the table, so that everybody is compared with themselves. Give people who are not in "
            "the table, or none.",
            number_of_rows=outside.number,
        )


EXACT_PUBLIC = ("perturbed-rows", "decoy-rows", "bucketed-rows", "resampled-rows")
"""Laws whose first table shows everybody's public values as they are, once for each row."""


def split_caveats(schema: Schema) -> tuple[str, ...]:
    """What must be said where people are held out one by one and belong together."""
    is_person = schema.unit is not None and schema.unit.rows_per_unit == 1
    if not schema.with_role(*([] if is_person else [Role.UNIT]), Role.HOUSEHOLD):
        return ()
    return ("Rows of one unit or household were not kept together when people were held out.",)
