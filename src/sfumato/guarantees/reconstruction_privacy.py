"""Reconstruction privacy: a group's true frequency cannot be estimated accurately (exact tails and Chernoff bounds)."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from sfumato.arrays import Booleans, Floats, Integers
from sfumato.errors import ParameterError, TooLargeError
from sfumato.guarantees.base import Guarantee
from sfumato.immutable import LARGEST_ERROR, MOST_ROWS, SMALLEST_ERROR
from sfumato.text import counted, percent, percent_as_stated

# --------------------------------------------------------------------------------------------------
# How far the frequency reconstructed from a group can be off, exactly and by Chernoff's bound.
#
# A group has ``rows`` rows of which ``count`` carry a value; its frequency is f = count / rows. Under uniform
# perturbation with retention p over m categories the value is published by each of its own rows with
# probability q1 = p + (1-p)/m and by each other row with q0 = (1-p)/m. The number of published rows with
# the value, O, is the sum of two binomials, and the reconstructed frequency is
# ``F = (O / rows - q0) / p`` (Han 2016, lemma 3).


LARGEST_EXACT_SIZE = 500
"""Where the search for an exact cap stops. A smaller cap than needed only protects more."""

MOST_OUTCOMES = 10_000_000
"""Outcomes of a binomial that are weighed one by one: some hundred megabytes."""

DEVIATIONS_KEPT = 12
"""Standard deviations beyond which a binomial's probabilities are below 1e-30 and left out."""

ROUNDING = 1e-9
"""A published number this close to an error's edge counts as lying on it, hence not beyond it."""

LEFT_BY_ROUNDING = 1e-12
"""What both tails leave is nothing up to this."""


class Tails(NamedTuple):
    """Probabilities that a reconstructed frequency is more than the relative error too low or too high.

    Examples
    --------
    >>> Tails(0.25, 0.5).within
    0.25
    """

    lower: float
    upper: float

    @property
    def within(self) -> float:
        """Probability that it is off by the relative error at most, either way."""
        left = 1 - self.lower - self.upper
        # Where both tails are all there is, rounding leaves some 1e-16.
        return left if left > LEFT_BY_ROUNDING else 0.0


def publishing_probabilities(retention: float, size: int) -> tuple[float, float]:
    """Probabilities q1 and q0 that a row publishes a value which is, or is not, its own.

    Examples
    --------
    >>> publishing_probabilities(0.5, 2)
    (0.75, 0.25)
    """
    elsewhere = (1 - retention) / size
    return retention + elsewhere, elsewhere


def chernoff_cap(
    frequencies: npt.ArrayLike,
    *,
    retention: float,
    size: int,
    relative_error: float,
    error_probability: float,
) -> Floats:
    """Rows up to which Chernoff's bound on the lower tail is at least the error probability (s_g).

    Parameters
    ----------
    frequencies
        Frequencies f of the value, above 0; any shape.

    Returns
    -------
    numpy.ndarray
        The shape of ``frequencies``; real numbers, falling in the frequency.

    References
    ----------
    Han (2016), corollary 6 and eq. 4.9: ``-2 (f p + (1-p)/m) ln delta / (lambda p f)^2``.

    Examples
    --------
    >>> chernoff_cap([0.5, 1.0], retention=0.5, size=2, relative_error=0.3, error_probability=0.3).round(1)
    array([214. ,  80.3])
    """
    f = np.asarray(frequencies, dtype=np.float64)
    _, elsewhere = publishing_probabilities(retention, size)
    expected_share = f * retention + elsewhere
    return np.asarray(
        -2 * expected_share * math.log(error_probability) / (relative_error * retention * f) ** 2
    )


def normal_cap(
    frequencies: npt.ArrayLike,
    *,
    retention: float,
    size: int,
    relative_error: float,
    error_probability: float,
) -> Floats:
    """Rows up to which the normal approximation of the lower tail is at least the error probability.

    Never above half: a normal error is too low with a probability below 1/2, so for an error probability of 1/2 or
    more no row at all is allowed. At few rows the approximation is rough; :func:`exact_tails` has the probability.

    Parameters
    ----------
    frequencies
        Frequencies f of the value, above 0; any shape.

    Returns
    -------
    numpy.ndarray
        The shape of ``frequencies``; real numbers, falling in the frequency.

    Notes
    -----
    The variance of a reconstructed frequency is ``(f q1 (1-q1) + (1-f) q0 (1-q0)) / (n p^2)``; it is too low by
    ``lambda f`` with probability delta where that many are z standard deviations (theorem 4 lets any bound be plugged in).

    Examples
    --------
    >>> normal_cap([0.5, 1.0], retention=0.5, size=2, relative_error=0.3, error_probability=0.3).round(1)
    array([9.2, 2.3])
    """
    from scipy.special import ndtri

    f = np.asarray(frequencies, dtype=np.float64)
    own, elsewhere = publishing_probabilities(retention, size)
    variance = f * own * (1 - own) + (1 - f) * elsewhere * (1 - elsewhere)
    deviations = max(0.0, -float(ndtri(error_probability)))
    return np.asarray(deviations**2 * variance / (relative_error * retention * f) ** 2)


