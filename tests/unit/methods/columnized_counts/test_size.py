"""The number of rows with its noise, and what columns promise together."""

from __future__ import annotations

import numpy as np
import pytest

from noisy_rows import MATRIX
from sfumato.guarantees.differential_privacy import DifferentialPrivacy
from sfumato.methods.columnized_counts.law import TRUNCATION_KEY, promised
from sfumato.methods.columnized_counts.noisy_counts import NoisyTotal
from sfumato.randomness.noise import DiscreteLaplace
from sfumato.randomness.streams import NoiseSource


def test_the_number_of_rows_is_drawn_around_the_true_one():
    """Two hundred draws at epsilon 1: mean 1,000 and the variance 2 r / (1 - r)^2 = 1.84 of the noise, to five errors."""
    source = NoiseSource.seeded(3)
    drawn = [NoisyTotal.draw(1_000, 1.0, source.named(str(each))).count for each in range(200)]
    assert abs(np.mean(drawn) - 1_000) < 5 * np.sqrt(1.84 / 200)
    assert 0.8 < np.var(drawn) < 3.8


@pytest.mark.parametrize("seed", range(8))
def test_the_same_seed_gives_the_same_number_of_rows(seed):
    """True rows and the first draw of the source; a copied seed finds it again."""
    source = NoiseSource.seeded(seed)
    drawn = DiscreteLaplace(scale=50.0).draw(source.stream(0), 1)[0]
    assert NoisyTotal.draw(1_000, 0.02, NoiseSource.seeded(seed)).count == 1_000 + drawn


def test_a_smaller_epsilon_has_more_noise():
    """At a quarter r = exp(-1/4), and the variance 2 r / (1 - r)^2 is 31.8."""
    ratio = np.exp(-0.25)
    total = NoisyTotal(count=10, epsilon=0.25)
    # The scale is rounded up to a short fraction.
    assert total.noise.variance == pytest.approx(2 * ratio / (1 - ratio) ** 2, rel=1e-6)
    assert total.noise.variance == pytest.approx(31.83, abs=0.01)


def private(**fields):
    """Differential privacy, one row more or less, in each form."""
    settings = {
        "number": 4, "column_budget": None, "total_epsilon": 0.25, "columns_epsilon": 0.5,
        "is_size_public": False, "whole_units": False,
    }  # fmt: skip
    found = promised(MATRIX, **{**settings, **fields})
    return [each for each in found if isinstance(each, DifferentialPrivacy) and each.relation == "add-remove"]


def test_a_row_pays_for_the_columns_that_it_is_in():
    """Two of epsilon and delta in all four columns, or in the two of a budget, and what else was spent."""
    (all_columns,) = private()
    assert (all_columns.epsilon, all_columns.delta) == (pytest.approx(8.75), pytest.approx(4e-5))
    assert all_columns.form == "pointwise"
    additive, keyed = private(column_budget=2)
    assert (additive.epsilon, additive.delta) == (pytest.approx(4.75), pytest.approx(2e-5))
    assert (additive.form, additive.given) == ("additive", ())
    assert (keyed.form, keyed.given, keyed.epsilon) == ("pointwise", (TRUNCATION_KEY,), additive.epsilon)
    # A budget of all columns loses nothing, by no chance.
    assert [each.form for each in private(column_budget=4)] == ["pointwise"]
