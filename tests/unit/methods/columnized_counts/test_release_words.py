"""The words that release a row: what the paper asks of them, on the safe side of every exponential, and draws by them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from sfumato.methods.columnized_counts import noisy_counts as noisy_count_matrix
from sfumato.methods.columnized_counts.noisy_counts import NoisyCountMatrix, _release_words, certify_words
from sfumato.randomness.streams import NUMBER_OF_WORDS, NoiseSource

WORD = NUMBER_OF_WORDS


@pytest.mark.parametrize(
    ("words", "delta", "holds"),
    [
        # At epsilon 2 and exponent 1/4 the noise has a rate of 1/2, so chances may grow by exp(1.5) = 4.48 a step.
        ([WORD // 4], 0.25, True),
        ([WORD // 4 + 1], 0.25, False),
        ([1, 1], 0.25, True),
        ([1, 4], 0.25, True),
        ([1, 5], 0.25, False),
        ([2, 1], 0.25, False),
        ([0, 0], 0.25, False),
        # What is left out may not fall below exp(-2) = 0.1353 of what it was.
        ([WORD // 4, WORD - WORD // 8], 0.25, True),
        ([WORD // 4, WORD - WORD // 10], 0.25, False),
        ([WORD - WORD // 8], 1.0, False),
        ([WORD - WORD // 7], 1.0, True),
    ],
)
def test_words_hold_what_the_paper_asks_of_them(words, delta, holds):
    """Growth, fall and what is left out at their edges."""
    assert certify_words(words, 2.0, delta, 0.25).holds is holds


def test_the_worst_ratios_of_words_by_hand():
    """Doubled at a rate of 1/2: ln 2 + 1/2 up, ln 2 - 1/2 down; left out 15/16 and then 7/8 of all, then nothing."""
    found = certify_words([WORD // 16, WORD // 8, WORD], 2.0, 0.25, 0.25)
    assert found.worst_up == pytest.approx(math.log(8) + 0.5)
    assert found.worst_down == pytest.approx(math.log(2) - 0.5)
    assert found.worst_left_out == pytest.approx(math.log(14 / 15))
    assert (found.unsafe_mass, found.rows) == (1 / 16, 3)
    # Released always, and then not: nothing is left out of the first to be compared with.
    assert certify_words([WORD, WORD // 2], 2.0, 1.0, 0.25).worst_left_out == 0


def test_draws_row_by_row():
    """A word below the chance of its count releases a row; what is released takes one noise after the other and is cut at k."""
    matrix = NoisyCountMatrix(k=3, epsilon=1.0, delta=0.2)
    true = np.random.default_rng(0).integers(0, 9, 300)
    chances = {**dict.fromkeys(range(3), 0), **dict(enumerate(matrix.words(), start=3))}
    words = NoiseSource.seeded(7).named("release").stream(0).words(true.size).tolist()
    released = [word < chances[count] for count, word in zip(true.tolist(), words, strict=True)]
    noise = iter(matrix.noise.draw(NoiseSource.seeded(7).named("count").stream(0), sum(released)).tolist())
    expected = [
        max(count + next(noise), 3) if is_released else 0
        for count, is_released in zip(true.tolist(), released, strict=True)
    ]
    assert matrix.draw(true, NoiseSource.seeded(7)).tolist() == expected


def test_the_smallest_word_releases_no_row_below_k():
    """One word in 2**64 is 0: a unique row would be published once in so many draws."""

    class Lowest:
        def named(self, name):
            return NoiseSource.seeded(0).named(name) if name == "count" else self

        def stream(self, number):
            del number
            return self

        def words(self, number):
            return np.zeros(number, np.uint64)

    matrix = NoisyCountMatrix(k=3, epsilon=1.0, delta=0.2)
    assert (matrix.draw([0, 1, 2, 3, 4], Lowest()) > 0).tolist() == [False, False, False, True, True]


@pytest.fixture
def far_apart(monkeypatch):
    """Bounds that are nowhere near: of growth 2 and 3, of shrinking a quarter and a half."""

    def bounds(exponent):
        return (Fraction(2), Fraction(3)) if exponent > 0 else (Fraction(1, 4), Fraction(1, 2))

    monkeypatch.setattr(noisy_count_matrix, "_exp_bounds", bounds)


@pytest.mark.usefixtures("far_apart")
@pytest.mark.parametrize(
    ("words", "holds"),
    [
        # Chances may double, and not grow by a word more, though a larger bound would allow it.
        ([WORD // 8, WORD // 4], True),
        ([WORD // 8, WORD // 4 + 1], False),
        # What is left out may halve, and not fall by a word more, though a smaller bound would allow it.
        ([WORD // 2, 3 * WORD // 4], True),
        ([WORD // 2, 3 * WORD // 4 + 1], False),
        ([WORD // 2 + 1], False),
    ],
)
def test_a_certificate_is_on_the_safe_side_of_every_exponential(words, holds):
    """Equal to the bound is within it."""
    assert certify_words(words, 1.0, 1.0).holds is holds


@pytest.mark.usefixtures("far_apart")
def test_words_are_on_the_safe_side_of_every_exponential():
    """From an eighth of all words: doubled twice, then half of what is left out stays so, rounded up, until one word is left out."""
    words = _release_words.__wrapped__(1.0, 0.125, 0.5)
    assert words[:5] == (WORD // 8, WORD // 4, WORD // 2, 3 * WORD // 4, 7 * WORD // 8)
    assert words[-1] == WORD - 1