def largest_relative_error(retention: float, size: int, *, frequency: float = 1.0) -> float:
    """End of the range of Corollary 6: beyond it no reconstruction can be that much too low.

    The reconstructed frequency is at least ``-(1-p)/(m p)``, so its relative error is at least
    ``-(1 + (1-p)/(m p f))``.

    Examples
    --------
    >>> round(largest_relative_error(0.5, 2), 12)
    1.5
    """
    return 1 + (1 - retention) / (size * retention * frequency)


def exact_tails(rows: int, count: int, *, retention: float, size: int, relative_error: float) -> Tails:
    """True probabilities that the frequency reconstructed from a group is too low or too high.

    Parameters
    ----------
    rows
        Rows of the group.
    count
        Those that carry the value; at least 1.

    Examples
    --------
    >>> tails = exact_tails(214, 107, retention=0.5, size=2, relative_error=0.3)
    >>> round(tails.lower, 4), round(tails.within, 3)
    (0.0045, 0.991)
    """
    own, elsewhere = publishing_probabilities(retention, size)
    first_own, own_probabilities = _binomial(count, own)
    first_other, other_probabilities = _binomial(rows - count, elsewhere)
    probabilities = np.convolve(own_probabilities, other_probabilities)
    published = first_own + first_other + np.arange(probabilities.size)
    # F < f (1 - lambda) is O < rows q0 + p count (1 - lambda), and alike above.
    low = rows * elsewhere + retention * count * (1 - relative_error)
    high = rows * elsewhere + retention * count * (1 + relative_error)
    return Tails(
        lower=float(probabilities[published < low - ROUNDING].sum()),
        upper=float(probabilities[published > high + ROUNDING].sum()),
    )


def _binomial(trials: int, probability: float) -> tuple[int, Floats]:
    """First outcome and probabilities of a binomial, without the outcomes that hardly ever come."""
    mean = trials * probability
    reach = DEVIATIONS_KEPT * (1 + math.sqrt(mean * (1 - probability)))
    if reach > MOST_OUTCOMES:
        raise TooLargeError(
            f"groups of about {trials:,} rows have more outcomes than can be weighed one by one. Raise retention or "
            "relative_error, so that smaller groups keep the promise."
        )
    first, last = max(0, math.floor(mean - reach)), min(trials, math.ceil(mean + reach))
    outcomes = np.arange(first, last)
    # Each probability from the one before: P(k + 1) / P(k) = (n - k) p / ((k + 1) (1 - p)).
    steps = np.log((trials - outcomes) * probability / ((outcomes + 1) * (1 - probability)))
    logarithms = np.concatenate([[0.0], np.cumsum(steps)])
    weights = np.exp(logarithms - logarithms.max())
    return first, np.asarray(weights / weights.sum())


def lower_tails_by_size(*, retention: float, size: int, relative_error: float) -> Iterator[Floats]:
    """Exact lower tails of groups of 1, 2, 3, ... rows, for every number of rows with the value.

    Yields
    ------
    numpy.ndarray
        ``(rows + 1,)``, by the number of rows with the value. For none of them the tail is set to 1: a
        value that nobody has cannot be reconstructed with a relative error.

    Examples
    --------
    >>> one_row = next(lower_tails_by_size(retention=0.5, size=2, relative_error=0.3))
    >>> one_row.tolist()
    [1.0, 0.25]
    """
    own, elsewhere = publishing_probabilities(retention, size)
    # probabilities[count, published]; one more row is one more Bernoulli draw in every line.
    probabilities = np.ones((1, 1))
    for rows in range(1, LARGEST_EXACT_SIZE + 1):
        grown = np.zeros((rows + 1, rows + 1))
        for lines, previous, chance in (
            (slice(0, rows), probabilities, elsewhere),
            (slice(rows, rows + 1), probabilities[-1:], own),
        ):
            grown[lines, :rows] += previous * (1 - chance)
            grown[lines, 1:] += previous * chance
        probabilities = grown
        count = np.arange(rows + 1)
        edge = rows * elsewhere + retention * count * (1 - relative_error)
        last_below = np.ceil(edge - ROUNDING).astype(np.int64) - 1
        # Where even no published row is not below the edge, the place is -1 and what stands there is not used.
        at_most = np.cumsum(probabilities, axis=1)[count, last_below]
        tails = np.where(last_below >= 0, at_most, 0.0)
        tails[0] = 1.0
        yield tails


