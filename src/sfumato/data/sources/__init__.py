"""Sources of rows, recognized by path, address or type. Another package adds one by the entry point `sfumato.data.sources`.

Another installed package adds a kind by the entry point ``sfumato.data.sources``.
"""

from __future__ import annotations

import glob
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.data.sources.base import Asked, Queried, Several, Source
from sfumato.errors import SourceError, without_origins
from sfumato.registry import Members

if TYPE_CHECKING:
    from sfumato.data.engine import Engine

SOURCES: Members[Source] = Members("sfumato.data.sources", Source, "kind")


@without_origins()
def open_source(
    data: Any,
    *,
    table: str | None = None,
    query: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    names: Sequence[str] | None = None,
    engine: Engine | None = None,
) -> Source:
    """Find out what kind of source something is.

    Parameters
    ----------
    data
        A path, a pattern such as ``"parts/*.csv"``, an address, or an object in memory; ``SOURCES`` has
        the kinds.
    table
        Table of a database, sheet of a workbook; ``file.duckdb::table`` names it in the path itself.
    query
        SQL that gives the rows: a database's own, or else DuckDB's, which calls the rows ``data``.
    encoding
        Of a text file that is not UTF-8.
    delimiter
        What stands between the cells of a text file, where its first lines do not tell.
    names
        Of the columns, in order, of a text file that has no header line.
    engine
        What will read the rows: those that come only once are kept where it keeps what exceeds memory.

    Raises
    ------
    SourceError
        When no kind recognises the data, or something was said that means nothing to it.
    """
    known_names = None if names is None else tuple(names)
    place: Path | None = getattr(engine, "temporary_folder", None)
    asked = Asked(data, table, query, encoding, delimiter, known_names, place)
    found = _files_of(asked)
    if len(found) > 1:
        parts = tuple(_recognised(replace(asked, data=each, query=None)) for each in found)
        several = Several(asked.text, parts)
        return several if query is None else Queried(several, query)
    source = _recognised(asked if not found else replace(asked, data=found[0]))
    return source if query is None or "query" in source.takes else Queried(source, query)


def _files_of(asked: Asked) -> list[Path]:
    """The files that a pattern stands for; none where it is no pattern."""
    path = asked.path
    if path is None or not glob.has_magic(asked.text) or path.exists():
        return []
    found = sorted(Path(path.anchor or ".").glob(str(path.relative_to(path.anchor))))
    if not found:
        raise SourceError(f"no file fits the pattern {asked.text!r}. Check the folder and the ending.")
    return found


def _recognised(asked: Asked) -> Source:
    """The source over the data, which every option must mean something to."""
    for member in SOURCES.members.values():
        source = member.recognise(asked)
        if source is None:
            continue
        for option in asked.options:
            if option != "query" and option not in source.takes:
                raise SourceError(
                    f"{source.description} is read by the source {source.kind!r}, to which {option} says nothing. "
                    f"Leave {option} out."
                )
        return source
    known = "; ".join(f"{each.reads} ({name})" for name, each in SOURCES.members.items())
    # Of an address nothing is repeated: it may hold a password.
    what = (
        f"cannot read rows from a {type(asked.data).__name__}"
        if not asked.text
        else f"cannot tell the format of {asked.path.name!r} by its name"
        if asked.path is not None
        else "no source knows such an address"
    )
    raise SourceError(f"{what}. Known are {known}.{SOURCES.unusable_words()}")
