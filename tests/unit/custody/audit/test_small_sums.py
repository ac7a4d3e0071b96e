"""The audit of small sums finds the groups that Theorem 4 forgets, and none where it holds."""

from __future__ import annotations

import functools

import pytest

from homogeneous_groups import GROUPS_OF_EACH_SIZE, table_with_homogeneous_groups
from sfumato import RandomizedResponse, SPLUGen, read_table
from sfumato.attacks.small_sums import SmallSum
from sfumato.custody.audit.audit import audit_small_sums
from sfumato.errors import ParameterError
from sfumato.testing import in_memory, release_in_memory, sample_table


@pytest.fixture(scope="module")
def audited():
    """What the audit finds for a gamma."""
    data, schema = table_with_homogeneous_groups()

    @functools.cache
    def audit(gamma):
        design = SPLUGen(gamma=gamma, largest_small_count=6)
        table = in_memory(read_table(data, schema))
        release = release_in_memory(table, design, seed=gamma)
        return audit_small_sums(release, table, attack=SmallSum(trials=100, seed=gamma))

    return audit


@pytest.mark.parametrize(("gamma", "sizes"), [(2, {2, 5}), (5, {3, 6})])
def test_homogeneous_groups_are_found_where_the_theorem_fails(audited, gamma, sizes):
    """Sizes whose error probability is at least .07 below the promise: 12 groups and 100 trials see that."""
    result = audited(gamma)
    refuted = {row[0] for row in result.tables[0].rows if row[-1] == "refuted"}
    assert sizes <= refuted
    assert result.findings["Theorem 4 for job"] == "refuted"
    assert all(row[1] == "all share the value" for row in result.tables[0].rows if row[-1] == "refuted")


def test_nothing_is_found_at_gamma_ten(audited):
    """There the theorem holds for groups of up to ten."""
    result = audited(10)
    assert result.findings["Theorem 4 for job"] == "not refuted in 100 trials"


def test_the_measured_probability_is_the_exact_one(audited):
    """Groups of three at gamma 5: .512, within five standard errors."""
    row = next(each for each in audited(5).tables[0].rows if each[:2] == (3, "all share the value"))
    assert row[2] == GROUPS_OF_EACH_SIZE
    assert abs(row[3] - 0.512) < 5 * row[4] + 0.01


def test_what_is_computed_from_the_truth_is_private(audited):
    """And says so."""
    result = audited(10)
    assert all(each.is_private for each in result.tables)
    assert "private rows" in result.summary()


def test_another_release_or_table_is_refused():
    """Without decoys there are no small sums; of other attributes nothing is known."""
    data, schema = table_with_homogeneous_groups()
    table = in_memory(read_table(data, schema))
    with pytest.raises(ParameterError, match="with decoys"):
        audit_small_sums(release_in_memory(table, RandomizedResponse(retention=0.5), seed=1), table)
    release = release_in_memory(table, SPLUGen(gamma=5), seed=1)
    with pytest.raises(ParameterError, match="other attributes"):
        audit_small_sums(release, sample_table())
