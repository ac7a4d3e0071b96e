"""Between numpy and Arrow without a copy.

pyarrow's own conversions load pandas wherever it is installed, which takes longer than a small query.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt


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
