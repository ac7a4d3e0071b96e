"""Which gamma for decoy groups: from the privacy and the utility that are wanted."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from sfumato.data.private_table import PrivateTable
from sfumato.errors import ParameterError
from sfumato.guarantees.small_sum_privacy import (
    accurate_window,
    exact_threshold,
    homogeneous_error_probability,
    smallest_error_probability,
)
from sfumato.immutable import LARGEST_ERROR, MOST_ROWS, SMALLEST_ERROR, Frozen
from sfumato.methods.splu_gen.design import SPLUGen
from sfumato.randomness.partitions import largest_group_size
from sfumato.results import ResultTable

LARGEST_GAMMA = 20
"""Group sizes that are looked at unless the data allow fewer; beyond it probabilities hardly move."""


class DecoyGoal(Frozen):
    """What a publisher wants of decoys.

    Parameters
    ----------
    relative_error
        What counts as a wrong answer, relative to the true count.
    largest_small_count
        Counts up to this one are to be wrong often (alpha).
    wanted_error_probability
        How often at least, T_P.
    smallest_large_count
        Counts from this one on are to be right (T_f).
    allowed_error_probability
        How often they may be wrong (T_E).

    Examples
    --------
    >>> DecoyGoal(relative_error=0.3, largest_small_count=3, wanted_error_probability=0.6).smallest_large_count
    50
    """

    relative_error: Annotated[float, Field(ge=SMALLEST_ERROR, le=LARGEST_ERROR)] = 0.3
    largest_small_count: Annotated[int, Field(strict=True, ge=1, le=300)] = 3
    wanted_error_probability: Annotated[float, Field(gt=0, lt=1)] = 0.6
    smallest_large_count: Annotated[int, Field(strict=True, ge=1, le=MOST_ROWS)] = 50
    allowed_error_probability: Annotated[float, Field(gt=0, lt=1)] = 0.05


@dataclass(frozen=True)
class GammaAdvice:
    """The smallest gamma that meets a goal, or why there is none.

    Parameters
    ----------
    gamma
        The advice; None when the goal cannot be met.
    sentence
        The advice in words.
    table
        What every gamma gives.
    """

    gamma: int | None
    sentence: str
    table: ResultTable

    @property
    def tables(self) -> tuple[ResultTable, ...]:
        """All there is to show."""
        return (self.table,)

    @property
    def design(self) -> SPLUGen:
        """The method with the advised gamma.

        Raises
        ------
        ParameterError
            When no gamma meets the goal.
        """
        if self.gamma is None:
            raise ParameterError(self.sentence, parameter="goal")
        return SPLUGen(gamma=self.gamma)

    def __str__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """The advice, and what every gamma gives."""
        return f"{self.sentence}\n\n{self.table.to_text()}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"gamma": self.gamma, "sentence": self.sentence, "tables": [self.table.to_dict()]}


def advise_gamma(goal: DecoyGoal, *, largest_eligible: int = LARGEST_GAMMA) -> GammaAdvice:
    """The smallest group size that gives the wanted privacy and the wanted utility.

    Larger groups protect small sums better and blur large ones more, both with a limit: a published count
    tends to a Poisson draw. Between the largest small and the smallest large count nothing is promised.

    Parameters
    ----------
    goal
        What is wanted.
    largest_eligible
        Largest group size for which groups of different values exist: rows over the most frequent value's.

    Examples
    --------
    >>> advise_gamma(DecoyGoal()).gamma
    7
    >>> print(advise_gamma(DecoyGoal(wanted_error_probability=0.9)).sentence)
    No gamma makes counts up to 3 wrong with probability 0.9: even the largest groups reach 0.632 only. ...
    """
    sizes = range(2, max(2, min(largest_eligible, LARGEST_GAMMA)) + 1)
    rows = [_row(goal, gamma) for gamma in sizes]
    table = ResultTable(
        f"What each gamma gives at a relative error of {goal.relative_error:.4g}",
        (
            "gamma",
            f"counts up to {goal.largest_small_count} wrong with probability",
            "the same for a public group who all share the value",
            f"right with probability {1 - goal.allowed_error_probability:.4g} from",
            "nothing promised between",
            "private enough",
            "accurate enough",
        ),
        tuple(rows),
    )
    fitting = [gamma for gamma, row in zip(sizes, rows, strict=True) if row[5] == row[6] == "yes"]
    if fitting and largest_eligible >= 2:
        return GammaAdvice(fitting[0], _found(goal, fitting[0]), table)
    return GammaAdvice(None, _impossible(goal, largest_eligible, [row[5] == "yes" for row in rows]), table)


def advise_for_table(goal: DecoyGoal, table: PrivateTable, attributes: Sequence[str]) -> GammaAdvice:
    """Advice for a private table, whose most frequent values limit the size of a group."""
    eligible = min(largest_group_size(table.count_by([name]).counts) for name in attributes)
    advice = advise_gamma(goal, largest_eligible=eligible)
    # Which sizes are eligible says how frequent the most frequent value is.
    return dataclasses.replace(advice, table=dataclasses.replace(advice.table, is_private=True))


def _row(goal: DecoyGoal, gamma: int) -> tuple[int, float, float, int, str, str, str]:
    small = goal.largest_small_count
    wrong = smallest_error_probability(small, gamma, goal.relative_error)
    shared = min(homogeneous_error_probability(k, gamma, goal.relative_error) for k in range(1, small + 1))
    large = exact_threshold(gamma, goal.relative_error, goal.allowed_error_probability)
    gap = f"{small + 1:,} and {large - 1:,}" if large > small + 1 else "no counts"
    private = "yes" if wrong >= goal.wanted_error_probability else "no"
    accurate = "yes" if large <= goal.smallest_large_count else "no"
    return gamma, wrong, shared, large, gap, private, accurate


def _found(goal: DecoyGoal, gamma: int) -> str:
    _, wrong, shared, large, gap, _, _ = _row(goal, gamma)
    text = (
        f"gamma = {gamma}: counts up to {goal.largest_small_count} are wrong with probability {wrong:.3g} or more, "
        f"counts from {large} on are right with probability {1 - goal.allowed_error_probability:.4g}; "
        f"nothing is promised between {gap}."
    )
    if shared < goal.wanted_error_probability:
        text += (
            f" A public group who all share a value is answered wrongly with probability {shared:.3g} only."
        )
    return text


def _impossible(goal: DecoyGoal, largest_eligible: int, private: list[bool]) -> str:
    """Which part of the goal cannot be met, and what could be asked for instead."""
    if largest_eligible < 2:
        return (
            "No gamma fits: one value is held by more than half of the rows. Merge or split categories first."
        )
    limit = poisson_error_probability(goal.largest_small_count, goal.relative_error)
    if limit < goal.wanted_error_probability:
        return (
            f"No gamma makes counts up to {goal.largest_small_count} wrong with probability "
            f"{goal.wanted_error_probability:.4g}: even the largest groups reach {limit:.3g} only. "
            "Ask for less, for a smaller relative error, or for fewer counts."
        )
    if not any(private):
        return (
            f"No gamma up to {min(largest_eligible, LARGEST_GAMMA)} is private enough. "
            "Ask for less, or split the most frequent category so that larger groups exist."
        )
    return (
        f"Every gamma that is private enough blurs counts beyond {goal.smallest_large_count}. "
        "Raise the smallest large count or the relative error, or ask for less privacy."
    )


def poisson_error_probability(largest_small_count: int, relative_error: float) -> float:
    """What :func:`smallest_error_probability` tends to as groups grow: published counts become Poisson.

    Examples
    --------
    >>> round(poisson_error_probability(3, 0.3), 4)
    0.6321
    """
    from scipy.special import gammainc, gammaincc

    result = 1.0
    for count in range(1, largest_small_count + 1):
        low, high = accurate_window(count, relative_error)
        # Pr(X < k) = Q(k, mean) and Pr(X > k) = P(k + 1, mean), the incomplete gamma functions.
        below = float(gammaincc(low, count)) if low > 0 else 0.0
        result = min(result, below + float(gammainc(high + 1, count)))
    return result
