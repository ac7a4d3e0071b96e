r"""Moments of random swapping.

Of n rows, m are chosen at random and the values they hold of the swapped attributes are dealt out among them, every
order equally likely. Rows keep the rest. Let x[a, s] be the true number of rows with rest a and value s, y[a, s] the
published one; X_a and X_s are the margins, which swapping keeps.

**Mean.** A row keeps its own value with probability 1 - (m-1)/n, and has that of any other given row with probability
(m-1)/(n(n-1)), since both must be chosen (m(m-1)/(n(n-1))) and the value dealt to it (1/m). Adding up over rows,
with r = (m-1)/(n-1),

    E y[a, s] = (1 - r) x[a, s] + r X_a X_s / n,

so that (y - r X_a X_s / n) / (1 - r) is unbiased for x: the margins are published as they are.

**Covariance.** E y_c y_d for cells c = (a, s) and d = (a', s') is a sum over pairs of rows i with rest a and j with rest a',
by whose values they hold. For i = j it is E y_c if c = d, and 0 else. For different i and j, with (n)_k = n(n-1)...(n-k+1):

    holds        i its own, j its own    P1 = ((n-m)(n-m-1) + 2(n-m) + 1) / (n)_2
                 i that of j, j that of i   P2 = 1 / (n)_2
                 i its own, j that of l     P3 = ((m-1)(n-m) + (m-2)) / (n)_3     and the same for j its own
                 i that of j, j that of l   P4 = (m-2) / (n)_3                     and the same for j that of i
                 i that of k, j that of l   P5 = (m-2)(m-3) / (n)_4

where k and l are any other rows, and each probability is for given ones: that all whose values move were chosen, times
that the values are dealt so. How many such rows there are follows from x and its margins by inclusion and exclusion.
The result is a polynomial of second degree in x, in which the products x_c x_d and x[a, s'] x[a', s] have the factors

    g1 = P1 - 2 P3 + P5 - (1 - r)^2,    g2 = P2 - 2 P4 + P5.

**Its estimate.** Put the unbiased estimates in the place of x. Their products exceed those of x by the covariance
itself, so with C the covariance of the estimates and G the polynomial at the estimates, both over (1 - r)^2,

    E G[c, d] = (1 + g1) C[c, d] + g2 C[c', d'],   c' = (a, s'), d' = (a', s),

and the same with c, d and c', d' exchanged. Sum and difference of the two equations give an unbiased C. When all rows
but one are chosen, 1 + g1 = g2 and they say nothing: at least two rows of a group are left alone.
"""

from __future__ import annotations

import numpy as np

from sfumato.arrays import Floats


def mean_weight(rows: float, chosen: int) -> float:
    """The share r by which published cells lean to independence."""
    return (chosen - 1) / (rows - 1) if chosen > 1 else 0.0


def published_mean(true: Floats, chosen: int) -> Floats:
    """Expected published cells of a true table ``(rest, values)``."""
    weight = mean_weight(true.sum(), chosen)
    return (1 - weight) * true + weight * np.outer(true.sum(1), true.sum(0)) / max(true.sum(), 1)


def unbiased_cells(published: Floats, chosen: int) -> Floats:
    """Unbiased estimates of the true cells ``(rest, values)``, from the published ones."""
    weight = mean_weight(published.sum(), chosen)
    independent = np.outer(published.sum(1), published.sum(0)) / max(published.sum(), 1)
    return (published - weight * independent) / (1 - weight)


def published_covariance(true: Floats, chosen: int) -> Floats:
    """Covariance ``(rest, values, rest, values)`` of the published cells of a true table."""
    rows = float(true.sum())
    if chosen < 2:
        return np.zeros(2 * true.shape)
    p1, p2, p3, p4, p5 = _pair_probabilities(rows, chosen)
    mean = published_mean(true, chosen)
    # Axes are a, s, a', s'. same_* say where two of them are the same category; cells c = (a, s), d = (a', s').
    same_rest = np.eye(true.shape[0])[:, None, :, None]
    same_value = np.eye(true.shape[1])[None, :, None, :]
    same = same_rest * same_value
    c, d = true[:, :, None, None], true[None, None, :, :]
    crossed, uncrossed = true[:, None, None, :], true.T[None, :, :, None]  # x[a, s'] and x[a', s]
    rest, rest2 = true.sum(1)[:, None, None, None], true.sum(1)[None, None, :, None]
    value, value2 = true.sum(0)[None, :, None, None], true.sum(0)[None, None, None, :]
    own_own = c * d - same * c
    each_other = crossed * uncrossed - same * c
    own_moved = (
        c * rest2 * value2 - same_rest * c * value2 - same_value * c * rest2 - c * d + 2 * same * c
    ) + (d * rest * value - same_rest * d * value - same_value * d * rest - c * d + 2 * same * c)
    chain = (
        rest * uncrossed * value2
        - same_rest * c * value2
        - crossed * uncrossed
        - same_value * rest * uncrossed
        + 2 * same * c
    ) + (
        rest2 * crossed * value
        - same_rest * crossed * value
        - crossed * uncrossed
        - same_value * rest2 * crossed
        + 2 * same * c
    )
    pairs = (
        same_rest * rest * value * value2
        + c * rest2 * value2
        + crossed * rest2 * value
        + uncrossed * rest * value2
        + d * rest * value
        + same_value * value * rest * rest2
    )
    triples = (
        same_rest * c * value2
        + same_rest * crossed * value
        + same_value * c * rest2
        + same_value * uncrossed * rest
    )
    two_pairs = same * rest * value + c * d + crossed * uncrossed
    apart = rest * rest2 * value * value2 - pairs + 2 * triples + two_pairs - 6 * same * c
    second = (
        same * mean[:, :, None, None]
        + p1 * own_own
        + p2 * each_other
        + p3 * own_moved
        + p4 * chain
        + p5 * apart
    )
    return np.asarray(second - mean[:, :, None, None] * mean[None, None, :, :])


def unbiased_covariance(estimates: Floats, chosen: int) -> Floats:
    """Unbiased estimate of the covariance ``(rest, values, rest, values)`` of the estimated cells themselves."""
    rows = float(estimates.sum())
    if chosen < 2:
        return np.zeros(2 * estimates.shape)
    scale = (1 - mean_weight(rows, chosen)) ** 2
    p1, p2, p3, p4, p5 = _pair_probabilities(rows, chosen)
    straight = 1 + (p1 - 2 * p3 + p5 - scale) / scale
    crosswise = (p2 - 2 * p4 + p5) / scale
    plugged = published_covariance(estimates, chosen) / scale
    exchanged = plugged.transpose(0, 3, 2, 1)
    total = (plugged + exchanged) / (straight + crosswise)
    return np.asarray((total + (plugged - exchanged) / (straight - crosswise)) / 2)


def _pair_probabilities(rows: float, chosen: int) -> tuple[float, float, float, float, float]:
    """P1 to P5; 0 where there are too few rows for so many different ones."""
    left = rows - chosen
    two, three, four = (
        rows * (rows - 1),
        rows * (rows - 1) * (rows - 2),
        rows * (rows - 1) * (rows - 2) * (rows - 3),
    )
    return (
        (left * (left - 1) + 2 * left + 1) / two,
        1 / two,
        ((chosen - 1) * left + (chosen - 2)) / three if rows > 2 else 0.0,
        (chosen - 2) / three if rows > 2 else 0.0,
        (chosen - 2) * (chosen - 3) / four if rows > 3 else 0.0,
    )
