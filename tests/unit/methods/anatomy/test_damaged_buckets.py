"""Tables of buckets that were edited are noticed."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

from dependent_jobs import private_table
from noisy_rows import JOB, Given
from sfumato import load_release, publish
from sfumato.errors import ReleaseDamagedError
from sfumato.methods.anatomy.buckets import BucketComposition
from sfumato.methods.anatomy.design import Anatomy
from sfumato.methods.anatomy.law import BucketedRows
from sfumato.release.manifest import Manifest
from sfumato.release.storage import sha256_of


def rewrite(folder, name, change):
    """Edit a published table and make every checksum fit again."""
    import pyarrow.parquet as pq

    path = folder / f"{name}.parquet"
    pq.write_table(change(pq.read_table(path)), path)
    manifest = Manifest.from_text((folder / "datapackage.json").read_text())
    tables = tuple(
        each.model_copy(update={"sha256": sha256_of(path)}) if each.name == name else each
        for each in manifest.tables
    )
    text = json.dumps(manifest.model_copy(update={"tables": tables}).to_descriptor())
    (folder / "datapackage.json").write_text(text)


def test_an_edited_bucket_table_is_refused_by_its_checksum(tmp_path):
    """On opening."""
    folder = publish(private_table(), Anatomy(l_value=3), tmp_path / "r", format="csv", seed=5).folder
    path = folder / "sensitive.csv"
    path.write_text(path.read_text().replace(",1\n", ",2\n", 1))
    with pytest.raises(ReleaseDamagedError, match="checksum"):
        load_release(folder)


def test_an_edited_bucket_table_is_noticed_even_with_checksums_made_to_fit(tmp_path):
    """Its buckets do not have as many values as rows."""
    folder = publish(private_table(), Anatomy(l_value=3), tmp_path / "r", seed=5).folder

    def move_one(table):
        buckets = table["bucket"].to_numpy().copy()
        buckets[0] = buckets[0] % 400 + 1
        return table.set_column(table.column_names.index("bucket"), "bucket", pa.array(buckets))

    rewrite(folder, "sensitive", move_one)
    with pytest.raises(ReleaseDamagedError, match="not as many values as rows"):
        load_release(folder).query("sex = 'F' AND job = 'a'")


def test_rows_with_buckets_that_do_not_exist_are_noticed(tmp_path):
    """Their numbers are beyond the last bucket."""
    folder = publish(private_table(), Anatomy(l_value=3), tmp_path / "r", seed=5).folder

    def beyond(table):
        buckets = table["bucket"].to_numpy().copy()
        buckets[0] = 10**9
        return table.set_column(table.column_names.index("bucket"), "bucket", pa.array(buckets))

    rewrite(folder, "rows", beyond)
    with pytest.raises(ReleaseDamagedError):
        load_release(folder).counts(["sex", "job"])


def test_a_law_refuses_tables_of_which_one_has_more_rows_in_a_bucket():
    """Before anything is asked: two rows in each bucket, and three values in the first."""
    law = BucketedRows(sensitive="job", l_value=2)

    class Tables(Given):
        number_of_rows = 4

    def tables(*values):
        return Tables((JOB,), rows={"bucket": [1, 2, 1, 2]}, sensitive={"bucket": values})

    law.refuse_unfit_tables(tables(2, 2, 1, 1))
    with pytest.raises(ReleaseDamagedError, match="2 buckets have not as many values as rows"):
        law.refuse_unfit_tables(tables(1, 1, 1, 2))


def test_a_table_without_a_bucket_is_refused_and_one_bucket_is_enough():
    """Three values of one bucket; and none of any."""
    assert BucketComposition.from_pairs(np.ones(3, int), np.array([0, 2, 1]), 3).places.tolist() == [
        [0, 2, 1]
    ]
    nothing = np.zeros(0, int)
    with pytest.raises(ReleaseDamagedError, match="has no value"):
        BucketComposition.from_pairs(nothing, nothing, 3)
