"""Scores of posteriors against the truth, for members and for controls; membership; worst groups."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sfumato.arrays import Booleans, Floats, Integers
from sfumato.custody.audit.people import MOST_TARGETS, People
from sfumato.estimates.estimates import normal_quantile
from sfumato.laws.posterior import places_among

# --------------------------------------------------------------------------------------------------
# Scores of an attacker's beliefs against the truth, among them those that averages cannot hide behind.


ROUNDING = 1e-12
"""Differences of shares that only the order of a sum makes."""

FEWEST_TARGETS = 30
"""People below which a share says too little to be shown."""

SHARE_OF_RARE = 0.03
"""Rare are the rarest values that together are at most this share of people."""

FEWEST_HITS = 3
"""Right guesses below which a precision is luck."""

SURE_SHARE = 0.01
"""Share of people that an attacker is surest about."""


def hits(beliefs: Floats, truth: Integers) -> Floats:
    """Whether each top guess is right, ``(people,)``; a tie between t values is right by one t-th.

    Examples
    --------
    >>> hits(np.array([[0.7, 0.3], [0.5, 0.5]]), np.array([1, 1])).tolist()
    [0.0, 0.5]
    """
    top = beliefs.max(axis=1, keepdims=True, initial=-np.inf)
    # Equal up to rounding: people alike must not be told apart by it.
    is_top = beliefs >= top - 1e-12
    return np.asarray(is_top[np.arange(len(truth)), truth] / np.maximum(is_top.sum(axis=1), 1))


def stated_and_right(beliefs: Floats, truth: Integers, threshold: float) -> Floats:
    """Whether each person's value is stated with so much probability, and is right, ``(people,)``.

    Examples
    --------
    >>> stated_and_right(np.array([[0.95, 0.05], [0.95, 0.05], [0.6, 0.4]]), np.array([0, 1, 0]), 0.9).tolist()
    [1.0, 0.0, 0.0]
    """
    return np.asarray((beliefs.max(axis=1, initial=0) >= threshold) * hits(beliefs, truth))


def rare_values(margin: Floats) -> Integers:
    """Codes of the rarest values that occur and together hold at most :data:`SHARE_OF_RARE` of people.

    Examples
    --------
    >>> rare_values(np.array([0.6, 0.01, 0.37, 0.0, 0.02])).tolist()
    [1, 4]
    """
    order = np.argsort(margin, kind="stable")
    order = order[margin[order] > 0]
    return np.sort(order[np.cumsum(margin[order]) <= SHARE_OF_RARE + 1e-12])


@dataclass(frozen=True)
class RareRecall:
    """How many holders of rare values were found while guesses were right often enough.

    Parameters
    ----------
    found, holders
        Numbers of people.
    guesses
        How many were guessed for that.
    """

    found: int
    holders: int
    guesses: int

    @property
    def recall(self) -> float:
        """Share of holders found; not a number where there is none."""
        return self.found / self.holders if self.holders else float("nan")


def rare_recall(beliefs: Floats, truth: Integers, rare: Integers, precision: float) -> RareRecall:
    """Holders of rare values found by guessing from the surest down, as long as guesses are right often enough.

    Parameters
    ----------
    beliefs, truth
        ``(people, values)`` and ``(people,)``.
    rare
        Codes of the rare values.
    precision
        Share of guesses that must be right. Without it, always guessing the rare value would find everybody.

    Examples
    --------
    Two holders stand out; the third is believed like everybody else.

    >>> beliefs = np.array([[0.1, 0.9]] * 4 + [[0.99, 0.01]] * 96)
    >>> truth = np.array([1, 1, 1, 0, 1] + [0] * 95)
    >>> rare_recall(beliefs, truth, np.array([1]), 0.5)
    RareRecall(found=3, holders=4, guesses=4)
    """
    holders = int(np.isin(truth, rare).sum())
    stated = beliefs[:, rare].ravel()
    right = (truth[:, np.newaxis] == rare).ravel()
    order = np.argsort(-stated, kind="stable")
    stated, right = stated[order], right[order]
    cumulative, made = np.cumsum(right), np.arange(1, len(right) + 1)
    # People believed alike are guessed together.
    is_end = np.append(np.diff(stated) < -1e-12, True) if len(stated) else np.zeros(0, bool)
    good = is_end & (cumulative >= FEWEST_HITS) & (cumulative >= precision * made)
    if not good.any():
        return RareRecall(0, holders, 0)
    last = int(np.flatnonzero(good)[-1])
    return RareRecall(int(cumulative[last]), holders, last + 1)


def surest(beliefs: Floats, generator: np.random.Generator) -> Booleans:
    """The people whom an attacker is surest about, :data:`SURE_SHARE` of all; ties at random.

    Examples
    --------
    >>> int(surest(np.array([[0.5, 0.5]] * 199 + [[0.9, 0.1]]), np.random.default_rng(0))[-1])
    1
    """
    number = int(np.ceil(SURE_SHARE * len(beliefs)))
    shuffled = generator.permutation(len(beliefs))
    order = shuffled[np.argsort(-beliefs[shuffled].max(axis=1, initial=0), kind="stable")]
    chosen = np.zeros(len(beliefs), bool)
    chosen[order[:number]] = True
    return chosen


def bits(beliefs: Floats, truth: Integers, margin: Floats) -> Floats:
    """How many bits closer to a person's value than the overall shares the belief is, ``(people,)``."""
    own = np.maximum(beliefs[np.arange(len(truth)), truth], 1e-12)
    return np.asarray(np.log2(own) - np.log2(np.maximum(margin[truth], 1e-12)))


