"""Texts of others where they could do something: on a terminal, in a spreadsheet."""

from __future__ import annotations

import re
from collections.abc import Iterable

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
    """A label as a spreadsheet shows it: an apostrophe keeps it from being run.

    Examples
    --------
    >>> as_text("=1+1"), as_text("-9")
    ("'=1+1", '-9')
    """
    return f"'{label}" if is_run(label) else label
