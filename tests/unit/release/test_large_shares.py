"""Shares of a population above one half are known by those who are no part of them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sfumato import RandomizedResponse, Schema, read_table
from sfumato.errors import NotIdentifiableError
from sfumato.estimates.estimates import Certainty, Estimates
from sfumato.release import tabulation as large_shares
from sfumato.release.tabulation import _by_what_is_left
from sfumato.testing import release_in_memory

SCHEMA = Schema.from_toml("""
[attributes.region]
role = "quasi-identifier"
categories = ["north", "south"]
[attributes.rare]
role = "quasi-identifier"
categories = ["no", "yes"]
[attributes.job]
role = "sensitive"
categories = ["a", "b"]
""")


@pytest.fixture(scope="module")
def release():
    """Two in a hundred of the north are rare, and none of fifty in the south."""
    columns = {
        "region": ["north"] * 100 + ["south"] * 50,
        "rare": ["no"] * 98 + ["yes"] * 2 + ["no"] * 50,
        "job": ["a", "b"] * 75,
    }
    return release_in_memory(read_table(pa.table(columns), SCHEMA), RandomizedResponse(retention=0.5), seed=1)


@pytest.mark.parametrize("region", ["north", "south"])
def test_a_large_share_has_the_interval_that_the_others_leave(release, region):
    """From one less their upper end to one less their lower end, and their error."""
    most, few = (
        release.proportion(f"rare = '{label}'", given=f"region = '{region}'", target="population")
        for label in ("no", "yes")
    )
    assert most.estimate == pytest.approx(1 - few.estimate)
    assert (most.low, most.high) == pytest.approx((1 - few.high, 1 - few.low))
    assert most.std_error >= few.std_error > 1e-3


def test_a_difference_of_large_shares_is_that_of_the_others_the_other_way_round(release):
    """Nobody rare was drawn in the south, and the difference is not known better than by some rows."""
    asked = {"given": "region = 'south'", "versus": "region = 'north'", "target": "population"}
    most, few = (release.difference(f"rare = '{label}'", **asked) for label in ("no", "yes"))
    assert most.estimate == pytest.approx(0.02)
    assert (most.low, most.high) == pytest.approx((-few.high, -few.low))
    assert most.std_error >= few.std_error > 0.01


def test_shares_of_the_table_stay_exact(release):
    """Nothing was drawn there."""
    found = release.proportion("rare = 'no'", given="region = 'north'")
    assert found.is_exact
    assert found.estimate == pytest.approx(0.98)


def test_small_shares_and_everybody_are_asked_as_they_are(release):
    """One of one half or less by itself; of no question at all everybody."""
    few = release.proportion("rare = 'yes'", given="region = 'north'", target="population")
    counts = release.law.estimate_predicates(
        release,
        [release._read(each) for each in ("rare = 'yes' AND region = 'north'", "region = 'north'")],
        target="population",
    )
    (low,), (high,) = counts.ratio([1, 0], [0, 1]).within(0, 1).intervals(0.95)
    assert (few.low, few.high) == pytest.approx((low, high))
    assert release.proportion("", target="population").estimate == 1.0


def test_what_is_left_is_asked_above_one_half_alone(release, monkeypatch):
    """A third of all are of the south, and of the rare none: nobody asks for the others."""

    def ask(*_):
        raise AssertionError("the others were asked for")

    monkeypatch.setattr(large_shares, "_by_what_is_left", ask)
    assert release.proportion("region = 'south'", target="population").estimate == pytest.approx(1 / 3)
    groups = {"given": "rare = 'yes'", "versus": "rare = 'no'"}
    assert release.difference("region = 'south'", **groups, target="population").estimate < 0
    with pytest.raises(AssertionError, match="others"):
        release.proportion("region = 'north'", target="population")


def estimate(value, variance=0.01, certainty=Certainty.ESTIMATED):
    """One number."""
    return Estimates(np.array([value]), np.array([variance]), certainty=np.array([certainty], np.int8))


@pytest.mark.parametrize(("one", "other"), [(0.01, 0.04), (0.04, 0.01)])
def test_the_larger_of_two_errors_is_stated(one, other):
    """Whichever of the two ways it comes from."""
    assert _by_what_is_left(estimate(0.8, one), 1.0, lambda: estimate(0.2, other)).variances == [0.04]


def test_numbers_that_do_not_add_up_stay_as_they_are():
    """Or that are certain, or of which nothing is told."""
    found, exact = estimate(0.8), estimate(0.8, 0.0, Certainty.EXACT)

    def refuse():
        raise NotIdentifiableError("nothing is told of the others.")

    assert _by_what_is_left(found, 1.0, lambda: estimate(0.3)) is found
    assert _by_what_is_left(found, 1.0, lambda: estimate(0.2, 0.0, Certainty.EXACT)) is found
    assert _by_what_is_left(found, 1.0, refuse) is found
    assert _by_what_is_left(exact, 1.0, lambda: estimate(0.2)) is exact
