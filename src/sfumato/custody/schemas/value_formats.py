"""How values of a column are written: numbers, dates, codes, texts that stand for missing values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

import numpy as np

from sfumato.arrays import Floats
from sfumato.data.coding import cell_number, quote_text
from sfumato.schema import MISSING_LABEL, Attribute, Role

# --------------------------------------------------------------------------------------------------
# Marks of numbers, formats of dates, and texts that stand for no value.


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
        return cell_number(Attribute.model_validate({"name": name, "role": Role.WEIGHT, **self.keys}))

    def read(self, texts: Any) -> Floats:
        """The numbers that texts are in this notation, not-a-number where they are none.

        Examples
        --------
        >>> import pyarrow as pa
        >>> NumberNotation(decimal=",", thousands=".").read(pa.array(["1.234,5", "1.5"])).tolist()
        [1234.5, nan]
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        if self == PLAIN:
            is_written = pc.match_substring_regex(texts, r"^[+-]?(\d{1,300}\.?\d*|\.\d+)([eE][+-]?\d{1,2})?$")
            digits = texts
        else:
            decimal, mark = re.escape(self.decimal or "."), self.thousands
            grouping = None if mark is None else rf"[ {_SPACES}]" if mark == " " else re.escape(mark)
            grouped = "" if mark is None else rf"|\d{{1,3}}({grouping}\d{{3}})+"
            is_written = pc.match_substring_regex(texts, rf"^[+-]?(\d{{1,300}}{grouped})({decimal}\d*)?$")
            digits = texts if mark is None else pc.replace_substring_regex(texts, grouping, "")
            digits = pc.replace_substring(digits, self.decimal or ".", ".")
        numbers = np.full(len(texts), np.nan)
        is_number = as_mask(is_written)
        plain = pc.replace_substring_regex(digits.filter(is_written), r"^\+", "")
        numbers[is_number] = pc.cast(plain, pa.float64()).to_numpy()
        return numbers


_SPACES = "\u00a0\u202f\u2009"
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
    "%m/%d/%y",
    "%d.%m.%Y %H:%M",
    "%d.%m.%Y %H:%M:%S",
    "%d/%m/%Y %H:%M",
    "%d/%m/%Y %H:%M:%S",
    "%m/%d/%Y %H:%M",
    "%m/%d/%Y %H:%M:%S",
)
"""Formats of dates; None is 2019-12-31, with or without a time. Day first comes before month first."""

_DIGITS = {"%Y": r"\d{4}", "%d": r"\d{1,2}", "%m": r"\d{1,2}", "%H": r"\d{1,2}"}


def _date_pattern(written: str | None) -> str:
    """Regular expression of a format of dates."""
    if written is None:
        return r"^\d{4}-\d{2}-\d{2}([ T].*)?$"
    if written == "%Y%m%d":
        return r"^(18|19|20)\d{2}(0[1-9]|1[0-2])([0-2]\d|3[01])$"
    found = re.sub(
        r"%\w|[.]", lambda part: _DIGITS.get(part[0], r"\d{2}" if "%" in part[0] else r"\."), written
    )
    return f"^{found}$"


def time_in(text: str, form: str | None) -> str:
    """SQL: the time that a text holds in a format, NULL where it holds none."""
    return (
        f"try_cast({text} as timestamp)"
        if form is None
        else f"try_strptime(trim({text}), {quote_text(form)})"
    )


MISSING_TEXTS = (
    *("", "?", ".", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "Null", "NULL", MISSING_LABEL),
    *("k.A.", "k. A.", "keine Angabe", "n.d.", "non renseigné", "s.o."),
)
"""Texts that stand for 'no value' in most files that hold them, spaces around them aside."""

NOT_ANSWERED = (
    *(-1, -2, -7, -8, -9, -99, -999, -9999),
    *(97, 98, 99, 997, 998, 999, 9997, 9998, 9999, 99999, 999999),
)
"""Numbers that surveys write where there is no answer."""

FEWEST_NOT_ANSWERED = 3
"""Rows with such a number before it is taken for one."""

SIGNS = ("%", "‰", "€", "EUR", "$", "USD", "£", "GBP", "CHF", "Fr.", "kg", "km", "m²", "m2", "Jahre", "ans")
"""What stands behind numbers in sheets that were made for people."""

_SIGNED = rf"^[+-]?[0-9][0-9., '\p{{Z}}]*?(?P<sign>{'|'.join(map(re.escape, SIGNS))})$"

WIDEST_CODE = 12
"""Characters of the longest codes of classifications."""

MOST_ODD_TEXTS = 8
"""Different texts among numbers or dates that are taken for missing values."""

_CODE_WORD = re.compile(
    "codes?|zip|post(al|code)|isco|nace|icd|plz|postleitzahl|kldb|(gemeinde)?schlussel|gemeinde|ags|naf|insee|commune|cim|pcs|isced"
)


