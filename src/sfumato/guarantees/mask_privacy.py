"""The privacy measure of MASK: how often a distorted bit, redrawn from its posterior, comes back."""

from __future__ import annotations

import numpy as np

from sfumato.chance.distortion import DenseDistortion, UniformDistortion
from sfumato.errors import ParameterError
from sfumato.guarantees.reconstruction_risk import recovery_probabilities


def bit_recovery(
    distortion: DenseDistortion | UniformDistortion, share_of_ones: float
) -> tuple[float, float]:
    """Recovery probabilities R0 and R1 of an item that is absent and of one that is present.

    Parameters
    ----------
    distortion
        Of two categories: absent, present.
    share_of_ones
        Share s of the rows that have the item.

    References
    ----------
    Rizvi and Haritsa (2002); Guo (2010), section 5.1.

    Examples
    --------
    >>> from sfumato.chance.distortion import warner
    >>> [round(each, 5) for each in bit_recovery(warner(0.9), 0.01)]
    [0.99066, 0.07511]
    """
    if distortion.size != 2 or not 0 < share_of_ones < 1:
        raise ParameterError(
            f"MASK is about two categories and a share strictly between 0 and 1, got {distortion.size} and "
            f"{share_of_ones}. Use reconstruction risk for more categories.",
            parameter="share_of_ones",
        )
    absent, present = recovery_probabilities(
        np.array([1 - share_of_ones, share_of_ones]), [distortion.on_axis]
    )
    return float(absent), float(present)


def mask_privacy(
    distortion: DenseDistortion | UniformDistortion, share_of_ones: float, *, weight_of_ones: float = 1.0
) -> float:
    """Privacy in percent: 100 (1 - R) with R = a R1 + (1 - a) R0.

    It depends on the data and on the weight a, and 50 does not mean that half is hidden: an item that
    nearly everybody lacks is recovered by guessing. Compare designs with it, do not promise it.

    Parameters
    ----------
    distortion, share_of_ones
        As for :func:`bit_recovery`.
    weight_of_ones
        The weight a of items that are present; between 0 and 1.

    Examples
    --------
    >>> from sfumato.chance.distortion import warner
    >>> round(mask_privacy(warner(0.9), 0.01), 2)
    92.49
    """
    if not 0 <= weight_of_ones <= 1:
        raise ParameterError(
            f"the weight of ones must lie between 0 and 1, got {weight_of_ones}. Use 1 to weigh them alone.",
            parameter="weight_of_ones",
        )
    absent, present = bit_recovery(distortion, share_of_ones)
    return 100 * (1 - weight_of_ones * present - (1 - weight_of_ones) * absent)
