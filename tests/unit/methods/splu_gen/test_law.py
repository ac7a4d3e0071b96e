"""The law of decoys on small tables: algebra that must hold without any randomness."""

from __future__ import annotations

import math

import numpy as np
import pytest

from published_rows import PublishedRows, category_attribute, selection
from rows_left_out import added_by_rows_left_out
from sfumato.errors import NotIdentifiableError, ParameterError
from sfumato.estimates.estimates import Certainty, normal_quantile
from sfumato.methods.splu_gen.decoy_model import DecoyModel, covariance
from sfumato.methods.splu_gen.law import DecoyRows
from sfumato.query.selection import Selection, Tabulation
from sfumato.schema import Role

AREA = category_attribute("area", 3, Role.OTHER)
LAW = DecoyRows(gamma_by_attribute={"job": 3, "pay": 2})
BY_JOB_AND_AREA = Tabulation(by=("job", "area"))


def test_rows_of_the_distortion_sum_to_one_and_keep_the_margin(published):
    """A row shows its own value with probability 1/gamma, and f T = f."""
    counts = np.asarray(published.count_by(("job",), Selection()).counts, dtype=float)
    model = DecoyModel(counts, 3)
    assert np.allclose(model.distortion.sum(axis=1), 1)
    assert np.allclose(np.diagonal(model.distortion), 1 / 3)
    assert np.allclose(counts @ model.distortion, counts)


def test_equally_frequent_values_have_the_pairwise_matrix():
    """Every other value then shows with probability f (gamma-1) / (gamma (N-f))."""
    model = DecoyModel(np.full(10, 100.0), 5)
    off = model.distortion[~np.eye(10, dtype=bool)]
    assert np.allclose(off, 100 * 4 / (5 * 900))


def test_expected_counts_are_inverted_exactly():
    """X T T^-1 = x, by all values at once."""
    model = DecoyModel(np.array([400.0, 300.0, 200.0, 150.0, 100.0, 50.0]), 3)
    true = np.array([200.0, 60.0, 40.0, 8.0, 5.0, 2.0])
    assert np.allclose(true @ model.distortion @ model.inverse, true)


def test_estimates_add_up_to_each_public_group(published):
    """The number of rows of an area is exactly known."""
    values = LAW.estimate(published, BY_JOB_AND_AREA).values.reshape(8, 3)
    assert np.allclose(values.sum(axis=0), published.count_by(("area",), Selection()).counts)


def test_the_variance_of_a_public_group_s_total_is_that_of_rows_left_out(published):
    """Summing a group's estimates over all jobs leaves no error of the draws, and the covariance knows it; up to 5 rows are missing."""
    estimates = LAW.estimate(published, BY_JOB_AND_AREA)
    weights = np.tile(np.eye(3), (1, 8))
    shares = published.count_by(("area",), Selection()).counts / published.number_of_rows
    expected = 5 * 4 * np.outer(shares, shares)
    np.fill_diagonal(expected, added_by_rows_left_out(shares, 5))
    found = estimates.linear(weights).covariance
    assert np.allclose(found, expected, atol=1e-6 * estimates.variances.max())


def test_the_covariance_is_symmetric_and_positive_semidefinite(published):
    """Over all cells of two attributes."""
    whole = LAW.estimate(published, BY_JOB_AND_AREA).covariance
    assert np.allclose(whole, whole.T)
    assert np.linalg.eigvalsh(whole).min() > -1e-6 * np.abs(whole).max()


def test_a_query_is_the_sum_of_its_cells(published):
    """Value and variance of (areas 1, 2; jobs 0, 1), asked directly and from the table."""
    direct = LAW.estimate(published, Tabulation(where=selection(area=(1, 2), job=(0, 1))))
    weights = np.zeros((8, 3))
    weights[:2, 1:] = 1
    summed = LAW.estimate(published, BY_JOB_AND_AREA).linear(weights.reshape(1, -1))
    assert np.allclose(direct.values, summed.values)
    assert np.allclose(direct.variances, summed.variances)


