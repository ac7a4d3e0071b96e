"""Publishing noisy marginals: which tables, how much noise, what is refused."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from samples import SCHEMA, people
from sfumato import Schema, publish, read_table
from sfumato.errors import NotIdentifiableError, ParameterError, QueryError, TooLargeError
from sfumato.methods.noisy_marginals.design import (
    Measurement,
    NoisyMarginals,
    choose_marginals,
    gaussian_noises,
    laplace_noises,
    mean_size,
)
from sfumato.randomness.noise import DiscreteGaussian, DiscreteLaplace

QUESTION = "sex = 'Female' AND job = 'Care'"

# Han (2016), table 3.6.
PATIENTS = pa.table(
    {
        "age": [23, 35, 46, 30, 50, 33],
        "gender": ["F", "F", "M", "M", "M", "F"],
        "occupation": ["Lawyer", "Engineer", "Engineer", "Lawyer", "Engineer", "Lawyer"],
        "disease": ["Flu", "HIV", "Flu", "HIV", "Flu", "HIV"],
    }
)
PATIENT_SCHEMA = Schema.from_toml("""
[attributes.age]
role = "quasi-identifier"
bins = [0, 40, 100]
[attributes.gender]
role = "quasi-identifier"
categories = ["M", "F"]
[attributes.occupation]
role = "quasi-identifier"
categories = ["Lawyer", "Engineer"]
[attributes.disease]
role = "sensitive"
categories = ["Flu", "HIV"]
""")


@pytest.fixture(scope="module")
def table():
    """Two thousand people."""
    return read_table(people(2_000), SCHEMA)


def test_table_3_6_gives_its_marginals_and_its_sensitivity(tmp_path):
    """Six tables, sensitivity 12; with next to no noise the counts are those of the thesis."""
    design = NoisyMarginals(epsilon=1.0, marginals="two-way-with-sensitive")
    assert len(design.measurements(PATIENT_SCHEMA)) == 6
    assert {each.scale for each in design.noises(PATIENT_SCHEMA)} == {12.0}
    quiet = NoisyMarginals(epsilon=12 / 0.01, marginals="two-way-with-sensitive")
    release = publish(read_table(PATIENTS, PATIENT_SCHEMA), quiet, tmp_path / "release", seed=1)
    assert release.counts(["gender", "occupation"]).values.tolist() == [[1, 2], [2, 1]]
    with_disease = release.counts(["gender", "occupation", "disease"]).values
    assert with_disease.tolist() == [[[0, 1], [2, 0]], [[1, 1], [0, 1]]]


@pytest.mark.parametrize(
    ("marginals", "expected"),
    [
        ("two-way", 6),
        ("two-way-with-sensitive", 6),
        ("naive-bayes", 3),
        ((("sex",), ("age", "job", "sex")), 2),
    ],
)
def test_named_sets_and_lists_of_marginals(marginals, expected):
    """Of the four attributes that may be published, one of them sensitive."""
    chosen = choose_marginals(SCHEMA, marginals)
    assert len(chosen) == expected
    if marginals == "naive-bayes":
        assert all(names[0] == "job" for names in chosen)


def test_the_attributes_of_a_named_set_can_be_chosen():
    """Both the others and the one they are crossed with."""
    chosen = choose_marginals(SCHEMA, "naive-bayes", ("sex", "job"), "region")
    assert chosen == (("region", "sex"), ("region", "job"))


def test_every_cell_is_published_zeros_included(table, tmp_path):
    """One table for each marginal, one row for each cell of the full product."""
    release = publish(table, NoisyMarginals(epsilon=0.1), tmp_path / "release", seed=1)
    sizes = {each.name: each.size for each in SCHEMA.publishable.attributes}
    for entry in release.manifest.tables:
        assert entry.number_of_rows == math.prod(sizes[name] for name in entry.attributes)
        assert entry.integers == ("count",)


def test_estimates_are_near_the_truth(table, tmp_path):
    """Within six standard errors in every cell."""
    release = publish(table, NoisyMarginals(epsilon=1.0, queries=(QUESTION,)), tmp_path / "release", seed=1)
    for by in (["job"], ["sex", "job"], ["region", "age"]):
        answer = release.counts(by)
        truth = table.count_by(by).counts
        assert (np.abs(answer.values - truth) <= 6 * answer.std_errors).all()
    asked = release.query(QUESTION)
    truth = np.sum((table.count_by(["sex", "job"]).counts)[0, 2])
    assert abs(asked.estimate - truth) <= 6 * asked.std_error
    share = release.proportion("job = 'Care'", given="sex = 'Female'")
    assert share.estimate == pytest.approx(0.7, abs=0.1)


def test_queries_alone_are_a_release(table, tmp_path):
    """Only they can be asked; the attributes they are about are declared all the same."""
    design = NoisyMarginals(epsilon=1.0, marginals=(), queries=(QUESTION, "age < 35"))
    release = publish(table, design, tmp_path / "release", seed=1)
    assert {each.noise.scale for each in release.law.answers} == {2.0}
    assert abs(release.query("age < 35").estimate - table.count_by(["age"]).counts[0]) < 40
    with pytest.raises(NotIdentifiableError, match="declared queries only"):
        release.query("sex = 'Female'")


def test_opendp_can_draw_instead(table, tmp_path):
    """Without a seed, which it does not take."""
    design = NoisyMarginals(epsilon=1.0, marginals=(("job",),), sampler="opendp")
    release = publish(table, design, tmp_path / "release")
    assert abs(release.query("").estimate - 2_000) < 100
    with pytest.raises(ParameterError, match="take no seed"):
        publish(table, design, tmp_path / "seeded", seed=1)


MEASUREMENTS = [Measurement(("a",), 2, 2), Measurement(("b",), 2000, 2), Measurement(("q",), 1, 1)]


@pytest.mark.parametrize("budget", ["uniform", "cells"])
@pytest.mark.parametrize("epsilon", [0.01, 0.3, 7.0])
def test_laplace_scales_spend_the_budget_and_no_more(budget, epsilon):
    """Exactly: the sum of changed counts over scales is at most epsilon, and nearly all of it."""
    noises = laplace_noises(MEASUREMENTS, epsilon, budget)
    spent = sum(
        Fraction(each.changed_by_row) / Fraction(noise.scale)
        for each, noise in zip(MEASUREMENTS, noises, strict=True)
    )
    assert Fraction(epsilon) * (1 - Fraction(1, 10**12)) < spent <= Fraction(epsilon)


@pytest.mark.parametrize("budget", ["uniform", "cells"])
def test_gaussian_scales_spend_the_budget_and_no_more(budget):
    """The sum of changed counts over twice the variances is at most rho."""
    noises = gaussian_noises(MEASUREMENTS, 0.02, budget)
    spent = sum(
        each.changed_by_row / (2 * noise.scale**2) for each, noise in zip(MEASUREMENTS, noises, strict=True)
    )
    assert 0.02 * (1 - 1e-12) < spent <= 0.02


@pytest.mark.parametrize(
    "make", [lambda b: laplace_noises(MEASUREMENTS, 1.0, b), lambda b: gaussian_noises(MEASUREMENTS, 0.1, b)]
)
def test_the_split_by_cells_has_the_smaller_total_variance(make):
    """That is what it is for."""

    def total(noises):
        return sum(each.cells * noise.variance for each, noise in zip(MEASUREMENTS, noises, strict=True))

    assert total(make("cells")) < total(make("uniform"))


def test_replacing_doubles_the_noise_of_adding():
    """The same epsilon says more about a row that is replaced."""
    by_relation = [
        NoisyMarginals(epsilon=1.0, neighbours=relation).noises(SCHEMA)[0].scale
        for relation in ("replace-one", "add-remove")
    ]
    assert by_relation == [12.0, 6.0]


def test_the_promise_is_the_one_asked_for():
    """Pure with Laplace noise; with Gaussian noise delta and rho besides."""
    (pure,) = NoisyMarginals(epsilon=0.5).guarantees(SCHEMA)
    assert (pure.epsilon, pure.delta, pure.rho, pure.relation) == (0.5, 0.0, None, "replace-one")
    design = NoisyMarginals(epsilon=0.5, delta=1e-6, mechanism="discrete-gaussian", neighbours="add-remove")
    (approximate,) = design.guarantees(SCHEMA)
    assert (approximate.delta, approximate.relation) == (1e-6, "add-remove")
    assert approximate.rho > 0
    assert isinstance(design.noises(SCHEMA)[0], DiscreteGaussian)


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_floating_noise_is_refused_with_the_reason(mechanism):
    """And with what to use instead."""
    with pytest.raises(ParameterError, match=f"last digits give the count away.*use 'discrete-{mechanism}'"):
        NoisyMarginals(epsilon=1.0, mechanism=mechanism)


@pytest.mark.parametrize("epsilon", [0.0, -0.5, math.nan, math.inf])
def test_epsilon_at_or_below_zero_is_refused(epsilon):
    """By name and value."""
    with pytest.raises(ParameterError, match="epsilon"):
        NoisyMarginals(epsilon=epsilon)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"delta": 1e-6}, "delta must be 0"),
        ({"mechanism": "discrete-gaussian"}, "delta must be above 0"),
        ({"marginals": "three-way"}, "got 'three-way'"),
        ({"marginals": ()}, "nothing to publish"),
    ],
)
def test_parameters_that_contradict_each_other_are_refused(parameters, message):
    """One sentence each."""
    with pytest.raises(ParameterError, match=message):
        NoisyMarginals(epsilon=1.0, **parameters)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"marginals": (("sex", "sex"),)}, "different attributes"),
        ({"marginals": ((),)}, "got none"),
        ({"marginals": (("sex", "job"), ("job", "sex"))}, "same attributes"),
        ({"marginals": (("person",),)}, "identifier"),
        ({"marginals": "naive-bayes", "attributes": ("job",)}, "there are 0"),
        ({"marginals": "two-way", "attributes": ("job",)}, "need two attributes"),
        ({"queries": ("job = 'Care'", "job IN ('Care')")}, "ask the same"),
    ],
)
def test_parameters_that_do_not_fit_the_schema_are_refused(parameters, message):
    """Before anything is read."""
    with pytest.raises(ParameterError, match=message):
        NoisyMarginals(epsilon=1.0, **parameters).guarantees(SCHEMA)


def test_an_unknown_attribute_is_refused_with_the_nearest():
    """As in a query."""
    with pytest.raises(QueryError, match="did you mean 'job'"):
        NoisyMarginals(epsilon=1.0, marginals=(("jop",),)).guarantees(SCHEMA)


def test_which_sensitive_attribute_must_be_said_when_there_are_two():
    """It is not guessed."""
    schema = Schema.from_toml(
        "".join(f'[attributes.{name}]\nrole = "sensitive"\ncategories = ["x", "y"]\n' for name in "ab")
    )
    with pytest.raises(ParameterError, match=r"exactly one sensitive.*class_attribute"):
        choose_marginals(schema, "naive-bayes")


def test_an_attribute_called_count_is_refused():
    """It is the name of the published column."""
    schema = Schema.from_toml('[attributes.count]\nrole = "other"\ncategories = ["x", "y"]')
    with pytest.raises(ParameterError, match="column of counts"):
        choose_marginals(schema, (("count",),))


def test_a_marginal_that_memory_cannot_hold_is_refused_before_anything_is_counted():
    """The cells are said, and something smaller is suggested."""
    blocks = "".join(
        f'[attributes.a{number}]\nrole = "other"\ncategories = {[str(code) for code in range(500)]}\n'
        for number in range(4)
    )
    schema = Schema.from_toml(blocks.replace("'", '"'))
    with pytest.raises(TooLargeError, match=r"62,500,000,000 cells.*fewer attributes"):
        NoisyMarginals(epsilon=1.0, marginals=(("a0", "a1", "a2", "a3"),)).guarantees(schema)


def test_a_plan_states_errors_by_size_and_groups_in_reach(table):
    """Lemma 1, the rule of thumb and the exact closeness stand side by side."""
    design = NoisyMarginals(epsilon=1.0, marginals="two-way-with-sensitive")
    precision, sizes, exposure = design.plan_tables(SCHEMA, 45_222, None)
    assert all(row[2] == 12.0 for row in precision.rows)
    assert sizes.rows[2][1] == pytest.approx(math.sqrt(DiscreteLaplace(scale=12.0).variance) / 100)
    by_size = {row[0]: row for row in exposure.rows}
    # Discrete Laplace noise of scale 12: variance 2 * 144 - 1/6, so the scale of its Laplace law is 11.997.
    assert by_size[200][1] == pytest.approx(11.9965 / 200, rel=1e-4)
    assert by_size[200][2] == pytest.approx(2 * (11.9965 / 200) ** 2, rel=1e-3)
    assert [by_size[size][3] for size in (200, 500)] == ["no", "yes"]
    assert by_size[20_000][4] > 0.999 > by_size[20][4]
    (private,) = design.plan_tables(SCHEMA, 2_000, table)[3:]
    assert private.is_private


@pytest.mark.parametrize(
    "parameters",
    [{"epsilon": 1e-9}, {"epsilon": 1e-9, "delta": 1e-9, "mechanism": "discrete-gaussian"}],
)
def test_a_plan_for_enormous_noise_needs_no_memory(table, parameters):
    """Scales of billions: no sum over the support of the noise, whose mean size is known."""
    design = NoisyMarginals(marginals=(("sex", "job"),), **parameters)
    tables = design.plan_tables(table.schema, table.number_of_rows, table)
    assert tables[-1].is_private


@pytest.mark.parametrize("scale", [0.4, 3.0, 200.0])
def test_the_mean_size_of_noise_is_its_sum(scale):
    """Closed forms against brute force."""
    for noise in (DiscreteLaplace(scale=scale), DiscreteGaussian(scale=scale)):
        support = np.arange(-9_000, 9_001)
        assert mean_size(noise) == pytest.approx(
            float(np.abs(support) @ noise.probability(support)), rel=1e-12
        )
    wide = DiscreteGaussian(scale=1e5)
    support = np.arange(1, 1_000_000)
    assert mean_size(wide) == pytest.approx(float(2 * support @ wide.probability(support)), rel=1e-10)
