"""What every law can do: turn published counts into estimates of true ones."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Literal, Protocol

from sfumato.counts import CountTable
from sfumato.estimates import Estimates, Floats
from sfumato.frozen import Frozen
from sfumato.schema import Schema
from sfumato.selection import Selection, Tabulation

Target = Literal["table", "population"]
"""What an estimate is about: the rows of the private table itself, or the population they were drawn from."""


class Published(Protocol):
    """What a law may ask of a release."""

    @property
    def schema(self) -> Schema:
        """The published schema."""

    @property
    def number_of_rows(self) -> int:
        """Rows of the published table."""

    def count_by(self, names: Sequence[str], where: Selection) -> CountTable:
        """Published counts over some attributes, among the published rows selected."""


class Law(Frozen):
    """The exact statistical link between what was published and the true counts.

    A member adds the tag field ``law`` with its public name, and whatever numbers the link needs.
    Estimates are unbiased; :meth:`consistent` gives feasible ones, which are not.
    """

    @abstractmethod
    def estimate(
        self, published: Published, tabulation: Tabulation, *, target: Target = "table"
    ) -> Estimates:
        """Unbiased estimates of the cells asked for, flattened in the order of the tabulation."""

    @abstractmethod
    def estimate_selections(
        self, published: Published, selections: Sequence[Selection], *, target: Target = "table"
    ) -> Estimates:
        """Unbiased estimates of how many rows satisfy each selection, with the covariance between them."""

    @abstractmethod
    def consistent(self, published: Published, tabulation: Tabulation) -> Floats:
        """Non-negative estimates that add up to what is known exactly; biased where they had to be cut."""

    @abstractmethod
    def expected_standard_errors(self, true_counts: CountTable) -> Floats:
        """Standard errors that the estimates of a table's cells will have, from its true counts."""

    @property
    @abstractmethod
    def sentence(self) -> str:
        """The link in words."""