def test_selections_that_overlap_have_the_covariance_of_their_cells(published):
    """Two overlapping selections, one exact one and one about a job alone."""
    asked = [
        selection(area=(1, 2), job=(0, 1)),
        selection(area=(2,), job=(1,)),
        selection(area=(1,)),
        selection(job=(0,)),
    ]
    found = LAW.estimate_selections(published, asked)
    cells = LAW.estimate(published, BY_JOB_AND_AREA)
    weights = np.zeros((4, 8, 3))
    weights[0, :2, 1:] = weights[1, 1, 2] = weights[2, :, 1] = weights[3, 0] = 1
    expected = cells.linear(weights.reshape(4, -1))
    assert np.allclose(found.values, expected.values)
    summed = expected.covariance.copy()
    # A public count is bounded: what it errs by itself is no part of a covariance.
    summed[2, 2] = 0
    assert np.allclose(found.covariance, summed, atol=1e-6 * found.variances.max())


def test_many_selections_are_counted_once_for_each_set_of_attributes(published):
    """Ninety selections over two sets of attributes need four counts, one of all areas; variances stay the same."""
    asked = [selection(area=(code % 3,), job=(code % 8,)) for code in range(60)]
    asked += [selection(job=(code % 8,)) for code in range(30)]
    before = published.scans
    found = LAW.estimate_selections(published, asked)
    assert published.scans - before == 4
    few = LAW.estimate_selections(published, asked[:5])
    assert np.allclose(found.values[:5], few.values)
    assert np.allclose(found.variances[:5], few.variances)


def test_a_value_alone_has_the_binomial_s_variance(published):
    """F (1 - 1/gamma), whatever the groups, and what up to 5 rows left out would add."""
    estimates = LAW.estimate(published, Tabulation(by=("job",)))
    counts = published.count_by(("job",), Selection()).counts
    assert np.allclose(estimates.values, counts)
    left_out = added_by_rows_left_out(counts / counts.sum(), 5)
    assert np.allclose(estimates.variances, counts * (1 - 1 / 3) + left_out)


def test_attributes_that_were_not_drawn_are_known_up_to_the_rows_left_out(published):
    """Groups of 3 and of 2 leave a remainder of up to 5 rows: at least what is published, at most 5 more."""
    estimates = LAW.estimate(published, Tabulation(by=("area",)))
    assert (estimates.certainty == Certainty.BOUNDED).all()
    assert estimates.values.sum() == 6_000
    low, high = estimates.intervals()
    assert low.tolist() == estimates.values.tolist()
    assert (high - low).tolist() == [math.lcm(*LAW.gamma_by_attribute.values()) - 1] * 3


def test_rows_with_rare_values_may_have_been_left_out():
    """Up to one less than was called rare, for every value that no published row shows; and a remainder of one."""
    rows = PublishedRows(
        (AREA, category_attribute("job", 5)),
        {"area": np.arange(1_000) % 3, "job": np.repeat(np.arange(4), 250)},
    )
    law = DecoyRows(gamma_by_attribute={"job": 2}, suppress_rarer_than=20)
    low, high = law.estimate(rows, Tabulation()).intervals()
    assert (low[0], high[0]) == (1_000, 1_000 + 1 + 19)
    unseen = law.estimate(rows, Tabulation(where=selection(job=(4,))))
    assert unseen.intervals()[1][0] == pytest.approx(19)


def test_two_drawn_values_that_no_row_shows_have_an_error():
    """A cell of a product of matrices, of which one value is never published, is not called exact."""
    draw = np.random.default_rng(1)
    rows = PublishedRows(
        (AREA, category_attribute("job", 5), category_attribute("pay", 4)),
        {"area": draw.integers(0, 3, 900), "job": draw.integers(0, 4, 900), "pay": draw.integers(0, 4, 900)},
    )
    law = DecoyRows(gamma_by_attribute={"job": 2, "pay": 2})
    found = law.estimate(rows, Tabulation(by=("job", "pay")))
    last = found.variances.reshape(5, 4)[4]
    # log(0.05) / log(1/4) rows would all have gone unseen with a probability of 5 %.
    assert (last >= (math.log(0.05) / math.log(0.25) / 1.96) ** 2 * 0.999).all()
    assert not found.is_exact.any()


def test_two_drawn_attributes_are_a_product(published):
    """The joint estimate sums to the estimate of each."""
    joint = LAW.estimate(published, Tabulation(by=("job", "pay"), where=selection(area=(0,)))).values.reshape(
        8, 6
    )
    alone = LAW.estimate(published, Tabulation(by=("job",), where=selection(area=(0,)))).values
    assert np.allclose(joint.sum(axis=1), alone)


