"""Sums of independent noise on counts: how far from zero they stay with a given probability."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from sfumato.chance.noise import DiscreteGaussian, DiscreteLaplace
from sfumato.values.arrays import Floats
from sfumato.values.estimates import normal_quantile

LARGEST_EXACT_SUM = 256
"""Cells up to which the law of a sum of Laplace noise is computed; beyond, it is normal for all purposes."""

FINEST_SCALE = 64.0
"""Scale on whose grid a sum is computed: steps are below two hundredths of a standard deviation."""

_GRID = 2**16


@lru_cache(maxsize=1024)
def half_width_of_sum(
    noise: DiscreteLaplace | DiscreteGaussian, cells: int, confidence_level: float
) -> float:
    """Half-width of an interval that holds the sum of so many cells' noise with a probability.

    Laplace noise has heavier tails than the normal law: 1.96 standard errors hold one cell's noise with
    probability 0.937, not 0.95, and 2.58 of them with 0.974, not 0.99.

    Notes
    -----
    One cell: exact. More: the power of the Fourier transform of one cell's law, on a grid that is exact
    up to ``FINEST_SCALE`` and rounds up beyond. Sums of discrete Gaussian noise are normal.

    Examples
    --------
    >>> one = DiscreteLaplace(scale=2.0)
    >>> half_width_of_sum(one, 1, 0.95), half_width_of_sum(one, 4, 0.95)
    (6.0, 11.0)
    """
    normal = normal_quantile(confidence_level) * math.sqrt(cells * noise.variance)
    if cells == 1:
        return float(noise.half_width(confidence_level))
    if isinstance(noise, DiscreteGaussian) or cells > LARGEST_EXACT_SUM:
        return normal
    step = max(noise.scale / FINEST_SCALE, 1.0)
    magnitudes = np.minimum(np.arange(_GRID), np.arange(_GRID, 0, -1))
    single = DiscreteLaplace(scale=noise.scale / step).probability(magnitudes)
    sums = np.fft.irfft(np.fft.rfft(single) ** cells, _GRID)[: _GRID // 2]
    sums[1:] *= 2
    steps = int(np.searchsorted(np.cumsum(sums), confidence_level))
    # The last of many nines are beyond what a transform resolves.
    return step * steps if steps < sums.size - 1 else 2 * normal


def half_widths_of_sums(
    noise: DiscreteLaplace | DiscreteGaussian, cells: npt.ArrayLike, confidence_level: float
) -> Floats:
    """The same for sums of different numbers of cells, ``(n,)``.

    Examples
    --------
    >>> half_widths_of_sums(DiscreteLaplace(scale=2.0), [1, 4, 1], 0.95).tolist()
    [6.0, 11.0, 6.0]
    """
    different, place = np.unique(np.asarray(cells, np.int64), return_inverse=True)
    widths = [half_width_of_sum(noise, int(each), confidence_level) for each in different]
    return np.array(widths, np.float64)[place]
