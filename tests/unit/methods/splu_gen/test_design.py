"""SPLU-Gen: what it publishes, what it refuses, what it tells before publishing."""

from __future__ import annotations

import json
import logging
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from array_tables import published
from sfumato import publish, read_table
from sfumato.custody.plan import plan
from sfumato.errors import DataError, NotIdentifiableError, ParameterError, SfumatoError
from sfumato.guarantees.small_sum_privacy import homogeneous_error_probability, smallest_error_probability
from sfumato.methods.base import METHODS
from sfumato.methods.splu_gen.design import SPLUGen
from sfumato.methods.splu_gen.law import DecoyRows
from sfumato.query.selection import Selection, Tabulation
from sfumato.randomness.streams import NoiseSource
from sfumato.schema import Schema

SIZE = 10
SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "area": {"role": "quasi-identifier", "categories": ["a", "b", "c"]},
            "job": {"role": "sensitive", "categories": [f"job-{code}" for code in range(SIZE)]},
            "pay": {"role": "sensitive", "categories": [f"pay-{code}" for code in range(6)]},
        }
    }
)
ONE = Schema(attributes=SCHEMA.attributes[:2])


def rows(number=1_000, *, shares=None, seed=5):
    """Rows that fit both schemas."""
    draw = np.random.default_rng(seed)
    job = draw.choice(SIZE, number, p=shares)
    return pa.table(
        {
            "area": [("a", "b", "c")[code] for code in (job + draw.integers(0, 2, number)) % 3],
            "job": [f"job-{code}" for code in job],
            "pay": [f"pay-{code}" for code in draw.integers(0, 6, number)],
        }
    )


def published_codes(design, table, seed=1):
    """All rows that a design would publish, in private order, by attribute."""
    noise = NoiseSource.seeded(seed)
    return published(design.publish(table, noise), table, noise).codes


def test_public_attributes_are_published_as_they_are():
    """In the order of the private rows, before storage shuffles them."""
    table = read_table(rows(), ONE)
    private = np.concatenate([each.codes["area"] for each in table.scan(["area"])])
    assert np.array_equal(published_codes(SPLUGen(gamma=5), table)["area"], private)


def test_public_attributes_do_not_influence_the_draw():
    """Another area column, the same drawn jobs."""
    plain = rows()
    changed = plain.set_column(0, "area", pa.array(["a"] * 1_000))
    drawn = [published_codes(SPLUGen(gamma=5), read_table(each, ONE))["job"] for each in (plain, changed)]
    assert np.array_equal(*drawn)


def test_every_sensitive_attribute_is_drawn_with_its_own_gamma():
    """The law in the manifest holds the group sizes and nothing of the groups."""
    design = SPLUGen(gamma={"job": 5, "pay": 3})
    publication = design.publish(read_table(rows(990), SCHEMA), NoiseSource.seeded(1))
    assert publication.law == DecoyRows(gamma_by_attribute={"job": 5, "pay": 3})
    assert set(publication.law.model_dump()) == {
        "law",
        "gamma_by_attribute",
        "partition",
        "largest_small_count",
        "relative_error",
        "error_probability",
        "suppress_rarer_than",
        "together",
    }


def test_two_attributes_are_drawn_independently():
    """One column twice: the draws differ."""
    table = rows(900)
    twice = table.set_column(
        2, "pay", pa.array([f"pay-{int(each[4:]) % 6}" for each in table["job"].to_pylist()])
    )
    drawn = published_codes(SPLUGen(gamma=3), read_table(twice, SCHEMA))
    assert not np.array_equal(drawn["job"] % 6, drawn["pay"])


@pytest.mark.parametrize(
    ("number", "gamma", "published"), [(1_003, 5, 1_000), (1_000, {"job": 4, "pay": 3}, 996)]
)
def test_rows_are_left_out_until_groups_divide_the_rest(number, gamma, published, caplog):
    """At most gamma - 1 of them, or the least common multiple's; which ones is random, how many is logged."""
    schema = ONE if isinstance(gamma, int) else SCHEMA
    caplog.set_level(logging.INFO, logger="sfumato")
    table = read_table(rows(number), schema)
    kept = [published_codes(SPLUGen(gamma=gamma), table, seed) for seed in (1, 2)]
    assert [len(each["area"]) for each in kept] == [published] * 2
    assert not np.array_equal(kept[0]["area"], kept[1]["area"])
    assert f"left out {number - published} rows at random" in caplog.text


def test_rare_values_can_be_suppressed_and_the_log_says_how_many_rows(caplog, tmp_path):
    """The manifest says that and how, not how many."""
    shares = np.array([0.005, *[0.995 / 9] * 9])
    data = rows(2_000, shares=shares)
    rare = data["job"].to_pylist().count("job-0")
    assert 0 < rare < 30
    caplog.set_level(logging.INFO, logger="sfumato")
    release = publish(read_table(data, ONE), SPLUGen(gamma=2, suppress_rarer_than=30), tmp_path / "r", seed=1)
    assert f"left out {rare} rows with a rare" in caplog.text
    assert release.count_by(["job"]).counts[0] == 0
    assert "fewer than 30" in release.manifest.chosen_from_private_data["rows left out"]
    assert "job-0" not in caplog.text


