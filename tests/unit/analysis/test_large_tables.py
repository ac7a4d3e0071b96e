"""Analyses of attributes of many categories, whose tables are too large for a covariance of every cell."""

from __future__ import annotations

import numpy as np
import pytest

from published_rows import category_attribute
from sfumato import Anatomy, NoisyMarginals, RandomizedResponse, SamplePerturbScale, SPLUGen
from sfumato.analysis import regression as fitting
from sfumato.analysis.counts import ask_two_way
from sfumato.data.engine import ArrayEngine, CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.errors import NotIdentifiableError, TooLargeError
from sfumato.estimates.estimates import EstimatesBesideKnown
from sfumato.schema import Role, Schema
from sfumato.testing import release_in_memory

PUBLIC = (("a", 2), ("b", 3), ("c", 4), ("d", 5), ("e", 6), ("place", 250))
SCHEMA = Schema(
    attributes=(
        *(category_attribute(name, size, Role.QUASI_IDENTIFIER) for name, size in PUBLIC),
        category_attribute("y", 6, Role.SENSITIVE),
    )
)
HIGH = "y IN ('3', '4', '5')"
SOME = "place IN ('1', '2', '3') OR a = '1'"


def table_of(rows=6_000):
    """High y goes with a and b, with nothing else."""
    draw = np.random.default_rng(1)
    codes = {name: draw.integers(0, size, rows) for name, size in PUBLIC}
    chance = 1 / (1 + np.exp(-(-0.5 + 0.8 * codes["a"] + 0.5 * (codes["b"] == 2))))
    high = draw.random(rows) < chance
    codes["y"] = np.where(high, 3, 0) + draw.integers(0, 3, rows)
    return PrivateTable(CodedRows(SCHEMA, codes), SCHEMA, engine=ArrayEngine())


TABLE = table_of()
DESIGNS = {
    "randomized": RandomizedResponse(retention=0.6),
    "buckets": Anatomy(l_value=3),
    "decoys": SPLUGen(gamma=2),
    "samples": SamplePerturbScale(retention=0.5, relative_error=0.5, error_probability=0.5),
}
RELEASES = {name: release_in_memory(TABLE, each, seed=1) for name, each in DESIGNS.items()}


@pytest.mark.parametrize("name", RELEASES)
def test_conditions_on_many_categories_are_few_classes(name):
    """Their four counts are those that queries give, with the error of each; measures and tests follow."""
    release = RELEASES[name]
    found = ask_two_way(release, SOME, HIGH)
    asked = [f"{one}({SOME}) AND {other}{HIGH}" for one in ("NOT ", "") for other in ("NOT ", "")]
    answers = release.queries(asked)
    np.testing.assert_allclose(found.counts.values, [each.estimate for each in answers], atol=1e-9)
    errors = [each.std_error for each in answers]
    np.testing.assert_allclose(found.counts.standard_errors, errors, atol=1e-9)
    first, second, third, fourth = found.counts.values
    odds = release.measures(SOME, HIGH, only=["odds-ratio"])["odds-ratio"]
    assert odds.estimate == pytest.approx(first * fourth / (second * third))
    assert 0 <= release.independence(SOME, HIGH).p_value <= 1


def test_randomized_attributes_of_many_categories_are_crossed_with_a_condition():
    """By the combinations that occur: the same as from the whole table, which is asked for category by category."""
    release = RELEASES["randomized"]
    found = ask_two_way(release, "place", HIGH)
    assert found.counts.values.size == 500
    for place in (0, 17, 249):
        asked = f"place = '{place}' AND {HIGH}"
        answer = release.query(asked)
        assert found.counts.values[2 * place + 1] == pytest.approx(answer.estimate)