def test_the_order_of_a_table_is_the_one_asked_for(published):
    """Transposed tables hold the same numbers."""
    one = LAW.estimate(published, BY_JOB_AND_AREA)
    other = LAW.estimate(published, Tabulation(by=("area", "job")))
    assert np.allclose(one.values.reshape(8, 3), other.values.reshape(3, 8).T)
    assert np.allclose(one.variances.reshape(8, 3), other.variances.reshape(3, 8).T)


def test_consistent_counts_are_feasible(published):
    """Not negative, and the areas' totals are kept."""
    values = LAW.consistent(published, BY_JOB_AND_AREA).reshape(8, 3)
    assert values.min() >= 0
    assert np.allclose(values.sum(axis=0), published.count_by(("area",), Selection()).counts)


def test_a_predicate_unrelated_to_the_value_has_a_constant_derivative():
    """For constant theta the change of x T with the margin is D = theta (I - T)."""
    model = DecoyModel(np.array([400.0, 300.0, 200.0, 150.0, 100.0, 50.0]), 3)
    predicate = model.predicate(np.full(6, 0.2))
    # The derivative is defined along margins of a fixed total; the constant direction drops out of both.
    centred = np.eye(6) - np.full((6, 6), 1 / 6)
    expected = 0.2 * (np.eye(6) - model.distortion)
    assert np.allclose(centred @ predicate.derivative(np.eye(6)), centred @ expected)


def test_everyone_s_covariance_is_that_of_the_margin():
    """The predicate that holds for all rows gives G (diag(pi) - Pi/gamma)."""
    model = DecoyModel(np.array([400.0, 300.0, 200.0, 150.0, 100.0, 50.0]), 3)
    everyone = model.predicate(np.ones(6))
    whole = covariance(everyone, everyone, everyone.shares, np.eye(6), np.eye(6))
    assert np.allclose(whole, model.margin_covariance, atol=1e-8)


def test_expected_errors_are_the_estimated_ones_when_nothing_moved(published):
    """From the published counts taken as the truth, near what the plug-in gives."""
    table = published.count_by(("area", "job"), Selection())
    expected = LAW.expected_standard_errors(table)
    found = LAW.estimate(published, Tabulation(by=("area", "job"))).standard_errors.reshape(3, 8)
    assert np.allclose(expected, found, rtol=0.15)


def test_largest_first_groups_have_no_law_but_the_named_estimators(published):
    """The matrix would be wrong, so the default refuses; the biased ones say what they are."""
    law = DecoyRows(gamma_by_attribute={"job": 3}, partition="largest-first")
    question = Tabulation(where=selection(area=(0,), job=(1,)))
    with pytest.raises(NotIdentifiableError, match="largest-first"):
        law.estimate(published, question)
    assert law.estimate(published, Tabulation(by=("job",))).values.sum() == 6_000
    for estimator in ("pairwise", "paper"):
        assert np.isfinite(law.estimate_by(estimator, published, question).values).all()


def test_named_estimators_on_the_published_example():
    """Nine rows of the paper, P = first area, value 2: 5/3 pairwise, 1.26114 by the paper; Flu is refused."""
    # Flu 0, Fever 1, Hiv 2, H5N1 3; the area of Zip [12-17k] is 0.
    job = np.array([0, 0, 1, 2, 0, 2, 1, 0, 3])
    area = np.array([0, 1, 0, 1, 2, 0, 2, 1, 0])
    rows = PublishedRows((AREA, category_attribute("job", 4)), {"area": area, "job": job})
    law = DecoyRows(gamma_by_attribute={"job": 3})
    hiv, flu = (Tabulation(where=selection(area=(0,), job=(code,))) for code in (2, 0))
    assert law.estimate_by("pairwise", rows, hiv).values[0] == pytest.approx(5 / 3)
    paper = law.estimate_by("paper", rows, hiv)
    assert paper.values[0] == pytest.approx(1.26114, abs=1e-5)
    assert np.isnan(paper.variances[0])
    with pytest.raises(NotIdentifiableError, match="not determined"):
        law.estimate_by("pairwise", rows, flu)


