"""Whether what a model leaves over could be chance: one test for every model on estimated counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.analysis.routine import drawing
from sfumato.errors import NoSolutionError, NotIdentifiableError
from sfumato.values.arrays import Floats
from sfumato.values.certainty import Certainty
from sfumato.values.estimates import Estimates

LEVEL = 0.05
POWER = 0.8
"""Of the test whose reach is reported: at this level, found this often."""


@dataclass(frozen=True)
class ResidualTest:
    """How far counts are from a model, against what noise and the draw of the rows explain.

    Parameters
    ----------
    statistic, degrees, p_value
        Pearson's statistic with the second-order correction of Rao and Scott, its degrees of freedom (a fraction where
        the noise is uneven), and its p-value.
    pearson
        The plain statistic of the estimated counts. It must not be referred to a chi-square distribution.
    free
        Degrees of freedom of the model.
    design_effect
        By how much noise multiplies the plain statistic on average.
    wald, wald_degrees, wald_p_value
        Another test of the same, which weighs what is left over by how well it is known: better where noise is much stronger in
        some cells than in others. Degrees are those of the model, or fewer where noise has heavy tails.
    """

    statistic: float
    degrees: float
    p_value: float
    pearson: float
    free: int
    design_effect: float
    wald: float
    wald_degrees: float
    wald_p_value: float

    @property
    def detectable(self) -> float:
        """Chi-square over the number of rows' worth that is found with power :data:`POWER` at :data:`LEVEL`, times the rows."""
        return _noncentrality(self.degrees) * self.design_effect

    @property
    def detectable_without_noise(self) -> float:
        """The same of the private table itself."""
        return _noncentrality(self.free)


def refuse_open_counts(counts: Estimates, what: str) -> None:
    """Refuse counts that lie between two ends, of which no test keeps its level.

    Raises
    ------
    NotIdentifiableError
        Saying that rows were left out.
    """
    if (counts.certainty == Certainty.OPEN).any():
        raise NotIdentifiableError(
            f"rows were left out of the release, and which they are is not known: {what} would not keep its "
            "level. Ask for counts and shares, whose intervals hold them."
        )


def judge_residuals(counts: Estimates, fitted: Floats, design: Floats) -> ResidualTest:
    """Test whether counts differ from a loglinear model by more than chance.

    Parameters
    ----------
    counts
        Estimates of all cells, with the whole ``table`` covariance.
    fitted
        What the model makes of them, ``(cells,)``, positive.
    design
        The model's columns, ``(cells, p)``; they may depend on each other.

    Raises
    ------
    NoSolutionError
        When the model fits any table, or the covariance leaves the residuals without spread.

    Notes
    -----
    To first order the fitted counts move with the estimated ones by ``Q = diag(mu) X (X' diag(mu) X)^-1 X'``, so the residuals have
    covariance ``C = (I - Q) Cov (I - Q)'``, where Cov is that of the counts about the population. With ``G = D^-1/2 C D^-1/2``, D the
    fitted counts, ``X2 tr(G) / tr(G^2)`` is referred to chi-square on ``tr(G)^2 / tr(G^2)`` degrees. Where the law states heavier tails than
    normal ones, half of what they add to the variance of X2 is added to ``tr(G^2)``.

    Wald's test divides by C, and what it divides by must not be small by accident: a cell without a row has no draw at its estimated
    count, and would count as known. There the draw is that of the model, by which ``G = I + D^-1/2 (I - Q) Cov_law (I - Q)' D^-1/2``, the
    law's part cut where it is below zero: no eigenvalue is below 1, so without noise this is Pearson's statistic, and never more than it.
    Heavy tails lower its degrees in the same way.

    References
    ----------
    Rao and Scott (1981, 1984).
    """
    from scipy.special import chdtrc

    assert counts.covariance is not None
    roots = np.sqrt(fitted)
    # Orthonormal columns that span sqrt(mu) X: projecting on them is D^-1/2 Q D^1/2.
    vectors, sizes, _ = np.linalg.svd(design * roots[:, None], full_matrices=True)
    rank = int((sizes > 1e-10 * sizes[0]).sum())
    # What the model leaves free, in units of sqrt(mu).
    rest = vectors[:, rank:]
    free = rest.shape[1]
    if free == 0:
        raise NoSolutionError(
            "the model fits any table, so that there is nothing to test. Leave a product of attributes out.",
            reason="undefined",
        )
    spread = counts.covariance + drawing(np.eye(counts.values.size), counts.values)
    scaled = rest.T @ (spread / np.outer(roots, roots)) @ rest
    residuals = rest.T @ ((counts.values - fitted) / roots)
    pearson = float(residuals @ residuals)
    trace, squares = float(np.trace(scaled)), float((scaled * scaled.T).sum())
    if counts.fourth_cumulants is not None:
        # A square of noise with heavier tails than normal ones varies by its fourth cumulant besides.
        squares += float(np.square((rest**2).sum(axis=1) / fitted) @ counts.fourth_cumulants) / 2
    if trace <= 0:
        raise NoSolutionError(
            "the estimated covariance leaves the residuals without any spread: noise is too strong for a test here. Merge "
            "categories, or ask a release of more rows or less noise.",
            reason="weak",
        )
    statistic, degrees = pearson * trace / squares, trace**2 / squares
    if not counts.covariance.any():
        # Counted, not estimated: rows are one multinomial draw, which Pearson's statistic is made for.
        statistic, degrees, trace = pearson, float(free), float(free)
    wald, wald_degrees = _wald(counts, residuals, rest / roots[:, None])
    return ResidualTest(
        statistic,
        degrees,
        float(chdtrc(degrees, statistic)),
        pearson,
        free,
        trace / free,
        wald,
        wald_degrees,
        float(chdtrc(wald_degrees, wald)),
    )


def _wald(counts: Estimates, residuals: Floats, free: Floats) -> tuple[float, float]:
    """Wald's statistic and its degrees, where rows are drawn as the model says.

    Parameters
    ----------
    counts
        Of all cells.
    residuals
        What the model leaves over, in units in which the model's draw has variance 1 in every direction, ``(free,)``.
    free
        How they are made of the counts, ``(cells, free)``.
    """
    noise, directions = np.linalg.eigh(free.T @ np.asarray(counts.covariance) @ free)
    # An unbiased covariance need not be positive.
    known = directions / np.sqrt(1 + np.clip(noise, 0, None))
    statistic, degrees = float(np.square(residuals @ known).sum()), residuals.size
    if counts.fourth_cumulants is None:
        return statistic, degrees
    squares = degrees + float(np.square(np.square(free @ known).sum(axis=1)) @ counts.fourth_cumulants) / 2
    return statistic * degrees / squares, degrees**2 / squares


def _noncentrality(degrees: float) -> float:
    """Of the chi-square that is beyond its critical value as often as :data:`POWER` says."""
    from scipy.special import chdtri, chndtrinc

    return float(chndtrinc(chdtri(degrees, LEVEL), degrees, 1 - POWER))