def test_the_example_of_the_paper_is_eligible_at_the_boundary_and_refused_above():
    """Nine rows, largest count 3: gamma 3 fits, 4 does not, and the message names no value."""
    disease = ["Hiv", "Flu", "Flu", "Fever", "Hiv", "Flu", "Fever", "Fever", "H5N1"]
    schema = Schema.from_dict(
        {
            "attributes": {
                "zip": {"role": "quasi-identifier", "categories": ["12-17k", "20-33k", "34-35k"]},
                "disease": {"role": "sensitive", "categories": sorted(set(disease))},
            }
        }
    )
    zips = ["12-17k", "20-33k", "12-17k", "20-33k", "34-35k", "12-17k", "34-35k", "20-33k", "12-17k"]
    table = read_table(pa.table({"zip": zips, "disease": disease}), schema)
    assert len(published_codes(SPLUGen(gamma=3), table)["zip"]) == 9
    with pytest.raises(DataError, match="largest gamma that fits is 2") as caught:
        published_codes(SPLUGen(gamma=4), table)
    assert "'disease'" in str(caught.value)
    assert not any(each in str(caught.value) for each in ("Flu", "Fever", "Hiv", "H5N1"))
    # The draw that the paper shows is one of 3^9 equally likely ones.
    assert float(Fraction(1, 3) ** 9) == pytest.approx(5.08e-5, rel=1e-3)


def test_a_value_too_frequent_is_refused_with_the_attribute_and_the_largest_gamma():
    """Never with the value."""
    shares = np.array([0.4, *[0.6 / 9] * 9])
    with pytest.raises(DataError, match="largest gamma that fits is 2") as caught:
        published_codes(SPLUGen(gamma=5), read_table(rows(1_000, shares=shares), ONE))
    assert caught.value.attribute == "job"
    assert "job-" not in str(caught.value)


def test_when_no_gamma_fits_the_message_says_so():
    """A value held by more than half of the rows."""
    shares = np.array([0.6, *[0.4 / 9] * 9])
    with pytest.raises(DataError, match="No gamma fits"):
        published_codes(SPLUGen(gamma=2), read_table(rows(1_000, shares=shares), ONE))


def test_fewer_rows_than_gamma_are_refused():
    """Said with both numbers."""
    with pytest.raises(DataError, match="3 rows"):
        published_codes(SPLUGen(gamma=5), read_table(rows(3), ONE))


@pytest.mark.parametrize("gamma", [1, 0, -2, 2.5, "5"])
def test_gamma_must_be_a_whole_number_of_two_or_more(gamma):
    """Refused when the design is made."""
    with pytest.raises(SfumatoError):
        METHODS.make("splu-gen", {"gamma": gamma})


@pytest.mark.parametrize(
    ("gamma", "schema", "reason"),
    [
        (11, ONE, "at most its number of categories"),
        ({"job": 5}, SCHEMA, "'pay' has no gamma"),
        ({"area": 2, "job": 5}, ONE, "does not apply"),
        (5, Schema(attributes=SCHEMA.attributes[:1]), "no attribute is sensitive"),
        (5, Schema(attributes=SCHEMA.attributes[1:]), "does not apply"),
    ],
)
def test_parameters_that_do_not_fit_the_schema_are_refused(gamma, schema, reason):
    """Too few categories, a sensitive attribute forgotten, nothing public left, nothing sensitive."""
    with pytest.raises(ParameterError, match=reason):
        SPLUGen(gamma=gamma).guarantees(schema)


def test_a_release_holds_no_trace_of_the_groups(tmp_path):
    """One table, no bucket column; the manifest has the group size and no other number about groups."""
    release = publish(read_table(rows(), ONE), SPLUGen(gamma=5), tmp_path / "r", seed=1)
    assert [each.name for each in release.manifest.tables] == ["rows"]
    assert release.manifest.tables[0].integers == ()
    assert set(release.schema.names) == {"area", "job"}
    assert "group" not in json.dumps(release.manifest.method)


def test_a_query_on_a_release_is_answered_flagged_and_by_every_estimator(tmp_path):
    """The default has an error and a flag; the biased ones have neither."""
    release = publish(read_table(rows(5_000), ONE), SPLUGen(gamma=3), tmp_path / "r", seed=1)
    question = "area = 'a' AND job = 'job-1'"
    answer = release.query(question)
    assert answer.std_error > 0
    assert answer.note.split(":")[0] in {"small sum", "grey", "large sum"}
    assert np.isnan(release.query(question, estimator="pairwise").std_error)
    assert np.isnan(release.query(question, estimator="paper").std_error)
    assert "note" in answer.to_dict()


