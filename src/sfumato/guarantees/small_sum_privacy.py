"""Guarantees of SPLU-Gen: small sums are wrong, large sums right, with stated probabilities; odds of one row."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from sfumato.arrays import Floats, Integers
from sfumato.errors import ParameterError
from sfumato.guarantees.base import Guarantee
from sfumato.immutable import LARGEST_ERROR, MOST_ROWS, SMALLEST_ERROR
from sfumato.text import percent

# --------------------------------------------------------------------------------------------------
# Promises about values drawn from groups of decoys: which draws can tell the same thing about a person.


Gamma = Annotated[int, Field(strict=True, ge=2, le=1_000_000)]


class DecoyPromise(Guarantee):
    """A promise that groups of decoys give, about attributes that may tell each other.

    Parameters
    ----------
    gamma_by_attribute
        Rows of a group, for each attribute that was drawn.
    smallest_count
        Rows that every published value is held by, at least: rows of rarer ones were left out.
    together
        Attributes that were drawn as one: a row shows all of them from one member of its group.
    independent
        Attributes that the custodian declares to tell nothing of the others. All the rest is taken to be tied: where
        a drug tells the disease, two draws speak of one fact.
    """

    gamma_by_attribute: Annotated[dict[str, Gamma], Field(min_length=1)]
    smallest_count: Annotated[int, Field(strict=True, ge=1, le=MOST_ROWS)] = 1
    together: tuple[str, ...] = ()
    independent: tuple[str, ...] = ()

    def tied_with(self, attribute: str) -> tuple[str, ...]:
        """One attribute of each draw that can speak of the attribute's value, itself first.

        Examples
        --------
        >>> from sfumato.guarantees.small_sum_privacy import SmallSumPrivacy
        >>> gammas = {"drug": 5, "disease": 5, "ward": 5}
        >>> promise = SmallSumPrivacy(gamma_by_attribute=gammas, relative_error=0.3, largest_small_count=3)
        >>> promise.model_copy(update={"independent": ("ward",)}).tied_with("disease")
        ('disease', 'drug')
        """
        if attribute in self.independent:
            return (attribute,)
        draws = dict.fromkeys(
            self._draw_of(name) for name in self.gamma_by_attribute if name not in self.independent
        )
        return (attribute, *(each for each in draws if each != self._draw_of(attribute)))

    def _draw_of(self, attribute: str) -> str:
        """The first attribute that shares its draw."""
        return self.together[0] if attribute in self.together else attribute

    @property
    def declarations(self) -> str:
        """What the numbers rest on besides the draws, as the end of a sentence."""
        parts = []
        if self.independent:
            names = " and ".join(self.independent)
            parts.append(
                f"if {names} {'is' if len(self.independent) == 1 else 'are'} independent of the other sensitive "
                "attributes, as the custodian declares"
            )
        if any(len(self.tied_with(name)) > 1 for name in self.gamma_by_attribute):
            parts.append("attributes that may tell each other counted as such")
        return "".join(f"; {each}" for each in parts)


# --------------------------------------------------------------------------------------------------
# The odds factor: what a row that shows a value says about the person whose row it is.


class OddsFactor(DecoyPromise):
    """Seeing that a row shows a value multiplies the odds that its person holds it by a known factor.

    Promise
        A row shows the value y that it holds with probability 1/gamma. The rows that hold other values show y with
        probability f (gamma - 1) / (gamma (N - f)) on average, exactly and for every way of making groups, if f of the
        N published rows hold y: they fill the other places of the f groups that hold it. Seeing y thus multiplies the
        odds of holding y by (N - f) / (f (gamma - 1)): more for rarer values, at most the factor of the smallest count.
    Against whom
        Anyone who sees the person's published row and believes anything about whether the person holds y, and who
        takes the values that the person may hold instead to be as frequent as in the table.
    Weaknesses
        A factor is no probability: where the others of a public group hold y, the odds are high before the row is
        seen, and then nearly certain. The plan and the attack ``small-sum`` show the worst groups. Someone who knows which
        one other value u it would be instead has the factor T(y, y) / T(u, y) of the law's matrix, which the published
        counts give and which has no bound where another value is in every group. Someone who knows that nobody else holds y
        is told by any row that shows it. Draws of tied attributes multiply.

    References
    ----------
    Derived here; the matrix T from the conditional Poisson law of uniformly random groups.

    Examples
    --------
    >>> promise = OddsFactor(gamma_by_attribute={"disease": 10})
    >>> round(promise.factor_on_average("disease", 8, 4_000), 1)
    55.4
    >>> promise.formula("disease")
    '(N - 1) / 9'
    """

    guarantee: Literal["odds-factor"] = "odds-factor"

    protected_unit: ClassVar[str] = "the sensitive value of one row"
    neighbours: ClassVar[str] = (
        "two tables with the same number of rows for each value, in which the person holds the value or another does"
    )
    attacker: ClassVar[str] = (
        "sees the person's published row, has any belief about whether the person holds the value, and takes the other "
        "values to be as frequent as in the table"
    )
    reference: ClassVar[str] = "derived in docs/methods/splu-gen.md; exact for every partition"

    def factor_on_average(self, attribute: str, count: int, rows: int) -> float:
        """By what seeing a value multiplies the odds of holding it, over the values that may be held instead.

        Parameters
        ----------
        attribute
            One that was drawn.
        count, rows
            Published rows that hold the value, and published rows.
        """
        return odds_factor(count, rows, self.gamma_by_attribute[attribute])

    def formula(self, attribute: str) -> str:
        """The factor of a value that as few rows hold as can, in the number N of published rows."""
        others = self.smallest_count * (self.gamma_by_attribute[attribute] - 1)
        return f"(N - {self.smallest_count})" + (f" / {others}" if others > 1 else "")

    def largest(self, attribute: str, rows: int) -> float:
        """The factor where every draw that can speak of the value shows it: the product over tied attributes."""
        tied = self.tied_with(attribute)
        return math.prod(self.factor_on_average(name, min(self.smallest_count, rows), rows) for name in tied)

    @property
    def sentence(self) -> str:
        """The promise with its numbers."""
        parts = ", ".join(
            f"{name} {' times '.join(self.formula(each) for each in self.tied_with(name))}"
            for name in self.gamma_by_attribute
        )
        return (
            "odds factor: a row that shows a sensitive value multiplies the odds that its person holds it by "
            "(N - f) / (f (gamma - 1)) for a value that f of the N published rows hold, so at most by: "
            f"{parts}{self.declarations}. It is no probability: in a group whose other members hold the value the odds are "
            "high already."
        )

    @property
    def plain_words(self) -> str:
        """The promise for a reader who is not a statistician."""
        few = "one person has" if self.smallest_count == 1 else f"{self.smallest_count} people have"
        name = next(iter(self.gamma_by_attribute))
        number = 10_000
        return (
            "A person's published value makes it more likely that the person has it: the rarer the value, the more. If "
            f"{few} it among {number:,}, the odds grow up to {self.largest(name, number):,.0f} times. Where most others of "
            "the same public group have it, that is near certainty."
        )


def odds_factor(count: float, rows: float, gamma: int) -> float:
    """``(N - f) / (f (gamma - 1))``: 1/gamma over the average chance that a row of another value shows this one.

    The f groups that hold the value have f (gamma - 1) other places, each of which shows it with probability 1/gamma;
    N - f rows share these. It is 1 where the value is in every group: showing it then says nothing.

    Examples
    --------
    >>> odds_factor(8, 4_000, 10) == 3_992 / 72
    True
    """
    return (rows - count) / (count * (gamma - 1))


# --------------------------------------------------------------------------------------------------
# Small-sum privacy: counts of few people come out wrong with a stated probability.


Boundary = Literal["accurate", "wrong"]
"""What an answer exactly ``relative_error`` away counts as.

