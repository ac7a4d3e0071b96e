"""Tabulation of a release: tables under any condition, shares, differences and ratios, simultaneous levels."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from sfumato.arrays import Floats
from sfumato.errors import NotIdentifiableError, ParameterError, QueryError, TooLargeError
from sfumato.estimates.answers import Answer
from sfumato.estimates.counts import Feasibility
from sfumato.estimates.estimates import Certainty, Estimates, known_bounds, normal_quantile
from sfumato.laws import Law, Target
from sfumato.laws.base import Published
from sfumato.query.selection import Predicate, Selection, Tabulation
from sfumato.randomness.streams import NoiseSource
from sfumato.schema import Schema

if TYPE_CHECKING:
    from sfumato.release.release import Release

# --------------------------------------------------------------------------------------------------
# Tables of estimates among rows that conditions choose, however these are joined.


LARGEST_WITH_COVARIANCE = 150
"""Parts of cells of which all pairs are looked at; above, each cell is asked for by itself."""

LARGEST_NUMBER_OF_PARTS = 5_000
"""Parts of cells that are asked for one by one."""


def axes_of(schema: Schema, by: str | Sequence[str]) -> tuple[str, ...]:
    """The names of the attributes to tabulate, one or several.

    Raises
    ------
    ParameterError
        When there is none, or one twice.
    """
    names = tuple(each.name for each in schema.select([by] if isinstance(by, str) else by))
    if not names or len(set(names)) != len(names):
        raise ParameterError(
            f"tabulate over one or more different attributes, got {', '.join(names) or 'none'}. "
            "Name each attribute once.",
            parameter="by",
        )
    return names


def remarks_on(law: Law, published: Published, where: Predicate, estimates: Estimates) -> tuple[str, ...]:
    """What a law says of its answer to one question; nothing of one that is exact.

    Remarks hold the unbiased estimate against its standard error. Other estimators have their own caveat.
    """
    if estimates.is_exact[0]:
        return ()
    return tuple(note for part in where.parts for note in law.notes(published, part, estimates))


def estimate_table(
    law: Law, published: Published, by: tuple[str, ...], where: Predicate, target: Target
) -> Estimates:
    """Estimates of the cells of a table among the rows chosen, in the order of its attributes.

    Where conditions choose rows in several ways that exclude each other, each cell is the sum over these.

    Raises
    ------
    TooLargeError
        When several ways and many cells are too many to ask for.
    """
    if len(where.parts) == 1:
        return law.estimate(published, Tabulation(by, where.single()), target=target)
    codes = [where.codes(law.question_schema(published.schema)[name]) for name in by]
    number = math.prod(map(len, codes)) * len(where.parts)
    if number > LARGEST_NUMBER_OF_PARTS:
        raise TooLargeError(
            f"a table of {number // len(where.parts):,} cells among rows chosen in {len(where.parts)} ways that exclude "
            f"each other takes {number:,} counts; {LARGEST_NUMBER_OF_PARTS:,} are asked for one by one. Tabulate fewer "
            "attributes, or ask without OR."
        )
    cells = [each & where for each in _cells(by, codes)]
    if number <= LARGEST_WITH_COVARIANCE:
        return law.estimate_predicates(published, cells, target=target)
    return _tables_side_by_side(
        [law.estimate_predicates(published, (each,), target=target) for each in cells]
    )


def consistent_table(
    law: Law, published: Published, by: tuple[str, ...], where: Predicate, feasibility: Feasibility
) -> Estimates:
    """Consistent counts of the cells of a table, with the errors and intervals of the unbiased ones they came from."""
    tabulation = Tabulation(by, where.single())
    unbiased = law.estimate(published, tabulation)
    consistent = law.consistent(published, tabulation, feasibility=feasibility)

    limits = partial(_holding_both, unbiased, consistent)
    return replace(unbiased, values=consistent, covariance=None, limits=limits)


def _holding_both(unbiased: Estimates, consistent: Floats, level: float) -> tuple[Floats, Floats]:
    low, high = unbiased.intervals(level)
    # What is not exact is not known to less than a row.
    return np.minimum(low, consistent), np.maximum(high, consistent + 1)


def _cells(by: tuple[str, ...], codes: list[tuple[int, ...]]) -> Iterator[Predicate]:
    for cell in itertools.product(*codes):
        yield Predicate((Selection(tuple((name, (code,)) for name, code in zip(by, cell, strict=True))),))


def _tables_side_by_side(parts: list[Estimates]) -> Estimates:
    """Estimates of one number each as estimates of many, without the covariance between them."""
    return Estimates(
        np.concatenate([each.values for each in parts]),
        np.concatenate([each.variances for each in parts]),
        bounds=known_bounds(*(np.concatenate([each.ends()[side] for each in parts]) for side in (0, 1))),
        certainty=np.concatenate([each.certainty for each in parts]),
        limits=partial(_ends_side_by_side, parts),
    )


def _ends_side_by_side(parts: list[Estimates], confidence_level: float) -> tuple[Floats, Floats]:
    ends = [each.intervals(confidence_level) for each in parts]
    return np.concatenate([low for low, _ in ends]), np.concatenate([high for _, high in ends])


# --------------------------------------------------------------------------------------------------
# Intervals that hold all together: how wide each must be.


Simultaneous = Literal["bonferroni", "max-t"]
"""``bonferroni``: however errors go together; ``max-t``: narrower, from the correlation of nearly normal errors.

