"""Corrections for groups of fixed sizes, cell by cell and group by group."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.methods.sample_perturb_scale.variances import Parts, fixed_by_group, fixed_leaning


def test_parts_of_different_groups_lean_by_themselves():
    """Two cells over three groups; what a cell has of one group in two parts is one part: e^2 (3 x^2 N - 2 x^3)."""
    parts = Parts(
        groups=np.array([1, 0, 2, 2, 1]),
        cell=np.array([0, 1, 0, 0, 1]),
        values=np.array([50.0, 20.0, 5.0, 15.0, 30.0]),
        cells=2,
    )
    effects, sizes = np.array([0.1, 0.2, 0.3]), np.array([100.0, 200.0, 40.0])
    found = fixed_leaning(parts, effects, effects, sizes)

    def leaning(group, value):
        return effects[group] ** 2 * (3 * value**2 * sizes[group] - 2 * value**3)

    assert found.tolist() == pytest.approx([leaning(1, 50) + leaning(2, 20), leaning(0, 20) + leaning(1, 30)])


def in_groups(parts, groups):
    """Estimates of every cell in every group, ``(cells, groups)``."""
    found = np.zeros((parts.cells, groups))
    for group, cell, value in zip(parts.groups, parts.cell, parts.values, strict=True):
        found[cell, group] += value
    return found


@pytest.mark.parametrize("cells", [(1, 1), (1, 3), (3, 1), (3, 3)])
def test_what_fixed_sizes_take_from_pairs_of_cells(cells):
    """Group by group: the effect times what both cells have of it, parts of a cell in one group added up."""
    effects = np.array([0.5, 0.0, 2.0, 3.0])
    draw = np.random.default_rng(6)
    one, other = (
        Parts(draw.integers(0, 3, 8), draw.integers(0, number, 8), draw.normal(size=8), number)
        for number in cells
    )
    left, right = in_groups(one, 4), in_groups(other, 4)
    expected = [[(effects * first * second).sum() for second in right] for first in left]
    np.testing.assert_allclose(fixed_by_group(one, other, effects), expected)
    own = fixed_by_group(one, one, effects, is_diagonal=True)
    np.testing.assert_allclose(own, [(effects * each**2).sum() for each in left])