The paper's Lemma 2 counts it as accurate, which promises less; its definitions count it as wrong."""


class SmallSumPrivacy(DecoyPromise):
    """The published count of a rare sensitive value is wrong by ``relative_error`` with known probability.

    Promise
        A sensitive value held by 1 to ``largest_small_count`` rows is published in a number of rows that
        is off by more than ``relative_error`` times its count with at least the probability stated (the
        paper's T_P), exactly and whatever the data. So is the mean over the counts of attributes that tell each other,
        and the answer of someone who knows that rarer values were left out.
    Against whom
        Anyone who sees the release once, knows the method and its group size, and knows the public
        attributes of everybody.
    Weaknesses
        It is about counts of one sensitive value. The paper extends it to every conjunction with public
        attributes (Lemma 3, Theorem 4), which fails for groups that all share the value when gamma is 5
        or less: the group's size is public and caps the answer. The attack ``small-sum`` measures it.
        Repeated releases of the same rows average the error away.

    References
    ----------
    Fu, Wang, Wong, Wang and Jiang (2014), Definition 2 and Lemma 2.

    Examples
    --------
    >>> promise = SmallSumPrivacy(gamma_by_attribute={"job": 10}, relative_error=0.3, largest_small_count=3)
    >>> round(promise.error_probability("job"), 4)
    0.6126
    """

    guarantee: Literal["small-sum-privacy"] = "small-sum-privacy"
    relative_error: Annotated[float, Field(ge=SMALLEST_ERROR, le=LARGEST_ERROR)]
    largest_small_count: Annotated[int, Field(strict=True, ge=1, le=300)]

    protected_unit: ClassVar[str] = "few people who share a sensitive value"
    neighbours: ClassVar[str] = "a small true count and counts within the relative error of it"
    attacker: ClassVar[str] = "sees the release once and knows everybody's public attributes, not the groups"
    reference: ClassVar[str] = "Fu, Wang, Wong, Wang and Jiang (2014), Definition 2 and Lemma 2"

    def error_probability(self, attribute: str) -> float:
        """Smallest probability, over the small counts, that the answer is wrong (T_P): the best of what tied draws give.

        1 where it is about no count at all.
        """
        return averaged_over([self], attribute)

    @property
    def is_vacuous(self) -> bool:
        """Whether every value that it could be about was left out."""
        return self.smallest_count > self.largest_small_count

    @property
    def sentence(self) -> str:
        """The promise with its numbers."""
        if self.is_vacuous:
            return (
                f"small-sum privacy is vacuous here: rows of values that fewer than {self.smallest_count} rows hold were left "
                f"out, so no published value is held by {self.largest_small_count} rows or fewer. A value that is missing is "
                f"known to be held by fewer than {self._rarer_than}."
            )
        parts = ", ".join(f"{name} {self.error_probability(name):.4g}" for name in self.gamma_by_attribute)
        return (
            f"small-sum privacy: the published count of a sensitive value held by {self.smallest_count} to "
            f"{self.largest_small_count} rows is off by more than {self.relative_error:.4g} times itself "
            f"with at least this probability: {parts}{self._threshold}{self.declarations}."
        )

    @property
    def _threshold(self) -> str:
        """What is known of every published value, and of every missing one."""
        if self.smallest_count == 1:
            return ""
        return (
            f"; even for someone who knows that at least {self.smallest_count} rows hold every published value. "
            f"A value that is missing is known to be held by fewer than {self._rarer_than}"
        )

    @property
    def _how_rare(self) -> str:
        if len(self.gamma_by_attribute) == 1:
            return "and known to be that rare"
        return "and so are values that are that rare when the people with such values are left out"

    @property
    def _rarer_than(self) -> str:
        """Of which rows a value that is left out had too few: rows go with the rare values of other attributes, too."""
        are_several = len(self.gamma_by_attribute) > 1
        return f"{self.smallest_count}{' of the rows that the other attributes leave' if are_several else ''}"

    @property
    def plain_words(self) -> str:
        """The promise for a reader who is not a statistician."""
        if self.is_vacuous:
            return (
                f"Values that fewer than {self.smallest_count} people share are left out, {self._how_rare}; about "
                "numbers of more people nothing is promised."
            )
        smallest = min(map(self.error_probability, self.gamma_by_attribute))
        few = (
            f"{self.largest_small_count} people or fewer"
            if self.smallest_count == 1
            else f"{self.smallest_count} to {self.largest_small_count} people"
        )
        return (
            f"If {few} share a sensitive value, the number published "
            f"for it is off by more than {percent(self.relative_error)} at least {percent(smallest)} of the time."
        )


