"""Nearest rows that are not negative and add up, by halving: a second way to project."""

from __future__ import annotations

import numpy as np


def nearest(estimates, total, variances):
    """What each entry gives way by is a multiple of its variance, found by halving; nothing falls below 0."""
    estimates, variances = np.asarray(estimates), np.asarray(variances)
    low, high = ((estimates - total) / variances).min() - 1, (estimates / variances).max()
    for _ in range(200):
        middle = (low + high) / 2
        is_low = np.clip(estimates - middle * variances, 0, None).sum() > total
        low, high = (middle, high) if is_low else (low, middle)
    return np.clip(estimates - high * variances, 0, None)
