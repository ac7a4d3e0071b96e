"""Sampling rows of every group from counts, the row phase, and merging of public values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sfumato.arrays import Booleans, Floats, Integers
from sfumato.data.chunks import CodedBatch, Portion, refuse_changed_table
from sfumato.data.equivalence_classes import CellParts, PersonalGroups
from sfumato.errors import ParameterError
from sfumato.guarantees.reconstruction_privacy import ReconstructionPrivacy
from sfumato.randomness.quotas import ChosenPositions, PositionReader, split
from sfumato.randomness.streams import NUMBER_OF_WORDS, NoiseSource, NoiseStream, UniformReplacement

# --------------------------------------------------------------------------------------------------
# How many rows of each sensitive value a group keeps, drawn in whole numbers from counts alone.


def strict_group_sizes(groups: PersonalGroups, promise: ReconstructionPrivacy) -> Integers:
    """Rows that each group keeps under its own cap, such that no rounding of its quotas breaks the promise.

    A sample of n rows may hold ``ceil(n f)`` rows of the most frequent value, a frequency slightly above the
    group's f, and must pass the test at that one.
    """
    sizes = groups.sizes
    kept = np.minimum(sizes, promise.group_caps(groups.counts, groups.starts).astype(np.int64))
    if promise.bound == "exact":
        # Both roundings of every value were tried already.
        return np.asarray(kept)
    largest = np.maximum.reduceat(groups.counts, groups.starts)
    pending = np.flatnonzero(kept < sizes)
    while pending.size:
        rounded_up = -(-kept[pending] * largest[pending] // sizes[pending])
        limits = promise.caps_at(rounded_up / kept[pending])
        failed = kept[pending] > limits
        pending = pending[failed]
        # The uniform cap passes at every frequency, so this ends there at the latest.
        kept[pending] = np.maximum(promise.uniform_cap, limits[failed].astype(np.int64))
    return np.asarray(kept)


def fixed_size_quotas(groups: PersonalGroups, kept: Integers, stream: NoiseStream) -> Integers:
    """Rows to keep of each cell, adding up to ``kept`` in every group; unbiased.

    A cell with c of its group's N rows gets ``c n / N`` rounded down or up, so that its expectation is
    exactly that: with u uniform on 0..N-1 and C the rows of the group's cells up to this one, in a random
    order, the quotas are the steps of ``floor((C n + u) / N)``.

    Parameters
    ----------
    groups
        The cells.
    kept
        ``(groups,)``, rows n that each group keeps; at most its size.
    """
    sizes, group_of_cell = groups.sizes, groups.group_of_cell
    offsets = stream.integers_below(sizes).astype(np.int64)
    # In a random order of each group's cells; in a fixed one, cells two steps apart would be rounded up together.
    order = np.lexsort((stream.words(groups.counts.size), group_of_cell))
    counts = groups.counts[order]
    up_to = np.cumsum(counts)
    up_to -= (up_to[groups.starts] - counts[groups.starts])[group_of_cell]
    n, size, offset = kept[group_of_cell], sizes[group_of_cell], offsets[group_of_cell]
    quotas = np.empty_like(counts)
    quotas[order] = (up_to * n + offset) // size - ((up_to - counts) * n + offset) // size
    return quotas


def independent_quotas(groups: PersonalGroups, caps: Floats, stream: NoiseStream) -> Integers:
    """Rows to keep of each cell, each rounded up or down by itself (Han 2016, algorithm of section 4.3).

    The total of a group is near its cap and may exceed it. A group that would lose all its rows keeps one,
    drawn uniformly from them.

    Parameters
    ----------
    groups
        The cells.
    caps
        ``(groups,)``, the largest sizes s_g; groups up to their cap are kept whole.
    """
    sizes, group_of_cell = groups.sizes, groups.group_of_cell
    rate = np.minimum(1.0, caps / sizes)[group_of_cell]
    expected = groups.counts * rate
    whole = np.floor(expected)
    # A double below 1 is at most 1 - 2^-53, so the product stays below 2^64.
    thresholds = ((expected - whole) * float(NUMBER_OF_WORDS)).astype(np.uint64)
    quotas = whole.astype(np.int64) + (stream.words(expected.size) < thresholds)
    emptied = np.flatnonzero(np.add.reduceat(quotas, groups.starts) == 0)
    if emptied.size:
        row = stream.integers_below(sizes[emptied]).astype(np.int64)
        before = np.cumsum(groups.counts) - groups.counts
        first = groups.starts[emptied]
        quotas[np.searchsorted(before, before[first] + row, side="right") - 1] = 1
    return np.minimum(quotas, groups.counts)


# --------------------------------------------------------------------------------------------------
# The row phase: which rows of every cell are kept, how often each stands, and its redrawn value.
#
# Quotas are drawn from the counts of whole cells and shared out to the portions of the table; given its
# share, a portion chooses uniformly among its own rows. Every subset of a cell's rows is then as likely as if
# it had been drawn from all of them at once.


Codes = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True, eq=False)
class SampleShare:
    """What a portion keeps of its rows.

    Parameters
    ----------
    cells, counts, quotas
        ``(cells here,)``: cells that occur, increasing; their rows, and how many of them are kept.
    groups, kept, one_more
        ``(groups here,)``: groups of which rows are kept, increasing; how many, and how many of those stand
        once more than the others.
    """

    cells: Integers
    counts: Integers
    quotas: Integers
    groups: Integers
    kept: Integers
    one_more: Integers


@dataclass(frozen=True, eq=False)
class Copies:
    """How often the kept rows of every group stand in the release: N = n floor(N/n) + r.

    Parameters
    ----------
    kept
        ``(groups,)``: the n rows that are kept.
    whole
        ``(groups,)``: the copies that all of them get.
    remainder
        ``(groups,)``: how many get one more.
    is_exact
        Exactly so many get one more; otherwise every row is rounded by itself, as in the thesis, and so many
        do on average only.
    """

    kept: Integers
    whole: Integers
    remainder: Integers
    is_exact: bool

    @classmethod
    def of(cls, groups: PersonalGroups, quotas: Integers, *, is_exact: bool) -> Copies:
        """Copies that scale the samples of some quotas back to their groups."""
        kept = np.asarray(np.add.reduceat(quotas, groups.starts))
        return cls(kept, *np.divmod(groups.sizes, kept), is_exact)


def share_out(
    groups: PersonalGroups,
    parts: CellParts,
    quotas: Integers,
    copies: Copies,
    noise: NoiseSource,
) -> tuple[SampleShare, ...]:
    """The share of every portion in the quotas of cells and in the further copies of groups."""
    number = int(parts.portions.max()) + 1
    shares = split(parts.counts, parts.starts, quotas, noise.named("quotas").stream(0))
    is_kept = shares > 0
    of_group = CellParts.of(
        groups.group_of_cell[parts.cells[is_kept]], parts.portions[is_kept], shares[is_kept]
    )
    one_more = np.zeros_like(of_group.counts)
    if copies.is_exact:
        one_more = split(
            of_group.counts, of_group.starts, copies.remainder, noise.named("one more copy").stream(0)
        )
    return tuple(
        SampleShare(
            parts.cells[cells],
            parts.counts[cells],
            shares[cells],
            of_group.cells[kept],
            of_group.counts[kept],
            one_more[kept],
        )
        for cells, kept in zip(parts.by_portion(number), of_group.by_portion(number), strict=True)
    )


class PortionSampler:
    """Says of each row of a portion whether it is kept, and how many copies of it are published.

    Parameters
    ----------
    groups
        The counted cells.
    copies
        How often kept rows stand.
    portion
        With its share.
    noise
        Where the draws come from.
    """

    def __init__(
        self, groups: PersonalGroups, copies: Copies, portion: Portion[SampleShare], noise: NoiseSource
    ) -> None:
        share = portion.share
        self.copies = copies
        self.noise = noise.named("copies")
        self.group_of_cell = groups.group_of_cell
        self._place_of_cell = _places(share.cells, groups.counts.size)
        self._place_of_group = _places(share.groups, groups.starts.size)
        self._rows = PositionReader(
            ChosenPositions.draw(share.counts, share.quotas, noise.named("which rows").stream(portion.number))
        )
        self._one_more = PositionReader(
            ChosenPositions.draw(
                share.kept, share.one_more, noise.named("which once more").stream(portion.number)
            )
        )

    def take(self, ascending: Integers, stream_number: int) -> tuple[Booleans, Integers]:
        """Which rows of a batch are kept, and the number of copies of each that is.

        Parameters
        ----------
        ascending
            ``(rows,)``, the cells of the batch's rows in ascending order.
        stream_number
            Of the batch.

        Returns
        -------
        tuple
            Whether each row is kept, ``(rows,)``, and the copies of those kept, in the same order.
        """
        places = self._place_of_cell[ascending]
        if places.min(initial=0) < 0:
            refuse_changed_table()
        is_kept = self._rows.mark(places)
        group = self.group_of_cell[ascending[is_kept]]
        if self.copies.is_exact:
            more = self._one_more.mark(self._place_of_group[group])
        else:
            stream = self.noise.stream(stream_number)
            remainder = self.copies.remainder[group].astype(np.uint64)
            more = stream.integers_below(self.copies.kept[group]) < remainder
        return is_kept, self.copies.whole[group] + more

    def finish(self) -> None:
        """Refuse a portion of which fewer rows came than were counted, or more; nothing is published then."""
        if not self._rows.is_finished:
            refuse_changed_table()


@dataclass(frozen=True, eq=False)
class SampleRows:
    """Keeps some rows of every group, redraws their sensitive value, and repeats or weights them.

    Parameters
    ----------
    groups, copies
        The counted cells, and how often kept rows stand.
    names, recoding
        Attributes to publish, and the new code of each old one for those of which values were merged.
    sensitive, kernel
        The attribute that is redrawn, and by which probabilities.
    weight
        Column that says how many rows a row stands for; rows are repeated when None.
    """

    groups: PersonalGroups
    copies: Copies
    names: tuple[str, ...]
    recoding: dict[str, npt.NDArray[Any]]
    sensitive: str
    kernel: UniformReplacement
    weight: str | None

    def __call__(
        self, batches: Iterator[CodedBatch], portion: Portion[SampleShare], noise: NoiseSource
    ) -> Iterator[CodedBatch]:
        """Sampled, perturbed and scaled rows."""
        sampler = PortionSampler(self.groups, self.copies, portion, noise.named("sample"))
        perturbing = noise.named(f"perturb {self.sensitive}")
        for place, batch in enumerate(batches):
            number = portion.stream_number(place)
            codes = recode(batch.codes, self.names, self.recoding)
            order, cells = self.groups.sort_rows(codes)
            is_kept, copies = sampler.take(cells, number)
            rows = order[is_kept]
            # Perturbed before it is repeated: all copies of a row are the same draw.
            redrawn = perturbing.stream(number).perturb_uniformly(codes[self.sensitive][rows], self.kernel)
            if self.weight is not None:
                kept = {name: column[rows] for name, column in codes.items()}
                yield CodedBatch({**kept, self.sensitive: redrawn, self.weight: copies}, rows.size)
            else:
                repeated = np.repeat(rows, copies)
                kept = {name: column[repeated] for name, column in codes.items()}
                kept[self.sensitive] = np.repeat(redrawn, copies)
                yield CodedBatch(kept, repeated.size)
        sampler.finish()


def recode(
    codes: Codes, names: tuple[str, ...], recoding: Mapping[str, npt.NDArray[Any]]
) -> dict[str, npt.NDArray[Any]]:
    """Columns of some attributes, with new codes where a recoding says so."""
    return {name: recoding[name][codes[name]] if name in recoding else codes[name] for name in names}


def _places(known: Integers, size: int) -> npt.NDArray[np.int64]:
    """For each number below ``size`` its place among those known, -1 where it is not."""
    places = np.full(size, -1, np.int64)
    places[known] = np.arange(known.size)
    return places


# --------------------------------------------------------------------------------------------------
# Merging public values that go together with the sensitive attribute in the same way.
#
# Two values of a public attribute are alike when a chi-square test does not tell their distributions of
# the sensitive attribute apart. Values that are alike are merged, so that a union of personal groups that
# are alike becomes one personal group, and its reconstruction is limited as a whole.


Linkage = Literal["components", "complete-linkage"]
DegreesOfFreedom = Literal["m-1", "m"]

SIGNIFICANCE = 0.05
"""Level of the test: values are told apart when their distributions differ at it."""


@dataclass(frozen=True, eq=False)
class Merging:
    """Classes of values found alike.

    Parameters
    ----------
    class_of
        ``(values,)``, the class of each value; classes are numbered by their first value.
    chained
        Classes that hold two values which the test tells apart, joined through others between them.

    Examples
    --------
    >>> Merging(class_of=np.array([0, 0, 1]), chained=()).classes
    ((0, 1), (2,))
    """

    class_of: Integers
    chained: tuple[int, ...]

    @property
    def classes(self) -> tuple[tuple[int, ...], ...]:
        """The values of every class, in order."""
        number = int(self.class_of.max()) + 1
        return tuple(tuple(np.flatnonzero(self.class_of == each).tolist()) for each in range(number))


def chi_square_statistics(counts: npt.NDArray[Any]) -> Floats:
    """Statistic of every two values' distributions of the sensitive attribute, ``(values, values)``.

    Parameters
    ----------
    counts
        ``(values, m)``, rows by value and sensitive category. A value without rows has nothing to be
        compared; its statistics are infinite, so that it joins nothing and links nothing.

    References
    ----------
    Han (2016), eq. 4.3: ``sum_j (sqrt(|O'|/|O|) o_j - sqrt(|O|/|O'|) o'_j)^2 / (o_j + o'_j)``, which is
    Pearson's statistic of the 2 x m table; categories that neither value has are left out.

    Examples
    --------
    >>> round(float(chi_square_statistics(np.array([[145, 399], [193, 592]]))[0, 1]), 4)
    0.7249
    """
    observed = np.asarray(counts, dtype=np.float64)
    totals = observed.sum(axis=1)
    statistics = np.full((len(observed), len(observed)), np.inf)
    np.fill_diagonal(statistics, 0)
    for first in np.flatnonzero(totals):
        # sqrt(N'/N) o - sqrt(N/N') o' = sqrt(N N') (o/N - o'/N'): differences of shares.
        others = np.flatnonzero(totals)
        shares = observed[others] / totals[others, None]
        differences = (observed[first] / totals[first] - shares) ** 2 * (totals[first] * totals[others])[
            :, None
        ]
        pooled = observed[first] + observed[others]
        terms = np.divide(differences, pooled, out=np.zeros_like(pooled), where=pooled > 0)
        statistics[first, others] = terms.sum(axis=1)
    return statistics


def critical_value(categories: int, *, degrees_of_freedom: DegreesOfFreedom = "m-1") -> float:
    """Largest statistic at which two values still count as alike.

    The 2 x m table has m-1 degrees of freedom; the thesis prints m, which merges more, and its own
    merged domains come out with m-1 only.

    Examples
    --------
    >>> round(critical_value(2), 3), round(critical_value(2, degrees_of_freedom="m"), 3)
    (3.841, 5.991)
    """
    from scipy.special import chdtri

    degrees = categories - 1 if degrees_of_freedom == "m-1" else categories
    return float(chdtri(degrees, SIGNIFICANCE))


def merge_values(
    counts: npt.NDArray[Any],
    *,
    linkage: Linkage = "components",
    degrees_of_freedom: DegreesOfFreedom = "m-1",
) -> Merging:
    """Classes of values whose distributions of the sensitive attribute are not told apart.

    Parameters
    ----------
    counts
        ``(values, m)``, rows by value and sensitive category.
    linkage
        ``"components"`` merges along chains of values that are alike in pairs (Han 2016, section 4.1.4),
        which can join values far apart; ``"complete-linkage"`` merges only while every pair of a class is alike.
    degrees_of_freedom
        ``"m-1"``, or ``"m"`` as the thesis prints.

    Examples
    --------
    >>> halves_to_tenths = np.array([[500, 500], [46, 54], [400, 600]])
    >>> chain = merge_values(halves_to_tenths)
    >>> chain.classes, chain.chained
    (((0, 1, 2),), (0,))
    >>> merge_values(halves_to_tenths, linkage="complete-linkage").classes
    ((0, 1), (2,))
    """
    table = np.asarray(counts)
    if table.ndim != 2 or table.shape[0] < 1 or table.shape[1] < 2:
        raise ParameterError(
            f"counts must be a table of values by two or more sensitive categories, got shape {table.shape}. "
            "Count one public attribute against the sensitive one.",
            parameter="counts",
        )
    statistics = chi_square_statistics(table)
    limit = critical_value(table.shape[1], degrees_of_freedom=degrees_of_freedom)
    find = _components if linkage == "components" else _complete_linkage
    class_of = _numbered_by_first(find(statistics, limit))
    chained = tuple(
        number
        for number in range(int(class_of.max()) + 1)
        if statistics[np.ix_(class_of == number, class_of == number)].max() > limit
    )
    return Merging(class_of, chained)


def _components(statistics: Floats, limit: float) -> Integers:
    from scipy.sparse.csgraph import connected_components

    _, labels = connected_components(statistics <= limit, directed=False)
    return np.asarray(labels, dtype=np.int64)


def _complete_linkage(statistics: Floats, limit: float) -> Integers:
    """Join the two classes whose largest statistic is the smallest, while it is not above the limit."""
    if len(statistics) == 1:
        return np.zeros(1, dtype=np.int64)
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    # Clustering takes no infinities; anything above the limit is never joined.
    finite = np.minimum(statistics, np.nextafter(limit, np.inf) * 2)
    tree = linkage(squareform(finite, checks=False), method="complete")
    return np.asarray(fcluster(tree, t=limit, criterion="distance"), dtype=np.int64)


def _numbered_by_first(labels: Integers) -> Integers:
    """The same classes, numbered in the order of their first values."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]
