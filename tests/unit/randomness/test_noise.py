"""Discrete noise: probabilities, tails, exact decisions, and what is refused."""

from __future__ import annotations

import math
import sys
import time
from decimal import Decimal, getcontext
from fractions import Fraction

import numpy as np
import pytest

from sfumato.errors import MissingExtraError, ParameterError
from sfumato.randomness import noise as exponentials
from sfumato.randomness.noise import (
    DiscreteGaussian,
    DiscreteLaplace,
    Laplace,
    draw_with_opendp,
    scale_at_least,
)
from sfumato.randomness.streams import NoiseSource, NoiseStream

LAWS = [
    DiscreteLaplace(scale=0.2),
    DiscreteLaplace(scale=1.0),
    DiscreteLaplace(scale=37.5),
    DiscreteGaussian(scale=0.4),
    DiscreteGaussian(scale=1.9),
    DiscreteGaussian(scale=2.0),
    DiscreteGaussian(scale=30.0),
]


@pytest.fixture(params=LAWS, ids=lambda law: f"{law.form}-{law.scale}")
def law(request):
    """Each law in turn."""
    return request.param


@pytest.fixture
def support(law):
    """All integers that a double can see the probability of."""
    reach = math.ceil(45 * law.scale) + 2
    return np.arange(-reach, reach + 1)


def test_probabilities_sum_to_one(law, support):
    """Over the whole support."""
    assert law.probability(support).sum() == pytest.approx(1, abs=1e-13)


def test_probabilities_have_the_stated_form(law):
    """Ratios to the probability of zero are the exponentials of the definition."""
    k = np.arange(4)
    exponent = k / law.scale if law.form == "discrete-laplace" else k**2 / (2 * law.scale**2)
    assert law.probability(k) / law.probability(0) == pytest.approx(np.exp(-exponent), rel=1e-12)


def test_the_variance_is_the_second_moment(law, support):
    """By summation."""
    assert law.variance == pytest.approx(np.sum(support**2 * law.probability(support)), rel=1e-10)


def test_the_fourth_cumulant_is_that_of_the_moments(law, support):
    """E x^4 - 3 (E x^2)^2, by summation."""
    fourth = np.sum(support.astype(float) ** 4 * law.probability(support)) - 3 * law.variance**2
    assert law.fourth_cumulant == pytest.approx(fourth, rel=1e-8, abs=1e-9 * law.variance**2)


def test_the_cumulative_is_the_sum_of_probabilities(law, support):
    """At every integer of the support."""
    expected = np.cumsum(law.probability(support))
    assert law.cumulative(support) == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("distance", [0, 1, 1.5, 4])
def test_the_tail_is_what_lies_at_least_that_far(law, support, distance):
    """Both sides, by summation."""
    expected = law.probability(support)[np.abs(support) >= distance].sum()
    assert law.tail(distance) == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("confidence_level", [0.5, 0.95, 0.999])
def test_the_half_width_is_the_smallest_that_holds_the_level(law, support, confidence_level):
    """It holds the level, and one less does not."""
    width = law.half_width(confidence_level)
    inside = law.probability(support)
    assert inside[np.abs(support) <= width].sum() >= confidence_level - 1e-12
    assert inside[np.abs(support) <= width - 1].sum() < confidence_level


def test_a_known_variance_of_the_discrete_laplace():
    """Scale 2: q = exp(-1/2), 2 q / (1-q)^2 = 7.8354 by hand."""
    q = math.exp(-0.5)
    assert DiscreteLaplace(scale=2.0).variance == pytest.approx(2 * q / (1 - q) ** 2, rel=1e-14)


def test_continuous_laplace_within_thirty_at_scale_ten():
    """1 - exp(-3) = 0.950213, Han's example 1."""
    law = Laplace(scale=10.0)
    inside = float(law.cumulative(30) - law.cumulative(-30))
    assert inside == pytest.approx(1 - math.exp(-3), abs=1e-14)
    assert inside**2 == pytest.approx(0.902905, abs=5e-7)
    assert law.tail(30) == pytest.approx(math.exp(-3))
    assert law.half_width(0.950213) == pytest.approx(30, abs=1e-3)


def test_pure_epsilon_stays_pure_in_the_tails():
    """Neighbouring counts: the ratio of probabilities never exceeds exp(1/scale), however far out."""
    law = DiscreteLaplace(scale=0.75)
    k = np.arange(-300, 300)
    ratios = law.probability(k) / law.probability(k + 1)
    assert ratios.max() <= math.exp(1 / 0.75) * (1 + 1e-12)


