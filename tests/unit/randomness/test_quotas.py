"""Sharing out what was drawn on counts."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.randomness.quotas import Arrangement, contingency, split
from sfumato.randomness.streams import NoiseSource


def stream(number=0):
    """A stream of the tests' own."""
    return NoiseSource.seeded(1).stream(number)


def test_shares_add_up_to_quotas_and_fit_their_parts():
    """Cells of one part, of several, with nothing chosen, with all."""
    sizes = np.array([4, 3, 2, 5, 1, 7, 2, 2])
    starts = np.array([0, 1, 4, 6])
    for number in range(50):
        quotas = stream(number).integers_below([5, 11, 9, 5]).astype(np.int64)
        shares = split(sizes, starts, quotas, stream(number + 100))
        assert np.add.reduceat(shares, starts).tolist() == quotas.tolist()
        assert ((shares >= 0) & (shares <= sizes)).all()


def test_no_cells_have_no_shares():
    """Where nothing is kept, nothing is split."""
    empty = np.empty(0, np.int64)
    assert split(empty, empty, empty, stream()).size == 0


@pytest.mark.parametrize(
    ("parts", "outcomes"), [([5], [2, 3]), ([0, 5, 0], [2, 3]), ([2, 3], [0, 5]), ([2, 2, 4], [1, 0, 7])]
)
def test_a_random_table_has_its_sums(parts, outcomes):
    """Also where there is nothing to choose."""
    table = contingency(np.array(parts), np.array(outcomes), stream())
    assert table.sum(axis=1).tolist() == parts
    assert table.sum(axis=0).tolist() == outcomes


def test_outcomes_are_handed_out_to_their_cells():
    """In batches of any size, until all are gone."""
    cells, outcomes = np.array([0, 0, 1, 3]), np.array([300, 7, 7, 8])
    dealt = Arrangement(cells, outcomes, np.array([2, 1, 2, 1]), 4, stream())
    first, second = dealt.take(np.array([1, 0, 3])), dealt.take(np.array([0, 0, 1]))
    assert sorted([first[1], *second[:2]]) == [7, 300, 300]
    assert (first[0], first[2], second[2]) == (7, 8, 7)
    assert dealt.is_finished


@pytest.mark.parametrize("came", [[0, 0, 0], [0], [0, 1], [0, 0, 2]])
@pytest.mark.parametrize("outcomes", [[4, 5], [4, 4]])
def test_other_rows_than_counted_do_not_finish(came, outcomes):
    """One more, one less, one of another cell, one of a cell that nobody counted."""
    dealt = Arrangement(np.array([0, 0]), np.array(outcomes), np.array([1, 1]), 3, stream())
    assert dealt.take(np.array(came)).size == len(came)
    assert not dealt.is_finished
