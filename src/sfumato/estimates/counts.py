"""Tables of counts, and their consistent versions: non-negative and adding up."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from sfumato.arrays import Floats, Integers, MixedRadix
from sfumato.errors import ParameterError, QueryError, TooLargeError, nearest
from sfumato.schema import Attribute

# --------------------------------------------------------------------------------------------------
# Counts over the product of some attributes' categories.


LARGEST_TABLE = 100_000_000
"""Cells that a dense table may have: 800 MB of counts."""


@dataclass(frozen=True, eq=False)
class CountTable:
    """Counts over the full product of categories, zeros included.

    Parameters
    ----------
    attributes
        One for each axis, in order.
    counts
        ``(attributes[0].size, attributes[1].size, ...)``; a scalar array when there are none.

    Examples
    --------
    >>> from sfumato.schema import Attribute, Role
    >>> sex = Attribute(name="sex", role=Role.OTHER, categories=("F", "M"))
    >>> job = Attribute(name="job", role=Role.SENSITIVE, categories=("a", "b", "c"))
    >>> table = CountTable((sex, job), np.array([[1, 2, 3], [4, 5, 6]]))
    >>> table.project(["job"]).counts.tolist()
    [5, 7, 9]
    """

    attributes: tuple[Attribute, ...]
    counts: npt.NDArray[Any]

    def __post_init__(self) -> None:
        expected = tuple(each.size for each in self.attributes)
        if self.counts.shape != expected:
            raise ValueError(f"counts have shape {self.counts.shape}, the attributes ask for {expected}.")
        if len(set(self.names)) != len(self.names):
            raise QueryError("a table has one axis for each attribute. Name each attribute once.")
        if self.counts.flags.writeable or self.counts.base is not None:
            # Nobody else may change what the table holds, nor find their own array frozen.
            counts = np.array(self.counts)
            counts.flags.writeable = False
            object.__setattr__(self, "counts", counts)

    def __repr__(self) -> str:
        names = ", ".join(each.name for each in self.attributes)
        return f"CountTable({names}: {self.counts.size} cells)"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the attributes, one for each axis."""
        return tuple(each.name for each in self.attributes)

    @property
    def total(self) -> float:
        """Sum over all cells."""
        return float(self.counts.sum())

    def axis_of(self, name: str) -> int:
        """Axis of an attribute."""
        if name not in self.names:
            raise QueryError(f"the table has no attribute {name!r}; {nearest(name, self.names)}")
        return self.names.index(name)

    def project(self, names: Sequence[str]) -> CountTable:
        """Sum out every attribute not named; axes come in the order asked for."""
        kept = [self.axis_of(name) for name in names]
        if len(set(kept)) != len(kept):
            raise QueryError("a table has one axis for each attribute. Name each attribute once.")
        gone = tuple(axis for axis in range(self.counts.ndim) if axis not in kept)
        summed = np.asarray(self.counts.sum(axis=gone) if gone else self.counts)
        remaining = sorted(kept)
        order = [remaining.index(axis) for axis in kept]
        return CountTable(tuple(self.attributes[axis] for axis in kept), summed.transpose(order))

    def condition(self, name: str, codes: Iterable[int]) -> CountTable:
        """Keep the rows whose attribute has one of the codes, and sum the attribute out."""
        axis = self.axis_of(name)
        summed = self.counts.take(_codes(codes, self.attributes[axis]), axis=axis).sum(axis=axis)
        rest = self.attributes[:axis] + self.attributes[axis + 1 :]
        return CountTable(rest, np.asarray(summed))

    def merge(self, name: str, merged: Attribute, code_of: Sequence[int]) -> CountTable:
        """Replace an attribute by a coarser one; ``code_of[old]`` is the new code."""
        axis = self.axis_of(name)
        moved = np.moveaxis(self.counts, axis, 0)
        result = np.zeros((merged.size, *moved.shape[1:]), dtype=self.counts.dtype)
        _codes(code_of, merged)
        np.add.at(result, np.asarray(code_of), moved)
        attributes = (*self.attributes[:axis], merged, *self.attributes[axis + 1 :])
        return CountTable(attributes, np.moveaxis(result, 0, axis))