@pytest.mark.parametrize("name", ["buckets", "decoys", "samples"])
@pytest.mark.parametrize("target", ["table", "population"])
def test_known_covariates_may_be_many(monkeypatch, name, target):
    """Fitted from each term with the response, the covariates being known: the same as from the joint, where that is small."""
    release = RELEASES[name]
    joint = release.regression(f"{HIGH} ~ a + b + c", target=target)

    def refuse(*_):
        raise TooLargeError("too large")

    monkeypatch.setattr(fitting, "_from_joint", refuse)
    monkeypatch.setattr("sfumato.analysis.regression.MOST_CELLS", 20)
    blocks = release.regression(f"{HIGH} ~ a + b + c", target=target)
    np.testing.assert_allclose(blocks.estimates.values, joint.estimates.values, rtol=1e-6)
    # Laws estimate the covariance of sums from the sums themselves; about the population the draw is the model's.
    errors = joint.estimates.standard_errors
    np.testing.assert_allclose(blocks.estimates.standard_errors, errors, rtol=0.02)
    monkeypatch.undo()
    wide = release.regression(f"{HIGH} ~ a + b + c + d + e", target=target)
    assert any("too large" in each for each in wide.notes)
    low, high = wide["a = '1'"].low, wide["a = '1'"].high
    assert low < 1.4
    assert high > 0.2
    assert np.isinf(wide.strength)


@pytest.mark.parametrize("name", ["buckets", "decoys", "samples"])
def test_what_stays_too_large_is_refused_with_its_size(name):
    """Nothing is left out in silence."""
    release = RELEASES[name]
    for ask in (
        lambda: release.regression(f"{HIGH} ~ place*a"),
        lambda: release.loglinear("place*y + a"),
        lambda: release.independence("place", "y", given=["b"]),
    ):
        with pytest.raises(TooLargeError, match="cells, and the covariance of at most 2,000 is computed"):
            ask()


@pytest.mark.parametrize("name", ["randomized", "buckets", "samples"])
def test_measures_and_tests_of_some_more_classes_than_a_table_has_covariances_for(name):
    """250 places by six: what the counts are is what the release counts, and conditions on the same agree with it."""
    release = RELEASES[name]
    cells = ask_two_way(release, "place", "y")
    np.testing.assert_allclose(cells.counts.values, release.counts(["place", "y"]).estimates.values)
    assert cells.counts.covariance.shape == (1_500, 1_500)
    # Any sum of the cells has about the error that the release itself gives the sum; buckets estimate it from the sum.
    weights = np.zeros((1, 1_500))
    weights[0, 6 * 17 + 3 : 6 * 17 + 6] = 1
    asked = release.query(f"place = '17' AND {HIGH}")
    assert cells.counts.linear(weights).standard_errors[0] == pytest.approx(asked.std_error, rel=0.05)


def test_a_law_without_a_covariance_says_that_it_has_none():
    """Decoys among many public groups: fewer cells than could be, and no covariance between them."""
    with pytest.raises(
        TooLargeError, match="1,500 cells, and the release's law gives no covariance between them"
    ):
        RELEASES["decoys"].measures("place", "y")


def test_rows_chosen_by_or_leave_large_tables_without_a_covariance():
    """The reason is the choice of rows, not the size."""
    with pytest.raises(TooLargeError, match="among rows chosen like that"):
        RELEASES["buckets"].measures("place", "y", where="a = '1' OR b = '2'")


def test_noisy_covariates_are_not_taken_for_known():
    """Their table has noise, and is too large for the covariance that it then needs."""
    design = NoisyMarginals(
        epsilon=5.0, marginals=(("a", "b", "c", "d", "e"), *((name, "y") for name in "abcde"))
    )
    with pytest.raises(NotIdentifiableError, match="no published table holds"):
        release_in_memory(TABLE, design, seed=1).regression(f"{HIGH} ~ a + b + c + d + e")


def test_known_numbers_move_sums_and_have_no_error():
    """By hand: 2 * 3 + 10 - 20, with four times the variance of the first."""
    from sfumato.estimates.estimates import Estimates

    first = Estimates.with_covariance(np.array([3.0]), np.array([[4.0]]))
    found = EstimatesBesideKnown.of(first, np.array([10.0, 20.0])).linear(np.array([[2.0, 1.0, -1.0]]))
    assert (found.values[0], found.variances[0]) == (-4, 16)
