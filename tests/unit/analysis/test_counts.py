"""Percentages by group, and intervals that hold all together."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from known_counts import KnownCounts, numbered_attribute
from sfumato import NoisyMarginals, RandomizedResponse
from sfumato.analysis.counts import shares
from sfumato.analysis.moments import quantile
from sfumato.errors import NoSolutionError, ParameterError
from sfumato.estimates.estimates import Estimates
from sfumato.release.tabulation import level_of_each
from sfumato.schema import Attribute, Role
from sfumato.testing import release_in_memory, sample_table

TABLE = KnownCounts(
    (numbered_attribute("a", 2), numbered_attribute("y", 2)),
    (66 + 2 / 3, 33 + 1 / 3, 25, 75),
    400 / 9 * np.kron(np.eye(2), [[1, -1], [-1, 1]]),
)
"""Worked by hand: a exact, y kept by 0.6, published (60, 40, 35, 65)."""


def test_shares_within_rows_are_those_worked_by_hand():
    """2/3, 1/3, 1/4, 3/4, each with sqrt(400/9) / 100: the rows of each group are known."""
    found = shares(TABLE, ["a", "y"], within="a")
    assert found.estimates.values == pytest.approx([2 / 3, 1 / 3, 1 / 4, 3 / 4])
    assert found.estimates.standard_errors == pytest.approx([0.0666667] * 4, abs=1e-6)
    assert "shares within a" in found.summary()
    assert found.to_dict()["shares_within"] == ["a"]


def test_shares_within_columns_take_the_noise_of_their_group_along():
    """66.67 / 91.67: the delta method by hand, with both columns' noise."""
    found = shares(TABLE, ["a", "y"], within="y")
    share = (66 + 2 / 3) / (91 + 2 / 3)
    assert found.estimates.values[0] == pytest.approx(share)
    variance = (((1 - share) ** 2 + share**2) * 400 / 9) / (91 + 2 / 3) ** 2
    assert found.estimates.variances[0] == pytest.approx(variance)


def test_shares_of_all_rows_add_up():
    """Without a group."""
    found = shares(TABLE, ["a", "y"])
    assert found.estimates.values.sum() == pytest.approx(1)
    assert "of all rows" in found.summary()


def test_a_group_of_nobody_is_named():
    """With its estimate, and what to do."""
    known = KnownCounts((numbered_attribute("a", 2), numbered_attribute("y", 2)), (10, 5, -3, 1), 4.0)
    with pytest.raises(NoSolutionError, match=r"rows with a = '1' are estimated as .* no shares within them"):
        shares(known, ["a", "y"], within=["a"])


@pytest.mark.parametrize("within", ["b", ["a", "y"]])
def test_groups_must_be_of_the_table(within):
    """And leave something to share."""
    with pytest.raises(ParameterError, match="within some of the attributes"):
        shares(TABLE, ["a", "y"], within=within)


def test_shares_agree_with_single_questions():
    """A cell of the table, and the same asked by itself; about both targets."""
    release = release_in_memory(sample_table(2_000), RandomizedResponse(retention=0.6), seed=4)
    for target in ("table", "population"):
        found = release.shares(["sex", "job"], within="sex", target=target)
        alone = release.proportion("job = 'Care'", given="sex = 'Male'", target=target)
        assert found.values[1, 2] == pytest.approx(alone.estimate)
        assert found.std_errors[1, 2] == pytest.approx(alone.std_error)


def test_bonferroni_splits_what_may_be_missed():
    """0.05 over four numbers; one that is exact takes no part."""
    four = Estimates.with_covariance(np.arange(4.0), np.diag([1.0, 2, 3, 0]))
    assert level_of_each(four, 0.95, "bonferroni") == pytest.approx(1 - 0.05 / 3)
    one = Estimates.with_covariance(np.array([3.0]), np.eye(1))
    assert level_of_each(one, 0.95, "bonferroni") == 0.95


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.95, -0.5])
def test_max_t_is_the_quantile_of_the_largest_error(correlation):
    """Two numbers: the square's probability by scipy; within three errors of 20,000 draws."""
    covariance = np.array([[4.0, 6 * correlation], [6 * correlation, 9.0]])
    level = level_of_each(Estimates.with_covariance(np.zeros(2), covariance), 0.95, "max-t")
    reach = norm.ppf((1 + level) / 2)
    law = multivariate_normal([0, 0], [[1, correlation], [correlation, 1]])
    inside = law.cdf([reach, reach], lower_limit=[-reach, -reach])
    assert inside == pytest.approx(0.95, abs=3 * np.sqrt(0.95 * 0.05 / 20_000))
    assert 0.95 <= level <= 0.975


def test_max_t_lies_between_single_and_bonferroni():
    """And is the same when asked again."""
    release = release_in_memory(sample_table(2_000), RandomizedResponse(retention=0.6), seed=4)
    widths = {}
    for how in (None, "max-t", "bonferroni"):
        low, high = release.counts(["sex", "job"], simultaneous=how).intervals()
        widths[how] = high - low
    assert (widths[None] < widths["max-t"]).all()
    assert (widths["max-t"] < widths["bonferroni"]).all()
    again = release.counts(["sex", "job"], simultaneous="max-t").intervals()
    assert (again[1] - again[0] == widths["max-t"]).all()


def test_an_unknown_way_is_refused():
    """With those there are."""
    release = release_in_memory(sample_table(), NoisyMarginals(epsilon=1.0), seed=1)
    with pytest.raises(ParameterError, match="one of bonferroni, max-t"):
        release.counts("sex", simultaneous="scheffe")


def test_max_t_needs_a_covariance():
    """A table of many cells has variances only."""
    many = Estimates(np.zeros(3), np.ones(3))
    with pytest.raises(ParameterError, match="max-t intervals need the covariance"):
        level_of_each(many, 0.95, "max-t")


def test_ordered_categories_have_a_median_category():
    """34 of 64 rows lie up to the second grade, 2 more than half; less than 1.96 sqrt(8), so that it may be the third."""
    grade = Attribute(
        name="grade", role=Role.OTHER, categories=("none", "school", "college", "doctor"), ordered=True
    )
    found = quantile(KnownCounts((grade,), (12, 22, 33, -3), 8.0), "grade", 0.5)
    assert found.labels == ("school", "school", "college")
    assert found.estimate == 2
    assert "'school'" in repr(found)
    assert "Estimate 'school'" in found.summary()
    assert found.to_dict()["labels"] == ["school", "school", "college"]
