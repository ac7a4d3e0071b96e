"""Estimates made feasible: not negative, and adding up to what is known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import get_args

import numpy as np

from sfumato.errors import ParameterError
from sfumato.values.arrays import Floats
from sfumato.values.feasibility import Feasibility, clip_to_totals, project_to_simplex


def feasible(values: Floats, totals: Floats, feasibility: Feasibility) -> Floats:
    """Rows of estimates, each made non-negative with a given sum, by projection or by cutting.

    Parameters
    ----------
    values
        ``(groups, n)``.
    totals
        ``(groups,)``, not negative.
    feasibility
        How. The most likely counts (``"em"``) need a law's matrix and are each law's own.
    """
    if feasibility == "projection":
        return project_to_simplex(values, totals)
    if feasibility == "clip":
        return clip_to_totals(values, totals)
    raise ParameterError(
        f"feasibility must be one of {', '.join(get_args(Feasibility))}, got {feasibility!r}.",
        parameter="feasibility",
    )


def feasible_by_group(values: Floats, is_exact: Sequence[bool], feasibility: Feasibility) -> Floats:
    """Make the cells of each combination of some axes feasible, keeping their sum.

    Parameters
    ----------
    values
        Estimates, one axis for each attribute.
    is_exact
        For each axis, whether sums over the other axes are known exactly along it.
    """
    exact_axes = [axis for axis, exact in enumerate(is_exact) if exact]
    moved = np.moveaxis(values, exact_axes, range(len(exact_axes)))
    flat = moved.reshape(math.prod(moved.shape[: len(exact_axes)]), -1)
    made = feasible(flat, np.clip(flat.sum(axis=1), 0, None), feasibility)
    return np.moveaxis(made.reshape(moved.shape), range(len(exact_axes)), exact_axes)
