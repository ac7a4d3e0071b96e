"""Generalization from private rows to release: recodings by hand, bad input, the fixed recoding."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import array_tables
from sfumato import publish, read_table
from sfumato.errors import ParameterError, SchemaError
from sfumato.guarantees.k_anonymity import SemanticKAnonymity, TCloseness
from sfumato.methods.base import METHODS
from sfumato.methods.generalization.design import Generalization
from sfumato.randomness.streams import NoiseSource
from sfumato.schema import Attribute, Role, Schema

# Guo 2010, table 2.1, with sexes and ages of its eight people.
SCHEMA = Schema.from_toml("""
[attributes.age]
role = "quasi-identifier"
bins = [20, 40, 60, 80, 100]
[attributes.sex]
role = "quasi-identifier"
categories = ["M", "F"]
[attributes.disease]
role = "sensitive"
categories = ["pneumonia", "flu"]
""")
PATIENTS = pa.table(
    {
        "age": [20, 40, 40, 50, 60, 60, 80, 80],
        "sex": ["M", "M", "M", "M", "F", "F", "F", "F"],
        "disease": ["pneumonia", "flu", "flu", "flu", "pneumonia", "pneumonia", "flu", "flu"],
    }
)


@pytest.fixture
def table():
    """The eight patients."""
    return read_table(PATIENTS, SCHEMA)


def published(release):
    """Rows of a release as sorted tuples of labels."""
    import pyarrow.parquet as pq

    rows = pq.read_table(release.folder / "rows.parquet").to_pylist()
    return sorted(tuple(row[name] for name in release.published_schema.names) for row in rows)


@pytest.mark.parametrize(
    "parameters", [{"boxes": "tight"}, {"search": "full-domain"}], ids=["tight", "full-domain"]
)
def test_the_textbook_table_becomes_two_classes_of_four(table, tmp_path, parameters):
    """Ages [20,60) and [60,100), by either search: 4-anonymous, as in the thesis."""
    release = publish(table, Generalization(k=4, **parameters), tmp_path / "r", seed=1)
    rows = published(release)
    assert {row[:2] for row in rows} == {("[20,60)", "M"), ("[60,100)", "F")}
    assert len(rows) == 8


def test_boxes_say_no_more_than_their_cuts(table, tmp_path):
    """Parted by sex, no further cut leaves four rows: ages are not published, though no man is above 60."""
    release = publish(table, Generalization(k=4), tmp_path / "r", seed=1)
    assert release.published_schema.names == ("sex", "disease")
    assert release.query("age < 40").bounds == (0.0, 8.0)


def test_the_textbook_classes_are_distinct_but_not_entropy_2_diverse(table):
    """Three flus of four men: two values, entropy below ln 2; only one class of all would not do either."""
    assert len(Generalization(k=4, l_value=2).recode(table).sizes) == 2
    # All eight have 5 flus and 3 pneumonias: entropy .6616, exp of it 1.938, below 2.
    with pytest.raises(ParameterError, match=r"all rows in one class have 1\.938"):
        Generalization(k=4, l_value=2, diversity="entropy").recode(table)
    assert len(Generalization(k=4, l_value=1.8, diversity="entropy").recode(table).sizes) == 1


def test_t_closeness_merges_what_differs(table):
    """Both classes are 1/8 away from the whole; below that only the whole is left."""
    assert len(Generalization(k=4, t=0.125).recode(table).sizes) == 2
    assert len(Generalization(k=4, t=0.12).recode(table).sizes) == 1
    promise = Generalization(k=4, t=0.12).guarantees(SCHEMA)[1]
    assert isinstance(promise, TCloseness)


def test_recursive_diversity_and_the_relative_promises_are_searched_for(table):
    """Each is handed to the search; looser bounds leave two classes, tighter ones only one."""
    loose = [
        {"l_value": 2, "diversity": "recursive", "diversity_constant": 4.0},
        {"beta": 0.34},
        {"disclosure_bound": 0.41},
    ]
    tight = [
        {"l_value": 2, "diversity": "recursive", "diversity_constant": 2.0},
        {"beta": 0.19},
        {"disclosure_bound": 0.2},
    ]
    assert [len(Generalization(k=4, **each).recode(table).sizes) for each in loose] == [2, 2, 2]
    assert [len(Generalization(k=4, **each).recode(table).sizes) for each in tight] == [1, 1, 1]


def test_suppression_lets_the_rest_stay_finer(table):
    """K = 2: ages [20,40) and [40,60) hold one and three men; dropping the one keeps all ages as they are."""
    recoded = Generalization(k=2, search="full-domain", suppression=0.2).recode(table)
    assert recoded.suppressed == 1
    assert recoded.levels == {"age": 0, "sex": 0}
    assert Generalization(k=2, search="full-domain").recode(table).suppressed == 0


def test_a_share_that_is_a_whole_number_of_rows_allows_that_number():
    """29 people of 100 are alone; 0.29 * 100 falls short of 29 in floating point."""
    places = tuple(map(str, range(30)))
    schema = Schema(attributes=(Attribute(name="place", role=Role.QUASI_IDENTIFIER, categories=places),))
    rows = pa.table({"place": ["0"] * 71 + list(places[1:])})
    recoded = Generalization(k=2, search="full-domain", suppression=0.29).recode(read_table(rows, schema))
    assert recoded.suppressed == 29


def test_the_release_holds_no_index_and_no_original_order(table, tmp_path):
    """Only the generalized columns; rows come in random order."""
    release = publish(table, Generalization(k=4, boxes="tight"), tmp_path / "r", seed=1)
    assert release.published_schema.names == SCHEMA.names
    assert [each.name for each in tmp_path.joinpath("r").iterdir()].count("rows.parquet") == 1
    orders = {tuple(np.argsort(_diseases(table, tmp_path / str(seed), seed))) for seed in range(4)}
    assert len(orders) > 1


def _diseases(table, folder, seed):
    import pyarrow.parquet as pq

    publish(table, Generalization(k=4), folder, seed=seed)
    return [str(each) for each in pq.read_table(folder / "rows.parquet")["disease"].to_pylist()]


def test_the_hierarchy_of_a_file_is_kept_and_its_path_is_not(table, tmp_path):
    """The manifest holds what the file says."""
    file = tmp_path / "secret-name.csv"
    file.write_text("[20,40);young;*\n[40,60);young;*\n[60,80);old;*\n[80,100);old;*\n")
    design = METHODS.make("generalization", {"k": 4, "search": "full-domain", "hierarchies": {"age": file}})
    release = publish(table, design, tmp_path / "r", seed=1)
    text = (tmp_path / "r" / "datapackage.json").read_text()
    assert "secret-name" not in text
    assert json.loads(text)["sfumato"]["method"]["hierarchies"]["age"]["paths"]["[20,40)"] == ["young", "*"]
    assert {row[0] for row in published(release)} == {"young", "old"}


def test_attributes_may_be_ordered_without_being_numbers(tmp_path):
    """Any run of neighbours then stands for a value."""
    schema = Schema.from_toml("""
    [attributes.school]
    role = "quasi-identifier"
    categories = ["none", "primary", "secondary", "higher"]
    """)
    rows = read_table(pa.table({"school": ["none", "primary", "secondary", "secondary", "higher"]}), schema)
    design = Generalization(k=2, hierarchies={"school": {"ordered": True}})
    release = publish(rows, design, tmp_path / "r", seed=1)
    assert {row[0] for row in published(release)} == {"none or primary", "secondary or higher"}


def test_k_above_the_number_of_rows_is_refused(table):
    """With both numbers."""
    with pytest.raises(ParameterError, match=r"k = 9 is above the number of rows, 8"):
        Generalization(k=9).recode(table)


def test_an_l_that_the_data_cannot_reach_is_refused_with_what_they_can(table):
    """Two diseases occur."""
    with pytest.raises(ParameterError, match=r"l_value = 3 \(distinct\) cannot be reached .* have 2"):
        Generalization(k=2, l_value=3).recode(table)


def test_a_hierarchy_that_misses_values_is_refused(table):
    """All that are missing, at once."""
    design = Generalization(k=2, hierarchies={"age": {"tree": {"young": ["[20,40)"]}}})
    with pytest.raises(
        SchemaError, match=r"misses 3 of 4 categories: '\[40,60\)', '\[60,80\)', '\[80,100\)'"
    ):
        design.recode(table)


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"k": 0}, "greater than or equal to 1"),
        ({"k": 2, "suppression": 1.0}, "less than 1"),
        ({"k": 2, "search": "fixed", "l_value": 2}, "a fixed recoding drops classes by k alone"),
        (
            {"k": 2, "search": "fixed", "hierarchies": {"age": {"frequency_fanout": 2}}},
            "must not look at the data",
        ),
        ({"k": 2, "levels": {"age": 1}}, "levels are for search"),
        ({"k": 2, "hierarchies": {"age": Path("absent.csv")}}, "cannot read the hierarchy file"),
    ],
)
def test_parameters_that_contradict_each_other_are_refused(parameters, reason):
    """When the design is made, before any data."""
    with pytest.raises(ParameterError, match=reason):
        METHODS.make("generalization", parameters)


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"hierarchies": {"agee": {"fanout": 2}}}, "did you mean 'age'"),
        ({"hierarchies": {"disease": {"fanout": 2}}}, "'disease' has a hierarchy but is no quasi-identifier"),
        ({"search": "fixed", "levels": {"agee": 1}}, "did you mean 'age'"),
        ({"search": "fixed", "levels": {"age": 7}}, "levels 0 to 2, got 7"),
    ],
)
def test_parameters_that_do_not_fit_the_schema_are_refused(table, parameters, reason):
    """With the nearest that would."""
    with pytest.raises(ParameterError, match=reason):
        Generalization(k=2, **parameters).recode(table)


def test_a_schema_without_quasi_identifiers_is_refused():
    """There would be nothing to generalize."""
    schema = Schema.from_toml('[attributes.x]\nrole = "sensitive"\ncategories = ["a", "b"]')
    with pytest.raises(ParameterError, match="no attribute is marked quasi-identifier"):
        Generalization(k=2).guarantees(schema)


def test_a_criterion_without_a_sensitive_attribute_is_refused():
    """There would be nothing to keep apart."""
    schema = Schema.from_toml('[attributes.x]\nrole = "quasi-identifier"\ncategories = ["a", "b"]')
    with pytest.raises(ParameterError, match="need a sensitive attribute"):
        Generalization(k=2, l_value=2).guarantees(schema)


# The fixed recoding (k-DGS): the example is g = floor(t / 10) on {1, 2, 11, 12, 13, 25}, k = 2.
NUMBERS = Schema.from_toml("""
[attributes.number]
role = "other"
bins = [0, 1, 2, 3, 10, 11, 12, 13, 14, 20, 25, 30]
""")
FIXED = Generalization(k=2, search="fixed", hierarchies={"number": {"widths": [10]}}, levels={"number": 1})


def fixed_output(numbers):
    """Counts of the published values."""
    rows = read_table(pa.table({"number": pa.array(numbers, pa.int64())}), NUMBERS)
    made = FIXED.publish(rows, None)
    codes = array_tables.published(made, rows, None).codes["number"]
    labels = made.tables[0].schema["number"].labels
    return {labels[code]: int((codes == code).sum()) for code in np.unique(codes)}, made


def words(publication):
    """All that a method says of its tables."""
    return {
        each.name: getattr(publication, each.name)
        for each in dataclasses.fields(publication)
        if each.name != "tables"
    }


def test_the_fixed_recoding_drops_classes_below_k():
    """Tens 0 and 1 hold two and three numbers; 25 is alone."""
    counts, _ = fixed_output([1, 2, 11, 12, 13, 25])
    assert counts == {"[0,10)": 2, "[10,20)": 3}


def test_the_fixed_recoding_is_semantically_k_anonymous_on_the_spec_example():
    """Definition 4, k = 2, epsilon 0: each row can be removed, or replaced by one other row, unnoticed."""
    rows = [1, 2, 11, 12, 13, 25]
    whole, made = fixed_output(rows)
    manifest = words(made)
    for place, row in enumerate(rows):
        others = rows[:place] + rows[place + 1 :]
        outputs = [fixed_output(others), *(fixed_output([*others, other]) for other in others)]
        unnoticed = [counts == whole and words(made) == manifest for counts, made in outputs]
        assert unnoticed[0] or any(unnoticed[1:]), row


def test_the_fixed_recoding_promises_semantic_k_anonymity():
    """Li and Li, theorem 2, of the whole row: that is k-DGS."""
    assert SemanticKAnonymity(k=2) in FIXED.guarantees(NUMBERS)


@pytest.mark.parametrize(
    "design",
    [
        Generalization(k=2),
        Generalization(k=2, search="full-domain"),
        Generalization(k=2, search="fixed", suppression=0.5),
    ],
    ids=["mondrian", "full-domain", "fixed with a limit"],
)
def test_what_looks_at_the_data_does_not_promise_semantic_k_anonymity(design):
    """A search does; and a limit makes whether there is a release depend on rows that are in none."""
    assert not any(isinstance(each, SemanticKAnonymity) for each in design.guarantees(SCHEMA))


def test_learned_categories_take_the_semantic_promise_away():
    """They are published, and one may be a single person's."""
    learned = SCHEMA["sex"].model_copy(update={"learned": True})
    schema = Schema(attributes=(SCHEMA["age"], learned, SCHEMA["disease"]))
    promises = Generalization(k=2, search="fixed").guarantees(schema)
    assert [each.guarantee for each in promises] == ["k-anonymity"]


