"""What several releases of one table add up to."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.custody.ledger.book import Entry
from sfumato.guarantees import GUARANTEES, Guarantee
from sfumato.guarantees.differential_privacy import DifferentialPrivacy, compose
from sfumato.guarantees.item_differential_privacy import ItemDifferentialPrivacy
from sfumato.guarantees.local_differential_privacy import LocalDifferentialPrivacy
from sfumato.methods.base import METHODS, Repetition

COMPOSABLE = (DifferentialPrivacy, LocalDifferentialPrivacy, ItemDifferentialPrivacy)
"""Promises whose numbers add up."""


@dataclass(frozen=True)
class PartialSum:
    """What some of the releases add up to, where the others have no such promise.

    Parameters
    ----------
    releases
        Numbers of the ledger; None for one that is not made yet.
    promise
        Of these together.
    """

    releases: tuple[int | None, ...]
    promise: Guarantee

    def sentence(self) -> str:
        """For people: whose sum it is, and that it is not that of all."""
        made = [str(each) for each in self.releases if each is not None]
        words = [*([f"release{'s' if len(made) > 1 else ''} {' and '.join(made)}"] if made else [])]
        words += ["the new release"] if None in self.releases else []
        alone = "by itself" if len(self.releases) == 1 else "by themselves"
        return (
            f"Of {' and '.join(words)} {alone}: {self.promise.statement} What the others tell is not in this sum, and comes "
            "on top."
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"releases": list(self.releases), "promise": self.promise.model_dump(mode="json")}


@dataclass(frozen=True)
class Composition:
    """What an attacker has who holds several releases of the same rows.

    Parameters
    ----------
    entries
        The releases.
    planned
        Methods of releases that are not made yet.
    together
        Promises of one kind that all of the releases make, composed.
    partly
        The same of those that only some of them make. It is no promise about the releases together.
    without_rule
        Method to what a second release of it costs, for methods whose promise has no such rule.
    """

    entries: tuple[Entry, ...]
    planned: tuple[str, ...]
    together: tuple[Guarantee, ...]
    partly: tuple[PartialSum, ...]
    without_rule: dict[str, str]

    def summary(self) -> str:
        """Sentences for people."""
        number = len(self.entries) + len(self.planned)
        lines = [f"{number} release{'' if number == 1 else 's'} of one table:"]
        lines += [f"  {each.number}. {each.when} {each.method}, {each.folder}" for each in self.entries]
        lines += [f"  new: {method}" for method in self.planned]
        lines += [f"Together: {each.statement}" for each in self.together]
        lines += [each.sentence() for each in self.partly]
        lines += [f"{method}: {sentence}" for method, sentence in self.without_rule.items()]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "releases": [
                {"number": each.number, "when": each.when, "method": each.method, "folder": each.folder}
                for each in self.entries
            ],
            "planned": list(self.planned),
            "together": [each.model_dump(mode="json") for each in self.together],
            "partly": [each.to_dict() for each in self.partly],
            "without_rule": self.without_rule,
        }


def compose_entries(entries: Sequence[Entry], *, planned: Sequence[Repetition] = ()) -> Composition:
    """What releases of one table, and some that are only planned, add up to.

    Parameters
    ----------
    entries
        Of the ledger.
    planned
        Releases that are not made yet.
    """
    releases = [*map(_repetition, entries), *planned]
    numbers = [*(each.number for each in entries), *(None for _ in planned)]
    sums = [
        (summed, tuple(numbers[each] for each in places))
        for summed, places in _sums([each.promises for each in releases])
    ]
    methods = [str(each.design.to_dict()["method"]) for each in releases]
    return Composition(
        tuple(entries),
        tuple(methods[len(entries) :]),
        tuple(summed for summed, made in sums if len(made) == len(releases)),
        tuple(PartialSum(made, summed) for summed, made in sums if len(made) < len(releases)),
        dict(_without_rule(methods, releases)),
    )


def _repetition(entry: Entry) -> Repetition:
    return Repetition(
        METHODS.read(entry.design),
        tuple(_read(stored) for stored in entry.guarantees),
        entry.sizes,
        entry.table.number_of_rows,
    )


def _without_rule(methods: Sequence[str], releases: Sequence[Repetition]) -> Iterator[tuple[str, str]]:
    """By method, what its releases that have no epsilon tell together."""
    for method in dict.fromkeys(methods):
        alike = [
            each
            for name, each in zip(methods, releases, strict=True)
            if name == method and not any(isinstance(promise, COMPOSABLE) for promise in each.promises)
        ]
        if alike:
            design = type(alike[-1].design)
            yield method, design.published_again(alike) if len(alike) > 1 else design.published_twice


def _read(stored: dict[str, Any]) -> Guarantee:
    return GUARANTEES.read({key: value for key, value in stored.items() if key != "description"})


Places = tuple[int, ...]


def _sums(promises: Sequence[tuple[Guarantee, ...]]) -> Iterator[tuple[Guarantee, Places]]:
    """Promises of one kind composed, with the places of the releases that make them."""
    central: dict[Any, tuple[list[DifferentialPrivacy], list[int]]] = {}
    local: tuple[list[LocalDifferentialPrivacy], list[int]] = ([], [])
    of_items: tuple[list[ItemDifferentialPrivacy], list[int]] = ([], [])
    for place, each in ((place, each) for place, stated in enumerate(promises) for each in stated):
        if isinstance(each, DifferentialPrivacy):
            kind = (each.relation, each.rows_per_unit, each.whole_units)
            alike, places = central.setdefault(kind, ([], []))
            alike.append(each)
            places.append(place)
        elif isinstance(each, LocalDifferentialPrivacy):
            local[0].append(each)
            local[1].append(place)
        elif isinstance(each, ItemDifferentialPrivacy):
            of_items[0].append(each)
            of_items[1].append(place)
    for alike, places in central.values():
        yield compose(alike), tuple(places)
    if local[0]:
        yield _local(local[0]), tuple(local[1])
    if of_items[0]:
        yield _of_items(of_items[0]), tuple(of_items[1])


def _given(promises: Sequence[Guarantee]) -> tuple[str, ...]:
    """What a sum takes as known: all that its parts do."""
    return tuple(dict.fromkeys(each for promise in promises for each in promise.given))


def _local(promises: Sequence[LocalDifferentialPrivacy]) -> LocalDifferentialPrivacy:
    """Local differential privacy of several releases: draws are independent, so epsilons add up."""
    # Stated for the largest units that any of them is about; what was said of fewer rows counts as often as it must.
    most = max(each.rows_per_unit for each in promises)
    local = [each.for_units(-(-most // each.rows_per_unit)) for each in promises]
    unprotected = {name for each in local for name in each.unprotected}
    unbounded = {name for each in local for name in each.unbounded} - unprotected
    covered = {name for each in local for name in each.epsilon_by_attribute} - unprotected - unbounded
    return LocalDifferentialPrivacy(
        epsilon_by_attribute={
            name: math.fsum(each.epsilon_by_attribute.get(name, 0.0) for each in local)
            for name in sorted(covered)
        },
        unprotected=tuple(sorted(unprotected)),
        unbounded=tuple(sorted(unbounded)),
        rows_per_unit=most,
        given=_given(promises),
    )


def _of_items(promises: Sequence[ItemDifferentialPrivacy]) -> ItemDifferentialPrivacy:
    """What units have of items, redrawn independently in every release: epsilons add up; none where one has none."""
    finite = [each.epsilon for each in promises if each.epsilon is not None]
    return ItemDifferentialPrivacy(
        epsilon=math.fsum(finite) if len(finite) == len(promises) else None, given=_given(promises)
    )