@pytest.mark.parametrize(
    "law",
    [
        DiscreteLaplace(scale=0.3),
        DiscreteLaplace(scale=3.7),
        DiscreteLaplace(scale=1234.5),
        DiscreteGaussian(scale=0.6),
        DiscreteGaussian(scale=55.5),
    ],
    ids=lambda law: f"{law.form}-{law.scale}",
)
def test_the_exact_path_decides_as_the_fast_one(law, monkeypatch):
    """With every draw sent to whole-number arithmetic, the same bits give the same integers."""
    source = NoiseSource.seeded(5)
    fast = law.draw(source.stream(0), 300)
    monkeypatch.setattr(exponentials, "SMALLEST_SAFE_WORD", 2**63)
    assert np.array_equal(law.draw(source.stream(0), 300), fast)


class OneWordStream(NoiseStream):
    """Gives words that a test chose, then real ones."""

    def __init__(self, words):
        super().__init__(bytes(32), 0)
        self._chosen = list(words)

    def _fill(self, destination):
        super()._fill(destination)
        for place in range(min(len(self._chosen), destination.size)):
            destination[place] = self._chosen.pop(0)


def test_a_word_on_a_boundary_is_decided_by_further_bits():
    """floor(-scale ln U) jumps inside one word; the next word says on which side U lies."""
    getcontext().prec = 60
    # The word that holds exp(-3): below the boundary the magnitude is 3, above it 2.
    boundary = Decimal(-3).exp() * 2**63
    word = int(boundary)
    rest = int((boundary - word) * 2**64)
    for further, expected in ((rest - 1, 3), (rest + 1, 2)):
        stream = OneWordStream([word << 1, further])
        assert DiscreteLaplace(scale=1.0).draw(stream, 1).tolist() == [expected]


@pytest.mark.parametrize("word", [0, 1])
def test_the_smallest_words_give_far_but_finite_draws(word):
    """U at the end of the interval is extended until its logarithm is known."""
    drawn = DiscreteLaplace(scale=1.0).draw(OneWordStream([word]), 1)
    assert 43 <= abs(int(drawn[0])) < 200 or word == 1


def test_the_largest_word_gives_zero():
    """U just below 1, where the float guess is minus something tiny."""
    assert DiscreteLaplace(scale=1.0).draw(OneWordStream([2**64 - 2]), 1).tolist() == [0]


def test_scales_are_rounded_up():
    """So that the epsilon that is really spent is never above the one promised."""
    for exact in (Fraction(1, 3), Fraction(24) / Fraction(0.1), Fraction(2)):
        rounded = Fraction(scale_at_least(exact))
        assert exact <= rounded <= exact * (1 + Fraction(1, 2**51))


@pytest.mark.parametrize("scale", [0.0, -1.0, math.inf, math.nan, 2.0**41])
def test_a_scale_out_of_bounds_is_refused(scale):
    """Zero, negative, not finite, or too large for exact guesses."""
    with pytest.raises(ParameterError, match="scale"):
        DiscreteLaplace(scale=scale)


@pytest.mark.parametrize("confidence_level", [0, 1, -0.1])
def test_a_wrong_confidence_level_is_refused(law, confidence_level):
    """Strictly between 0 and 1."""
    with pytest.raises(ParameterError, match="confidence level"):
        law.half_width(confidence_level)


def test_study_draws_are_floats_of_the_right_spread():
    """Mean size of Laplace noise is its scale; 20,000 draws are within 5 standard errors."""
    drawn = Laplace(scale=10.0).draw_for_study(NoiseSource.seeded(3).stream(0), 20_000)
    assert abs(np.abs(drawn).mean() - 10) < 5 * 10 / math.sqrt(20_000)
    assert abs(drawn.mean()) < 5 * math.sqrt(200 / 20_000)


def test_no_draws_are_an_empty_array(law):
    """Count zero."""
    assert law.draw(NoiseSource.seeded(1).stream(0), 0).shape == (0,)


def test_opendp_draws_integers_of_the_same_law():
    """Both laws, shape and type."""
    for law in (DiscreteLaplace(scale=2.0), DiscreteGaussian(scale=2.0)):
        assert draw_with_opendp(law, 5).dtype == np.int64


def test_without_opendp_the_install_command_is_said(monkeypatch):
    """The extra by name."""
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(MissingExtraError, match=r"sfumato\[opendp\]"):
        draw_with_opendp(DiscreteLaplace(scale=1.0), 1)


def test_ten_million_cells_take_less_than_two_seconds_of_processor():
    """One million here, held to a tenth of the two seconds and a margin for a busy machine."""
    started = time.process_time()
    DiscreteLaplace(scale=48.0).draw(NoiseSource.seeded(1).stream(0), 1_000_000)
    assert time.process_time() - started < 0.4