# --------------------------------------------------------------------------------------------------
# The formats of one column, by its different values.


@dataclass(frozen=True)
class Format:
    """How a column's values are written; arrays have one entry for each different text.

    Numbers are None unless every value is one. Notations are those that read every value, the likeliest first: several where they
    would give different numbers, none for codes, of which ``width`` is that of the shortest. ``digits`` and ``dates`` hold for every value.
    """

    is_present: Any
    missing_texts: tuple[str, ...] = ()
    numbers: Floats | None = None
    notations: tuple[NumberNotation, ...] = ()
    is_whole: bool = False
    width: int | None = None
    digits: int | None = None
    are_times_of_day: bool = False
    sign: str = ""
    dates: tuple[tuple[str | None, datetime, datetime], ...] = ()
    has_odd_texts: bool = False
    readings: dict[NumberNotation, Floats] = field(default_factory=dict, repr=False)

    def settled(self, mark: str) -> Format:
        """The same format in the notation with a decimal mark, where several are possible."""
        if len(self.notations) < 2:
            return self
        chosen = next((each for each in self.notations if (each.decimal or ".") == mark), self.notations[0])
        fields = {**self.__dict__, "notations": (chosen,), "numbers": self.readings[chosen]}
        # Thousands have no decimals: 1.234 read with a comma for decimals is whole.
        return Format(**fields | {"is_whole": chosen.thousands is not None})


def format_of(texts: Any, rows: Any, words: frozenset[str], cursor: Any, *, is_typed: bool = False) -> Format:
    """How the different texts of a column are written, each by so many rows.

    The cursor reads dates as they will be read when they are published. In a column that is typed as numbers a point never is
    a mark of thousands.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    cells = pc.utf8_trim(texts, " ")
    is_present = ~as_mask(pc.is_in(cells, pa.array(MISSING_TEXTS)))
    readings = _numbers(cells, is_present, is_typed=is_typed)
    dates = _dates(cells, cursor)
    read = [
        *(~np.isnan(each) for each in readings.values()),
        *(as_mask(each.is_valid()) for each in dates.values()),
    ]
    odd = _odd(cells, rows, is_present, read)
    is_present &= ~odd
    missing = ~is_present & as_mask(pc.greater(pc.binary_length(texts), 0))
    if not is_present.any():
        return Format(is_present, _listed(texts, missing))
    fitting = {each: numbers for each, numbers in readings.items() if not np.isnan(numbers[is_present]).any()}
    values = cells.filter(pa.array(is_present))
    ends = {form: pc.min_max(times.filter(pa.array(is_present))) for form, times in dates.items()}
    facts: dict[str, Any] = {
        "has_odd_texts": bool(odd.any()),
        "dates": tuple(
            (form, ends[form]["min"].as_py(), ends[form]["max"].as_py())
            for form, times in dates.items()
            if as_mask(times.is_valid())[is_present].all()
        ),
    }
    width = _width(values, words, is_number=bool(fitting))
    telling = {np.nanmax(numbers[is_present]): each for each, numbers in reversed(fitting.items())}
    notations = tuple(each for each in fitting if each in telling.values())
    if not fitting or width is not None or _all(values, r"^[+-]?0[0-9].*$", some=True):
        return Format(
            is_present,
            _listed(texts, missing),
            numbers=fitting[notations[0]] if fitting else None,
            width=width,
            are_times_of_day=_all(values, "^([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?$"),
            sign="" if fitting else _sign(values),
            **facts,
        )
    numbers = fitting[notations[0]]
    is_code = _not_answered(numbers, rows, is_present)
    left = is_present & ~is_code
    lengths = pc.utf8_length(cells).to_numpy()[left]
    has_one_width = lengths.min() == lengths.max() and _all(cells.filter(pa.array(left)), "^[0-9]+$")
    return Format(
        left,
        _listed(texts, missing | is_code),
        numbers=numbers,
        notations=notations,
        is_whole=bool((numbers[left] == np.floor(numbers[left])).all()),
        digits=int(lengths[0]) if has_one_width else None,
        readings=fitting,
        **facts,
    )


def as_mask(found: Any) -> Any:
    """Arrow's booleans as numpy's."""
    return found.to_numpy(zero_copy_only=False)


def settled_by_the_file(formats: Sequence[Format]) -> list[Format]:
    """The same formats, where the decimal mark of clear columns settles how ambiguous ones of the same file are read."""
    clear = {
        each.notations[0].decimal or "." for each in formats if len(each.notations) == 1 and not each.is_whole
    }
    return [each.settled(next(iter(clear))) if len(clear) == 1 else each for each in formats]


def _listed(texts: Any, chosen: Any) -> tuple[str, ...]:
    import pyarrow as pa

    return tuple(sorted(texts.filter(pa.array(chosen)).to_pylist()))


def _all(values: Any, pattern: str, *, some: bool = False) -> bool:
    """Whether all values, or some, are written so."""
    import pyarrow.compute as pc

    found = pc.match_substring_regex(values, pattern)
    return bool((pc.any if some else pc.all)(found, min_count=0).as_py())


def _numbers(cells: Any, is_present: Any, *, is_typed: bool) -> dict[NumberNotation, Floats]:
    """The texts as numbers, in every notation that some are written in."""
    import pyarrow as pa

    readings = {PLAIN: PLAIN.read(cells)}
    marks = not is_typed and _all(cells.filter(pa.array(is_present)), rf"\d[,.' {_SPACES}]\d", some=True)
    readings |= {each: each.read(cells) for each in NUMBER_NOTATIONS[1:] if marks}
    return {each: numbers for each, numbers in readings.items() if not np.isnan(numbers).all()}


def _dates(cells: Any, cursor: Any) -> dict[str | None, Any]:
    """The texts as times, in every format that half of them are written in; null where they are none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    # A date has six digits at least.
    has_digits = pc.match_substring_regex(cells[:200], r"(\d.*){6}")
    if not len(cells) or 2 * np.count_nonzero(as_mask(has_digits)) < len(has_digits):
        return {}
    found = {}
    for form in DATE_FORMATS:
        is_written = pc.match_substring_regex(cells, _date_pattern(form))
        if 2 * np.count_nonzero(as_mask(is_written)) >= len(cells):
            cursor.register("written", pa.table({"cell": pc.if_else(is_written, cells, None)}))
            answer = (
                cursor.sql(f"select {time_in('cell', form)} as time from written")
                .to_arrow_reader(len(cells))
                .read_all()
            )
            found[form] = answer["time"].combine_chunks()
            cursor.unregister("written")
    return found


