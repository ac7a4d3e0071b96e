"""The method: what it publishes, plans and refuses."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

from array_tables import ArrayTable, published
from samples import SCHEMA, people
from sfumato import publish, read_table
from sfumato.errors import DataError, ParameterError
from sfumato.methods.base import METHODS
from sfumato.methods.sample_perturb_scale.design import SamplePerturbScale, merge_schema
from sfumato.randomness.streams import NoiseSource
from sfumato.schema import MISSING_LABEL, Attribute, Role, Schema

ADULT_ATTRIBUTES = ("education", "occupation", "race", "sex", "income")

# The components that the merging of Adult must give, one degree of freedom.
ADULT_MERGED = {
    "education": [
        ["10th", "11th", "12th", "1st-4th", "5th-6th", "7th-8th", "9th", "Preschool"],
        ["Assoc-acdm", "Assoc-voc"],
        ["Doctorate", "Prof-school"],
    ],
    "race": [["Amer-Indian-Eskimo", "Black", "Other"], ["Asian-Pac-Islander", "White"]],
}


def attribute(name, role, size):
    """An attribute with numbered categories."""
    return Attribute(name=name, role=role, categories=tuple(f"{name}{code}" for code in range(size)))


def small_table(rows=4_000, sensitive=4):
    """Two groups far larger than any cap, one small one."""
    draw = np.random.default_rng(3)
    schema = Schema(
        attributes=(
            attribute("place", Role.QUASI_IDENTIFIER, 3),
            attribute("note", Role.OTHER, 2),
            attribute("job", Role.SENSITIVE, sensitive),
        )
    )
    place = draw.choice(3, rows, p=[0.6, 0.395, 0.005])
    job = (
        draw.choice(sensitive, rows, p=[0.7, *[0.3 / (sensitive - 1)] * (sensitive - 1)]) + place
    ) % sensitive
    codes = {"place": place, "note": draw.integers(0, 2, rows), "job": job}
    return ArrayTable(schema, {name: column.astype(np.uint8) for name, column in codes.items()})


def replaced_roles(**roles):
    """The sample schema with other roles."""
    return Schema(
        attributes=tuple(
            each.model_copy(update={"role": Role(roles.get(each.name, each.role))})
            for each in SCHEMA.attributes
        )
    )


def made(design, table, seed=1):
    """What a design publishes of a table."""
    noise = NoiseSource.seeded(seed)
    return published(design.publish(table, noise), table, noise)


def test_groups_keep_their_exact_sizes_and_samples_their_cap():
    """Strict: as many published rows as there were, from no more kept rows than the cap."""
    table = small_table()
    design = SamplePerturbScale(retention=0.5, publish_as="weights")
    release = made(design, table)
    sizes = np.bincount(table.codes["place"])
    cap = design.promise(table.schema).uniform_cap
    assert np.bincount(release.codes["place"], weights=release.codes["weight"]).tolist() == sizes.tolist()
    assert np.bincount(release.codes["place"]).tolist() == np.minimum(sizes, cap).tolist()


def test_duplicates_are_the_weighted_rows_repeated():
    """The same noise gives the same release in both forms."""
    table = small_table()
    weighted = made(SamplePerturbScale(retention=0.5, publish_as="weights"), table)
    repeated = made(SamplePerturbScale(retention=0.5), table)
    for name in ("place", "note", "job"):
        assert np.array_equal(repeated.codes[name], np.repeat(weighted.codes[name], weighted.codes["weight"]))


def test_without_strictness_sizes_vary_as_in_the_thesis():
    """The scaled size of a cut group is its true size on average only."""
    table = small_table()
    sizes = np.bincount(table.codes["place"])
    design = SamplePerturbScale(retention=0.5, strict=False, cap="group")
    seen = np.array([np.bincount(made(design, table, seed).codes["place"]) for seed in range(20)])
    assert (seen[:, :2].std(axis=0) > 0).all()
    assert (np.abs(seen.mean(axis=0) / sizes - 1) < 0.02).all()
    assert (seen[:, 2] == sizes[2]).all()


def test_small_groups_are_perturbed_and_nothing_else():
    """Below the cap no row is dropped or repeated."""
    table = small_table()
    release = made(SamplePerturbScale(retention=0.99), table)
    small, true = release.codes["place"] == 2, table.codes["place"] == 2
    assert sorted(release.codes["note"][small]) == sorted(table.codes["note"][true])


@pytest.mark.parametrize("cap", ["uniform", "group"])
def test_the_manifest_holds_no_sampled_size(cap, tmp_path):
    """Law and parameters, hence the guarantee, are the same for tables of other composition."""
    first = SamplePerturbScale(retention=0.5, cap=cap).publish(small_table(), NoiseSource.seeded(1))
    other = SamplePerturbScale(retention=0.5, cap=cap).publish(small_table(3_000), NoiseSource.seeded(1))
    assert first.law == other.law
    assert first.settled == other.settled == {}
    assert first.law.is_smallest == (cap == "group")


def test_a_release_of_weights_answers_queries(tmp_path):
    """From a file and back, weighted and unweighted answers agree in expectation and in exact sizes."""
    table = read_table(people(3_000), SCHEMA)
    release = publish(table, SamplePerturbScale(retention=0.5, publish_as="weights"), tmp_path / "r", seed=5)
    assert release.number_of_rows < 3_000
    women = release.query("sex = 'Female'")
    assert women.estimate == table.count_by(["sex"]).counts[0]
    assert women.std_error == pytest.approx(0, abs=1e-6)
    care = release.query("job = 'Care'")
    truth = table.count_by(["job"]).counts[2]
    assert abs(care.estimate - truth) < 5 * care.std_error


def test_merged_values_are_learned_recorded_and_used_again(tmp_path):
    """The manifest says where they come from, and its design publishes the same domains without learning."""
    draw = np.random.default_rng(1)
    place = draw.integers(0, 4, 8_000)
    job = np.where(draw.random(8_000) < np.array([0.2, 0.2, 0.8, 0.5])[place], "a", "b")
    schema = Schema(
        attributes=(
            attribute("place", Role.QUASI_IDENTIFIER, 4),
            attribute("sex", Role.QUASI_IDENTIFIER, 2),
            Attribute(name="job", role=Role.SENSITIVE, categories=("a", "b", "c")),
        )
    )
    rows = pa.table(
        {
            "place": [f"place{code}" for code in place],
            "sex": [f"sex{code}" for code in draw.integers(0, 2, 8_000)],
            "job": job,
        }
    )
    release = publish(
        read_table(rows, schema),
        SamplePerturbScale(retention=0.5, merge="components"),
        tmp_path / "r",
        seed=1,
    )
    assert release.schema["place"].categories == ("place0 | place1", "place2", "place3")
    assert release.schema["place"].learned
    # Both sexes are alike, so that nothing is left to tell them apart.
    assert "sex" not in release.schema
    chosen = release.manifest.chosen_from_private_data
    assert "chi-square" in chosen["merged values of place"]
    assert "chi-square" in chosen["attributes left out"]
    stored = dict(release.manifest.method)
    assert stored.pop("method") == "sample-perturb-scale"
    again = publish(read_table(rows, schema), METHODS.make("sample-perturb-scale", stored), tmp_path / "s")
    assert again.manifest.chosen_from_private_data == {}
    assert again.schema.names == release.schema.names
    # What was merged away makes no groups, so the promise does not name it.
    assert release.guarantees[0].groups == again.guarantees[0].groups == ("place",)
    assert release.query("place = 'place0 | place1'").estimate == np.count_nonzero(place < 2)


def test_chains_are_warned_of(tmp_path):
    """Values that the test tells apart, joined through a small one between them."""
    counts = {"p0": (4800, 5200), "p1": (4, 10), "p2": (1400, 8600)}
    rows = [
        (place, job)
        for place, pair in counts.items()
        for job, n in zip("ab", pair, strict=True)
        for _ in range(n)
    ]
    schema = Schema(
        attributes=(
            Attribute(name="place", role=Role.QUASI_IDENTIFIER, categories=tuple(counts)),
            Attribute(name="job", role=Role.SENSITIVE, categories=("a", "b", "c")),
        )
    )
    table = read_table(
        pa.table({"place": [each[0] for each in rows], "job": [each[1] for each in rows]}), schema
    )
    design = SamplePerturbScale(retention=0.5, merge="components", degrees_of_freedom="m-1")
    with pytest.warns(UserWarning, match="complete-linkage"):
        merged, values = design.merge_values(table)
    assert values == {"place": (("p0", "p1", "p2"),)}
    assert merged.schema.names == ("job",)


def test_merging_keeps_a_lone_missing_category_missing():
    """And makes an ordinary category of one that is merged."""
    region = SCHEMA["region"]
    alone = merge_schema(Schema(attributes=(region,)), {"region": (("North", "South"),)}, learned=False)
    assert alone.schema["region"].labels == ("North | South", "East", MISSING_LABEL)
    assert alone.schema["region"].missing == "category"
    joined = merge_schema(Schema(attributes=(region,)), {"region": (("East", MISSING_LABEL),)}, learned=True)
    assert joined.schema["region"].labels == ("North", "South", f"East | {MISSING_LABEL}")
    assert joined.schema["region"].missing == "error"
    assert joined.recoding["region"].tolist() == [0, 1, 2, 2]


@pytest.mark.parametrize(
    ("merged_values", "message"),
    [
        ({"sex": (("Female", "Mael"),)}, "did you mean 'Male'"),
        ({"sex": (("Female", "Male"), ("Male",))}, "names 'Male' twice"),
        ({"region": (("North", "South"),)}, "no quasi-identifier"),
        ({"sax": (("Female", "Male"),)}, "no quasi-identifier"),
    ],
)
def test_impossible_merges_are_refused(merged_values, message):
    """Unknown labels and attributes, labels in two classes, attributes that make no groups."""
    design = SamplePerturbScale(retention=0.5, merged_values=merged_values)
    with pytest.raises(ParameterError, match=message):
        design.merge_values(read_table(people(100), SCHEMA))


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_an_error_probability_of_zero_or_one_is_refused(value):
    """With what is allowed and what to try."""
    with pytest.raises(ParameterError, match=r"strictly between 0 and 1, got \d.*Try 0\.3"):
        METHODS.make("sample-perturb-scale", {"retention": 0.5, "error_probability": value})


def test_a_relative_error_beyond_the_range_is_refused_with_the_range():
    """Corollary 6 at frequency 1, four categories, retention .5: 1.25."""
    with pytest.raises(ParameterError, match=r"= 1\.25 .*got 1\.3"):
        SamplePerturbScale(retention=0.5, relative_error=1.3).guarantees(SCHEMA)


def test_a_cap_below_one_row_is_refused():
    """Before any row is read."""
    with pytest.raises(ParameterError, match="below one row"):
        SamplePerturbScale(retention=0.9, bound="exact").guarantees(SCHEMA)


def test_weights_with_a_cap_by_group_are_refused():
    """They would publish what must stay unpublished."""
    with pytest.raises(ParameterError, match="largest frequency"):
        METHODS.make("sample-perturb-scale", {"retention": 0.5, "cap": "group", "publish_as": "weights"})


def test_an_attribute_that_is_named_like_the_weights_is_refused():
    """Two columns of one name could not be told apart; duplicates need no column and are published."""
    schema = Schema(
        attributes=(
            attribute("place", Role.QUASI_IDENTIFIER, 3),
            attribute("weight", Role.OTHER, 2),
            attribute("job", Role.SENSITIVE, 3),
        )
    )
    with pytest.raises(ParameterError, match="adds a column 'weight'"):
        SamplePerturbScale(retention=0.5, publish_as="weights").guarantees(schema)
    assert SamplePerturbScale(retention=0.5).guarantees(schema)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (
            replaced_roles(region="sensitive"),
            "exactly one sensitive attribute, the schema has 'region', 'job'",
        ),
        (replaced_roles(job="other"), "exactly one sensitive attribute, the schema has none"),
        (replaced_roles(sex="other", age="other"), "needs a quasi-identifier"),
    ],
)
def test_schemas_that_do_not_fit_are_refused_with_the_reason(schema, message):
    """Two sensitive attributes, none, or no groups."""
    with pytest.raises(ParameterError, match=message):
        SamplePerturbScale(retention=0.5).guarantees(schema)


def test_two_categories_are_warned_of_and_published():
    """The paper assumes three or more."""
    with pytest.warns(UserWarning, match="two categories"):
        SamplePerturbScale(retention=0.5).publish(small_table(sensitive=2), NoiseSource.seeded(1))


def test_an_empty_table_is_refused():
    """Nothing to publish."""
    table = read_table(people(10).slice(0, 0), SCHEMA)
    with pytest.raises(DataError, match="no rows"):
        SamplePerturbScale(retention=0.5).publish(table, NoiseSource.seeded(1))


def test_a_plan_states_caps_with_their_true_tails_and_rows_kept():
    """Without data: by frequency and by group size. With data: violations, rows kept, errors."""
    design = SamplePerturbScale(retention=0.5)
    caps, expected = design.plan_tables(SCHEMA, 10_000, None)
    assert caps.rows[0][:2] == (1.0, design.promise(SCHEMA).uniform_cap)
    kept = {row[0]: row[1] for row in expected.rows}
    assert kept[10] == 1.0
    assert kept[1_000] == pytest.approx(design.promise(SCHEMA).uniform_cap / 1_000)
    table = read_table(people(2_000), SCHEMA)
    private = [each for each in design.plan_tables(SCHEMA, 2_000, table) if each.is_private]
    assert [each.title.split()[0] for each in private] == ["Violations", "Rows", "Expected"]
    rows, kept_rows, share, *_ = private[1].rows[0]
    assert rows == 2_000
    assert share == kept_rows / rows


@pytest.mark.parametrize("bound", ["chernoff", "exact"])
def test_a_plan_for_caps_by_group_shows_larger_caps_at_smaller_frequencies(bound):
    """Where samples are cut by the group's own frequencies."""
    design = SamplePerturbScale(retention=0.2, error_probability=0.1, cap="group", bound=bound)
    caps = [row[1] for row in design.plan_tables(SCHEMA, 10_000, None)[0].rows]
    assert caps == sorted(caps)
    assert caps[0] < caps[-1]


