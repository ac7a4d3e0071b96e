"""A law that is withheld: what was perturbed is refused by every door, and the rest is exact."""

from __future__ import annotations

import numpy as np
import pytest

from counted import Counted
from sfumato.errors import NotIdentifiableError, ReleaseDamagedError
from sfumato.estimates.counts import CountTable
from sfumato.methods.randomized_response.law import Withheld
from sfumato.query.selection import Selection, Tabulation
from sfumato.schema import Attribute, Role, Schema

SEX = Attribute(name="sex", role=Role.QUASI_IDENTIFIER, categories=("F", "M"))
JOB = Attribute(name="job", role=Role.SENSITIVE, categories=("a", "b", "c"))
COUNTS = np.array([[5, 2, 1], [0, 3, 4]])
PUBLISHED = Counted((SEX, JOB), COUNTS)
LAW = Withheld(perturbed=("job",))


@pytest.mark.parametrize(
    "asked",
    [Tabulation(by=("job",)), Tabulation(by=("sex", "job")), Tabulation(where=Selection((("job", (1,)),)))],
)
def test_what_was_perturbed_is_refused(asked):
    """In a table and in a condition, alone and with others; as estimates and as consistent counts."""
    with pytest.raises(NotIdentifiableError, match="estimates about job are not valid"):
        LAW.estimate(PUBLISHED, asked)
    with pytest.raises(NotIdentifiableError, match="the law is withheld"):
        LAW.consistent(PUBLISHED, asked)


def test_what_was_not_perturbed_is_exact():
    """Eight women and seven men, without an error; all rows, and half of the sexes."""
    found = LAW.estimate(PUBLISHED, Tabulation(by=("sex",)))
    assert found.values.tolist() == [8, 7]
    assert found.is_exact.all()
    assert LAW.consistent(PUBLISHED, Tabulation(by=("sex",))).tolist() == [8, 7]
    assert LAW.estimate(PUBLISHED, Tabulation()).values.tolist() == [15]


def test_expected_errors_are_none_or_refused():
    """Of sex none; of jobs nothing is said."""
    assert LAW.expected_standard_errors(CountTable((SEX,), COUNTS.sum(axis=1))).tolist() == [0, 0]
    with pytest.raises(NotIdentifiableError, match="job"):
        LAW.expected_standard_errors(CountTable((SEX, JOB), COUNTS))


def test_perturbed_attributes_are_published_and_different():
    """Anything else is damage, or a mistake."""
    assert LAW.question_schema(Schema(attributes=(SEX, JOB))).names == ("sex", "job")
    with pytest.raises(ReleaseDamagedError, match="'job' was perturbed, which it does not publish"):
        LAW.question_schema(Schema(attributes=(SEX,)))
    with pytest.raises(ValueError, match="different from each other"):
        Withheld(perturbed=("job", "job"))
    assert LAW.treats_alike("job")
    assert LAW.changed_attributes == ("job",)
    assert LAW.is_withheld
