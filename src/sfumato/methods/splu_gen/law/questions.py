"""Questions to a release of decoy rows, laid out as public combinations by values of drawn attributes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.laws.base import Published
from sfumato.values.arrays import Floats, Integers
from sfumato.values.selection import Selection, Tabulation


@dataclass(frozen=True, eq=False)
class DecoyQuestion:
    """The published counts that a tabulation needs.

    Parameters
    ----------
    drawn
        Drawn attributes that the tabulation involves: those it shows first, then those it conditions on.
    codes
        For each drawn attribute the categories asked about.
    is_shown
        For each drawn attribute, whether its categories are cells (else they are summed).
    counts
        Published rows, ``(public combinations, values of drawn[0], values of drawn[1], ...)``.
    order
        Place, among public combinations by shown categories, of each cell as the tabulation orders them.
    number_of_rows
        All published rows.
    is_whole_table
        No public attribute is involved.
    """

    drawn: tuple[str, ...]
    codes: tuple[tuple[int, ...], ...]
    is_shown: tuple[bool, ...]
    counts: Floats
    order: Integers
    number_of_rows: int
    is_whole_table: bool

    @property
    def weights(self) -> Floats:
        """Which sums over the only drawn attribute's values are asked for, ``(values, sums)``."""
        chosen = np.eye(self.counts.shape[1])[:, list(self.codes[0])]
        return chosen if self.is_shown[0] else chosen.sum(axis=1, keepdims=True)

    def states(self, published: Published) -> Floats:
        """Rows outside and inside each public combination, without and with each category asked about.

        Returns
        -------
        numpy.ndarray
            ``(cells, 2, 2, ...)``: an axis for the public combination, then one for each drawn attribute.

        Raises
        ------
        ParameterError
            When several categories of an attribute are to be summed; this form knows one at a time.
        """
        for name, codes, shown in zip(self.drawn, self.codes, self.is_shown, strict=True):
            if not shown and len(codes) != 1:
                raise ParameterError(
                    f"this estimator answers for one category of {name!r} at a time, got {len(codes)}. "
                    "Tabulate over it, or leave the estimator out.",
                    parameter="estimator",
                )
        everyone = np.asarray(published.count_by(self.drawn, Selection()).counts, dtype=np.float64)
        inside = _collapse(self.counts, self.codes)
        outside = _collapse(everyone[None], self.codes) - inside
        both = np.stack([outside, inside], axis=len(self.drawn) + 1)
        cells = math.prod(both.shape[: len(self.drawn) + 1])
        return both.reshape(cells, *(2,) * (len(self.drawn) + 1))


def ask(published: Published, tabulation: Tabulation, gammas: Mapping[str, int]) -> DecoyQuestion:
    """Count what a tabulation needs; conditions on drawn attributes are about the truth and do not filter."""
    by, where = tabulation.by, tabulation.where
    public = tuple(name for name in by if name not in gammas)
    shown = tuple(name for name in by if name in gammas)
    drawn = shown + tuple(name for name in where.names if name in gammas and name not in by)
    exact = Selection(tuple(each for each in where.conditions if each[0] not in gammas))
    table = published.count_by(public + drawn, exact)
    counts = np.asarray(table.counts, dtype=np.float64)
    for axis, name in enumerate(public):
        if (chosen := where.codes(name)) is not None:
            counts = counts.take(list(chosen), axis=axis)
    sizes = dict(zip(table.names, table.counts.shape, strict=True))
    codes = tuple(
        tuple(range(sizes[name])) if (chosen := where.codes(name)) is None else chosen for name in drawn
    )
    public_shape = counts.shape[: len(public)]
    shape = public_shape + tuple(len(each) for each in codes[: len(shown)])
    return DecoyQuestion(
        drawn=drawn,
        codes=codes,
        is_shown=tuple(name in shown for name in drawn),
        counts=counts.reshape(math.prod(public_shape), *counts.shape[len(public) :]),
        order=_order(by, public + shown, shape),
        number_of_rows=published.number_of_rows,
        is_whole_table=not public and not exact.conditions,
    )


def _order(by: Sequence[str], laid_out: Sequence[str], shape: Sequence[int]) -> Integers:
    places = np.arange(math.prod(shape)).reshape(shape)
    return places.transpose([laid_out.index(name) for name in by]).ravel()


def _collapse(counts: npt.NDArray[Any], codes: Sequence[tuple[int, ...]]) -> Floats:
    """For each category asked about, rows without and with it: ``(c, k_1, ..., k_w, 2, ..., 2)``."""
    result = np.asarray(counts, dtype=np.float64)
    for axis, chosen in enumerate(codes, start=1):
        holding = result.take(list(chosen), axis=axis)
        lacking = result.sum(axis=axis, keepdims=True) - holding
        result = np.stack([lacking, holding], axis=-1)
    return result
