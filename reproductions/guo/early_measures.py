"""Early measures of what a binary randomized response hides: Guo (2010), section 5.1.

Jeopardy (Leysieffer and Warner): how much one answer betrays. MASK's measure (Rizvi and Haritsa): how often a
distorted bit, redrawn from its posterior, comes back. Neither is a promise that a release could make; amplification
and reconstruction risk, which are, extend them to more categories.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.errors import ParameterError
from sfumato.guarantees.reconstruction_risk import recovery_probabilities
from sfumato.randomness.distortion import DenseDistortion, UniformDistortion


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
    >>> from sfumato.randomness.distortion import warner
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
    >>> from sfumato.randomness.distortion import warner
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


def jeopardy(distortion: DenseDistortion | UniformDistortion, answer: int, group: int) -> float:
    """How many times likelier an answer is from members of a group than from the others, g(R|A).

    Parameters
    ----------
    distortion
        Of two categories.
    answer
        Code of the published category R.
    group
        Code of the true category A.

    Returns
    -------
    float
        1 when the answer says nothing; infinite when the others never give it.

    References
    ----------
    Leysieffer and Warner (1976); Guo (2010), section 5.1.

    Examples
    --------
    >>> from sfumato.randomness.distortion import warner
    >>> round(jeopardy(warner(0.8), answer=0, group=0), 12)
    4.0
    """
    _require_binary(distortion)
    matrix = distortion.dense()
    others = float(matrix[1 - group, answer])
    return float(matrix[group, answer]) / others if others > 0 else math.inf


def membership_belief(
    distortion: DenseDistortion | UniformDistortion, prior: float, answer: int, group: int
) -> float:
    """Probability of belonging to the group after an answer, Pr(A|R), by Bayes.

    Examples
    --------
    >>> from sfumato.randomness.distortion import warner
    >>> round(membership_belief(warner(0.8), 0.3, answer=0, group=0), 5)
    0.63158
    """
    _require_binary(distortion)
    if not 0 <= prior <= 1:
        raise ParameterError(
            f"the prior must lie between 0 and 1, got {prior}. It is the share of the group in the population.",
            parameter="prior",
        )
    matrix = distortion.dense()
    member = prior * float(matrix[group, answer])
    other = (1 - prior) * float(matrix[1 - group, answer])
    return member / (member + other) if member + other > 0 else prior


def _require_binary(distortion: DenseDistortion | UniformDistortion) -> None:
    if distortion.size != 2:
        raise ParameterError(
            f"jeopardy is defined for two categories, got {distortion.size}. "
            "Use amplification, its extension to more.",
            parameter="distortion",
        )
