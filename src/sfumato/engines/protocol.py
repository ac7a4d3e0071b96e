"""What an engine does: give rows as category codes, and count them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy.typing as npt

from sfumato.counts import CountTable
from sfumato.engines.sources import Source
from sfumato.schema import Attribute

Condition = tuple[Attribute, tuple[int, ...]]
"""An attribute and the codes a row may have in it."""


@dataclass(frozen=True, eq=False)
class CodedBatch:
    """Some rows, one array of category codes for each attribute.

    Parameters
    ----------
    codes
        Attribute name to ``(number_of_rows,)`` of the attribute's ``code_type``.
    number_of_rows
        Rows in the batch.
    """

    codes: Mapping[str, npt.NDArray[Any]]
    number_of_rows: int

    def __repr__(self) -> str:
        return f"CodedBatch({', '.join(self.codes)}: {self.number_of_rows} rows)"


class Engine(Protocol):
    """Reads sources as codes of a schema's categories.

    A value outside the schema is an error that names the column and the number of rows, and nothing else.
    """

    def scan(self, source: Source, attributes: Sequence[Attribute]) -> Iterator[CodedBatch]:
        """All rows, in batches; memory does not grow with the number of rows."""

    def count_by(
        self, source: Source, attributes: Sequence[Attribute], where: Sequence[Condition]
    ) -> CountTable:
        """Counts over the product of the attributes, among rows with the given codes."""

    def number_of_rows(self, source: Source) -> int:
        """Rows of the source."""
