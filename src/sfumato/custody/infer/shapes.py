"""How the values of a column are written: as numbers, dates or codes, and with which texts for no value."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sfumato.custody.infer.name_hints import CODE_WORDS, suggests
from sfumato.custody.infer.notations import DATE_FORMATS, NUMBER_NOTATIONS, NumberNotation
from sfumato.custody.infer.summaries import NOT_ANSWERED

FEWEST_NOT_ANSWERED = 3
"""Rows with such a number before it is taken for one."""

WIDEST_CODE = 12
"""Characters of the longest codes of classifications."""

MOSTLY = 0.5
"""Share of the values from which on a column is one of numbers or dates with a few texts among them."""

MOST_ODD_TEXTS = 8
"""Different texts among numbers or dates that are taken for missing values."""


@dataclass(frozen=True)
class Shape:
    """How a column's values are written.

    Parameters
    ----------
    present
        Rows with a value.
    missing_texts
        The texts that stand for no value, as they are written; the empty text is not listed.
    notations
        In which every value is a number, the likeliest first: several where they would give different numbers, none
        where some value is no number, or where they are codes.
    is_whole
        Every number is a whole one.
    long_decimals
        Share of the values with three or more digits after the mark.
    width
        Characters of the shortest value, where all are codes that are alike; else None.
    digits
        Digits of each value, where all are whole numbers with as many; else None.
    are_times_of_day
        Every value is written as 08:15.
    sign
        What stands behind every number, such as % or a currency; empty where nothing does, or values are something else.
    dates
        Formats that every value is a date in, each with the first and the last one.
    has_odd_texts
        Texts that are no number, or no date, were found among those that are, and taken for missing values.
    """

    present: int
    missing_texts: tuple[str, ...] = ()
    notations: tuple[NumberNotation, ...] = ()
    is_whole: bool = False
    long_decimals: float = 0.0
    width: int | None = None
    digits: int | None = None
    are_times_of_day: bool = False
    sign: str = ""
    dates: tuple[tuple[str | None, datetime, datetime], ...] = ()
    has_odd_texts: bool = False

    @property
    def notation(self) -> NumberNotation | None:
        """The likeliest notation of numbers."""
        return self.notations[0] if self.notations else None

    def settled(self, mark: str) -> Shape:
        """The same shape in the notation with a decimal mark, where several are possible."""
        if len(self.notations) < 2:
            return self
        chosen = next((each for each in self.notations if (each.decimal or ".") == mark), self.notations[0])
        # Thousands have no decimals: 1.234 read with a comma for decimals is whole.
        return replace(self, notations=(chosen,), is_whole=chosen.thousands is not None)


def shape_from(
    name: str, found: Mapping[str, Any] | None, *, is_typed: bool = False, has_odd_texts: bool = False
) -> Shape:
    """The shape that the summary of a column shows.

    Parameters
    ----------
    name
        Of the column.
    found
        The struct of :func:`~sfumato.custody.infer.summaries.summary_query`; None is a column without any cell.
    is_typed
        The source itself says that the column holds numbers: a point in them is never a mark of thousands.
    has_odd_texts
        As for :class:`Shape`.
    """
    present = 0 if found is None else found["present"]
    missing_texts = tuple(sorted((found or {}).get("missing_texts") or ()))
    if found is None or not present:
        return Shape(0, missing_texts)
    notations = range(1 if is_typed else len(NUMBER_NOTATIONS))
    fitting = [place for place in notations if found[f"number{place}"] == present]
    width = _width(name, found, is_number=bool(fitting))
    dates = tuple(
        (written_as, found[f"first{place}"], found[f"last{place}"])
        for place, written_as in enumerate(DATE_FORMATS)
        if found[f"date{place}"] == present
    )
    if not fitting or width is not None or found["leading_zeros"]:
        return Shape(
            present,
            missing_texts,
            width=width,
            are_times_of_day=found["times"] == present,
            sign=_sign(found),
            dates=dates,
            has_odd_texts=has_odd_texts,
        )
    codes = _not_answered(found, fitting[0])
    written = [text for text in found["codes_written"] or () if whole_text(text) in codes]
    return Shape(
        present - sum(found[f"code {code}"] for code in codes),
        (*missing_texts, *sorted(written)),
        notations=tuple(NUMBER_NOTATIONS[place] for place in _telling(found, fitting)),
        is_whole=found[f"whole{fitting[0]}"] == present,
        long_decimals=found["long_decimals"] / present,
        digits=found["longest"]
        if found["digits"] == present and found["shortest"] == found["longest"]
        else None,
        dates=dates,
        has_odd_texts=has_odd_texts,
    )


def whole_text(text: str) -> str:
    """A number's text without decimals that are zeros.

    Examples
    --------
    >>> whole_text("-9,00"), whole_text("12.50")
    ('-9', '12.50')
    """
    return re.sub("[.,]0+$", "", text.strip(" "))


def nearly(found: Mapping[str, Any] | None) -> str | None:
    """The reading by which nearly all values, and not all, are numbers or dates; None where there is none.

    The name is that of a column of the cells that a summary looked at: ``number1``, ``time3``.
    """
    if found is None or not found["present"]:
        return None
    # With leading zeros they are codes, and a letter in a code is no mistake.
    numbers = 0 if found["leading_zeros"] else len(NUMBER_NOTATIONS)
    rows = {f"number{place}": found[f"number{place}"] for place in range(numbers)}
    rows |= {f"time{place}": found[f"date{place}"] for place in range(len(DATE_FORMATS))}
    best = max(rows, key=lambda reading: rows[reading])
    return best if MOSTLY <= rows[best] / found["present"] < 1 else None


def are_odd(texts: Collection[str]) -> bool:
    """Whether some texts among numbers or dates stand for none: few, and none with a digit other than 0.

    ``2A`` among numbers is a code, and ``100+`` a number to people.

    Examples
    --------
    >>> are_odd(["unknown", "00.00.0000"]), are_odd(["unknown", "100+"])
    (True, False)
    """
    return 0 < len(texts) <= MOST_ODD_TEXTS and not any(re.search("[1-9]", text) for text in texts)


def _sign(found: Mapping[str, Any]) -> str:
    """What stands behind every number, where it is the same in all rows."""
    signs = list(found["signs"] or ())
    return str(signs[0]) if found["signed"] == found["present"] and len(signs) == 1 else ""


def _width(name: str, found: Mapping[str, Any], *, is_number: bool) -> int | None:
    """Characters of the shortest value where all are codes: with leading zeros, with letters, or so named.

    All have one width, or begin with letters and a number, as those of diagnoses do: A00, A00.1.
    """
    if found["lettered"] == found["present"]:
        return max(found["shortest"], 2) if found["shortest"] <= WIDEST_CODE else None
    if found["codes"] < found["present"] or found["shortest"] != found["longest"]:
        return None
    is_code = not is_number or found["leading_zeros"] or suggests(name, CODE_WORDS)
    return found["longest"] if is_code and 2 <= found["longest"] <= WIDEST_CODE else None


def _telling(found: Mapping[str, Any], fitting: list[int]) -> list[int]:
    """Notations that read the texts as different numbers, the plainest first: 1.234 in a column without any 1.5."""
    different: dict[float, int] = {}
    for place in fitting:
        different.setdefault(found[f"largest{place}"], place)
    return list(different.values())


def _not_answered(found: Mapping[str, Any], notation: int) -> tuple[str, ...]:
    """The numbers in the column that stand for no answer: below zero where nothing else is, or nines far above."""
    largest = found[f"largest{notation}"]
    if largest is None:
        return ()
    codes = [code for code in NOT_ANSWERED if found[f"code {code}"] >= FEWEST_NOT_ANSWERED]
    below = [code for code in codes if code.startswith("-") and not found["below_zero"]]
    above = [code for code in codes if not code.startswith("-") and float(code) > 2 * largest > 0]
    # A lone -1 is a number like others; surveys write at least -9, or several of them.
    return (*([] if below == ["-1"] else below), *above)


def settled_by_the_file(shapes: Mapping[str, Shape]) -> dict[str, Shape]:
    """The same shapes, where the decimal mark of clear columns settles how ambiguous ones of the same file are read."""
    clear = {
        each.notations[0].decimal or "."
        for each in shapes.values()
        if len(each.notations) == 1 and not each.is_whole
    }
    if len(clear) != 1:
        return dict(shapes)
    (mark,) = clear
    return {name: each.settled(mark) for name, each in shapes.items()}
