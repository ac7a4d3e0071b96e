"""Tests of independence through the law."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import chi2, chi2_contingency, ncx2

from known_counts import KnownCounts
from published_rows import category_attribute
from samples import SCHEMA, people
from sfumato import Anatomy, RandomizedResponse, SPLUGen, read_table
from sfumato.analysis.equations import judge_residuals
from sfumato.analysis.independence import independence
from sfumato.errors import NoSolutionError, NotIdentifiableError, ParameterError, QueryError
from sfumato.estimates.estimates import Estimates
from sfumato.testing import in_memory, release_in_memory

CLOSE = 1e-6
"""The digits to which the examples were written down."""
A, Y, WIDE = category_attribute("a", 2), category_attribute("y", 2), category_attribute("y", 3)
WITHIN = 400 / 9 * np.array([[1, -1], [-1, 1]])
EXAMPLE_1 = KnownCounts((A, Y), [200 / 3, 100 / 3, 25, 75], np.kron(np.eye(2), WITHIN))


def test_two_by_two():
    """Example 5: on one degree Wald's test by the model is that of the published table itself."""
    found = independence(EXAMPLE_1, "a", "y")
    np.testing.assert_allclose(found.pearson, 34.965035, atol=CLOSE)
    np.testing.assert_allclose(found.design_effect, 2.615385, atol=CLOSE)
    np.testing.assert_allclose((found.wald, found.statistic), (12.531328, 13.368984), atol=CLOSE)
    np.testing.assert_allclose((found.p_value, found.wald_p_value), (0.000256, 0.000400), atol=CLOSE)


def test_published_rows_of_the_example():
    """Example 5: the statistic of the published table itself."""
    published = independence(KnownCounts((A, Y), [60, 40, 35, 65]), "a", "y")
    np.testing.assert_allclose(published.statistic, 12.531328, atol=CLOSE)


def test_two_by_three():
    """Example 13: degrees are a fraction."""
    found = independence(KnownCounts((A, WIDE), [20, 15, 5, 8, 14, 22], 4), "a", "y")
    np.testing.assert_allclose(found.pearson, 15.726228, atol=CLOSE)
    np.testing.assert_allclose((found.degrees, found.p_value), (1.984945, 0.001412), atol=CLOSE)


def test_walds_test_by_contrasts():
    """Example 13. Contrasts of the cells by what is expected have the draw of the model, and noise of variance 4."""
    counts = np.array([[20, 15, 5], [8, 14, 22]], dtype=float)
    found = independence(KnownCounts((A, WIDE), counts, 4), "a", "y")
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    columns = np.array([[1, -1, 0], [0, 1, -1]])
    contrasts = np.array([np.outer([1, -1], each) for each in columns]).reshape(2, 6) / expected.ravel()
    left = contrasts @ counts.ravel()
    # Sums of contrasts over what is expected are zero, so that nothing is taken off for the total.
    spread = contrasts @ np.diag(expected.ravel() + 4) @ contrasts.T
    np.testing.assert_allclose(found.wald, left @ np.linalg.inv(spread) @ left)
    np.testing.assert_allclose(found.wald_p_value, np.exp(-found.wald / 2))
    assert found.wald_degrees == 2


def test_without_noise_walds_test_is_pearsons_and_an_empty_cell_says_no_more_than_others():
    """The draw at the counts themselves has no spread along an empty cell, and would take it for known."""
    empty = independence(KnownCounts((A, WIDE), [0, 12, 8, 5, 10, 5]), "a", "y")
    np.testing.assert_allclose(empty.wald, empty.pearson)
    np.testing.assert_allclose(empty.wald_p_value, empty.p_value)


def test_a_covariance_below_zero_adds_nothing():
    """An unbiased covariance may be so: Wald's statistic was then negative, or had no p-value."""
    found = independence(KnownCounts((A, Y), [30, 20, 25, 25], 12 - 10 * np.eye(4)), "a", "y")
    np.testing.assert_allclose(found.wald, found.pearson)
    assert 0 < found.wald_p_value < 1


