"""Mean squares of what rows left out at random add to a count, from the moments of the binomial that they are."""

from __future__ import annotations

import numpy as np
from scipy.stats import binom


def added_by_rows_left_out(shares, most):
    """Of cells that hold these shares of all rows, when so many rows are left out."""
    missing = binom(most, np.asarray(shares, dtype=np.float64))
    return missing.var() + missing.mean() ** 2