@dataclass(frozen=True, eq=False)
class OccupiedCounts:
    """Counts of the combinations that occur, where the full product would be far too large.

    Parameters
    ----------
    attributes
        What the combinations are over.
    codes
        For each attribute, ``(number of combinations,)``.
    counts
        ``(number of combinations,)``, none of them zero; in no particular order.
    """

    attributes: tuple[Attribute, ...]
    codes: tuple[npt.NDArray[Any], ...]
    counts: Integers

    def __post_init__(self) -> None:
        if any(each.shape != self.counts.shape for each in self.codes) or self.counts.ndim != 1:
            raise ValueError("codes and counts must be vectors of one length.")

    def __repr__(self) -> str:
        names = ", ".join(each.name for each in self.attributes)
        return f"OccupiedCounts({names}: {self.counts.size} combinations)"

    @classmethod
    def of_rows(cls, attributes: Sequence[Attribute], columns: Sequence[npt.NDArray[Any]]) -> OccupiedCounts:
        """How many rows each combination has that occurs in them.

        Parameters
        ----------
        attributes
            At least one.
        columns
            The rows' codes of each, ``(rows,)``.

        Examples
        --------
        >>> from sfumato.schema import Attribute, Role
        >>> job = Attribute(name="job", role=Role.SENSITIVE, categories=("a", "b", "c"))
        >>> some = OccupiedCounts.of_rows([job], [np.array([2, 0, 2], np.uint8)])
        >>> some.codes[0].tolist(), some.counts.tolist()
        ([0, 2], [1, 2])
        """
        try:
            radix = MixedRadix([each.size for each in attributes])
        except TooLargeError:
            numbers = numbers_of_rows(attributes, columns)
            _, first, counts = np.unique(numbers, return_index=True, return_counts=True)
            return cls(tuple(attributes), tuple(each[first] for each in columns), counts)
        # What occurs is read off the numbers themselves: sorting them alone takes half the time of finding rows, and short
        # ones half of that.
        short = np.min_scalar_type(radix.combinations)
        keys, counts = np.unique(radix.encode(columns).astype(short, copy=False), return_counts=True)
        codes = (
            code.astype(each.code_type)
            for each, code in zip(attributes, radix.decode(keys.astype(np.int64)), strict=True)
        )
        return cls(tuple(attributes), tuple(codes), counts)

    def codes_of(self, name: str) -> npt.NDArray[Any]:
        """Code of one attribute in every combination."""
        names = [each.name for each in self.attributes]
        if name not in names:
            raise QueryError(f"the counts have no attribute {name!r}; {nearest(name, names)}")
        return self.codes[names.index(name)]

    def sizes(self) -> dict[int, int]:
        """How many combinations there are of each number of rows."""
        return dict(sorted(Counter(self.counts.tolist()).items()))

    def diversity(self, names: Sequence[str]) -> dict[tuple[int, int], int]:
        """How many groups equal on some attributes there are of each size and number of different combinations in them."""
        group = self.numbered(names)
        sizes = np.bincount(group, weights=self.counts).astype(np.int64).tolist()
        return dict(sorted(Counter(zip(sizes, np.bincount(group).tolist(), strict=True)).items()))

    def numbered(self, names: Sequence[str]) -> Integers:
        """Number of each combination's part over some attributes: equal parts have equal numbers, from 0 on.

        Examples
        --------
        >>> from sfumato.schema import Attribute, Role
        >>> sex = Attribute(name="sex", role=Role.OTHER, categories=("F", "M"))
        >>> job = Attribute(name="job", role=Role.SENSITIVE, categories=("a", "b", "c"))
        >>> some = OccupiedCounts((sex, job), (np.array([1, 1, 0]), np.array([2, 0, 0])), np.array([5, 1, 7]))
        >>> some.numbered(["sex"]).tolist()
        [1, 1, 0]
        """
        numbers = np.zeros(self.counts.size, dtype=np.int64)
        for name in names:
            # Numbered anew for each attribute: the product of all their sizes may not fit 64 bits.
            keys = numbers * (int(self.codes_of(name).max(initial=0)) + 1) + self.codes_of(name)
            numbers = np.unique(keys, return_inverse=True)[1]
        return numbers


def empty_counts(attributes: Sequence[Attribute]) -> Integers:
    """Zero counts over the product, refused when they would not fit in memory."""
    cells = math.prod(each.size for each in attributes)
    if cells > LARGEST_TABLE:
        names = ", ".join(each.name for each in attributes)
        raise TooLargeError(
            f"a table over {names} has {cells:,} cells; at most {LARGEST_TABLE:,} fit. "
            "Ask for fewer attributes, or condition on some of them instead of tabulating them."
        )
    return np.zeros([each.size for each in attributes], dtype=np.int64)


