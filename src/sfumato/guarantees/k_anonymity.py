"""k-anonymity: nobody's row can be told from fewer than k - 1 others."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.guarantees.class_criterion import ClassCriterion, Merging
from sfumato.values.arrays import Booleans, Counts
from sfumato.values.bounds import MOST_ROWS


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
            f"Someone who knows these facts about a person finds at least {self.k} rows that fit, "
            "and cannot tell which of them is the person's. What all of those rows say is known all the same."
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
