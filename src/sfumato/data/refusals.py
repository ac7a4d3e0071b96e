"""What is said of a source that cannot be read: never what stands in it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from sfumato.data.sources.base import Source
from sfumato.data.sources.combining import Queried
from sfumato.errors import DataError, SourceError
from sfumato.values.schema import Attribute


def unreadable(source: Source, error: Exception) -> SourceError:
    """A sentence for a failed read. The engine's own text quotes lines of the data, so none of it is used."""
    kind = str(error).lower()
    # Only these fixed words are looked for; no part of the text goes on but the number of a line.
    if "unicode" in kind or "utf-8" in kind or "utf8" in kind or "encoding" in kind:
        reason = (
            "it holds bytes that are not in the encoding it is read in, UTF-8 unless said otherwise. "
            "Say --encoding with the one it was saved in, such as cp1252, or save it as UTF-8"
        )
    elif "out of memory" in kind or "no space" in kind:
        reason = "memory or temporary disk space ran out. Free some and try again"
    elif isinstance(source, Queried) and kind.startswith("conversion error"):
        reason = (
            "a cell is no number, or no date, where the query needs one. Cells of text files are text, and files of "
            "statistics are read by their labels: compare with the label in quotes, or write try_cast(age as double), "
            "which leaves out what is none"
        )
    elif "maximum line size" in kind:
        reason = "some line is longer than two million bytes. Is a quote not closed? Otherwise shorten the cell, or leave the column out"
    elif "csv" in kind:
        found = re.search(r"csv error on line: (\d+)", kind)
        line = "some line" if found is None else f"line {int(found[1]):,}"
        reason = (
            f"{line} does not have the header's number of columns, or a quote is not closed. Mend the line"
        )
    else:
        reason = source.cure
    return SourceError(f"{source.description} cannot be read: {reason}.")


def require_columns(source: Source, attributes: Sequence[Attribute]) -> None:
    """Refuse a source that lacks a column, with the nearest that it has; other names may be cells of a headless file."""
    present = source.columns()
    absent = [each.name for each in attributes if each.name not in present]
    if absent:
        names = ", ".join(repr(name) for name in absent)
        hint = column_hint(absent[0], present)
        raise DataError(f"{source.description} has no column {names}; {hint}", attribute=absent[0])


def column_hint(absent: str, present: Sequence[str]) -> str:
    """What to do about a column that is not there: the nearest that is, never all of them, which may be cells."""
    close = difflib.get_close_matches(absent, present, n=1)
    return (
        f"did you mean {close[0]!r}?"
        if close
        else "correct the schema's names, or give the data that column."
    )
