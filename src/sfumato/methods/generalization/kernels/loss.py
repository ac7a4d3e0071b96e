"""What generalization costs: four measures of the literature, from classes alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.values.arrays import Booleans, Integers


@dataclass(frozen=True)
class InformationLoss:
    """Four measures of one recoding.

    Parameters
    ----------
    normalized_certainty_penalty
        Between 0 and 1: mean over cells of the share of an attribute's range that the published value
        leaves open; 0 for a value published as it is, 1 for a dropped row.
    granularity
        Between 0 and 1, higher is better: 1 minus the mean over cells of (s - 1)/(m - 1), where a value
        stands for s of m categories and a dropped row for all.
    discernibility
        Sum over rows of the number of rows each cannot be told apart from; a dropped row counts all.
    average_class_size
        Rows of a class on average, divided by k; 1 is the best possible.
    """

    normalized_certainty_penalty: float
    granularity: float
    discernibility: int
    average_class_size: float


def information_loss(
    covered: Integers,
    sizes: Integers,
    categories: Integers,
    is_ordered: Booleans,
    *,
    k: int,
    suppressed: int = 0,
) -> InformationLoss:
    """Measure a recoding.

    Parameters
    ----------
    covered
        ``(classes, attributes)``: how many categories the published value stands for.
    sizes
        ``(classes,)`` rows.
    categories
        ``(attributes,)``: how many categories there are.
    is_ordered
        ``(attributes,)``: whether values are runs of an ordered domain, whose penalty is their width
        (s - 1)/(m - 1), or sets, whose penalty is s/m, and 0 for one category.
    k
        Fewest rows of a class.
    suppressed
        Rows that were dropped.

    References
    ----------
    Xu et al. (2006) for the penalty; Iyengar (2002) for granularity; Bayardo and Agrawal (2005) for
    discernibility; LeFevre, DeWitt and Ramakrishnan (2006) for the average class size.

    Examples
    --------
    >>> information_loss(
    ...     np.array([[1, 2], [3, 2]]), np.array([2, 2]), np.array([5, 2]), np.array([True, False]), k=2
    ... )
    InformationLoss(normalized_certainty_penalty=0.625, granularity=0.375, discernibility=8, average_class_size=1.0)
    """
    rows = int(sizes.sum()) + suppressed
    widths = (covered - 1) / np.maximum(categories - 1, 1)
    shares = np.where(covered > 1, covered / categories, 0.0)
    penalties = np.where(is_ordered, widths, shares)
    cells = rows * len(categories)
    dropped = suppressed * len(categories)
    return InformationLoss(
        normalized_certainty_penalty=float((sizes @ penalties).sum() + dropped) / cells,
        granularity=1 - float((sizes @ widths).sum() + dropped) / cells,
        discernibility=int(np.square(sizes).sum()) + suppressed * rows,
        average_class_size=float(sizes.sum() / max(len(sizes), 1) / k),
    )
