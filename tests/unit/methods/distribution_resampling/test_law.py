"""The law of resampled rows: margins are answered, associations are not."""

from __future__ import annotations

import numpy as np
import pytest

from published_rows import PublishedRows, category_attribute
from sfumato.errors import NotIdentifiableError
from sfumato.methods.distribution_resampling.law import ResampledRows
from sfumato.values.certainty import Certainty
from sfumato.values.schema import Role
from sfumato.values.selection import Selection, Tabulation

ROWS = PublishedRows(
    (category_attribute("area", 2, Role.OTHER), category_attribute("job", 3)),
    {"area": np.arange(600) % 2, "job": np.repeat(np.arange(3), [300, 200, 100])},
)
LAW = ResampledRows(attributes=("job",))


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
    low, high = LAW.estimate(ROWS, Tabulation(where=Selection((("job", (2,)),)))).intervals()
    # Clopper and Pearson for 100 of 600: 0.13774 to 0.19893.
    assert (low[0] / 600, high[0] / 600) == pytest.approx((0.13774, 0.19893), abs=5e-5)