def test_a_limit_on_dropped_rows_breaks_the_semantic_promise():
    """The broken twin: without 25 one row fewer is dropped, and there is a release."""
    limited = FIXED.model_copy(update={"suppression": 0.1})
    with_25, without = ([1, 2, 11, 12, 13, 25], [1, 2, 11, 12, 13])
    tables = [
        read_table(pa.table({"number": pa.array(each, pa.int64())}), NUMBERS) for each in (with_25, without)
    ]
    with pytest.raises(ParameterError, match="suppression"):
        limited.recode(tables[0])
    assert limited.recode(tables[1]).suppressed == 0


def test_the_fixed_recoding_does_not_say_how_many_rows_it_dropped():
    """That number would change with a single row."""
    assert fixed_output([1, 2, 11, 12, 13, 25])[1].law.suppressed_rows is None


def test_classes_of_the_fixed_recoding_are_over_all_attributes(table):
    """The sensitive value too: one of four men has pneumonia and is dropped at k = 2."""
    recoded = Generalization(
        k=2, search="fixed", hierarchies={"age": {"fanout": 2}}, levels={"age": 1}
    ).recode(table)
    assert recoded.suppressed == 1
    assert sorted(recoded.sizes.tolist()) == [2, 2, 3]


def test_a_suppression_limit_that_cannot_be_met_says_what_could(table):
    """At level 0 three men and women are alone; 1 of 8 rows is dropped at level 1."""
    design = Generalization(
        k=2, search="fixed", suppression=0.1, hierarchies={"age": {"fanout": 2}}, levels={"age": 1}
    )
    with pytest.raises(ParameterError, match=r"drops 1 of 8 rows.*Raise suppression to 0\.1250"):
        design.recode(table)


