"""The law of resampled rows: margins are answered, associations are not."""

from __future__ import annotations

import numpy as np
import pytest

from published_rows import PublishedRows, category_attribute
from sfumato.errors import NotIdentifiableError, ParameterError
from sfumato.estimates.estimates import Certainty
from sfumato.methods.distribution_resampling.law import ResampledRows
from sfumato.query.selection import Selection, Tabulation
from sfumato.schema import Role

ROWS = PublishedRows(
    (category_attribute("area", 2, Role.OTHER), category_attribute("job", 3)),
    {"area": np.arange(600) % 2, "job": np.repeat(np.arange(3), [300, 200, 100])},
)
LAW = ResampledRows(attributes=("job",))
TECH = Tabulation(where=Selection((("job", (2,)),)))


def rows_of(*jobs):
    """Published rows with these jobs, and a town and a street that were published as they are."""
    places = (category_attribute("town", 2, Role.OTHER), category_attribute("street", 2, Role.OTHER))
    columns = {
        "town": np.arange(len(jobs)) % 2,
        "street": np.arange(len(jobs)) // 2 % 2,
        "job": np.array(jobs, int),
    }
    return PublishedRows((*places, category_attribute("job", 3)), columns)


def test_a_value_alone_is_the_published_count_with_multinomial_error():
    """Variance f (1 - f/N), unbiased with N/(N-1)."""
    estimates = LAW.estimate(ROWS, Tabulation(by=("job",)))
    assert estimates.values.tolist() == [300, 200, 100]
    assert np.allclose(estimates.variances, np.array([150, 400 / 3, 250 / 3]) * 600 / 599)


def test_associations_are_refused_and_the_paper_s_answer_is_named():
    """The published count is given only under its name."""
    question = Tabulation(where=Selection((("area", (0,)), ("job", (1,)))))
    with pytest.raises(NotIdentifiableError, match="says nothing"):
        LAW.estimate(ROWS, question)
    assert LAW.estimate_by("paper", ROWS, question).values[0] == 100


def test_other_attributes_are_exact():
    """No error but that of a population."""
    table = Tabulation(by=("area",))
    assert LAW.estimate(ROWS, table).variances.tolist() == [0, 0]
    assert LAW.estimate(ROWS, table, target="population").variances.min() > 0


def test_selections_about_one_attribute_share_a_covariance():
    """Disjoint values are negatively related: -f g / N."""
    pair = [Selection((("job", (0,)),)), Selection((("job", (1,)),))]
    found = LAW.estimate_selections(ROWS, pair)
    assert found.values.tolist() == [300, 200]
    assert found.covariance[0, 1] == pytest.approx(-300 * 200 / 600 * 600 / 599)
    assert LAW.expected_standard_errors(ROWS.count_by(("job",), Selection()))[0] == pytest.approx(150**0.5)


def test_a_value_that_no_row_shows_may_still_be_held():
    """Six rows of 600 all go undrawn once in 400 times: the interval reaches beyond them, and nothing is called exact."""
    rows = PublishedRows(
        (category_attribute("area", 2, Role.OTHER), category_attribute("job", 4)), dict(ROWS.columns)
    )
    found = LAW.estimate(rows, Tabulation(by=("job",)))
    low, high = found.intervals(0.9975)
    assert found.certainty.tolist() == [Certainty.ESTIMATED] * 4
    assert low[3] == 0
    assert 6 < high[3] < 8
    assert found.standard_errors[3] > 0


def test_intervals_are_those_of_the_draw():
    """The count of 100 of 600 is a binomial draw; limits by a beta quantile, from a table."""
    low, high = LAW.estimate(ROWS, TECH).intervals()
    # Clopper and Pearson for 100 of 600: 0.13774 to 0.19893.
    assert (low[0] / 600, high[0] / 600) == pytest.approx((0.13774, 0.19893), abs=5e-5)


