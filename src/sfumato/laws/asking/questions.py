"""Taking a tabulation apart: what filters, what is an axis, which codes are shown, in which order."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.errors import TooLargeError
from sfumato.values.arrays import Booleans, Floats, Integers
from sfumato.values.counts import LARGEST_TABLE
from sfumato.values.mixed_radix import MixedRadix
from sfumato.values.schema import Schema
from sfumato.values.selection import Selection, Tabulation


def names_of(asked: Iterable[Tabulation]) -> tuple[str, ...]:
    """Every attribute that is shown or conditioned on, once; those of a tabulation's axes first.

    Examples
    --------
    >>> names_of([Tabulation(by=("job",), where=Selection((("sex", (0,)),)))])
    ('job', 'sex')
    """
    return tuple(dict.fromkeys(name for each in asked for name in (*each.by, *each.where.names)))


def binding(tabulation: Tabulation, schema: Schema) -> Tabulation:
    """The same question without conditions that every category satisfies, which say nothing."""
    return Tabulation(tabulation.by, tabulation.where.binding(schema))


def conditions_on(where: Selection, names: Container[str]) -> Selection:
    """The conditions of a selection on these attributes."""
    return Selection(tuple(each for each in where.conditions if each[0] in names))


def conditions_outside(where: Selection, names: Container[str]) -> Selection:
    """The conditions of a selection on all other attributes."""
    return Selection(tuple(each for each in where.conditions if each[0] not in names))


def common_conditions(asked: Sequence[Tabulation], is_exact: Callable[[str], bool]) -> Selection:
    """What all ask alike of attributes that were published as they are.

    Such conditions may filter the published rows; tabulated, they could outgrow memory. A condition on a
    distorted attribute may not: it is about the truth, so its axis is kept.

    Examples
    --------
    >>> both = [Tabulation(where=Selection((("sex", (0,)), ("job", (1,))))), Tabulation(where=Selection((("sex", (0,)),)))]
    >>> common_conditions(both, lambda name: True).names
    ('sex',)
    """
    first = asked[0].where.conditions if asked else ()
    return Selection(
        tuple(
            (name, codes)
            for name, codes in first
            if is_exact(name) and all(each.where.codes(name) == codes for each in asked)
        )
    )


def codes_shown(schema: Schema, tabulation: Tabulation, name: str) -> tuple[int, ...]:
    """Codes of an attribute that a tabulation asks about, in order: those chosen, else all."""
    chosen = tabulation.where.codes(name)
    return tuple(range(schema[name].size)) if chosen is None else chosen


def shape_of(schema: Schema, tabulation: Tabulation, names: Sequence[str] | None = None) -> tuple[int, ...]:
    """Cells along each axis of a tabulation, or along some of them."""
    shown = tabulation.by if names is None else names
    return tuple(len(codes_shown(schema, tabulation, name)) for name in shown)


def indicator(size: int, codes: Sequence[int] | None) -> Floats:
    """1 for the chosen categories, for all when none are named, ``(size,)``.

    Examples
    --------
    >>> indicator(3, (0, 2)).tolist()
    [1.0, 0.0, 1.0]
    """
    if codes is None:
        return np.ones(size)
    result = np.zeros(size)
    result[list(codes)] = 1
    return result


def take_codes(counts: npt.NDArray[Any], names: Sequence[str], where: Selection) -> Floats:
    """Counts with one axis for each name, cut to the codes that a selection leaves of each."""
    result = np.asarray(counts, dtype=np.float64)
    for axis, name in enumerate(names):
        chosen = where.codes(name)
        if chosen is not None:
            result = result.take(list(chosen), axis=axis)
    return result


def order_of(by: Sequence[str], laid_out: Sequence[str], shape: Sequence[int]) -> Integers:
    """Where each cell of a tabulation stands among cells whose axes come in another order.

    Parameters
    ----------
    by
        The order asked for.
    laid_out, shape
        The order at hand and the cells along each axis; a last axis without a name stays last.

    Examples
    --------
    >>> order_of(("job", "sex"), ("sex", "job"), (2, 3)).tolist()
    [0, 3, 1, 4, 2, 5]
    """
    places = np.arange(math.prod(shape)).reshape(shape)
    axes = [laid_out.index(name) for name in by]
    return places.transpose([*axes, *range(len(laid_out), places.ndim)]).ravel()


def satisfying(codes: Mapping[str, npt.NDArray[Any]], where: Selection, number: int) -> Booleans:
    """Which of so many combinations, given by their codes, satisfy a selection, ``(number,)``."""
    result = np.ones(number, dtype=bool)
    for name, chosen in where.conditions:
        result &= np.isin(codes[name], chosen)
    return result


def cell_of(
    codes: Mapping[str, npt.NDArray[Any]], axes: Mapping[str, Sequence[int]], is_selected: Booleans
) -> Integers:
    """Flat index, over the product of the axes' codes, of the cell that each selected combination falls in."""
    if not axes:
        return np.zeros(int(np.count_nonzero(is_selected)), dtype=np.int64)
    places = [np.searchsorted(shown, codes[name][is_selected]) for name, shown in axes.items()]
    return MixedRadix([len(shown) for shown in axes.values()]).encode(places)


def require_small(sizes: Sequence[int], names: Sequence[str]) -> None:
    """Refuse a table that would not fit in memory."""
    cells = math.prod(sizes)
    if cells > LARGEST_TABLE:
        raise TooLargeError(
            f"a table over {', '.join(names)} has {cells:,} cells; at most {LARGEST_TABLE:,} fit. "
            "Ask for fewer attributes, or condition on some of them instead of tabulating them."
        )