def test_a_saturated_release_says_why_it_refuses(tmp_path):
    """A value in nearly every group: single counts refused, the margin answered."""
    shares = np.array([0.47, *[0.53 / 9] * 9])
    release = publish(read_table(rows(2_000, shares=shares), ONE), SPLUGen(gamma=2), tmp_path / "r", seed=1)
    with pytest.raises(NotIdentifiableError, match="every group"):
        release.query("area = 'a' AND job = 'job-1'")
    assert release.query("job = 'job-1'").std_error > 0
    where = Selection.parse("area = 'a'", release.schema)
    assert release.law.contrast(release, "job", 1, 2, where).standard_errors[0] > 0


def test_the_plan_asks_the_publisher_and_marks_what_is_private():
    """The question whether majorities are harmless comes first; counts from the table are private."""
    design = SPLUGen(gamma=5)
    public = design.plan_tables(ONE, 1_000, None)
    assert "harmless" in public[0].rows[0][0]
    assert not any(each.is_private for each in public)
    promised = public[1].rows[0]
    # gamma 5, counts up to 10, relative error 0.3: .2140; large sums from 34 on (both from the paper's tables).
    assert promised[3] == pytest.approx(0.2140, abs=5.1e-5)
    assert promised[4] == 34
    refuted = [row[1] for row in public[2].rows if row[4] == "no"]
    assert {3, 5, 6} <= set(refuted)
    private = design.plan_tables(ONE, 1_000, read_table(rows(), ONE))[-1]
    assert private.is_private
    assert private.rows[0][3:] == ("groups exist", 0)


def test_the_stated_reach_of_theorem_4_s_failure_is_the_exact_one():
    """Groups of up to ten break it at every gamma from 2 to 8 for an error of 0.3, at 9 and 10 only for 0.2."""

    def fails(gamma, error):
        return any(
            homogeneous_error_probability(size, gamma, error) < smallest_error_probability(size, gamma, error)
            for size in range(1, 11)
        )

    assert [gamma for gamma in range(2, 11) if fails(gamma, 0.3)] == list(range(2, 9))
    assert fails(9, 0.2)
    assert fails(10, 0.2)
    assert any("up to gamma 8 for a relative error of 0.3" in each for each in SPLUGen.weaknesses)


def test_the_plan_leaves_out_what_the_groups_of_all_attributes_need():
    """1,003 rows, groups of 2 and of 3: the remainder by 6."""
    table = read_table(rows(1_003), SCHEMA)
    design = SPLUGen(gamma={"job": 2, "pay": 3})
    groups = design.plan_tables(SCHEMA, 1_003, table)[-1]
    assert [row[-1] for row in groups.rows] == [1, 1]


def test_the_plan_says_when_groups_do_not_exist_or_say_nothing():
    """Too large a gamma for the table, and a category that is in nearly all groups."""
    shares = np.array([0.47, *[0.53 / 9] * 9])
    table = read_table(rows(2_000, shares=shares), ONE)
    too_large = plan(SPLUGen(gamma=5), ONE, 2_000, table=table).to_dict()["tables"]
    assert too_large[-4]["rows"][0]["largest gamma that fits"] == 2
    assert too_large[-4]["rows"][0]["verdict"] == "no groups of 5 exist"
    assert {row["expected std. error"] for row in too_large[-1]["rows"]} == {"not publishable"}
    *_, groups, alone, _, at_counts = plan(SPLUGen(gamma=2), ONE, 2_000, table=table).to_dict()["tables"]
    assert "nearly all" in groups["rows"][0]["verdict"]
    assert at_counts["rows"][0]["among a random 10 % of rows"] == "not determined"
    # Binomial(gamma f, 1 / gamma) has the variance f (1 - 1 / gamma).
    assert alone["rows"][0]["0.1"] == pytest.approx(100**0.5)


def test_an_answer_says_that_it_is_unbiased_to_first_order_only(tmp_path):
    """The matrix comes from the same draws as the counts."""
    release = publish(read_table(rows(), ONE), SPLUGen(gamma=3), tmp_path / "r", seed=1)
    assert release.query("area = 'a' AND job = 'job-1'").estimator == "unbiased to first order"


def test_an_answer_without_a_known_error_says_so(tmp_path):
    """The paper's iteration has none; its answer must not show an interval."""
    release = publish(read_table(rows(), ONE), SPLUGen(gamma=3), tmp_path / "r", seed=1)
    text = release.query("area = 'a' AND job = 'job-1'", estimator="paper").summary()
    assert "not known" in text
    assert "nan" not in text


def test_the_paper_s_partition_can_be_asked_for(tmp_path):
    """Largest first: margins and named estimators only."""
    design = SPLUGen(gamma=3, partition="largest-first")
    release = publish(read_table(rows(3_000), ONE), design, tmp_path / "r", seed=1)
    question = Tabulation(where=Selection.parse("area = 'a' AND job = 'job-1'", release.schema))
    with pytest.raises(NotIdentifiableError):
        release.law.estimate(release, question)
    assert release.law.estimate_by("paper", release, question).values[0] > 0
