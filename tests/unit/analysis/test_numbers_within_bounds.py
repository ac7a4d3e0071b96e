"""Means, variances, quantiles, correlations and fits of generalized releases: by enumerating every table that a release allows."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

from allowed_tables import SCHEMA, allowed_tables, generalized
from sfumato.errors import NotIdentifiableError
from sfumato.estimates.estimates import Certainty

MIDDLES = np.array([5.0, 15.0, 25.0, 35.0])
MERGED = [(0, 0, 1), (0, 0, 1), (1, 0, 0), (2, 1, 0), (3, 1, 0), (2, 1, 1), (2, 1, 0)]
DROPPED = [*[(0, 0, 1)] * 4, *[(2, 1, 0)] * 4, *[(1, 0, 0)] * 4, *[(3, 0, 1)] * 4, (1, 1, 0)]


@functools.cache
def release_of(name):
    """Ages merged by twos; rows as they are of which one was dropped; all ages merged; a number of dropped rows that is not told."""
    if name == "untold":
        return generalized(DROPPED, k=4, search="fixed", levels={"age": 0, "sex": 0})
    if name == "dropped":
        return generalized(DROPPED, k=4, search="full-domain", suppression=0.1)
    return generalized(MERGED, k=2 if name == "merged" else 5, search="full-domain")


@functools.cache
def tables_of(name):
    """Every table of counts over age, sex and illness."""
    release = release_of(name)
    numbers = (0, 1, 2) if release.law.suppressed_rows is None else (None,)
    return [counts for dropped in numbers for counts in allowed_tables(release, dropped=dropped)]


RELEASES = ("merged", "dropped", "any age", "untold")
AMONG = {"": slice(None), "ill = 'yes'": 1}


def ages(counts, where):
    """Rows of each age."""
    return counts[..., AMONG[where]].reshape(4, -1).sum(axis=1)


def quantile(rows, share):
    """Of bins of ten, rows being spread evenly within them."""
    return float(np.interp(share * rows.sum(), np.concatenate([[0], np.cumsum(rows)]), np.arange(0, 41, 10)))


def holds(found, seen):
    """All that may be lies between both ends."""
    return found.low <= min(seen) + 1e-9 and found.high >= max(seen) - 1e-9


@pytest.mark.parametrize("where", AMONG)
@pytest.mark.parametrize("name", RELEASES)
def test_means_variances_and_quantiles_hold_every_table(name, where):
    """A mean ends exactly where those of all tables do; the others hold them."""
    release = release_of(name)
    rows = [found for each in tables_of(name) if (found := ages(each, where)).sum()]
    means = [each @ MIDDLES / each.sum() for each in rows]
    variances = [each @ MIDDLES**2 / each.sum() - mean**2 for each, mean in zip(rows, means, strict=True)]
    found = release.mean("age", where=where)
    assert holds(found, means)
    if name != "untold":
        assert (found.low, found.high) == pytest.approx((min(means), max(means)))
        assert found.lowest == pytest.approx(min(means) - 5)
        assert found.highest == pytest.approx(max(means) + 5)
    assert found.certainty is Certainty.BOUNDED
    assert found.to_dict()["certainty"] == "bounded"
    assert "certainly between" in found.summary()
    spread = release.variance("age", where=where)
    assert holds(spread, variances)
    if name != "untold":
        # Rows are whole, and halves at both ends are not where their number is odd.
        assert spread.high <= max(variances) + 0.15 * np.ptp(variances)
        assert spread.low >= min(variances) - 0.1 * np.ptp(variances)
    for share in (0.25, 0.5, 0.9):
        assert holds(release.quantile("age", share, where=where), [quantile(each, share) for each in rows])


@pytest.mark.parametrize("name", RELEASES)
def test_quantiles_of_categories_hold_every_table(name):
    """Scores in the place of bins: the first category with at least the share up to it."""
    release, scores = release_of(name), dict(zip(SCHEMA["age"].labels, range(4), strict=True))
    for share in (0.3, 0.5, 0.8):
        seen = [
            int(np.argmax(np.cumsum(rows) >= share * rows.sum()))
            for each in tables_of(name)
            if (rows := ages(each, "")).sum()
        ]
        found = release.quantile("age", share, scores=scores)
        assert holds(found, seen)
        assert name == "untold" or (found.low, found.high) == (min(seen), max(seen))


def phi(counts):
    """Correlation of two binary attributes."""
    rows, columns = counts.sum(axis=1), counts.sum(axis=0)
    determinant = counts[0, 0] * counts[1, 1] - counts[0, 1] * counts[1, 0]
    return determinant / math.sqrt(rows.prod() * columns.prod()) if rows.all() and columns.all() else math.nan


@pytest.mark.parametrize("name", RELEASES)
@pytest.mark.parametrize("ages_asked", [(0,), (0, 1), (2,)])
def test_partial_correlations_and_measures_hold_every_table(name, ages_asked):
    """Of an age with illness given the sex; ages that were published as one value are known together."""
    release = release_of(name)
    asked = {(0,): "age < 10", (0, 1): "age < 20", (2,): "age >= 20 AND age < 30"}[ages_asked]
    inside = np.isin(np.arange(4), ages_asked)
    crossed = [np.array([each[~inside].sum(axis=0), each[inside].sum(axis=0)]) for each in tables_of(name)]
    seen = [value for each in crossed if not math.isnan(value := phi(each.sum(axis=1)))]
    found = release.measures(asked, "ill = 'yes'", only=["phi"])["phi"]
    assert holds(found, seen)
    if name == "merged" and len(ages_asked) > 1:
        assert found.certainty is Certainty.EXACT
        assert found.low == pytest.approx(found.high)
    partial = []
    for each in crossed:
        ab, ac, bc = phi(each.sum(axis=1)), phi(each.sum(axis=2)), phi(each.sum(axis=0))
        if not any(math.isnan(value) or abs(value) == 1 for value in (ab, ac, bc)):
            partial.append((ab - ac * bc) / math.sqrt((1 - ac**2) * (1 - bc**2)))
    try:
        found = release.partial_correlation(asked, "ill = 'yes'", given="sex = 'm'")
    except NotIdentifiableError:
        return
    assert not partial or holds(found, partial)


def slope(counts):
    """Logarithm of the odds ratio of illness by sex."""
    cells = counts.sum(axis=0)
    return math.log(cells[1, 1] * cells[0, 0] / (cells[1, 0] * cells[0, 1]))


def test_coefficients_hold_every_table_and_predictions_do():
    """Sixteen rows as they are and one dropped: the slope of a logistic regression of two categories is a log odds ratio."""
    rows = [*[(0, 0, 1)] * 6, *[(0, 0, 0)] * 5, *[(0, 1, 1)] * 4, *[(0, 1, 0)] * 7, (1, 1, 0)]
    release = generalized(rows, k=4, search="full-domain", suppression=0.1)
    assert release.law.suppressed_rows == 1
    tables = list(allowed_tables(release))
    seen = [slope(each) for each in tables]
    found = release.regression("ill ~ sex")
    assert holds(found["sex = 'm'"], seen)
    assert found["sex = 'm'"].low >= min(seen) - 0.1 * np.ptp(seen)
    assert found["sex = 'm'"].high <= max(seen) + 0.1 * np.ptp(seen)
    assert found.to_dict()["coefficients"][0]["certainty"] == "bounded"
    shares = [each[:, 1, 1].sum() / each[:, 1].sum() for each in tables]
    assert holds(found.predict({"sex": "m"}), shares)
    drawn = release.regression("ill ~ sex", target="population")
    assert drawn["sex = 'm'"].low < found["sex = 'm'"].low
    with pytest.raises(NotIdentifiableError, match="would not keep its level"):
        drawn.test("sex")


def test_where_separation_is_possible_a_coefficient_may_be_anything():
    """Merged ages: an age may have nobody who is ill."""
    rows = [(age, sex, ill) for age in (0, 1, 2, 3) for sex in (0, 1) for ill in (0, 1)] * 2
    release = generalized(rows, k=8, search="full-domain")
    found = release.regression("ill ~ score(age)")
    assert (found["score(age)"].low, found["score(age)"].high) == (-math.inf, math.inf)
    assert any("does not tell" in note for note in found.notes)
    assert found.to_arrow().num_rows == 2


@pytest.mark.parametrize(
    "ask",
    [
        lambda release: release.independence("age", "ill"),
        lambda release: release.loglinear("age + ill"),
        lambda release: release.search_loglinear(["age", "ill"]),
        lambda release: release.tree("ill", ["age"], least_rows=1),
    ],
)
def test_tests_that_would_take_the_assumption_for_known_are_refused(ask):
    """The assumption makes categories that were merged alike, and so independent of everything."""
    with pytest.raises(NotIdentifiableError, match="within bounds only"):
        ask(release_of("merged"))


def test_what_was_published_as_it_is_can_be_tested():
    """Sex and illness were not merged, nor was any row dropped; ages of what was published as one value are known together."""
    rows = [(age, sex, ill) for age in (0, 1, 2, 3) for sex in (0, 1) for ill in (0, 1)] * 9
    release = generalized([*rows, *[(0, 1, 1)] * 5], k=30, search="full-domain")
    assert release.law.covers["age"] == ((0, 1), (2, 3))
    assert 0 < release.independence("sex", "ill").p_value < 1
    assert 0 < release.independence("age < 20", "ill").p_value < 1
    assert release.loglinear("sex + ill").coefficients[0].certainty is Certainty.EXACT


def test_how_often_a_rule_is_wrong_holds_every_table():
    """Whoever is below ten is called ill."""
    release = release_of("dropped")
    rule = release_in_memory_of(DROPPED).naive_bayes("ill", ["age"])
    called = [int(label == "yes") for label in rule.predict(np.arange(4)[:, None])]
    seen = [
        sum(each[age, :, 1 - called[age]].sum() for age in range(4)) / each.sum()
        for each in tables_of("dropped")
    ]
    found = rule.error(release)
    assert (found.low, found.high) == pytest.approx((min(seen), max(seen)))
    assert found.certainty is Certainty.BOUNDED


def release_in_memory_of(rows):
    """With nothing changed."""
    return generalized(rows, k=1, search="full-domain")
