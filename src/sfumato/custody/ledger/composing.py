"""What several releases of one table add up to."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.custody.ledger.book import Entry
from sfumato.guarantees import GUARANTEES, Guarantee
from sfumato.guarantees.differential_privacy import DifferentialPrivacy, compose
from sfumato.guarantees.item_differential_privacy import ItemDifferentialPrivacy
from sfumato.guarantees.local_differential_privacy import LocalDifferentialPrivacy
from sfumato.methods.base import METHODS, Design

COMPOSABLE = (DifferentialPrivacy, LocalDifferentialPrivacy, ItemDifferentialPrivacy)
"""Promises whose numbers add up."""


@dataclass(frozen=True)
class Composition:
    """What an attacker has who holds several releases of the same rows.

    Parameters
    ----------
    entries
        The releases.
    together
        Promises that have a rule of composition, composed.
    planned
        Methods of releases that are not made yet.
    without_rule
        Method to what a second release of it costs, for methods whose promise has no such rule.
    """

    entries: tuple[Entry, ...]
    planned: tuple[str, ...]
    together: tuple[Guarantee, ...]
    without_rule: dict[str, str]

    def summary(self) -> str:
        """Sentences for people."""
        number = len(self.entries) + len(self.planned)
        lines = [f"{number} release{'' if number == 1 else 's'} of one table:"]
        lines += [f"  {each.number}. {each.when} {each.method}, {each.folder}" for each in self.entries]
        lines += [f"  new: {method}" for method in self.planned]
        lines += [f"Together: {each.statement}" for each in self.together]
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
            "without_rule": self.without_rule,
        }


def compose_entries(
    entries: Sequence[Entry],
    *,
    planned: Sequence[tuple[Design, Sequence[Guarantee], Mapping[str, int]]] = (),
) -> Composition:
    """What releases of one table, and some that are only planned, add up to.

    Parameters
    ----------
    entries
        Of the ledger.
    planned
        Design, promises and sizes of the attributes of releases that are not made yet.
    """
    made = [
        (METHODS.read(each.design), tuple(_read(stored) for stored in each.guarantees), each.sizes)
        for each in entries
    ]
    releases = [*made, *((design, tuple(promises), sizes) for design, promises, sizes in planned)]
    promises = [stated for _, stated, _ in releases]
    together = (*_central(promises), *_local(promises), *_of_items(promises))
    methods = tuple(str(design.to_dict()["method"]) for design, *_ in releases)
    # Where several parameters were used, the last release stands for all of its method.
    without = {
        method: design.published_again(stated, sizes, methods.count(method))
        if methods.count(method) > 1
        else design.published_twice
        for method, (design, stated, sizes) in zip(methods, releases, strict=True)
        if not any(isinstance(each, COMPOSABLE) for each in stated)
    }
    return Composition(tuple(entries), methods[len(made) :], together, without)


def _read(stored: dict[str, Any]) -> Guarantee:
    return GUARANTEES.read({key: value for key, value in stored.items() if key != "description"})


def _central(promises: Sequence[tuple[Guarantee, ...]]) -> tuple[Guarantee, ...]:
    """Differential privacy of all releases that have it, for each neighbouring relation and kind of unit."""
    found: dict[tuple[str, int], list[DifferentialPrivacy]] = {}
    for guarantees in promises:
        for each in guarantees:
            if isinstance(each, DifferentialPrivacy):
                found.setdefault((each.relation, each.rows_per_unit), []).append(each)
    return tuple(compose(each) for each in found.values())


def _local(promises: Sequence[tuple[Guarantee, ...]]) -> tuple[Guarantee, ...]:
    """Local differential privacy of all releases that have it: draws are independent, so epsilons add up."""
    local = [
        each for guarantees in promises for each in guarantees if isinstance(each, LocalDifferentialPrivacy)
    ]
    if not local:
        return ()
    # Stated for the largest units that any of them is about; what was said of fewer rows counts as often as it must.
    most = max(each.rows_per_unit for each in local)
    local = [each.for_units(-(-most // each.rows_per_unit)) for each in local]
    unprotected = {name for each in local for name in each.unprotected}
    unbounded = {name for each in local for name in each.unbounded} - unprotected
    covered = {name for each in local for name in each.epsilon_by_attribute} - unprotected - unbounded
    return (
        LocalDifferentialPrivacy(
            epsilon_by_attribute={
                name: math.fsum(each.epsilon_by_attribute.get(name, 0.0) for each in local)
                for name in sorted(covered)
            },
            unprotected=tuple(sorted(unprotected)),
            unbounded=tuple(sorted(unbounded)),
            rows_per_unit=most,
        ),
    )


def _of_items(promises: Sequence[tuple[Guarantee, ...]]) -> tuple[Guarantee, ...]:
    """What units have of items, redrawn independently in every release: epsilons add up; none where one has none."""
    found = [
        each.epsilon for stated in promises for each in stated if isinstance(each, ItemDifferentialPrivacy)
    ]
    finite = [each for each in found if each is not None]
    if not found:
        return ()
    return (ItemDifferentialPrivacy(epsilon=math.fsum(finite) if len(finite) == len(found) else None),)