def brier(beliefs: Floats, truth: Integers) -> Floats:
    """Squared distance between belief and truth, summed over the values, ``(people,)``."""
    return np.asarray((beliefs**2).sum(axis=1) - 2 * beliefs[np.arange(len(truth)), truth] + 1)


def recalibrated(beliefs: Floats, truth: Integers, margin: Floats, generator: np.random.Generator) -> Floats:
    """Beliefs as sure as they are right: a power and a pull to the margin, found on one half, used on the other.

    An attacker who is too sure is a weak attacker, not a safe release.

    Parameters
    ----------
    beliefs, truth
        ``(people, values)`` and ``(people,)``.
    margin
        ``(values,)``: what is believed of anybody.
    generator
        Halves the people.
    """
    first = generator.random(len(truth)) < 0.5
    result = np.empty_like(beliefs)
    for fitted, used in ((first, ~first), (~first, first)):
        chosen = generator.permutation(np.flatnonzero(fitted))[:MOST_FITTED]
        some, known = beliefs[chosen], truth[chosen]
        trials = [
            (float(np.log(_own(_adjusted(some, margin, power, pull), known)).sum()), power, pull)
            for power in POWERS
            for pull in PULLS
        ]
        as_stated = next(gain for gain, power, pull in trials if (power, pull) == AS_STATED)
        best, power, pull = max(trials)
        # What chance alone would gain changes nothing: no interval knows of a correction that differs from half to half.
        power, pull = (power, pull) if best - as_stated > BEYOND_CHANCE else AS_STATED
        result[used] = _adjusted(beliefs[used], margin, power, pull)
    return result


POWERS = (0.25, 0.5, 0.7, 0.85, 1.0, 1.25, 1.6, 2.0)
PULLS = (0.001, 0.01, 0.03, 0.1, 0.3, 1.0)
"""Powers of beliefs, and shares of the margin mixed in, that recalibration chooses from."""


AS_STATED = (1.0, 0.001)
"""The correction that leaves beliefs as they are."""

BEYOND_CHANCE = 3.0
"""Gain of log-likelihood that two numbers reach by chance once in twenty: half of chi-square's 5.99."""

MOST_FITTED = 3_000
"""People that two numbers are fitted on: more of them would choose the same."""


def _adjusted(beliefs: Floats, margin: Floats, power: float, pull: float) -> Floats:
    raised = np.maximum(beliefs, 0) ** power
    return np.asarray((1 - pull) * raised / raised.sum(axis=1, keepdims=True) + pull * margin)


def _own(beliefs: Floats, truth: Integers) -> Floats:
    return np.maximum(beliefs[np.arange(len(truth)), truth], 1e-12)