def _codes(codes: Iterable[int], attribute: Attribute) -> list[int]:
    """The different codes in order; a negative one would silently count from the end."""
    chosen = sorted(set(codes))
    if chosen and not 0 <= chosen[0] <= chosen[-1] < attribute.size:
        raise QueryError(
            f"codes of attribute {attribute.name!r} run from 0 to {attribute.size - 1}, got {chosen[0]} to {chosen[-1]}."
        )
    return chosen


def numbers_of_rows(attributes: Sequence[Attribute], columns: Sequence[npt.NDArray[Any]]) -> Integers:
    """A number for each row, the same for rows that are equal on the attributes, of which there is one at least."""
    try:
        return MixedRadix([each.size for each in attributes]).encode(columns)
    except TooLargeError:
        every_row = OccupiedCounts(
            tuple(attributes), tuple(columns), np.ones(columns[0].size, dtype=np.int64)
        )
        return every_row.numbered([each.name for each in attributes])


# --------------------------------------------------------------------------------------------------
# Estimates made feasible: not negative, and adding up to what is known.


Feasibility = Literal["projection", "clip", "em"]
"""How estimates are made feasible: nearest non-negative ones with the same sum (``projection``), negatives cut
and the rest scaled to the same sum (``clip``), or the most likely ones by expectation-maximization (``em``)."""

LARGEST_NUMBER_OF_STEPS = 10_000
"""Steps after which expectation-maximization stops, converged or not."""


def project_to_simplex(values: Floats, totals: Floats, variances: Floats | None = None) -> Floats:
    """Nearest non-negative vectors with given sums.

    Parameters
    ----------
    values
        ``(groups, n)``; each row is projected on its own.
    totals
        ``(groups,)``, not negative.
    variances
        ``(n,)`` or ``(groups, n)``, positive: distance is in units of these, so that what is known well moves little; all alike when None.

    Returns
    -------
    numpy.ndarray
        ``(groups, n)``.

    Notes
    -----
    The projection takes a multiple of the variances from the entries of a row and cuts at zero; that multiple comes
    from the entries sorted by their ratio to the variances.

    Examples
    --------
    >>> project_to_simplex(np.array([[11.0, -1.0]]), np.array([10.0])).tolist()
    [[10.0, 0.0]]

    What is four times as uncertain gives way four times as much.

    >>> project_to_simplex(np.array([[8.0, 12.0]]), np.array([10.0]), np.array([1.0, 4.0])).tolist()
    [[6.0, 4.0]]
    """
    steps = np.broadcast_to(1.0 if variances is None else variances, values.shape)
    ratios = values / steps
    order = np.argsort(-ratios, axis=1, kind="stable")
    descending = np.take_along_axis(ratios, order, axis=1)
    excess = np.cumsum(np.take_along_axis(values, order, axis=1), axis=1) - totals[:, None]
    taken = np.cumsum(np.take_along_axis(steps, order, axis=1), axis=1)
    # The largest rank at which the entry still exceeds what is taken from it; rank 1 always does
    # unless the total is zero, where every entry is cut.
    last = np.maximum(np.sum(descending * taken > excess, axis=1), 1) - 1
    rows = np.arange(len(values))
    multiple = excess[rows, last] / taken[rows, last]
    return np.asarray(np.clip(values - multiple[:, None] * steps, 0, None))


def clip_to_totals(values: Floats, totals: Floats) -> Floats:
    """Negative entries cut at zero, the others of their row scaled to a given sum.

    Parameters
    ----------
    values
        ``(groups, n)``.
    totals
        ``(groups,)``, not negative. Where no entry is positive, the total is spread evenly.

    Returns
    -------
    numpy.ndarray
        ``(groups, n)``.

    Examples
    --------
    >>> clip_to_totals(np.array([[12.0, -2.0, 4.0]]), np.array([8.0])).tolist()
    [[6.0, 0.0, 2.0]]
    """
    positive = np.clip(values, 0, None)
    sums = positive.sum(axis=1)
    positive[sums == 0] = 1
    return np.asarray(positive * (totals / positive.sum(axis=1))[:, None])


