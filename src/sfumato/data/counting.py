"""Several tables of counts from one pass over the rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from sfumato.values.batches import CodedBatch
from sfumato.values.counts import CountTable, empty_counts
from sfumato.values.mixed_radix import MixedRadix
from sfumato.values.schema import Attribute, Schema

MOST_MERGED_CELLS = 2**17
"""Sets are merged while their union has no more cells than this: counting is then fast in a processor's cache."""


def count_tables(
    batches: Iterable[CodedBatch], sets: Sequence[Sequence[Attribute]]
) -> tuple[CountTable, ...]:
    """Counts over the product of each set's attributes.

    Codes of a row become one number for each set, and numbers are counted: some nanoseconds a row and
    set, far less than a hash table for each.

    Examples
    --------
    >>> from sfumato.values.schema import Role
    >>> sex = Attribute(name="sex", role=Role.OTHER, categories=("F", "M"))
    >>> job = Attribute(name="job", role=Role.OTHER, categories=("a", "b", "c"))
    >>> rows = CodedBatch({"sex": np.array([0, 1, 1]), "job": np.array([2, 0, 0])}, 3)
    >>> [each.counts.tolist() for each in count_tables([rows], [(sex,), (sex, job)])]
    [[1, 2], [[0, 0, 1], [2, 0, 0]]]
    """
    totals = [empty_counts(each).reshape(-1) for each in sets]
    radixes = [MixedRadix([each.size for each in attributes]) for attributes in sets]
    for batch in batches:
        for attributes, radix, total in zip(sets, radixes, totals, strict=True):
            cells = radix.encode([batch.codes[each.name] for each in attributes])
            np.add(total, np.bincount(cells, minlength=total.size), out=total)
    return tuple(
        CountTable(tuple(attributes), total.reshape([each.size for each in attributes]))
        for attributes, total in zip(sets, totals, strict=True)
    )


def covering_sets(sets: Iterable[frozenset[str]], schema: Schema) -> list[frozenset[str]]:
    """Fewer sets of attributes that contain all of some sets: each is merged where the union stays small.

    Examples
    --------
    >>> from sfumato.values.schema import Role
    >>> sizes = {"a": 10, "b": 20, "c": 30, "d": 90_000}
    >>> schema = Schema(
    ...     attributes=tuple(
    ...         Attribute(name=name, role=Role.OTHER, categories=tuple(map(str, range(size))))
    ...         for name, size in sizes.items()
    ...     )
    ... )
    >>> found = covering_sets([frozenset("ab"), frozenset("bc"), frozenset("d"), frozenset("a")], schema)
    >>> sorted("".join(sorted(each)) for each in found)
    ['abc', 'd']
    """
    sizes = {each.name: each.size for each in schema.attributes}

    def cells(names: frozenset[str]) -> int:
        return math.prod(sizes[name] for name in names)

    merged: list[frozenset[str]] = []
    for each in sorted(set(sets), key=lambda names: (-cells(names), sorted(names))):
        unions = [(cells(other | each) / cells(other), place) for place, other in enumerate(merged)]
        growth, place = min(unions, default=(math.inf, 0))
        if growth == 1 or (unions and cells(merged[place] | each) <= MOST_MERGED_CELLS):
            merged[place] |= each
        else:
            merged.append(each)
    return merged