def test_without_noise_the_plain_statistic_is_pearsons():
    """And near independence the correction does nothing."""
    table = [[200, 310, 490], [205, 305, 490]]
    found = independence(KnownCounts((A, WIDE), table), "a", "y")
    plain = chi2_contingency(np.array(table), correction=False)
    np.testing.assert_allclose(found.pearson, plain.statistic)
    np.testing.assert_allclose(found.p_value, plain.pvalue, rtol=1e-3)
    np.testing.assert_allclose((found.degrees, found.design_effect), (2, 1), rtol=1e-3)


def test_conditions_can_be_tested():
    """By whether they hold."""
    release = KnownCounts((A, WIDE), [20, 15, 5, 8, 14, 22], 4)
    assert independence(release, "a", "y != '0'").wald_degrees == 1


def test_a_margin_that_is_not_positive_is_refused():
    """By name."""
    with pytest.raises(NoSolutionError, match=r"there is no test of independence: rows with a = '1'"):
        independence(KnownCounts((A, Y), [30, 20, -4, 2], 25), "a", "y")


def test_results_are_plain_data():
    """One line, a few lines, JSON and Arrow."""
    found = independence(EXAMPLE_1, "a", "y")
    assert repr(found) == "IndependenceTest(a with y: p = 0.000256)"
    assert "Design effect 2.615: without noise, 0.3824 of the rows tell as much" in str(found)
    assert "found 80 % of the time at 0.05 here" in str(found)
    assert found.to_dict()["of"] == ["a", "y"]
    assert found.to_arrow().num_rows == 1


Z = category_attribute("z", 2)
STRATA = np.array([[[120, 60], [40, 20]], [[30, 90], [60, 180]]])
"""Of z, a and y: independent within both groups of z, and not over them."""


def test_conditional_independence_is_tested_within_groups():
    """Sums of Pearson's statistic over groups, on as many degrees; exactly independent within, not without."""
    release = KnownCounts((Z, A, Y), STRATA)
    within = independence(release, "a", "y", given=["z"])
    np.testing.assert_allclose(within.pearson, 0, atol=1e-20)
    assert (within.wald_degrees, within.given) == (2, ("z",))
    assert independence(release, "a", "y").p_value < 1e-3
    moved = STRATA + np.array([[[9, -9], [-9, 9]], [[4, -4], [-4, 4]]])
    found = independence(KnownCounts((Z, A, Y), moved), "a", "y", given=["z"])
    plain = [chi2_contingency(each, correction=False).statistic for each in moved]
    np.testing.assert_allclose(found.pearson, sum(plain))
    np.testing.assert_allclose(found.p_value, chi2.sf(sum(plain), 2))
    assert repr(found).startswith("IndependenceTest(a with y given z: p = ")


def test_mutual_independence_of_three():
    """Pearson's statistic against the product of three margins (Guo 2010, eq. 3.6)."""
    found = independence(KnownCounts((Z, A, Y), STRATA), "z", "a", "y")
    total = STRATA.sum()
    margins = [STRATA.sum(axis=axes) / total for axes in ((1, 2), (0, 2), (0, 1))]
    expected = total * np.einsum("i,j,k->ijk", *margins)
    np.testing.assert_allclose(found.pearson, ((STRATA - expected) ** 2 / expected).sum())
    assert found.wald_degrees == 4
    assert "Mutual independence of z and a and y" in str(found)


def test_groups_without_any_row_say_nothing():
    """Known to be empty: they are left out, and their degrees with them."""
    wide = category_attribute("z", 3)
    release = KnownCounts((wide, A, Y), np.concatenate([STRATA, np.zeros((1, 2, 2))]))
    assert independence(release, "a", "y", given=["z"]).wald_degrees == 2