def rake(cells: Floats, row_totals: Floats, column_totals: Floats, *, rounds: int = 1_000) -> Floats:
    """Non-negative cells scaled until they add up to both margins.

    Parameters
    ----------
    cells
        ``(rows, columns)``, not negative.
    row_totals, column_totals
        The margins; their sums are equal.
    rounds
        After which it is left at that.

    Examples
    --------
    >>> rake(np.array([[1.0, 1.0], [0.0, 2.0]]), np.array([2.0, 2.0]), np.array([1.0, 3.0])).round(6).tolist()
    [[1.0, 1.0], [0.0, 2.0]]
    """
    # An empty cell stays empty for ever, and then the margins may not fit; a grain keeps it open.
    grain = 1e-9 * np.outer(row_totals, column_totals > 0)
    fitted = np.maximum(cells, grain)
    for _ in itertools.repeat(None, rounds):
        fitted = fitted * _factors(row_totals, fitted.sum(axis=1))[:, np.newaxis]
        columns = fitted.sum(axis=0)
        if np.abs(columns - column_totals).max() <= 1e-9 * column_totals.sum():
            break
        fitted = fitted * _factors(column_totals, columns)
    return fitted


def _factors(wanted: Floats, given: Floats) -> Floats:
    # Where nothing is given nothing is wanted.
    return np.asarray(wanted / np.maximum(given, np.finfo(np.float64).tiny))


def most_likely(
    published: Floats,
    expect: Callable[[Floats], Floats],
    pull_back: Callable[[Floats], Floats],
    start: Floats,
    *,
    tolerance: float = 1e-7,
) -> Floats:
    """True counts under which the published ones are most likely, by expectation-maximization.

    Where the unbiased estimates are all positive they are the most likely ones too; where some are
    negative, these are not. Every step keeps the total and raises the likelihood.

    Parameters
    ----------
    published
        Published counts, of any shape.
    expect
        Gives the published counts to expect of true ones: multiplies by the distortion.
    pull_back
        Multiplies by the transposed distortion.
    start
        True counts to start from: positive where the result may be. The first step gives them the published total.
    tolerance
        Stops when a step moves less than this share of the total.

    Returns
    -------
    numpy.ndarray
        The shape of ``start``.

    References
    ----------
    Guo (2010), section 2.2; the step is ``x <- x * P'(y / P x)``.

    Examples
    --------
    >>> matrix = np.array([[0.9, 0.1], [0.1, 0.9]])
    >>> most_likely(np.array([100.0, 0.0]), lambda x: x @ matrix, lambda y: y @ matrix.T, np.array([50.0, 50.0])).round(2)
    array([100.,   0.])
    """
    current = start
    total = float(published.sum())
    for _ in range(LARGEST_NUMBER_OF_STEPS):
        expected = expect(current)
        # Where nothing is expected nothing was published, and the ratio does not matter.
        ratio = np.divide(published, expected, out=np.zeros_like(expected), where=expected > 0)
        following = current * pull_back(ratio)
        moved = float(np.abs(following - current).sum())
        current = following
        if moved <= tolerance * total:
            break
    return current


# --------------------------------------------------------------------------------------------------
# Estimates made feasible: not negative, and adding up to what is known.


def feasible(values: Floats, totals: Floats, feasibility: Feasibility) -> Floats:
    """Rows of estimates, each made non-negative with a given sum, by projection or by cutting.

    Parameters
    ----------
    values
        ``(groups, n)``.
    totals
        ``(groups,)``, not negative.
    feasibility
        How. The most likely counts (``"em"``) need a law's matrix and are each law's own.
    """
    if feasibility == "projection":
        return project_to_simplex(values, totals)
    if feasibility == "clip":
        return clip_to_totals(values, totals)
    raise ParameterError(
        f"feasibility must be one of {', '.join(get_args(Feasibility))}, got {feasibility!r}.",
        parameter="feasibility",
    )


def feasible_by_group(values: Floats, is_exact: Sequence[bool], feasibility: Feasibility) -> Floats:
    """Make the cells of each combination of some axes feasible, keeping their sum.

    Parameters
    ----------
    values
        Estimates, one axis for each attribute.
    is_exact
        For each axis, whether sums over the other axes are known exactly along it.
    """
    exact_axes = [axis for axis, exact in enumerate(is_exact) if exact]
    moved = np.moveaxis(values, exact_axes, range(len(exact_axes)))
    flat = moved.reshape(math.prod(moved.shape[: len(exact_axes)]), -1)
    made = feasible(flat, np.clip(flat.sum(axis=1), 0, None), feasibility)
    return np.moveaxis(made.reshape(moved.shape), range(len(exact_axes)), exact_axes)
