"""l-diversity: no sensitive value is too large a part of any group."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from sfumato.guarantees.class_criterion import Merging, SensitiveCriterion
from sfumato.values.arrays import Booleans, Counts, Floats
from sfumato.values.bounds import LARGEST_ERROR, MOST_ROWS

Variant = Literal["fraction", "distinct", "entropy", "recursive"]
"""``fraction``: the largest share of a value in any group is at most 1/l (the one to use). ``distinct``: at least
l different values. ``entropy``: the entropy of a group is at least ln l. ``recursive``: the largest count is below
c times the sum of the l-th largest and all smaller ones."""


class LDiversity(SensitiveCriterion):
    """In every group, the most frequent sensitive value is held by at most one row in ``l_value``.

    Promise
        Who knows a person's group, and nothing that links values to people, guesses the person's
        sensitive value with probability at most 1/l.
    Against whom
        Someone who reads one group by itself.
    Weaknesses
        Groups are not independent pieces of evidence: what public and sensitive values have to do with each
        other can be learned across groups, and then the promise of 1/l fails for many people. Ruling out
        values one by one (the person is a man, so not that disease) leads to certainty after l - 1 steps.
        The variants other than ``fraction`` do not even imply the 1/l for one group.

    References
    ----------
    Machanavajjhala et al. (2007), definitions 2 to 4; Xiao and Tao (2006), definition 2; Mothali (2011), 2.2.

    Examples
    --------
    >>> promise = LDiversity(attribute="disease", l_value=2)
    >>> promise.holds_for(np.array([[1, 1, 0], [0, 2, 2]]))
    True
    >>> promise.holds_for(np.array([[3, 1, 0], [0, 2, 2]]))
    False
    """

    guarantee: Literal["l-diversity"] = "l-diversity"
    l_value: Annotated[float, Field(ge=1, le=MOST_ROWS)]
    variant: Variant = "fraction"
    c: Annotated[float, Field(gt=0, le=LARGEST_ERROR)] = 1.0

    protected_unit: ClassVar[str] = "the sensitive value of one row"
    neighbours: ClassVar[str] = "the ways of giving a group's sensitive values to its rows"
    attacker: ClassVar[str] = (
        "knows a person's public values and group, and learns nothing from the other groups or from elsewhere"
    )
    only_how_often: ClassVar[bool] = True
    reference: ClassVar[str] = "Machanavajjhala et al. (2007); Xiao and Tao (2006)"

    @property
    def sentence(self) -> str:
        """The promise with its numbers."""
        name = {
            "fraction": f"{self.l_value:.4g}-diversity",
            "distinct": f"distinct {self.l_value:.4g}-diversity",
            "entropy": f"entropy {self.l_value:.4g}-diversity",
            "recursive": f"recursive ({self.c:.4g}, {self.l_value:.4g})-diversity",
        }[self.variant]
        if self.variant == "fraction":
            return f"{name} of {self.attribute}: no value is held by more than 1 in {self.l_value:.4g} rows of a group."
        return f"{name} of {self.attribute}, which does not bound any value's share in a group by 1/l."

    @property
    def plain_words(self) -> str:
        """The promise for a reader who is not a statistician."""
        if self.variant != "fraction":
            return f"Every group holds several different values of {self.attribute}, but one of them may be far more frequent."
        return (
            f"Someone who knows which group a person is in, and nothing else, has at most 1 chance in {self.l_value:.4g} "
            f"to guess the person's {self.attribute}. Someone who compares groups can do better."
        )

    def is_within(self, other: Self) -> bool:
        """Whether the other has the same kind of diversity, of as many values or more."""
        return (self.variant, self.c) == (other.variant, other.c) and self.l_value <= other.l_value

    @property
    def survives_merging(self) -> Merging:
        """Different values stay different whatever is merged; shares are kept by classes that keep it too."""
        return "any" if self.variant == "distinct" else "keeping"

    def classes_that_hold(self, counts: Counts, overall: Counts) -> Booleans:
        """Which groups keep the promise; they are not compared with the whole table."""
        del overall
        # A share that is exactly 1/l must pass although 1/l has no exact double.
        return np.asarray(diversity(counts, self.variant, c=self.c) >= self.l_value * (1 - 1e-12))

    def shortfall(self, overall: Counts) -> str:
        """The l that all rows together have."""
        reached = achieved(np.asarray(overall)[None], self.variant, c=self.c)
        return (
            f"l_value = {self.l_value:.4g} ({self.variant}) cannot be reached for {self.attribute!r}: all rows in one "
            f"class have {reached:.4g}. Lower l_value, or choose another kind of diversity."
        )


def diversity(counts: Counts, variant: Variant = "fraction", *, c: float = 1.0) -> Floats:
    """The largest l that each group achieves.

    Parameters
    ----------
    counts
        ``(groups, values)``; every group has at least one row.
    variant
        Which definition.
    c
        The constant of the recursive variant.

    Returns
    -------
    numpy.ndarray
        ``(groups,)``; their minimum is what the whole table achieves.

    Examples
    --------
    Three of four hold one value: two different values, but a share of 3/4.

    >>> group = np.array([[3, 1, 0, 0]])
    >>> diversity(group).round(3).tolist(), diversity(group, "distinct").tolist()
    ([1.333], [2.0])
    >>> diversity(group, "entropy").round(4).tolist()
    [1.7548]
    """
    numbers = np.asarray(counts, np.float64)
    if variant == "fraction":
        return np.asarray(numbers.sum(axis=1) / numbers.max(axis=1))
    if variant == "distinct":
        return np.asarray(np.count_nonzero(numbers, axis=1), np.float64)
    if variant == "entropy":
        shares = numbers / numbers.sum(axis=1, keepdims=True)
        logarithms = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
        return np.asarray(np.exp(-(shares * logarithms).sum(axis=1)))
    ascending = np.sort(numbers, axis=1)
    # The sums of the l-th largest count and all smaller ones, the largest l first; they grow, so counting them is l.
    tails = np.cumsum(ascending, axis=1)
    return np.asarray((ascending[:, -1:] < c * tails).sum(axis=1), np.float64)


def achieved(counts: Counts, variant: Variant = "fraction", *, c: float = 1.0) -> float:
    """The largest l that a whole table of groups achieves.

    Examples
    --------
    >>> achieved(np.array([[1, 1, 1], [1, 0, 1]]))
    2.0
    """
    return float(diversity(counts, variant, c=c).min())
