"""Corrections for groups of fixed sizes, cell by cell and group by group."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.methods.sample_perturb_scale.law.fixed_sizes import Parts, fixed_leaning


def test_parts_of_different_groups_lean_by_themselves():
    """Two cells over three groups; what a cell has of one group in two parts is one part: e^2 (3 x^2 N - 2 x^3)."""
    parts = Parts(
        groups=np.array([1, 0, 2, 2, 1]),
        cell=np.array([0, 1, 0, 0, 1]),
        values=np.array([50.0, 20.0, 5.0, 15.0, 30.0]),
        cells=2,
    )
    effects, sizes = np.array([0.1, 0.2, 0.3]), np.array([100.0, 200.0, 40.0])
    found = fixed_leaning(parts, effects, sizes)

    def leaning(group, value):
        return effects[group] ** 2 * (3 * value**2 * sizes[group] - 2 * value**3)

    assert found.tolist() == pytest.approx([leaning(1, 50) + leaning(2, 20), leaning(0, 20) + leaning(1, 30)])
