"""What values that no published row shows add to the errors of counts of decoys.

A row with such a value is in a group of gamma rows, each of which shows it with probability 1/gamma: it went unseen by chance. The row
itself is published and shows what others have, so sums with its value miss it, and other sums have it instead, as often as they
have any row. "All values but this one" therefore errs as this value does.

Or the value was rare, and all its rows were left out: sums with it miss them, and nothing else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.laws.asking import unseen_variance
from sfumato.values.arrays import Floats


@dataclass(frozen=True, eq=False)
class UnseenValues:
    """Values that no published row shows, though some rows may have them.

    Parameters
    ----------
    counts, gamma, rarest
        As for :class:`~sfumato.methods.splu_gen.law.model.DecoyModel`.

    Notes
    -----
    Of a single such value the rule of three says how many rows it may have. It says the same of all of them together, if they were named beforehand, and
    not as much of each. Who names them after looking at the release knows more: of values that few rows have, those shown once tell how
    many rows went unseen (:attr:`rows`). So rows with such values are many or few all together, with
    the mean square of a sum of both, and are spread over the values so that each has no more than the rule of three says of it.

    Examples
    --------
    One value of three; all others err as it does, and all together do not err.

    >>> values = UnseenValues(np.array([60.0, 40.0, 0.0]), 3, 1)
    >>> values.squares(np.array([1.0, 0.0, 1.0]), np.array([0.0, 1.0, 1.0]), np.ones(3)).round(2).tolist()
    [1.58, 1.58, 0.0]
    """

    counts: Floats
    gamma: int
    rarest: int

    @cached_property
    def are_unseen(self) -> Floats:
        """Which values these are, as 0 and 1."""
        return np.asarray(self.counts == 0, np.float64)

    @cached_property
    def shares(self) -> Floats:
        """Of the published rows, how often they show each value."""
        return self.counts / max(float(self.counts.sum()), 1.0)

    @cached_property
    def rows(self) -> float:
        """Rows that are expected to have such values, by those that are shown once.

        Of a value with n rows the gamma n rows of its groups show it none or once with probabilities of the ratio ``(1 - 1/gamma) : n``. So the values
        that are shown once, times ``1 - 1/gamma``, have the mean of all rows that went unseen. These are no more than if each
        of the values had what the rule of three says of one.

        References
        ----------
        Good (1953), The population frequencies of species and the estimation of population parameters.
        """
        most = (self._number**2 - 1) * self._of_one
        expected = (1 - 1 / self.gamma) * np.count_nonzero(self.counts == 1)
        return float(min(expected, math.sqrt(0.25 + max(most, 0.0)) - 0.5))

    def squares(self, numbers: Floats, shares: Floats, places: Floats) -> Floats:
        """Mean squares of what sums over values err by such rows, in the shape that the three have together.

        Parameters
        ----------
        numbers
            How many of these values are in each sum.
        shares
            How much of the published rows shows a value of it.
        places
            Share of all rows that are where it is asked: in a public combination, and in everything else that is asked.
        """
        return self.by_chance(numbers, shares, places) + (places > 0) * self.most_rare(numbers) ** 2

    def by_chance(self, numbers: Floats, shares: Floats, places: Floats) -> Floats:
        """The same of rows that are published and do not show their value."""
        if not self._number:
            return np.zeros(np.broadcast_shapes(numbers.shape, shares.shape, places.shape))
        misses, apart = numbers / self._number - shares, numbers - numbers**2 / self._number
        return np.asarray(self._together(places) * misses**2 + self._apart(places) * apart)

    def most_rare(self, numbers: Floats) -> Floats:
        """Rows that so many values have at the most, if all of them were left out because they are rare."""
        return np.asarray(numbers * (self.rarest - 1.0))

    def between_places(self, weights: Floats, places: Floats) -> Floats:
        """Mean products between sums in places that do not overlap, ``(places * sums, places * sums)``.

        Parameters
        ----------
        weights
            Which sums, ``(values, sums)`` of 0 and 1.
        places
            Share of all rows in each, ``(places,)``.
        """
        size = places.size * weights.shape[1]
        if not self._number:
            return np.zeros((size, size))
        misses, unseen = self._misses(weights), weights * self.are_unseen[:, None]
        numbers = unseen.sum(axis=0)
        apart = unseen.T @ unseen - np.outer(numbers, numbers) / self._number
        rare = self.most_rare(numbers)
        together = np.outer(self.rows * places, self.rows * places)
        np.fill_diagonal(together, self._together(places))
        found = np.kron(together, np.outer(misses, misses)) + np.kron(np.diag(self._apart(places)), apart)
        return np.asarray(found + np.kron(np.diag(places > 0), np.outer(rare, rare)), np.float64)

    def between_sums(self, weights: Floats, product: float, both: float) -> float:
        """Mean product of what two sums err that are asked in different places.

        Parameters
        ----------
        weights
            Which two, ``(values, 2)``.
        product, both
            Of the shares of all rows in the two places, and the share in both.
        """
        if not self._number:
            return 0.0
        return float(np.prod(self._misses(weights)) * (self.rows**2 * product + self.rows * both))

    def _misses(self, weights: Floats) -> Floats:
        """Share of the rows that went unseen which each sum should have, less what it has instead."""
        return np.asarray((self.are_unseen / self._number - self.shares) @ weights)

    def _together(self, places: Floats) -> Floats:
        """Mean square of all rows that went unseen in each place."""
        rows = self.rows * places
        return np.where(places > 0, self._of_one + rows + rows**2, 0.0)

    def _apart(self, places: Floats) -> Floats:
        """Mean square of what one value has besides its part of them, so that it has what the rule of three says."""
        if self._number < 2:
            return np.zeros_like(places)
        left = self._of_one - self._together(places) / self._number**2
        return np.where(places > 0, left / (1 - 1 / self._number), 0.0)

    @cached_property
    def _number(self) -> int:
        return int(self.are_unseen.sum())

    @cached_property
    def _of_one(self) -> float:
        """Mean square of the rows that a value may have which was named beforehand."""
        return float(unseen_variance(1 - (1 - 1 / self.gamma) ** self.gamma))
