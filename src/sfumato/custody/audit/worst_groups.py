"""The public categories whose people lose most by being in the table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.custody.audit.measuring import Side, Trial
from sfumato.custody.audit.scores import FEWEST_TARGETS, Difference, clustered_error, hits
from sfumato.values.arrays import Booleans, Floats, Integers
from sfumato.values.estimates import normal_quantile

SHOWN = 10
"""Groups that a report lists."""


@dataclass(frozen=True)
class GroupMeasured:
    """One public category: how often its people's values are guessed."""

    attribute: str
    category: str
    people: int
    difference: Difference


@dataclass(frozen=True, eq=False)
class _Guessed:
    """Everybody of one side of all trials: public codes, whether the guess is right, who is alike."""

    codes: dict[str, Integers]
    right: Floats
    kinds: Integers

    @classmethod
    def of(cls, sides: Sequence[Side], attacker: str) -> _Guessed:
        names = [each.name for each in sides[0].people.public]
        return cls(
            {name: np.concatenate([each.people.codes[name] for each in sides]) for name in names},
            np.concatenate([hits(each.beliefs[attacker], each.people.truth) for each in sides]),
            np.concatenate([each.kinds for each in sides]),
        )

    def among(self, name: str, code: int) -> Booleans:
        return np.asarray(self.codes[name] == code)


def worst_groups(trials: Sequence[Trial], attackers: tuple[str, str]) -> tuple[GroupMeasured, ...]:
    """The groups with the largest excess; their intervals hold for all groups looked at together.

    Parameters
    ----------
    trials
        Releases attacked.
    attackers
        Whose guesses count, with the person in the table and without.
    """
    present = _Guessed.of([each.present for each in trials], attackers[0])
    absent = _Guessed.of([each.absent for each in trials], attackers[1])
    looked_at = [
        (attribute, code)
        for attribute in trials[0].present.people.public
        for code in range(attribute.size)
        if min(present.among(attribute.name, code).sum(), absent.among(attribute.name, code).sum())
        >= FEWEST_TARGETS
    ]
    z = normal_quantile(1 - 0.05 / max(len(looked_at), 1))
    found = [
        GroupMeasured(
            attribute.name,
            attribute.labels[code],
            int(present.among(attribute.name, code).sum()) // len(trials),
            _difference(
                present, absent, attribute.name, code, z, is_paired=all(each.is_paired for each in trials)
            ),
        )
        for attribute, code in looked_at
    ]
    return tuple(sorted(found, key=lambda each: -each.difference.excess)[:SHOWN])


def _difference(
    present: _Guessed, absent: _Guessed, name: str, code: int, z: float, *, is_paired: bool
) -> Difference:
    one, other = present.among(name, code), absent.among(name, code)
    if is_paired:
        error = clustered_error(present.right[one] - absent.right[other], present.kinds[one])
    else:
        error = math.hypot(
            clustered_error(present.right[one], present.kinds[one]),
            clustered_error(absent.right[other], absent.kinds[other]),
        )
    means = float(present.right[one].mean()), float(absent.right[other].mean())
    middle = means[0] - means[1]
    return Difference(*means, middle - z * error, middle + z * error)
