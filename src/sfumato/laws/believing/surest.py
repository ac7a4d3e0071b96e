"""How far the likeliest value of each group is to be believed, as published rows that were held out bear it out.

Whatever groups lean on is a model, and no model has every table's form: beliefs in the likeliest value may be too modest in
all groups, or too sure. Of a group's rows held out as many show that value as its true share and the public matrix say.
Shares that a fit to the other rows states can therefore be held against them without any truth, and be corrected.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sfumato.chance.distortion import AxisMatrix, contract
from sfumato.values.arrays import Floats

CARE = 0.5
"""Standard deviation of both numbers of a correction that is expected before rows are looked at."""

MOST_TRIALS = 60
"""Corrections tried at most."""

EXACTNESS = 0.01
"""Of both numbers; a belief of one half is then exact to a quarter of a point."""

CERTAIN = 1 - 1e-9
"""Share from which a value is the only one, and nothing is corrected."""


class Correction(NamedTuple):
    """Of beliefs in the likeliest value: ``logit b -> offset + slope logit b``, the other values in proportion.

    Examples
    --------
    Odds of 2 to 2, and of 6 to 2, twice as high.

    >>> counts = np.array([[2.0, 1.0, 1.0], [1.0, 6.0, 1.0]])
    >>> Correction(offset=np.log(2), slope=1.0).apply(counts).round(3).tolist()
    [[2.667, 0.667, 0.667], [0.571, 6.857, 0.571]]
    """

    offset: float = 0.0
    slope: float = 1.0

    def apply(self, counts: Floats) -> Floats:
        """Counts corrected, the groups on all axes but the last; groups keep their totals."""
        totals = counts.sum(axis=-1, keepdims=True)
        likeliest = counts.argmax(axis=-1)[..., np.newaxis]
        shares = np.divide(
            counts.max(axis=-1, keepdims=True), totals, out=np.ones_like(totals), where=totals > 0
        )
        is_open = shares < CERTAIN
        odds = np.divide(shares, 1 - shares, out=np.ones_like(shares), where=is_open)
        corrected = 1 / (1 + np.exp(-self.offset) * odds**-self.slope)
        factors = np.divide(1 - corrected, 1 - shares, out=np.ones_like(shares), where=is_open)
        result = np.asarray(counts * factors)
        own = np.where(is_open, corrected * totals, np.take_along_axis(counts, likeliest, axis=-1))
        np.put_along_axis(result, likeliest, own, axis=-1)
        return result


def choose_correction(
    fits: Sequence[Floats], held_out: Sequence[Floats], matrices: Sequence[AxisMatrix]
) -> Correction:
    """The correction under which rows held out are likeliest, given that large ones are not expected.

    Parameters
    ----------
    fits
        True counts as fitted to all rows but those held out, one for each part.
    held_out
        Published rows of each part.
    matrices
        What each axis was distorted by.

    Notes
    -----
    Platt's scaling, through the matrices: the log probability of the rows held out under the corrected fits is the
    largest possible, less the squares of ``offset`` and ``slope - 1`` in units of :data:`CARE`. Where the rows say little the
    fits stay as they are.

    References
    ----------
    Platt (1999), Probabilistic outputs for support vector machines.

    Examples
    --------
    Two in three were believed to have the likeliest value; of 3,000 rows held out nine in ten do.

    >>> fit, rows = np.array([[20.0, 10.0], [10.0, 20.0]]), np.array([[1350.0, 150.0], [150.0, 1350.0]])
    >>> found = choose_correction([fit], [rows], [None, None]).apply(fit)
    >>> (found / 30).round(1).tolist()
    [[0.9, 0.1], [0.1, 0.9]]
    """
    from scipy.optimize import minimize

    occupied = [each > 0 for each in held_out]

    def loss(numbers: Floats) -> float:
        correction = Correction(float(numbers[0]), float(numbers[1]))
        unlikely = float(numbers[0] ** 2 + (numbers[1] - 1) ** 2) / (2 * CARE**2)
        for fit, rows, places in zip(fits, held_out, occupied, strict=True):
            expected = contract(correction.apply(fit), matrices)[places] / max(float(fit.sum()), 1.0)
            unlikely -= float(np.log(np.maximum(expected, np.finfo(np.float64).tiny)) @ rows[places])
        return unlikely

    unchanged = Correction()
    corners = [unchanged, (CARE / 2, 1.0), (0.0, 1 + CARE / 2)]
    found = minimize(
        loss,
        unchanged,
        method="Nelder-Mead",
        options={"initial_simplex": corners, "maxfev": MOST_TRIALS, "xatol": EXACTNESS, "fatol": EXACTNESS},
    )
    return Correction(*map(float, found.x))