def test_categories_without_any_row_say_nothing():
    """A listed category that nobody has, and one that nobody of a group has: as if it were not listed there."""
    table = np.array([[30, 20, 0], [15, 40, 0]])
    found = independence(KnownCounts((A, WIDE), table), "a", "y")
    plain = chi2_contingency(table[:, :2], correction=False)
    np.testing.assert_allclose((found.pearson, found.p_value), (plain.statistic, plain.pvalue))
    assert found.wald_degrees == 1
    strata = np.array([table, [[10, 20, 30], [30, 20, 25]]])
    within = independence(KnownCounts((Z, A, WIDE), strata), "a", "y", given=["z"])
    rest = chi2_contingency(strata[1], correction=False)
    np.testing.assert_allclose(within.pearson, plain.statistic + rest.statistic)
    assert within.wald_degrees == 3
    with pytest.raises(NoSolutionError, match="no row is there"):
        independence(KnownCounts((A, WIDE), np.zeros((2, 3))), "a", "y")
    with pytest.raises(NoSolutionError, match="nothing to test"):
        independence(KnownCounts((A, Y), [[3, 0], [4, 0]]), "a", "y")


def test_a_margin_that_is_not_positive_within_a_group_is_named():
    """With the group."""
    counts = np.array([[[30, 20], [25, 20]], [[30, 20], [-4, 2]]])
    with pytest.raises(NoSolutionError, match=r"rows with a = '1' and z = '1' are estimated as -2"):
        independence(KnownCounts((Z, A, Y), counts, 9), "a", "y", given=["z"])


def test_power_that_was_lost_is_reported():
    """What is found in four of five releases, by the noncentral chi-square; in the private table it is less."""
    found = independence(EXAMPLE_1, "a", "y")
    critical = chi2.isf(0.05, 1)
    np.testing.assert_allclose(ncx2.sf(critical, 1, 200 * found.detectable_without_noise**2), 0.8, rtol=1e-6)
    np.testing.assert_allclose(
        found.detectable / found.detectable_without_noise, math.sqrt(found.design_effect), rtol=1e-6
    )


ROWS = in_memory(read_table(people(3_000), SCHEMA))
DESIGN = RandomizedResponse(retention=0.6, attributes=("sex", "job"))
TOLD = release_in_memory(ROWS, DESIGN, seed=8)
WITHHELD = release_in_memory(ROWS, DESIGN, seed=8, withhold_law=True)


def test_published_rows_are_tested_as_they_stand():
    """Pearson's test of the published table, asked for or where the law is withheld."""
    plain = chi2_contingency(TOLD.count_by(["sex", "job"]).counts, correction=False)
    for release, counts in ((TOLD, "published"), (WITHHELD, None)):
        found = release.independence("sex", "job", counts=counts)
        np.testing.assert_allclose((found.statistic, found.p_value), (plain.statistic, plain.pvalue))
        assert (found.degrees, found.counts) == (3, "published")
    assert TOLD.independence("sex", "job").counts == "estimated"


def test_what_was_lost_on_published_rows_is_told_by_the_law_alone():
    """It is the same as through the law; withheld, it is not known."""
    told = TOLD.independence("sex", "job", counts="published")
    np.testing.assert_allclose(told.detectable, TOLD.independence("sex", "job").detectable)
    assert math.isnan(WITHHELD.independence("sex", "job").detectable)
    assert "how much the law does not tell" in str(WITHHELD.independence("sex", "job"))
    untouched = WITHHELD.independence("age", "region")
    assert untouched.detectable == untouched.detectable_without_noise


def test_groups_of_what_was_randomized_are_refused_on_published_rows():
    """The level would be wrong: measured, 1.00 in the place of 0.05."""
    for settings in ({"given": ["sex"]}, {"where": "sex = 'Male'"}):
        with pytest.raises(NotIdentifiableError, match="within groups of 'sex' is not valid"):
            WITHHELD.independence("age", "job", **settings)
    assert TOLD.independence("age", "job", given=["sex"]).counts == "estimated"
    assert WITHHELD.independence("age", "job", given=["region"]).p_value > 1e-6


def test_published_rows_of_other_laws_are_refused():
    """Copies and buckets are not rows."""
    release = release_in_memory(ROWS, Anatomy(l_value=2), seed=1)
    with pytest.raises(NotIdentifiableError, match="cannot be used as they stand"):
        release.independence("sex", "job", counts="published")
    with pytest.raises(NotIdentifiableError, match="only a release"):
        independence(EXAMPLE_1, "a", "y", counts="published")


