"""How every data set is put on disk: data and schema beside each other, whole or not at all."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from sfumato.datasets.card import Card, DatasetFiles
from sfumato.errors import DownloadError, ParameterError
from sfumato.writing import name_schema_file, refuse_existing, write_whole

FORMATS = (".parquet", ".csv")
"""Endings of the files that generators write."""


def store_fetched(
    card: Card, to: Path, columns: Sequence[str], fetch_rows: Callable[[], Sequence[Sequence[Any]]]
) -> DatasetFiles:
    """Fetch rows and write them as CSV with their schema, into a folder that is made if it is not there.

    Parameters
    ----------
    card
        Names the file, and says how many rows must come.
    to
        The folder.
    columns
        The header.
    fetch_rows
        Downloads and reads; called only when nothing stands in the way of writing.

    Raises
    ------
    DownloadError
        When what came is not what was expected.
    ParameterError
        When the output exists or cannot be written.
    """
    data = to / f"{card.name}.csv"
    schema = name_schema_file(data)
    # Before the download, so that a refusal is immediate.
    refuse_existing(data, schema, parameter="to")
    rows = fetch_rows()
    if len(rows) != card.rows:
        raise DownloadError(
            f"the files of {card.name!r} hold {len(rows):,} rows, expected {card.rows:,}. "
            "Nothing was written; please report this."
        )
    try:
        to.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError(
            f"to: the folder {str(to)!r} cannot be made ({error.strerror}). "
            "It must be a folder you may write to; choose another.",
            parameter="to",
        ) from None
    with write_whole(data, schema, parameter="to") as (temporary_data, temporary_schema):
        with temporary_data.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(rows)
        temporary_schema.write_text(card.read_schema(), encoding="utf-8")
    return DatasetFiles(data=data, schema=schema, rows=len(rows))


def store_made(
    card: Card,
    out: Path,
    batches: Iterable[Any],
    open_writer: Callable[[Path, str], Any],
    progress: Callable[[int], None] | None,
) -> DatasetFiles:
    """Write drawn batches to a file with their schema beside it.

    Parameters
    ----------
    card
        Gives the schema.
    out
        A file whose ending is one of :data:`FORMATS`.
    batches
        Arrow batches, drawn while they are written.
    open_writer
        From a path and an ending to something with ``write_batch``.
    progress
        Called after each batch with the number of rows written so far.

    Raises
    ------
    ParameterError
        When the output is refused; nothing is written then.
    """
    suffix = out.suffix.lower()
    if suffix not in FORMATS:
        raise ParameterError(
            f"out must end in {' or '.join(FORMATS)}, which says the format, got {out.name!r}. Rename the output.",
            parameter="out",
        )
    schema = name_schema_file(out)
    with write_whole(out, schema, parameter="out") as (temporary_data, temporary_schema):
        temporary_schema.write_text(card.read_schema(), encoding="utf-8")
        written = 0
        with open_writer(temporary_data, suffix) as writer:
            for batch in batches:
                writer.write_batch(batch)
                written += batch.num_rows
                if progress is not None:
                    progress(written)
    return DatasetFiles(data=out, schema=schema, rows=written)


def check_number(name: str, value: object, *, lowest: int, highest: int | None = None) -> None:
    """Refuse what is no whole number within its bounds.

    Examples
    --------
    >>> check_number("rows", 0, lowest=1)
    Traceback (most recent call last):
    sfumato.errors.ParameterError: rows must be a whole number of at least 1, got 0. Choose another number.
    """
    # True is an int to Python, and nobody means it as a number of rows.
    if isinstance(value, int) and not isinstance(value, bool):
        upper = value if highest is None else highest
        if lowest <= value <= upper:
            return
    allowed = f"of at least {lowest}" if highest is None else f"from {lowest} to {highest}"
    raise ParameterError(
        f"{name} must be a whole number {allowed}, got {value!r}. Choose another number.", parameter=name
    )
