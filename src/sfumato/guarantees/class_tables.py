"""Rows of classes by a watched value: the combinations that occur, or a count for each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.values.arrays import Integers
from sfumato.values.parts import in_parts

CELLS_AT_ONCE = 4_000_000
"""Counts over (class, value) held at a time while a release is judged."""


class ClassCounts:
    """Rows of classes by a watched value, kept as the combinations that occur.

    Parameters
    ----------
    classes
        ``(combinations,)``: number of the class, from 0 on.
    values
        ``(combinations,)``: code of the watched value, below ``size``.
    counts
        ``(combinations,)`` rows.
    size
        Number of values.

    Examples
    --------
    >>> some = ClassCounts(np.array([0, 1, 1]), np.array([1, 0, 1]), np.array([5, 2, 3]), 2)
    >>> [part.tolist() for part in some.parts()], some.overall.tolist()
    ([[[0, 5], [2, 3]]], [2, 8])
    """

    def __init__(self, classes: Integers, values: Integers, counts: Integers, size: int) -> None:
        if np.any(classes[1:] < classes[:-1]):
            order = np.argsort(classes, kind="stable")
            classes, values, counts = classes[order], values[order], counts[order]
        self.classes, self.values, self.counts = classes, values, counts
        self.size = size
        self.number_of_classes = int(self.classes[-1]) + 1 if len(classes) else 0
        self.overall: Integers = np.bincount(self.values, weights=self.counts, minlength=size).astype(
            np.int64
        )

    def parts(self) -> Iterator[Integers]:
        """Dense counts ``(classes, values)`` of some classes at a time."""
        for part in in_parts(self.number_of_classes, each=self.size, at_once=CELLS_AT_ONCE):
            number = part.stop - part.start
            inside = slice(*np.searchsorted(self.classes, (part.start, part.stop)))
            cells = (self.classes[inside] - part.start) * self.size + self.values[inside]
            counted = np.bincount(cells, weights=self.counts[inside], minlength=number * self.size)
            yield counted.reshape(number, self.size).astype(np.int64)

    def packed_parts(self) -> Iterator[Integers]:
        """Counts of the values that occur in each class, in any order and filled up by zeros; some classes at a time.

        What a hundred thousand values come to: a class of five rows has five of them at most.

        Examples
        --------
        >>> some = ClassCounts(np.array([0, 1, 1]), np.array([7_000, 0, 1]), np.array([5, 2, 3]), 10_000)
        >>> [part.tolist() for part in some.packed_parts()]
        [[[5, 0], [2, 3]]]
        """
        lengths = np.bincount(self.classes, minlength=self.number_of_classes)
        starts = np.cumsum(lengths) - lengths
        width = int(lengths.max(initial=1))
        for part in in_parts(self.number_of_classes, each=width, at_once=CELLS_AT_ONCE):
            inside = slice(*np.searchsorted(self.classes, (part.start, part.stop)))
            classes = self.classes[inside]
            packed = np.zeros((part.stop - part.start, width), np.int64)
            place = np.arange(inside.start, inside.stop) - starts[classes]
            packed[classes - part.start, place] = self.counts[inside]
            yield packed


class DenseClassCounts:
    """The same where most combinations occur: one count for each, in few bytes.

    Parameters
    ----------
    cells
        ``(classes * size,)`` counts; classes that no row has may be among them.
    size
        Number of values.

    Examples
    --------
    >>> some = DenseClassCounts(np.array([0, 5, 0, 0, 2, 3], np.uint8), 2)
    >>> [part.tolist() for part in some.parts()], some.overall.tolist(), some.number_of_classes
    ([[[0, 5], [2, 3]]], [2, 8], 2)
    """

    def __init__(self, cells: npt.NDArray[np.unsignedinteger[Any]], size: int) -> None:
        self.size = size
        self._cells = cells[: cells.size // size * size].reshape(-1, size)
        self.overall: Integers = self._cells.sum(axis=0, dtype=np.int64)
        self.number_of_classes = sum(len(each) for each in self._occupied())

    def parts(self) -> Iterator[Integers]:
        """Dense counts ``(classes, values)`` of some classes at a time."""
        return (each.astype(np.int64) for each in self._occupied())

    packed_parts = parts

    def _occupied(self) -> Iterator[npt.NDArray[np.unsignedinteger[Any]]]:
        for part in in_parts(len(self._cells), each=self.size, at_once=CELLS_AT_ONCE):
            cells = self._cells[part.start : part.stop]
            yield cells[cells.any(axis=1)]


AnyClassCounts = ClassCounts | DenseClassCounts