# Asked for twice for each of up to thousands of counts.
@lru_cache(maxsize=256)
def exact(number: float) -> Fraction:
    """The decimal fraction a person wrote, not the binary one nearest to it.

    ``floor(1.4 * 45)`` is 62 in floats and 63 in truth.

    Examples
    --------
    >>> math.floor((1 + exact(0.4)) * 45)
    63
    """
    return Fraction(str(number))


def accurate_window(count: int, relative_error: float, *, boundary: Boundary = "accurate") -> tuple[int, int]:
    """Smallest and largest whole answer that are within ``relative_error`` of a count.

    Examples
    --------
    >>> accurate_window(10, 0.3), accurate_window(10, 0.3, boundary="wrong")
    ((7, 13), (8, 12))
    """
    low, high = (1 - exact(relative_error)) * count, (1 + exact(relative_error)) * count
    if boundary == "accurate":
        return math.ceil(low), math.floor(high)
    return math.floor(low) + 1, math.ceil(high) - 1


def error_probabilities(
    counts: Sequence[int] | npt.NDArray[Any],
    gamma: int,
    relative_error: float,
    *,
    boundary: Boundary = "accurate",
    releases: int = 1,
    smallest_count: int = 1,
) -> Floats:
    """Probability that the published number of rows of a value is wrong, for each true count.

    A value held by f rows is a decoy for gamma f rows, each of which shows it with probability 1/gamma:
    the published count is Binomial(gamma f, 1/gamma) (Fu et al. 2014, section 4; exact).

    Parameters
    ----------
    counts
        True counts, each 1 or more; at 0 every answer is exact.
    gamma
        Size of a decoy group.
    relative_error
        What counts as wrong, relative to the true count.
    boundary
        Whether an answer exactly at the relative error is accurate or wrong.
    releases
        Independent releases of the same rows over which the answer is averaged.
    smallest_count
        What every count is known to be at least, if more than 1: a smaller answer is raised to it.

    Returns
    -------
    numpy.ndarray
        One probability for each count.

    Examples
    --------
    >>> error_probabilities([1, 2, 3], 10, 0.3).round(4).tolist()
    [0.6126, 0.7148, 0.7639]
    """
    from scipy.special import betainc

    require_gamma(gamma)
    if relative_error <= 0 or len(counts) == 0 or min(counts) < 1 or releases < 1:
        raise ParameterError(
            "small-sum privacy is about counts of 1 or more, a relative error above 0 and one release or "
            f"more; got a relative error of {relative_error} and {releases} releases. Correct the numbers.",
            parameter="relative_error",
        )
    # The sum over releases is Binomial(releases gamma f, 1/gamma), so averaging scales count and window.
    totals = [int(count) * releases for count in counts]
    low, high = np.array([accurate_window(each, relative_error, boundary=boundary) for each in totals]).T
    draws = gamma * np.array(totals, dtype=np.float64)
    # Tails, not one minus the middle: small probabilities keep their digits. With the incomplete beta I,
    # Pr(X < k) = I_{1-p}(n - k + 1, k) and Pr(X > k) = I_p(k + 1, n - k); arguments that have no tail are
    # replaced by 1 and not used.
    keep = 1 / gamma
    # An answer raised to the smallest count is too low only if that count is.
    has_below, has_above = low > (smallest_count * releases if smallest_count > 1 else 0), high < draws
    below = betainc(np.where(has_below, draws - low + 1, 1), np.where(has_below, low, 1), 1 - keep)
    above = betainc(np.where(has_above, high + 1, 1), np.where(has_above, draws - high, 1), keep)
    return np.asarray(np.where(has_below, below, 0.0) + np.where(has_above, above, 0.0))


