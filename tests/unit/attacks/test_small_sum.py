"""The small-sum attack needs a release and records like the private rows, never the rows themselves."""

from __future__ import annotations

import pytest

from homogeneous_groups import table_with_homogeneous_groups
from sfumato import RandomizedResponse, SPLUGen, read_table
from sfumato.attacks.base import read_knowledge
from sfumato.attacks.small_sums import SmallSum
from sfumato.errors import ParameterError
from sfumato.testing import in_memory, release_in_memory


@pytest.fixture(scope="module")
def table():
    """Areas of two to six people who all have one job, among others."""
    return in_memory(read_table(*table_with_homogeneous_groups()))


@pytest.fixture(scope="module")
def release(table):
    """Of groups of two, where Theorem 4 fails for some sizes."""
    return release_in_memory(table, SPLUGen(gamma=2, largest_small_count=6), seed=2)


def test_an_older_table_shows_where_the_theorem_fails(release):
    """Rows of other people with the same kind of groups: those of two and five are found, mixed ones are not."""
    older, _ = table_with_homogeneous_groups(seed=5)
    result = SmallSum(trials=100, seed=2).run(release, read_knowledge(older, release.schema))
    refuted = [row for row in result.tables[0].rows if row[-1] == "refuted"]
    assert {2, 5} <= {row[0] for row in refuted}
    assert all(row[1] == "all share the value" for row in refuted)
    assert result.findings["Theorem 4 for job"] == "refuted"


def test_the_published_rows_stand_in_where_nothing_is_known(release):
    """The release alone is enough to measure, and nothing of it is private."""
    result = SmallSum(trials=20, seed=2).run(release)
    assert result.findings["trials"] == 20
    assert result.tables[0].rows
    assert not result.tables[0].is_private


def test_records_that_cannot_be_drawn_from_are_refused(release):
    """Without the drawn attribute, or with rows that form no groups, nothing would be measured."""
    data, _ = table_with_homogeneous_groups()
    for known, reason in ((data.select(["area"]), "no column 'job'"), (data.slice(0, 1), "no groups of 2")):
        with pytest.raises(ParameterError, match=reason):
            SmallSum(trials=10).run(release, read_knowledge(known, release.schema))


def test_a_release_without_decoys_is_refused(table):
    """There is nothing to repeat."""
    with pytest.raises(ParameterError, match="decoys"):
        SmallSum().run(release_in_memory(table, RandomizedResponse(retention=0.5), seed=1))
