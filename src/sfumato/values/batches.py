"""Rows in motion, as category codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from sfumato.values.arrays import Integers


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


@dataclass(frozen=True, eq=False)
class UnitRows:
    """Rows gathered by whose they are. Private, names above all.

    Parameters
    ----------
    names
        Of the units, in alphabetical order.
    ends
        ``(units,)``; the rows of unit u are those from ``ends[u - 1]`` up to ``ends[u]``.
    codes
        Attribute name to ``(rows,)`` category codes.
    """

    names: Sequence[str]
    ends: Integers
    codes: Mapping[str, npt.NDArray[Any]]

    def __repr__(self) -> str:
        return f"UnitRows({', '.join(self.codes)})"
