"""Calibration: the optimum of Problem 1 on the table of the thesis, and what cannot be kept."""

from __future__ import annotations

import math
import time

import numpy as np
import pyarrow as pa
import pytest

from sfumato import Schema, publish, read_table
from sfumato.errors import GoalUnattainableError, ParameterError, QueryError
from sfumato.guarantees.amplification import BeliefBound
from sfumato.guarantees.reconstruction_risk import ReconstructionRisk
from sfumato.methods.randomized_response.plan import (
    Constraint,
    TotalEpsilon,
    calibrate,
    epsilons,
    goal_from,
    least_loss,
    log_loss,
    risk_optimum,
)

SCHEMA = Schema.from_toml("""
[attributes.sex]
role = "quasi-identifier"
categories = ["Male", "Female"]
[attributes.disease]
role = "sensitive"
categories = ["Cancer", "Flu", "Other"]
""")
CELLS = {
    ("Male", "Cancer"): 8,
    ("Male", "Flu"): 16,
    ("Male", "Other"): 48,
    ("Female", "Cancer"): 12,
    ("Female", "Flu"): 14,
    ("Female", "Other"): 2,
}
"""Guo 2010, table 2.5(b)."""


def rows(cells):
    """A table with so many rows of each pair."""
    pairs = [pair for pair, number in cells.items() for _ in range(number)]
    return pa.table({"sex": [sex for sex, _ in pairs], "disease": [disease for _, disease in pairs]})


TABLE = read_table(rows(CELLS), SCHEMA)


def optimum(bound, attributes=None, **more):
    """The optimum on the thesis's table for a largest risk."""
    return risk_optimum(goal_from({"max-risk": bound, **more}, SCHEMA), TABLE, attributes)


def on_grid(bound, attributes=None, **more):
    """What is published of it."""
    goal = goal_from({"max-risk": bound, **more}, SCHEMA)
    return calibrate(goal, SCHEMA, attributes=attributes, table=TABLE)


@pytest.mark.parametrize(
    ("bound", "attributes", "expected", "loss"),
    [
        (0.5, ["sex"], {"sex": 0.6800}, 26.16),
        (0.5, ["disease"], {"disease": 0.6827}, 16.565),
        (0.6, ["sex"], {"sex": 0.9155}, 7.344),
        (0.6, ["disease"], {"disease": 0.9064}, 7.413),
    ],
)
def test_one_parameter_is_found_by_bisection(bound, attributes, expected, loss):
    """The optimum worked out beforehand, to its printed digits."""
    found = optimum(bound, attributes)
    assert {name: round(value, 4) for name, value in found.diagonals.items()} == expected
    assert math.isclose(found.loss, loss, rel_tol=5e-5)


@pytest.mark.parametrize(
    ("bound", "sex", "disease", "loss"),
    [(0.5, 0.887, 0.858, 11.276), (0.6, 0.9555, 0.9607, 7.185), (0.4, 0.780, 0.692, 33.17)],
)
def test_two_parameters_reach_the_optimum(bound, sex, disease, loss):
    """The optimum worked out beforehand: the loss to its digits; the minimum is flat, so parameters to a thousandth."""
    found = optimum(bound)
    assert found.loss <= loss * (1 + 1e-4)
    assert math.isclose(found.diagonals["sex"], sex, abs_tol=1.5e-3)
    assert math.isclose(found.diagonals["disease"], disease, abs_tol=1.5e-3)


def test_nothing_on_a_grid_is_better_than_the_optimum():
    """Brute force: a hundred by a hundred diagonals that keep .5."""
    from sfumato.guarantees.reconstruction_risk import reconstruction_risks
    from sfumato.randomness.distortion import TwoValued

    counts = TABLE.count_by(["sex", "disease"]).counts
    best = math.inf
    for sex in np.linspace(0.505, 0.9999, 100):
        for disease in np.linspace(0.34, 0.9999, 100):
            matrices = [TwoValued(sex, 1 - sex), TwoValued(disease, (1 - disease) / 2)]
            if reconstruction_risks(counts, matrices).max() <= 0.5:
                retentions = np.array([2 * sex - 1, (3 * disease - 1) / 2])
                best = min(best, log_loss(retentions, np.array([2.0, 3.0])))
    assert math.log(optimum(0.5).loss) <= best


@pytest.mark.parametrize(
    ("attributes", "lowest"), [(["sex"], 0.48), (["disease"], 0.4444), (["sex", "disease"], 0.32)]
)
def test_a_bound_below_the_minimum_is_refused_with_the_minimum(attributes, lowest):
    """Property 1: .48, .4444 and .32; the group that blocks it has 72 rows and is not named."""
    with pytest.raises(GoalUnattainableError, match=f"{lowest}.*retentions go to 0") as refused:
        optimum(lowest - 0.01, attributes)
    assert math.isclose(refused.value.attainable, lowest, abs_tol=5e-5)
    assert refused.value.group_sizes == {72: 1}
    assert "Male" not in str(refused.value)