def test_intervals_of_a_population_are_those_of_half_as_many_rows():
    """Drawn once into the table and once out of it: twice the variance. Beta quantiles of 50 of 300 rows, twice."""
    from scipy.stats import beta

    found = LAW.estimate(ROWS, TECH, target="population")
    low, high = found.intervals(0.9)
    assert low[0] == pytest.approx(2 * 300 * beta.ppf(0.05, 50, 251))
    assert high[0] == pytest.approx(2 * 300 * beta.ppf(0.95, 51, 250))
    assert found.variances[0] == pytest.approx(2 * 600 / 6 * 5 / 6, rel=0.01)


def test_the_paper_s_count_has_a_normal_interval_and_exact_ones_have_none():
    """The binomial is the law of unbiased counts of a drawn attribute, and of nothing else."""
    paper = LAW.estimate_by("paper", ROWS, TECH)
    low, high = paper.intervals(0.95)
    assert high[0] - 100 == pytest.approx(1.959964 * paper.standard_errors[0])
    assert 100 - low[0] == pytest.approx(high[0] - 100)
    low, high = LAW.estimate(ROWS, Tabulation(by=("area",))).intervals(0.95)
    assert low.tolist() == high.tolist() == [300, 300]


def test_attributes_published_as_they_are_may_be_asked_together():
    """Town and street are exact, alone and together; neither goes with the drawn job."""
    rows = rows_of(0, 0, 1, 2, 2)
    found = LAW.estimate(rows, Tabulation(by=("town", "street")))
    assert found.values.tolist() == [2, 1, 1, 1]
    assert not found.covariance.any()
    assert not LAW.expected_standard_errors(rows.count_by(("town", "street"), Selection())).any()
    with pytest.raises(NotIdentifiableError, match="'job' was drawn anew"):
        LAW.expected_standard_errors(rows.count_by(("town", "job"), Selection()))
    chosen = [Selection((("town", (0,)),)), Selection((("job", (2,)),))]
    assert LAW.estimate_selections(rows, chosen).covariance[0].tolist() == [0, 0]


def test_releases_of_no_row_one_row_and_two_rows_are_answered():
    """No division by nothing; x (1 - x/N) N/(N-1) is 1 for one of two rows, and less than a row is never known."""
    nobody, one, two = (LAW.estimate(rows_of(*jobs), TECH) for jobs in ((), (2,), (0, 2)))
    assert (nobody.values[0], nobody.variances[0]) == (0, 1)
    assert (one.values[0], one.variances[0]) == (1, 1)
    assert two.covariance[0, 0] == two.variances[0] == 1
    # By hand: 1 - 0.025^(1/1) of one row none of which shows the value, 0.025 where it does.
    assert [each[0] for each in nobody.intervals(0.95)] == pytest.approx([0, 0.975])
    assert [each[0] for each in one.intervals(0.95)] == pytest.approx([0.025, 1])


def test_consistent_counts_are_the_published_ones():
    """They are never negative and add up."""
    assert LAW.consistent(ROWS, Tabulation(by=("job",))).tolist() == [300, 200, 100]


def test_an_unknown_estimator_is_refused_with_the_known_one():
    """By name."""
    with pytest.raises(ParameterError, match=r"no estimator 'papers'.*'paper'"):
        LAW.estimate_by("papers", ROWS, TECH)


def test_the_papers_joint_counts_have_no_known_error():
    """The attributes are independent in what was published, whatever they were; alone they are binomial."""
    together = LAW.estimate_by("paper", ROWS, Tabulation(by=("area", "job")))
    assert np.isnan(together.standard_errors).all()
    alone = LAW.estimate_by("paper", ROWS, TECH)
    assert alone.standard_errors[0] > 0
    # Town and street were not drawn: together they are exact by any name.
    exact = LAW.estimate_by("paper", rows_of(0, 0, 1, 2, 2), Tabulation(by=("town", "street")))
    assert exact.standard_errors.tolist() == [0, 0, 0, 0]
    # Of a population x (1 - x/N) N/(N-1), by hand: 2 of 5 rows, and 1 of 5.
    drawn = LAW.estimate_by(
        "paper", rows_of(0, 0, 1, 2, 2), Tabulation(by=("town", "street")), target="population"
    )
    assert drawn.variances == pytest.approx([1.5, 1, 1, 1])


def test_categories_of_every_attribute_are_treated_alike():
    """A value's error is that of its count, whatever it is called."""
    assert LAW.treats_alike("job")
