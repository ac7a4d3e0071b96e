"""Rules of a release: which way its law lets item sets be counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sfumato.analysis.rules.bits import BitColumns
from sfumato.analysis.rules.items import Item, items_of
from sfumato.analysis.rules.mining import Settings, mine
from sfumato.analysis.rules.result import Rules
from sfumato.analysis.rules.supports import BitSupports, CountedSupports, Distorted, Supports
from sfumato.analysis.within_bounds import are_loose
from sfumato.chance.distortion import DenseDistortion, UniformDistortion
from sfumato.errors import NotIdentifiableError
from sfumato.methods.randomized_response.law.perturbed_items import PerturbedItems
from sfumato.methods.randomized_response.law.perturbed_rows import PerturbedRows
from sfumato.release.release import Release
from sfumato.values.arrays import Booleans
from sfumato.values.certainty import Certainty

MOST_BITS = 8 * 2**30
"""Bits of columns of items that are held at once, a gigabyte; above, tables are counted one by one."""


WITHIN_BOUNDS = (
    "some counts are known within bounds only: ranges hold every value that the bounds allow, and which sets and rules pass by the "
    "estimate rests on an assumption, by the lower or the upper end on none"
)


def mine_release(
    release: Release,
    settings: Settings,
    *,
    among: Sequence[str] | None = None,
    category: str | None = None,
    consequents: Sequence[str] | None = None,
) -> Rules:
    """Frequent item sets and association rules of a release, through its law.

    Parameters
    ----------
    release
        Of rows, whose items are the categories of attributes, or of units and items.
    settings
        What is looked for.
    among
        Attributes or conditions that give the items; all when not given.
    category
        Only this category of every attribute is an item.
    consequents
        Attributes or conditions that rules may be about.

    Raises
    ------
    NotIdentifiableError
        When the release's law leaves the joint of some items open.
    """
    are_present = isinstance(release.law, PerturbedItems)
    items = items_of(release.schema, are_present=are_present, among=among, category=category)
    about = (
        None
        if consequents is None
        else items_of(release.schema, are_present=are_present, among=consequents, category=category)
    )
    supports = supports_of(release, items)
    mined = mine(supports, settings, consequents=about)
    notes = (
        ()
        if release.law.estimate_is.startswith("unbiased")
        else (f"the counts behind them are not unbiased: {release.law.estimate_is}",)
    )
    if any(are_loose(each).any() for each in (supports.whole(), supports.singles())):
        notes = (*notes, WITHIN_BOUNDS)
    return Rules(
        mined.rules,
        mined.sets,
        settings,
        mined.sets_counted,
        mined.rules_considered,
        release.method,
        str(release.manifest.law["law"]),
        notes,
    )


def supports_of(release: Release, items: tuple[Item, ...]) -> Supports:
    """The quickest way to count that the law allows: bits where each item was distorted by itself, else tables."""
    law = release.law
    if isinstance(law, PerturbedItems) and _counts_alike(law.distortion):
        return _of_units(release, law, items)
    if (
        isinstance(law, PerturbedRows)
        and release.number_of_rows * len(items) <= MOST_BITS
        and all(map(_counts_alike, law.distortions.values()))
    ):
        return _of_rows(release, law, items)
    if release.query().certainty == Certainty.OPEN:
        raise NotIdentifiableError(
            "rows were left out of the release, and which they are is not known: which sets are frequent cannot be told. "
            "Ask for counts and shares, whose intervals hold them."
        )
    return CountedSupports(release, items)


def _counts_alike(distortion: UniformDistortion | DenseDistortion) -> bool:
    """Whether all categories but the item's own count the same toward it."""
    return isinstance(distortion, UniformDistortion) or distortion.size == 2


def _distorted(items: Sequence[Item], distortion_of: Any) -> Distorted:
    found = []
    known: dict[Any, tuple[float, float, float, float]] = {}
    for item in items:
        distortion = distortion_of(item.attribute)
        key = (id(distortion), item.code if isinstance(distortion, DenseDistortion) else 0)
        if key not in known:
            known[key] = (
                (0.0, 1.0, 0.0, 1.0)
                if distortion is None
                else Distorted.by(distortion.dense(), distortion.inverse(), item.code)
            )
        found.append(known[key])
    numbers = np.array(found)
    return Distorted(numbers[:, 0], numbers[:, 1], numbers[:, 2:])


def _of_units(release: Release, law: PerturbedItems, items: tuple[Item, ...]) -> BitSupports:
    columns = release.items(law.long)
    place_of = {name: place for place, name in enumerate(release.schema.names)}
    counts = columns.counts()

    def bits(places: Sequence[int]) -> BitColumns:
        chosen = [items[place] for place in places]
        codes = columns.codes([place_of[each.attribute] for each in chosen])
        return BitColumns.of(each == item.code for each, item in zip(codes, chosen, strict=True))

    return BitSupports(
        items,
        law.long.number_of_units,
        np.array([counts[place_of[each.attribute], each.code] for each in items]),
        _distorted(items, lambda _: law.distortion),
        bits,
    )


def _of_rows(release: Release, law: PerturbedRows, items: tuple[Item, ...]) -> BitSupports:
    tables = {
        name: release.count_by((name,)).counts for name in dict.fromkeys(each.attribute for each in items)
    }

    def bits(places: Sequence[int]) -> BitColumns:
        chosen = [items[place] for place in places]
        names = tuple(dict.fromkeys(each.attribute for each in chosen))
        held: list[list[Booleans]] = [[] for _ in chosen]
        for batch in release.scan(release.tables[0].name, names):
            for kept, item in zip(held, chosen, strict=True):
                kept.append(batch.codes[item.attribute] == item.code)
        return BitColumns.of(np.concatenate(each) for each in held)

    return BitSupports(
        items,
        release.number_of_rows,
        np.array([tables[each.attribute][each.code] for each in items]),
        _distorted(items, law.distortions.get),
        bits,
    )