def wilson(successes: float, number: int, *, confidence_level: float = 0.95) -> tuple[float, float]:
    """Interval of a share (Wilson 1927); of none among n it shows what may still be.

    Examples
    --------
    >>> wilson(0, 87)[0], round(wilson(0, 100)[1], 3), wilson(9, 9)[1]
    (0.0, 0.037, 1.0)
    """
    if not number:
        return 0.0, 1.0
    z = normal_quantile(confidence_level)
    share = successes / number
    middle = (share + z**2 / (2 * number)) / (1 + z**2 / number)
    half = z / (1 + z**2 / number) * np.sqrt(share * (1 - share) / number + z**2 / (4 * number**2))
    # At the ends both terms are the same number, up to rounding.
    low = max(0.0, float(middle - half)) if successes > 0 else 0.0
    return low, min(1.0, float(middle + half)) if successes < number else 1.0


@dataclass(frozen=True)
class Difference:
    """A score of people in the table, the same without, and what lies between.

    Parameters
    ----------
    present, absent
        With the person in the table, and without.
    low, high
        95 % interval of the difference.
    """

    present: float
    absent: float
    low: float
    high: float

    @property
    def excess(self) -> float:
        """What being in the table adds; sums that differ by rounding alone do not."""
        apart = self.present - self.absent
        return apart if abs(apart) > ROUNDING else 0.0


def clustered_error(numbers: Floats, kinds: Integers) -> float:
    """Standard error of a mean whose terms go together within kinds of people.

    Examples
    --------
    Ten people alike are one observation.

    >>> clustered_error(np.array([1.0] * 10 + [0.0] * 10), np.repeat([0, 1], 10)) > 0.3
    True
    """
    if len(numbers) < 2:
        return float("inf")
    _, place = np.unique(kinds, return_inverse=True)
    sums = np.bincount(place.ravel(), numbers - numbers.mean())
    together = float(np.sqrt((sums**2).sum() * len(sums) / max(len(sums) - 1, 1)) / len(numbers))
    # Of few kinds it is a rough guess, and too small one time in two: never below the error of people who do not go together.
    return max(together, float(numbers.std(ddof=1)) / math.sqrt(len(numbers)))


def lone_error(share: float, number: float) -> float:
    """Standard error of a share of people who do not go together, two more of them right and two more wrong (Agresti and Coull 1998).

    Never 0: none of n people is not nobody at all.

    Examples
    --------
    None of 96 people: two of a hundred.

    >>> round(lone_error(0.0, 96), 6)
    0.014
    """
    padded = (min(max(share, 0.0), 1.0) * number + 2) / (number + 4)
    return float(np.sqrt(padded * (1 - padded) / (number + 4)))


def over_releases(
    present: Floats, absent: Floats, shares: float, *, people: tuple[float, float] | None = None
) -> Difference:
    """A difference measured on several releases, each with its own split and noise.

    Parameters
    ----------
    present, absent
        ``(releases,)``.
    shares
        Control people for each member: splits overlap, so that releases are not independent (Nadeau and Bengio 2003).
    people
        Where both are shares of people, of how many in each release: releases that happen to agree are no certainty.
    """
    from scipy.special import stdtrit

    each = present - absent
    number = len(each)
    if number < 2:
        return Difference(float(present.mean()), float(absent.mean()), float("-inf"), float("inf"))
    half = float(stdtrit(number - 1, 0.975) * np.sqrt((1 / number + shares) * each.var(ddof=1)))
    if people is not None:
        errors = [
            lone_error(float(side.mean()), number * one)
            for one, side in zip(people, (present, absent), strict=True)
        ]
        half = max(half, normal_quantile(0.95) * math.hypot(*errors))
    middle = float(each.mean())
    return Difference(float(present.mean()), float(absent.mean()), middle - half, middle + half)


# --------------------------------------------------------------------------------------------------
# Beliefs about people in the table and about control people, scored side by side.


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


# --------------------------------------------------------------------------------------------------
# Whether a release tells who is in it, where being in it is the secret.


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


# --------------------------------------------------------------------------------------------------
# The public categories whose people lose most by being in the table.


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
