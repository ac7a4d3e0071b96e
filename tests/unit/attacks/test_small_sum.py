"""The small-sum attack finds the groups that Theorem 4 forgets, and none where it holds."""

from __future__ import annotations

import functools

import numpy as np
import pyarrow as pa
import pytest

from sfumato import publish, read_table
from sfumato.attacks.small_sum import SmallSum
from sfumato.data.knowledge import read_knowledge
from sfumato.errors import ParameterError
from sfumato.methods.splu_gen.design import SPLUGen
from sfumato.values.schema import Schema

VALUES = 20
GROUPS_OF_EACH_SIZE = 12


def table_with_homogeneous_groups():
    """A thousand rows in mixed areas, and areas of two to six people who all have one job."""
    draw = np.random.default_rng(4)
    area, job = draw.integers(0, 5, 1_000), np.arange(1_000) % VALUES
    fresh = 5
    for size in range(2, 7):
        for number in range(GROUPS_OF_EACH_SIZE):
            rows = np.flatnonzero((job == (number + size) % VALUES) & (area < 5))[:size]
            area[rows] = fresh
            fresh += 1
    schema = Schema.from_dict(
        {
            "attributes": {
                "area": {"role": "quasi-identifier", "categories": [str(code) for code in range(fresh)]},
                "job": {"role": "sensitive", "categories": [f"job-{code}" for code in range(VALUES)]},
            }
        }
    )
    return pa.table({"area": [str(code) for code in area], "job": [f"job-{code}" for code in job]}), schema


@pytest.fixture(scope="module")
def attacked(tmp_path_factory):
    """The attack's result for a gamma."""
    data, schema = table_with_homogeneous_groups()
    folder = tmp_path_factory.mktemp("small-sum")

    @functools.cache
    def attack(gamma):
        design = SPLUGen(gamma=gamma, largest_small_count=6)
        release = publish(read_table(data, schema), design, folder / str(gamma), seed=gamma)
        return SmallSum(trials=100, seed=gamma).run(release, read_knowledge(data, release.schema))

    return attack


@pytest.mark.parametrize(("gamma", "sizes"), [(2, {2, 5}), (5, {3, 6})])
def test_homogeneous_groups_are_found_where_the_theorem_fails(attacked, gamma, sizes):
    """Sizes whose error probability is at least .07 below the promise: 12 groups and 100 trials see that."""
    result = attacked(gamma)
    refuted = {row[0] for row in result.tables[0].rows if row[-1] == "refuted"}
    assert sizes <= refuted
    assert result.findings["Theorem 4 for job"] == "refuted"
    assert all(row[1] == "all share the value" for row in result.tables[0].rows if row[-1] == "refuted")


def test_nothing_is_found_at_gamma_ten(attacked):
    """There the theorem holds for groups of up to ten."""
    result = attacked(10)
    assert result.findings["Theorem 4 for job"] == "not refuted in 100 trials"


def test_the_measured_probability_is_the_exact_one(attacked):
    """Groups of three at gamma 5: .512, within five standard errors."""
    row = next(each for each in attacked(5).tables[0].rows if each[:2] == (3, "all share the value"))
    assert row[2] == GROUPS_OF_EACH_SIZE
    assert abs(row[3] - 0.512) < 5 * row[4] + 0.01


def test_the_truth_must_be_handed_over(tmp_path):
    """Without it there is nothing to measure."""
    data, schema = table_with_homogeneous_groups()
    release = publish(read_table(data, schema), SPLUGen(gamma=5), tmp_path / "r", seed=1)
    with pytest.raises(ParameterError, match="true rows"):
        SmallSum().run(release)


def test_knowledge_that_is_not_the_published_rows_is_refused(tmp_path):
    """Without the drawn attribute, or with rows that form no groups, nothing would be measured."""
    data, schema = table_with_homogeneous_groups()
    release = publish(read_table(data, schema), SPLUGen(gamma=5), tmp_path / "r", seed=1)
    for known, reason in ((data.select(["area"]), "no column 'job'"), (data.slice(0, 3), "no groups of 5")):
        with pytest.raises(ParameterError, match=reason):
            SmallSum(trials=10).run(release, read_knowledge(known, release.schema))
