"""Groups that were cut by how frequent their values are: by hand, and round by round."""

from __future__ import annotations

import numpy as np
import pytest

from array_tables import ArrayTable
from sfumato.errors import ReleaseDamagedError
from sfumato.methods.sample_perturb_scale.law import SampledRows, largest_frequencies
from sfumato.query.selection import Selection, Tabulation
from sfumato.randomness.distortion import UniformDistortion
from sfumato.schema import Attribute, Role, Schema

SEX = Attribute(name="sex", role=Role.QUASI_IDENTIFIER, categories=("f", "m", "x"))
NOTE = Attribute(name="note", role=Role.OTHER, categories=("a", "b"))
JOB = Attribute(name="job", role=Role.SENSITIVE, categories=("s", "t", "u"))
# So little perturbation that it adds nothing: a group's cap is then n over its largest frequency.
FALLING = SampledRows(
    sensitive="job",
    distortion=UniformDistortion(retention=1 - 1e-13, size=3),
    groups=("sex",),
    rows_per_group=10.0,
    is_smallest=True,
    caps_fall_with_frequency=True,
)
COUNTS = np.array([[30.0, 20.0, 10.0], [16.0, 2.0, 2.0], [0.0, 0.0, 0.0]])
"""Sixty women of whom half have one job, so that 20 were kept or w = 3; twenty men, 8 in 10 of one job: w = 1.6."""


def variances_by_hand():
    """Rounded quotas, ``w^2 / 6`` each with their sum kept, and rounded copies, ``v/w (x - x^2 / N)``."""
    # v/w is 1/6 over 3, and 3 - 1.6 - 2 / 1.6 where the factor is below 2.
    women = 3**2 / 6 * 2 / 3 + 1 / 18 * (COUNTS[0] - COUNTS[0] ** 2 / 60)
    men = 1.6**2 / 6 * 2 / 3 + 0.15 * (COUNTS[1] - COUNTS[1] ** 2 / 20)
    return np.array([women, men, np.zeros(3)])


def release(counts):
    """Rows with these jobs, all with the first note."""
    number = counts.astype(int).ravel()
    codes = {"sex": np.repeat(np.arange(9) // 3, number), "job": np.repeat(np.arange(9) % 3, number)}
    codes["note"] = np.zeros(int(number.sum()))
    columns = {name: each.astype(np.uint8) for name, each in codes.items()}
    return ArrayTable(Schema(attributes=(SEX, NOTE, JOB)), columns)


def test_errors_to_expect_of_groups_cut_by_their_largest_frequency():
    """Each group by its own; nobody of the third sex has any."""
    np.testing.assert_allclose(FALLING.expected_variances(COUNTS), variances_by_hand(), rtol=1e-6, atol=1e-9)


def test_errors_of_groups_that_were_cut_by_their_largest_frequency():
    """The same from published rows, which say how frequent values are."""
    found = FALLING.estimate(release(COUNTS), Tabulation(by=("sex", "job")))
    np.testing.assert_allclose(
        np.diagonal(found.covariance).reshape(3, 3), variances_by_hand(), rtol=1e-6, atol=1e-9
    )


def effect(factor):
    """``w + v/w`` of a factor that is about known."""
    if factor <= 1:
        return 1.0
    up_to_two = 3 - min(factor, 2) - 2 / min(factor, 2)
    return factor + min(3 - min(factor, 2**0.5) - 2 / min(factor, 2**0.5), max(up_to_two, 1 / (6 * factor)))


def test_how_far_groups_were_cut_is_found_in_two_rounds():
    """Frequencies by the noise of rows that were not cut, and again by the noise of rows that were cut as these say."""
    p, size, kept = 0.4, 3, 25.0
    law = FALLING.model_copy(
        update={"distortion": UniformDistortion(retention=p, size=size), "rows_per_group": kept}
    )
    rows = np.array([[300.0, 120.0, 80.0], [40.0, 70.0, 50.0], [200.0, 500.0, 100.0], [9.0, 12.0, 8.0]])
    q = (1 - p) / size
    estimates = (rows - q * rows.sum(axis=1, keepdims=True)) / p
    # A row counts (1 - q) / p toward its own value and -q / p toward the others; of each what h^2 is above h.
    of_rows = rows * ((1 - q) ** 2 / p**2 - (1 - q) / p)
    of_rows += (rows.sum(axis=1, keepdims=True) - rows) * (q**2 / p**2 + q / p)
    sizes, effects = rows.sum(axis=1), np.ones(4)
    for _ in range(2):
        largest = largest_frequencies(estimates, of_rows * effects[:, None], sizes)
        frequency = np.clip(largest, 1 / 3, 1)
        cut = sizes * (p + q) * frequency**2 / (frequency * p + q)
        effects = np.array([effect(each / kept) for each in cut])
    assert len({*np.round(cut / sizes, 3)}) == 4
    np.testing.assert_allclose(law.estimated_cut_sizes(rows), cut)


@pytest.mark.parametrize(
    ("asked", "readings"),
    [
        ([{"sex": 0}], [("sex", "job")]),
        ([{"note": 0}], [("sex", "note", "job")]),
        ([{"note": 0}, {"sex": 0, "job": 1}], [("sex", "note", "job"), ("sex", "job")]),
    ],
)
def test_groups_are_read_once_and_again_only_where_parts_are_asked_beside_them(asked, readings):
    """A release may be large."""
    read = []

    class Watched(ArrayTable):
        def count_occupied(self, names, *, weight=None, fewest=1):
            read.append(tuple(names))
            return super().count_occupied(names, weight=weight, fewest=fewest)

    rows = release(COUNTS)
    watched = Watched(rows.schema, rows.codes)
    some = [
        Tabulation(where=Selection(tuple((name, (code,)) for name, code in each.items()))) for each in asked
    ]
    FALLING.formula(watched, some)
    assert read == readings


def test_a_release_without_the_groups_or_of_other_values_is_refused():
    """What the law says must be there."""
    schema = Schema(attributes=(SEX, NOTE, JOB))
    assert FALLING.question_schema(schema) is schema
    with pytest.raises(ReleaseDamagedError):
        FALLING.question_schema(Schema(attributes=(NOTE, JOB)))
    with pytest.raises(ReleaseDamagedError, match="matrix of 'job'"):
        FALLING.question_schema(Schema(attributes=(SEX, JOB.model_copy(update={"categories": ("s", "t")}))))
    assert FALLING.treats_alike("job")


def test_rows_that_were_drawn_are_as_many_as_the_groups_were_cut_to():
    """Of sixty women 20 were kept and of twenty men 12.5, whatever is wanted to be known of them: nobody was cut to ten."""
    found = FALLING.grouped_rows(release(COUNTS), ("sex",), "job")
    assert found.combinations.tolist() == [[0], [1]]
    np.testing.assert_allclose(found.counts, [[10, 20 / 3, 10 / 3], [10, 1.25, 1.25]], rtol=1e-6)
    notes = FALLING.grouped_rows(release(COUNTS), ("sex",), "note")
    np.testing.assert_allclose(notes.counts, [[20, 0], [12.5, 0]], rtol=1e-6)
    assert notes.channel.tolist() == [[1, 0], [0, 1]]
