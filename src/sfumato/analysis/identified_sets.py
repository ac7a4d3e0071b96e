"""Identified sets (Manski bounds) of numbers computed from counts that are known within bounds only."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sfumato.analysis.equations import Formula, differentiate
from sfumato.arrays import Booleans, Floats, Integers
from sfumato.errors import NoSolutionError, NotIdentifiableError
from sfumato.estimates.estimates import Certainty, Estimates, known_bounds
from sfumato.laws import Target
from sfumato.laws.estimator import answer, binding
from sfumato.query.selection import Predicate, Selection, Tabulation

if TYPE_CHECKING:
    from sfumato.release.release import Release

# --------------------------------------------------------------------------------------------------
# What numbers can be when counts are known within bounds only, such as those of generalized categories or of
# rows left out.
#
# A law says between what such counts lie for certain. Where between them needs an assumption, and a standard
# error that rests on it
# says nothing about how wrong it is; so a range has to hold whatever the bounds allow.


UNBOUNDED = (-math.inf, math.inf)

MOST_ROUNDS = 6
"""Steps from one corner to the next; a number that is nearly linear between the bounds needs one or two."""

PROBES = 32
"""Random corners of what counts may be that are looked at, and as many places between them."""

FEW = 4
"""Counts within bounds of which all corners are looked at."""

NEAR = 0.15
"""Part of the way between two corners at which slopes are looked at besides."""

At = Callable[[Floats], tuple[Floats, Floats]]
"""Numbers ``(k,)`` from counts ``(cells,)``, with their slopes ``(k, cells)``; not a number, or a NoSolutionError, where there are none."""


def are_loose(counts: Estimates) -> Booleans:
    """Which counts lie between two bounds and are not known, ``(n,)``."""
    if counts.bounds is None:
        return np.zeros(counts.values.size, dtype=bool)
    low, high = counts.ends()
    return np.asarray((counts.certainty == Certainty.BOUNDED) & (low < high))


def are_certain(counts: Estimates) -> bool:
    """Whether no count has a chance error about the table: each is exact, or lies between bounds."""
    return bool((counts.certainty >= Certainty.BOUNDED).all())


def claim_of(counts: Estimates, target: Target) -> Certainty:
    """What a number claims that is computed from counts: of a table the weakest of theirs, of a population that it is estimated."""
    if target == "population":
        return Certainty.ESTIMATED
    return Certainty(int(counts.certainty.min(initial=Certainty.EXACT)))


def note_of_bounds(counts: Estimates) -> tuple[str, ...]:
    """That ranges hold more than chance; empty where they do not."""
    number = int(are_loose(counts).sum())
    if not number:
        return ()
    about = "one cell is" if number == 1 else f"{number} cells are"
    return (f"{about} known within bounds only; ranges hold every value that the bounds allow",)


def refuse_assumed(counts: Estimates, estimator: str, what: str) -> None:
    """Refuse what would take an assumption about counts within bounds for known.

    Raises
    ------
    NotIdentifiableError
        Saying how many cells are known within bounds only.
    """
    number = int(are_loose(counts).sum())
    if not number or estimator.startswith("unbiased"):
        return
    about = "one of its cells is" if number == 1 else f"{number} of its cells are"
    raise NotIdentifiableError(
        f"{what} would not keep its level: {about} known within bounds only, because categories were merged or rows dropped, and its "
        "estimates assume what happened within. Ask about conditions that take merged categories together, or for counts, shares, means and "
        "measures, whose ranges hold whatever the bounds allow."
    )


def narrowed(counts: Estimates, other: Estimates) -> Estimates:
    """The same numbers, of which another way to ask gave bounds as well: both hold."""
    one, another = counts.ends(), other.ends()
    low, high = np.maximum(one[0], another[0]), np.minimum(one[1], another[1])
    claims = np.where(low == high, Certainty.EXACT, counts.certainty).astype(np.int8)
    variances = np.where(low == high, 0.0, counts.variances)
    return replace(counts, variances=variances, bounds=known_bounds(low, high), certainty=claims)


def shares_between(part: tuple[Floats, Floats], rest: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """Between what shares lie of parts, each with a rest that shares no row with it; 0 to 1 where both may be nobody.

    Examples
    --------
    Ten to twenty rows beside thirty:

    >>> low, high = shares_between((np.array([10.0]), np.array([20.0])), (np.array([30.0]), np.array([30.0])))
    >>> float(low[0]), float(high[0])
    (0.25, 0.4)
    """

    def share(own: Floats, other: Floats, of_nobody: float) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            found = np.where(np.isinf(own), 1.0, own / (own + other))
        # An unknown number of both leaves everything open.
        is_unknown = np.isnan(found) | (np.isinf(own) & np.isinf(other))
        return np.asarray(np.where(is_unknown, of_nobody, found))

    return share(part[0], rest[1], 0.0), share(part[1], rest[0], 1.0)


@dataclass(frozen=True, eq=False)
class Room:
    """All tables of counts that bounds allow.

    Parameters
    ----------
    low, high
        Of every count, ``(n,)``; alike where it is taken as it is.
    rows
        Between what all of them add up to.
    """

    low: Floats
    high: Floats
    rows: tuple[float, float]

    @classmethod
    def of(cls, counts: Estimates, rows: tuple[float, float] = UNBOUNDED) -> Room:
        """Of counts; what they add up to is known where no count has a chance error."""
        loose = are_loose(counts)
        low, high = (np.where(loose, each, counts.values) for each in counts.ends())
        within = rows if are_certain(counts) else UNBOUNDED
        return cls(low, high, (max(within[0], float(low.sum())), min(within[1], float(high.sum()))))

    @property
    def is_finite(self) -> bool:
        """Whether no count may be anything."""
        return math.isfinite(self.rows[1])

    def furthest(self, slopes: Floats) -> Floats:
        """The table at which a sum with these weights is largest, ``(n,)``.

        Examples
        --------
        Two cells of 0 to 3 and 0 to 4 rows, five in all:

        >>> Room(np.zeros(2), np.array([3.0, 4.0]), (5.0, 5.0)).furthest(np.array([2.0, 1.0])).tolist()
        [3.0, 2.0]
        """
        order = np.argsort(-slopes, kind="stable")
        free = np.minimum(self.high - self.low, self.rows[1] - self.low.sum())[order]
        start = float(self.low.sum())
        wanted = float(free[slopes[order] > 0].sum())
        filled = float(np.clip(wanted, max(self.rows[0] - start, 0.0), self.rows[1] - start))
        before = np.concatenate([[0.0], np.cumsum(free)[:-1]])
        found = self.low.copy()
        found[order] += np.clip(filled - before, 0.0, free)
        return found


def ranges(at: At, room: Room, start: Floats) -> tuple[Floats, Floats]:
    """Between what numbers lie whatever the counts are, ``(k,)`` each; without ends where that cannot be told.

    Parameters
    ----------
    at
        The numbers and their slopes.
    room
        What counts may be.
    start
        Counts to begin at, ``(cells,)``.

    Notes
    -----
    Tables all over the room are looked at. From the one at which a number is largest, the table is looked for that its slopes lead to, and so on
    from there. At any other table the number differs from that at the one found by slopes on the way between them, times
    the way: so as much is added as any slopes that were seen anywhere would gain from there. Of a number that is
    nearly linear that is hardly anything; of one that bends much it is a lot. A number that is undefined somewhere has no ends, and one that
    is infinite there none on that side.
    """
    number = at(start)[0].size
    nothing = np.full(number, -math.inf), np.full(number, math.inf)
    if not room.is_finite:
        return nothing
    seen: list[Seen] = []

    is_free = room.low < room.high

    def look(place: Floats) -> Seen:
        values, slopes = at(place)
        # Along what is known nothing moves: a cell that is surely empty has no slope there either.
        found = Seen(place, values, np.where(is_free, slopes, 0.0))
        if np.isnan(found.values).any():
            raise NoSolutionError("a number is not defined within the bounds.", reason="undefined")
        seen.append(found)
        return found

    ends = np.empty((2, number))
    try:
        for place in _probes(room, start):
            look(place)
        for each in range(number):
            for row, side in enumerate((-1, 1)):
                # Nobody is written without a sign.
                ends[row, each] = side * _most(look, room, seen, each, side) + 0.0
    except NoSolutionError:
        return nothing
    return ends[0], ends[1]


@dataclass(frozen=True, eq=False)
class Seen:
    """Numbers ``(k,)`` and their slopes ``(k, cells)`` at one table."""

    place: Floats
    values: Floats
    slopes: Floats

    def has_slopes(self, each: int) -> bool:
        """Whether one of them goes on smoothly from here: not where it is infinite, or bends up or down without end."""
        return bool(np.isfinite(self.values[each]) and np.isfinite(self.slopes[each]).all())


def _most(look: Callable[[Floats], Seen], room: Room, seen: list[Seen], each: int, side: int) -> float:
    """The most that one number, or with side -1 its opposite, can be."""
    finite = [one for one in seen if math.isfinite(one.values[each])]
    if not finite:
        return math.inf
    best = max(finite, key=lambda one: side * float(one.values[each]))
    for _ in range(MOST_ROUNDS):
        if not best.has_slopes(each):
            break
        following = look(room.furthest(side * best.slopes[each]))
        if not side * (following.values[each] - best.values[each]) > 0:
            break
        best = following
    if any(one.values[each] == side * math.inf for one in seen):
        return math.inf
    slopes = {one.slopes[each].tobytes(): side * one.slopes[each] for one in seen if one.has_slopes(each)}
    gains = [float(own @ (room.furthest(own) - best.place)) for own in slopes.values()]
    if not gains:
        return math.inf
    return side * float(best.values[each]) + max([*gains, 0.0])


def _probes(room: Room, start: Floats) -> Iterator[Floats]:
    """Tables all over the room: corners, all of them where they are few, and places on the way from one to another."""
    yield start
    free = np.flatnonzero(room.low < room.high)
    # Nothing is protected by these draws, and an answer must not change when asked again.
    draw = np.random.default_rng(0)
    before = start
    for _ in range(PROBES):
        corner = room.furthest(draw.standard_normal(start.size))
        yield corner
        yield from _on_the_way(corner, before)
        before = corner
    if free.size > FEW:
        return
    for signs in itertools.product((-1.0, 1.0), repeat=free.size):
        corner = _towards(room, free, np.array(signs))
        yield corner
        for place in range(free.size):
            turned = np.where(np.arange(free.size) == place, -1.0, 1.0) * signs
            yield from _on_the_way(corner, _towards(room, free, turned))


def _towards(room: Room, free: Integers, signs: Floats) -> Floats:
    slopes = np.zeros(room.low.size)
    slopes[free] = signs
    return room.furthest(slopes)


def _on_the_way(corner: Floats, other: Floats) -> Iterator[Floats]:
    """Halfway, and near the corner: where there is hardly anybody a number can change with every row."""
    yield (corner + other) / 2
    yield corner + NEAR * (other - corner)


def beyond(
    ends: tuple[float, float], value: float, between: tuple[float, float], counts: Estimates, target: Target
) -> tuple[float, float]:
    """Ends of a number whose counts lie within bounds: what these allow, and what chance adds besides where there is any.

    Parameters
    ----------
    ends, value
        By chance alone, and the number.
    between
        What the bounds allow.
    counts, target
        What it was computed from, and what the ends are about.
    """
    if target == "table" and are_certain(counts):
        return between
    return between[0] - max(value - ends[0], 0.0), between[1] + max(ends[1] - value, 0.0)


def beyond_box(
    ends: tuple[float, float],
    value: float,
    formula: Formula,
    counts: Estimates,
    rows: tuple[float, float],
    target: Target,
) -> tuple[float, float]:
    """Ends of one number computed by a formula, as :func:`beyond` has them; those so far where no count is within bounds only.

    Parameters
    ----------
    ends, value
        By chance alone, and the number.
    formula
        Of counts.
    counts, rows, target
        What it was computed from, between what they add up to, and what the ends are about.
    """
    if not are_loose(counts).any():
        return ends

    def at(place: Floats) -> tuple[Floats, Floats]:
        with np.errstate(all="ignore"):
            return np.array([float(np.real(formula(place + 0j)))]), differentiate(formula, place)[None, :]

    (low,), (high,) = ranges(at, Room.of(counts, rows), counts.values)
    return beyond(ends, value, (float(low), float(high)), counts, target)


# --------------------------------------------------------------------------------------------------
# Between what means, variances and quantiles lie when counts are known within bounds only.
#
# Each follows from counts of sets of categories. A law knows the bounds of such a set by itself, and they are
# narrower than those of its
# categories added up: where two categories were published as one, the rows of both together are known.


Sets = Callable[[frozenset[int]], tuple[float, float]]
"""The least and the most rows that have one of some categories."""

STEPS = 40
"""Parts of the range of a mean at whose ends a variance is looked for."""


def sets_of(release: Release, name: str, where: str) -> Sets:
    """Bounds of sets of an attribute's categories, as the law has them."""
    among = Predicate.parse(where, release.schema)

    @functools.cache
    def between(codes: frozenset[int]) -> tuple[float, float]:
        if not codes:
            return 0.0, 0.0
        chosen = among & Predicate((Selection(((name, tuple(sorted(codes))),)),))
        asked = tuple(binding(Tabulation(where=each), release.schema) for each in chosen.parts)
        # Bounds need no covariance, which takes most of the time.
        found = answer(release.law.formula(release, asked), asked, "table", largest_covariance=0)
        low, high = found.ends()
        return float(low.sum()), float(high.sum())

    return between