def averaged_over(promises: Sequence[SmallSumPrivacy], attribute: str) -> float:
    """Smallest probability that the mean over releases of the same rows is wrong, each with decoys of its own.

    A release more is to the attacker what a tied attribute more is: another draw about the same count. What a wrong answer
    is, and which counts are small, the last promise says; a value that all of them show is as frequent as the highest of
    their thresholds.

    Examples
    --------
    >>> promise = SmallSumPrivacy(gamma_by_attribute={"job": 10}, relative_error=0.3, largest_small_count=10)
    >>> round(averaged_over([promise, promise], "job"), 3)
    0.124
    """
    asked, smallest = promises[-1], max(each.smallest_count for each in promises)
    if smallest > asked.largest_small_count:
        return 1.0
    gammas = (each.gamma_by_attribute[name] for each in promises for name in each.tied_with(attribute))
    counts = tuple(range(smallest, asked.largest_small_count + 1))
    return _best_answer(tuple(sorted(gammas)), counts, asked.relative_error, smallest)


@lru_cache(maxsize=256)
def _best_answer(
    gammas: tuple[int, ...], counts: tuple[int, ...], relative_error: float, smallest_count: int
) -> float:
    """The smallest error probability over counts and over which of several tied draws are averaged."""
    # Draws of one gamma are alike, so that only how many of them are averaged matters.
    of_each = [[(gamma,) * number for number in range(gammas.count(gamma) + 1)] for gamma in set(gammas)]
    chosen = [tuple(itertools.chain(*each)) for each in itertools.product(*of_each) if any(each)]
    return min(
        float(
            error_probabilities(
                counts, each[0], relative_error, releases=len(each), smallest_count=smallest_count
            ).min()
            if len(set(each)) == 1
            else min(
                float(averaged_error_probability(count, each, relative_error, smallest_count))
                for count in counts
            )
        )
        for each in chosen
    )