Either is as good as the intervals of single numbers are at the higher level that it asks for."""

DRAWS = 20_000
"""Of the largest error. The probability of missing is then off by about 0.0015 at 95 %."""

DRAWS_AT_ONCE = 2**22


def level_of_each(estimates: Estimates, confidence_level: float, how: Simultaneous) -> float:
    """The level at which intervals of single numbers hold all together with a confidence level.

    Parameters
    ----------
    estimates
        The numbers; those that are not estimated need no part of what may be missed.
    confidence_level
        Of all together.
    how
        Which errors are allowed for.

    Raises
    ------
    ParameterError
        When the way is unknown, or needs a covariance that is not known.

    Examples
    --------
    >>> two = Estimates.with_covariance(np.array([5.0, 5.0]), np.array([[4.0, -4.0], [-4.0, 4.0]]))
    >>> level_of_each(two, 0.95, "bonferroni"), round(level_of_each(two, 0.95, "max-t"), 2)
    (0.975, 0.95)
    """
    if how not in get_args(Simultaneous):
        raise ParameterError(
            f"simultaneous must be one of {', '.join(get_args(Simultaneous))}, got {how!r}. Leave it out for intervals of "
            "single numbers.",
            parameter="simultaneous",
        )
    single = normal_quantile(confidence_level)
    is_open = (estimates.certainty < Certainty.BOUNDED) & (estimates.variances > 0)
    number = int(np.count_nonzero(is_open))
    if number <= 1:
        return confidence_level
    by_number = 1 - (1 - confidence_level) / number
    if how == "bonferroni":
        return by_number
    if estimates.covariance is None or not np.isfinite(estimates.covariance[np.ix_(is_open, is_open)]).all():
        raise ParameterError(
            "max-t intervals need the covariance of all cells, which this table is too large for. Ask for a smaller table, "
            "or for bonferroni.",
            parameter="simultaneous",
        )
    largest = _largest_errors(estimates.covariance[np.ix_(is_open, is_open)])
    quantile = float(np.quantile(largest, confidence_level, method="higher"))
    # What is drawn has an error of its own; the truth lies between these two.
    reach = min(max(quantile, single), normal_quantile(by_number))
    return 2 * NormalDist().cdf(reach) - 1


def _largest_errors(covariance: Floats) -> Floats:
    """Draws of the largest of normal errors with this covariance, each in its own standard errors, ``(draws,)``.

    The numbers are the same every time: nothing is protected by them, and an answer must not change when asked again.
    """
    from scipy.special import ndtri

    sizes, directions = np.linalg.eigh(covariance)
    # An unbiased covariance need not be positive; what is below zero is no spread.
    root = directions * np.sqrt(np.clip(sizes, 0, None))
    scale = np.sqrt((root**2).sum(axis=1))
    root = root[scale > 0] / scale[scale > 0, None]
    stream = NoiseSource.seeded(0).named("largest of several errors").stream(0)
    found = []
    at_once = max(DRAWS_AT_ONCE // max(len(root), 1), 1)
    for start in range(0, DRAWS, at_once):
        number = min(at_once, DRAWS - start)
        # Half a word more, so that 0 and 1 are never reached.
        uniform = (stream.words(number * root.shape[1]) / 2.0**64 + 2.0**-65).clip(2.0**-65, 1 - 2.0**-53)
        normal = ndtri(uniform).reshape(number, root.shape[1])
        found.append(np.abs(normal @ root.T).max(axis=1))
    return np.concatenate(found)


# --------------------------------------------------------------------------------------------------
# Shares above one half, by what is left of one.
#
# A share of nearly everybody is known by those few who are no part of it. About a population, the variance of
# a draw is estimated from rows that
# satisfy a question and rows of the group; where noise makes the few fewer than none, it comes out too small,
# and where none
# of them was drawn there is nothing left of it. Asked about the few themselves, a count has an error at least
# as large as the draw
# of one row, and an interval that leans, as that of a few in a group of the table does.


AGREEMENT = 1e-6
"""How far a number and what the others leave may be apart, as a share of it; further, and the counts of a law do not add up."""


NOT_TOLD = (NotIdentifiableError, ParameterError, QueryError)
"""What a law or a question says that cannot be answered; another way to the same number is then left alone."""


@dataclass(frozen=True, eq=False)
class Mirrored:
    """Ends of intervals of numbers that are a whole less others: what these leave of it.

    Examples
    --------
    >>> fifth = Estimates(np.array([0.2]), np.array([0.01]))
    >>> low, high = Mirrored(1.0, fifth)(0.95)
    >>> round(float(low[0]), 3), round(float(high[0]), 3)
    (0.604, 0.996)
    """

    whole: float
    others: Estimates

    def __call__(self, confidence_level: float) -> tuple[Floats, Floats]:
        """Lower and upper ends."""
        low, high = self.others.intervals(confidence_level)
        return self.whole - high, self.whole - low


@dataclass(frozen=True, eq=False)
class Share:
    """A share of a group, or another number made of counts, and what its error comes from.

    Parameters
    ----------
    estimates
        The number.
    predicates
        Rows that were counted: of a share, a part of the group and the group.
    gradient
        Change of the number with each count.
    """

    estimates: Estimates
    predicates: tuple[Predicate, ...]
    gradient: tuple[float, ...]


def share_of(release: Release, wanted: Predicate, group: Predicate, target: Target) -> Share:
    """Which share of a group satisfies a question; by those who do not where most do.

    Parameters
    ----------
    release, wanted, group, target
        What was asked of which group, about whom.
    """
    share = _share(release, wanted, group, target)
    found = share.estimates
    if not wanted.names or found.values[0] <= 1 / 2:
        return share
    others: list[Share] = []

    def ask_of_others() -> Estimates:
        others.append(_share(release, wanted.others(release.schema), group, target))
        return others[0].estimates

    mended = _by_what_is_left(found, 1.0, ask_of_others)
    if mended is found:
        return share
    # A combination with other answers has its error from the few as well.
    return Share(mended, others[0].predicates, tuple(-each for each in others[0].gradient))


def difference_of_shares(
    release: Release, wanted: Predicate, groups: tuple[Predicate, Predicate], target: Target
) -> Estimates:
    """How much more often a question is true in one group than in another; by the others where shares are above one half on average."""
    found = release.law.compare(release, wanted, *groups, target=target)
    if not wanted.names:
        return found
    try:
        shares = [float(_share(release, wanted, each, target).estimates.values[0]) for each in groups]
    except NOT_TOLD:
        # A release may tell the difference alone.
        return found
    if sum(shares) <= 1:
        return found
    return _by_what_is_left(
        found,
        0.0,
        lambda: release.law.compare(release, wanted.others(release.schema), *groups, target=target),
    )


def _share(release: Release, wanted: Predicate, group: Predicate, target: Target) -> Share:
    both = wanted & group
    counts = release.law.estimate_predicates(release, (both, group), target=target)
    # A question that all of a group satisfies is about the group itself.
    top = [0.0, 1.0] if both == group else [1.0, 0.0]
    found = counts.ratio(top, [0.0, 1.0]).within(0.0, 1.0)
    rows = float(counts.values[1])
    return Share(found, (both, group), (1 / rows, -float(found.values[0]) / rows))


def _by_what_is_left(found: Estimates, whole: float, ask_of_others: Callable[[], Estimates]) -> Estimates:
    """The same number with the error and the interval of what is left of a whole.

    Parameters
    ----------
    found
        One number.
    whole
        What it and the number of the others add up to: 1 for a share, 0 for a difference of two.
    ask_of_others
        Gives the number of those who do not satisfy the question.

    Notes
    -----
    Both are the same number. The larger error is stated: neither way is known to state too much.
    """
    if found.certainty[0] != Certainty.ESTIMATED:
        return found
    try:
        others = ask_of_others()
    except NOT_TOLD:
        # Some laws tell one side only, or nothing of a group in which nobody is left; the others may be too many groups to ask.
        return found
    left = replace(others, values=whole - others.values)
    if not is_same_estimate(left, found):
        return found
    return replace(
        found, variances=np.maximum(found.variances, others.variances), limits=Mirrored(whole, others)
    )


def is_same_estimate(one: Estimates, other: Estimates) -> bool:
    """Whether two ways lead to one number, and both call it an estimate."""
    are_estimates = one.certainty[0] == other.certainty[0] == Certainty.ESTIMATED
    value, another = float(one.values[0]), float(other.values[0])
    return bool(are_estimates) and abs(value - another) <= AGREEMENT * max(1.0, abs(value))


# --------------------------------------------------------------------------------------------------
# Differences and ratios of answers of one release: what they share of its noise is taken into account.


@dataclass(frozen=True)
class Origin:
    """Where an answer came from: numbers of rows, and how much the answer changes with each.

    Parameters
    ----------
    release
        What was asked.
    predicates
        The rows that were counted.
    gradient
        Change of the answer with each count.
    target
        What the answer is about.
    """

    release: Release
    predicates: tuple[Predicate, ...]
    gradient: tuple[float, ...]
    target: Target

    def combine(self, first: Answer, operation: Literal["-", "/"], second: Answer) -> Answer:
        """``first - second`` or ``first / second`` with the covariance between them.

        Raises
        ------
        ParameterError
            When the second is of another release, target or level, or is zero under a ratio.
        """
        other = second.origin
        if not isinstance(other, Origin) or other.release is not self.release:
            raise ParameterError(
                "answers can be combined when both come from one opened release, by query or proportion, since their "
                "errors go together. Ask both of the same release object."
            )
        if (first.target, first.confidence_level) != (second.target, second.confidence_level):
            raise ParameterError(
                f"the answers are about the {first.target} at level {first.confidence_level} and about the {second.target} "
                f"at level {second.confidence_level}. Ask both alike."
            )
        predicates = (*self.predicates, *other.predicates)
        counts = self.release.law.estimate_predicates(self.release, predicates, target=self.target)
        gradient = np.zeros((2, len(predicates)))
        gradient[0, : len(self.predicates)] = self.gradient
        gradient[1, len(self.predicates) :] = other.gradient
        changes = counts.linear(gradient)
        pair = _answers_side_by_side(first, second, changes)
        if operation == "-":
            combined, weights = pair.linear(np.array([[1.0, -1.0]])), np.array([1.0, -1.0])
        else:
            combined = pair.ratio([1.0, 0.0], [0.0, 1.0])
            weights = np.array([1.0, -combined.values[0]]) / second.estimate
        of_counts = weights @ gradient
        if self.target == "population":
            combined = _of_a_draw(combined, predicates, of_counts)
        nested = _of_nested(self, operation, other)
        if nested is not None and is_same_estimate(nested.estimates, combined):
            combined, predicates = nested.estimates, nested.predicates
            of_counts = np.array(nested.gradient)
        named = "difference" if operation == "-" else "ratio"
        answer = Answer.of(
            f"({first.question or 'all rows'}) {operation} ({second.question or 'all rows'})",
            combined,
            first.confidence_level,
            first.method,
            first.law,
            first.target,
            estimator=f"{named} of two answers, each {first.estimator}",
        )
        origin = Origin(self.release, predicates, tuple(of_counts.tolist()), self.target)
        return dataclasses.replace(answer, origin=origin)


def _answers_side_by_side(first: Answer, second: Answer, changes: Estimates) -> Estimates:
    """Two answers as estimates, with what each claims, and the errors that their counts give them together."""
    both = (first, second)
    nothing = -math.inf, math.inf
    ends = [(each.estimate,) * 2 if each.is_exact else each.bounds or nothing for each in both]
    return Estimates(
        np.array([each.estimate for each in both]),
        changes.variances,
        changes.covariance,
        known_bounds(*np.array(ends).T),
        np.array([each.certainty for each in both], np.int8),
        skews=changes.skews,
        terms=changes.terms,
        leeway=tuple(np.array([each.leeway or (0.0, 0.0) for each in both]).T),
    )


def _of_a_draw(combined: Estimates, predicates: Sequence[Predicate], weights: Floats) -> Estimates:
    """The same, known to no less than the draw of one row.

    Numbers of rows of which one kind is part of another go together so far that nothing may be left of their errors where none
    of the others was drawn. Those of the same rows cancel truly.
    """
    moves: dict[Predicate, float] = {}
    for each, weight in zip(predicates, weights.tolist(), strict=True):
        moves[each] = moves.get(each, 0.0) + weight
    furthest = max(map(abs, moves.values()))
    is_open = combined.certainty == Certainty.ESTIMATED
    return dataclasses.replace(
        combined, variances=np.where(is_open, np.maximum(combined.variances, furthest**2), combined.variances)
    )


def _of_nested(one: Origin, operation: Literal["-", "/"], other: Origin) -> Share | None:
    """Which share one count is of another that it is part of, or what is left of one without its part; None where neither is asked.

    Both are questions of their own, about rows that are in one of the two alone, however few of them there are.
    """
    if one.gradient != (1.0,) or other.gradient != (1.0,) or one.predicates == other.predicates:
        return None
    release, target = one.release, one.target
    (first,), (second,) = one.predicates, other.predicates
    both = first & second
    try:
        if operation == "/" and both == first:
            return share_of(release, first, second, target)
        if operation == "-" and both == second:
            rest = first & second.others(release.schema)
            return Share(release.law.estimate_predicates(release, (rest,), target=target), (rest,), (1.0,))
    except NOT_TOLD:
        pass
    return None
