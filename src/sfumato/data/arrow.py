"""Coded rows as Arrow tables and files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sfumato.data.chunks import CodedBatch
from sfumato.schema import Attribute

# --------------------------------------------------------------------------------------------------
# Between numpy and Arrow without a copy.
#
# pyarrow's own conversions load pandas wherever it is installed, which takes longer than a small query.


def as_numpy(column: Any) -> npt.NDArray[Any]:
    """Numbers of an Arrow array that lacks none; not to be written to."""
    return np.from_dlpack(column)


def number_array(values: npt.NDArray[Any]) -> Any:
    """An Arrow array over numpy's numbers.

    Examples
    --------
    >>> number_array(np.array([3, 1], dtype=np.int8)).to_pylist()
    [3, 1]
    """
    import pyarrow as pa

    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, values.size, [None, pa.py_buffer(np.ascontiguousarray(values))])


def text_array(texts: Sequence[str]) -> Any:
    """An Arrow array of texts.

    Examples
    --------
    >>> text_array(["Köln", "", "x"]).to_pylist()
    ['Köln', '', 'x']
    """
    import pyarrow as pa

    encoded = [each.encode() for each in texts]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(encoded), buffers)


# --------------------------------------------------------------------------------------------------
# Coded rows as Arrow tables with labels, and files of them.


ROWS_PER_PAGE = 2**18
"""Rows of a page of a column; more than a batch has."""


class ArrowRows:
    """Turns codes into columns of labels, in the form that published files have.

    Parameters
    ----------
    attributes
        Columns of labels.
    integers, integer_type
        Columns of whole numbers behind them, and ``"int32"`` or ``"int64"``.
    """

    def __init__(
        self, attributes: Sequence[Attribute], integers: Sequence[str] = (), integer_type: str = "int64"
    ) -> None:
        import pyarrow as pa

        self._integer_type = integer_type
        self._dictionaries = {each.name: text_array(each.labels) for each in attributes}
        fields = [
            pa.field(each.name, pa.dictionary(_index_type(each.size), pa.string()), nullable=False)
            for each in attributes
        ]
        number = pa.int32() if integer_type == "int32" else pa.int64()
        self.schema: Any = pa.schema(
            [*fields, *(pa.field(name, number, nullable=False) for name in integers)]
        )

    @property
    def labelled(self) -> list[str]:
        """Columns of labels."""
        return list(self._dictionaries)

    def convert(self, batch: CodedBatch) -> Any:
        """A pyarrow record batch."""
        import pyarrow as pa

        arrays = [
            # Codes fit their signed index type by construction, so the plain conversion is exact.
            pa.DictionaryArray.from_arrays(
                number_array(batch.codes[name].astype(f"int{field.type.index_type.bit_width}")),
                self._dictionaries[name],
            )
            if name in self._dictionaries
            else number_array(batch.codes[name].astype(self._integer_type, copy=False))
            for name, field in zip(self.schema.names, self.schema, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


@contextmanager
def row_writer(
    path: Path, rows: ArrowRows, format: Literal["parquet", "csv"]
) -> Iterator[Callable[[CodedBatch], None]]:
    """A function that appends a batch to a new file."""
    if format == "parquet":
        import pyarrow.parquet as pq

        # Statistics of text columns serve range scans, which nobody does on category labels; a list of the different
        # numbers, of which nearly every one occurs once or a few times, would cost more than the numbers.
        with pq.ParquetWriter(
            path,
            rows.schema,
            compression="zstd",
            compression_level=1,
            write_statistics=False,
            use_dictionary=rows.labelled,
            # One page for each column of a batch: beginning one costs as much as compressing thousands of rows.
            write_batch_size=ROWS_PER_PAGE,
            max_rows_per_page=ROWS_PER_PAGE,
        ) as parquet_writer:
            yield lambda batch: parquet_writer.write_batch(rows.convert(batch))
    else:
        from pyarrow import csv

        options = csv.WriteOptions(quoting_style="needed")
        with csv.CSVWriter(path, rows.schema, write_options=options) as csv_writer:
            yield lambda batch: csv_writer.write_batch(rows.convert(batch))


def _index_type(size: int) -> Any:
    """Signed index types: pandas and others do not take unsigned ones for categories."""
    import pyarrow as pa

    return pa.int8() if size <= 2**7 else pa.int16() if size <= 2**15 else pa.int32()
