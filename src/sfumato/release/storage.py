"""Writing and reading release folders, atomically."""

from __future__ import annotations

import errno
import hashlib
import itertools
import json
import os
import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import numpy as np

from sfumato.atomic_files import PARTIAL, HeldFolder, ended_by_exceptions
from sfumato.data.arrow import ArrowRows, row_writer
from sfumato.data.chunks import CodedBatch, Read
from sfumato.data.sources.base import CheckedFile, Source
from sfumato.data.sources.columnar import ParquetFile, ParquetFiles, rows_of_files
from sfumato.data.sources.delimited import CsvFile
from sfumato.errors import DataError, ReleaseDamagedError, ReleaseError, ReleaseExistsError, SourceError
from sfumato.laws import LAWS
from sfumato.progress import steps
from sfumato.randomness.streams import NoiseSource
from sfumato.release.manifest import (
    MANIFEST_NAME,
    SIGNATURE_NAME,
    Format,
    Manifest,
    Part,
    Signature,
    TableEntry,
    digest_of_parts,
)
from sfumato.release.publication import MadeRows, PublishedTable, in_random_order, make_rows
from sfumato.release.readme import README_NAME, readme_text

# --------------------------------------------------------------------------------------------------
# Two threads for one stream: the next batch is made while the last one is written.


Item = TypeVar("Item")

BATCHES_AHEAD = 4
"""Batches that may wait between the threads; bounds memory."""


def in_background(items: Iterator[Item]) -> Iterator[Item]:
    """The same items, made by a thread of their own.

    An exception in the thread is raised here, in its place in the order. When the consumer stops early
    the thread stops at its next item. The first two items are made here: where there is but one, a thread would
    take longer to start than it could save.
    """
    try:
        first = list(itertools.islice(items, 2))
        yield from first
        if len(first) == 2:
            yield from _from_thread(items)
    finally:
        _close(items)


def _from_thread(items: Iterator[Item]) -> Iterator[Item]:
    waiting: queue.Queue[Item | _End] = queue.Queue(BATCHES_AHEAD)
    stopped = threading.Event()
    thread = threading.Thread(
        target=_fill, args=(items, waiting, stopped), name="sfumato-reader", daemon=True
    )
    thread.start()
    try:
        while not isinstance(item := waiting.get(), _End):
            yield item
        if item.error is not None:
            raise item.error
    finally:
        stopped.set()
        thread.join()


