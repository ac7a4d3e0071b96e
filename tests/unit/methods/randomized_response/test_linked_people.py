"""What is believed where public values were perturbed too: every published row is weighed by Bayes, one by one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from array_tables import ArrayTable
from believed_cells import AGE, JOB, PRIOR, SEX
from sfumato.laws.posterior import Targets
from sfumato.methods.randomized_response import law as linked_people
from sfumato.methods.randomized_response.law import PerturbedRows
from sfumato.randomness.distortion import DenseDistortion, UniformDistortion
from sfumato.schema import Attribute, Role, Schema

TOWN = Attribute(name="town", role=Role.QUASI_IDENTIFIER, categories=("x", "y", "z"))
AGES = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.2, 0.5]])
JOBS = 0.6 * np.eye(3) + 0.4 / 3
LAW = PerturbedRows(
    distortions={
        "age": DenseDistortion(rows=tuple(map(tuple, AGES.tolist()))),
        "job": UniformDistortion(retention=0.6, size=3),
    }
)
ROWS = [(0, 1, 0, 0), (0, 1, 2, 1), (0, 1, 2, 1), (1, 0, 1, 2), (1, 2, 1, 0), (1, 2, 0, 2), (1, 2, 1, 0)]
"""Sex, town, age and job as they were published; ages and jobs were perturbed."""
GROUPS = [(0, 1), (1, 0), (1, 2)]
"""Sexes and towns that occur."""
PEOPLE = [(2, 0, 1), (0, 0, 1), (1, 1, 0), (1, 1, 2), (0, 1, 2), (2, 0, 0), (0, 1, 1)]
"""Age, sex and town of some people; nobody was published of the last two's sex and town."""


def release():
    """The rows."""
    columns = zip(("sex", "town", "age", "job"), np.array(ROWS, np.uint8).T, strict=True)
    return ArrayTable(Schema(attributes=(SEX, TOWN, AGE, JOB)), dict(columns))


def targets(*, are_members):
    """The people, known by their age first."""
    codes = dict(zip(("age", "sex", "town"), np.array(PEOPLE).T, strict=True))
    return Targets.of((AGE, SEX, TOWN), JOB, codes, are_members=are_members)


def joint():
    """True shares of age and job in every group; nobody is of the middle age in the last."""
    found = np.random.default_rng(4).dirichlet(np.ones(9), 3).reshape(3, 3, 3)
    found[2, 1] = 0
    return found


def row_by_row(fitted):
    """Published rows by their true age and job, each divided by how likely it is of every one."""
    linked = np.zeros_like(fitted)
    for sex, town, shown_age, shown_job in ROWS:
        group, weights = GROUPS.index((sex, town)), np.zeros((3, 3))
        for age, job in itertools.product(range(3), repeat=2):
            weights[age, job] = fitted[group, age, job] * AGES[age, shown_age] * JOBS[job, shown_job]
        linked[group] += weights / weights.sum()
    return linked


@pytest.mark.parametrize("are_members", [True, False])
def test_people_are_believed_as_the_rows_that_may_be_theirs(monkeypatch, are_members):
    """Members are among the rows, others like what was fitted to them; of a group without rows the prior is all there is."""
    fitted, people = joint(), targets(are_members=are_members)

    def fit(counts, axes, generator, *, codes):
        assert codes.tolist() == [list(each) for each in GROUPS]
        assert axes[0] is None
        assert counts.shape == (3, 3, 3)
        assert counts[0].tolist() == [[1, 0, 0], [0, 0, 0], [0, 2, 0]]
        # Whoever reads a release deals its rows alike.
        assert generator.random() == np.random.default_rng(0).random()
        return fitted

    monkeypatch.setattr(linked_people, "fit_groups", fit)
    found = LAW.posterior(release(), people, PRIOR).of_targets()
    rows = row_by_row(fitted) if are_members else fitted
    overall = rows.sum(axis=(0, 1)) / rows.sum()
    before = PRIOR.at(people.names, people.combinations)[people.index]
    for place, (age, sex, town) in enumerate(PEOPLE):
        if (sex, town) not in GROUPS:
            np.testing.assert_array_equal(found[place], before[place])
            continue
        own = rows[GROUPS.index((sex, town)), age]
        expected = own / own.sum() if own.sum() else overall
        np.testing.assert_allclose(found[place], expected, rtol=1e-6)


def test_where_all_public_values_were_perturbed_rows_are_of_one_group(monkeypatch):
    """Two ages of three, and their jobs: a row of any age may be anybody's."""
    fitted = joint()[0]
    monkeypatch.setattr(linked_people, "fit_groups", lambda *_given, **_more: fitted)
    people = Targets.of((AGE,), JOB, {"age": np.array([2, 0])}, are_members=True)
    linked = np.zeros((3, 3))
    for _, _, shown_age, shown_job in ROWS:
        weights = fitted * np.outer(AGES[:, shown_age], JOBS[:, shown_job])
        linked += weights / weights.sum()
    found = LAW.posterior(release(), people, PRIOR).of_targets()
    np.testing.assert_allclose(found, [linked[2] / linked[2].sum(), linked[0] / linked[0].sum()], rtol=1e-6)
