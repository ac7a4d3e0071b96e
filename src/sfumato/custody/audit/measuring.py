"""Beliefs about people in the table and about control people, scored side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sfumato.custody.audit.people import MOST_TARGETS, People
from sfumato.custody.audit.scores import (
    FEWEST_TARGETS,
    Difference,
    RareRecall,
    bits,
    brier,
    clustered_error,
    hits,
    lone_error,
    over_releases,
    rare_recall,
    recalibrated,
    stated_and_right,
    surest,
)
from sfumato.values.arrays import Booleans, Floats, Integers

PRECISIONS = (0.5, 0.9)
"""Shares of guesses that must be right when rare values are guessed."""

TOP, LINKABLE, SURE, HALF, NINE, BITS, BRIER = (
    "right by the top guess",
    "right among the most linkable",
    "right among the surest 1 %",
    "stated with 50 % and right",
    "stated with 90 % and right",
    "bits learned beyond the margin",
    "Brier score (smaller is better)",
)
"""Names of the scores."""

SHARES = (TOP, LINKABLE, SURE, HALF, NINE)
"""Scores that are shares of people."""

FEWEST_FITTED = 100
"""People below which probabilities are not judged: they are corrected on one half of them, which few people do badly."""

MEANINGS: Mapping[str, str] = {
    TOP: "how often somebody who guesses the likeliest value of everybody is right",
    LINKABLE: "the same of people whose public values few share: the first whom an attacker would choose",
    SURE: "how often the guesses are right about which the attacker is surest",
    HALF: "share of people whose value is stated, with a probability that holds, of one half or more, rightly",
    NINE: "the same with nine tenths or more: these people are exposed",
    BITS: "how much of a person's value is told, on average, beyond what is true of everybody",
    BRIER: "how far stated probabilities lie from what is true",
}
"""What each score means, in a few words."""


@dataclass(frozen=True, eq=False)
class Side:
    """People, in the table or not, and what every attacker believes of them.

    Parameters
    ----------
    people
        Those attacked.
    beliefs
        By attacker, ``(people, values)``.
    is_drawn
        ``(people,)``: drawn at random from all, so that averages are over everybody.
    is_linkable
        ``(people,)``: in one of the smallest public groups.
    """

    people: People
    beliefs: Mapping[str, Floats] = field(repr=False)
    is_drawn: Booleans = field(repr=False)
    is_linkable: Booleans = field(repr=False)

    @cached_property
    def kinds(self) -> Integers:
        """People alike in public have one number: what is believed of them goes together."""
        return np.unique(self.people.rows, axis=0, return_inverse=True)[1].ravel().astype(np.int64)


def choose_targets(
    sizes: Integers, limit: int, generator: np.random.Generator
) -> tuple[Integers, Booleans, Booleans]:
    """Whom to attack: places of people drawn at random, and of the most linkable; who is which."""
    number = len(sizes)
    is_drawn = np.ones(number, bool)
    if number > MOST_TARGETS:
        is_drawn = np.zeros(number, bool)
        is_drawn[generator.choice(number, MOST_TARGETS, replace=False)] = True
    is_linkable = sizes <= limit
    chosen = np.flatnonzero(is_drawn | is_linkable)
    return chosen, is_drawn[chosen], is_linkable[chosen]


@dataclass(frozen=True, eq=False)
class Scored:
    """One score of one attacker: a number for each person it is over."""

    values: Floats
    over: Booleans

    @property
    def mean(self) -> float:
        """Over the people it is of; not a number where there is nobody."""
        chosen = self.values[self.over]
        return float(chosen.mean()) if chosen.size else float("nan")


def score_side(side: Side, margin: Floats, seed: int) -> dict[str, dict[str, Scored]]:
    """By score and attacker, every person's part of it."""
    truth = side.people.truth
    found: dict[str, dict[str, Scored]] = {}
    for attacker, beliefs in side.beliefs.items():
        generator = np.random.default_rng(seed)
        calibrated = recalibrated(beliefs, truth, margin, generator)
        right = hits(beliefs, truth)
        sure = np.zeros(len(truth), bool)
        sure[side.is_drawn] = surest(calibrated[side.is_drawn], generator)
        parts = {
            TOP: (right, side.is_drawn),
            LINKABLE: (right, side.is_linkable),
            SURE: (right, sure),
            HALF: (stated_and_right(calibrated, truth, 0.5), side.is_drawn),
            NINE: (stated_and_right(calibrated, truth, 0.9), side.is_drawn),
            BITS: (bits(calibrated, truth, margin), side.is_drawn),
            BRIER: (-brier(calibrated, truth), side.is_drawn),
        }
        for name, (values, over) in parts.items():
            found.setdefault(name, {})[attacker] = Scored(values, over)
    return found


@dataclass(frozen=True, eq=False)
class Trial:
    """One release attacked: people in the table against control people.

    Parameters
    ----------
    present, absent
        Both sides.
    is_paired
        Both are the same people, their own row left out on the second side.
    """

    present: Side
    absent: Side
    is_paired: bool


