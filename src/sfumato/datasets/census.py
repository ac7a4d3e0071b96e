"""A synthetic census table of any length, over the domains that papers on publishing data use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from sfumato.datasets.catalog import Card, DatasetFiles, check_number, store_made

CARD = Card(
    name="census",
    title="Census-like people: nine attributes with skew and strong dependencies, any length",
    kind="generated",
    rows=None,
    attributes=(
        "age (77), sex (2), education (14), marital (6), race (9), workclass (7), country (69), "
        "occupation (50), salary (50)"
    ),
    source="Drawn by sfumato from a make-believe population; no row describes a real person.",
    licence="CC0 1.0 (generated data)",
    citation=(
        "Name sfumato with its version, the number of rows and the seed: these give the table "
        "again, value by value."
    ),
    notes=(
        "The number of values of each attribute follows the census extracts of the literature; "
        "frequencies and dependencies are rounded impressions, so no finding about people can be "
        "drawn from it. Occupation is the present or last one, and everyone has one."
    ),
    schema_resource="census.toml",
)

LARGEST_SEED = 2**64 - 1


def census_batches(rows: int, seed: int, rows_per_batch: int) -> Iterator[Any]:
    """The census-like table as Arrow record batches of dictionary-coded text.

    The rows depend on ``seed`` alone: neither on ``rows_per_batch`` nor, up to where the table
    ends, on ``rows``. Memory is that of a few batches.

    Parameters
    ----------
    rows
        How many rows in all.
    seed
        From 0 to 2**64 - 1.
    rows_per_batch
        Rows of each batch; the last may have fewer.

    Returns
    -------
    Iterator of pyarrow.RecordBatch

    Raises
    ------
    ParameterError
        When a number is not a whole number within its bounds.

    Examples
    --------
    >>> [batch.num_rows for batch in census_batches(250, 7, 100)]
    [100, 100, 50]
    """
    check_number("rows", rows, lowest=1)
    check_number("seed", seed, lowest=0, highest=LARGEST_SEED)
    check_number("rows_per_batch", rows_per_batch, lowest=1)
    return _regroup(_draw_blocks(rows, seed), rows_per_batch)


def make(rows: int, seed: int, out: Path, *, progress: Callable[[int], None] | None = None) -> DatasetFiles:
    """Write the census-like table, and its schema beside it.

    See :func:`sfumato.datasets.make_dataset`. The seed is from 0 to 2**64 - 1; Parquet files are zstd, dictionary-coded.
    """
    from sfumato.datasets.census_population import ROWS_PER_BLOCK

    # Whole blocks are the one size that needs no copying.
    batches = census_batches(rows, seed, ROWS_PER_BLOCK)
    return store_made(CARD, out, batches, _open_writer, progress)


def _draw_blocks(rows: int, seed: int) -> Iterator[Any]:
    import pyarrow as pa

    from sfumato.datasets.census_population import CATEGORIES, ROWS_PER_BLOCK, prepare_drawing

    drawing = prepare_drawing()
    schema = _arrow_schema()
    dictionaries = {name: pa.array(categories) for name, categories in CATEGORIES.items()}

    def draw(block: int) -> Any:
        codes = drawing.draw_block(seed=seed, block=block)
        # Signed, because pandas does not take unsigned codes.
        columns = [
            pa.DictionaryArray.from_arrays(pa.array(codes[name].view("int8")), dictionary)
            for name, dictionary in dictionaries.items()
        ]
        whole = pa.RecordBatch.from_arrays(columns, schema=schema)
        return whole.slice(0, rows - block * ROWS_PER_BLOCK)

    n_blocks = -(-rows // ROWS_PER_BLOCK)
    # One block is drawn ahead while the caller writes the one before.
    with ThreadPoolExecutor(max_workers=1) as pool:
        ahead = pool.submit(draw, 0)
        for block in range(1, n_blocks):
            ready = ahead.result()
            ahead = pool.submit(draw, block)
            yield ready
        yield ahead.result()


def _regroup(batches: Iterator[Any], rows_per_batch: int) -> Iterator[Any]:
    import pyarrow as pa

    pieces: list[Any] = []
    missing = rows_per_batch
    for batch in batches:
        start = 0
        while start < batch.num_rows:
            piece = batch.slice(start, missing)
            pieces.append(piece)
            start += piece.num_rows
            missing -= piece.num_rows
            if missing == 0:
                yield pieces[0] if len(pieces) == 1 else pa.concat_batches(pieces)
                pieces, missing = [], rows_per_batch
    if pieces:
        yield pieces[0] if len(pieces) == 1 else pa.concat_batches(pieces)


def _arrow_schema() -> Any:
    import pyarrow as pa

    from sfumato.datasets.census_population import CATEGORIES

    return pa.schema([(name, pa.dictionary(pa.int8(), pa.string())) for name in CATEGORIES])


def _open_writer(path: Path, suffix: str) -> AbstractContextManager[Any]:
    return _open_parquet(path) if suffix == ".parquet" else _open_csv(path)


@contextmanager
def _open_parquet(path: Path) -> Iterator[Any]:
    from pyarrow import parquet

    # Minima and maxima of random rows exclude nothing, and finding them is a third of the writing.
    with parquet.ParquetWriter(path, _arrow_schema(), compression="zstd", write_statistics=False) as writer:
        yield writer


@contextmanager
def _open_csv(path: Path) -> Iterator[Any]:
    from pyarrow import csv

    schema = _arrow_schema()
    # No category holds a comma or a quote, so the file needs no quoting; pyarrow would still quote
    # the header.
    options = csv.WriteOptions(include_header=False, quoting_style="none")
    with path.open("wb") as file:
        file.write((",".join(schema.names) + "\n").encode())
        with csv.CSVWriter(file, schema, write_options=options) as writer:
            yield writer
