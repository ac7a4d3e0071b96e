"""Association rules: numbers by hand, every set counted once, and the same whichever way the law is asked."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pyarrow as pa
import pytest

from sfumato import Anatomy, RandomizedResponse, Schema, mine_table, read_table
from sfumato.analysis.itemsets import BitColumns, BitSupports, CountedSupports, items_of
from sfumato.analysis.rules import MOST_CANDIDATES, FrequentSet, Rules, Settings, mine, supports_of
from sfumato.errors import NotIdentifiableError, ParameterError, QueryError, TooLargeError
from sfumato.randomness.distortion import DenseDistortion
from sfumato.testing import release_in_memory, sample_table

BASKETS = Schema.from_toml("""
[long]
unit = "receipt"
item = "article"
[attributes.receipt]
role = "identifier"
[attributes.article]
role = "sensitive"
categories = ["bread", "milk", "tea", "salt", "Brühe"]
""")


def basket_table(number=900, seed=1):
    """Milk goes with bread; soup is rare."""
    draw = np.random.default_rng(seed)
    has = draw.random((number, 5)) < [0.5, 0.3, 0.3, 0.2, 0.01]
    has[:, 1] |= has[:, 0] & (draw.random(number) < 0.6)
    has[~has.any(axis=1), 2] = True
    unit, item = np.nonzero(has)
    labels = BASKETS["article"].labels
    data = {"receipt": [f"r{each}" for each in unit], "article": [labels[each] for each in item]}
    return read_table(pa.table(data), BASKETS), has


def test_both_ways_of_counting_agree():
    """Bits of the published items, and tables by the law: values, variances and cells."""
    table, _ = basket_table()
    release = release_in_memory(table, RandomizedResponse(retention=0.8), seed=3)
    items = items_of(release.schema, are_present=True)
    quick, plain = supports_of(release, items), CountedSupports(release, items)
    assert isinstance(quick, BitSupports)
    for name in ("values", "variances"):
        np.testing.assert_allclose(getattr(quick.singles(), name), getattr(plain.singles(), name))
    pairs = list(itertools.combinations(range(5), 2))
    np.testing.assert_allclose(quick.of(pairs).values, plain.of(pairs).values, atol=1e-9)
    np.testing.assert_allclose(quick.of(pairs).variances, plain.of(pairs).variances, rtol=1e-9)
    one, other = (each.cells((0, 1), (0,), (1,)) for each in (quick, plain))
    np.testing.assert_allclose(one.values, other.values, atol=1e-9)
    np.testing.assert_allclose(one.covariance, other.covariance, atol=1e-7)


@pytest.mark.parametrize(
    "design",
    [
        RandomizedResponse(retention=0.7),
        RandomizedResponse(retention={"job": 0.7, "sex": 0.9}),
        RandomizedResponse(matrix={"sex": ((0.9, 0.1), (0.3, 0.7))}, retention={"job": 0.8}),
    ],
)
def test_rules_of_rows_agree_with_tables(design):
    """Categories of attributes as items, distorted by themselves or not at all."""
    release = release_in_memory(sample_table(2_000), design, seed=2)
    items = items_of(release.schema, are_present=False)
    quick, plain = supports_of(release, items), CountedSupports(release, items)
    assert isinstance(quick, BitSupports)
    settings = Settings(minimum_support=0.05, minimum_confidence=0.3, longest=3)
    one, other = mine(quick, settings), mine(plain, settings)
    assert [each.items for each in one.sets] == [each.items for each in other.sets]
    assert {str(each) for each in one.rules} == {str(each) for each in other.rules}
    for left, right in zip(sorted(one.rules, key=str), sorted(other.rules, key=str), strict=True):
        assert left.confidence.estimate == pytest.approx(right.confidence.estimate)
        assert left.lift.std_error == pytest.approx(right.lift.std_error, abs=1e-9)


def test_a_matrix_of_ones_own_with_more_categories_is_counted_in_tables():
    """Its columns do not count alike, so that bits do not tell enough."""
    own = DenseDistortion(
        rows=((0.8, 0.1, 0.05, 0.05), (0.1, 0.8, 0.05, 0.05), (0.2, 0, 0.8, 0), (0, 0, 0.1, 0.9))
    )
    release = release_in_memory(sample_table(), RandomizedResponse(matrix={"job": own.rows}), seed=2)
    assert isinstance(supports_of(release, items_of(release.schema, are_present=False)), CountedSupports)
    assert release.rules(minimum_support=0.1, minimum_confidence=0.5).rules


def brute_force(has, smallest, longest):
    """All sets of items that enough rows have."""
    found = {}
    for length in range(1, longest + 1):
        for chosen in itertools.combinations(range(has.shape[1]), length):
            share = has[:, chosen].all(axis=1).mean()
            if share >= smallest:
                found[chosen] = share
    return found


def test_rules_of_rows_as_they_are_are_those_of_brute_force():
    """Every frequent set, every rule, with exact numbers; private, and says so."""
    table, has = basket_table()
    found = mine_table(table, Settings(minimum_support=0.05, minimum_confidence=0.4))
    expected = brute_force(has, 0.05, 4)
    labels = BASKETS["article"].labels
    assert {each.items: each.support for each in found.sets} == pytest.approx(
        {tuple(labels[place] for place in chosen): share for chosen, share in expected.items()}
    )
    rules = {
        (tuple(labels[place] for place in chosen if place != last), labels[last]): share
        / expected[tuple(place for place in chosen if place != last)]
        for chosen, share in expected.items()
        for last in chosen
        if len(chosen) > 1
    }
    kept = {key: confidence for key, confidence in rules.items() if confidence >= 0.4}
    assert {
        (each.antecedent, each.consequent[0]): each.confidence.estimate for each in found.rules
    } == pytest.approx(kept)
    assert all(each.confidence.std_error == 0 for each in found.rules)
    assert "private" in found.summary()
    assert found.to_dict()["private"] is True


def test_wide_rows_and_long_rows_have_the_same_rules(tmp_path):
    """A column of yes and no for each article, or a row for each article of a basket."""
    table, has = basket_table()
    labels = BASKETS["article"].labels
    wide = Schema.from_dict(
        {"attributes": {name: {"role": "sensitive", "categories": ("no", "yes")} for name in labels}}
    )
    rows = pa.table({name: np.where(has[:, place], "yes", "no") for place, name in enumerate(labels)})
    settings = Settings(minimum_support=0.05, minimum_confidence=0.4)
    one = mine_table(read_table(rows, wide), settings, category="yes")
    other = mine_table(table, settings)
    assert [each.support for each in one.sets] == [each.support for each in other.sets]
    assert [each.confidence.estimate for each in one.rules] == [
        each.confidence.estimate for each in other.rules
    ]
    assert one.sets[0].items == ("bread = 'yes'",)
    assert other.sets[0].items == ("bread",)


def test_every_set_is_counted_once(monkeypatch):
    """Whatever rules are made of it afterwards."""
    counted = []
    count = BitColumns.count
    monkeypatch.setattr(
        BitColumns, "count", lambda self, sets: counted.extend(listed := list(sets)) or count(self, listed)
    )
    table, _ = basket_table()
    release_in_memory(table, RandomizedResponse(retention=0.9), seed=1).rules(minimum_support=0.01)
    assert len(counted) > 10
    assert len(set(counted)) == len(counted)


def test_bounds_decide_as_they_say():
    """What passes by the lower end passes by the estimate, and what passes by that by the upper end."""
    table, _has = basket_table()
    release = release_in_memory(table, RandomizedResponse(retention=0.6), seed=8)
    by = {
        mode: {each.items for each in release.rules(minimum_support=0.15, decide_by=mode, longest=2).sets}
        for mode in ("lower", "estimate", "upper")
    }
    assert by["lower"] < by["estimate"] < by["upper"]


def test_conflicts_are_pairs_that_noise_may_have_swapped():
    """The second looks larger, and only the first surely passes."""
    sets = (
        FrequentSet(("a",), 0.30, 0.01, 0.28, 0.32),
        FrequentSet(("b",), 0.35, 0.08, 0.19, 0.51),
        FrequentSet(("c",), 0.26, 0.01, 0.24, 0.28),
    )
    found = Rules((), sets, Settings(minimum_support=0.25), 3, 0)
    assert [(one.items, other.items) for one, other in found.conflicts()] == [(("a",), ("b",))]
    assert list(found.conflicts("confidence")) == []


def test_a_population_has_larger_errors_than_a_table():
    """The draw of the rows comes on top: a share among 900 rows as they are."""
    table, has = basket_table()
    found = mine_table(table, Settings(minimum_support=0.3, target="population"))
    share = has[:, 0].mean()
    assert found.sets[0].std_error == pytest.approx(math.sqrt(share * (1 - share) / 900))
    rule = found.rules[0]
    group = has[:, 0] if rule.antecedent == ("bread",) else has[:, 1]
    confidence = rule.confidence.estimate
    assert rule.confidence.std_error == pytest.approx(math.sqrt(confidence * (1 - confidence) / group.sum()))


def test_rules_can_be_about_one_thing():
    """Other consequents are not considered, so that simultaneous ranges are narrower."""
    release = release_in_memory(sample_table(2_000), RandomizedResponse(retention=0.7), seed=2)
    some = release.rules(minimum_confidence=0.2, consequents=["job = 'Care'"], simultaneous=True)
    everything = release.rules(minimum_confidence=0.2, simultaneous=True)
    assert {each.consequent for each in some.rules} == {("job = 'Care'",)}
    assert some.rules_considered < everything.rules_considered
    widths = [
        next(e for e in each.rules if str(e) == str(some.rules[0])).confidence for each in (some, everything)
    ]
    assert widths[0].high - widths[0].low < widths[1].high - widths[1].low


def test_two_items_may_follow_together():
    """Where asked for."""
    table, has = basket_table()
    found = mine_table(table, Settings(minimum_support=0.01, minimum_confidence=0.0, longest_consequent=2))
    rule = next(each for each in found.rules if each.consequent == ("bread", "milk"))
    group = has[:, [BASKETS["article"].labels.index(each) for each in rule.antecedent]].all(axis=1)
    assert rule.confidence.estimate == pytest.approx(has[group][:, :2].all(axis=1).mean())


def test_a_law_that_leaves_a_joint_open_says_so():
    """Its own sentence: quasi-identifiers and values are published apart."""
    from sfumato import DistributionResampling

    release = release_in_memory(sample_table(), DistributionResampling(), seed=1)
    with pytest.raises(NotIdentifiableError):
        release.rules(minimum_support=0.05)


def test_other_laws_are_asked_through_their_tables():
    """Anatomy's buckets: an estimate with an error for every rule."""
    release = release_in_memory(sample_table(2_000), Anatomy(l_value=2), seed=1)
    found = release.rules(minimum_support=0.05, minimum_confidence=0.4, longest=2)
    assert found.law == "bucketed-rows"
    assert any(each.confidence.std_error > 0 for each in found.rules)
    assert json.loads(json.dumps(found.to_dict()))["rules"]
    assert found.to_arrow().num_rows == len(found) > 0
    assert found.sets_to_arrow().num_rows == len(found.sets)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"minimum_support": 0}, "minimum_support is a share above 0"),
        ({"minimum_confidence": 1.2}, "minimum_confidence is a share from 0"),
        ({"longest": 0}, "longest is a whole number"),
        ({"decide_by": "guess"}, "decide_by must be one of estimate, lower, upper"),
        ({"interval": "exact"}, "interval must be one of"),
        ({"category": "maybe"}, "no attribute has the category 'maybe'"),
    ],
)
def test_wrong_settings_are_refused(wrong, message):
    """With what is allowed."""
    release = release_in_memory(sample_table(), RandomizedResponse(retention=0.5), seed=1)
    with pytest.raises(ParameterError, match=message):
        release.rules(**wrong)


@pytest.mark.parametrize("text", ["jbo", "job = 'Care' OR sex = 'Male'", "job = 'Caer'"])
def test_items_that_are_none_are_refused(text):
    """The nearest is suggested where there is one."""
    release = release_in_memory(sample_table(), RandomizedResponse(retention=0.5), seed=1)
    with pytest.raises(QueryError):
        release.rules(among=[text])


def test_too_many_sets_are_refused(monkeypatch):
    """With what to do, before memory is full."""
    monkeypatch.setattr("sfumato.analysis.rules.MOST_CANDIDATES", 5)
    release = release_in_memory(sample_table(), RandomizedResponse(retention=0.5), seed=1)
    with pytest.raises(TooLargeError, match="decide by the lower end"):
        release.rules(minimum_support=0.001)
    assert MOST_CANDIDATES > 5


def test_no_rules_are_a_result():
    """An empty table, a sentence, no error."""
    table, _ = basket_table()
    found = mine_table(table, Settings(minimum_support=0.99))
    assert len(found) == 0
    assert found
    assert "none" in found.summary()
    assert found.to_arrow().num_rows == 0