@dataclass(frozen=True)
class Measured:
    """One score, with and without the person in the table.

    Parameters
    ----------
    difference
        Means and interval; None where too few people could be scored.
    attackers
        Who did best with the person in the table, and without.
    people
        Numbers of people scored on either side.
    """

    difference: Difference | None
    attackers: tuple[str, str]
    people: tuple[int, int]


def measure(trials: Sequence[Trial], margin: Floats, *, seed: int = 0) -> dict[str, Measured]:
    """All scores over one release, or over several with splits of their own.

    Each score is that of the attacker who does best at it, chosen for each side by itself.
    """
    sides = [
        (score_side(each.present, margin, seed), score_side(each.absent, margin, seed)) for each in trials
    ]
    return {name: _measured(name, trials, sides) for name in MEANINGS}


def _measured(
    name: str,
    trials: Sequence[Trial],
    sides: Sequence[tuple[dict[str, dict[str, Scored]], dict[str, dict[str, Scored]]]],
) -> Measured:
    sign = -1.0 if name == BRIER else 1.0
    winners = []
    for place in (0, 1):
        means = {
            attacker: np.mean([each[place][name][attacker].mean for each in sides])
            for attacker in sides[0][place][name]
        }
        winners.append(max(means, key=lambda attacker: np.nan_to_num(means[attacker], nan=-np.inf)))
    parts = [
        (each[0][name][winners[0]], each[1][name][winners[1]], trial)
        for each, trial in zip(sides, trials, strict=True)
    ]
    numbers = (
        int(np.mean([one.over.sum() for one, _, _ in parts])),
        int(np.mean([other.over.sum() for _, other, _ in parts])),
    )
    chosen = (winners[0], winners[1])
    if min(numbers) < (FEWEST_TARGETS if name in SHARES else FEWEST_FITTED):
        return Measured(None, chosen, numbers)
    if len(parts) > 1:
        present = sign * np.array([one.mean for one, _, _ in parts])
        absent = sign * np.array([other.mean for _, other, _ in parts])
        people = numbers if name in SHARES else None
        found = over_releases(present, absent, numbers[1] / numbers[0], people=people)
        return Measured(found, chosen, numbers)
    one, other, trial = parts[0]
    middle = sign * (one.mean - other.mean)
    half = _half_width(one, other, trial, is_share=name in SHARES)
    return Measured(
        Difference(sign * one.mean, sign * other.mean, middle - half, middle + half), chosen, numbers
    )


def _half_width(one: Scored, other: Scored, trial: Trial, *, is_share: bool) -> float:
    """Of the 95 % interval of a difference on one release: people alike go together, and the same person on both sides.

    Few kinds of people know their own spread badly, which Student's t allows for.
    """
    from scipy.special import stdtrit

    scored = ((one, trial.present), (other, trial.absent))
    kinds = [side.kinds[each.over] for each, side in scored]
    freedom = max(min(len(np.unique(each)) for each in kinds) - 1, 1)
    if trial.is_paired and (one.over == other.over).all():
        error = clustered_error((one.values - other.values)[one.over], kinds[0])
        # Nobody of n who differs is not nobody at all.
        error = max(error, lone_error(0.0, len(kinds[0]))) if is_share else error
    else:
        error = math.hypot(
            *(
                max(
                    clustered_error(each.values[each.over], of_side),
                    lone_error(each.mean, len(of_side)) if is_share else 0.0,
                )
                for (each, _), of_side in zip(scored, kinds, strict=True)
            )
        )
    return float(stdtrit(freedom, 0.975) * error)


@dataclass(frozen=True)
class RareMeasured:
    """Holders of rare values found at some precision, with and without them in the table."""

    precision: float
    present: RareRecall
    absent: RareRecall
    attackers: tuple[str, str]


def measure_rare(trials: Sequence[Trial], rare: Integers) -> tuple[RareMeasured, ...]:
    """Both sides absolute, since a group's others may betray who is not in the table as well."""
    if not rare.size:
        return ()
    found = []
    for precision in PRECISIONS:
        best = [
            _best_recall([getattr(trial, side) for trial in trials], rare, precision)
            for side in ("present", "absent")
        ]
        found.append(RareMeasured(precision, best[0][1], best[1][1], (best[0][0], best[1][0])))
    return tuple(found)


def _best_recall(sides: Sequence[Side], rare: Integers, precision: float) -> tuple[str, RareRecall]:
    def added(attacker: str) -> RareRecall:
        each = [
            rare_recall(
                side.beliefs[attacker][side.is_drawn], side.people.truth[side.is_drawn], rare, precision
            )
            for side in sides
        ]
        return RareRecall(
            sum(one.found for one in each), sum(one.holders for one in each), sum(one.guesses for one in each)
        )

    recalls = {attacker: added(attacker) for attacker in sides[0].beliefs}
    best = max(recalls, key=lambda attacker: (recalls[attacker].found, -recalls[attacker].guesses))
    return best, recalls[best]
