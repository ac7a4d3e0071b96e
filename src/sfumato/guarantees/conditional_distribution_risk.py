"""What an attacker learns from distributions alone: the risks that reconstruction risk leaves out."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.chance.distortion import AxisMatrix, TwoValued, contract
from sfumato.values.arrays import Floats


def conditional_distribution_risks(counts: npt.NDArray[np.generic]) -> Floats:
    """How often a guess drawn from the true distribution of the target's group is right, by cell.

    A release from which the joint distribution can be reconstructed lets an attacker make this guess,
    however strongly its rows were perturbed; more rows make it better. It is the share of the sensitive
    value in its group, the risk of publishing the table as it is.

    Parameters
    ----------
    counts
        ``(quasi-identifiers..., sensitive)``.

    Returns
    -------
    numpy.ndarray
        The shape of ``counts``; zero in empty groups.

    Examples
    --------
    >>> conditional_distribution_risks(np.array([[8, 16, 48], [12, 14, 2]])).round(4)[1].tolist()
    [0.4286, 0.5, 0.0714]
    """
    cells = np.asarray(counts, dtype=np.float64)
    groups = cells.sum(axis=-1, keepdims=True)
    return np.asarray(np.divide(cells, groups, out=np.zeros_like(cells), where=groups > 0))


def posterior_risks(counts: npt.NDArray[np.generic], sensitive: AxisMatrix) -> Floats:
    """Largest belief in a cell's sensitive value when the attacker knows which published row is the target's.

    ``max over published v of Pr(S = u | group, v)``: what the perturbation of the sensitive attribute hides
    once linking has succeeded. This is the level rho of a privacy breach (Guo 2010, definition 5).

    Parameters
    ----------
    counts
        ``(quasi-identifiers..., sensitive)``.
    sensitive
        Matrix of the last axis, or None where it was not perturbed.

    Examples
    --------
    >>> posterior_risks(np.array([[3, 7]]), TwoValued(0.8, 0.2)).round(5).tolist()
    [[0.63158, 0.90323]]
    """
    cells = np.asarray(counts, dtype=np.float64)
    if sensitive is None:
        return np.asarray((cells > 0).astype(np.float64))
    size = cells.shape[-1]
    matrix = sensitive.dense(size) if isinstance(sensitive, TwoValued) else sensitive
    expected = contract(cells, [None] * (cells.ndim - 1) + [matrix])
    result = np.zeros_like(cells)
    # One published category at a time, so that memory stays that of the table.
    for published in range(size):
        seen = expected[..., published, None]
        belief = np.divide(cells * matrix[:, published], seen, out=np.zeros_like(cells), where=seen > 0)
        np.maximum(result, belief, out=result)
    return result