def test_a_plan_shows_what_would_be_merged():
    """Marked private, since it was read off the rows."""
    table = read_table(people(2_000), SCHEMA)
    tables = SamplePerturbScale(retention=0.5, merge="complete-linkage").plan_tables(SCHEMA, 2_000, table)
    merged = next(each for each in tables if "merged" in each.title)
    assert merged.is_private
    assert merged.rows[0][0] == "age"


@pytest.mark.slow
def test_adult_merges_as_the_thesis_says(tmp_path):
    """45,222 complete rows: domains 7, 4, 2, 2, with the listed components; downloads the data."""
    from sfumato.datasets import fetch_dataset

    fetched = fetch_dataset("adult", tmp_path)
    table = complete_adult(fetched.data, fetched.schema)
    with pytest.warns(UserWarning, match="joined values") as warned:
        merged, values = SamplePerturbScale(retention=0.5, merge="components").merge_values(table)
    assert [name for name in ADULT_ATTRIBUTES if any(repr(name) in str(each.message) for each in warned)] == [
        "education",
        "occupation",
    ]
    assert table.number_of_rows == 45_222
    assert [merged.schema[name].size for name in ADULT_ATTRIBUTES[:4]] == [7, 4, 2, 2]
    found = {name: sorted(sorted(labels) for labels in classes) for name, classes in values.items()}
    for name, classes in ADULT_MERGED.items():
        assert found[name] == sorted(sorted(labels) for labels in classes)
    alone = {"Handlers-cleaners", "Other-service", "Priv-house-serv"}
    assert [set(labels) for labels in values["occupation"]] == [
        set(table.schema["occupation"].labels) - alone
    ]
    json.dumps(values)


def complete_adult(data, schema_file):
    """The complete rows of Adult with the thesis's five attributes."""
    from pyarrow import csv

    everything = csv.read_csv(data, convert_options=csv.ConvertOptions(strings_can_be_null=False))
    whole = np.ones(everything.num_rows, dtype=bool)
    for name in everything.column_names:
        whole &= np.array([str(cell) != "" for cell in everything[name].to_pylist()])
    known = Schema.read(schema_file)
    roles = dict.fromkeys(ADULT_ATTRIBUTES[:4], Role.QUASI_IDENTIFIER) | {"income": Role.SENSITIVE}
    schema = Schema(
        attributes=tuple(
            known[name].model_copy(update={"role": roles[name], "missing": "error"})
            for name in ADULT_ATTRIBUTES
        )
    )
    return read_table(everything.filter(pa.array(whole)).select(list(ADULT_ATTRIBUTES)), schema)
