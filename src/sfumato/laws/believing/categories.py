"""Published rows by the categories of one attribute at a time, those that were perturbed and those that were not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sfumato.chance.distortion import AxisMatrix
from sfumato.values.arrays import Floats, Integers


def perturbed_axes(matrices: Sequence[AxisMatrix]) -> tuple[int, ...]:
    """Axes of the perturbed attributes that make groups."""
    return tuple(axis for axis, each in enumerate(matrices[:-1]) if each is not None)


def by_attribute(
    published: Floats, matrices: Sequence[AxisMatrix], codes: Integers | None
) -> Iterator[tuple[Floats, list[AxisMatrix], Integers]]:
    """Rows published of each attribute's categories and the last attribute, what distorts both, and the category of every group."""
    for each in () if codes is None else codes.T:
        different, place = np.unique(each, return_inverse=True)
        counts = np.zeros((different.size, published.shape[-1]))
        np.add.at(counts, place.ravel(), published.sum(axis=tuple(range(1, published.ndim - 1))))
        yield counts, [None, matrices[-1]], place.reshape(-1, *(1 for _ in published.shape[1:-1]))
    for axis in perturbed_axes(matrices):
        others = tuple(each for each in range(published.ndim - 1) if each != axis)
        shape = [1] * (published.ndim - 1)
        shape[axis] = -1
        place = np.arange(published.shape[axis]).reshape(shape)
        yield published.sum(axis=others), [matrices[axis], matrices[-1]], place