def sets_of_cells(counts: Estimates) -> Sets:
    """Bounds of sets of categories from those of each of them."""
    low, high = counts.ends()

    def between(codes: frozenset[int]) -> tuple[float, float]:
        places = list(codes)
        return float(low[places].sum()), float(high[places].sum())

    return between


def mean_between(sets: Sets, codes: Iterable[int], scores: Floats) -> tuple[float, float]:
    """The least and the most that a mean of scores can be.

    Parameters
    ----------
    sets
        Bounds of sets of codes.
    codes, scores
        Of the categories that count, and what for.

    Notes
    -----
    A mean can be t when the sum of what scores are above t, less what they are below it, can be 0. That sum is one over thresholds, of rows at
    or beyond each: it is largest with as many rows as may be beyond thresholds above t, and as few as must be beyond those below.
    It is linear in t between two scores.

    Examples
    --------
    Ten rows of 0 or 1, of which two to seven are 1:

    >>> def sets(codes):
    ...     return {0: (0, 0), 1: (3, 8), 2: (2, 7), 3: (10, 10)}[sum(1 << code for code in codes)]
    >>> [round(each, 9) for each in mean_between(sets, (0, 1), np.array([0.0, 1.0]))]
    [0.2, 0.7]
    """
    chosen = list(codes)
    return -_largest_mean(sets, chosen, -scores), _largest_mean(sets, chosen, scores)


