"""Synthetic movie ratings: a few frequent movies, many rare ones, people of different tastes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.arrays import Integers
from sfumato.datasets.catalog import Card, DatasetFiles, check_number, store_made

if TYPE_CHECKING:
    Triples = tuple[Integers, Integers, Integers]

CARD = Card(
    name="ratings",
    title="Ratings of 500 movies like those of a film club: skewed popularity, three dimensions of taste",
    kind="generated",
    rows=None,
    attributes="user, movie (500), rating (5)",
    source="Drawn by sfumato from a make-believe population; no row describes a real person.",
    licence="CC0 1.0 (generated data)",
    citation="Name sfumato with its version, the number of rows and the seed: these give the ratings again.",
    notes=(
        "Unit-item-value data: the schema has a [long] table. Popularity is lognormal (sigma 2.15), people have five "
        "to six ratings on average, and a rating is the movie's mean, the person's own mean, taste and noise. The "
        "last person may be cut off by the number of rows."
    ),
    schema_resource="ratings.toml",
)

ITEMS = 500
USERS_PER_BLOCK = 2_000
POPULARITY_SIGMA = 2.15
RANK = 3


def rating_triples(rows: int, seed: int, *, items: int = ITEMS) -> Iterator[Triples]:
    """Users, movies and ratings (1 to 5) in blocks, together so many rows.

    Movies and their means depend on the seed too. Fewer rows of a seed are the first rows of more.

    Examples
    --------
    >>> sum(len(user) for user, _, _ in rating_triples(300, 7))
    300
    """
    import numpy as np

    world = np.random.default_rng([seed, 0])
    popularity = world.normal(0, POPULARITY_SIGMA, items)
    means = np.clip(world.normal(3.5, 0.45, items), 2, 4.8)
    taste = world.normal(0, 0.55 / np.sqrt(RANK), (items, RANK))
    left, block = rows, 0
    while left > 0:
        draw = np.random.default_rng([seed, 1 + block])
        numbers = np.minimum(np.ceil(draw.lognormal(1.0, 1.15, USERS_PER_BLOCK)), items).astype(np.int64)
        # The largest of log-weights plus Gumbel noise are a draw without replacement.
        order = np.argsort(-(popularity + draw.gumbel(size=(USERS_PER_BLOCK, items))), axis=1)
        user = np.repeat(np.arange(USERS_PER_BLOCK), numbers)
        movie = order[user, np.arange(user.size) - np.repeat(np.cumsum(numbers) - numbers, numbers)]
        own = draw.normal(0, 0.4, USERS_PER_BLOCK)[user]
        liking = np.einsum("ij,ij->i", draw.normal(0, 1, (USERS_PER_BLOCK, RANK))[user], taste[movie])
        stars = np.rint(means[movie] + own + liking + draw.normal(0, 0.8, user.size))
        rating = np.clip(stars, 1, 5).astype(np.int64)
        yield user[:left] + block * USERS_PER_BLOCK, movie[:left], rating[:left]
        left -= user.size
        block += 1


def make(rows: int, seed: int, out: Path, *, progress: Callable[[int], None] | None = None) -> DatasetFiles:
    """Write the ratings, and their schema beside them.

    See :func:`sfumato.datasets.make_dataset`. The seed is not negative.
    """
    check_number("rows", rows, lowest=1)
    check_number("seed", seed, lowest=0)
    return store_made(CARD, out, _batches(rows, seed), _writer, progress)


def _batches(rows: int, seed: int) -> Iterator[Any]:
    import pyarrow as pa

    movies = pa.array([str(number) for number in range(1, ITEMS + 1)])
    stars = pa.array(["1", "2", "3", "4", "5"])
    for user, movie, rating in rating_triples(rows, seed):
        names = pa.array([f"user-{number}" for number in user.tolist()])
        columns = [
            names,
            pa.DictionaryArray.from_arrays(pa.array(movie.astype("int16")), movies),
            pa.DictionaryArray.from_arrays(pa.array((rating - 1).astype("int8")), stars),
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=_arrow_schema())


def _arrow_schema() -> Any:
    import pyarrow as pa

    return pa.schema(
        [
            ("user", pa.string()),
            ("movie", pa.dictionary(pa.int16(), pa.string())),
            ("rating", pa.dictionary(pa.int8(), pa.string())),
        ]
    )


def _writer(path: Path, suffix: str) -> Any:
    if suffix == ".parquet":
        from pyarrow import parquet

        return parquet.ParquetWriter(path, _arrow_schema(), compression="zstd")
    from pyarrow import csv

    return csv.CSVWriter(path, _arrow_schema(), write_options=csv.WriteOptions(quoting_style="none"))