def test_published_rows_of_decoys_are_tested_as_they_stand():
    """Their columns were each made from themselves; of attributes drawn together they were not, nor is there a matrix."""
    alone = release_in_memory(ROWS, SPLUGen(gamma=2), seed=1)
    plain = chi2_contingency(alone.count_by(["sex", "job"]).counts, correction=False)
    assert alone.independence("sex", "job", counts="published").p_value == pytest.approx(plain.pvalue)
    assert alone.independence("sex", "job").counts == "estimated"
    assert alone.loglinear("sex*job + region", counts="published").counts == "published"
    with pytest.raises(NotIdentifiableError, match="within groups of 'job'"):
        alone.independence("sex", "region", given=["job"], counts="published")
    with pytest.raises(NotIdentifiableError, match="no matrix stands between"):
        alone.advise("sex", "job")
    with pytest.raises(NotIdentifiableError, match="no matrix stands between"):
        alone.check_matrix("job", retention=0.5)
    law = alone.law.model_copy(update={"together": ("job", "region")})
    assert alone.law.keeps_independence
    assert not law.keeps_independence


def test_wrong_questions_are_refused():
    """An attribute twice, counts of another kind."""
    with pytest.raises(QueryError, match="named twice"):
        independence(EXAMPLE_1, "a", "y", given=["a"])
    with pytest.raises(ParameterError, match="estimated, published"):
        independence(EXAMPLE_1, "a", "y", counts="raw")


def test_where_cells_are_few_rows_walds_test_is_warned_of():
    """Of 30 by 7 categories, most with hardly a row in Anatomy's buckets, it rejects 14 of 100 at 5 %."""
    wide, narrow = category_attribute("a", 4), category_attribute("y", 3)
    full = independence(KnownCounts((wide, narrow), [50] * 12, 9.0), "a", "y")
    assert not full.notes
    few = independence(KnownCounts((wide, narrow), [50] * 9 + [3, 2, 1], 9.0), "a", "y")
    assert few.notes == (
        "3 of 12 expected counts are below 5: Wald's test may then reject too often, go by the corrected one",
    )


def test_noise_with_heavy_tails_leaves_fewer_degrees_of_freedom():
    """By hand, 2 by 2 with equal cells of 250: the one free residual is (1, -1, -1, 1) / 2 in units of the root of 250.

    Its square has the variance 2 s^2 of a normal one and, of Laplace noise, four cumulants of 12 b^4 times (1/4 / 250)^2 besides.
    """
    variance, cumulant = 800.0, 12 * 20.0**4
    counts = Estimates(
        np.array([255.0, 245.0, 245.0, 255.0]),
        np.full(4, variance),
        variance * np.eye(4),
        fourth_cumulants=np.full(4, cumulant),
    )
    design = np.array([[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1]], dtype=float)
    found = judge_residuals(counts, np.full(4, 250.0), design)
    # The draw of the rows adds one, and nothing along the fitted counts themselves.
    spread = variance / 250 + (255 + 245 + 245 + 255) / 4 / 250
    heavier = 4 * cumulant * (0.25 / 250) ** 2
    np.testing.assert_allclose(found.degrees, 2 * spread**2 / (2 * spread**2 + heavier), rtol=1e-3)
    np.testing.assert_allclose(found.statistic / found.pearson, found.degrees / spread, rtol=1e-3)
    # Wald's test divides by the spread, so that its square has the variance 2 and what is heavier, by the spread to the fourth.
    squares = 1 + heavier / 2 / spread**2
    np.testing.assert_allclose(found.wald_degrees, 1 / squares)
    np.testing.assert_allclose(found.wald, found.pearson / spread / squares)
    light = judge_residuals(
        Estimates(counts.values, counts.variances, counts.covariance), np.full(4, 250.0), design
    )
    assert light.degrees == pytest.approx(1)
