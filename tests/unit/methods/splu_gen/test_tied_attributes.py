"""Sensitive attributes that tell each other, and values that are left out because few have them."""

from __future__ import annotations

import numpy as np
import pytest

from rows_left_out import added_by_rows_left_out
from sfumato.attacks.small_sums import SmallSum
from sfumato.custody.plan import plan
from sfumato.data.engine import CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.errors import DataError, NotIdentifiableError, ParameterError
from sfumato.methods.splu_gen.design import CountPhase, SPLUGen
from sfumato.query.selection import Selection
from sfumato.randomness.streams import NoiseSource
from sfumato.schema import Schema
from sfumato.testing import in_memory, release_in_memory

GAMMA, VALUES = 10, 25


def schema_of(*sensitive, values=VALUES):
    """A public area and some sensitive attributes."""
    attributes = {"area": {"role": "quasi-identifier", "categories": ["north", "south"]}}
    for name in sensitive:
        categories = [f"{name}-{each}" for each in range(values)]
        attributes[name] = {"role": "sensitive", "categories": categories}
    return Schema.from_dict({"attributes": attributes})


def table_of(schema, **codes):
    """Rows from category codes."""
    rows = len(next(iter(codes.values())))
    area = (np.arange(rows) % 2).astype(np.uint8)
    held = {"area": area, **{name: np.asarray(each, np.uint8) for name, each in codes.items()}}
    return in_memory(PrivateTable(CodedRows(schema, held), schema))


def promise_of(design, schema, name):
    """The promise of that name."""
    (found,) = [each for each in design.guarantees(schema) if each.guarantee == name]
    return found


@pytest.mark.parametrize(("tied", "chance"), [(2, 0.124), (3, 0.066), (4, 0.037)])
def test_tied_attributes_are_averaged(tied, chance):
    """A count of ten seen through two to four attributes that tell each other; through one it is wrong with 0.241."""
    names = [f"attribute{each}" for each in range(tied)]
    promise = promise_of(SPLUGen(gamma=GAMMA), schema_of(*names), "small-sum-privacy")
    assert promise.error_probability(names[0]) == pytest.approx(chance, abs=5e-4)


def test_attributes_declared_independent_stand_alone_and_the_promise_says_so():
    """It is the custodian's declaration that the promise then rests on."""
    schema = schema_of("drug", "disease")
    promise = promise_of(SPLUGen(gamma=GAMMA, independent=("drug", "disease")), schema, "small-sum-privacy")
    assert promise.error_probability("drug") == pytest.approx(0.241, abs=5e-4)
    assert "independent" in promise.sentence
    with pytest.raises(ParameterError, match="weight"):
        SPLUGen(gamma=GAMMA, independent=("weight",)).guarantees(schema)


def test_the_promise_is_given_the_threshold():
    """Ten or more, so a guess of fewer is raised to ten and is wrong upwards only: 0.124 and not 0.241."""
    design = SPLUGen(gamma=GAMMA, suppress_rarer_than=10)
    promise = promise_of(design, schema_of("disease"), "small-sum-privacy")
    assert promise.error_probability("disease") == pytest.approx(0.124, abs=5e-4)
    assert "10" in promise.sentence


def test_a_promise_about_no_count_says_that_it_is_vacuous():
    """Where every count up to the largest small one is left out."""
    design = SPLUGen(gamma=GAMMA, suppress_rarer_than=11)
    promise = promise_of(design, schema_of("disease"), "small-sum-privacy")
    assert promise.is_vacuous
    assert "vacuous" in promise.sentence


