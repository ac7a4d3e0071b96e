"""Exponential numbers from words, decided exactly where a float leaves a doubt."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np

from sfumato.chance.randomness import NoiseStream
from sfumato.values.arrays import Floats, Integers, Words

_UNIFORM_BITS = 63
# The one bit of a word that the uniform number leaves over is the sign.
MARGIN = 2.0**-34
# A logarithm of a word is at most 44, where doubles are 2**-47 apart; its rounding, that of the
# word and that of the products after it stay below 2**-44. The margin is a thousand times that.
SMALLEST_SAFE_WORD = 2**44
# Below it the word, which is known to one unit, leaves more than 2**-45 of its logarithm open.


def minus_log(words: Words) -> Floats:
    """``-ln U`` at the middle of what each word leaves open of the uniform number U."""
    middles = words.astype(np.float64)
    middles += 0.5
    np.log(middles, out=middles)
    np.subtract(_UNIFORM_BITS * math.log(2), middles, out=middles)
    return middles


def geometric(stream: NoiseStream, words: Words, scale: float) -> Integers:
    """``floor(-scale ln U)``, which is k with probability ``(1-q) q^k`` exactly."""
    exponential = minus_log(words)
    exponential *= scale
    guesses = np.floor(exponential)
    doubt = scale * MARGIN
    distances = np.abs(exponential - np.rint(exponential))
    drawn = guesses.astype(np.int64)
    for item in np.flatnonzero((distances < doubt) | (words < SMALLEST_SAFE_WORD)):
        drawn[item] = _exact_geometric(stream, int(words[item]), Fraction(scale))
    return drawn


def _exact_geometric(stream: NoiseStream, word: int, scale: Fraction) -> int:
    """The same floor, decided on more and more bits of U until both ends of what is left agree."""
    bits = _UNIFORM_BITS
    while True:
        if word:
            # U lies between word and word + 1 over 2**bits, so -ln U between these two.
            lowest, highest = _log_bounds(word, bits)
            first = math.floor(scale * lowest)
            if first == math.floor(scale * highest):
                return first
        word, bits = (word << 64) | int(stream.words(1)[0]), bits + 64


def exceeds(stream: NoiseStream, word: int, exponent: Fraction) -> bool:
    """Whether ``-ln U`` is above an exact exponent, decided on as many bits as it takes."""
    bits = _UNIFORM_BITS
    while True:
        if word:
            lowest, highest = _log_bounds(word, bits)
            if lowest > exponent:
                return True
            if highest <= exponent:
                return False
        word, bits = (word << 64) | int(stream.words(1)[0]), bits + 64


def _log_bounds(word: int, bits: int) -> tuple[Fraction, Fraction]:
    """Rational bounds of ``-ln U`` for U between word and word + 1 over 2**bits."""
    with localcontext() as context:
        # Decimal's logarithm is correctly rounded, so one unit in the last place covers its error.
        context.prec = bits // 2 + 30
        unit = Decimal(10) ** (3 - context.prec)
        size = Decimal(2).ln() * bits
        low = size - Decimal(word + 1).ln() - unit * size
        high = size - Decimal(word).ln() + unit * size
        return max(Fraction(low), Fraction(0)), Fraction(high)
