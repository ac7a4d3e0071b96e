"""Categories as numbers: middles of bins, ordered categories that are numbers, or numbers that the analyst gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sfumato.errors import QueryError
from sfumato.values.arrays import Floats
from sfumato.values.schema import Attribute


@dataclass(frozen=True, eq=False)
class Scores:
    """What each category counts for; missing values have no score and are left out.

    Parameters
    ----------
    values
        ``(categories,)``, without the missing one.
    lows, highs
        Ends of the bins; the values themselves where categories are numbers.
    """

    values: Floats
    lows: Floats
    highs: Floats

    @property
    def is_binned(self) -> bool:
        """Whether bins hide where within them values lie."""
        return bool((self.lows < self.highs).any())


def score(attribute: Attribute, scores: Mapping[str, float] | None = None) -> Scores:
    """Numbers for an attribute's categories.

    Parameters
    ----------
    attribute
        Binned, or with ordered categories that are numbers; any other with ``scores``.
    scores
        Number of each category, by its label.

    Raises
    ------
    QueryError
        When the categories have no numbers, or an outermost bin has no end.

    Examples
    --------
    >>> from sfumato.values.schema import Role
    >>> score(Attribute(name="age", role=Role.OTHER, bins=(0, 10, 30))).values.tolist()
    [5.0, 20.0]
    """
    labels = attribute.stated_labels
    if scores is not None:
        absent = [label for label in labels if label not in scores]
        if absent:
            raise QueryError(
                f"scores for {attribute.name!r} lack the category {absent[0]!r}. Give every category a number."
            )
        return _of_numbers([scores[label] for label in labels])
    if attribute.edges is not None:
        edges = np.array(attribute.edges, dtype=np.float64)
        if not np.isfinite(edges).all():
            raise QueryError(
                f"an outermost bin of {attribute.name!r} has no end, and so no middle. Give scores for its categories."
            )
        return Scores((edges[:-1] + edges[1:]) / 2, edges[:-1], edges[1:])
    if attribute.numbers is None:
        raise QueryError(
            f"attribute {attribute.name!r} is not declared as ordered numbers, so it has no mean. "
            "Ask about a binned attribute or one of ordered numbers, or give scores: a number for each category."
        )
    return _of_numbers(list(attribute.numbers))


def _of_numbers(numbers: list[float]) -> Scores:
    values = np.array(numbers, dtype=np.float64)
    return Scores(values, values, values)
