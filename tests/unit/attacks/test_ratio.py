"""The ratio attack on releases and on counts, and the deterministic results on Adult."""

from __future__ import annotations

import csv
import itertools
import math

import numpy as np
import pyarrow as pa
import pytest

from samples import SCHEMA, people
from sfumato import RandomizedResponse, Schema, publish, read_table
from sfumato.attacks.ratio import GroupCounts, RatioAttack, disclosures_in_counts, hiding_noise
from sfumato.datasets import fetch_dataset
from sfumato.errors import NotIdentifiableError, ParameterError
from sfumato.methods.noisy_marginals.design import NoisyMarginals
from sfumato.randomness.noise import DiscreteLaplace, Laplace

MEN_IN_TECH = {"smallest_jump": 1.5}


@pytest.fixture(scope="module")
def table():
    """Half of the men are in tech, a tenth of the women: a jump of about 1.9 for men."""
    return read_table(people(20_000), SCHEMA)


def attack(table, folder, attack=None, **parameters):
    """Publish and attack."""
    release = publish(table, NoisyMarginals(**parameters), folder, seed=3)
    return (attack or RatioAttack(**MEN_IN_TECH)).run(release)


def disclosed(result):
    """Group and value of every listed disclosure."""
    return {(row[0], row[1]) for row in result.tables[0].rows}


def test_a_large_group_is_disclosed_by_small_noise(table, tmp_path):
    """With Han's tables, every group is published by itself."""
    result = attack(table, tmp_path / "release", epsilon=1.0, marginals="two-way-with-sensitive")
    assert ("sex = Male, age = [17,35)", "Tech") in disclosed(result)
    row = next(row for row in result.tables[0].rows if row[0] == "sex = Male, age = [17,35)")
    assert row[3] == pytest.approx(0.5, abs=0.05)
    assert row[4] == pytest.approx(0.5 / 0.26, abs=0.25)


def test_no_disclosure_under_heavy_noise(table, tmp_path):
    """At an epsilon of 0.001 the noise outweighs every group."""
    result = attack(table, tmp_path / "release", epsilon=0.001, marginals="two-way-with-sensitive")
    assert result.findings["values disclosed"] == 0
    assert result.findings["groups without a ratio (noisy count not above 0)"] > 0


@pytest.mark.parametrize(
    "parameters",
    [
        {"marginals": "naive-bayes"},
        {"marginals": "two-way-with-sensitive", "budget": "cells"},
        {"marginals": "naive-bayes", "mechanism": "discrete-gaussian", "delta": 1e-6},
    ],
)
def test_groups_that_are_sums_or_have_other_noise_are_attacked_too(table, tmp_path, parameters):
    """By quadrature with the two standard deviations."""
    result = attack(table, tmp_path / "release", epsilon=1.0, **parameters)
    assert any(group.startswith("sex = Male") and value == "Tech" for group, value in disclosed(result))


def test_another_law_is_refused(table, tmp_path):
    """With its name."""
    release = publish(table, RandomizedResponse(retention=0.5), tmp_path / "release", seed=1)
    with pytest.raises(NotIdentifiableError, match="perturbed-rows"):
        RatioAttack().run(release)


def test_a_release_without_the_sensitive_attribute_in_a_table_is_refused(table, tmp_path):
    """There is no group to learn from."""
    release = publish(
        table, NoisyMarginals(epsilon=1.0, marginals=(("sex", "age"), ("job",))), tmp_path / "r", seed=1
    )
    with pytest.raises(NotIdentifiableError, match="no published table crosses 'job'"):
        RatioAttack().run(release)
    with pytest.raises(ParameterError, match="the schema has none"):
        RatioAttack().run(
            publish(table, NoisyMarginals(epsilon=1.0, marginals=(("sex", "age"),)), tmp_path / "s", seed=1)
        )


@pytest.mark.parametrize(
    "parameters", [{"tolerance": 0}, {"smallest_jump": 0.5}, {"smallest_closeness": 1.5}]
)
def test_thresholds_out_of_bounds_are_refused(parameters):
    """Tau in (0, 1), K_J from 1 on, K_CP in (0, 1]."""
    with pytest.raises(ParameterError):
        RatioAttack(**parameters)


