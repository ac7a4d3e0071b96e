"""The scale-factor leak: it works against caps by group and not against the uniform cap."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sfumato import RandomizedResponse, publish, read_table
from sfumato.attacks.group_reconstruction import (
    GroupFrequency,
    ScaleFactor,
    frequency_of_sample_size,
    likeliest_sample_size,
)
from sfumato.errors import NotIdentifiableError
from sfumato.methods.sample_perturb_scale.design import SamplePerturbScale
from sfumato.schema import Attribute, Role, Schema

GROUPS = 12
SCHEMA = Schema(
    attributes=(
        Attribute(name="place", role=Role.QUASI_IDENTIFIER, categories=tuple(map(str, range(GROUPS)))),
        Attribute(name="job", role=Role.SENSITIVE, categories=tuple("abcdefghij")),
    )
)
FREQUENCIES = np.linspace(0.3, 0.85, GROUPS)
"""Largest frequency of each group."""


@pytest.fixture(scope="module")
def table():
    """Groups 120 times as large as their own caps, the other values uneven."""
    promise = SamplePerturbScale(retention=0.5).promise(SCHEMA)
    draw = np.random.default_rng(1)
    place, job = [], []
    for group, frequency in enumerate(FREQUENCIES):
        rows = int(120 * float(promise.caps_at(frequency)))
        shares = [frequency, *draw.dirichlet(np.full(9, 5.0)) * (1 - frequency)]
        counts = np.floor(rows * np.array(shares)).astype(int)
        job.append(np.repeat(np.arange(10), counts))
        place.append(np.full(counts.sum(), group))
    labels = np.array(list("abcdefghij"))
    rows = pa.table({"place": np.concatenate(place).astype(str), "job": labels[np.concatenate(job)]})
    return read_table(rows, SCHEMA)


def largest_frequencies(release, attack):
    """The attack's guess of each group's largest frequency, by group."""
    rows = attack.run(release).tables[0].rows
    return {int(row[0]): row[-1] for row in rows}


@pytest.mark.parametrize("strict", [True, False])
def test_caps_by_group_give_the_largest_frequency_away(table, tmp_path, strict):
    """Nearly every group, to within 3 %, where reconstruction from the values is off by 10 %."""
    release = publish(
        table, SamplePerturbScale(retention=0.5, cap="group", strict=strict), tmp_path / "r", seed=1
    )
    found = largest_frequencies(release, ScaleFactor(shown=GROUPS))
    assert len(found) >= GROUPS - 1
    errors = [abs(value / FREQUENCIES[group] - 1) for group, value in found.items()]
    assert np.mean(np.array(errors) < 0.03) > 0.85
    by_values = {row[0]: row[3] for row in GroupFrequency(shown=GROUPS).run(release).tables[0].rows}
    from_values = [abs(value / FREQUENCIES[int(group)] - 1) for group, value in by_values.items()]
    assert np.median(errors) < np.median(from_values) / 3


def test_the_uniform_cap_gives_nothing_away(table, tmp_path):
    """The sample size is found, is the public one, and leads to the same frequency for all groups."""
    design = SamplePerturbScale(retention=0.5)
    release = publish(table, design, tmp_path / "r", seed=1)
    result = ScaleFactor(shown=GROUPS).run(release)
    sizes = {row[2] for row in result.tables[0].rows}
    assert sizes == {design.promise(SCHEMA).uniform_cap}
    assert result.findings["different sample sizes"] == 1
    found = largest_frequencies(release, ScaleFactor(shown=GROUPS))
    errors = [abs(value / FREQUENCIES[group] - 1) for group, value in found.items()]
    assert np.median(errors) > 0.3


def test_a_sample_size_is_found_from_a_lattice():
    """Multiples 5, 9 and 3 of 120.4, each a little off by rounding."""
    size, probability = likeliest_sample_size(np.array([602.0, 1084.0, 361.0]), 10, 30)
    assert size == 17
    assert probability > 0.9


def test_counts_on_no_lattice_are_nothing_to_be_sure_of():
    """Where the factor is small, every count fits."""
    assert likeliest_sample_size(np.array([10.0, 11.0, 12.0, 13.0]), 15, 40)[1] < 0.5


def test_a_public_sample_size_is_certain():
    """One size is possible."""
    assert likeliest_sample_size(np.array([30.0, 20.0]), 10, 10) == (10, 1.0)


def test_frequencies_follow_from_caps():
    """Solving eq. 4.9 for the frequency undoes it, to the rounding of the cap."""
    promise = SamplePerturbScale(retention=0.5).promise(SCHEMA)
    frequencies = np.array([0.2, 0.4, 0.6, 0.8, 1.0])
    found = frequency_of_sample_size(np.floor(promise.caps_at(frequencies)), promise)
    np.testing.assert_allclose(found, frequencies, rtol=0.01)


@pytest.mark.parametrize(
    ("design", "message"),
    [
        (RandomizedResponse(retention=0.5), "has none"),
        (SamplePerturbScale(retention=0.2, bound="exact"), "whole composition"),
    ],
)
def test_other_releases_are_refused(table, tmp_path, design, message):
    """Plain perturbation has no scale factors; exact caps do not follow from one frequency."""
    release = publish(table, design, tmp_path / "r", seed=1)
    with pytest.raises(NotIdentifiableError, match=message):
        ScaleFactor().run(release)
