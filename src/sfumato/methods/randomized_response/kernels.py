"""The row phase of randomized response: codes randomized by exact whole-number probabilities."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.arrays import Integers
from sfumato.data.chunks import CodedBatch, Portion
from sfumato.randomness.streams import CategorySampler, NoiseSource, NoiseStream, UniformReplacement

Codes = npt.NDArray[np.unsignedinteger[Any]]

CELLS_AT_ONCE = 2**23
"""Cells of the wide table of units by items that are redrawn at a time."""


@dataclass(frozen=True, eq=False)
class RedrawCodes:
    """Redraws the chosen attributes of every row, by itself and independently of everything else.

    Parameters
    ----------
    kernels
        Attribute to the probabilities that are really drawn.
    """

    kernels: dict[str, UniformReplacement | CategorySampler]

    def __call__(
        self, batches: Iterator[CodedBatch], portion: Portion[None], noise: NoiseSource
    ) -> Iterator[CodedBatch]:
        """The same rows with the chosen attributes redrawn."""
        for number, batch in enumerate(batches):
            codes = dict(batch.codes)
            for name, kernel in self.kernels.items():
                # A source for each attribute and a stream for each batch: no bit is used twice.
                stream = noise.named(f"perturb {name}").stream(portion.stream_number(number))
                codes[name] = _redraw(stream, codes[name], kernel)
            yield CodedBatch(codes, batch.number_of_rows)


def _redraw(stream: NoiseStream, codes: Codes, kernel: UniformReplacement | CategorySampler) -> Codes:
    if isinstance(kernel, UniformReplacement):
        return stream.perturb_uniformly(codes, kernel)
    return stream.categories(kernel, codes).astype(codes.dtype, copy=False)


@dataclass(frozen=True, eq=False)
class RedrawItems:
    """Redraws what every unit has of every item, those that it lacks included. Holds private rows.

    Parameters
    ----------
    ends
        ``(units,)``; the entries of unit u are those from ``ends[u - 1]`` up to ``ends[u]``.
    items, codes
        ``(entries,)``: the item, and what the unit has of it, from 1 on.
    number_of_items
        Of all that there are.
    kernel
        The probabilities that are really drawn; code 0 is that a unit lacks an item.
    """

    ends: Integers
    items: Codes
    codes: Codes
    number_of_items: int
    kernel: UniformReplacement | CategorySampler

    def batches(self, noise: NoiseSource) -> Iterator[tuple[Integers, Codes, Codes]]:
        """Number, item and code of every cell that is not empty after redrawing, units by their numbers.

        Units are numbered by a random order, so that neither number nor order says which one it is.
        """
        units = self.ends.size
        order = noise.named("numbers of units").stream(0).permutation(units)
        starts = np.concatenate([[0], self.ends[:-1]])
        at_once = max(CELLS_AT_ONCE // self.number_of_items, 1)
        for number, first in enumerate(range(0, units, at_once)):
            chosen = order[first : first + at_once]
            sizes = self.ends[chosen] - starts[chosen]
            row = np.repeat(np.arange(chosen.size), sizes)
            # Places of the entries of the chosen units: the start of each, and on from there.
            before = np.cumsum(sizes) - sizes
            entry = np.arange(row.size) + np.repeat(starts[chosen] - before, sizes)
            cells = np.zeros(chosen.size * self.number_of_items, self.codes.dtype)
            cells[row * self.number_of_items + self.items[entry]] = self.codes[entry]
            drawn = _redraw(noise.named("perturb items").stream(number), cells, self.kernel)
            filled = np.flatnonzero(drawn)
            unit, item = np.divmod(filled, self.number_of_items)
            yield unit + first, item, drawn[filled]
