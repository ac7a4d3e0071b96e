"""Jeopardy: how much one answer of a binary randomized response betrays (Leysieffer and Warner)."""

from __future__ import annotations

import math

from sfumato.chance.distortion import DenseDistortion, UniformDistortion
from sfumato.errors import ParameterError


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
    >>> from sfumato.chance.distortion import warner
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
    >>> from sfumato.chance.distortion import warner
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
