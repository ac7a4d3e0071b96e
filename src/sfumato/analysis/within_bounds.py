"""What numbers can be when counts are known within bounds only, such as those of generalized categories or of rows left out.

A law says between what such counts lie for certain. Where between them needs an assumption, and a standard error that rests on it
says nothing about how wrong it is; so a range has to hold whatever the bounds allow.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from sfumato.errors import NoSolutionError, NotIdentifiableError
from sfumato.laws import Target
from sfumato.values.arrays import Booleans, Floats
from sfumato.values.certainty import Certainty
from sfumato.values.estimates import Estimates, known_bounds

UNBOUNDED = (-math.inf, math.inf)

MOST_ROUNDS = 6
"""Steps from one corner to the next; a number that is nearly linear between the bounds needs one or two."""

MOST_PROBES = 40
"""Places at which slopes are compared."""

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
    return replace(counts, bounds=known_bounds(low, high), certainty=claims)


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
    From the start the table is looked for at which the number is largest by its slopes, then again from there. The number at any other
    table differs from that at the one found by some slopes on the way between them, times the way: so as much is added as any
    slopes that were seen at other places would gain there. Of a number that goes up or down with every count that is nothing.
    """
    number = at(start)[0].size
    nothing = np.full(number, -math.inf), np.full(number, math.inf)
    if not room.is_finite:
        return nothing
    seen: list[Floats] = []

    def look(place: Floats) -> tuple[Floats, Floats]:
        values, slopes = at(place)
        if not (np.isfinite(values).all() and np.isfinite(slopes).all()):
            raise NoSolutionError("a number is not defined within the bounds.", reason="undefined")
        if len(seen) < MOST_PROBES:
            seen.append(slopes)
        return values, slopes

    try:
        begin = look(start)
        found = [[_climbed(look, room, begin, each, side) for each in range(number)] for side in (-1.0, 1.0)]
    except NoSolutionError:
        return nothing
    ends = np.empty((2, number))
    for row, side in enumerate((-1.0, 1.0)):
        for each in range(number):
            value, place = found[row][each]
            gains = [side * slopes[each] @ (room.furthest(side * slopes[each]) - place) for slopes in seen]
            ends[row, each] = value + side * max(*gains, 0.0)
    return ends[0], ends[1]


def _climbed(
    look: At, room: Room, begin: tuple[Floats, Floats], each: int, side: float
) -> tuple[float, Floats]:
    """The most, or the least, of one number that steps from table to table reach, and where."""
    (values, slopes), best, place = begin, -math.inf, None
    for _ in range(MOST_ROUNDS):
        following = room.furthest(side * slopes[each])
        values, slopes = look(following)
        if place is not None and side * values[each] <= best + 1e-12 * abs(best):
            break
        best, place = side * float(values[each]), following
    assert place is not None
    return side * best, place


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