@functools.cache
def exact_uniform_cap(*, retention: float, size: int, relative_error: float, error_probability: float) -> int:
    """Last size such that no group up to it, however composed, has a lower tail below the error probability.

    Unlike Chernoff's bound, the exact tail does not fall with the frequency everywhere, so frequency 1
    alone would not do: every number of rows with the value is tried at every size.

    Examples
    --------
    >>> exact_uniform_cap(retention=0.2, size=10, relative_error=0.3, error_probability=0.3)
    3
    >>> exact_uniform_cap(retention=0.5, size=2, relative_error=0.3, error_probability=0.3)
    0
    """
    last = 0
    for tails in lower_tails_by_size(retention=retention, size=size, relative_error=relative_error):
        if tails.min() < error_probability:
            break
        last += 1
    return last


def exact_caps(
    counts: npt.NDArray[Any],
    group_starts: Integers,
    *,
    retention: float,
    size: int,
    relative_error: float,
    error_probability: float,
) -> Integers:
    """Last size, for each group, up to which samples of its composition keep the exact lower tail.

    A sample of n rows holds ``n f`` rows of a value, rounded down or up; both are tried, for every value.

    Parameters
    ----------
    counts
        ``(cells,)``, rows of each occupied value, group after group.
    group_starts
        ``(groups,)``, where each group's cells begin.

    Returns
    -------
    numpy.ndarray
        ``(groups,)``.

    Examples
    --------
    >>> options = {"retention": 0.2, "size": 10, "relative_error": 0.3, "error_probability": 0.3}
    >>> exact_caps(np.array([90, 10, 50]), np.array([0, 2]), **options).tolist()
    [3, 3]
    """
    totals = np.add.reduceat(counts, group_starts)
    lengths = np.diff(np.append(group_starts, counts.size))
    caps = np.zeros(group_starts.size, dtype=np.int64)
    group_of_cell = np.repeat(np.arange(group_starts.size), lengths)
    alive = np.arange(counts.size)
    tails_by_size = lower_tails_by_size(retention=retention, size=size, relative_error=relative_error)
    for rows, tails in enumerate(tails_by_size, start=1):
        exact, remainder = np.divmod(rows * counts[alive], totals[group_of_cell[alive]])
        smaller = np.minimum(tails[exact], tails[exact + (remainder > 0)])
        failed = group_of_cell[alive[smaller < error_probability]]
        caps[np.unique(group_of_cell[alive])] = rows
        caps[failed] = rows - 1
        is_failed = np.zeros(group_starts.size, dtype=bool)
        is_failed[failed] = True
        alive = alive[~is_failed[group_of_cell[alive]]]
        if not alive.size:
            return caps
    return caps


# --------------------------------------------------------------------------------------------------
# Reconstruction privacy: what is true of a person's own group cannot be reconstructed accurately.


Bound = Literal["chernoff", "exact", "normal"]
Cap = Literal["uniform", "group"]

PROBABILITIES: dict[Bound, str] = {
    "chernoff": "Chernoff's bound on the probability",
    "exact": "the probability",
    "normal": "the normal approximation of the probability",
}
"""What is at least the error probability."""