def test_suppression_repeats_until_every_attribute_meets_it():
    """Leaving out the rows of a rare drug takes a disease below the threshold, whose rows are then left out too."""
    schema = schema_of("drug", "disease", values=6)
    rows = 600
    drug, disease = np.arange(rows) % 4, (np.arange(rows) // 4) % 4
    # Drug 4 has 3 rows, all of disease 4; disease 4 has 12 rows, nine of them of drug 5, which has 12 rows.
    drug[:12], disease[:12] = [4] * 3 + [5] * 9, 4
    drug[12:15] = 5
    design = SPLUGen(gamma=2, suppress_rarer_than=10)
    for seed in range(3):
        release = release_in_memory(table_of(schema, drug=drug, disease=disease), design, seed=seed)
        (batch,) = release.scan("rows", ("drug", "disease"))
        assert not np.isin(batch.codes["disease"], (4, 5)).any()
        assert not np.isin(batch.codes["drug"], (4, 5)).any()


def test_rows_left_out_so_that_groups_divide_take_no_value_below_the_threshold():
    """A value held by exactly as many rows as it must be keeps them all."""
    schema = schema_of("disease", values=4)
    disease = np.repeat([0, 1, 2, 3], [40, 40, 5, 40])
    drawn = SPLUGen(gamma=3).drawn(schema)
    table = table_of(schema, disease=disease)
    for seed in range(30):
        kept = CountPhase(table, drawn, 5, "mixed", NoiseSource.seeded(seed)).kept()
        assert sum(each.counts["disease"] for each in kept)[2] == 5


def tied_table(rows=400):
    """A drug for each disease, and a few that differ."""
    disease = np.arange(rows) % VALUES
    return disease, np.where(np.arange(rows) % 7 == 0, (disease + 1) % VALUES, disease)


def test_attributes_drawn_together_show_one_members_values():
    """Every published pair is a pair that some row has: agreement says nothing more."""
    schema = schema_of("drug", "disease")
    disease, drug = tied_table()
    design = SPLUGen(gamma=5, together=("drug", "disease"))
    release = release_in_memory(table_of(schema, drug=drug, disease=disease), design, seed=1)
    (batch,) = release.scan("rows", ("drug", "disease"))
    pairs = set(zip(drug.tolist(), disease.tolist(), strict=True))
    assert set(zip(batch.codes["drug"].tolist(), batch.codes["disease"].tolist(), strict=True)) <= pairs
    promise = promise_of(design, schema, "small-sum-privacy")
    alone = promise_of(SPLUGen(gamma=5), schema_of("drug"), "small-sum-privacy")
    assert promise.error_probability("drug") == alone.error_probability("drug")


def test_counts_of_values_drawn_together_keep_their_law_and_the_matrix_is_refused():
    """Each value's count is Binomial(gamma f, 1/gamma); nothing is known of which values meet."""
    schema = schema_of("drug", "disease")
    disease, drug = tied_table()
    design = SPLUGen(gamma=5, together=("drug", "disease"))
    release = release_in_memory(table_of(schema, drug=drug, disease=disease), design, seed=1)
    found = release.query("drug = 'drug-3'").to_dict()
    left_out = added_by_rows_left_out(found["estimate"] / 400, 4)
    assert found["std_error"] == pytest.approx(np.sqrt(found["estimate"] * 4 / 5 + left_out))
    for question in ("drug = 'drug-3' AND area = 'north'", "drug = 'drug-3' AND disease = 'disease-3'"):
        with pytest.raises(NotIdentifiableError, match="together"):
            release.query(question)


def test_what_cannot_be_grouped_is_refused_by_name():
    """Nobody differs from anybody in all three, though half of the rows hold each value: tried, then refused."""
    schema = schema_of("drug", "disease", "place", values=2)
    drug, disease, place = np.tile([[0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0]], 10)
    design = SPLUGen(gamma=2, together=("drug", "disease", "place"))
    with pytest.raises(DataError, match=r"drug and disease and place"):
        release_in_memory(table_of(schema, drug=drug, disease=disease, place=place), design, seed=1)
    with pytest.raises(DataError, match="disease"):
        release_in_memory(table_of(schema, drug=drug, disease=drug * 0, place=place), design, seed=1)


def test_names_that_cannot_be_drawn_together_are_refused():
    """Others than drawn ones, one alone, one twice, two gammas."""
    schema = schema_of("drug", "disease")
    unfit = {
        "one alone": {"gamma": 2, "together": ("drug",)},
        "one twice": {"gamma": 2, "together": ("drug", "drug")},
        "a public one": {"gamma": 2, "together": ("drug", "area")},
        "two gammas": {"gamma": {"drug": 2, "disease": 3}, "together": ("drug", "disease")},
    }
    for parameters in unfit.values():
        with pytest.raises(ParameterError, match="together"):
            SPLUGen(**parameters).guarantees(schema)
    with pytest.raises(ParameterError, match="partition"):
        SPLUGen(gamma=2, together=("drug", "disease"), partition="largest-first").guarantees(schema)


def test_the_plan_and_the_attack_know_what_is_drawn_together():
    """Largest shares of 17/400 and 18/400 are below 1/10 together and not below 1/15: certain, or to be searched for."""
    schema = schema_of("drug", "disease")
    disease, drug = tied_table()
    table = table_of(schema, drug=drug, disease=disease)
    verdicts = []
    for gamma in (5, 15):
        found = plan(SPLUGen(gamma=gamma, together=("drug", "disease")), schema, 400, table=table).tables
        (groups,) = [each for each in found if each.title == "Groups of attributes drawn together"]
        assert groups.is_private
        verdicts.append(groups.rows[0][-1])
    assert verdicts[0] == "groups exist for certain"
    assert verdicts[1].startswith("groups are searched for")
    release = release_in_memory(table, SPLUGen(gamma=5, together=("drug", "disease")), seed=1)
    result = SmallSum(trials=10, largest_number_of_attributes=1).run(release)
    assert any("drawn together" in each for each in result.caveats)


def test_attributes_drawn_together_agree_with_what_the_law_says_wherever_it_is_asked():
    """Tables of one attribute, sums of categories and consistent counts are answered; contrasts and estimators are not."""
    schema = schema_of("drug", "disease")
    disease, drug = tied_table()
    release = release_in_memory(
        table_of(schema, drug=drug, disease=disease), SPLUGen(gamma=5, together=("drug", "disease")), seed=1
    )
    counted = release.counts(["drug"])
    assert sum(each["estimate"] for each in counted.to_dict()["rows"]) == pytest.approx(400)
    both = release.query("drug IN ('drug-3', 'drug-4')").to_dict()
    # Counts of values that exclude each other in a group vary together by less than apart.
    left_out = added_by_rows_left_out(both["estimate"] / 400, 4)
    assert both["std_error"] <= np.sqrt(both["estimate"] * 4 / 5 + left_out) * (1 + 1e-9)
    assert release.query("area = 'north'").estimate == pytest.approx(200, abs=5)
    for estimator in ("pairwise", "paper"):
        with pytest.raises(NotIdentifiableError, match="together"):
            release.query("drug = 'drug-3' AND area = 'north'", estimator=estimator)
    with pytest.raises(NotIdentifiableError, match="together"):
        release.law.contrast(release, "drug", 1, 2, Selection.parse("area = 'north'", release.schema))
    with pytest.raises(NotIdentifiableError, match="together"):
        release.counts(["drug", "area"])
