"""Columns by partitioning around medoids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.errors import MissingExtraError, ParameterError

Groups = tuple[tuple[int, ...], ...]
"""Attributes of each column, by number."""


def require_clustering(numbers: Sequence[int], size: int) -> None:
    """Refuse, before anything is counted, what would need the clustering library when it is not there.

    Raises
    ------
    MissingExtraError
        Unless every number of columns is 1 or that of the attributes, which needs no clustering.
    """
    if all(number in (1, size) for number in numbers):
        return
    try:
        import kmedoids  # noqa: F401
    except ImportError:
        feature = "choosing columns by clustering (column_sets names them without)"
        raise MissingExtraError(feature, extra="learning") from None


def columns_by_medoids(similarity: npt.NDArray[Any], number: int, *, spread_loose: bool = True) -> Groups:
    """Cut attributes into a number of columns: each goes to the medoid it is most alike.

    Partitioning around medoids of the distances ``1 - similarity``, from the deterministic BUILD start;
    ties go to the first medoid.

    Parameters
    ----------
    similarity
        ``(attributes, attributes)``, between 0 and 1.
    number
        Of columns, from 1 to the number of attributes.
    spread_loose
        Attributes that are like no medoid at all go round the columns in turn. Otherwise ties put them all
        into the first column, which becomes too wide to be published.

    Returns
    -------
    tuple of tuple of int
        Columns in the order of their first attribute; none is empty.

    Examples
    --------
    >>> alike = np.array([[1, 0.6, 0, 0], [0.6, 1, 0, 0], [0, 0, 1, 0.75], [0, 0, 0.75, 1]])
    >>> columns_by_medoids(alike, 2)
    ((0, 1), (2, 3))
    """
    size = len(similarity)
    if not 1 <= number <= size:
        raise ParameterError(
            f"columns must be from 1 to the {size} attributes there are, got {number}. Ask for fewer.",
            parameter="columns",
        )
    if number in (1, size):
        return (tuple(range(size)),) if number == 1 else tuple((each,) for each in range(size))
    distances = 1 - np.asarray(similarity, np.float32)
    if not np.isfinite(distances).all():
        raise ParameterError("similarities must be numbers, and some are not. Count the pairs again.")
    import kmedoids

    # One processor: with several the sums, and so the ties, could come out differently.
    found = kmedoids.fasterpam(distances, number, init="build", n_cpu=1).medoids.astype(np.int64)
    medoids = _completed(found, number, size)
    to_medoids = distances[:, medoids]
    labels = to_medoids.argmin(axis=1)
    labels[medoids] = np.arange(number)
    if spread_loose:
        is_loose = np.asarray((to_medoids >= 1).all(axis=1))
        is_loose[medoids] = False
        labels[is_loose] = np.arange(np.count_nonzero(is_loose)) % number
    groups = (tuple(np.flatnonzero(labels == each).tolist()) for each in range(number))
    return tuple(sorted(groups))


def _completed(medoids: npt.NDArray[np.int64], number: int, size: int) -> npt.NDArray[np.int64]:
    """As many medoids as columns, in order.

    Where attributes are alike in everything, a further medoid lowers no cost, and fewer are found. Any other then costs as
    much: the first that are left join them.
    """
    found = np.unique(medoids)
    left = np.setdiff1d(np.arange(size), found)
    return np.sort(np.concatenate([found, left[: number - found.size]]))


def overlapping_columns(
    similarity: npt.NDArray[Any], numbers: Sequence[int], *, spread_loose: bool = True
) -> Groups:
    """The columns of one cut for each number, end to end; equal columns are kept and published again.

    Examples
    --------
    >>> overlapping_columns(np.eye(3), [1, 3])
    ((0, 1, 2), (0,), (1,), (2,))
    """
    return tuple(
        column
        for number in numbers
        for column in columns_by_medoids(similarity, number, spread_loose=spread_loose)
    )
