"""How numbers and dates are written in text files, each as SQL that finds out whether a text is written so."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from sfumato.data.coding import cell_number
from sfumato.data.sql_text import quote_text
from sfumato.values.schema import Attribute, Role


@dataclass(frozen=True)
class NumberNotation:
    """Marks of decimals and thousands; None and None is what every computer reads."""

    decimal: Literal[".", ","] | None = None
    thousands: Literal[".", ",", " ", "'"] | None = None

    @property
    def keys(self) -> dict[str, str]:
        """The keys of a schema that say so."""
        return {key: mark for key, mark in (("decimal", self.decimal), ("thousands", self.thousands)) if mark}

    def number(self, name: str) -> str:
        """SQL: the number in the cell of a column, NULL where it is none."""
        return cell_number(
            Attribute(
                name=name,
                role=Role.WEIGHT,
                decimal=self.decimal,
                thousands=self.thousands,
            )
        )

    def read(self, text: str) -> float:
        """The number that a text is in this notation.

        Examples
        --------
        >>> NumberNotation(decimal=",", thousands=".").read("1.234,5")
        1234.5
        """
        digits = text.strip()
        if self.thousands == " ":
            digits = "".join(each for each in digits if not each.isspace())
        elif self.thousands is not None:
            digits = digits.replace(self.thousands, "")
        return float(digits.replace(self.decimal or ".", "."))


PLAIN = NumberNotation()

NUMBER_NOTATIONS = (
    PLAIN,
    NumberNotation(decimal=","),
    NumberNotation(decimal=",", thousands="."),
    NumberNotation(decimal=",", thousands=" "),
    NumberNotation(thousands=","),
    NumberNotation(thousands=" "),
    NumberNotation(thousands="'"),
)
"""From the plainest on: the first that all values of a column are written in is taken."""

DATE_FORMATS = (
    None,
    "%d.%m.%Y",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d-%m-%Y",
    "%Y/%m/%d",
    "%Y%m%d",
    "%d.%m.%y",
    "%d/%m/%y",
    "%d.%m.%Y %H:%M",
    "%d.%m.%Y %H:%M:%S",
    "%d/%m/%Y %H:%M",
    "%d/%m/%Y %H:%M:%S",
)
"""Formats of dates; None is 2019-12-31, with or without a time. Day first comes before month first."""

_ISO = r"\d{4}-\d{2}-\d{2}([ T].*)?"
_DIGITS = {
    "%d": r"\d{1,2}",
    "%m": r"\d{1,2}",
    "%Y": r"\d{4}",
    "%y": r"\d{2}",
    "%H": r"\d{1,2}",
    "%M": r"\d{2}",
    "%S": r"\d{2}",
}


def date_in(text: str, format: str | None) -> str:
    """SQL: the time that a text holds in a format, NULL where it is not written so."""
    if format is None:
        pattern, time = _ISO, f"try_cast({text} as timestamp)"
    elif format == "%Y%m%d":
        # Eight digits are a date only where all of them are one.
        pattern, time = r"(19|20)\d{6}", f"try_strptime({text}, {quote_text(format)})"
    else:
        pattern = re.sub(r"%\w|[.]", lambda found: _DIGITS.get(found[0], re.escape(found[0])), format)
        time = f"try_strptime({text}, {quote_text(format)})"
    # The engine's reader takes 20 for the year 20 where four digits are asked for: the pattern does not.
    return f"case when regexp_full_match({text}, {quote_text(pattern)}) then {time} end"
