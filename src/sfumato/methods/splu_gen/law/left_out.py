"""What rows that were left out, and values that no published row shows, add to the errors of counts of decoys.

A remainder that groups do not divide was left out at random, so that every row left out is in a cell with the probability of a published
one. How many there were is not published: errors allow for the most. They are mean squares and products of what is missing, not
variances, because rows left out are always missing and never too many.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.laws.asking import unseen_variance
from sfumato.values.arrays import Booleans, Floats
from sfumato.values.certainty import Certainties, Certainty
from sfumato.values.estimates import normal_quantile


def left_out_variances(values: Floats, rows: float, most: int) -> Floats:
    """Mean square of what the rows left out, were they the most there can be, would add to public counts.

    A cell without a published row may have one that was left out: its share is that of a row more.
    """
    shares = (values + 1) / (rows + 2)
    return np.asarray(most * shares * (1 - shares) + (most * shares) ** 2)


def left_out_squares(shares: Floats, most: int) -> Floats:
    """The same of cells by their shares of all rows, so that it adds up with :func:`left_out_products`."""
    return np.asarray(most * shares + most * (most - 1) * shares**2)


def left_out_products(one: Floats, other: Floats, both: Floats, most: int) -> Floats:
    """Mean products of what the rows left out would add to pairs of counts, ``(cells, cells)``.

    Parameters
    ----------
    one, other
        Shares of all rows that are in each cell, ``(cells,)``.
    both
        That are in both, ``(cells, cells)``.
    most
        Rows that may have been left out.

    Examples
    --------
    Three rows, of which none or all are in a cell that has every row:

    >>> left_out_products(np.ones(1), np.ones(1), np.ones((1, 1)), 3).item()
    9.0
    """
    return np.asarray(most * both + most * (most - 1) * np.outer(one, other))


@dataclass(frozen=True, eq=False)
class UnseenValues:
    """Values that no published row shows, though some rows may have them.

    Parameters
    ----------
    counts
        Published rows of each value, ``(values,)``.
    gamma
        Rows of a group.
    rarest
        Rows that a value must have had to be published at all.

    Notes
    -----
    A row with such a value is in a group of gamma rows, each of which shows it with probability 1/gamma: it went unseen by chance. Or
    its value was rare, and all its rows were left out.
    """

    counts: Floats
    gamma: int
    rarest: int

    @cached_property
    def variances(self) -> Floats:
        """Of the rows that each of them may have, ``(values,)``; nothing of values that are shown."""
        return np.where(self.counts > 0, 0.0, max(self._by_chance, self._if_left_out))

    def products(self, left: Floats, right: Floats) -> Floats:
        """Mean products of the errors that their rows make of sums over values, ``(k, m)``.

        A row that went unseen is published and shows what others have: sums with its value miss it, and estimates of other values have it
        instead, as often as they have any row. So "all values but this one" errs as this value does. Rows that were left out
        with their value are missed, and nothing else.

        Parameters
        ----------
        left, right
            ``(values, k)`` and ``(values, m)``: which sums, of 0 and 1.
        """
        found = left.T @ (self.variances[:, None] * right)
        if self._if_left_out > self._by_chance:
            return np.asarray(found)
        shares = self.counts / max(self.counts.sum(), 1.0)
        instead, other = shares @ left, shares @ right
        found = found - np.outer(self.variances @ left, other) - np.outer(instead, self.variances @ right)
        return np.asarray(found + self.variances.sum() * np.outer(instead, other))

    @property
    def _by_chance(self) -> float:
        return float(unseen_variance(1 - (1 - 1 / self.gamma) ** self.gamma))

    @property
    def _if_left_out(self) -> float:
        return float(((self.rarest - 1) / normal_quantile(0.95)) ** 2)


def claims_of(is_known: Booleans, most_left_out: int) -> Certainties:
    """What is known of the published rows is so of the table, save the rows left out."""
    known = Certainty.BOUNDED if most_left_out else Certainty.EXACT
    return np.where(is_known, known, Certainty.ESTIMATED).astype(np.int8)


def certain_ends(values: Floats, claims: Certainties, most_left_out: int) -> tuple[Floats, Floats]:
    """Least and most of what is known; infinite of estimates."""
    is_known = claims > Certainty.ESTIMATED
    return np.where(is_known, values, -np.inf), np.where(is_known, values + most_left_out, np.inf)
