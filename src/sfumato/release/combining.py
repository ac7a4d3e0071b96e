"""Differences and ratios of answers of one release: what they share of its noise is taken into account."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from sfumato.errors import ParameterError
from sfumato.release.large_shares import NOT_TOLD, Share, is_same_estimate, share_of
from sfumato.values.answers import Answer
from sfumato.values.arrays import Floats
from sfumato.values.certainty import Certainty
from sfumato.values.estimates import Estimates, known_bounds
from sfumato.values.predicate import Predicate

if TYPE_CHECKING:
    from sfumato.laws import Target
    from sfumato.release.release import Release


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
        pair = _side_by_side(first, second, changes)
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


def _side_by_side(first: Answer, second: Answer, changes: Estimates) -> Estimates:
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