class _End:
    """What follows the last item: nothing, or the exception that ended the stream."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


def _fill(items: Iterator[Item], waiting: queue.Queue[Item | _End], stopped: threading.Event) -> None:
    """Put every item on the queue, then the end."""
    end = _End(None)
    try:
        for item in items:
            if not _put(item, waiting, stopped):
                break
    except BaseException as error:  # noqa: BLE001 - it is raised again in the consumer's thread
        end = _End(error)
    finally:
        # Closing a generator lets it close its files in the thread that reads them.
        _close(items)
    _put(end, waiting, stopped)


def _close(items: Iterator[Item]) -> None:
    close = getattr(items, "close", None)
    if close is not None:
        close()


def _put(entry: Item | _End, waiting: queue.Queue[Item | _End], stopped: threading.Event) -> bool:
    """Wait for room, unless the consumer has gone; whether the entry was taken."""
    while not stopped.is_set():
        try:
            waiting.put(entry, timeout=0.1)
        except queue.Full:
            continue
        return True
    return False


# --------------------------------------------------------------------------------------------------
# Writing and reading release folders: whole or not at all.


LARGEST_MANIFEST = 256 * 2**20
"""Bytes that are read of a manifest; a hundred thousand categories of ten attributes take a tenth of it."""

BYTES_AT_ONCE = 2**20
"""Read at a time of a file whose lines are counted."""

Progress = Callable[[int], None]
"""Called with the number of rows read since the last call."""

Describe = Callable[[tuple[TableEntry, ...]], Manifest]
"""Gives the manifest of a release from its tables, once they are made."""


Sign = Callable[[Mapping[str, bytes]], Signature]
"""Signs files by their names."""

WriteParts = Callable[[PublishedTable, Path, Format], TableEntry]
"""Writes a table in parts into the folder of a release."""


def write_release(
    tables: Sequence[PublishedTable],
    describe: Describe,
    out: Path,
    *,
    read: Read,
    noise: NoiseSource,
    format: Format,
    progress: Progress | None = None,
    sign: Sign | None = None,
    check: Callable[[Path, Manifest], None] | None = None,
    parted: WriteParts | None = None,
) -> Manifest:
    """Make the rows and write a release folder. It appears under its name only when all of it is written.

    Parameters
    ----------
    tables
        What is published.
    describe
        Gives the manifest, from the files once they are written.
    out
        The folder to make.
    read
        Gives the private rows.
    noise
        Of the publication; it decides the order of rows too.
    format
        Of the files.
    progress
        Called with the number of rows read since the last call.
    sign
        Gives a signature of the manifest and of README.md, from their content, when everything else was done.
    check
        Looks at what was written, before the folder takes its name; raises where it may not.
    parted
        Writes a table that is made from private rows in parts, where those are in splits.

    Raises
    ------
    ReleaseExistsError
        When the folder is there already.
    ReleaseError
        When the disk refuses: full, read-only, gone.
    """
    with _staged(out) as staging:
        entries = tuple(
            parted(table, staging, format)
            if parted is not None and isinstance(table.rows, MadeRows)
            else _write_table(table, _made(table, read, noise, staging, progress), staging, noise, format)
            for table in _told(tables)
        )
        manifest = describe(entries)
        content = (json.dumps(manifest.to_descriptor(), indent=2, ensure_ascii=False) + "\n").encode()
        words = readme_text(manifest, LAWS.read(manifest.law)).encode()
        (staging / MANIFEST_NAME).write_bytes(content)
        (staging / README_NAME).write_bytes(words)
        if check is not None:
            check(staging, manifest)
        if sign is not None:
            signature = sign({MANIFEST_NAME: content, README_NAME: words})
            (staging / SIGNATURE_NAME).write_text(signature.to_text(), encoding="ascii")
    return manifest


def refuse_existing_folder(out: Path) -> None:
    """Refuse an output folder that is already there, whatever is in it.

    Raises
    ------
    ReleaseExistsError
        Naming the folder.
    """
    if out.exists() or out.is_symlink():
        raise ReleaseExistsError(
            f"{str(out)!r} is already there. Releases are never overwritten; choose another name."
        )


@contextmanager
def _staged(out: Path) -> Iterator[Path]:
    """A folder that takes its real name at the end, and disappears when anything goes wrong."""
    refuse_existing_folder(out)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        held = HeldFolder(out.parent, prefix=f".{out.name}.{PARTIAL}", kind=PARTIAL)
    except OSError as error:
        raise ReleaseError(
            f"cannot write next to {str(out)!r}: {error.strerror}. Choose another place."
        ) from None
    try:
        with ended_by_exceptions():
            yield held.path
            held.path.chmod(0o777 & ~_umask())
            # Renaming onto a folder that appeared meanwhile fails, unless it is empty; it is never overwritten.
            held.path.rename(out)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise ReleaseExistsError(
                f"{str(out)!r} appeared while the release was written: somebody else made it. Releases are never overwritten; "
                "nothing was published. Choose another name."
            ) from None
        raise ReleaseError(
            f"writing {str(out)!r} failed: {error.strerror or 'the disk refused'}. Nothing was published."
        ) from None
    finally:
        held.close()


def _umask() -> int:
    """What new folders of this process are denied; reading it means setting it for a moment."""
    current = os.umask(0o077)
    os.umask(current)
    return current


def _write_table(
    table: PublishedTable,
    made: Iterator[CodedBatch],
    folder: Path,
    noise: NoiseSource,
    format: Format,
) -> TableEntry:
    path = folder / f"{table.name}.{format}"
    rows = 0
    # Rows are made while others are dealt, and put in order while others are written, which takes longest.
    ordered = shuffled(table, in_background(made), noise, folder)
    with row_writer(path, columns_of(table), format) as write:
        for batch in in_background(ordered):
            rows += batch.number_of_rows
            write(batch)
    return entry_of(table, path.name, format, sha256_of(path), rows)


def columns_of(table: PublishedTable) -> ArrowRows:
    """The columns of a table as they are written."""
    return ArrowRows(table.schema.attributes, table.integers, table.integer_type)


def shuffled(
    table: PublishedTable, made: Iterator[CodedBatch], noise: NoiseSource, folder: Path | None
) -> Iterator[CodedBatch]:
    """Rows of a table in the order they are published in; a table without rows is refused unless it may be one."""
    # Whole numbers wait in the type they were made in, which may be shorter than the one they are written in.
    columns = {
        **{each.name: each.code_type for each in table.schema.attributes},
        **dict.fromkeys(table.integers),
    }
    rows = 0
    order = noise.named(f"order of {table.name}")
    for batch in made if table.order_says_nothing else in_random_order(made, columns, order, folder):
        rows += batch.number_of_rows
        yield batch
    if rows == 0 and not table.may_be_empty:
        raise DataError("the data have no rows. There is nothing to publish.", number_of_rows=0)


def entry_of(table: PublishedTable, path: str, format: Format, sha256: str, rows: int) -> TableEntry:
    """What the manifest says of a table."""
    return TableEntry(
        name=table.name,
        path=path,
        format=format,
        sha256=sha256,
        number_of_rows=rows,
        attributes=table.schema.to_dict()["attributes"],
        integers=table.integers,
    )


def parted_entry(table: PublishedTable, parts: tuple[Part, ...]) -> TableEntry:
    """What the manifest says of a table in parts."""
    rows = sum(each.number_of_rows for each in parts)
    entry = entry_of(table, table.name, "parquet", digest_of_parts(parts), 0)
    return TableEntry(**{**entry.model_dump(), "parts": parts, "number_of_rows": rows})


def _told(tables: Sequence[PublishedTable]) -> Iterable[PublishedTable]:
    """The tables; where no row is read, whoever watches is told how many of them are written."""
    reads_rows = any(isinstance(each.rows, MadeRows) for each in tables)
    return tables if reads_rows else steps("Writing tables", tables)


def _made(
    table: PublishedTable, read: Read, noise: NoiseSource, folder: Path, progress: Progress | None
) -> Iterator[CodedBatch]:
    """The rows of a table, counted where they come from private ones."""
    for batch in make_rows(table.rows, read, noise, folder):
        if progress is not None and isinstance(table.rows, MadeRows):
            progress(batch.number_of_rows)
        yield batch


def sha256_of(path: Path) -> str:
    """Digest of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_manifest(folder: Path) -> Manifest:
    """Read and verify a release's manifest."""
    path = folder / MANIFEST_NAME
    if not path.is_file() or path.is_symlink():
        raise ReleaseError(
            f"{str(folder)!r} is not a release: it has no {MANIFEST_NAME}. Name the release's folder."
        )
    if path.stat().st_size > LARGEST_MANIFEST:
        raise ReleaseDamagedError(f"{MANIFEST_NAME} is too long to be a manifest. Get the release again.")
    try:
        return Manifest.from_text(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise ReleaseDamagedError(f"{MANIFEST_NAME} is not UTF-8 text. Get the release again.") from None


def verified_sources(folder: Path, entries: Sequence[TableEntry]) -> dict[str, Source]:
    """The file of every published table, refused unless they are the ones that were published."""
    sources = {entry.name: source_of(folder, entry, _checked(folder, entry)) for entry in entries}
    written = [file for each in sources.values() if not isinstance(each, CsvFile) for file in each.files]
    try:
        # All of them in one question: a release may have a thousand tables.
        found = dict(zip(written, rows_of_files(written), strict=True))
    except SourceError:
        found = {}
    for each in (file for entry in entries for file in entry.parts or (entry,)):
        path = folder / each.path
        rows = found.get(path) if path in written else _lines_below_header(path)
        if rows != each.number_of_rows:
            raise ReleaseDamagedError(
                f"{each.path} does not have the {each.number_of_rows:,} rows that the manifest states. "
                "Get the release again from where it came."
            )
    return dict(sources)


def _checked(folder: Path, entry: TableEntry) -> tuple[CheckedFile, ...]:
    # A manifest from elsewhere must not make us read other files of this machine.
    parent = folder / entry.name if entry.parts else folder
    if entry.parts and (parent.parent != folder or parent.is_symlink()):
        raise ReleaseDamagedError(
            f"the release has no folder {entry.name!r}. Get the release again from where it came."
        )
    checks = []
    for each in entry.parts or (entry,):
        path = folder / each.path
        if path.parent != parent or not path.is_file() or path.is_symlink():
            raise ReleaseDamagedError(
                f"the release has no file {each.path!r}. Get the release again from where it came."
            )
        checks.append(CheckedFile(each.sha256))
        checks[-1].require(path)
    return tuple(checks)


def source_of(
    folder: Path, entry: TableEntry, checks: tuple[CheckedFile, ...] = ()
) -> CsvFile | ParquetFile | ParquetFiles:
    """The reader of a published table; with checks, it reads the files that were checked and no others."""
    if entry.parts:
        return ParquetFiles(entry.name, tuple(folder / each.path for each in entry.parts), checks)
    path = folder / entry.path
    return CsvFile(path, checks=checks) if entry.format == "csv" else ParquetFile(path, checks)


def _lines_below_header(path: Path) -> int:
    """Rows of a CSV file; a line break between quotes ends none."""
    ended, quotes, last = 0, 0, b"\n"
    with path.open("rb") as file:
        while part := file.read(BYTES_AT_ONCE):
            if quotes % 2 == 0 and b'"' not in part:
                ended += part.count(b"\n")
            else:
                # Quotes inside quotes are doubled, so that what lies between quotes has an odd number before it.
                letters = np.frombuffer(part, np.uint8)
                before = quotes + np.cumsum(letters == ord('"'))
                ended += int(np.count_nonzero((letters == ord("\n")) & (before % 2 == 0)))
                quotes = int(before[-1])
            last = part[-1:]
    return ended - 1 + (last != b"\n")
