"""Which values the ratio of two noisy counts gives away, and the noise that hides them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.attacks.ratio.lattice import settle_closeness
from sfumato.attacks.ratio.law import AnyNoise, closeness_probability
from sfumato.chance.noise import Laplace
from sfumato.values.arrays import Booleans, Floats

TOLERANCE, SMALLEST_CLOSENESS, SMALLEST_JUMP = 0.2, 0.7, 3.0
"""tau, K_CP and K_J of the thesis: a share this close, this probably, and this far above the whole table's."""


@dataclass(frozen=True, eq=False)
class Disclosures:
    """Which parts of which groups an attacker would learn from the ratio of two noisy counts.

    Parameters
    ----------
    closeness, jump
        For every pair of part and group, shape as the parts: CP, and the true share over the share
        in the whole table. NaN closeness where the pair was not worth computing.
    uncertainty
        How far each closeness can be from the exact one: zero where it is exact, and never enough to
        change on which side of the threshold it lies. NaN as closeness.
    is_disclosed
        Both are at or above their thresholds.
    """

    closeness: Floats
    jump: Floats
    uncertainty: Floats
    is_disclosed: Booleans

    @property
    def number(self) -> int:
        """How many pairs are disclosed."""
        return int(np.count_nonzero(self.is_disclosed))


def find_disclosures(
    parts: npt.ArrayLike,
    groups: npt.ArrayLike,
    priors: npt.ArrayLike,
    noise: AnyNoise,
    *,
    tolerance: float = TOLERANCE,
    smallest_closeness: float = SMALLEST_CLOSENESS,
    smallest_jump: float = SMALLEST_JUMP,
) -> Disclosures:
    """Disclosed sensitive values over many groups (Han 2016, definition before corollary 3).

    Parameters
    ----------
    parts
        theta, ``(number_of_groups, number_of_values)``: rows of each group with each sensitive value.
    groups
        phi, ``(number_of_groups,)``.
    priors
        Share of each value in the whole table, ``(number_of_values,)``.
    noise
        On every count.
    tolerance, smallest_closeness, smallest_jump
        tau, K_CP and K_J.

    Notes
    -----
    Parts and groups of zero rows are skipped: there is nobody in them to learn about, and no ratio.
    Under the discrete Laplace law only pairs that the continuous law leaves open are summed; what is
    disclosed is the same as if all were.

    Examples
    --------
    >>> found = find_disclosures([[420, 81]], [501], [0.2478, 0.7522], Laplace(scale=20.0))
    >>> found.is_disclosed.tolist(), found.jump.round(3).tolist()
    ([[True, False]], [[3.383, 0.215]])
    """
    theta = np.asarray(parts, np.float64)
    phi = np.broadcast_to(np.asarray(groups, np.float64)[:, None], theta.shape)
    is_there = (theta > 0) & (phi > 0)
    shares = np.divide(theta, phi, out=np.zeros(theta.shape), where=is_there)
    jump = np.divide(shares, np.asarray(priors, np.float64), out=np.zeros(theta.shape), where=is_there)
    worth = is_there & (jump >= smallest_jump)
    closeness, uncertainty = np.full(theta.shape, np.nan), np.full(theta.shape, np.nan)
    closeness[worth], uncertainty[worth] = settle_closeness(
        theta[worth], phi[worth], noise, smallest_closeness, tolerance=tolerance
    )
    return Disclosures(closeness, jump, uncertainty, worth & (closeness >= smallest_closeness))


def smallest_hiding_scale(
    parts: npt.ArrayLike,
    groups: npt.ArrayLike,
    priors: npt.ArrayLike,
    *,
    tolerance: float = 0.2,
    smallest_closeness: float = 0.7,
    smallest_jump: float = 3.0,
) -> float:
    """Scale of Laplace noise from which no pair is disclosed any more; 0 when none ever is.

    Infinite when none hides: even the ratio of two counts of pure noise is close now and then.

    Closeness falls as the scale grows, so that a search over the most exposed pair finds it.

    Examples
    --------
    >>> scale = smallest_hiding_scale([[420, 81]], [501], [0.2478, 0.7522])
    >>> exposed = closeness_probability(420, 501, Laplace(scale=scale), tolerance=0.2)
    >>> round(float(exposed), 6)
    0.7
    """
    theta = np.asarray(parts, np.float64)
    phi = np.broadcast_to(np.asarray(groups, np.float64)[:, None], theta.shape)
    is_there = (theta > 0) & (phi > 0)
    priors = np.broadcast_to(np.asarray(priors, np.float64), theta.shape)
    worth = is_there & (theta >= smallest_jump * priors * phi)
    theta, phi = theta[worth], phi[worth]
    if not theta.size:
        return 0.0

    def excess(log_scale: float) -> float:
        noise = Laplace(scale=float(np.exp(log_scale)))
        return float(closeness_probability(theta, phi, noise, tolerance=tolerance).max()) - smallest_closeness

    from scipy.optimize import brentq

    low, high = np.log(1e-6), np.log(float(phi.max()) * 1e3)
    if excess(high) >= 0:
        return np.inf
    # A last part in a billion above, where the search has ended on either side.
    return float(np.exp(brentq(excess, low, high, xtol=1e-12))) * (1 + 1e-9)
