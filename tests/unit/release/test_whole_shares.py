"""Questions that all or none of a group satisfy are answered exactly, whatever the method."""

from __future__ import annotations

import pytest

from sfumato import METHODS
from sfumato.testing import release_in_memory, sample_table


@pytest.mark.parametrize("target", ["table", "population"])
@pytest.mark.parametrize("name", list(METHODS.members))
def test_shares_of_all_and_none_of_a_group_are_exact(name, target):
    """Estimated, they would be 1 ± 0.0000004, or 1 with an interval of quadrillions either way under heavy tails."""
    table = sample_table(400)
    release = release_in_memory(table, METHODS.get(name).example(table.schema), seed=3)
    group = "job = 'Care'"
    every = release.proportion("job IN ('Care', 'Tech')", given=group, target=target)
    none = release.proportion("job = 'Tech'", given=group, target=target)
    for answer, share in ((every, 1.0), (none, 0.0)):
        assert answer.is_exact
        assert (answer.estimate, answer.std_error, answer.low, answer.high) == (share, 0.0, share, share)
    difference = release.difference(group, given=group, versus="job = 'Tech'", target=target)
    assert difference.estimate == 1
    assert difference.is_exact
