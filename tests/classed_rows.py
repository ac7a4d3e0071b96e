"""Rows of a few classes, and their counts by hand."""

from __future__ import annotations

from collections import Counter

import numpy as np

from sfumato.data.chunks import CodedBatch
from sfumato.guarantees.class_criteria import count_any, count_packed

NAMES = ["bucket", "place", "job"]
RADICES = [None, 5, 4]
WHOLE = slice(0, None, 1)


def batches(seed=1, *, buckets=6, number=4, rows=60):
    """Some rows in batches."""
    draw = np.random.default_rng(seed)
    sizes = dict(zip(NAMES, (buckets, 5, 4), strict=True))
    return [
        CodedBatch({name: draw.integers(0, size, rows) for name, size in sizes.items()}, rows)
        for _ in range(number)
    ]


def by_hand(parts, *, is_watched=True):
    """Counts of the watched values in every class, whatever the classes are called."""
    classes: dict[tuple[int, ...], Counter] = {}
    for part in parts:
        for *known, job in zip(*(part.codes[name].tolist() for name in NAMES), strict=True):
            key = tuple(known) if is_watched else (*known, job)
            classes.setdefault(key, Counter())[job if is_watched else 0] += 1
    return sorted(tuple(each[value] for value in range(4 if is_watched else 1)) for each in classes.values())


def dense(counts):
    """All classes of a count, in an order that does not depend on their numbers."""
    return sorted(tuple(row) for part in counts.parts() for row in part.tolist())


def either_way(parts, part, *, is_packed):
    """Counted as numbers, or column by column."""
    if is_packed:
        return count_packed(parts, NAMES, RADICES, 4, part)
    return count_any(parts, NAMES, 4, part, is_watched=True)