def test_the_least_hiding_noise_hides_and_costs_its_scale():
    """The largest epsilon without disclosure is the sensitivity over the scale; the error grows with it."""
    counts = GroupCounts(np.array([[420.0, 81.0]]), np.array([501.0]), np.array([0.2478, 0.7522]))
    hiding = hiding_noise(counts, 2, 45_222)
    assert hiding.epsilon == pytest.approx(2 / hiding.scale)
    assert disclosures_in_counts(counts, Laplace(scale=hiding.scale)).number == 0
    assert hiding.relative_error == pytest.approx(hiding.scale * np.mean([1 / 420, 1 / 81, 1 / 501]))
    nothing = GroupCounts(np.array([[10.0, 10.0]]), np.array([20.0]), np.array([0.5, 0.5]))
    assert math.isinf(hiding_noise(nothing, 2, 20).epsilon)


def test_the_discrete_law_discloses_what_the_continuous_one_does():
    """Away from the thresholds."""
    counts = GroupCounts(np.array([[420.0, 81.0]]), np.array([501.0]), np.array([0.2478, 0.7522]))
    for law in (Laplace, DiscreteLaplace):
        assert disclosures_in_counts(counts, law(scale=20.0)).number == 1


# Computed independently on Adult: attributes, sensitive attribute, then 2-D cells and full groups disclosed by
# epsilon, and the expected errors at epsilon 0.5 over cells with rows and over all cells.
ADULT = [
    (
        ("education", "occupation", "race", "sex"),
        "income",
        (4, 4, 3, 0, 0),
        (3, 3, 2, 0, 0),
        3.106,
        3.985,
        1176,
        1332,
    ),
    (
        ("sex", "education", "marital_status", "race"),
        "occupation",
        (24, 14, 7, 0, 0),
        (12, 5, 2, 0, 0),
        5.211,
        6.919,
        2903,
        4245,
    ),
    (
        ("sex", "occupation", "marital_status", "race"),
        "education",
        (19, 12, 10, 0, 0),
        (9, 4, 2, 0, 0),
        5.374,
        7.034,
        2962,
        4335,
    ),
]
EPSILONS = (2, 1, 0.5, 0.1, 0.01)


@pytest.fixture(scope="module")
def adult(tmp_path_factory):
    """The 45,222 complete rows, with the domain of 14 occupations that the literature uses."""
    files = fetch_dataset("adult", tmp_path_factory.mktemp("adult"))
    with files.data.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if all(row.values())]
    text = files.schema.read_text(encoding="utf-8").replace('missing = "category"', 'missing = "error"')
    schema = Schema.from_toml(text)
    return read_table(pa.table({name: [row[name] for row in rows] for name in schema.names}), schema)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "sensitive", "cells", "groups", "nonempty", "every", "filled", "number"), ADULT
)
def test_adult_disclosures_and_errors_are_those_of_the_specification(
    adult, names, sensitive, cells, groups, nonempty, every, filled, number
):
    """Sensitivity 24, tau 0.2, K_CP 0.7, K_J 3; nothing of it is random."""
    pairs = list(itertools.combinations(names, 2))
    with_sensitive = [adult.count_by((*pair, sensitive)) for pair in pairs]
    two_way = GroupCounts.of_tables(with_sensitive, sensitive)
    whole = GroupCounts.of_tables([adult.count_by((*names, sensitive))], sensitive)
    for counts, expected in ((two_way, cells), (whole, groups)):
        found = [disclosures_in_counts(counts, Laplace(scale=24 / epsilon)).number for epsilon in EPSILONS]
        assert tuple(found) == expected
    tables = [adult.count_by(pair) for pair in pairs] + with_sensitive
    published = np.concatenate([each.counts.ravel() for each in tables])
    assert (np.count_nonzero(published), published.size) == (filled, number)
    errors = 24 / 0.5 / np.maximum(published, 1e-4 * 45_222)
    assert errors[published > 0].mean() == pytest.approx(nonempty, abs=5.1e-4)
    assert errors.mean() == pytest.approx(every, abs=5.1e-4)


@pytest.mark.slow
def test_example_two_stands_in_adult(adult):
    """501 people of whom 420 earn more than 50K, prior 0.247844."""
    counts = adult.count_by(("income",)).counts
    assert counts.tolist() == [34_014, 11_208]
    full = adult.count_by(("education", "occupation", "race", "sex", "income")).counts.reshape(-1, 2)
    assert [81, 420] in full.tolist()
