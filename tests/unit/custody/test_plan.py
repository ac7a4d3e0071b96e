"""Plans: the promise and the accuracy to expect."""

from __future__ import annotations

import math

import pytest

from samples import SCHEMA, people
from sfumato import RandomizedResponse, read_table
from sfumato.custody.plan import plan
from sfumato.errors import ParameterError, QueryError
from sfumato.methods.anatomy.design import Anatomy
from sfumato.methods.noisy_marginals.design import NoisyMarginals
from sfumato.methods.sample_perturb_scale.design import SamplePerturbScale

DESIGN = RandomizedResponse(retention=0.5)


def test_the_promise_is_that_of_the_design():
    """Retention 1/2 over four categories is epsilon ln(1 + 0.5 * 4 / 0.5) = ln 5."""
    expected = plan(DESIGN, SCHEMA, 1000)
    assert expected.guarantees[0].epsilon == pytest.approx(math.log(5), rel=1e-12)
    assert expected.guarantees[0].sentence in expected.summary()
    assert expected.to_dict()["guarantees"][0]["description"]["sentence"] == expected.guarantees[0].sentence


def test_the_standard_error_is_the_formula_s():
    """Var = [f q1 (1-q1) + (1-f) q0 (1-q0)] n / p^2 at f = 0.1, q1 = 0.625, q0 = 0.125, n = 1000."""
    by_hand = math.sqrt(1000 * (0.1 * 0.625 * 0.375 + 0.9 * 0.125 * 0.875) / 0.25)
    alone, parted = plan(DESIGN, SCHEMA, 1000).to_dict()["tables"][2:]
    assert [row["attribute"] for row in alone["rows"]] == ["job"]
    assert alone["rows"][0]["0.1"] == pytest.approx(by_hand, rel=1e-9)
    # Rows are perturbed independently, so that a tenth of them has a tenth of the variance.
    assert parted["rows"][1]["part"] == "10 %"
    assert parted["rows"][1]["0.1"] == pytest.approx(by_hand / math.sqrt(10), rel=1e-9)


def test_of_a_matrix_of_one_s_own_the_worst_category_is_stated():
    """Only the first category is ever changed: counts of the third have no error, those of the others do."""
    matrix = ((0.5, 0.5, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0))
    *_, alone, parted = plan(RandomizedResponse(matrix={"job": matrix}), SCHEMA, 1000).to_dict()["tables"]
    # The error comes from the first category's rows alone: 0.25 a row over 0.5 squared. At a share of 0.1 of
    # the second category the first has 0.3 of the rows, at a share of 0.5 of the first itself 0.5.
    assert alone["rows"][0]["0.1"] == pytest.approx(math.sqrt(1000 * 0.9 / 3))
    assert alone["rows"][0]["0.5"] == pytest.approx(math.sqrt(1000 * 0.5))
    assert parted["rows"][1]["0.5"] == pytest.approx(math.sqrt(1000 * 0.05))


def test_errors_that_no_count_changes_are_not_listed_again():
    """Noisy marginals have the same error everywhere; anatomy's depends on the counts, though not of values alone."""
    table = read_table(people(2_000), SCHEMA)
    noisy = plan(NoisyMarginals(epsilon=1.0), SCHEMA, 2_000, table=table).to_dict()["tables"]
    assert not any(each["title"].startswith("Expected standard error of each count") for each in noisy)
    listed = plan(Anatomy(l_value=2), SCHEMA, 2_000, table=table).to_dict()["tables"][-1]
    assert {row["attribute"] for row in listed["rows"]} == {"job"}
    assert {row["expected std. error"] for row in listed["rows"]} == {0.0}


def test_counts_that_cannot_be_published_have_no_error():
    """No value may be held by more than one row in l."""
    (parted,) = plan(Anatomy(l_value=3), SCHEMA, 2_000).to_dict()["tables"][1:]
    assert parted["rows"][0]["0.5"] == "not publishable"
    assert parted["rows"][0]["all alike"] > 0


def test_without_a_table_nothing_is_private():
    """A plan from public knowledge alone may be shown to anyone."""
    expected = plan(DESIGN, SCHEMA, 1000)
    assert not expected.is_private
    assert "private:" not in expected.summary()


def test_what_comes_from_the_table_is_marked_private():
    """Text and data carry the mark."""
    table = read_table(people(200), SCHEMA)
    expected = plan(DESIGN, SCHEMA, 200, table=table)
    assert expected.is_private
    assert expected.to_dict()["private"] is True
    assert any(each["private"] for each in expected.to_dict()["tables"])
    assert "[private: computed from the data]" in str(expected)


def test_what_remains_possible_is_said():
    """A plan never shows a promise without its weaknesses."""
    assert DESIGN.weaknesses[0] in plan(DESIGN, SCHEMA, 1000).summary()


@pytest.mark.parametrize("rows", [0, -1, 1.5, True])
def test_a_number_of_rows_is_a_positive_whole_number(rows):
    """Nothing can be planned for no rows."""
    with pytest.raises(ParameterError, match="rows must be a whole number"):
        plan(DESIGN, SCHEMA, rows)


def test_a_design_that_does_not_fit_the_schema_is_refused():
    """An attribute to perturb must exist."""
    with pytest.raises(QueryError, match="did you mean 'job'"):
        plan(RandomizedResponse(retention=0.5, attributes=("jbo",)), SCHEMA, 1000)


@pytest.mark.parametrize("merge", ["none", "components"])
def test_a_plan_of_merged_values_states_the_condition_that_the_release_will(merge):
    """Which values are merged is chosen from the rows: given before publishing as after."""
    promises = plan(SamplePerturbScale(retention=0.5, merge=merge), SCHEMA, 1_000).guarantees
    stated = [each for each in promises if "merged values" in each.statement]
    assert len(stated) == (0 if merge == "none" else len(promises))


def test_values_that_the_custodian_merged_are_no_choice_from_the_rows():
    """The classes are public then."""
    design = SamplePerturbScale(
        retention=0.5, merge="components", merged_values={"sex": [["Female", "Male"]]}
    )
    assert not any(each.given for each in plan(design, SCHEMA, 1_000).guarantees)