class ReconstructionPrivacy(Guarantee):
    """Nobody can show that a reconstruction of a personal group is off only rarely.

    Promise
        In every group of rows equal on the quasi-identifiers, and for every value of the sensitive
        attribute, the frequency reconstructed from the group is too low by more than ``relative_error``
        (lambda) with a probability whose bound is at least ``error_probability`` (delta).
        ``bound="chernoff"`` is the paper's promise: *Chernoff's bound* on that probability is at least
        delta. ``bound="exact"``: the probability itself is. ``bound="normal"``: its normal approximation is, which is no
        bound, and rough at the few rows that it allows.
    Against whom
        Someone who knows a person's quasi-identifiers and that the person is in the table, reconstructs
        the person's group from the release, and knows nothing else of how the attributes go together.
    Weaknesses
        Chernoff's bound is far above the true probability: at the cap for 0.3 and 0.3 a reconstruction
        is within 30 % with a probability of 88 % to nearly 100 %, by retention, categories and frequency. Unions of groups are meant to be
        reconstructed well; where groups are alike, a union tells about each of them. A relative error
        is a weak notion where nearly all of a group have the value.

    Notes
    -----
    The paper's definition names both tails. Chernoff's bound on the lower one is the smaller, so the paper
    tests that one alone, and so do we for the exact tail: the exact upper tail is 0 wherever the frequency
    cannot be overestimated by lambda at all, as with frequencies near 1.

    Tails are those of the rows used, relative to the frequency among them. A sample's frequency is its group's up
    to the rounding of one row, so relative to the group's own the tail may fall a little below delta.

    References
    ----------
    Han (2016), definition 8, corollaries 5 and 6, eq. 4.9.

    Examples
    --------
    >>> promise = ReconstructionPrivacy(
    ...     sensitive="job", groups=("age", "sex"), retention=0.5, size=10, relative_error=0.3, error_probability=0.3
    ... )
    >>> promise.uniform_cap
    58
    """

    guarantee: Literal["reconstruction-privacy"] = "reconstruction-privacy"
    sensitive: str
    groups: tuple[str, ...]
    retention: Annotated[float, Field(ge=SMALLEST_ERROR, lt=1)]
    size: Annotated[int, Field(ge=2, le=10_000_000)]
    relative_error: Annotated[float, Field(ge=SMALLEST_ERROR, le=LARGEST_ERROR)]
    error_probability: Annotated[float, Field(gt=0, lt=1)]
    bound: Bound = "chernoff"
    cap: Cap = "uniform"

    protected_unit: ClassVar[str] = "the sensitive value of one person, as told by the person's own group"
    neighbours: ClassVar[str] = (
        "none: the promise is about how inaccurate a reconstruction is, not about two tables"
    )
    attacker: ClassVar[str] = (
        "knows the person's quasi-identifiers and that the person is in the table; has no outside knowledge "
        "of how they go together with the sensitive attribute"
    )
    reference: ClassVar[str] = "Han (2016), definition 8 and corollary 6"

    @model_validator(mode="after")
    def _check(self) -> Self:
        require_achievable(**self._parameters, bound=self.bound)
        return self

    @property
    def _parameters(self) -> dict[str, Any]:
        return {
            "retention": self.retention,
            "size": self.size,
            "relative_error": self.relative_error,
            "error_probability": self.error_probability,
        }

    @property
    def uniform_limit(self) -> float:
        """Size up to which every group has the promise, whatever its composition; not rounded.

        Chernoff's cap and the normal one fall with the largest frequency, so their value at frequency 1 is below all others.
        """
        if self.bound == "exact":
            return float(exact_uniform_cap(**self._parameters))
        return float(self.caps_at(1.0))

    @property
    def uniform_cap(self) -> int:
        """Rows up to which every group has the promise, whatever its composition."""
        return int(min(self.uniform_limit, MOST_ROWS))

    def group_caps(self, counts: npt.NDArray[Any], group_starts: Integers) -> Floats:
        """Rows up to which each group has the promise, by its own composition (s_g); private.

        Parameters
        ----------
        counts
            ``(cells,)``, rows of each occupied value, group after group.
        group_starts
            ``(groups,)``, where each group's cells begin.
        """
        if self.bound == "exact":
            return exact_caps(counts, group_starts, **self._parameters).astype(np.float64)
        largest = np.maximum.reduceat(counts, group_starts)
        totals = np.add.reduceat(counts, group_starts)
        return self.caps_at(largest / totals)

    def caps_at(self, frequencies: npt.ArrayLike) -> Floats:
        """Chernoff's cap for groups of these largest frequencies (s_g), or the normal one, in their shape."""
        return (normal_cap if self.bound == "normal" else chernoff_cap)(frequencies, **self._parameters)

    def are_violated(self, counts: npt.NDArray[Any], group_starts: Integers) -> Booleans:
        """Which groups would break the promise if all their rows were perturbed and published, ``(groups,)``."""
        return np.asarray(np.add.reduceat(counts, group_starts) > self.group_caps(counts, group_starts))

    def true_tails(self, rows: int, frequency: float) -> Tails:
        """Exact tails of a group of that many rows, the count rounded to a whole number from 1 on."""
        count = min(rows, max(1, round(rows * frequency)))
        options = {key: value for key, value in self._parameters.items() if key != "error_probability"}
        return exact_tails(rows, count, **options)

    @property
    def sentence(self) -> str:
        """The promise with its numbers, and how much the numbers are worth."""
        tails = self.true_tails(self.uniform_cap, 1.0)
        kind = PROBABILITIES[self.bound]
        rows = counted(self.uniform_cap, "row")
        sizes = (
            f"at most {rows} of any group {'is' if self.uniform_cap == 1 else 'are'} used"
            if self.cap == "uniform"
            else f"each group is cut to a size of its own, {rows} or more"
        )
        return (
            f"({self.relative_error:.4g}, {self.error_probability:.4g})-reconstruction privacy of {self.sensitive} in "
            f"groups equal on {', '.join(self.groups) or 'nothing (all rows)'}: {kind} that a reconstructed frequency is more than "
            f"{percent(self.relative_error)} too low is at least {self.error_probability:.4g}; {sizes}. True probabilities at "
            f"{rows}, all with one value: too low {tails.lower:.3g}, too high {tails.upper:.3g}, "
            f"within {percent(self.relative_error)} {tails.within:.3g}."
        )

    @property
    def plain_words(self) -> str:
        """The promise for a reader who is not a statistician."""
        within = self.true_tails(self.uniform_cap, 1.0).within
        return (
            f"Who knows a person's {' and '.join(self.groups) or 'public values'} can estimate how common each {self.sensitive} is among the "
            f"people alike, but from no more than a limited number of randomly changed rows. Where all of them have the "
            f"same {self.sensitive}, that estimate still comes within {percent(self.relative_error)} of the truth with "
            f"probability {percent(within)}."
        )


