"""Columnized counts: what is published, promised and refused."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from noisy_rows import design
from samples import SCHEMA, people
from sfumato import Schema, publish, read_table
from sfumato.custody.plan import plan
from sfumato.errors import DataError, NotIdentifiableError, ParameterError
from sfumato.guarantees.differential_privacy import DifferentialPrivacy
from sfumato.guarantees.k_anonymity import SemanticKAnonymity
from sfumato.methods.columnized_counts.noisy_counts import NoisyTotal


def test_published_rows_occur_at_least_k_times_and_were_there(tmp_path):
    """A table of the attributes and a count; nothing that nobody has, nothing below k."""
    table = read_table(people(2_000), SCHEMA)
    release = publish(table, design(), tmp_path / "r", seed=1)
    names = SCHEMA.publishable.names
    true = table.count_by(names).counts
    (batch,) = release.scan("rows", (*names, "count"))
    counts = batch.codes["count"]
    at_rows = true[tuple(batch.codes[name].astype(int) for name in names)]
    assert (counts >= 5).all()
    assert (at_rows >= 5).all()
    assert np.abs(counts - at_rows).max() < 25
    assert release.number_of_rows == batch.number_of_rows


def test_an_uncut_table_promises_semantic_anonymity_of_the_row():
    """And differential privacy pointwise; twice epsilon for a row replaced. Without a row the total is another."""
    crowd, added, replaced = design().guarantees(SCHEMA)
    assert crowd == SemanticKAnonymity(k=5, epsilon=0.1)
    assert "except for a factor of 1.11" in crowd.plain_words
    assert added == DifferentialPrivacy(epsilon=2.0, delta=1e-4, relation="add-remove", form="pointwise")
    assert replaced == DifferentialPrivacy(epsilon=4.0, delta=1e-4, relation="replace-one", form="pointwise")


def test_a_cut_table_promises_it_for_each_column_only():
    """Random truncation leaves the additive form."""
    cut = design(columns=3, column_budget=2)
    crowd, added, _ = cut.guarantees(SCHEMA)
    assert crowd.scope == "each-column"
    assert "columns together it is not claimed" in crowd.sentence
    assert added.form == "additive"
    assert added.given == ()


def test_learning_without_a_share_makes_the_promise_conditional(tmp_path):
    """The guarantee and the manifest both say so."""
    cut = design(columns=2, schema_share=0.0)
    release = publish(read_table(people(2_000), SCHEMA), cut, tmp_path / "r", seed=1)
    assert "given the columns, which were learned" in release.guarantees[1].statement
    assert "conditional" in release.manifest.chosen_from_private_data["columns"]


def test_learning_with_a_share_is_paid_for(tmp_path):
    """What the columns get is what is left, and the manifest says what was spent."""
    cut = design(columns=2, schema_share=0.25)
    assert cut.schema_epsilon == 0.5
    assert cut.total_epsilon == pytest.approx(0.1)
    assert cut.matrix.epsilon == pytest.approx(1.4 / 2)
    release = publish(read_table(people(2_000), SCHEMA), cut, tmp_path / "r", seed=1)
    assert release.guarantees[1].given == ()
    assert "epsilon 0.5" in release.manifest.chosen_from_private_data["columns"]


def test_given_columns_are_neither_learned_nor_paid_for(tmp_path):
    """One table for each, and the law knows which attributes are together."""
    cut = design(column_sets=(("sex", "job"), ("age", "region")))
    assert not cut.learns_columns
    release = publish(read_table(people(2_000), SCHEMA), cut, tmp_path / "r", seed=1)
    assert [each.name for each in release.manifest.tables] == ["column-1", "column-2"]
    assert release.manifest.chosen_from_private_data == {}
    with pytest.raises(NotIdentifiableError, match="not identified"):
        release.counts(["sex", "age"])
    assert release.counts(["sex", "job"]).values.sum() > 1_900


@pytest.mark.parametrize(("epsilon", "budget"), [(1.0, 3), (math.log(5), 7), (0.1, 6)])
def test_the_columns_never_spend_more_than_the_total(epsilon, budget):
    """In exact arithmetic: budget times the part, and what the total costs, are at most the whole."""
    cut = design(epsilon=epsilon, column_sets=(("sex",),) * budget, delta=1e-6)
    total = 1 / Fraction(NoisyTotal(count=0, epsilon=cut.total_epsilon).noise.scale)
    assert Fraction(cut.matrix.epsilon) * budget + total <= Fraction(epsilon)
    assert Fraction(cut.matrix.delta) * budget <= Fraction(1e-6)


def test_rows_are_kept_to_the_column_budget():
    """Of 2,000 rows in two columns with budget one, 2,000 fragments are left."""
    cut = design(column_sets=(("sex", "job"), ("age",)), column_budget=1)
    *_, survival = cut.plan_tables(SCHEMA, 2_000, read_table(people(2_000), SCHEMA))
    assert sum(row[1] for row in survival.rows) == 2_000
    assert survival.is_private


def test_recoded_attributes_are_published_coarser(tmp_path):
    """Public groups of categories, asked about by their joint label."""
    coarse = design(recoding={"job": (("Sales", "Tech"), ("Care", "Other"))})
    release = publish(read_table(people(2_000), SCHEMA), coarse, tmp_path / "r", seed=1)
    assert release.schema["job"].labels == ("Sales or Tech", "Care or Other")
    fine = publish(read_table(people(2_000), SCHEMA), design(), tmp_path / "f", seed=1)
    published = [
        sum(b.codes["count"].sum() for b in each.scan("rows", ("count",))) for each in (release, fine)
    ]
    assert published[0] > published[1]


def test_a_plan_tells_before_anything_is_spent():
    """How likely all rows of the table would appear if they were equal, and how well their number will be known."""
    hopeless, usual = (
        {row[0]: row[1] for row in plan(each, SCHEMA, rows).tables[0].rows}
        for each, rows in ((design(epsilon=0.01), 100), (design(), 2_000))
    )
    assert hopeless["probability that as many equal rows appear"] < 0.01
    assert usual["probability that as many equal rows appear"] > 0.99
    assert usual["standard error of the number of rows"] == pytest.approx(math.sqrt(2) / 0.1, rel=0.01)
    without = {row[0]: row[1] for row in plan(design(total_share=0), SCHEMA, 2_000).tables[0].rows}
    assert without["standard error of the number of rows"] == "not published"


def test_a_public_size_costs_nothing_and_conditions_the_promise(tmp_path):
    """The number of rows is then exact, and a wrong one is refused without saying the right one."""
    table = read_table(people(2_000), SCHEMA)
    chosen = design(public_size=2_000)
    assert chosen.matrix.epsilon == 2.0
    release = publish(table, chosen, tmp_path / "r", seed=1)
    assert release.query().is_exact
    assert release.query().estimate == 2_000
    assert all("stated as public" in each.statement for each in release.guarantees)
    with pytest.raises(DataError, match="public_size is not the number of rows") as caught:
        publish(table, design(public_size=1_999), tmp_path / "s", seed=1)
    assert "2,000" not in str(caught.value)


def test_without_a_total_sums_are_refused(tmp_path):
    """Single rows are answered."""
    release = publish(read_table(people(2_000), SCHEMA), design(total_share=0), tmp_path / "r", seed=1)
    assert release.law.total is None
    with pytest.raises(NotIdentifiableError, match="no upper end"):
        release.query("sex = 'Female'")
    assert release.counts(SCHEMA.publishable.names).values.sum() > 1_000


def test_a_plan_states_the_expected_share_of_surviving_rows():
    """Sum of count times release probability over the count, by hand for two different rows."""
    schema = Schema.from_toml('[attributes.a]\nrole = "other"\ncategories = ["x", "y"]')
    table = read_table(pa.table({"a": ["x"] * 12 + ["y"] * 4}), schema)
    chosen = design(k=2)
    *_, survival = chosen.plan_tables(schema, 16, table)
    appears, _ = chosen.matrix.release_probabilities_of([12, 4])
    expected = float((appears * [12, 4]).sum() / 16)
    (row,) = survival.rows
    assert row[1:4] == (16, 2, 12)
    assert row[4] == pytest.approx(float(appears.sum()))
    assert row[5] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"k": 0}, "k should be greater than or equal to 1"),
        ({"epsilon": 1.0, "delta": 0.7}, r"delta must be below 1 - exp\(-epsilon\)"),
        ({"epsilon": 1.0, "delta": -math.expm1(-1.0)}, r"delta must be below 1 - exp\(-epsilon\)"),
        ({"epsilon": 1.0, "delta": 0.65, "columns": 4}, r"delta must be below 1 - exp\(-epsilon\) = 0.6321"),
        ({"columns": 3, "column_budget": 4}, "column_budget must be from 1 to the 3 columns"),
        ({"columns": 3, "column_budget": 0}, "column_budget must be from 1 to the 3 columns"),
        ({"columns": ()}, "no column to publish"),
        ({"columns": 2, "schema_share": 0.6, "total_share": 0.4}, "must leave something of epsilon"),
        ({"epsilon": 1e-7, "delta": 1e-9}, "so small that no row could survive"),
    ],
)
def test_parameters_out_of_bounds_are_refused(parameters, words):
    """Before any data are read."""
    with pytest.raises(ParameterError, match=words):
        design(**parameters)


def test_more_columns_than_attributes_are_refused():
    """By the promise already."""
    with pytest.raises(ParameterError, match="at most the 4 attributes"):
        design(columns=5).guarantees(SCHEMA)


@pytest.mark.parametrize("sets", [(("sex", "gob"),), (("sex", "sex"),), ((),)])
def test_columns_that_do_not_exist_are_refused(sets):
    """Unknown or repeated names, or none."""
    with pytest.raises(ParameterError, match=r"column_sets|a column of"):
        design(column_sets=sets).guarantees(SCHEMA)


def test_the_manifest_claims_what_holds_and_no_more(tmp_path):
    """Per column yes, together not claimed; parameters all there."""
    cut = design(columns=[2, 3], column_budget=3)
    release = publish(read_table(people(2_000), SCHEMA), cut, tmp_path / "r", seed=1)
    text = (release.folder / "datapackage.json").read_text()
    block = json.loads(text)["sfumato"]
    assert any("not claimed" in each for each in block["assumptions"])
    assert block["not_protected"] == ["whether the columns together point to one row"]
    assert block["method"]["columns"] == [2, 3]
    assert block["law"]["matrix"]["k"] == 5
    assert len(block["law"]["columns"]) == 5
