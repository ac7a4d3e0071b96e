"""Supports of sets in generalized releases: by enumerating every table that a release allows."""

from __future__ import annotations

import numpy as np
import pytest

from allowed_tables import SCHEMA, allowed_tables, generalized
from sfumato.analysis.itemsets import items_of, selection_of
from sfumato.estimates.estimates import Certainty

MERGED = [(0, 0, 1), (0, 0, 1), (1, 0, 0), (2, 1, 0), (3, 1, 0), (2, 1, 1), (2, 1, 0)]
"""Ages go with illness within what is published as one value."""

DROPPED = [*[(0, 0, 1)] * 3, *[(2, 1, 0)] * 3, (1, 0, 0)]
"""One row is like no other."""


def releases():
    """Ages merged by twos; rows as they are of which one was dropped; a number of dropped rows that is not told."""
    return {
        "merged": generalized(MERGED, k=2, search="full-domain"),
        "dropped": generalized(DROPPED, k=3, search="full-domain", suppression=0.2),
        "untold": generalized(DROPPED, k=3, search="fixed", levels={"age": 0, "sex": 0}),
    }


RELEASES = releases()


def share_of(items, counts):
    """Share of the rows of a table that have some items."""
    inside = np.ones(counts.shape, dtype=bool)
    places = np.indices(counts.shape)
    for name, codes in selection_of(items).conditions:
        inside &= np.isin(places[SCHEMA.names.index(name)], codes)
    return counts[inside].sum() / counts.sum()


def mined(release, **settings):
    """All sets up to pairs."""
    return release.rules(
        minimum_support=1e-9, minimum_confidence=0.0, longest=2, decide_by="upper", **settings
    )


@pytest.mark.parametrize("name", RELEASES)
def test_supports_hold_every_table_that_the_release_allows(name):
    """The least and the most of each set over all of them; where the number of dropped rows is told, ranges are no wider."""
    release = RELEASES[name]
    items = {each.text: each for each in items_of(SCHEMA, are_present=False)}
    tables = [
        counts
        for dropped in ((0, 1, 2) if release.law.suppressed_rows is None else (None,))
        for counts in allowed_tables(release, dropped=dropped)
    ]
    assert len(tables) > 10
    found = mined(release)
    for each in found.sets:
        shares = [share_of([items[text] for text in each.items], counts) for counts in tables]
        assert each.low <= min(shares) + 1e-12, each
        assert each.high >= max(shares) - 1e-12, each
        assert (each.certainty is Certainty.EXACT) == (each.low == each.high)
        if release.law.suppressed_rows is not None:
            assert (each.low, each.high) == pytest.approx((min(shares), max(shares)))
            assert each.certainty in (Certainty.EXACT, Certainty.BOUNDED)
    assert any("within bounds only" in note for note in found.notes)


def test_rules_hold_every_table_that_the_release_allows():
    """Confidence and lift of each rule over all tables in which they are defined; bounds are those of the cells and not of sums."""
    release = RELEASES["merged"]
    items = {each.text: each for each in items_of(SCHEMA, are_present=False)}
    tables = list(allowed_tables(release))
    widths = []
    for rule in mined(release).rules:
        first, second = ([items[text] for text in side] for side in (rule.antecedent, rule.consequent))
        both = np.array([share_of([*first, *second], each) for each in tables])
        alone = np.array([share_of(first, each) for each in tables])
        other = np.array([share_of(second, each) for each in tables])
        told = alone > 0
        confidence = both[told] / alone[told]
        assert rule.confidence.low <= confidence.min() + 1e-9
        assert rule.confidence.high >= confidence.max() - 1e-9
        lift = confidence[other[told] > 0] / other[told][other[told] > 0]
        assert rule.lift.low <= lift.min() + 1e-9
        assert rule.lift.high >= lift.max() - 1e-9
        widths.append(np.ptp(confidence) - (rule.confidence.high - rule.confidence.low))
        assert rule.to_dict()["certainty"] == (
            "exact" if rule.support.low == rule.support.high else "bounded"
        )
    assert np.isclose(widths, 0, atol=1e-9).mean() > 0.5


def test_what_surely_passes_is_in_every_table():
    """By the lower end a set is frequent in all tables, by the upper one in at least one; by the estimate neither."""
    release = RELEASES["merged"]
    items = {each.text: each for each in items_of(SCHEMA, are_present=False)}
    tables = list(allowed_tables(release))
    for decide_by, judge in (("lower", all), ("upper", any)):
        found = release.rules(minimum_support=0.3, longest=1, decide_by=decide_by)
        passing = {each.items[0] for each in found.sets}
        expected = {
            text for text, item in items.items() if judge(share_of([item], each) >= 0.3 for each in tables)
        }
        assert passing == expected


def test_bounds_hold_at_every_level_and_a_population_adds_its_draw():
    """Ranges of a table do not change with the level; about a population they reach further on both sides."""
    narrow, wide = mined(RELEASES["merged"], confidence_level=0.5), mined(RELEASES["merged"])
    assert [(each.low, each.high) for each in narrow.sets] == [(each.low, each.high) for each in wide.sets]
    drawn = {each.items: each for each in mined(RELEASES["merged"], target="population").sets}
    for each in wide.sets:
        assert drawn[each.items].low < each.low or each.low == 0
        assert drawn[each.items].high > each.high or each.high == 1
        assert drawn[each.items].certainty is Certainty.ESTIMATED