def _largest_mean(sets: Sets, codes: list[int], scores: Floats) -> float:
    levels = np.unique(scores)
    at = {
        level: frozenset(code for code, own in zip(codes, scores, strict=True) if own == level)
        for level in levels
    }
    above = np.array(
        [sets(frozenset().union(*(at[each] for each in levels[place:])))[1] for place in range(levels.size)]
    )
    below = np.array(
        [
            sets(frozenset().union(*(at[each] for each in levels[: place + 1])))[0]
            for place in range(levels.size)
        ]
    )
    steps = np.diff(levels)
    sums = np.array(
        [
            float((steps[place:] * above[place + 1 :]).sum()) - float((steps[:place] * below[:place]).sum())
            for place in range(levels.size)
        ]
    )
    reached = int(np.flatnonzero(sums >= 0)[-1])
    if reached == levels.size - 1:
        return float(levels[-1])
    if math.isinf(sums[reached]):
        return float(levels[reached + 1])
    return float(levels[reached] + steps[reached] * sums[reached] / (sums[reached] - sums[reached + 1]))


def variance_between(sets: Sets, codes: Iterable[int], scores: Floats) -> tuple[float, float]:
    """The least and the most that a variance of scores can be.

    Notes
    -----
    A variance is the least mean square around any number, and the mean square around one that is at most h from the mean is at most
    h squared more. So every number gives an upper end, and numbers along the range of the mean a lower one.
    """
    from scipy.optimize import minimize_scalar

    chosen = list(codes)

    def squares(center: float) -> tuple[float, float]:
        return mean_between(sets, chosen, np.square(scores - center))

    low, high = mean_between(sets, chosen, scores)
    if low == high:
        return squares(low)
    centers, half = np.linspace(low, high, STEPS + 1), (high - low) / STEPS / 2
    least = max(min(squares(each)[0] for each in centers) - half**2, 0.0)
    most = minimize_scalar(
        lambda each: squares(each)[1], bounds=(scores.min(), scores.max()), method="bounded"
    )
    return least, float(most.fun)


