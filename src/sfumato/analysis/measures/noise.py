"""Measures as functions of counts, and what noise adds to those that grow with it."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.analysis.asking import Crossed
from sfumato.analysis.differentiation import Formula, noise_bias
from sfumato.analysis.measures.declarations import Measure
from sfumato.analysis.routine import drawing
from sfumato.laws import Target
from sfumato.values.arrays import Floats
from sfumato.values.estimates import Estimates


def of_counts(declared: Measure, shape: tuple[int, int]) -> Formula:
    """The measure's formula, of counts in the place of shares."""

    def formula(numbers: Any) -> Any:
        rows = numbers.sum()
        return declared.formula((numbers / rows).reshape(shape), rows)

    return formula


def without_noise(declared: Measure, table: Crossed) -> tuple[float, float]:
    """A measure of the table that grows with noise, on its own scale, with what noise adds on average taken out; and as it is.

    For whoever compares many and asks for no range, which takes most of the time: second derivatives along all pairs of directions.
    """
    formula, counts = of_counts(declared, table.shape), table.counts
    raw = float(np.real(formula(counts.values + 0j)))
    return raw - noise_bias(formula, counts.values, covariance_about(counts, "table")), raw


def covariance_about(counts: Estimates, target: Target) -> Floats:
    """Of the counts about the target: a measure of a draw is too large by the draw's noise as well."""
    assert counts.covariance is not None
    if target == "table":
        return counts.covariance
    return np.asarray(counts.covariance + drawing(np.eye(counts.values.size), counts.values))
