"""The odds factor: what a row that shows a value says about the person whose row it is."""

from __future__ import annotations

import math
from typing import ClassVar, Literal

from sfumato.guarantees.decoy_promise import DecoyPromise


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
