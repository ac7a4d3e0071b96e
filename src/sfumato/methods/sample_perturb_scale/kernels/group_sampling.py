"""How many rows of each sensitive value a group keeps, drawn in whole numbers from counts alone."""

from __future__ import annotations

import numpy as np

from sfumato.chance.exact_distributions import NUMBER_OF_WORDS
from sfumato.chance.randomness import NoiseStream
from sfumato.data.personal_groups import PersonalGroups
from sfumato.guarantees.reconstruction_privacy.guarantee import ReconstructionPrivacy
from sfumato.values.arrays import Floats, Integers


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
