"""Text in and out: numbers for people, safe plain text, TOML and JSON."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

# --------------------------------------------------------------------------------------------------
# Numbers as they are written for people: counts, shares, estimates to the digits that their errors support.


Cell = str | float | int
"""What a cell of a table of results holds."""

MOST_LISTED = 30
"""Names that are listed one by one where all would not fit a line."""

FEW_LISTED = 8
"""Names that are listed in the middle of a sentence."""

LONGEST = 1e15
"""Size from which on a number is written by its power of ten."""

ROUNDING = 2e-7
"""Share of a number below which its error is what is left of floats that cancel."""


def counted(number: int, noun: str) -> str:
    """A count and what is counted.

    Examples
    --------
    >>> counted(1, "row"), counted(1234, "row")
    ('1 row', '1,234 rows')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def capital(sentence: str) -> str:
    """A sentence with a large first letter.

    Examples
    --------
    >>> capital("about half")
    'About half'
    """
    return f"{sentence[:1].upper()}{sentence[1:]}"


def percent(share: float, *, decimals: int = 0) -> str:
    """A share as it is written in sentences: a space before the sign.

    Examples
    --------
    >>> percent(0.85), percent(0.1234, decimals=1)
    ('85 %', '12.3 %')
    """
    return f"{100 * share:.{decimals}f} %"


def percent_as_stated(share: float) -> str:
    """A share that somebody chose, such as a confidence level, with the digits it was given.

    Examples
    --------
    >>> percent_as_stated(0.95), percent_as_stated(0.9999)
    ('95 %', '99.99 %')
    """
    return f"{100 * share:.6g} %"


def show_share(share: float) -> str:
    """A share that was found; small ones keep two significant digits.

    Examples
    --------
    >>> show_share(0.1234), show_share(0.00034)
    ('12.3 %', '0.034 %')
    """
    return percent(share, decimals=1) if share >= 0.01 or share == 0 else f"{100 * share:.2g} %"


def show(value: float, standard_error: float) -> str:
    """Write an estimate to the digits its standard error supports: two significant ones of the error.

    Examples
    --------
    >>> show(1234.5678, 12.3)
    '1,235'
    >>> show(0.123456, 0.0123)
    '0.123'

    An error that is the last digits of floats is none.

    >>> show(5999.99999999, 1e-4)
    '6,000'

    What is too long to be read is written by its power of ten.

    >>> show(3.2e17, 1.0)
    '3.2e+17'
    """
    if math.isfinite(value) and abs(value) >= LONGEST:
        return f"{value:.3g}"
    if standard_error > ROUNDING * abs(value) and math.isfinite(standard_error):
        decimals = max(0, 1 - math.floor(math.log10(standard_error)))
    else:
        is_whole = math.isfinite(value) and math.isclose(value, round(value), rel_tol=ROUNDING)
        decimals = 0 if is_whole else 6
    return f"{value:,.{decimals}f}"


def show_with_error(value: float, standard_error: float) -> str:
    """An estimate and its standard error, for a sentence.

    Examples
    --------
    >>> show_with_error(27.4, 30.2), show_with_error(5999.99999999, 1e-4)
    ('27 ± 30', '6,000 ± 0')
    """
    error = standard_error if standard_error > ROUNDING * abs(value) else 0.0
    return f"{show(value, error)} ± {show(error, error)}"


