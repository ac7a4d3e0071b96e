"""The row phase of randomized response: codes redrawn by exact whole-number probabilities."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.chance.randomness import CategorySampler, NoiseSource, NoiseStream, UniformReplacement
from sfumato.data.portions import Portion
from sfumato.values.batches import CodedBatch

Codes = npt.NDArray[np.unsignedinteger[Any]]


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
