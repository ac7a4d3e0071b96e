"""What rows that were left out add to the errors of counts of decoys.

A remainder that groups do not divide was left out at random, so that every row left out is in a cell with the probability of a published
one. Rows that were left out because another drawn attribute's value was rare are taken to be spread like that too. How many there
were is not published: errors allow for the most. They are mean squares and products of what is missing, not variances, because rows
left out are always missing and never too many.
"""

from __future__ import annotations

import numpy as np

from sfumato.values.arrays import Booleans, Floats
from sfumato.values.certainty import Certainties, Certainty


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


def claims_of(is_known: Booleans, most_left_out: int) -> Certainties:
    """What is known of the published rows is so of the table, save the rows left out."""
    known = Certainty.BOUNDED if most_left_out else Certainty.EXACT
    return np.where(is_known, known, Certainty.ESTIMATED).astype(np.int8)


def certain_ends(values: Floats, claims: Certainties, most_left_out: int) -> tuple[Floats, Floats]:
    """Least and most of what is known; infinite of estimates."""
    is_known = claims > Certainty.ESTIMATED
    return np.where(is_known, values, -np.inf), np.where(is_known, values + most_left_out, np.inf)
