"""Contrasts between drawn values, and what stays determined when one value is in every group."""

from __future__ import annotations

import numpy as np
import pytest

from published_rows import PublishedRows, category_attribute, selection
from sfumato.errors import NotIdentifiableError, ParameterError
from sfumato.methods.splu_gen.decoy_model import DecoyModel
from sfumato.methods.splu_gen.law import DecoyRows
from sfumato.query.selection import Selection, Tabulation
from sfumato.schema import Role

AREA = category_attribute("area", 3, Role.OTHER)
LAW = DecoyRows(gamma_by_attribute={"job": 3, "pay": 2})
BY_JOB_AND_AREA = Tabulation(by=("job", "area"))


def saturated():
    """Value 0 is published once for every group of two: nothing can be said of how it meets the area."""
    job = np.repeat(np.arange(4), [3_000, 1_500, 900, 600])
    area = category_attribute("area", 2, Role.OTHER)
    return PublishedRows((area, category_attribute("job", 4)), {"area": np.arange(6_000) % 2, "job": job})


def test_near_saturation_single_counts_are_refused_with_a_reason():
    """No count within a public group is determined when one value may be in every group."""
    law = DecoyRows(gamma_by_attribute={"job": 2})
    for code in range(4):
        with pytest.raises(NotIdentifiableError, match="every group of 2"):
            law.estimate(saturated(), Tabulation(where=selection(area=(0,), job=(code,))))


def test_near_saturation_counts_of_values_alone_and_contrasts_are_answered():
    """The margin is binomial whatever the groups; two other values can still be compared."""
    law = DecoyRows(gamma_by_attribute={"job": 2})
    assert law.estimate(saturated(), Tabulation(by=("job",))).values.tolist() == [3_000, 1_500, 900, 600]
    contrast = law.contrast(saturated(), "job", 1, 2, selection(area=(0,)))
    assert abs(contrast.values[0]) < 5 * contrast.standard_errors[0] < 0.5
    with pytest.raises(NotIdentifiableError, match="nearly every group"):
        law.contrast(saturated(), "job", 0, 2, selection(area=(0,)))


def test_a_contrast_is_the_difference_of_shares(published):
    """Far from saturation it is what the single estimates give."""
    values = LAW.estimate(published, BY_JOB_AND_AREA).values.reshape(8, 3)
    counts = published.count_by(("job",), Selection()).counts
    found = LAW.contrast(published, "job", 2, 5, selection(area=(1,)))
    assert found.values[0] == pytest.approx(values[2, 1] / counts[2] - values[5, 1] / counts[5])
    assert found.standard_errors[0] > 0
    with pytest.raises(ParameterError, match="drawn"):
        LAW.contrast(published, "job", 2, 5, selection(pay=(1,)))


def test_the_shares_behind_a_contrast_are_those_of_all_rows_on_average():
    """One value is in every group of two: the others keep their differences and get the overall mean.

    2,000 of 4,000 rows have value 0, of which 400 satisfy the predicate; of the others 600, 150 and 50.
    """
    counts = np.array([2_000.0, 1_000.0, 600.0, 400.0])
    model = DecoyModel(counts, 2)
    true = np.array([400.0, 600.0, 150.0, 50.0])
    shares = model.identified_shares(true @ model.distortion)
    overall, others = 1_200 / 4_000, 800 / 2_000
    assert shares == pytest.approx([overall, *(np.array([0.6, 0.25, 0.125]) + overall - others)])


def test_shares_behind_a_contrast_are_the_estimates_where_no_value_is_in_every_group():
    """And never outside [0, 1]."""
    model = DecoyModel(np.array([300.0, 300.0, 200.0, 150.0, 150.0, 100.0]), 3)
    true = np.array([200.0, 60.0, 40.0, 8.0, 5.0, 2.0])
    assert model.identified_shares(true @ model.distortion) == pytest.approx(true / model.counts)
    beyond = np.array([500.0, -3.0, 40.0, 8.0, 5.0, 2.0])
    assert model.identified_shares(beyond @ model.distortion)[:3] == pytest.approx([1, 0, 0.2])


