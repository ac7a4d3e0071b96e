"""Beliefs from noisy counts, against sums over every number of rows."""

from __future__ import annotations

import numpy as np
import pytest

from believed_cells import AGE, JOB, PRIOR, SEX, beliefs, people
from noisy_rows import Given
from sfumato.methods.noisy_marginals import law as cell_beliefs
from sfumato.methods.noisy_marginals.law import NoisyCounts, NoisyMarginal
from sfumato.query.selection import Tabulation
from sfumato.randomness.noise import DiscreteLaplace

SIZES = {"sex": 2, "age": 3, "job": 3}
COUNTS = np.array([[[9, 4, -2], [30, 1, 0], [2, 2, 2]], [[0, 8, 5], [1, 1, 1], [17, -3, 6]]])
"""By sex, age and job."""


def marginal(table, attributes, scale):
    """A table of noisy counts."""
    sizes = tuple(SIZES[each] for each in attributes)
    return NoisyMarginal(table=table, attributes=attributes, sizes=sizes, noise=DiscreteLaplace(scale=scale))


def columns(attributes, shift=0):
    """The same counts as a published table of one row for each cell."""
    codes = dict(zip(("sex", "age", "job"), (each.ravel() for each in np.indices(COUNTS.shape)), strict=True))
    return {**{name: codes[name] for name in attributes}, "count": COUNTS.ravel() + shift}


@pytest.mark.parametrize("are_members", [True, False])
def test_beliefs_follow_the_least_noisy_table_of_all_that_is_known(are_members):
    """Of two such tables the one with less noise; one of fewer attributes is not looked at."""
    orders = ("job", "sex", "age"), ("age", "job", "sex")
    law = NoisyCounts(
        marginals=(marginal("coarse", orders[0], 40.0), marginal("fine", orders[1], 2.0)),
    )
    release = Given((SEX, AGE, JOB), coarse=columns(orders[0], 25), fine=columns(orders[1]))
    found = law.posterior(release, people(are_members=are_members), PRIOR).of_targets()
    noise = DiscreteLaplace(scale=2.0)

    def likelihood_of(*cell):
        return lambda rows: float(noise.probability(np.array([COUNTS[cell] - rows]))[0])

    np.testing.assert_allclose(found, beliefs(likelihood_of, are_members=are_members), atol=2e-4)


def test_cells_far_below_nobody_say_that_few_rows_are_there():
    """Laplace noise falls by one factor a row, however far below: one row is never ruled out, and weighs as much as at -1."""
    order = ("age", "job", "sex")
    law = NoisyCounts(marginals=(marginal("fine", order, 2.0),))
    noise = DiscreteLaplace(scale=2.0)

    def likelihood_of(*cell):
        return lambda rows: float(noise.probability(np.array([COUNTS[cell] - 100 - rows]))[0])

    release = Given((SEX, AGE, JOB), fine=columns(order, -100))
    found = law.posterior(release, people(are_members=True), PRIOR).of_targets()
    np.testing.assert_allclose(found, beliefs(likelihood_of, are_members=True), rtol=1e-6)


def test_numbers_of_rows_are_tried_as_far_as_noise_reaches(monkeypatch):
    """At scale 2 noise is beyond 40 with 2 q^41 / (1 + q) = 1.6e-9, beyond 41 with 9.4e-10: below one in a billion."""
    tried = []

    def expected(low, high, likelihood, means):
        tried.append((low.reshape(-1, 3).tolist(), high.reshape(-1, 3).tolist()))
        assert likelihood(low[:, np.newaxis]).shape == (means.size, 1)
        return np.ones(means.size)

    monkeypatch.setattr(cell_beliefs, "expected_counts", expected)
    order = ("sex", "age", "job")
    release = Given((SEX, AGE, JOB), fine=columns(order, 40))
    NoisyCounts(marginals=(marginal("fine", order, 2.0),)).posterior(release, people(are_members=True), PRIOR)
    release = Given((SEX, AGE, JOB), fine=columns(order, -3))
    NoisyCounts(marginals=(marginal("fine", order, 2.0),)).posterior(release, people(are_members=True), PRIOR)
    kinds = [COUNTS[0, 0], COUNTS[0, 1], COUNTS[1, 2]]
    for (low, high), shift in zip(tried, (40, -3), strict=True):
        assert low == [[max(each + shift - 41, 0) for each in cells] for cells in kinds]
        assert high == [[max(each + shift, 0) + 41 for each in cells] for cells in kinds]


def test_where_no_table_holds_what_is_known_the_prior_is_all_there_is():
    """Whatever the table of sex and job says."""
    law = NoisyCounts(marginals=(marginal("pairs", ("sex", "job"), 2.0),))
    found = law.posterior(Given((SEX, AGE, JOB), pairs={}), people(are_members=True), PRIOR).of_targets()
    np.testing.assert_allclose(found[0], np.array([0.15, 0.18, 0.1]) / 0.43)
    np.testing.assert_allclose(found[3], np.array([0.35, 0.12, 0.1]) / 0.57)


def test_ends_by_the_law_of_the_noise_are_those_of_the_table():
    """Of a population there is the error of drawing besides, which is not that law."""
    order = ("age", "job", "sex")
    law = NoisyCounts(marginals=(marginal("fine", order, 2.0),))
    asked = Tabulation(by=("job",))
    formula = law.formula(Given((SEX, AGE, JOB), fine=columns(order)), [asked])
    assert formula.limits(asked, "table") is not None
    assert formula.limits(asked, "population") is None
