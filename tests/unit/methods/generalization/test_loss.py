"""Measures of information loss, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.methods.generalization.search import information_loss


def test_nothing_generalized_costs_nothing():
    """Every value as it is, every row alone."""
    loss = information_loss(
        np.ones((4, 2), int), np.ones(4, int), np.array([5, 3]), np.array([True, False]), k=1
    )
    assert (loss.normalized_certainty_penalty, loss.granularity) == (0, 1)
    assert (loss.discernibility, loss.average_class_size) == (4, 1)


def test_everything_generalized_costs_all():
    """One class of all values."""
    loss = information_loss(
        np.array([[5, 3]]), np.array([10]), np.array([5, 3]), np.array([True, False]), k=2
    )
    assert (loss.normalized_certainty_penalty, loss.granularity) == (1, 0)
    assert (loss.discernibility, loss.average_class_size) == (100, 5)


def test_a_dropped_row_counts_as_lost():
    """3 rows kept at (2 of 3 nested categories, penalty 2/3, width 1/2), 1 dropped: (3 x 2/3 + 1)/4 and (3/2 + 1)/4."""
    loss = information_loss(
        np.array([[2]]), np.array([3]), np.array([3]), np.array([False]), k=3, suppressed=1
    )
    assert loss.normalized_certainty_penalty == pytest.approx(3 / 4)
    assert loss.granularity == pytest.approx(1 - 2.5 / 4)
    assert loss.discernibility == 9 + 4