def test_named_estimators_say_what_they_cannot_do(published):
    """Sums of several categories, several drawn attributes, unknown names."""
    with pytest.raises(ParameterError, match="one category"):
        LAW.estimate_by("paper", published, Tabulation(where=selection(job=(0, 1))))
    with pytest.raises(ParameterError, match="one drawn attribute"):
        LAW.estimate_by("pairwise", published, Tabulation(where=selection(job=(0,), pay=(1,))))
    with pytest.raises(ParameterError, match="no estimator"):
        LAW.estimate_by("best", published, BY_JOB_AND_AREA)


def test_the_population_s_error_comes_on_top(published):
    """At least the multinomial variance of the estimate is added."""
    where = Tabulation(where=selection(area=(0,), job=(1,)))
    own, drawn = (LAW.estimate(published, where, target=each) for each in ("table", "population"))
    x = own.values[0]
    assert drawn.variances[0] == pytest.approx((own.variances[0] + x - x**2 / 6_000) * 6_000 / 5_999)
    selections = LAW.estimate_selections(published, [where.where], target="population")
    assert selections.variances[0] == pytest.approx(drawn.variances[0])


def test_a_value_that_no_row_shows_is_not_called_exact():
    """Its estimate is 0; so many rows as would go unseen with a probability of 5 % end its 95 % interval."""
    job = np.repeat(np.arange(5), [300, 300, 200, 200, 0])
    rows = PublishedRows((AREA, category_attribute("job", 5)), {"area": np.arange(1_000) % 3, "job": job})
    law = DecoyRows(gamma_by_attribute={"job": 2})
    for question in (Tabulation(by=("job",)), Tabulation(by=("job",), where=selection(area=(1,)))):
        estimates = law.estimate(rows, question)
        assert estimates.values[4] == pytest.approx(0, abs=1e-9)
        # Each of n rows is shown by neither of the two rows of its group with probability 1/4.
        assert estimates.intervals()[1][4] == pytest.approx(math.log(0.05) / math.log(0.25))


def test_a_share_of_a_value_that_no_row_shows_is_not_called_exact():
    """Selections, which shares are made of, carry the same error as tabulations do, few or many."""
    job = np.repeat(np.arange(5), [300, 300, 200, 200, 0])
    rows = PublishedRows((AREA, category_attribute("job", 5)), {"area": np.arange(1_000) % 3, "job": job})
    law = DecoyRows(gamma_by_attribute={"job": 2})
    asked = [selection(area=(1,), job=(4,)), selection(area=(1,)), selection(job=(4,))]
    for number in (1, 30):
        found = law.estimate_selections(rows, asked * number)
        unseen = (math.log(0.05) / math.log(0.25) / normal_quantile(0.95)) ** 2
        assert found.variances[[0, 2]] == pytest.approx([unseen, unseen])
        assert found.certainty[:3].tolist() == [Certainty.ESTIMATED, Certainty.BOUNDED, Certainty.ESTIMATED]


def test_a_condition_that_every_value_satisfies_asks_nothing():
    """The number of rows of a public group is known up to a row left out, even where no single count is determined."""
    law = DecoyRows(gamma_by_attribute={"job": 2})
    # Value 0 is published once for every group of two: nothing can be said of how it meets the area.
    job = np.repeat(np.arange(4), [3_000, 1_500, 900, 600])
    area = category_attribute("area", 2, Role.OTHER)
    saturated = PublishedRows(
        (area, category_attribute("job", 4)), {"area": np.arange(6_000) % 2, "job": job}
    )
    everyone = selection(area=(0,), job=(0, 1, 2, 3))
    for found in (
        law.estimate(saturated, Tabulation(where=everyone)),
        law.estimate_selections(saturated, [everyone]),
    ):
        assert found.values.tolist() == [3_000]
        assert [each.tolist() for each in found.intervals()] == [[3_000], [3_001]]


@pytest.mark.parametrize(
    ("estimate", "error", "kind"), [(4.0, 1.0, "small"), (40.0, 20.0, "grey"), (4_000.0, 50.0, "large")]
)
def test_every_answer_is_small_grey_or_large(published, estimate, error, kind):
    """By its size and by its own error."""
    from sfumato.estimates.estimates import Estimates

    notes = LAW.notes(published, selection(job=(0,)), Estimates(np.array([estimate]), np.array([error**2])))
    assert notes[0].startswith(kind)


