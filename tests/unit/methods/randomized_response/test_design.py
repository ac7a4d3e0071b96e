"""Randomized response: where its matrices come from, what it promises, and what it refuses."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from samples import SCHEMA, people
from sfumato import load_release, publish, read_table
from sfumato.errors import ParameterError, QueryError
from sfumato.guarantees.reconstruction_risk import ReconstructionRisk
from sfumato.methods.base import METHODS
from sfumato.methods.randomized_response.design import RandomizedResponse, l2_error
from sfumato.randomness.distortion import DenseDistortion, UniformDistortion

SEX = ((0.9, 0.1), (0.3, 0.7))
CERTAIN = ((1.0, 0.0), (0.4, 0.6))
PROMISE = ReconstructionRisk(sensitive="job", quasi_identifiers=("sex", "age"), bound=0.9)


def guarantee(design, name):
    """The design's guarantee of that name, for the sample schema."""
    return next(each for each in design.guarantees(SCHEMA) if each.guarantee == name)


def test_the_sensitive_attributes_are_perturbed_by_default():
    """Job alone, and the others are said to be unprotected."""
    design = RandomizedResponse(retention=0.5)
    assert list(design.distortions(SCHEMA)) == ["job"]
    assert guarantee(design, "local-differential-privacy").unprotected == ("sex", "age", "region")


def test_quasi_identifiers_and_sensitive_attributes_can_be_perturbed_together():
    """Any subset, each by its own number, in the order of the schema."""
    design = RandomizedResponse(retention={"job": 0.5, "age": 0.8}, epsilon={"sex": 1.0})
    distortions = design.distortions(SCHEMA)
    assert list(distortions) == ["sex", "age", "job"]
    assert distortions["age"].retention == 0.8


def test_an_own_matrix_is_the_matrix_of_its_attribute():
    """Entry by entry, true category first."""
    design = RandomizedResponse(matrix={"sex": SEX}, attributes=("sex",))
    assert design.distortions(SCHEMA)["sex"] == DenseDistortion(rows=SEX)


def test_a_matrix_from_a_file_of_lists_is_the_same_design():
    """JSON and CSV give nested lists."""
    made = METHODS.make(
        "randomized-response", {"matrix": {"sex": [list(row) for row in SEX]}, "attributes": ["sex"]}
    )
    assert made == RandomizedResponse(matrix={"sex": SEX}, attributes=("sex",))


def test_five_attributes_at_epsilon_one_are_a_release_of_five():
    """Epsilons of a row add up; four attributes here."""
    design = RandomizedResponse(epsilon=dict.fromkeys(("sex", "age", "region", "job"), 1.0))
    promise = guarantee(design, "local-differential-privacy")
    assert math.isclose(promise.epsilon, 4.0)
    assert promise.unprotected == ()


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 3.7, 20.0, 40.0])
@pytest.mark.parametrize("attributes", [("job",), ("sex", "age", "job")])
def test_the_total_epsilon_promised_never_exceeds_the_one_asked_for(epsilon, attributes):
    """Rounded up, it is still at or below; and close to it, where the words allow that."""
    promised = guarantee(
        RandomizedResponse(epsilon=epsilon, attributes=attributes), "local-differential-privacy"
    ).epsilon
    assert promised <= epsilon
    # A retention near 1 is a float with steps of 1e-16: at epsilon 20 they are 1e-8 of the rest, and at 40
    # no float below 1 is near enough.
    assert math.isclose(promised, epsilon, rel_tol=1e-7 if epsilon < 30 else 0.05)


def test_epsilon_of_an_own_matrix_is_the_largest_ratio_of_a_column():
    """It is ln max(.9/.3, .7/.1) = ln 7, by hand."""
    promise = guarantee(
        RandomizedResponse(matrix={"sex": SEX}, attributes=("sex",)), "local-differential-privacy"
    )
    assert math.isclose(promise.epsilon_by_attribute["sex"], math.log(7), rel_tol=1e-12)
    assert promise.epsilon_by_attribute["sex"] >= math.log(7)


def test_a_matrix_without_finite_epsilon_is_published_and_says_so(tmp_path):
    """No failure, and no number that is not there: in the manifest and after opening it again."""
    design = RandomizedResponse(matrix={"sex": CERTAIN}, retention={"job": 0.5})
    release = publish(read_table(people(), SCHEMA), design, tmp_path / "out")
    promise, amplification = load_release(release.folder).guarantees
    assert promise.unbounded == ("sex",)
    assert promise.epsilon == math.inf
    assert "no finite epsilon" in promise.sentence
    assert "no such limit for sex" in promise.plain_words
    assert amplification.largest_posterior(0.1) == 1.0
    assert "no bound" in amplification.sentence


def test_an_own_matrix_is_drawn_and_estimated_by_its_law(tmp_path):
    """Retaining nearly everything, the estimate is the truth within a few rows."""
    rows = ((0.999, 0.001), (0.002, 0.998))
    table = read_table(people(), SCHEMA)
    release = publish(table, RandomizedResponse(matrix={"sex": rows}, attributes=("sex",)), tmp_path / "out")
    truth = table.count_by(["sex"]).counts
    # The standard error is about 1.3 rows.
    assert np.allclose(release.counts(["sex"]).values, truth, atol=20)


