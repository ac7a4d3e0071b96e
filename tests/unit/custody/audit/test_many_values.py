"""A sensitive attribute of thousands of categories: its law is tested, its people are left out, and both are said."""

from __future__ import annotations

import numpy as np
import pytest

from coded_tables import table_of
from sfumato import RandomizedResponse, audit
from sfumato.attacks.posterior import PosteriorBelief
from sfumato.custody.audit import law_checks as rows
from sfumato.custody.audit.law_checks import Alike, bernstein
from sfumato.errors import TooLargeError
from sfumato.laws.posterior import MOST_BELIEFS, MOST_VALUES, Targets
from sfumato.randomness.distortion import TwoValued
from sfumato.testing import release_in_memory

MANY = 30_000
"""Values whose matrix alone would take seven gigabytes."""


def many_values(size, number=4_000):
    """A table of two regions (x0), and codes (s) that nobody could list by heart."""
    generator = np.random.default_rng(5)
    codes = generator.integers(0, 2, number), (size * generator.random(number) ** 6).astype(np.int64)
    return table_of([2, size], codes)


@pytest.fixture(scope="module")
def published():
    """The table, and its rows perturbed."""
    table = many_values(MANY)
    return table, release_in_memory(table, RandomizedResponse(retention=0.5), seed=1)


def test_the_law_is_tested_and_the_people_are_named_as_left_out(published):
    """Whoever audits is told what was not done, and why."""
    table, release = published
    found = audit(release, table, repeats=3, seed=2)
    assert not found.is_refuted
    assert {each.about for each in found.law_checks} == {
        "published s against the stated matrix",
        "published s among people alike in all else, against the stated matrix",
    }
    assert not found.attributes
    (reason,) = [each.reason for each in found.skipped if each.what == "beliefs about s"]
    assert "30,000 categories of 's'" in reason
    assert f"{MOST_VALUES:,} categories at most" in reason


def test_a_law_that_keeps_less_than_it_says_is_refuted(published):
    """The broken twin: three tenths of the values are kept, and not half of them."""
    table, _ = published
    weaker = release_in_memory(table, RandomizedResponse(retention=0.3), seed=1)
    stated = release_in_memory(table, RandomizedResponse(retention=0.5), seed=1)
    claimed = type(stated)(None, stated.manifest, weaker.sources, stated.engine)
    assert audit(claimed, table, repeats=3, seed=2).is_refuted


def test_an_attack_on_them_is_refused_before_it_begins(published):
    """A sentence, and not a machine without memory."""
    with pytest.raises(TooLargeError, match="Merge categories in the schema"):
        PosteriorBelief().run(published[1])


@pytest.mark.parametrize(
    ("values", "kinds"), [(MOST_VALUES + 1, 2), (MOST_VALUES, MOST_BELIEFS // MOST_VALUES + 1)]
)
def test_both_limits_are_where_they_are_stated(values, kinds):
    """One value or one kind of people more than may be is refused, none more is not."""
    place, job = table_of([kinds, values], [[0], [0]]).schema.attributes
    with pytest.raises(TooLargeError):
        Targets.of((place,), job, {"x0": np.arange(kinds)}, are_members=True)
    fewer = table_of([2, min(values, MOST_VALUES)], [[0], [0]]).schema["s"]
    kept = np.arange(min(kinds, MOST_BELIEFS // MOST_VALUES))
    assert len(Targets.of((place,), fewer, {"x0": kept}, are_members=True).combinations) == kept.size


def test_one_row_of_a_matrix_stands_for_all_where_they_are_alike():
    """As resampling draws: the same as the matrix written out."""
    generator = np.random.default_rng(3)
    alike = Alike("job", *generator.integers(0, 9, (2, 6, 4)).astype(float))
    shares = np.array([0.1, 0.2, 0.3, 0.4])
    assert alike.against(shares[np.newaxis]) == alike.against(np.tile(shares, (4, 1)))


@pytest.mark.parametrize("channel", [TwoValued(0.8, 0.2), np.array([[0.8, 0.2], [0.2, 0.8]])])
def test_a_margin_is_judged_by_the_spread_of_single_draws(channel):
    """100 rows of the first value, each shown with probability 0.8: 80 and 20 expected, of variance 100 * 0.8 * 0.2 = 16 both."""
    found = rows._margin("job", np.array([60, 40]), np.array([100, 0]), channel)
    assert found.p_value == pytest.approx(2 * bernstein(60, 80, 16))
    assert found.p_value < 2 * bernstein(60, 80, 80)