def test_shares_of_values_that_nobody_has():
    """None, in every way they are asked for; a value that one row has is counted as any other."""
    counts = np.array([2_000.0, 1_000.0, 600.0, 399.0, 1.0, 0.0])
    saturated = DecoyModel(counts, 2)
    assert saturated.is_certain.tolist()[0]
    published = np.array([700.0, 300.0, 150.0, 50.0, 0.0, 0.0])
    found = saturated.identified_shares(published)
    assert np.isfinite(found).all()
    # What is not determined of the first, and what nobody has, are as all rows.
    assert found[[0, 5]] == pytest.approx([0.3, 0.3])
    spread = saturated.spread(np.array([[500.0, 400, 300, 200, 0.25, 0], [1_500.0, 600, 300, 199, 0.75, 0]]))
    expected = [[0.25, 0.4, 0.5, 200 / 399, 0.25, 0], [0.75, 0.6, 0.5, 199 / 399, 0.75, 0]]
    assert spread == pytest.approx(np.array(expected))
    assert saturated.shares(np.array([500.0, -1, 900, 39.9, 0.5, 0])) == pytest.approx(
        [0.25, 0, 1, 0.1, 0.5, 0]
    )


def test_a_contrast_needs_the_law_of_its_groups(published):
    """Groups that were filled largest first have none."""
    law = DecoyRows(gamma_by_attribute={"job": 3}, partition="largest-first")
    with pytest.raises(NotIdentifiableError, match="largest-first"):
        law.contrast(published, "job", 2, 5, selection(area=(1,)))


def test_a_contrast_under_a_condition_that_also_names_a_drawn_attribute_is_refused(published):
    """One is enough."""
    with pytest.raises(ParameterError, match="drawn"):
        LAW.contrast(published, "job", 2, 5, selection(area=(1,), pay=(1,)))


def test_five_standard_deviations_from_every_group_are_enough():
    """50 of 75 groups of two: 25 away, and 5 sqrt(50 (1 - 1/2)) = 25. One row more is not enough."""
    for last, is_answered in ((50, True), (49, False)):
        job = np.repeat(np.arange(3), [50, 50, last])
        rows = PublishedRows(
            (AREA, category_attribute("job", 3)), {"area": np.arange(job.size) % 3, "job": job}
        )
        law = DecoyRows(gamma_by_attribute={"job": 2})
        question = Tabulation(where=selection(area=(0,), job=(1,)))
        if is_answered:
            assert np.isfinite(law.estimate(rows, question).variances).all()
        else:
            with pytest.raises(NotIdentifiableError):
                law.estimate(rows, question)


def test_a_contrast_has_the_error_of_the_shares_it_compares(published):
    """The delta method on four counts with their covariance gives the same; rows left out, of which counts know, hardly move a share."""
    question = selection(area=(1,))
    contrast = LAW.contrast(published, "job", 2, 5, question)
    counts = LAW.estimate_selections(
        published,
        [
            selection(area=(1,), job=(2,)),
            selection(job=(2,)),
            selection(area=(1,), job=(5,)),
            selection(job=(5,)),
        ],
    )
    first, x_first = counts.values[1], counts.values[0]
    second, x_second = counts.values[3], counts.values[2]
    slopes = np.array([1 / first, -x_first / first**2, -1 / second, x_second / second**2])
    assert contrast.values[0] == pytest.approx(x_first / first - x_second / second)
    assert contrast.variances[0] == pytest.approx(slopes @ counts.covariance @ slopes, rel=1e-4)


def test_a_difference_between_two_values_is_their_contrast(published):
    """Of the table; about a population, or between other groups, it is the difference of two shares."""
    question, first, second = selection(area=(1,)), selection(job=(2,)), selection(job=(5,))
    difference = LAW.difference(published, question, first, second)
    contrast = LAW.contrast(published, "job", 2, 5, question)
    assert difference.values == pytest.approx(contrast.values)
    assert difference.variances == pytest.approx(contrast.variances)
    law = DecoyRows(gamma_by_attribute={"job": 2})
    # Determined although no single count is.
    question, first, second = selection(area=(0,)), selection(job=(1,)), selection(job=(2,))
    assert np.isfinite(law.difference(saturated(), question, first, second).values).all()
    for groups in ((selection(job=(1, 3)), second), (selection(job=(1,), area=(0, 1)), second)):
        with pytest.raises(NotIdentifiableError):
            law.difference(saturated(), question, *groups)
    with pytest.raises(NotIdentifiableError):
        law.difference(saturated(), question, first, second, target="population")
