"""A number of rows that stands in the law: exact, without noise, and told whatever else was published."""

from __future__ import annotations

import numpy as np
import pytest

from noisy_rows import Given
from sfumato.estimates.estimates import Certainty
from sfumato.methods.noisy_marginals.law import NoisyAnswer, NoisyCounts, NoisyMarginal
from sfumato.query.selection import Selection, Tabulation
from sfumato.randomness.noise import DiscreteLaplace
from sfumato.schema import Attribute, Role

SEX = Attribute(name="sex", role=Role.OTHER, categories=("F", "M"))
JOB = Attribute(name="job", role=Role.SENSITIVE, categories=("a", "b", "c"))
COUNTS = np.array([[10, 20, 30], [40, 50, -60]])
"""Noisy, by sex and job: 90 rows, where 100 are public."""
LOUD, QUIET = DiscreteLaplace(scale=5.0), DiscreteLaplace(scale=2.0)
TABLE = NoisyMarginal(table="cells", attributes=("sex", "job"), sizes=(2, 3), noise=LOUD)
EVERYBODY, WOMEN, JOB_B = Selection(()), Selection((("sex", (0,)),)), Selection((("job", (1,)),))
SEXES, JOBS = (each.ravel() for each in np.indices(COUNTS.shape))
RELEASE = Given((SEX, JOB), cells={"sex": SEXES, "job": JOBS, "count": COUNTS.ravel()})
LAW = NoisyCounts(marginals=(TABLE,), number_of_rows=100)


@pytest.mark.parametrize("target", ["table", "population"])
def test_a_public_number_of_rows_is_exact(target):
    """Not the noisy total of 90, and with neither error nor tails."""
    found = LAW.estimate(RELEASE, Tabulation(), target=target)
    assert found.values.tolist() == [100]
    assert found.certainty.tolist() == [Certainty.EXACT]
    assert found.variances.tolist() == [0]
    assert found.fourth_cumulants.tolist() == [0]
    assert [each.tolist() for each in found.intervals(0.95)] == [[100], [100]]


def test_other_questions_stay_estimates():
    """Of women three cells, each with the noise of its own, in variance and in tails."""
    found = LAW.estimate(RELEASE, Tabulation(by=("sex",)))
    assert found.values.tolist() == [60, 30]
    assert found.certainty.tolist() == [Certainty.ESTIMATED] * 2
    assert found.variances == pytest.approx([3 * LOUD.variance] * 2)
    assert found.fourth_cumulants == pytest.approx([3 * LOUD.fourth_cumulant] * 2)


@pytest.mark.parametrize("order", [(EVERYBODY, WOMEN, JOB_B), (WOMEN, EVERYBODY, JOB_B)])
def test_what_is_public_shares_no_noise_with_anything(order):
    """Women and job b have one cell in common; everybody, who would hold both, has no noise."""
    found = LAW.estimate_selections(RELEASE, order)
    cells = np.array([[0 if EVERYBODY in pair else 1 for pair in ((a, b) for b in order)] for a in order])
    cells[order.index(WOMEN), order.index(WOMEN)] *= 3
    cells[order.index(JOB_B), order.index(JOB_B)] *= 2
    assert found.covariance == pytest.approx(LOUD.variance * cells)


def test_a_population_is_drawn_in_so_many_rows():
    """60 women of 100: x - (x^2 - v) / N, times N / (N - 1), beside the noise of three cells."""
    found = LAW.estimate(RELEASE, Tabulation(where=WOMEN), target="population")
    noise = 3 * LOUD.variance
    assert found.variances == pytest.approx([noise + (60 - (60**2 - noise) / 100) * 100 / 99])


def test_a_declared_answer_has_the_tails_of_its_own_noise():
    """Beside cells that add up two of the table's."""
    answer = NoisyAnswer(question="job = 'b'", count=71, noise=QUIET)
    found = LAW.model_copy(update={"answers": (answer,)}).estimate(RELEASE, Tabulation(by=("job",)))
    two = 2 * LOUD.fourth_cumulant
    assert found.fourth_cumulants == pytest.approx([two, QUIET.fourth_cumulant, two])


def test_the_number_of_rows_is_told_where_only_answers_were_published():
    """No table holds a total, and none is needed: a share of all rows has the error of its numerator alone."""
    answer = NoisyAnswer(question="job = 'b'", count=30, noise=QUIET)
    law = NoisyCounts(answers=(answer,), number_of_rows=100)
    assert law.estimate(RELEASE, Tabulation()).values.tolist() == [100]
    found = law.estimate_selections(RELEASE, (JOB_B, EVERYBODY))
    assert found.values.tolist() == [30, 100]
    assert found.covariance == pytest.approx(np.diag([QUIET.variance, 0]))
    assert found.fourth_cumulants == pytest.approx([QUIET.fourth_cumulant, 0])


@pytest.mark.parametrize("feasibility", ["projection", "clip"])
def test_consistent_counts_add_up_to_the_public_number(feasibility):
    """100, and not to the noisy 90."""
    made = LAW.consistent(RELEASE, Tabulation(by=("sex", "job")), feasibility=feasibility)
    assert (made >= 0).all()
    assert made.sum() == pytest.approx(100)
