"""What resampled rows say of people: no more than the shared prior, with their own row or without it."""

from __future__ import annotations

import numpy as np
import pytest

from array_tables import ArrayTable
from believed_cells import AGE, JOB, PRIOR, SEX, people
from sfumato.errors import NotIdentifiableError
from sfumato.methods.distribution_resampling.law import ResampledRows
from sfumato.schema import Schema

ROWS = ArrayTable(
    Schema(attributes=(SEX, AGE, JOB)),
    {name: np.array(each, np.uint8) for name, each in {"sex": [1, 0], "age": [2, 1], "job": [1, 2]}.items()},
)
PEOPLE = people(are_members=True)
VALUES = np.array([0, 1, 2, 0])


def test_without_their_own_row_people_are_believed_the_same_by_the_law_and_by_the_prior():
    """What a row shows was drawn from everybody, so that taking it out takes nothing away."""
    found = ResampledRows(attributes=("job",)).posterior_without(
        ROWS, PEOPLE, VALUES, PRIOR, np.random.default_rng(1)
    )
    expected = PRIOR.at(PEOPLE.names, PEOPLE.combinations)[PEOPLE.index]
    for each in found:
        np.testing.assert_array_equal(each.of_targets(), expected)


def test_where_other_attributes_were_drawn_a_row_cannot_be_taken_out():
    """The job is the row's own; whose row it is nobody can tell, because ages were drawn anew."""
    with pytest.raises(NotIdentifiableError, match="a single row cannot be taken out"):
        ResampledRows(attributes=("age",)).posterior_without(
            ROWS, PEOPLE, VALUES, PRIOR, np.random.default_rng(1)
        )
