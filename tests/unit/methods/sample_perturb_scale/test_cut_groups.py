"""The error of cutting groups and copying their rows, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from array_tables import ArrayTable
from sampled_rows import SCHEMA, law
from sfumato.estimates.estimates import Certainty
from sfumato.methods.sample_perturb_scale.law import SampledRows, largest_frequencies
from sfumato.methods.sample_perturb_scale.variances import GroupBlocks
from sfumato.query.selection import Selection, Tabulation
from sfumato.randomness.distortion import UniformDistortion
from sfumato.schema import Attribute, Role, Schema

# So little perturbation that it adds nothing: what is left is the error of cutting and copying alone.
UNPERTURBED = UniformDistortion(retention=1 - 1e-13, size=3)


def cut(women, men=(), *, rows_per_group, **settings):
    """Estimates by sex and job of groups with these published counts of three jobs."""
    sex = Attribute(name="sex", role=Role.QUASI_IDENTIFIER, categories=("f", "m"))
    job = Attribute(name="job", role=Role.SENSITIVE, categories=("s", "t", "u"))
    counts = [*women, *men]
    release = ArrayTable(
        Schema(attributes=(sex, job)),
        {
            "sex": np.repeat(np.repeat([0, 1], [len(women), len(men)]), counts),
            "job": np.repeat([*range(len(women)), *range(len(men))], counts),
        },
    )
    law = SampledRows(
        sensitive="job",
        distortion=UNPERTURBED,
        groups=("sex",),
        rows_per_group=rows_per_group,
        **settings,
    )
    found = law.estimate(release, Tabulation(by=("sex", "job")))
    np.testing.assert_allclose(found.values[: len(women)], women, atol=1e-9)
    return found.covariance


def test_quotas_are_rounded_to_whole_rows():
    """30 rows cut to 10, each for 3: 3^2 times 1/6 for each of three quotas, which keep their sum."""
    covariance = cut((15, 9, 6), (4, 3, 3), rows_per_group=10.0)
    expected = 9 / 6 * (np.eye(3) - 1 / 3)
    np.testing.assert_allclose(covariance[:3, :3], expected, rtol=1e-6)
    # The men are as many as may be kept: all of them were.
    np.testing.assert_allclose(covariance[3:], 0, atol=1e-6)


def test_small_quotas_are_rounded_by_their_own_variance():
    """200 rows cut to 10: quotas 9.55, .15 and .3 vary by 1/6, .15 * .85 and 1/6."""
    variances = np.array([1 / 6, 0.15 * 0.85, 1 / 6])
    expected = 20**2 * (np.diag(variances) - np.outer(variances, variances) / variances.sum())
    np.testing.assert_allclose(cut((191, 3, 6), rows_per_group=10.0)[:3, :3], expected, rtol=1e-6)


def test_quotas_of_a_group_are_those_of_all_rows():
    """Two groups of 200 rows cut to 10: of all rows .5, .49 and .01 have each value, so that quotas vary by 1/6, 1/6 and .09."""
    variances = np.array([1 / 6, 1 / 6, 0.1 * 0.9])
    expected = 20**2 * (np.diag(variances) - np.outer(variances, variances) / variances.sum())
    found = cut((150, 47, 3), (50, 149, 1), rows_per_group=10.0)
    np.testing.assert_allclose(found[:3, :3], expected, rtol=1e-6)
    np.testing.assert_allclose(found[3:, 3:], expected, rtol=1e-6)


def test_a_value_that_nobody_has_takes_no_part_in_the_rounding():
    """Quotas 5 and 5 vary by 1/6 each, against each other."""
    expected = 4 / 12 * np.array([[1, -1, 0], [-1, 1, 0], [0, 0, 0]])
    np.testing.assert_allclose(cut((10, 10, 0), rows_per_group=10.0)[:3, :3], expected, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(cut((20, 0, 0), rows_per_group=10.0)[:3, :3], 0, atol=1e-9)


@pytest.mark.parametrize(
    ("settings", "of_copies"),
    [({}, 0.1), ({"is_smallest": True}, 3 - 2 * 2**0.5), ({"has_exact_sizes": False}, 0.1)],
)
def test_copies_are_rounded_to_whole_rows(settings, of_copies):
    """25 rows cut to 10, 2 or 3 copies each: v/w is .25/2.5, or the worst of any smaller factor.

    Exact sizes take the variance of the group's total away.
    """
    counts = np.array([15.0, 5.0, 5.0])
    copies = np.diag(counts) - np.outer(counts, counts) / 25 * settings.get("has_exact_sizes", True)
    expected = 2.5**2 / 6 * (np.eye(3) - 1 / 3) + of_copies * copies
    found = cut((15, 5, 5), rows_per_group=10.0, **settings)
    np.testing.assert_allclose(found[:3, :3], expected, rtol=1e-6)


def test_copies_of_a_smallest_sample_between_one_and_the_worst_factor():
    """12 rows cut to 10 or more: at most 1.2 copies, v/w = .2 * .8 / 1.2 = 3 - 1.2 - 2/1.2."""
    counts = np.array([6.0, 3.0, 3.0])
    expected = 1.44 / 6 * (np.eye(3) - 1 / 3) + 0.16 / 1.2 * (np.diag(counts) - np.outer(counts, counts) / 12)
    for is_smallest in (True, False):
        found = cut((6, 3, 3), rows_per_group=10.0, is_smallest=is_smallest)
        np.testing.assert_allclose(found[:3, :3], expected, rtol=1e-6)


def test_the_errors_of_groups_add_up():
    """Women cut 3 times and men 2 times: 9 and 4 times the same rounding; the sum over both has 13 times."""
    sex = Attribute(name="sex", role=Role.QUASI_IDENTIFIER, categories=("f", "m"))
    job = Attribute(name="job", role=Role.SENSITIVE, categories=("s", "t", "u"))
    codes = {"sex": np.repeat([0, 1], [30, 20]), "job": np.arange(50) % 3}
    law = SampledRows(sensitive="job", distortion=UNPERTURBED, groups=("sex",), rows_per_group=10.0)
    release = ArrayTable(Schema(attributes=(sex, job)), codes)
    found = law.estimate(release, Tabulation(by=("job",)))
    np.testing.assert_allclose(found.covariance, 13 / 6 * (np.eye(3) - 1 / 3), rtol=1e-6)
    one = law.estimate_selections(release, [Selection((("job", (0,)),)), Selection((("job", (1, 2)),))])
    np.testing.assert_allclose(one.covariance, 13 / 9 * np.array([[1, -1], [-1, 1]]), rtol=1e-6)
    expected = law.expected_standard_errors(release.count_by(("sex", "job")))
    np.testing.assert_allclose(expected, [[1.0] * 3, [2 / 3] * 3], rtol=1e-6)


def one_group(note):
    """100 published rows of one group, with these notes."""
    codes = {"place": np.zeros(100), "sex": np.zeros(100), "note": np.array(note), "job": np.arange(100) % 4}
    return ArrayTable(SCHEMA, {name: each.astype(np.uint8) for name, each in codes.items()})


def test_rows_outside_the_groups_of_which_none_was_sampled_may_be_there():
    """Of 100 rows 20 were kept: n rows with a note are all left out with probability (4/5)^n, 5 % at 13.4."""
    release = one_group([0] * 60 + [1] * 40)
    found = law(rows_per_group=20.0).estimate(release, Tabulation(by=("place", "note")))
    _, high = found.intervals()
    assert found.values.reshape(5, 3)[0].tolist() == [60.0, 40.0, 0.0]
    claims = found.certainty.reshape(5, 3)
    assert claims[0].tolist() == [Certainty.ESTIMATED] * 3
    assert high.reshape(5, 3)[0, 2] == pytest.approx(np.log(0.05) / np.log(0.8))
    # No row is of another place, so nothing of one can have been left out.
    assert (claims[1:] == Certainty.EXACT).all()


def test_notes_of_groups_that_were_not_cut_are_exact():
    """All rows were kept as they are; with the perturbed attribute only what nobody can have is."""
    release = one_group([0] * 60 + [1] * 40)
    assert law().estimate(release, Tabulation(by=("note",))).is_exact.all()
    with_job = law().estimate(release, Tabulation(by=("note", "job"))).certainty.reshape(3, 4)
    assert (with_job[:2] == Certainty.ESTIMATED).all()
    assert (with_job[2] == Certainty.EXACT).all()


def test_a_group_whose_size_is_not_exact_may_have_been_cut_by_a_row():
    """At the cap nobody can tell, nor by less than the four quotas can lose; below that the group surely is whole."""
    release = one_group([0] * 60 + [1] * 40)
    sizes = Tabulation(where=Selection((("place", (0,)),)))
    for cap, is_exact in ((100.0, False), (103.0, False), (104.0, True)):
        loose = law(rows_per_group=cap, has_exact_sizes=False)
        assert loose.estimate(release, sizes).is_exact.tolist() == [is_exact]
    assert law(rows_per_group=100.0).estimate(release, sizes).is_exact.all()


def test_quotas_above_a_fifth_are_rounded_like_large_ones():
    """1,000 rows cut to 10, each for 100: quotas 9.54, .23 and .23 vary by 1/6 each, and .2 by .2 * .8."""
    expected = 100**2 / 6 * (np.eye(3) - 1 / 3)
    np.testing.assert_allclose(cut((954, 23, 23), rows_per_group=10.0)[:3, :3], expected, rtol=1e-6)
    variances = np.array([1 / 6, 0.2 * 0.8, 1 / 6])
    expected = 100**2 * (np.diag(variances) - np.outer(variances, variances) / variances.sum())
    np.testing.assert_allclose(cut((950, 20, 30), rows_per_group=10.0)[:3, :3], expected, rtol=1e-6)


FALLING = SampledRows(
    sensitive="job",
    distortion=UniformDistortion(retention=0.5, size=2),
    groups=("sex",),
    rows_per_group=50,
    is_smallest=True,
    caps_fall_with_frequency=True,
)


def test_groups_are_cut_by_their_own_most_frequent_value():
    """Half kept, two values: shares 1, 1/2 and 9/10, and f^2 (p + q) / (f p + q) of the rows."""
    found = FALLING.cut_sizes(np.full(3, 100.0), np.array([1.0, 0.5, 0.9]))
    assert found.tolist() == pytest.approx([100, 37.5, 100 * 0.75 * 0.81 / 0.7])


def test_rows_of_whole_groups_are_those_of_their_blocks():
    """Two groups of three blocks."""
    blocks = GroupBlocks(
        {},
        np.array([[1.0, 2.0], [10.0, 20.0], [5.0, 0.0]]),
        np.ones(3),
        np.array([1, 0, 1]),
        np.ones(3),
        has_outside=True,
    )
    assert blocks.rows_of_groups().tolist() == [[10, 20], [6, 2]]


def test_caps_by_frequency_stay_between_even_and_all():
    """At p = 1/2 of two values: rows of one value only count as one of frequency 1, though the estimate is 1.5; nobody as even.

    A frequency of 1 is cut at the size itself, an even one at (0.5 * 0.5 + 0.25) / (0.75 * 0.25) = 8/3 less.
    """
    found = [
        FALLING.estimated_cut_sizes(np.array([each]))[0] for each in ([80.0, 0.0], [40.0, 40.0], [0.0, 0.0])
    ]
    assert found == pytest.approx([80, 30, 0])


def test_groups_that_differ_by_chance_alone_are_cut_alike():
    """Ten groups of 40 with 20 rows of each value, give or take: no more than chance, so all have the shares of all rows."""
    shifts = np.tile([-2.0, 2.0], 5)
    rows = np.stack([20 + shifts, 20 - shifts], axis=1)
    assert FALLING.estimated_cut_sizes(rows).tolist() == pytest.approx([40 * 0.375] * 10)
    # One by one each would look like a group with more of one value: (20 + 4) / 40 of it.
    assert FALLING.estimated_cut_sizes(rows[:1])[0] == pytest.approx(40 * 0.6**2 * 0.75 / (0.6 / 2 + 0.25))


def test_frequencies_are_drawn_in_by_the_root_of_what_is_no_chance():
    """Squares of .02 from the shares of all, .01 of it by chance: half is kept of squares, so its root of frequencies."""
    found = largest_frequencies(
        np.array([[60.0, 40.0], [40.0, 60.0]]), np.full((2, 2), 50.0), np.full(2, 100.0)
    )
    assert found.tolist() == pytest.approx([0.5 + 0.1 * 0.5**0.5] * 2)


def test_groups_that_differ_surely_are_cut_by_what_they_are():
    """Groups of 10,000 rows that were hardly cut, all of one value and half and half: chance is a thousandth of what they differ by."""
    rows = np.tile([[7_500.0, 2_500.0], [5_000.0, 5_000.0]], (5, 1))
    found = FALLING.model_copy(update={"rows_per_group": 9_000.0}).estimated_cut_sizes(rows)
    assert found[:2].tolist() == pytest.approx([10_000, 3_750], rel=0.02)