def quantile_between(
    sets: Sets, codes: Iterable[int], edges: Floats, share: float, slack: float
) -> tuple[float, float]:
    """The least and the most that a quantile of bins can be, rows within a bin being spread evenly.

    Parameters
    ----------
    sets, codes
        Bounds of sets of codes, and the bins in their order.
    edges
        One more than bins.
    share
        Of rows below.
    slack
        By how much the share below may differ from it by chance.
    """
    least, most = _shares_up_to(sets, list(codes))
    # The share below a number is at most the line through the most that it can be at the edges, and at least that through the least.
    first = _crossing(most, edges, share - slack, is_first=True)
    return first, _crossing(least, edges, share + slack, is_first=False)


def category_between(sets: Sets, codes: Iterable[int], share: float, slack: float) -> tuple[int, int]:
    """First and last place that the first category with at least a share of the rows up to it can have."""
    least, most = _shares_up_to(sets, list(codes))
    last = least.size - 2
    return (
        min(int(np.argmax(most[1:] >= share - slack)) if (most[1:] >= share - slack).any() else last, last),
        min(int(np.argmax(least[1:] >= share + slack)) if (least[1:] >= share + slack).any() else last, last),
    )


def _shares_up_to(sets: Sets, codes: list[int]) -> tuple[Floats, Floats]:
    """The least and the most that shares of the rows up to each category can be, nobody first, ``(categories + 1,)`` each."""
    upto = [sets(frozenset(codes[:place])) for place in range(len(codes) + 1)]
    beyond = [sets(frozenset(codes[place:])) for place in range(len(codes) + 1)]
    part, rest = (tuple(np.array(each).T) for each in (upto, beyond))
    low, high = shares_between((part[0], part[1]), (rest[0], rest[1]))
    low[0], high[0], low[-1], high[-1] = 0.0, 0.0, 1.0, 1.0
    return low, high


def _crossing(shares: Floats, edges: Floats, share: float, *, is_first: bool) -> float:
    """Where a line through shares at edges first reaches one, or last has not passed it."""
    rising = np.maximum.accumulate(shares)
    if share <= 0 or share >= 1:
        return float(edges[0] if share <= 0 else edges[-1])
    place = int(np.searchsorted(rising, share, side="left" if is_first else "right"))
    place = min(max(place, 1), edges.size - 1)
    span = rising[place] - rising[place - 1]
    part = (share - rising[place - 1]) / span if span > 0 else (0.0 if is_first else 1.0)
    return float(edges[place - 1] + min(max(part, 0.0), 1.0) * (edges[place] - edges[place - 1]))
