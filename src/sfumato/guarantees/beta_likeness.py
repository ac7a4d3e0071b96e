"""Beta-likeness: no sensitive value becomes much more frequent in a class than in the table."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.guarantees.class_criterion import Merging, SensitiveCriterion
from sfumato.values.arrays import Booleans, Counts, Floats
from sfumato.values.bounds import LARGEST_ERROR


class BetaLikeness(SensitiveCriterion):
    """In every class, each value's share exceeds its overall share by at most the factor 1 + beta.

    Promise
        Learning a person's class makes no sensitive value more than 1 + beta times as likely.
    Against whom
        Someone who knows the table's overall distribution and finds a person's class.
    Weaknesses
        Only gains are bounded: that a value is absent from a class may be learned with certainty. A value
        that is frequent overall may become certain when beta allows it.

    References
    ----------
    Cao and Karras (2012), definition 2 (basic beta-likeness); Han (2016), chapter 2.

    Examples
    --------
    >>> promise = BetaLikeness(attribute="disease", beta=0.5)
    >>> promise.holds_for(np.array([[3, 1], [1, 3]])), promise.holds_for(np.array([[4, 0], [0, 4]]))
    (True, False)
    """

    guarantee: Literal["beta-likeness"] = "beta-likeness"
    beta: Annotated[float, Field(gt=0, le=LARGEST_ERROR)]

    protected_unit: ClassVar[str] = "the sensitive value of one row"
    neighbours: ClassVar[str] = "knowing a person's class, and knowing only the whole table's distribution"
    attacker: ClassVar[str] = "knows the overall distribution and a person's class"
    reference: ClassVar[str] = "Cao and Karras (2012), definition 2"

    @property
    def sentence(self) -> str:
        """The promise with its numbers."""
        return (
            f"{self.beta:.4g}-likeness of {self.attribute}: no value is more than {1 + self.beta:.4g} times as "
            "frequent in a class as in the table."
        )

    @property
    def plain_words(self) -> str:
        """The promise for a reader who is not a statistician."""
        return (
            f"Knowing which group a person is in makes no value of {self.attribute} more than "
            f"{1 + self.beta:.3g} times as likely as it was."
        )

    @property
    def survives_merging(self) -> Merging:
        """Classes that keep it: shares in the merged class lie between theirs."""
        return "keeping"

    def classes_that_hold(self, counts: Counts, overall: Counts) -> Booleans:
        """Which classes keep the promise, ``(classes,)``, for a table with the given overall counts."""
        return np.asarray(relative_gains(counts, overall) <= self.beta * (1 + 1e-12))


def relative_gains(counts: Counts, overall: Counts) -> Floats:
    """Largest (r - q)/q over values, r the share in the class and q that in the table, ``(classes,)``.

    Examples
    --------
    >>> relative_gains(np.array([[3, 1]]), np.array([4, 4])).tolist()
    [0.5]
    """
    shares = np.asarray(counts, np.float64)
    shares = shares / shares.sum(axis=1, keepdims=True)
    expected = np.asarray(overall, np.float64) / np.sum(overall)
    # A value that the table does not hold is in no class either.
    present = expected > 0
    return np.asarray((shares[:, present] / expected[present] - 1).max(axis=1))