@pytest.mark.parametrize("suppression", [None, 0.1])
def test_nothing_left_to_publish_is_refused(table, suppression):
    """K = 8 over all attributes at level 0; no limit on dropped rows would help, so none is advised."""
    with pytest.raises(ParameterError, match=r"nothing would be published\. Lower k"):
        Generalization(k=8, search="fixed", suppression=suppression).recode(table)


def test_the_manifest_names_a_hierarchy_built_from_private_counts(table):
    """Beside the recoding, which was searched for."""
    publication = Generalization(k=4, hierarchies={"sex": {"frequency_fanout": 2}}).publish(
        table, NoiseSource.seeded(1)
    )
    assert set(publication.chosen_from_private_data) == {"recoding", "hierarchy of sex"}


def test_a_plan_states_the_cost_as_private(table):
    """Classes, dropped rows and the four measures."""
    _, cost = Generalization(k=4).plan_tables(SCHEMA, 8, table)
    assert cost.is_private
    assert ("classes", 2) in cost.rows


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"search": "mondrian", "suppression": 0.1}, "drops no row"),
        ({"search": "full-domain", "boxes": "tight"}, "publish levels"),
    ],
)
def test_a_setting_without_effect_is_refused(settings, reason):
    """Whoever gives it believes that it has one."""
    with pytest.raises(ParameterError, match=reason):
        Generalization(k=5, **settings)