def _odd(cells: Any, rows: Any, is_present: Any, readings: Sequence[Any]) -> Any:
    """Texts that stand for none among numbers or dates: few different ones, and none with a digit other than 0.

    ``2A`` among numbers is a code, and ``100+`` a number to people.
    """
    import pyarrow as pa

    none = np.zeros(len(cells), dtype=bool)
    best = max(readings, key=lambda is_read: rows[is_present & is_read].sum(), default=none)
    odd = is_present & ~best
    if not 0 < odd.sum() <= MOST_ODD_TEXTS or 2 * rows[odd].sum() > rows[is_present].sum():
        return none
    # With leading zeros they are codes, and a letter in a code is no mistake.
    has_digits = _all(cells.filter(pa.array(odd)), "[1-9]", some=True)
    return none if has_digits or _all(cells, "^[+-]?0[0-9]+$", some=True) else odd


def _not_answered(numbers: Floats, rows: Any, is_present: Any) -> Any:
    """Which numbers stand for no answer: below zero where nothing else is, or nines far above."""
    is_code = is_present & np.isin(numbers, NOT_ANSWERED)
    others = numbers[is_present & ~is_code]
    if not others.size:
        return np.zeros(len(numbers), dtype=bool)
    of_code = {code: rows[is_code & (numbers == code)].sum() for code in np.unique(numbers[is_code])}
    often = [code for code, number in of_code.items() if number >= FEWEST_NOT_ANSWERED]
    # A lone -1 is a number like others; surveys write at least -9, or several of them.
    below = [code for code in often if code < 0 <= others.min()]
    above = [code for code in often if code > 2 * others.max() > 0]
    return is_code & np.isin(numbers, [*([] if below == [-1] else below), *above])


def _sign(values: Any) -> str:
    """What stands behind every number, where it is the same in all rows."""
    import pyarrow.compute as pc

    found = pc.extract_regex(values, _SIGNED)
    signs = [] if found.null_count else pc.unique(pc.struct_field(found, "sign")).to_pylist()
    return str(signs[0]) if len(signs) == 1 else ""


def _width(values: Any, words: frozenset[str], *, is_number: bool) -> int | None:
    """Characters of the shortest value where all are codes: with leading zeros, with letters, or so named.

    All have one width, or begin with letters and a number, as those of diagnoses do: A00, A00.1.
    """
    import pyarrow.compute as pc

    lengths = pc.min_max(pc.utf8_length(values))
    shortest, longest = int(lengths["min"].as_py()), int(lengths["max"].as_py())
    if shortest > WIDEST_CODE:
        return None
    if _all(values, r"^[A-Z]{1,2}[0-9]+([.-][0-9A-Z]+)?$"):
        return max(shortest, 2)
    if shortest != longest or shortest < 2 or not _all(values, r"^[0-9A-Z]+([.-][0-9A-Z]+)*$"):
        return None
    is_code = (
        not is_number or _all(values, "^[+-]?0[0-9]", some=True) or any(map(_CODE_WORD.fullmatch, words))
    )
    return shortest if is_code else None