def averaged_error_probability(
    count: int, gammas: Sequence[int], relative_error: float, smallest_count: int = 1
) -> float:
    """Probability that the mean over counts of tied attributes, of groups of these sizes, is wrong.

    Their sum is a sum of Binomial(gamma f, 1/gamma); an answer below the smallest count is raised to it.

    Examples
    --------
    >>> round(averaged_error_probability(10, (10, 10), 0.3), 3)
    0.124
    """
    from scipy.special import gammaln, xlog1py, xlogy

    total = count * len(gammas)
    low, high = accurate_window(total, relative_error)
    shown = np.arange(high + 1)
    chances = np.ones(1)
    for gamma in gammas:
        draws = gamma * count
        possible = shown[shown <= draws]
        ways = gammaln(draws + 1) - gammaln(possible + 1) - gammaln(draws - possible + 1)
        one = np.exp(ways + xlogy(possible, 1 / gamma) + xlog1py(draws - possible, -1 / gamma))
        chances = np.convolve(chances, one)[: high + 1]
    # Raised to it, an answer is right: then only answers above the window are wrong.
    first = 0 if smallest_count > 1 and smallest_count * len(gammas) >= low else low
    return float(np.clip(1 - chances[first:].sum(), 0, 1))


def smallest_error_probability(
    largest_small_count: int, gamma: int, relative_error: float, *, boundary: Boundary = "accurate"
) -> float:
    """T_P: the smallest error probability over the counts 1 to ``largest_small_count`` (Lemma 2).

    Independent of the number of rows and of the data.

    Examples
    --------
    >>> round(smallest_error_probability(5, 10, 0.3), 4)
    0.4291
    """
    counts = range(1, largest_small_count + 1)
    return float(error_probabilities(counts, gamma, relative_error, boundary=boundary).min())


def vanishing_probability(count: int, gamma: int) -> float:
    """Probability that no published row shows a value held by ``count`` rows: ``(1 - 1/gamma)^(gamma f)``.

    Examples
    --------
    >>> round(vanishing_probability(1, 5), 3)
    0.328
    """
    return float((1 - 1 / gamma) ** (gamma * count))


