"""Beliefs from noisy counts, against sums over every number of rows."""

from __future__ import annotations

import numpy as np
import pytest

from believed_cells import AGE, JOB, PRIOR, SEX, beliefs, people
from noisy_rows import Given
from sfumato.chance.noise import DiscreteLaplace
from sfumato.methods.noisy_marginals.law.marginals import NoisyMarginal
from sfumato.methods.noisy_marginals.law.noisy_counts import NoisyCounts
from sfumato.values.selection import Tabulation

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
