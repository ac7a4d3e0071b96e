"""People of whom something is believed: as many values and kinds of them as can be written out."""

from __future__ import annotations

import numpy as np
import pytest

from published_rows import category_attribute
from sfumato.errors import TooLargeError
from sfumato.laws.posterior import Targets
from sfumato.schema import Role

TOWN = category_attribute("town", 30_000, Role.QUASI_IDENTIFIER)


def people(values, kinds):
    """So many kinds of people, and values that they may have."""
    return Targets.of(
        (TOWN,), category_attribute("job", values), {"town": np.arange(kinds)}, are_members=True
    )


@pytest.mark.parametrize(("values", "kinds"), [(2_000, 25_000), (2_000, 1), (1_999, 25_012)])
def test_two_thousand_values_and_fifty_million_beliefs_fit(values, kinds):
    """To the last of them."""
    assert len(people(values, kinds).combinations) == kinds


@pytest.mark.parametrize(("values", "kinds"), [(2_001, 1), (2_000, 25_001), (1_999, 25_013)])
def test_one_more_is_refused_with_the_limits(values, kinds):
    """Both are said."""
    with pytest.raises(TooLargeError, match=r"2,000 categories at most, and 50,000,000 of them times kinds"):
        people(values, kinds)
