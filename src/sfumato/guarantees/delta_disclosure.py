"""Delta-disclosure privacy: no sensitive value becomes much more or much less frequent in a class."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.guarantees.class_criterion import Merging, SensitiveCriterion
from sfumato.values.arrays import Booleans, Counts, Floats
from sfumato.values.bounds import LARGEST_ERROR


class DeltaDisclosure(SensitiveCriterion):
    """In every class, the logarithm of a value's share over its overall share is below a bound.

    Promise
        Learning a person's class multiplies or divides the probability of every sensitive value by less
        than ``exp(bound)``.
    Against whom
        Someone who knows the table's overall distribution and finds a person's class.
    Weaknesses
        Every class must hold every value of the table, which small classes cannot. It is no differential
        privacy, whose delta is another thing; hence the name ``bound`` here for the paper's delta.

    References
    ----------
    Brickell and Shmatikov (2008), definition 1.

    Examples
    --------
    >>> promise = DeltaDisclosure(attribute="disease", bound=0.7)
    >>> promise.holds_for(np.array([[3, 2], [2, 3]])), promise.holds_for(np.array([[4, 0], [0, 4]]))
    (True, False)
    """

    guarantee: Literal["delta-disclosure"] = "delta-disclosure"
    bound: Annotated[float, Field(gt=0, le=LARGEST_ERROR)]

    protected_unit: ClassVar[str] = "the sensitive value of one row"
    neighbours: ClassVar[str] = "knowing a person's class, and knowing only the whole table's distribution"
    attacker: ClassVar[str] = "knows the overall distribution and a person's class"
    reference: ClassVar[str] = "Brickell and Shmatikov (2008), definition 1"

    @property
    def sentence(self) -> str:
        """The promise with its numbers."""
        return (
            f"{self.bound:.4g}-disclosure privacy of {self.attribute}: shares in a class differ from the table's "
            f"by a factor below {np.exp(self.bound):.4g}, up or down."
        )

    @property
    def plain_words(self) -> str:
        """The promise for a reader who is not a statistician."""
        return (
            f"Knowing which group a person is in makes no value of {self.attribute} more than "
            f"{np.exp(self.bound):.3g} times as likely, or as unlikely, as it was."
        )

    @property
    def survives_merging(self) -> Merging:
        """Classes that keep it: shares in the merged class lie between theirs."""
        return "keeping"

    def classes_that_hold(self, counts: Counts, overall: Counts) -> Booleans:
        """Which classes keep the promise, ``(classes,)``, for a table with the given overall counts."""
        return np.asarray(log_ratios(counts, overall) < self.bound)


def log_ratios(counts: Counts, overall: Counts) -> Floats:
    """Largest |ln(r/q)| over the table's values, ``(classes,)``; infinite where a class lacks one.

    Examples
    --------
    >>> log_ratios(np.array([[1, 1], [1, 0]]), np.array([2, 2])).tolist()
    [0.0, inf]
    """
    shares = np.asarray(counts, np.float64)
    shares = shares / shares.sum(axis=1, keepdims=True)
    expected = np.asarray(overall, np.float64) / np.sum(overall)
    present = expected > 0
    ratios = shares[:, present] / expected[present]
    logarithms = np.log(ratios, out=np.full_like(ratios, -np.inf), where=ratios > 0)
    return np.asarray(np.abs(logarithms).max(axis=1))
