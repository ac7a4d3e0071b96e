"""Full-domain search against brute force over the whole lattice."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.arrays import MixedRadix
from sfumato.guarantees.k_anonymity import diversity
from sfumato.methods.generalization.kernels import Criterion, DistinctRows
from sfumato.methods.generalization.search import search_full_domain

LEVELS = [
    [np.arange(4), np.array([0, 0, 2, 2]), np.zeros(4, int)],
    [np.arange(3), np.array([0, 0, 2]), np.zeros(3, int)],
    [np.arange(2), np.zeros(2, int)],
]
SIZES = [4, 3, 2]
CRITERIA = {
    "size": Criterion(3),
    "distinct": Criterion(2, (lambda counts: (counts > 0).sum(axis=1) >= 2,)),
    "entropy": Criterion(2, (lambda counts: diversity(counts, "entropy") >= 1.7,), merging="keeping"),
}


def losses_by_brute_force(table, criterion, most_suppressed):
    """Loss of every node that satisfies the criterion, straight from its definition."""
    found = {}
    for node in itertools.product(*[range(len(level)) for level in LEVELS]):
        classes = {}
        for row in table:
            coarse = tuple(int(LEVELS[place][node[place]][row[place]]) for place in range(3))
            classes.setdefault(coarse, []).append(row)
        loss, suppressed = 0.0, 0
        for coarse, rows in classes.items():
            counts = np.bincount([row[3] for row in rows], minlength=3)[None]
            if criterion.passes(np.array([len(rows)]), counts)[0]:
                for place, first in enumerate(coarse):
                    covered = int((LEVELS[place][node[place]] == first).sum())
                    loss += len(rows) * (covered - 1) / (SIZES[place] - 1) / 3
            else:
                loss += len(rows)
                suppressed += len(rows)
        if suppressed <= most_suppressed:
            found[node] = loss / len(table)
    return found


tables = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 1), st.integers(0, 2)),
    min_size=3,
    max_size=40,
)


@pytest.mark.parametrize("name", list(CRITERIA))
@given(table=tables, share=st.sampled_from([0.0, 0.1, 0.4]))
@settings(max_examples=60, deadline=None)
def test_the_best_node_is_found(name, table, share):
    """Least loss over the whole lattice, or None exactly when no node satisfies the criterion."""
    criterion = CRITERIA[name]
    radix = MixedRadix(SIZES)
    columns = np.array(table).T
    rows = DistinctRows.count(radix, 3, [radix.encode(columns[:3]) * 3 + columns[3]])
    most = int(share * len(table))
    expected = losses_by_brute_force(table, criterion, most)
    result = search_full_domain(rows, LEVELS, criterion, most_suppressed=most)
    if not expected:
        assert result is None
    else:
        assert result is not None
        assert result.loss == pytest.approx(min(expected.values()), abs=1e-12)
        assert expected[result.levels] == pytest.approx(result.loss, abs=1e-12)


def test_a_table_that_is_anonymous_already_stays_as_it_is():
    """A loss of exactly zero is a solution too."""
    rows = DistinctRows.count(MixedRadix(SIZES), 1, [np.array([0, 0, 23, 23])])
    result = search_full_domain(rows, LEVELS, Criterion(2))
    assert result is not None
    assert (result.levels, result.loss, result.suppressed) == ((0, 0, 0), 0.0, 0)
