"""Numbers as they are written for people: counts, shares, estimates to the digits that their errors support."""

from __future__ import annotations

import math
from collections.abc import Sequence

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
