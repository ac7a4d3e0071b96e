"""Whether a release tells who is in it, where being in it is the secret."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.custody.audit.measuring import Side
from sfumato.custody.audit.people import People
from sfumato.laws.believing.targets import places_among
from sfumato.values.arrays import Floats

FALSE_ALARMS = 0.01
"""Share of people outside who are taken to be inside, at which the share of people inside who are found is stated."""


@dataclass(frozen=True)
class Membership:
    """What exactly published public values tell of who is in the table.

    Parameters
    ----------
    proved_outside
        Share of people outside whose public values no row has.
    found
        Share of people inside who are found while one in a hundred outside is taken to be inside.
    """

    proved_outside: float
    found: float


def measure_membership(members: People, present: Side, absent: Side) -> Membership:
    """Tell people in the table from people outside by how many rows have their public values.

    Somebody in the table is one of these rows: the likelihood of so many is larger by their number over what would be expected
    of attributes that do not go together.

    Parameters
    ----------
    members
        Everybody in the table, whose public values are published as they are.
    present, absent
        People in the table, and people who are not.
    """
    inside = likelihood_ratios(members, present.people.take(present.is_drawn))
    outside = likelihood_ratios(members, absent.people.take(absent.is_drawn))
    if not len(inside) or not len(outside):
        return Membership(float("nan"), float("nan"))
    ordered = np.sort(outside)
    # At most one in a hundred outside lies above it.
    threshold = ordered[len(ordered) - 1 - int(FALSE_ALARMS * len(ordered))]
    return Membership(float((outside == 0).mean()), float((inside > threshold).mean()))


def likelihood_ratios(members: People, people: People) -> Floats:
    """Rows with each person's public values over those expected of attributes that do not go together, ``(people,)``."""
    known, counts = np.unique(members.rows, axis=0, return_counts=True)
    places = places_among(people.rows, known)
    shown = np.where(places >= 0, counts[places], 0)
    expected = np.full(people.number, float(members.number))
    for place, each in enumerate(members.public):
        shares = np.bincount(members.rows[:, place], minlength=each.size) / max(members.number, 1)
        expected *= shares[people.rows[:, place]]
    return np.asarray(shown / np.maximum(expected, 1e-12))