def repeated(promises: Sequence[ReconstructionPrivacy]) -> str:
    """How often a group that all share a value is reconstructed well from one release and from several.

    Draws are fresh in each, so that m alike are as many perturbed rows as one of a group of m times the size. Of releases
    that are not alike an attacker can take those that tell most and leave the others: what they give is an upper end.
    """
    alike = [
        (each, sum(each.under(other.given) == other.under(each.given) for other in promises))
        for each in promises
    ]
    found = [
        (1 - each.true_tails(each.uniform_cap * number, 1.0).within, each, number) for each, number in alike
    ]
    together, best, number = min(found, key=lambda each: each[0])
    once = 1 - best.true_tails(best.uniform_cap, 1.0).within
    is_all = number == len(promises)
    return (
        f"Of a group of {best.uniform_cap} rows that all share a value, one release gives a frequency that is more than "
        f"{percent_as_stated(best.relative_error)} off with probability {once:.2g}, and the mean over {len(promises)} with "
        f"{'' if is_all else 'probability at most '}{together:.2g}."
    )


def require_achievable(
    *, retention: float, size: int, relative_error: float, error_probability: float, bound: Bound
) -> None:
    """Refuse numbers for which no cap exists.

    Raises
    ------
    ParameterError
        When the relative error is beyond the range of Corollary 6, or not even one row may be published.
    """
    largest = largest_relative_error(retention, size)
    if relative_error > largest:
        raise ParameterError(
            f"relative_error must lie above 0 and at most 1 + (1 - retention) / (categories * retention) = "
            f"{largest:.6g} for retention {retention:.4g} and {size} categories (corollary 6), got {relative_error:.6g}. "
            "A reconstruction is never that much too low; choose a smaller one, such as 0.3.",
            parameter="relative_error",
        )
    numbers: dict[str, Any] = {
        "retention": retention,
        "size": size,
        "relative_error": relative_error,
        "error_probability": error_probability,
    }
    caps: dict[Bound, Callable[..., Any]] = {
        "chernoff": partial(chernoff_cap, 1.0),
        "exact": exact_uniform_cap,
        "normal": partial(normal_cap, 1.0),
    }
    cap = float(caps[bound](**numbers))
    if cap < 1:
        raise ParameterError(
            f"the cap for a group is below one row ({cap:.3g}) at retention {retention:.4g}, {size} categories, "
            f"relative_error {relative_error:.4g}, error_probability {error_probability:.4g} and bound {bound!r}; it must be "
            "at least 1. Lower the retention, the relative_error or the error_probability.",
            parameter="error_probability",
        )
