"""Personal reconstruction of every group of a release."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sfumato import RandomizedResponse, publish, read_table
from sfumato.attacks.group_reconstruction import GroupFrequency, probability_within
from sfumato.errors import NotIdentifiableError
from sfumato.methods.sample_perturb_scale.design import SamplePerturbScale
from sfumato.randomness.distortion import UniformDistortion
from sfumato.schema import Attribute, Role, Schema

SCHEMA = Schema(
    attributes=(
        Attribute(name="place", role=Role.QUASI_IDENTIFIER, categories=("town", "village")),
        Attribute(name="job", role=Role.SENSITIVE, categories=tuple("abcde")),
    )
)


@pytest.fixture(scope="module")
def table():
    """A town of 20,000 where 80 % have one job, a village of 30."""
    jobs = ["a"] * 16_000 + ["b", "c", "d", "e"] * 1_000 + ["a", "b", "c"] * 10
    return read_table(pa.table({"place": ["town"] * 20_000 + ["village"] * 30, "job": jobs}), SCHEMA)


def test_a_large_group_is_reconstructed_from_plain_perturbation(table, tmp_path):
    """The town's 80 % are found, and the attacker is right to be sure."""
    release = publish(table, RandomizedResponse(retention=0.5), tmp_path / "r", seed=1)
    result = GroupFrequency(relative_error=0.1).run(release)
    town = result.tables[0].rows[0]
    assert town[:3] == ("town", 20_000, "a")
    assert town[3] == pytest.approx(0.8, abs=0.03)
    assert town[4] > 0.99
    assert result.findings["groups within it with probability 95 %"] == 1


@pytest.mark.parametrize("publish_as", ["duplicates", "weights"])
def test_the_same_group_sampled_is_not(table, tmp_path, publish_as):
    """From 64 rows a frequency is within a tenth far less surely."""
    design = SamplePerturbScale(retention=0.5, publish_as=publish_as)
    release = publish(table, design, tmp_path / "r", seed=1)
    result = GroupFrequency(relative_error=0.1).run(release)
    assert result.tables[0].rows[0][1] == 20_000
    assert result.tables[0].rows[0][4] < 0.9
    assert result.findings["groups within it with probability 95 %"] == 0


def test_the_error_is_that_of_the_promise_unless_one_is_given(table, tmp_path):
    """A release of sample-perturb-scale states one; others use .3."""
    design = SamplePerturbScale(retention=0.5, relative_error=0.2, cap="group")
    result = GroupFrequency().run(publish(table, design, tmp_path / "r", seed=1))
    assert result.findings["relative error"] == 0.2
    assert any("unpublished" in caveat for caveat in result.caveats)
    plain = publish(table, RandomizedResponse(retention=0.5), tmp_path / "p", seed=1)
    assert GroupFrequency().run(plain).findings["relative error"] == 0.3


def test_releases_of_several_perturbed_attributes_are_refused(table, tmp_path):
    """The attack is about one."""
    design = RandomizedResponse(retention=0.5, attributes=("place", "job"))
    release = publish(table, design, tmp_path / "r", seed=1)
    with pytest.raises(NotIdentifiableError, match="2 perturbed attributes"):
        GroupFrequency().run(release)


def test_probabilities_are_calibrated_for_even_frequencies():
    """Of groups to which the attacker gives a probability near q, a share near q is within the error.

    20,000 groups, frequencies even on [0, 1]; a bin of 1,000 or more has a standard error below .016.
    """
    draw = np.random.default_rng(5)
    distortion = UniformDistortion(retention=0.5, size=5)
    rows = draw.choice([20, 50, 100, 400], 20_000)
    frequency = draw.random(20_000)
    count = draw.binomial(rows, frequency)
    seen = draw.binomial(count, 0.6) + draw.binomial(rows - count, 0.1)
    estimate = (seen / rows - 0.1) / 0.5
    probability = probability_within(estimate, rows, distortion, 0.2)
    true = count / rows
    is_within = np.abs(estimate - true) <= 0.2 * true
    bins = np.digitize(probability, np.linspace(0, 1, 6)[1:-1])
    for number in range(5):
        members = bins == number
        if np.count_nonzero(members) >= 1_000:
            assert is_within[members].mean() == pytest.approx(probability[members].mean(), abs=0.08)