def test_retentions_chosen_on_private_rows_are_marked_in_the_manifest(tmp_path):
    """The design carries it, so publishing cannot forget it; also through a design file."""
    design = RandomizedResponse(retention={"sex": 0.5, "age": 0.5, "job": 0.5}, chosen_for=PROMISE)
    again = METHODS.make(
        "randomized-response",
        {k: v for k, v in json.loads(json.dumps(design.to_dict())).items() if k != "method"},
    )
    release = publish(read_table(people(), SCHEMA), again, tmp_path / "out")
    assert "reconstruction risk" in release.manifest.chosen_from_private_data["retention"]
    assert (
        PROMISE.under(["the parameter retention, chosen from the private rows"])
        in load_release(release.folder).guarantees
    )


def test_a_parameter_said_to_come_from_private_rows_is_repeated(tmp_path):
    """For matrices that were made by looking, such as invariant PRAM."""
    design = RandomizedResponse(
        matrix={"sex": SEX}, attributes=("sex",), chosen_from_private_data={"matrix": "invariant"}
    )
    release = publish(read_table(people(), SCHEMA), design, tmp_path / "out")
    assert release.manifest.chosen_from_private_data == {"matrix": "invariant"}


def test_a_risk_bound_that_the_table_breaks_is_refused_and_nothing_is_written(tmp_path):
    """Retentions chosen on another table."""
    strict = ReconstructionRisk(sensitive="job", quasi_identifiers=("sex", "age"), bound=0.01)
    design = RandomizedResponse(retention=0.9, chosen_for=strict)
    with pytest.raises(ParameterError, match="on this table"):
        publish(read_table(people(), SCHEMA), design, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "needs a retention"),
        ({"retention": 0.5, "epsilon": 1.0}, "same thing twice"),
        ({"epsilon": 1.0, "matrix": {"sex": SEX}}, r"total of a row.*'sex'"),
        ({"retention": 0.5, "attributes": ("job", "job")}, "different from each other"),
        ({"retention": 1.5}, "less than 1"),
        ({"matrix": {"sex": ((0.9, 0.2), (0.3, 0.7))}}, r"'sex'.*row 0 .*sums to 1\.1"),
        ({"matrix": {"sex": ((1.1, -0.1), (0.3, 0.7))}}, r"'sex'.*between 0 and 1"),
        ({"matrix": {"sex": ((0.5, 0.5), (0.5, 0.5))}}, r"'sex'.*condition number"),
        ({"matrix": {"sex": ((0.5, 0.5),)}}, r"'sex'.*square"),
    ],
)
def test_contradicting_parameters_are_refused(parameters, message):
    """When the design is made, with the attribute's name."""
    with pytest.raises(ParameterError, match=message):
        RandomizedResponse(**parameters)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"matrix": {"job": SEX}}, r"'job' has 2 categories, the schema gives it 4"),
        ({"retention": 0.5, "attributes": ("person",)}, "'person' is an identifier"),
        ({"matrix": {"person": SEX}, "attributes": ("person",)}, "'person' is an identifier"),
        ({"retention": {"sex": 0.5}, "attributes": ("job",)}, "'sex' has a retention"),
        ({"retention": {"sex": 0.5}}, r"given for 'job'.*retention\.job"),
        ({"retention": {"job": 0.5}, "matrix": {"job": SEX}}, "more than one of"),
        ({"retention": {"job": 0.5}, "epsilon": {"job": 1.0}}, "more than one of"),
    ],
)
def test_parameters_that_do_not_fit_the_schema_are_refused(parameters, message):
    """Before any row is read."""
    with pytest.raises(ParameterError, match=message):
        RandomizedResponse(**parameters).guarantees(SCHEMA)


def test_an_unknown_attribute_is_refused_with_the_nearest():
    """A slip of the pen."""
    with pytest.raises(QueryError, match="did you mean 'job'"):
        RandomizedResponse(retention=0.5, attributes=("jop",)).guarantees(SCHEMA)


def test_the_planned_l2_error_is_the_closed_form_of_the_thesis():
    """Guo 2010, result 16 for the table of section 2: trace .0750 at p_G = .8, p_s = .6, N = 100."""
    design = {
        "sex": UniformDistortion(retention=0.6, size=2),
        "age": UniformDistortion(retention=0.4, size=3),
    }
    assert math.isclose(l2_error(design, SCHEMA, ("sex", "age"), 100) / 100, math.sqrt(0.075), rel_tol=1e-12)


def test_a_plan_states_promise_marginals_and_risks():
    """What is computed from the rows is marked private, the rest is not."""
    design = RandomizedResponse(retention=0.5, attributes=("sex", "age", "job"))
    public = design.plan_tables(SCHEMA, 1000, None)
    whole = design.plan_tables(SCHEMA, 1000, read_table(people(), SCHEMA))
    assert [each.is_private for each in public] == [False] * 2
    marginals = ["sex", "age", "job", "sex, age", "sex, job", "age, job", "sex, age, job"]
    assert [row[0] for row in public[1].rows] == marginals
    assert [each.is_private for each in whole] == [False, False, True]


def test_the_risk_of_reading_the_distribution_is_listed_above_the_reconstruction_risk():
    """The measure of the thesis understates disclosure; the plan shows both."""
    design = RandomizedResponse(retention=0.3, attributes=("sex", "age", "job"))
    risks = design.plan_tables(SCHEMA, 1000, read_table(people(), SCHEMA))[-1]
    linking, reading, _ = risks.rows
    assert linking[1] < reading[1]
