"""What several releases of one table add up to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.custody.ledger.book import Entry
from sfumato.guarantees import GUARANTEES, Guarantee
from sfumato.guarantees.differential_privacy import DifferentialPrivacy, compose
from sfumato.guarantees.local_differential_privacy import LocalDifferentialPrivacy
from sfumato.methods.base import METHODS


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
    entries: Sequence[Entry], *, planned: Sequence[tuple[str, Sequence[Guarantee]]] = ()
) -> Composition:
    """What releases of one table, and some that are only planned, add up to.

    Parameters
    ----------
    entries
        Of the ledger.
    planned
        Method and promises of releases that are not made yet.
    """
    stated = [(each.method, tuple(_read(stored) for stored in each.guarantees)) for each in entries]
    promises = [*stated, *((method, tuple(guarantees)) for method, guarantees in planned)]
    together = (*_central(promises), *_local(promises))
    composable = (DifferentialPrivacy, LocalDifferentialPrivacy)
    without = {
        method: METHODS.get(method).published_twice
        for method, guarantees in promises
        if not any(isinstance(each, composable) for each in guarantees)
    }
    return Composition(tuple(entries), tuple(method for method, _ in planned), together, without)


def _read(stored: dict[str, Any]) -> Guarantee:
    return GUARANTEES.read({key: value for key, value in stored.items() if key != "description"})


def _central(promises: Sequence[tuple[str, tuple[Guarantee, ...]]]) -> tuple[Guarantee, ...]:
    """Differential privacy of all releases that have it, for each neighbouring relation and kind of unit."""
    found: dict[tuple[str, int], list[DifferentialPrivacy]] = {}
    for _, guarantees in promises:
        for each in guarantees:
            if isinstance(each, DifferentialPrivacy):
                found.setdefault((each.relation, each.rows_per_unit), []).append(each)
    return tuple(compose(each) for each in found.values())


def _local(promises: Sequence[tuple[str, tuple[Guarantee, ...]]]) -> tuple[Guarantee, ...]:
    """Local differential privacy of all releases that have it: draws are independent, so epsilons add up."""
    local = [
        each
        for _, guarantees in promises
        for each in guarantees
        if isinstance(each, LocalDifferentialPrivacy)
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
