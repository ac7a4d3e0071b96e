"""Semantic k-anonymity: every person could be exchanged for k - 1 others without any change of odds."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field

from sfumato.guarantees.base import LARGEST_EXPONENT, WHOLE_UNIT, Guarantee
from sfumato.values.bounds import LARGEST_EPSILON, MOST_ROWS

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
