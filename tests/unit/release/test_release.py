"""Release folders: written whole or not at all, trusted only when untouched, readable by anyone."""

from __future__ import annotations

import errno

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from samples import SCHEMA, people
from sfumato import RandomizedResponse, load_release, publish, read_table
from sfumato.errors import DataError, ParameterError, ReleaseError, ReleaseExistsError
from sfumato.release import storage

DESIGN = RandomizedResponse(retention=0.6)


def test_unperturbed_attributes_are_published_as_they_are(release):
    """Only the chosen attribute changes; the others keep their joint counts."""
    private = read_table(people(), SCHEMA)
    names = ["sex", "age", "region"]
    assert np.array_equal(release.count_by(names).counts, private.count_by(names).counts)
    assert not np.array_equal(release.count_by(["job"]).counts, private.count_by(["job"]).counts)


def test_identifiers_never_leave(release):
    """Neither the column nor a cell of it is anywhere in the folder."""
    assert "person" not in release.schema
    assert not any(b"person-" in path.read_bytes() for path in release.folder.iterdir())


def test_rows_are_not_in_their_private_order(tmp_path):
    """A table sorted by job is published in an order that does not follow the job."""
    schema = SCHEMA
    sorted_rows = people(4_000)
    folder = publish(
        read_table(sorted_rows, schema), RandomizedResponse(retention=0.99), tmp_path / "r", seed=3
    ).folder
    jobs = pd.read_parquet(folder / "rows.parquet")["job"].astype(str).to_numpy()
    changes = np.mean(jobs[1:] != jobs[:-1])
    in_order = np.mean(np.asarray(sorted_rows["job"])[1:] != np.asarray(sorted_rows["job"])[:-1])
    assert in_order < 0.01
    assert changes > 0.5


def test_a_release_reads_back_as_it_was_written(release):
    """Law, promise and design survive the folder."""
    again = load_release(release.folder)
    assert again.law == release.law
    assert again.guarantees == DESIGN.guarantees(SCHEMA)
    assert again.manifest == release.manifest
    assert repr(again) == "Release(randomized-response: sex, age, region, job; 1,000 rows)"


def test_a_release_opens_in_pandas_and_polars(release):
    """Plain readers see text columns with the schema's labels."""
    (path,) = [each for each in release.folder.iterdir() if each.suffix in (".parquet", ".csv")]
    read_pandas = pd.read_parquet if path.suffix == ".parquet" else pd.read_csv
    read_polars = pl.read_parquet if path.suffix == ".parquet" else pl.read_csv
    frame = read_pandas(path)
    assert set(frame["region"].astype(str)) <= set(SCHEMA["region"].labels)
    assert frame["age"].notna().all()
    counts = read_polars(path)["job"].cast(pl.String).value_counts()
    expected = dict(zip(SCHEMA["job"].labels, release.count_by(["job"]).counts.tolist(), strict=True))
    assert dict(counts.iter_rows()) == expected


