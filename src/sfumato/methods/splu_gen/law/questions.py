"""Questions to a release of decoy rows, laid out as public combinations by values of drawn attributes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.laws.asking import codes_shown, conditions_outside, order_of, shape_of, take_codes
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
    """

    drawn: tuple[str, ...]
    codes: tuple[tuple[int, ...], ...]
    is_shown: tuple[bool, ...]
    counts: Floats
    order: Integers

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
    exact = conditions_outside(where, gammas)
    counts = take_codes(published.count_by(public + drawn, exact).counts, public, exact)
    codes = tuple(codes_shown(published.schema, tabulation, name) for name in drawn)
    laid_out = public + shown
    return DecoyQuestion(
        drawn=drawn,
        codes=codes,
        is_shown=tuple(name in shown for name in drawn),
        counts=counts.reshape(-1, *counts.shape[len(public) :]),
        order=order_of(by, laid_out, shape_of(published.schema, tabulation, laid_out)),
    )


def _collapse(counts: npt.NDArray[Any], codes: Sequence[tuple[int, ...]]) -> Floats:
    """For each category asked about, rows without and with it: ``(c, k_1, ..., k_w, 2, ..., 2)``."""
    result = np.asarray(counts, dtype=np.float64)
    for axis, chosen in enumerate(codes, start=1):
        holding = result.take(list(chosen), axis=axis)
        lacking = result.sum(axis=axis, keepdims=True) - holding
        result = np.stack([lacking, holding], axis=-1)
    return result
