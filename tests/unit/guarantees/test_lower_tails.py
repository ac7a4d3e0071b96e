"""Lower tails of small groups in fractions: every number of rows with a value, and edges that are whole numbers."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from sfumato.guarantees.reconstruction_privacy import lower_tails_by_size


def binomial(trials, chance):
    """Probabilities of none to all."""
    return [math.comb(trials, k) * chance**k * (1 - chance) ** (trials - k) for k in range(trials + 1)]


def lower_tail(rows, count, retention, size, error):
    """Fewer published rows than the edge, of so many with the value and the others; nobody counts as one."""
    if count == 0:
        return Fraction(1)
    elsewhere = (1 - retention) / size
    own = retention + elsewhere
    edge = rows * elsewhere + retention * count * (1 - error)
    return sum(
        (
            mine * other
            for kept, mine in enumerate(binomial(count, own))
            for moved, other in enumerate(binomial(rows - count, elsewhere))
            if kept + moved < edge
        ),
        Fraction(0),
    )


@pytest.mark.parametrize(
    ("retention", "size", "error"),
    [("0.1", 3, "0.3"), ("0.7", 3, "0.1"), ("0.4", 2, "0.5"), ("0.2", 4, "0.9")],
)
def test_lower_tails_of_small_groups(retention, size, error):
    """Decimals as they are written: where the edge is a whole number, that many rows are not below it."""
    numbers = Fraction(retention), size, Fraction(error)
    found = lower_tails_by_size(retention=float(retention), size=size, relative_error=float(error))
    for rows, tails in zip(range(1, 13), found, strict=False):
        expected = [float(lower_tail(rows, count, *numbers)) for count in range(rows + 1)]
        assert tails.tolist() == pytest.approx(expected)