def show_cell(cell: Cell) -> str:
    """A cell as text: whole numbers with thousands marks, others to four significant digits."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, int):
        return f"{cell:,}"
    if cell != 0 and (abs(cell) < 1e-4 or abs(cell) >= LONGEST):
        return f"{cell:.3g}"
    return f"{cell:,.4g}" if abs(cell) < 1e4 else f"{cell:,.0f}"


def listed(names: Sequence[str], *, most: int = MOST_LISTED) -> str:
    """Names with commas between, the first of them where they are many.

    Examples
    --------
    >>> listed(("a", "b")), listed([str(each) for each in range(1_000)])[-22:]
    ('a, b', ', 29, … (1,000 in all)')
    """
    more = f", … ({len(names):,} in all)" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


# --------------------------------------------------------------------------------------------------
# Texts of others where they could do something: on a terminal, in a spreadsheet.


_COMMANDS = re.compile(
    # Control characters save for the tab and the end of a line; marks that turn the direction of reading around;
    # characters without a width; other ends of lines.
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_RUN_BY_SPREADSHEETS = re.compile(r"\s*[=+\-@]|[\t\r]")
_NUMBER = re.compile(r"[+-]?\d[\d.,\u00a0\u202f ]*%?|[-+]")


def visible(text: str) -> str:
    r"""A text in which what would command a terminal, or hide from a reader, is written out.

    Examples
    --------
    >>> print(visible("a\x1b[2Jb, Größe 😀"))
    a\x1b[2Jb, Größe 😀
    """
    return _COMMANDS.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def is_run(label: str) -> bool:
    """Whether a spreadsheet would take a label for a formula; numbers with a sign are none.

    Examples
    --------
    >>> [is_run(each) for each in ("=1+1", "@SUM(A1)", "-2+3", "-9", "a=b", "+4,5 %", "-")]
    [True, True, True, False, False, False, False]
    """
    return _RUN_BY_SPREADSHEETS.match(label) is not None and _NUMBER.fullmatch(label) is None


def number_run(labels: Iterable[str]) -> int:
    """How many labels a spreadsheet would take for formulas."""
    return sum(map(is_run, labels))


def as_text(label: str) -> str:
    r"""A label as a spreadsheet shows it: an apostrophe keeps it from being run, and commands to a terminal are written out.

    Examples
    --------
    >>> as_text("=1+1"), as_text("-9")
    ("'=1+1", '-9')
    >>> print(as_text("a\x1b[2J"))
    a\x1b[2J
    """
    shown = visible(label)
    return f"'{shown}" if is_run(label) else shown


# --------------------------------------------------------------------------------------------------
# TOML and JSON that somebody wrote: what cannot be read is one sentence, whatever is wrong with it.


TOO_DEEP = "its lists or tables are nested too deeply"
TOO_LONG = "a number in it has more digits than can be read"


def parse_toml(text: str) -> dict[str, Any]:
    """The content of a TOML text.

    Raises
    ------
    ValueError
        With the reason, which names line and column where they are known.

    Examples
    --------
    >>> parse_toml("a = 1")
    {'a': 1}
    """
    # The reader gives line and column, save where the text just ends.
    last = f"at the end, line {text.count(chr(10)) + 1}"
    found: dict[str, Any] = _parsed(
        tomllib.loads,
        text,
        tomllib.TOMLDecodeError,
        lambda error: str(error).replace("at end of document", last),
    )
    return found


def parse_json(text: str) -> Any:
    """The content of a JSON text.

    Raises
    ------
    ValueError
        With the reason.

    Examples
    --------
    >>> parse_json("[1, 2]")
    [1, 2]
    """
    return _parsed(
        json.loads,
        text,
        json.JSONDecodeError,
        lambda error: f"it is not valid JSON at line {error.lineno}, column {error.colno}",
    )


def _parsed(
    read: Callable[[str], Any], text: str, malformed: type[ValueError], reason: Callable[[Any], str]
) -> Any:
    try:
        return read(text)
    except malformed as error:
        said = reason(error)
    except RecursionError:
        said = TOO_DEEP
    except ValueError:
        said = TOO_LONG
    raise ValueError(said)


# --------------------------------------------------------------------------------------------------
# Writing TOML: the standard library reads it and does not write it.


_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def toml_key(name: str) -> str:
    """A key, in quotes where TOML wants them.

    Examples
    --------
    >>> toml_key("age"), toml_key("hours per week")
    ('age', '"hours per week"')
    """
    return name if _BARE_KEY.fullmatch(name) else toml_value(name)


def toml_value(value: Any) -> str:
    """A text, number, truth value, list or mapping on one line.

    Examples
    --------
    >>> toml_value({"job": 0.5, "bins": [17.0, 25.5]})
    '{job = 0.5, bins = [17, 25.5]}'
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return number_text(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{toml_key(key)} = {toml_value(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml_value(each) for each in value) + "]"
    # JSON's escapes are a subset of TOML's, save that TOML also wants DEL escaped.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def number_text(value: float) -> str:
    """The shortest text that reads back as the same number; whole numbers without a point."""
    if isinstance(value, int):
        # Whole numbers may be larger than any fraction.
        return repr(value)
    return repr(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
