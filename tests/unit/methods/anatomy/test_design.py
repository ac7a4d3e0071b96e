"""Publishing by Anatomy."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from array_tables import published
from samples import SCHEMA, people
from sfumato import Schema, publish, read_table
from sfumato.errors import DataError, ParameterError
from sfumato.guarantees.k_anonymity import LDiversity
from sfumato.methods.anatomy.design import Anatomy
from sfumato.methods.base import METHODS
from sfumato.randomness.streams import NoiseSource

PARTITIONS = ("mixed", "largest-first")


def table(rows=500):
    """Private rows, sorted by job."""
    return read_table(people(rows), SCHEMA)


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """Pairs."""
    return publish(table(), Anatomy(l_value=2), tmp_path_factory.mktemp("anatomy") / "r", seed=3)


def test_the_two_tables_share_the_bucket_and_nothing_else(release):
    """Public values on one side, sensitive values on the other."""
    rows = pq.read_table(release.folder / "rows.parquet")
    sensitive = pq.read_table(release.folder / "sensitive.parquet")
    assert set(rows.column_names) == {"sex", "age", "region", "bucket"}
    assert set(sensitive.column_names) == {"job", "bucket"}
    assert rows.num_rows == sensitive.num_rows == 500


@pytest.mark.parametrize("partition", PARTITIONS)
def test_every_bucket_keeps_the_promise(partition, tmp_path):
    """The guarantee that the release states holds for its buckets."""
    made = publish(table(501), Anatomy(l_value=2, partition=partition), tmp_path / "r")
    promise = made.guarantees[0]
    assert promise == LDiversity(attribute="job", l_value=2)
    assert promise.holds_for(made.law.composition(made).counts())


def test_margins_of_both_tables_are_the_private_ones(release):
    """Nothing is changed but the link."""
    private = table()
    for name in ("sex", "region", "job"):
        assert np.array_equal(release.counts([name]).values, private.count_by([name]).counts)


def test_published_order_says_nothing_about_buckets_or_private_order(release):
    """The private rows are sorted by job: neither file is, and bucket numbers are not in order."""
    sensitive = pq.read_table(release.folder / "sensitive.parquet")
    jobs = sensitive["job"].to_pylist()
    assert jobs != sorted(jobs)
    buckets = sensitive["bucket"].to_numpy()
    assert abs(np.corrcoef(np.arange(len(buckets)), buckets)[0, 1]) < 0.25


def test_bucket_numbers_do_not_follow_the_private_rows():
    """The rows are sorted by job, and a bucket's number has nothing to do with their place."""
    noise = NoiseSource.seeded(1)
    made = Anatomy(l_value=2).publish(table(), noise)
    buckets = published(made, table(), noise).codes["bucket"]
    assert sorted(set(buckets.tolist())) == list(range(1, 251))
    # Under random numbers the correlation of 500 places has a standard error of about 0.045.
    assert abs(np.corrcoef(np.arange(500), buckets)[0, 1]) < 0.25


def test_a_value_too_frequent_for_l_is_refused_with_the_largest_l_that_works(tmp_path):
    """The value itself is not named, and nothing is written."""
    with pytest.raises(DataError, match="largest l_value that works is 2") as caught:
        publish(table(), Anatomy(l_value=3), tmp_path / "r")
    assert not any(label in str(caught.value) for label in SCHEMA["job"].labels)
    assert not list(tmp_path.iterdir())


def test_a_value_held_by_more_than_half_fits_no_l(tmp_path):
    """The message says so."""
    rows = people(100).set_column(4, "job", pa.array(["Sales"] * 60 + ["Tech"] * 40))
    with pytest.raises(DataError, match="No l_value works"):
        publish(read_table(rows, SCHEMA), Anatomy(l_value=2), tmp_path / "r")


@pytest.mark.parametrize("wrong", [1, 0, -3, 2.5, True, "2"])
def test_l_below_two_or_not_whole_is_refused(wrong):
    """When the design is made."""
    with pytest.raises(ParameterError, match="l_value"):
        Anatomy(l_value=wrong)
    with pytest.raises(ParameterError, match="l_value"):
        METHODS.make("anatomy", {"l_value": wrong})


def test_l_above_the_number_of_values_is_refused_by_the_schema_alone():
    """Before any data are read."""
    with pytest.raises(ParameterError, match="at most 4, the number of values of 'job', got 5"):
        Anatomy(l_value=5).guarantees(SCHEMA)


def two_sensitive():
    """A schema with another sensitive attribute."""
    attributes = {**SCHEMA.to_dict()["attributes"]}
    attributes["region"] = {**attributes["region"], "role": "sensitive"}
    return Schema.from_dict({"attributes": attributes})


def test_several_sensitive_attributes_need_a_choice():
    """One is kept apart; which one must be said."""
    with pytest.raises(ParameterError, match="exactly one sensitive"):
        Anatomy(l_value=2).guarantees(two_sensitive())


def test_other_sensitive_attributes_are_left_out_of_the_release(tmp_path):
    """Publishing them beside the public ones would expose them."""
    made = publish(
        read_table(people(200), two_sensitive()), Anatomy(l_value=2, attribute="job"), tmp_path / "r"
    )
    assert "region" not in made.schema
    assert any("region" in sentence for sentence in made.manifest.assumptions)


def test_an_identifier_cannot_be_the_sensitive_attribute():
    """It is never published."""
    with pytest.raises(ParameterError, match="identifier"):
        Anatomy(l_value=2, attribute="person").guarantees(SCHEMA)


def test_a_schema_without_public_attributes_is_refused(tmp_path):
    """There would be nothing to join."""
    only = Schema(attributes=(SCHEMA["job"],))
    with pytest.raises(ParameterError, match="has none"):
        publish(read_table(people(100), only), Anatomy(l_value=2), tmp_path / "r")


def test_an_attribute_named_as_the_joining_column_is_refused(tmp_path):
    """Two columns of one name would not be told apart."""
    renamed = people(100).rename_columns(["person", "bucket", "age", "region", "job"])
    attributes = SCHEMA.to_dict()["attributes"]
    schema = Schema.from_dict(
        {"attributes": {("bucket" if name == "sex" else name): each for name, each in attributes.items()}}
    )
    with pytest.raises(ParameterError, match="named 'bucket'"):
        publish(read_table(renamed, schema), Anatomy(l_value=2), tmp_path / "r")


def test_a_table_without_rows_is_refused(tmp_path):
    """There is nothing to publish."""
    with pytest.raises(DataError, match="no rows"):
        publish(read_table(people(100).slice(0, 0), SCHEMA), Anatomy(l_value=2), tmp_path / "r")


def test_a_plan_states_buckets_and_marks_what_comes_from_data():
    """The largest l that works comes from the data, so it is private."""
    public = Anatomy(l_value=2).plan_tables(SCHEMA, 500, None)
    assert public[0].rows[0][2] == 250
    private = Anatomy(l_value=2).plan_tables(SCHEMA, 500, table())[-1]
    assert private.is_private
    assert private.rows == (("job", 2),)


def test_a_plan_for_fewer_rows_than_a_bucket_is_refused():
    """Such a bucket does not exist."""
    with pytest.raises(DataError, match="do not fill one bucket"):
        Anatomy(l_value=3).plan_tables(SCHEMA, 2, None)
