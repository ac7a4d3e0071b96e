"""How frequent the most frequent sensitive value of every group is, as perturbed rows tell it."""

from __future__ import annotations

import numpy as np

from sfumato.values.arrays import Floats


def largest_frequencies(estimates: Floats, variances: Floats, sizes: Floats) -> Floats:
    """Largest frequency of a sensitive value in every group, ``(groups,)``.

    Parameters
    ----------
    estimates, variances
        Of the counts of sensitive values in every group, ``(groups, m)``.
    sizes
        Of the groups.

    Notes
    -----
    The largest of several estimates is larger than the largest of what they estimate. Frequencies f of a group
    are therefore taken nearer to those F of all rows: ``F + sqrt(A / (A + S)) (f - F)``, with S the sum of the variances of the
    group's frequencies and A the mean sum of squares by which groups truly differ. With the root, what is taken for the
    frequencies differs from group to group as much as the true ones do; without it, it would differ less, and the
    largest would come out too small.

    References
    ----------
    Louis, T. A. (1984). Estimating a population of parameter values using Bayes and empirical Bayes methods.
    JASA 79, 393-398.

    Examples
    --------
    Two groups that differ by chance alone, and two that differ surely.

    >>> alike = np.array([[60.0, 40.0], [50.0, 50.0]])
    >>> largest_frequencies(alike, np.full((2, 2), 100.0), np.full(2, 100.0)).tolist()
    [0.55, 0.55]
    >>> largest_frequencies(alike, np.full((2, 2), 0.0), np.full(2, 100.0)).tolist()
    [0.6, 0.5]
    """
    rows, of_all = np.maximum(sizes, 1.0)[:, None], max(sizes.sum(), 1.0)
    frequencies, noise = estimates / rows, (variances / rows**2).sum(axis=1)
    everyone = estimates.sum(axis=0) / of_all
    apart = ((frequencies - everyone) ** 2).sum(axis=1)
    # Groups that are known better say more of how much groups differ; noise alone is no reason to weigh one less.
    differing = max(float(sizes @ (apart - noise)) / of_all, 0.0)
    total = differing + noise
    kept = np.sqrt(np.divide(differing, total, out=np.ones_like(total), where=total > 0))
    return np.asarray((everyone + kept[:, None] * (frequencies - everyone)).max(axis=1))