def homogeneous_error_probability(group: int, gamma: int, relative_error: float) -> float:
    """Probability that the answer about a group who all hold one rare value is wrong.

    The group's size k is public. The answer ``gamma y``, with y of the k rows showing the value, is cut
    at k; so it is right as soon as y is modestly positive. Where this is below
    :func:`smallest_error_probability` the paper's Theorem 4 fails.

    Examples
    --------
    >>> round(homogeneous_error_probability(3, 5, 0.3), 3), round(smallest_error_probability(3, 5, 0.3), 3)
    (0.512, 0.59)
    """
    require_gamma(gamma)
    low, _ = accurate_window(group, relative_error)
    accurate = [shown for shown in range(group + 1) if gamma * shown >= low]
    chance = Fraction(1, gamma)
    right = sum(math.comb(group, y) * chance**y * (1 - chance) ** (group - y) for y in accurate)
    return float(1 - right)


def require_gamma(gamma: int) -> None:
    """Refuse a group too small to hide anything."""
    if gamma < 2:
        raise ParameterError(
            f"gamma must be 2 or more, got {gamma}: a group of one hides nothing. Use 5 to 10.",
            parameter="gamma",
        )


# --------------------------------------------------------------------------------------------------
# Large-sum utility: counts of many people come out right with a stated probability.


MOST_COUNTS = 20_000
"""Counts up to which the threshold is looked for among all of them."""


class LargeSumUtility(Guarantee):
    """The published count of a frequent sensitive value is right within ``relative_error``, almost always.

    Promise
        A sensitive value held by at least the threshold's number of rows (the paper's T_f) is published
        in a number of rows that is off by ``relative_error`` times its count, or more, with at most
        ``error_probability``.
    Against whom
        Nobody: it is a promise to analysts.
    Weaknesses
        It is about counts of one sensitive value; combinations with public attributes have larger errors,
        which every answer states. Between the small and the large counts nothing is promised.

    References
    ----------
    Fu, Wang, Wong, Wang and Jiang (2014), Definition 1. The threshold here is exact; the paper's
    Theorem 3 and Lemma 1 are too optimistic by a factor of f (gamma - 1).

    Examples
    --------
    >>> promise = LargeSumUtility(gamma_by_attribute={"job": 10}, relative_error=0.3, error_probability=0.05)
    >>> promise.smallest_large_count("job")
    41
    """

    guarantee: Literal["large-sum-utility"] = "large-sum-utility"
    gamma_by_attribute: Annotated[
        dict[str, Annotated[int, Field(strict=True, ge=2, le=1_000_000)]], Field(min_length=1)
    ]
    relative_error: Annotated[float, Field(ge=SMALLEST_ERROR, le=LARGEST_ERROR)]
    error_probability: Annotated[float, Field(gt=0, lt=1)]

    protected_unit: ClassVar[str] = "none: this is what analysts are promised"
    neighbours: ClassVar[str] = "none: nothing is hidden by it"
    attacker: ClassVar[str] = "none: it is made to analysts"
    reference: ClassVar[str] = "Fu, Wang, Wong, Wang and Jiang (2014), Definition 1, threshold corrected"

    def smallest_large_count(self, attribute: str) -> int:
        """The count from which on the promise holds (T_f)."""
        return exact_threshold(
            self.gamma_by_attribute[attribute], self.relative_error, self.error_probability
        )

    @property
    def sentence(self) -> str:
        """The promise with its numbers."""
        parts = ", ".join(f"{name} {self.smallest_large_count(name):,}" for name in self.gamma_by_attribute)
        return (
            f"large-sum utility: the published count of a sensitive value is within {self.relative_error:.4g} "
            f"times itself with probability {1 - self.error_probability:.4g} from this count on: {parts}."
        )

    @property
    def plain_words(self) -> str:
        """The promise for a reader who is not a statistician."""
        largest = max(map(self.smallest_large_count, self.gamma_by_attribute))
        return (
            f"The number published for a sensitive value that {largest:,} people or more share is within "
            f"{percent(self.relative_error)} of the truth, {percent(1 - self.error_probability)} of the time."
        )


