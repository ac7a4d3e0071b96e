"""How the values of a column are written: as numbers, dates or codes, and with which texts for no value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sfumato.custody.infer.name_hints import CODE_WORDS, suggests
from sfumato.custody.infer.notations import DATE_FORMATS, NUMBER_NOTATIONS, NumberNotation, date_in
from sfumato.data.sql_text import quote_name, quote_text
from sfumato.values.schema import MISSING_LABEL

MISSING_TEXTS = (
    *("", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "Null", "NULL", MISSING_LABEL),
    *("k.A.", "k. A.", "keine Angabe", "n.d.", "non renseigné", "s.o."),
)
"""Texts that stand for 'no value' in most files that hold them, spaces around them aside."""

NOT_ANSWERED = ("-9", "-99", "-999", "-9999", "-1", "-2", "-7", "-8", "99", "999", "9999", "99999", "999999")
"""Numbers that surveys write where there is no answer."""

FEWEST_NOT_ANSWERED = 3
"""Rows with such a number before it is taken for one."""

WIDEST_CODE = 12
"""Characters of the longest codes of classifications."""


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
        Characters of each value, where all are codes of one width; else None.
    dates
        Formats that every value is a date in, each with the first and the last one.
    """

    present: int
    missing_texts: tuple[str, ...] = ()
    notations: tuple[NumberNotation, ...] = ()
    is_whole: bool = False
    long_decimals: float = 0.0
    width: int | None = None
    dates: tuple[tuple[str | None, datetime, datetime], ...] = ()

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


def shape_expression(name: str, *, weight: str = "1") -> str:
    """SQL: a struct that :func:`shape_from` understands, about a column whose every row stands for so many."""
    column = quote_name(name)
    text = f"trim(cast({column} as varchar))"
    present = is_present(name)
    answered = f"{present} and {text} not in ({', '.join(map(quote_text, NOT_ANSWERED))})"
    conditions = {
        "present": "true",
        "leading_zeros": f"regexp_full_match({text}, '[+-]?0[0-9].*')",
        "long_decimals": f"regexp_full_match({text}, '.*[.,][0-9]{{3,}}')",
        "codes": f"regexp_full_match({text}, '[0-9A-Z]+')",
        "below_zero": f"{answered} and starts_with({text}, '-')",
    }
    conditions |= {f"code {code}": f"{text} = {quote_text(code)}" for code in NOT_ANSWERED}
    facts = {
        "missing_texts": f"list(distinct cast({column} as varchar)) filter (not {present} and {text} != '')",
        "shortest": f"min(length({text})) filter ({answered})",
        "longest": f"max(length({text})) filter ({answered})",
    }
    for place, notation in enumerate(NUMBER_NOTATIONS):
        number = notation.number(name)
        conditions[f"number{place}"] = f"isfinite({number})"
        conditions[f"whole{place}"] = f"isfinite({number}) and {number} = floor({number})"
        facts[f"largest{place}"] = f"max({number}) filter ({answered} and isfinite({number}))"
    for place, written_as in enumerate(DATE_FORMATS):
        time = date_in(text, written_as)
        conditions[f"date{place}"] = f"{time} is not null"
        facts[f"first{place}"] = f"min({time}) filter ({present})"
        facts[f"last{place}"] = f"max({time}) filter ({present})"
    for key, condition in conditions.items():
        facts[key] = f"coalesce(sum({weight}) filter ({present} and {condition}), 0)::bigint"
    return "{" + ", ".join(f"{quote_text(key)}: {fact}" for key, fact in facts.items()) + "}"


def shape_from(name: str, found: Mapping[str, Any] | None) -> Shape:
    """The shape that the summary of a column shows; None is a column without any row."""
    present = 0 if found is None else found["present"]
    missing_texts = tuple(sorted((found or {}).get("missing_texts") or ()))
    if found is None or not present:
        return Shape(0, missing_texts)
    fitting = [place for place in range(len(NUMBER_NOTATIONS)) if found[f"number{place}"] == present]
    width = _width(name, found, is_number=bool(fitting))
    dates = tuple(
        (written_as, found[f"first{place}"], found[f"last{place}"])
        for place, written_as in enumerate(DATE_FORMATS)
        if found[f"date{place}"] == present
    )
    if not fitting or width is not None or found["leading_zeros"]:
        return Shape(present, missing_texts, width=width, dates=dates)
    codes = _not_answered(found, fitting[0])
    return Shape(
        present - sum(found[f"code {code}"] for code in codes),
        (*missing_texts, *codes),
        notations=tuple(NUMBER_NOTATIONS[place] for place in _telling(found, fitting)),
        is_whole=found[f"whole{fitting[0]}"] == present,
        long_decimals=found["long_decimals"] / present,
        dates=dates,
    )


def _width(name: str, found: Mapping[str, Any], *, is_number: bool) -> int | None:
    """Characters of each value where all are codes of one width: with leading zeros, with letters, or so named."""
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


def is_value(text: str, missing_texts: Iterable[str]) -> bool:
    """Whether a text of a column stands for a value."""
    return text.strip(" ") not in MISSING_TEXTS and text not in missing_texts


def is_present(name: str, missing_texts: Iterable[str] = ()) -> str:
    """SQL: the cell holds a value."""
    column = quote_name(name)
    tokens = ", ".join(quote_text(token) for token in (*MISSING_TEXTS, *missing_texts))
    return f"({column} is not null and trim(cast({column} as varchar)) not in ({tokens}))"


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
