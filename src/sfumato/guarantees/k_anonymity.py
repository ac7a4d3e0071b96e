"""k-anonymity and its family: l-diversity, t-closeness, beta-likeness, delta-disclosure, semantic k-anonymity."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from sfumato.arrays import Booleans, Counts, Floats
from sfumato.guarantees.base import LARGEST_EXPONENT, WHOLE_UNIT, Guarantee
from sfumato.guarantees.class_criteria import ClassCriterion, Merging, SensitiveCriterion
from sfumato.immutable import LARGEST_EPSILON, LARGEST_ERROR, MOST_ROWS
from sfumato.text import percent

# --------------------------------------------------------------------------------------------------
# k-anonymity: nobody's row can be told from fewer than k - 1 others.


class KAnonymity(ClassCriterion):
    """Every published row is equal to at least k - 1 others on the quasi-identifiers.

    Promise
        Who knows a person's quasi-identifiers, and that the person is in the table, finds at least k
        rows that fit: the right one is picked with probability at most 1/k.
    Against whom
        Someone who links the release with outside records on the quasi-identifiers named.
    Weaknesses
        It is about rows, not about what they say: k rows with one sensitive value give it away. It reads
        the output only, so a table in which every row is copied k times satisfies it, and an attacker who
        knows how the recoding was chosen can narrow it down. Attributes outside the list are unprotected.

    References
    ----------
    Samarati and Sweeney (1998); Sweeney (2002), definition 3; Guo (2010), chapter 2; Li and Li, section 1.

    Examples
    --------
    >>> promise = KAnonymity(k=3, quasi_identifiers=("age", "sex"))
    >>> promise.holds_for(np.array([3, 5])), promise.holds_for(np.array([3, 2]))
    (True, False)
    """

    guarantee: Literal["k-anonymity"] = "k-anonymity"
    k: Annotated[int, Field(ge=1, le=MOST_ROWS)]
    quasi_identifiers: Annotated[tuple[str, ...], Field(min_length=1)]

    protected_unit: ClassVar[str] = "which row is a person's"
    neighbours: ClassVar[str] = "the rows that are equal on the quasi-identifiers"
    attacker: ClassVar[str] = "knows a person's quasi-identifiers and that the person is in the table"
    reference: ClassVar[str] = "Sweeney (2002), definition 3"

    @property
    def sentence(self) -> str:
        """The promise with its numbers."""
        names = ", ".join(self.quasi_identifiers)
        return (
            f"{self.k}-anonymity on {names}: every published row equals at least {self.k - 1} others there."
        )

    @property
    def plain_words(self) -> str:
        """The promise for a reader who is not a statistician."""
        return (
            f"Someone who knows these facts about a person finds at least {self.k} rows that fit; "
            "these facts alone do not say which of them is the person's. What all of those rows say is known all the same."
        )

    @property
    def class_attributes(self) -> tuple[str, ...]:
        """The quasi-identifiers that the promise names."""
        return self.quasi_identifiers

    @property
    def survives_merging(self) -> Merging:
        """Any class: it only gets larger."""
        return "any"

    def classes_that_hold(self, counts: Counts, overall: Counts) -> Booleans:
        """Which classes have k rows or more."""
        del overall
        return np.asarray(counts.sum(axis=1) >= self.k)


# --------------------------------------------------------------------------------------------------
# l-diversity: no sensitive value is too large a part of any group.


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


# --------------------------------------------------------------------------------------------------
# t-closeness: no class's sensitive values are distributed very differently from the table's.


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


# --------------------------------------------------------------------------------------------------
# Beta-likeness: no sensitive value becomes much more frequent in a class than in the table.


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


# --------------------------------------------------------------------------------------------------
# Delta-disclosure privacy: no sensitive value becomes much more or much less frequent in a class.


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


# --------------------------------------------------------------------------------------------------
# Semantic k-anonymity: every person could be exchanged for k - 1 others without any change of odds.


Scope = Literal["table", "each-column"]
"""Whole rows of one table, or the fragments of each published column by itself."""


class SemanticKAnonymity(Guarantee):
    """For every row the release is as likely without it, or with it replaced by any of k - 1 others' rows.

    Promise
        About the algorithm, not about one output: for every table and every row t of it, either removing t,
        or replacing it by each of at least k - 1 other rows' values, changes the probability of no output
        (by more than a factor exp(epsilon), where epsilon is not 0). All attributes are protected alike.
    Against whom
        Someone who knows the algorithm, its parameters and every row but one, and tries to tell whose row
        a published row is.
    Weaknesses
        When the k rows are all alike, what they say is published; differential privacy covers that case.
        With ``scope="each-column"`` the promise is about the fragments of one column that are left after rows
        were kept to the column budget; how many parts a row had elsewhere may still show. The columns
        *together* may single a row out, and nothing is claimed about them together.

    References
    ----------
    Li and Li, definition 4 and theorem 5.

    Examples
    --------
    >>> SemanticKAnonymity(k=10).sentence
    'Semantic 10-anonymity of the whole row: all attributes, for every table.'
    >>> SemanticKAnonymity(k=10, scope="each-column").sentence
    'Semantic 10-anonymity of every column by itself, given the columns and what each row keeps in them; for the columns together it is not claimed.'
    """

    guarantee: Literal["semantic-k-anonymity"] = "semantic-k-anonymity"
    k: Annotated[int, Field(ge=1, le=MOST_ROWS)]
    epsilon: Annotated[float, Field(ge=0, le=LARGEST_EPSILON)] = 0.0
    scope: Scope = "table"
    whole_units: bool = False
    """It is about units with all their rows, and not about rows."""

    protected_unit: ClassVar[str] = "which published row is a person's, on all attributes"
    neighbours: ClassVar[str] = (
        "tables with a row removed, or replaced by the values of another row of the same table"
    )
    attacker: ClassVar[str] = "knows the algorithm, its parameters and possibly every row but one"
    reference: ClassVar[str] = "Li and Li, definition 4"

    def is_within(self, other: Self) -> bool:
        """Whether the other's crowds are as large or larger; whole rows are more than each column by itself."""
        return (
            self.is_under(other.given)
            and self.k <= other.k
            and self.epsilon >= other.epsilon
            and self.scope in (other.scope, "each-column")
            and (other.whole_units or not self.whole_units)
        )

    @property
    def sentence(self) -> str:
        """The promise with its numbers."""
        number = f"{self.k}-anonymity" if self.epsilon == 0 else f"({self.k}, {self.epsilon:.4g})-anonymity"
        if self.scope == "table":
            whole = "unit: all its rows" if self.whole_units else "row: all attributes"
            return f"Semantic {number} of the whole {whole}, for every table."
        return (
            f"Semantic {number} of every column by itself, given the columns and what each {self._what} keeps in them; "
            "for the columns together it is not claimed."
        )

    @property
    def _what(self) -> str:
        return "unit" if self.whole_units else "row"

    def describe(self) -> dict[str, str]:
        """What a manifest states beside the numbers, with the unit that is meant here."""
        described = super().describe()
        if self.whole_units:
            described["protected_unit"] = f"which published rows are those of {WHOLE_UNIT}"
            described["neighbours"] = "tables with a unit removed, or replaced by the rows of another one"
        return described

    @property
    def plain_words(self) -> str:
        """The promise for a reader who is not a statistician."""
        what = self._what if self.scope == "table" else f"fragment of a {self._what}"
        return (
            f"Every published {what} could just as well belong to at least {self.k} people, and whatever was published "
            f"would be as likely if one of them stood in another's place{self._but_for}. What all of them share is known all "
            "the same."
        )

    @property
    def _but_for(self) -> str:
        if self.epsilon == 0:
            return ""
        factor = math.exp(min(self.epsilon, LARGEST_EXPONENT))
        return f" or were not there, except for a factor of {factor:,.2f} at most"