def chebyshev_bound(count: float, gamma: int, relative_error: float) -> float:
    """Chebyshev's bound on the error probability, corrected: ``(1 - 1/gamma) / (relative_error^2 f)``.

    The variance of Binomial(gamma f, 1/gamma) is f (1 - 1/gamma). The bound may exceed 1.

    Examples
    --------
    >>> round(chebyshev_bound(500, 10, 0.1), 12)
    0.18
    """
    require_gamma(gamma)
    return (1 - 1 / gamma) / (relative_error**2 * count)


def chebyshev_threshold(gamma: int, relative_error: float, error_probability: float) -> float:
    """The count from which on Chebyshev's corrected bound keeps the promise.

    Examples
    --------
    >>> round(chebyshev_threshold(10, 0.3, 0.05), 9)
    200.0
    """
    return chebyshev_bound(error_probability, gamma, relative_error)


def chernoff_threshold(relative_error: float, error_probability: float) -> float:
    """The count from which on Chernoff's ``2 exp(-min(relative_error, relative_error^2) f / 3)`` keeps the promise.

    Examples
    --------
    >>> round(chernoff_threshold(0.3, 0.05), 1)
    123.0
    """
    return 3 * math.log(2 / error_probability) / min(relative_error, relative_error**2)


# Every sentence about the promise needs it again, and it takes milliseconds.
@lru_cache(maxsize=256)
def exact_threshold(gamma: int, relative_error: float, error_probability: float) -> int:
    """T_f: the smallest count from which on the exact error probability never exceeds the promised one.

    The probability is a sawtooth in the count, so the threshold is one above the last violation; beyond
    Chebyshev's threshold and Chernoff's there is none. An answer exactly at the relative error counts as wrong.
    Where counts are many only the tips of the teeth are looked at: as long as answers that are off by the same whole
    number are wrong, a larger count spreads further, and is wrong more often.

    Examples
    --------
    >>> exact_threshold(5, 0.2, 0.05)
    81
    """
    chebyshev = chebyshev_threshold(gamma, relative_error, error_probability)
    chernoff = chernoff_threshold(relative_error, error_probability)
    last = math.ceil(min(chebyshev, chernoff))
    counts = np.arange(1, last + 1) if last <= MOST_COUNTS else _tips(relative_error, last)
    wrong = error_probabilities(counts, gamma, relative_error, boundary="wrong")
    violations = np.flatnonzero(wrong > error_probability)
    return int(counts[violations[-1]]) + 1 if violations.size else 1


def _tips(relative_error: float, last: int) -> Integers:
    """Counts beyond which answers must be off by one more to be wrong, and their neighbours, which rounding may mean."""
    tips = np.arange(1, relative_error * last + 1) / relative_error
    near = np.unique(np.floor(tips)[:, np.newaxis] + np.arange(-1, 2)).astype(np.int64)
    return near[(near >= 1) & (near <= last)]


def misprinted_theorem_3_bound(count: float, gamma: int, relative_error: float) -> float:
    """The paper's Theorem 3 *as printed, which is wrong*: ``1 / (gamma relative_error^2 f^2)``.

    Its proof divides the variance by the number of draws twice. At gamma 10, f = 5 and a relative error
    of 0.3 it gives 0.044 where the truth, in the paper's own Example 1, is 0.48. For comparison only.

    Examples
    --------
    >>> round(misprinted_theorem_3_bound(5, 10, 0.3), 4)
    0.0444
    """
    require_gamma(gamma)
    return 1 / (gamma * relative_error**2 * count**2)


def misprinted_lemma_1_threshold(gamma: int, relative_error: float, error_probability: float) -> float:
    """The paper's Lemma 1 *as printed, which is wrong*: ``(1 / (gamma relative_error^2 T_E))^(1/2)``.

    Examples
    --------
    >>> round(misprinted_lemma_1_threshold(10, 0.3, 0.05), 2)
    4.71
    """
    require_gamma(gamma)
    return math.sqrt(1 / (gamma * relative_error**2 * error_probability))
