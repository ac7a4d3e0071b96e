"""Types of arrays, by what they hold. Shapes stand in the docstrings."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]
Words = npt.NDArray[np.uint64]
"""64 secret bits each."""
Codes = npt.NDArray[Any]
"""Category codes, of whatever unsigned type holds them."""
Counts = npt.NDArray[Any]
"""Whole numbers, or estimates of them."""