def test_perturbing_the_sensitive_attribute_alone_is_refused_where_a_group_has_one_value():
    """Risk 1 whatever is done: three groups of 1 row and one of 4, by number and size."""
    schema = Schema.from_toml("""
    [attributes.place]
    role = "quasi-identifier"
    categories = ["a", "b", "c", "d", "e"]
    [attributes.disease]
    role = "sensitive"
    categories = ["x", "y"]
    """)
    data = pa.table({"place": [*"abc", *"dddd", *"eeeeee"], "disease": [*"xyx", *"yyyy", *"xxxyyy"]})
    goal = goal_from({"max-risk": 0.6}, schema)
    with pytest.raises(GoalUnattainableError, match="perturb place too") as refused:
        calibrate(goal, schema, attributes=["disease"], table=read_table(data, schema))
    assert refused.value.group_sizes == {1: 3, 4: 1}
    assert refused.value.attainable == 1.0


def test_a_bound_that_holds_anyway_is_refused():
    """The unprotected largest risk is .6667."""
    with pytest.raises(ParameterError, match="nothing needs to be perturbed"):
        optimum(0.7)


def test_a_share_of_the_rows_needs_less_perturbation():
    """The 48 rows of the worst cell are exempt: the rest have at most .5 without any perturbation."""
    whole = on_grid(0.4)
    partial = on_grid(0.4, share=0.5)
    assert partial.loss < whole.loss
    counts = TABLE.count_by(["sex", "disease"])
    design = partial.design.distortions(SCHEMA)
    matrices = [design[name].on_axis if name in design else None for name in counts.names]
    assert partial.goal.relative_risk(counts, matrices) <= 1


def test_a_value_of_its_own_bound_keeps_it():
    """Cancer at most .1, the rest at most .6."""
    found = on_grid(0.6, **{"value-risk": {"Cancer": 0.1}})
    from sfumato.guarantees.reconstruction_risk import reconstruction_risks

    distortions = found.design.distortions(SCHEMA)
    risks = reconstruction_risks(
        TABLE.count_by(["sex", "disease"]).counts, [distortions[name].on_axis for name in ("sex", "disease")]
    )
    assert risks[:, 0].max() <= 0.1 + 1e-9
    assert found.loss > on_grid(0.6).loss


def test_the_design_carries_that_private_rows_were_looked_at(tmp_path):
    """Into the manifest, and with the promise it was chosen for."""
    found = on_grid(0.5)
    release = publish(TABLE, found.design, tmp_path / "out")
    assert "retention" in release.manifest.chosen_from_private_data
    assert found.goal in [each.model_copy(update={"given": ()}) for each in release.guarantees]
    assert all("chosen from the private rows" in each.statement for each in release.guarantees)
    assert found.tables[1].is_private


def test_epsilon_is_split_so_that_least_is_lost():
    """No split on a grid of a thousand loses less, and private rows are not needed."""
    found = calibrate(TotalEpsilon(epsilon=1.0), SCHEMA, attributes=["sex", "disease"])
    sizes = np.array([2.0, 3.0])
    grid = []
    for first in np.linspace(0.001, 0.999, 999):
        each = np.expm1(np.array([first, 1 - first]))
        grid.append(log_loss(each / (each + sizes), sizes))
    # Retentions are rounded down to six decimals.
    assert math.log(found.loss) <= min(grid) + 1e-4
    assert found.design.guarantees(SCHEMA)[0].epsilon <= 1.0
    assert found.design.chosen_for is None


def test_a_bound_on_beliefs_is_a_bound_on_the_gammas_of_a_row():
    """From .1 to at most .5 is a total gamma of 9."""
    found = calibrate(BeliefBound(prior=0.1, posterior=0.5), SCHEMA, attributes=["sex", "disease"])
    gammas = found.design.guarantees(SCHEMA)[1].gamma_by_attribute.values()
    assert math.prod(gammas) <= 9 * (1 + 1e-9)
    assert math.isclose(math.prod(gammas), 9, rel_tol=1e-4)


def test_least_loss_leaves_alone_what_needs_no_perturbation():
    """A bound on the first attribute's epsilon leaves the second unperturbed."""
    sizes = np.array([2.0, 5.0])
    constraint = Constraint(lambda r: np.log(epsilons(r, sizes)[:1]), np.ones(1))
    found = least_loss(sizes, constraint)
    assert found[1] == 1.0
    assert math.isclose(float(epsilons(found, sizes)[0]), 1.0, rel_tol=1e-5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "none of them"),
        ({"epsilon": 1.0, "max-risk": 0.5}, "Give one"),
        ({"maxrisk": 0.5}, "did you mean 'max-risk'"),
        ({"epsilon": 1.0, "share": 0.5}, "share does not belong"),
        ({"epsilon": -1.0}, "epsilon should be greater than"),
        ({"max-risk": 1.5}, "bound should be less than 1"),
        ({"prior": 0.5, "posterior": 0.2}, "prior < posterior"),
        ({"posterior": 0.2}, "prior is required"),
    ],
)
def test_a_goal_that_makes_no_sense_is_refused(settings, message):
    """With the names a goal can have."""
    with pytest.raises(ParameterError, match=message):
        goal_from(settings, SCHEMA)