def test_the_frictionless_validator_accepts_a_release(release):
    """It is a valid data package for tools that have never heard of sfumato."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import frictionless

        report = frictionless.validate(str(release.folder / "datapackage.json"))
    assert report.valid, report.flatten(["type", "note"])


def test_the_manifest_says_nothing_of_the_machine(release):
    """No seed, key, path, host or user name."""
    import getpass
    import socket

    text = (release.folder / "datapackage.json").read_text()
    for hidden in (str(release.folder.parent), socket.gethostname(), '"seed"', '"key"'):
        assert hidden not in text
    assert getpass.getuser() not in text or len(getpass.getuser()) < 5


def test_a_seeded_release_says_that_it_is_not_private(release, tmp_path):
    """And an unseeded one says where its noise came from."""
    assert release.manifest.reproducible
    assert release.manifest.privacy.startswith("not private")
    private = publish(read_table(people(50), SCHEMA), DESIGN, tmp_path / "r")
    assert not private.manifest.reproducible


def test_the_same_seed_gives_the_same_files(tmp_path):
    """Reproducible to the byte, which is why it is not private."""
    first, second = (publish(read_table(people(), SCHEMA), DESIGN, tmp_path / name, seed=5) for name in "ab")
    assert first.manifest == second.manifest


def test_without_a_seed_no_two_releases_are_alike(tmp_path):
    """Each run takes new entropy."""
    first, second = (publish(read_table(people(), SCHEMA), DESIGN, tmp_path / name) for name in "ab")
    assert first.manifest.tables[0].sha256 != second.manifest.tables[0].sha256


def test_learned_categories_are_said_in_the_manifest(tmp_path):
    """Which attributes had their domain read off the data is public knowledge."""
    attributes = tuple(
        each.model_copy(update={"learned": each.name == "region"}) for each in SCHEMA.attributes
    )
    schema = SCHEMA.model_copy(update={"attributes": attributes})
    made = publish(read_table(people(), schema), DESIGN, tmp_path / "r", seed=1)
    assert made.manifest.chosen_from_private_data == {
        "categories of region": "categories were read off the private rows"
    }


def test_an_existing_folder_is_never_touched(tmp_path):
    """Whatever is in it."""
    (tmp_path / "r").mkdir()
    with pytest.raises(ReleaseExistsError, match="already there"):
        publish(read_table(people(), SCHEMA), DESIGN, tmp_path / "r")
    assert list((tmp_path / "r").iterdir()) == []


def test_a_folder_that_appears_while_the_release_is_written_is_not_touched(tmp_path):
    """Two runs for one name: the second says so, and leaves the first and nothing else."""

    def somebody_else_is_faster(_):
        (tmp_path / "r").mkdir(exist_ok=True)
        (tmp_path / "r" / "theirs").touch()

    with pytest.raises(ReleaseExistsError, match="appeared while the release was written"):
        publish(
            read_table(people(), SCHEMA), DESIGN, tmp_path / "r", seed=1, progress=somebody_else_is_faster
        )
    assert [each.name for each in tmp_path.rglob("*")] == ["r", "theirs"]


def test_a_refused_table_leaves_nothing_behind(tmp_path):
    """A bad value in the last batch takes the whole folder with it."""
    good = people(300_000)
    broken = good.set_column(4, "job", pa.array([*good["job"].to_pylist()[:-1], "SECRET-MARKER"]))
    with pytest.raises(DataError):
        publish(read_table(broken, SCHEMA), DESIGN, tmp_path / "out" / "r")
    assert not list(tmp_path.rglob("*"))


def test_a_disk_that_fills_up_leaves_nothing_behind(tmp_path, monkeypatch):
    """The sentence is the system's reason, and no partial folder stays."""

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(storage, "sha256_of", full)
    with pytest.raises(ReleaseError, match=r"No space left on device\. Nothing was published"):
        publish(read_table(people(), SCHEMA), DESIGN, tmp_path / "out" / "r")
    assert list((tmp_path / "out").iterdir()) == []


def test_a_real_write_limit_leaves_nothing_behind(tmp_path):
    """The operating system itself cuts the file off in the middle."""
    import subprocess
    import sys

    code = """
import resource, signal, sys
from samples import SCHEMA, people
from sfumato import RandomizedResponse, publish, read_table
from sfumato.errors import ReleaseError
table = read_table(people(200_000), SCHEMA)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    publish(table, RandomizedResponse(retention=0.5), sys.argv[1])
except ReleaseError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "out" / "r")],
        capture_output=True,
        text=True,
        check=True,
        cwd="tests",
    )
    assert "Nothing was published" in done.stdout
    assert list((tmp_path / "out").iterdir()) == []


def test_an_empty_table_is_refused(tmp_path):
    """A release of nothing would be a promise about nobody."""
    with pytest.raises(DataError, match="no rows"):
        publish(read_table(people(0), SCHEMA), DESIGN, tmp_path / "r")
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_format_is_refused(tmp_path):
    """The allowed ones are listed."""
    with pytest.raises(ParameterError, match="one of parquet, csv"):
        publish(read_table(people(), SCHEMA), DESIGN, tmp_path / "r", format="xlsx")
