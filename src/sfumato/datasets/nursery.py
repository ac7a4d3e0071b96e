"""The UCI Nursery data: applications to nursery schools, ranked by a decision model."""

from __future__ import annotations

import csv
import functools
import io
from pathlib import Path

from sfumato.datasets.card import Card, DatasetFiles
from sfumato.datasets.download import Source, download_address, fetch_verified
from sfumato.datasets.storing import store_fetched
from sfumato.errors import DownloadError

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


def fetch(to: Path) -> DatasetFiles:
    """Download the Nursery data, check them, and write ``nursery.csv`` with its schema.

    See :func:`sfumato.datasets.fetch_dataset`.
    """
    return store_fetched(CARD, to, COLUMNS, lambda: read_raw(_download()))


def read_raw(content: bytes) -> list[tuple[str, ...]]:
    """Rows of the raw file; empty lines are none."""
    lines = csv.reader(io.StringIO(content.decode("ascii")))
    return [tuple(cells) for cells in lines if len(cells) == len(COLUMNS)]


def _download() -> bytes:
    # Asked once, though it may be held against both checksums.
    download = functools.cache(functools.partial(download_address, ADDRESS))
    source = Source(description="UCI repository", download=download, folder="")
    *others, last = CHECKSUMS
    for checksum in others:
        try:
            return fetch_verified(CARD.name, (source,), {FILE: checksum})[FILE]
        except DownloadError:
            continue
    return fetch_verified(CARD.name, (source,), {FILE: last})[FILE]