def test_goals_take_names_from_the_schema_or_from_the_settings():
    """A comma-separated text is what the command line gives."""
    assert goal_from({"max-risk": 0.5}, SCHEMA).names == ("sex", "disease")
    named = goal_from({"max-risk": 0.5, "sensitive": "sex", "quasi-identifiers": "disease, sex"}, SCHEMA)
    assert named.names == ("disease", "sex")
    with pytest.raises(QueryError, match="'sax'"):
        goal_from({"max-risk": 0.5, "sensitive": "sax"}, SCHEMA)


def test_a_goal_without_quasi_identifiers_or_one_sensitive_attribute_is_refused():
    """Both have to be known."""
    lone = Schema(attributes=(SCHEMA["disease"],))
    with pytest.raises(ParameterError, match="quasi-identifiers"):
        goal_from({"max-risk": 0.5}, lone)
    with pytest.raises(ParameterError, match="schema has none"):
        goal_from({"max-risk": 0.5}, Schema(attributes=(SCHEMA["sex"],)))


def test_calibration_refuses_what_it_cannot_do():
    """A risk without data, attributes without influence, nothing to perturb."""
    goal = goal_from({"max-risk": 0.5}, SCHEMA)
    with pytest.raises(ParameterError, match="none is given"):
        calibrate(goal, SCHEMA)
    narrow = ReconstructionRisk(sensitive="disease", quasi_identifiers=("sex",), bound=0.5)
    with pytest.raises(ParameterError, match="does not change the risk"):
        calibrate(narrow, SCHEMA, attributes=["region"], table=TABLE)
    with pytest.raises(ParameterError, match="nothing to perturb"):
        calibrate(TotalEpsilon(epsilon=1.0), Schema(attributes=(SCHEMA["sex"],)))


@pytest.fixture(scope="module")
def adult(tmp_path_factory):
    """The complete training rows of Adult on the thesis's five attributes, with domains as they occur."""
    import duckdb

    from sfumato.datasets import fetch_dataset
    from sfumato.errors import DownloadError

    try:
        files = fetch_dataset("adult", tmp_path_factory.mktemp("adult"))
    except DownloadError as error:
        pytest.skip(str(error))
    names = ("education", "marital_status", "sex", "race", "workclass")
    complete = "workclass is not null and occupation is not null and native_country is not null"
    query = (
        f"select {', '.join(names)} from read_csv('{files.data}', all_varchar=true) "
        f"where part = 'train' and {complete}"
    )
    with duckdb.connect() as connection:
        table = connection.sql(query).to_arrow_table()
    whole = Schema.read(files.schema)
    attributes = []
    for name in names:
        present = set(table[name].unique().to_pylist())
        kept = tuple(label for label in whole[name].labels if label in present)
        role = "sensitive" if name == "workclass" else "quasi-identifier"
        attributes.append({"name": name, "role": role, "categories": kept})
    schema = Schema.from_dict({"attributes": {each.pop("name"): each for each in attributes}})
    return read_table(table, schema)


QUASI_IDENTIFIERS = ["education", "marital_status", "sex", "race"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("attributes", "losses"),
    [
        (QUASI_IDENTIFIERS, {2: 21130, 3: 55800, 4: 163400, 5: 485500}),
        ([*QUASI_IDENTIFIERS, "workclass"], {2: 21130, 3: 54700, 4: 144400, 5: 378200}),
    ],
    ids=["quasi-identifiers", "both"],
)
def test_table_5_2_of_the_thesis_is_reached_on_adult(adult, attributes, losses):
    """30,162 rows: at or below the best known loss, largest risk at most 1/l; l = 5 within 30 s of CPU."""
    assert adult.number_of_rows == 30_162
    for l_value, loss in losses.items():
        goal = goal_from({"max-risk": 1 / l_value}, adult.schema)
        started = time.process_time()
        found = risk_optimum(goal, adult, attributes)
        assert time.process_time() - started < 30
        assert found.loss <= loss
        assert found.risks().max() <= 1 / l_value


@pytest.mark.slow
def test_perturbing_workclass_alone_is_refused_on_adult(adult):
    """283 groups with one workclass, 689 rows, have risk 1 whatever is done."""
    goal = goal_from({"max-risk": 0.5}, adult.schema)
    with pytest.raises(GoalUnattainableError) as refused:
        calibrate(goal, adult.schema, attributes=["workclass"], table=adult)
    assert refused.value.attainable == 1.0
    # Groups with one value only are 283; others have one value so frequent that its square is above 1/2.
    assert sum(refused.value.group_sizes.values()) >= 283
