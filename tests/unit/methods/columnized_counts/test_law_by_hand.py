"""Limits of rows that were not published and of exponentials, worked out by hand."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from sfumato.data.chunks import CodedBatch
from sfumato.methods.columnized_counts.law import NoisyRows
from sfumato.methods.columnized_counts.noisy_counts import NoisyCountMatrix, PublishedColumn, _exp_bounds
from sfumato.query.selection import Selection, Tabulation
from sfumato.schema import Attribute, Role, Schema

MATRIX = NoisyCountMatrix(k=5, epsilon=2.0, delta=1e-5)


class TwoColumns:
    """A release of rows that kept one of two parts each."""

    schema = Schema(
        attributes=tuple(
            Attribute(name=name, role=Role.OTHER, categories=("0", "1")) for name in ("age", "sex", "job")
        )
    )

    def scan(self, table, names):
        """Of each part two combinations were published."""
        counts = {"column-1": [50, 20], "column-2": [30, 60]}[table]
        columns = {each.name: np.array([0, 1]) for each in self.schema.attributes}
        columns |= {"count": np.array(counts)}
        yield CodedBatch({name: columns[name] for name in names}, 2)


def one_of_two_parts(rows):
    """The law of so many rows, each of which kept one of two parts."""
    return NoisyRows(
        matrix=MATRIX,
        columns=(
            PublishedColumn(table="column-1", attributes=("sex", "job"), sizes=(2, 2)),
            PublishedColumn(table="column-2", attributes=("age", "sex"), sizes=(2, 2)),
        ),
        column_budget=1,
        public_size=rows,
    )


def test_counts_that_share_a_published_row_share_its_noise_and_its_draw():
    """Age 0 and sex 0 are the same published row of 30, hence 60; both have half of the combinations left open.

    With n the variance of the noise a count of X rows has 4 n + X, all published ones 8 n + 180:
    4 n + 60 - (4 n + 60) / 2 - (4 n + 60) / 2 + (8 n + 180) / 4 = 2 n + 45.
    """
    age, sex = (Tabulation(where=Selection(((name, (0,)),))) for name in ("age", "sex"))
    formula = one_of_two_parts(180).formula(TwoColumns(), (age, sex))
    noise = MATRIX.noise.variance
    assert formula.covariance(age, sex).item() == pytest.approx(2 * noise + 45)
    assert formula.variances(age).tolist() == pytest.approx(
        [(1 - 1) * (4 * noise + 60) + (8 * noise + 180) / 4]
    )


def test_what_was_not_published_is_scaled_like_what_was():
    """Half of the parts were kept: a combination of X rows had X / 2 there, give or take three standard deviations."""
    found = one_of_two_parts(1_000_000).estimate(TwoColumns(), Tabulation(by=("age",)))
    passed = MATRIX.threshold(0.999)
    most = (passed + 3 * math.sqrt(passed / 2)) * 2
    # One combination of each age was not published.
    assert found.left_open.of(found.values).high == pytest.approx(np.array([60.0, 120.0]) + most)


@pytest.mark.parametrize("exponent", [Fraction(1), Fraction(-1), Fraction(1, 3)])
def test_an_exponential_is_between_its_bounds(exponent):
    """The series to a hundred terms is within 1e-100 of it; the bounds are within 1e-50 of each other."""
    low, high = _exp_bounds(exponent)
    series = sum((exponent**place / math.factorial(place) for place in range(100)), Fraction(0))
    rest = Fraction(1, 10**100)
    assert low < series - rest
    assert series + rest < high
    assert high - low < Fraction(1, 10**50)
