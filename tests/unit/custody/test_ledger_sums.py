"""What releases of one table add up to, when they are not alike."""

from __future__ import annotations

import math
import re

import pytest

from samples import LONG_SCHEMA, SCHEMA, people, ratings
from sfumato import publish, read_table
from sfumato.custody.ledger import Ledger, compose_entries
from sfumato.errors import PublishedBeforeError
from sfumato.guarantees.base import WHOLE_UNIT
from sfumato.guarantees.differential_privacy import DifferentialPrivacy, compose
from sfumato.guarantees.small_sum_privacy import SmallSumPrivacy, averaged_over
from sfumato.methods.anatomy.design import Anatomy
from sfumato.methods.columnized_counts.design import ColumnizedCounts
from sfumato.methods.distribution_resampling.design import DistributionResampling
from sfumato.methods.generalization.design import Generalization
from sfumato.methods.noisy_marginals.design import NoisyMarginals
from sfumato.methods.randomized_response.design import RandomizedResponse
from sfumato.methods.sample_perturb_scale.design import SamplePerturbScale
from sfumato.methods.splu_gen.design import SPLUGen
from sfumato.schema import Schema

ROWS = 400


def even():
    """Rows in which every job is as frequent, so that groups of up to four different ones exist."""
    rows = people(ROWS)
    jobs = SCHEMA["job"].labels * (ROWS // 4)
    return read_table(rows.set_column(rows.schema.get_field_index("job"), "job", [jobs]), SCHEMA)


@pytest.fixture
def ledger(tmp_path):
    """A new ledger."""
    return Ledger(tmp_path / "ledger.db")


@pytest.fixture
def add(tmp_path, ledger):
    """Publishes some rows by a design, whatever was published before."""

    def make(design, *, rows=None, again=True):
        table = read_table(people(ROWS), SCHEMA) if rows is None else rows
        number = len(list(tmp_path.glob("release-*")))
        folder = tmp_path / f"release-{number}"
        return publish(table, design, folder, ledger=ledger, again=again, say=str, accept=("singled-out",))

    return make


@pytest.fixture
def summed(ledger):
    """What all of them add up to."""
    return lambda: compose_entries(ledger.entries())


def test_releases_of_ratings_add_up_for_whole_users(add, summed):
    """A user with all ratings is protected by each of them, and so by both."""
    table = read_table(ratings(), LONG_SCHEMA)
    for _ in range(2):
        add(ColumnizedCounts(epsilon=1.0), rows=table)
    found = summed()
    assert found.together
    for each in found.together:
        assert each.describe()["protected_unit"] == WHOLE_UNIT
    assert "row more than" not in found.summary()


def test_a_sum_is_not_said_of_releases_that_are_not_in_it(add, summed):
    """Counts by decoys have no epsilon: nothing is differentially private together."""
    add(NoisyMarginals(epsilon=1.0))
    add(Anatomy(l_value=2))
    found = summed()
    assert found.together == ()
    assert "Together" not in found.summary()
    assert "Of release 1 by itself: 1-differential privacy" in found.summary()
    assert "not included in this total" in found.summary()


def test_only_the_relation_that_all_have_is_said_of_all(add, summed):
    """Marginals promise nothing about tables of another number of rows; replacing one costs 1 and 2."""
    add(NoisyMarginals(epsilon=1.0))
    add(ColumnizedCounts(epsilon=1.0))
    (together,) = summed().together
    assert together.relation == "replace-one"
    assert together.epsilon == pytest.approx(3.0)
    assert [(each.releases, each.promise.relation) for each in summed().partly] == [((2,), "add-remove")]


def test_local_and_central_epsilons_are_not_each_said_of_both(add, summed):
    """The one is about the perturbed values of a row, the other about the row."""
    add(NoisyMarginals(epsilon=1.0))
    add(RandomizedResponse(retention=0.5))
    assert summed().together == ()
    assert {each.releases for each in summed().partly} == {(1,), (2,)}


def test_a_release_that_would_be_added_is_named(add):
    """In the refusal, before it has a number."""
    add(Anatomy(l_value=2))
    with pytest.raises(PublishedBeforeError, match="Of the new release by itself: 1-differential privacy"):
        add(NoisyMarginals(epsilon=1.0), again=False)


LEARNED = Schema.from_toml(
    SCHEMA.to_toml().replace('role = "sensitive"', 'role = "sensitive"\nlearned = true')
)


@pytest.mark.parametrize("design", [RandomizedResponse(retention=0.5), NoisyMarginals(epsilon=1.0)])
def test_sums_take_as_known_what_each_release_does(add, summed, design):
    """A list of categories that was read off the rows is no better covered by two releases than by one."""
    table = read_table(people(ROWS), LEARNED)
    add(design, rows=table)
    assert "which was read off the private rows" in summed().summary()
    with pytest.raises(PublishedBeforeError, match="which was read off the private rows"):
        add(design, rows=table, again=False)


def test_chosen_parameters_are_taken_as_known_by_a_sum(add, summed):
    """As each of the two does."""
    for _ in range(2):
        add(RandomizedResponse(retention=0.5, chosen_from_private_data={"retention": "for a goal"}))
    (together,) = summed().together
    assert together.given == ("the parameter retention, chosen from the private rows",)


def test_buckets_of_different_sizes_are_intersected_as_they_are(add, summed):
    """By hand, for 4 values: the other value of a pair is one of two drawn from three with 2/3."""
    for l_value in (2, 3):
        add(Anatomy(l_value=l_value), rows=even())
    told = summed().without_rule["anatomy"]
    assert "buckets of 2 and 3" in told
    assert "33.3 % of the people are certain" in told
    assert "right with 0.67 on average" in told


def test_buckets_of_two_attributes_are_not_intersected(add, summed):
    """Values of one say nothing about values of the other by themselves."""
    schema = Schema.from_toml(SCHEMA.to_toml().replace('role = "other"', 'role = "sensitive"'))
    table = read_table(people(ROWS), schema)
    for name in ("job", "region"):
        add(Anatomy(l_value=2, attribute=name), rows=table)
    assert "After 2 releases" not in summed().without_rule["anatomy"]


def test_decoys_of_different_gammas_are_averaged_as_they_are(add, summed):
    """The second release does not stand for the first, in whichever order they were made."""
    for gamma in (2, 3):
        add(SPLUGen(gamma=gamma), rows=even())
    stated = float(re.search(r"the mean over them is with (0\.\d+)", summed().summary())[1])
    alike = [
        averaged_over([SmallSumPrivacy(gamma_by_attribute={"job": gamma}, **SMALL)] * 2, "job")
        for gamma in (2, 3)
    ]
    assert min(alike) < stated < max(alike)


def test_an_attribute_without_decoys_in_one_release_has_no_bound(add, summed):
    """Its counts are exact there; the other release's error does not stand for both."""
    add(SPLUGen(gamma={"job": 2, "region": 2}), rows=even())
    add(SPLUGen(gamma={"job": 2}), rows=even())
    found = summed().without_rule["splu-gen"]
    assert "job is" not in found
    assert "region is published unperturbed in one of them: no bound for it" in found


SMALL = {"relative_error": 0.3, "largest_small_count": 10}


def test_many_releases_are_averaged_in_no_time():
    """A set of forty draws has more parts than anybody could look at; those of equal gammas are alike."""
    promise = SmallSumPrivacy(gamma_by_attribute={"job": 10}, **SMALL)
    assert averaged_over([promise] * 40, "job") < 1e-6


def test_samples_of_different_retentions_are_not_taken_for_the_last_one(add, summed):
    """An attacker may leave out the worse of the two, so what the better one gives is an upper end."""
    add(SamplePerturbScale(retention=0.8))
    add(SamplePerturbScale(retention=0.5))
    forwards = summed().without_rule["sample-perturb-scale"]
    assert "with probability at most" in forwards


def test_different_recodings_are_intersected(add, summed):
    """Classes of 5 and 10 of 400 rows share 4 times 9 in 399 rows besides the person's own."""
    for k in (5, 10):
        add(Generalization(k=k))
    told = summed().without_rule["generalization"]
    assert f"{4 * 9 / 399:.2g} rows besides" in told
    assert "at least 91 % of the people" in told


def test_the_same_recoding_is_found_again(add, summed):
    """Nothing is drawn, so that a second release says what the first did."""
    first, second = (add(Generalization(k=5)) for _ in range(2))
    names = first.schema.names
    rows = [sorted(map(tuple, _codes(each, names))) for each in (first, second)]
    assert rows[0] == rows[1]
    assert "k = 5 stays" in summed().without_rule["generalization"]


def _codes(release, names):
    for batch in release.scan("rows", names):
        yield from zip(*(batch.codes[name].tolist() for name in names), strict=True)


def test_values_that_one_person_holds_are_shown_in_the_end(add, summed):
    """A row drawn from 400 is a certain one with 1/400, 400 times for each release."""
    for _ in range(2):
        add(DistributionResampling())
    told = summed().without_rule["distribution-resampling"]
    assert f"{1 - (1 - 1 / ROWS) ** ROWS:.3f}" in told
    assert f"{1 - (1 - 1 / ROWS) ** (2 * ROWS):.3f}" in told
    assert math.isclose(1 - (1 - 1 / ROWS) ** (2 * ROWS), 0.865, abs_tol=1e-3)


def test_promises_about_rows_and_about_units_do_not_compose():
    """Their epsilons mean different things."""
    whole = DifferentialPrivacy(epsilon=1.0, whole_units=True)
    assert compose([whole, whole]).whole_units
    with pytest.raises(ValueError, match="same units"):
        compose([whole, DifferentialPrivacy(epsilon=1.0)])
