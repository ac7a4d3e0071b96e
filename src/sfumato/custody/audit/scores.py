"""Scores of an attacker's beliefs against the truth, among them those that averages cannot hide behind."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sfumato.values.arrays import Booleans, Floats, Integers
from sfumato.values.estimates import normal_quantile

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
