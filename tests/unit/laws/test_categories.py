"""Published rows by the categories of one attribute at a time, cell by cell."""

from __future__ import annotations

import numpy as np

from sfumato.laws.shrinkage import by_attribute, perturbed_axes

CODES = np.array([[4, 1], [4, 0], [7, 1]])
"""Categories of three groups that were not perturbed: two attributes of two categories each."""
TOWN, AGE, JOB = (np.full((size, size), 1 / size) for size in (2, 3, 4))
PUBLISHED = np.random.default_rng(0).integers(0, 9, (3, 2, 3, 4)).astype(float)
"""By group, town, age and job."""
MATRICES = [None, TOWN, AGE, JOB]


def test_axes_that_make_groups_and_were_perturbed():
    """All but the first, which was not, and the last, which is what is asked about."""
    assert perturbed_axes(MATRICES) == (1, 2)
    assert perturbed_axes([None, JOB]) == ()


def test_rows_by_every_attribute():
    """First those that were not perturbed, by their categories in order, then the axes of those that were."""
    found = list(by_attribute(PUBLISHED, MATRICES, CODES))
    assert [counts.shape for counts, _, _ in found] == [(2, 4), (2, 4), (2, 4), (3, 4)]
    assert [[each is None for each in both] for _, both, _ in found] == [[True, False]] * 2 + [
        [False, False]
    ] * 2
    assert found[2][1][0] is TOWN
    assert found[3][1][0] is AGE
    assert all(both[1] is JOB for _, both, _ in found)
    for number, (counts, _, place) in enumerate(found):
        expected = np.zeros(counts.shape)
        for group, town, age, job in np.ndindex(PUBLISHED.shape):
            category = [[0, 0, 1][group], [1, 0, 1][group], town, age][number]
            expected[category, job] += PUBLISHED[group, town, age, job]
            assert np.broadcast_to(place, PUBLISHED.shape[:-1])[group, town, age] == category
        assert counts.tolist() == expected.tolist()


def test_without_codes_only_perturbed_attributes_are_told_apart():
    """Groups on the first axis are then one attribute whose categories nobody knows."""
    assert len(list(by_attribute(PUBLISHED, MATRICES, None))) == 2
