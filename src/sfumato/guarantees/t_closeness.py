"""t-closeness: no class's sensitive values are distributed very differently from the table's."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.guarantees.class_criterion import Merging, SensitiveCriterion
from sfumato.values.arrays import Booleans, Counts, Floats
from sfumato.values.number_text import percent

Ground = Literal["equal", "ordered"]
"""How far apart two sensitive values are: all equally far, or by their places in the order of categories."""


class TCloseness(SensitiveCriterion):
    """In every class, the sensitive distribution is within ``t`` of the whole table's.

    Promise
        Learning a person's class moves the distribution of the person's sensitive value by at most t, in
        earth mover's distance.
    Against whom
        Someone who knows the table's overall distribution and finds a person's class.
    Weaknesses
        It bounds a distance, not a probability: a rare value may become many times as likely while the
        distance stays small. It must flatten differences that an analysis may be after.

    References
    ----------
    Li, Li and Venkatasubramanian (2007), definition 2 and section 4; Han (2016), chapter 2.

    Examples
    --------
    >>> promise = TCloseness(attribute="salary", t=0.5, ground="equal")
    >>> promise.holds_for(np.array([[2, 0], [0, 2]])), promise.holds_for(np.array([[3, 0], [0, 1]]))
    (True, False)
    """

    guarantee: Literal["t-closeness"] = "t-closeness"
    t: Annotated[float, Field(ge=0, le=1)]
    ground: Ground = "equal"

    protected_unit: ClassVar[str] = "the sensitive value of one row"
    neighbours: ClassVar[str] = "knowing a person's class, and knowing only the whole table's distribution"
    attacker: ClassVar[str] = "knows the overall distribution and a person's class"
    reference: ClassVar[str] = "Li, Li and Venkatasubramanian (2007), definition 2"

    @property
    def sentence(self) -> str:
        """The promise with its numbers."""
        kind = "ordered" if self.ground == "ordered" else "equal-distance"
        return f"{self.t:.4g}-closeness of {self.attribute} ({kind} earth mover's distance)."

    @property
    def plain_words(self) -> str:
        """The promise for a reader who is not a statistician."""
        return (
            f"Knowing which group a person is in changes what is to be expected of the person's {self.attribute} "
            f"only a little: at most {percent(self.t)} of the group would have to be exchanged to look like everybody."
        )

    @property
    def survives_merging(self) -> Merging:
        """Classes that keep it: shares in the merged class lie between theirs."""
        return "keeping"

    def classes_that_hold(self, counts: Counts, overall: Counts) -> Booleans:
        """Which classes keep the promise, ``(classes,)``, for a table with the given overall counts."""
        # A distance that is t exactly must pass although it is computed in floating point.
        return np.asarray(earth_mover_distances(counts, overall, self.ground) <= self.t + 1e-12)


def earth_mover_distances(counts: Counts, overall: Counts, ground: Ground = "equal") -> Floats:
    """How far the sensitive distribution of each class is from the table's.

    Parameters
    ----------
    counts
        ``(classes, values)``; every class has at least one row.
    overall
        ``(values,)``.
    ground
        ``"equal"``: half the sum of absolute differences. ``"ordered"``: the sum of absolute differences
        of the cumulative distributions, divided by the number of steps between first and last value.

    Examples
    --------
    The example of the paper: nine salaries, the class holds the three lowest.

    >>> low, all_nine = np.array([[1, 1, 1, 0, 0, 0, 0, 0, 0]]), np.ones(9)
    >>> earth_mover_distances(low, all_nine, "ordered").round(3).tolist()
    [0.375]
    """
    shares = np.asarray(counts, np.float64)
    shares = shares / shares.sum(axis=1, keepdims=True)
    difference = shares - np.asarray(overall, np.float64) / np.sum(overall)
    if ground == "equal":
        return np.asarray(np.abs(difference).sum(axis=1) / 2)
    steps = max(difference.shape[1] - 1, 1)
    return np.asarray(np.abs(np.cumsum(difference, axis=1)).sum(axis=1) / steps)
