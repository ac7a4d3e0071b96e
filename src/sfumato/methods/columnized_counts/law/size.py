"""How many rows, or units, the private table has: published with noise, or public anyway."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

from pydantic import Field

from sfumato.chance.noise import DiscreteLaplace, scale_at_least
from sfumato.chance.randomness import NoiseSource
from sfumato.frozen import Frozen
from sfumato.values.bounds import LARGEST_EPSILON, MOST_ROWS


class NoisyTotal(Frozen):
    """The number of rows, or units, with noise.

    One row more or less changes it by one, so that discrete Laplace noise of scale ``1 / epsilon`` costs epsilon.

    Parameters
    ----------
    count
        As published; noise can make it negative.
    epsilon
        What it costs.
    """

    count: Annotated[int, Field(ge=-MOST_ROWS, le=MOST_ROWS)]
    epsilon: Annotated[float, Field(gt=0, le=LARGEST_EPSILON)]

    @classmethod
    def draw(cls, number: int, epsilon: float, noise: NoiseSource) -> NoisyTotal:
        """The total of a table of so many rows."""
        drawn = cls(count=0, epsilon=epsilon).noise.draw(noise.stream(0), 1)
        return cls(count=number + int(drawn[0]), epsilon=epsilon)

    @property
    def noise(self) -> DiscreteLaplace:
        """Of the count."""
        return DiscreteLaplace(scale=scale_at_least(1 / Fraction(self.epsilon)))