@pytest.mark.parametrize("target", ["table", "population"])
def test_many_selections_have_the_errors_of_few(published, target):
    """Above the number up to which covariances are computed, whatever the estimate is of."""
    asked = [selection(area=(code % 3,), job=(code % 8,)) for code in range(90)]
    many = LAW.estimate_selections(published, asked, target=target)
    few = LAW.estimate_selections(published, asked[:6], target=target)
    assert np.allclose(many.values[:6], few.values)
    assert np.allclose(many.variances[:6], few.variances)


@pytest.mark.parametrize("target", ["table", "population"])
def test_a_large_table_has_the_errors_of_its_cells(target):
    """200 areas by 8 jobs, of which one is never shown: too many cells for a covariance."""
    draw = np.random.default_rng(5)
    areas = category_attribute("area", 200, Role.OTHER)
    job = draw.choice(7, 6_000, p=np.array([5, 4, 3, 3, 3, 3, 3]) / 24)
    columns = {"area": (job * 7 + draw.integers(0, 160, 6_000)) % 200, "job": job}
    rows = PublishedRows((areas, category_attribute("job", 8)), columns)
    law = DecoyRows(gamma_by_attribute={"job": 3})
    table = law.estimate(rows, Tabulation(by=("job", "area")), target=target)
    assert table.covariance is None
    for code, place in ((0, 3), (3, 150), (6, 40), (7, 11)):
        where = Tabulation(where=selection(area=(place,), job=(code,)))
        cell = law.estimate(rows, where, target=target)
        assert table.values[code * 200 + place] == pytest.approx(cell.values[0])
        assert table.variances[code * 200 + place] == pytest.approx(cell.variances[0])


BY_BOTH_AND_AREA = Tabulation(by=("pay", "area", "job"))


def test_sums_over_a_drawn_attribute_have_the_errors_of_the_other_alone(published):
    """Cells of job, pay and area, summed over pay: job by area; over both others: job; by covariance and asked for."""
    found = LAW.estimate(published, BY_BOTH_AND_AREA)
    over_pay = np.tile(np.eye(24), (1, 6))
    alone = LAW.estimate(published, Tabulation(by=("area", "job")))
    assert np.allclose(found.linear(over_pay).covariance, alone.covariance, atol=1e-6 * alone.variances.max())
    over_area = np.tile(np.eye(8), (1, 18))
    margin = LAW.estimate(published, Tabulation(by=("job",)))
    assert np.allclose(found.linear(over_area).variances, margin.variances)


def test_the_cells_of_two_drawn_attributes_have_one_error_by_every_door(published):
    """In a table, asked for by itself, and in a list of selections that overlap."""
    table = LAW.estimate(published, BY_BOTH_AND_AREA)
    whole = table.covariance
    assert np.allclose(whole, whole.T)
    assert np.linalg.eigvalsh(whole).min() > -1e-6 * np.abs(whole).max()
    assert np.allclose(np.diagonal(whole), table.variances)
    asked = [
        selection(area=(1, 2), job=(0, 1), pay=(2,)),
        selection(area=(2,), job=(1,), pay=(2, 3)),
        selection(area=(1,)),
        selection(job=(0,), pay=(2, 3, 4)),
        selection(job=(0,)),
        selection(area=(0,), pay=(2,)),
    ]
    weights = np.zeros((6, 6, 3, 8))
    weights[0, 2, 1:, :2] = weights[1, 2:4, 2, 1] = weights[2, :, 1] = weights[3, 2:5, :, 0] = 1
    weights[4, ..., 0] = weights[5, 2, 0] = 1
    summed = table.linear(weights.reshape(6, -1))
    found = LAW.estimate_selections(published, asked)
    assert np.allclose(found.values, summed.values)
    # Shares over other attributes are made to add up by themselves: the same to a few percent, not to the digit.
    deviations = np.sqrt(np.where(found.variances > 0, found.variances, 1))
    scale = np.outer(deviations, deviations)
    expected = summed.covariance.copy()
    # A public count is bounded: what it errs by itself is no part of a covariance.
    expected[2, 2] = 0
    assert np.allclose(found.covariance / scale, expected / scale, atol=0.05)
    single = [LAW.estimate(published, Tabulation(where=each)).variances[0] for each in asked]
    assert np.allclose(found.variances, single)
