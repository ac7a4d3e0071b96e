"""Release folders: written whole or not at all, trusted only when untouched, readable by anyone."""

from __future__ import annotations

import errno
import json
import shutil

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from samples import SCHEMA, people
from sfumato import RandomizedResponse, load_release, publish, read_table
from sfumato.errors import (
    DataError,
    ParameterError,
    QueryError,
    ReleaseDamagedError,
    ReleaseError,
    ReleaseExistsError,
    ReleaseUnsupportedError,
)
from sfumato.release import storage
from sfumato.release.manifest import checksum
from sfumato.values.schema import Attribute, Role, Schema

DESIGN = RandomizedResponse(retention=0.6)


@pytest.fixture(scope="module", params=["parquet", "csv"])
def release(request, tmp_path_factory):
    """A release of a thousand people, in each format."""
    folder = tmp_path_factory.mktemp("releases") / request.param
    return publish(read_table(people(), SCHEMA), DESIGN, folder, format=request.param, seed=1)


@pytest.fixture
def copied(release, tmp_path):
    """A copy of the release that may be damaged."""
    return shutil.copytree(release.folder, tmp_path / "copy")


def edit(folder, change, *, mend_checksum=False):
    """Change the descriptor of a release, with or without a fitting checksum."""
    path = folder / "datapackage.json"
    descriptor = json.loads(path.read_text())
    change(descriptor)
    if mend_checksum:
        descriptor["sfumato"].pop("checksum", None)
        descriptor["sfumato"]["checksum"] = checksum(descriptor)
    path.write_text(json.dumps(descriptor))


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


def test_a_refused_table_leaves_nothing_behind(tmp_path):
    """A bad value in the last batch takes the whole folder with it."""
    good = people(300_000)
    broken = good.set_column(4, "job", pa.array([*good["job"].to_pylist()[:-1], "SECRET-MARKER"]))
    with pytest.raises(DataError):
        publish(read_table(broken, SCHEMA), DESIGN, tmp_path / "out" / "r")
    assert list((tmp_path / "out").iterdir()) == []


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


def test_a_data_file_that_was_changed_is_refused(copied):
    """One byte is enough."""
    (path,) = [each for each in copied.iterdir() if each.suffix in (".parquet", ".csv")]
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(ReleaseDamagedError, match="not the file that was published"):
        load_release(copied)


def test_a_data_file_that_is_gone_is_refused(copied):
    """The message names it."""
    (path,) = [each for each in copied.iterdir() if each.suffix in (".parquet", ".csv")]
    path.unlink()
    with pytest.raises(ReleaseDamagedError, match=path.name):
        load_release(copied)


def test_a_manifest_edited_by_hand_is_refused(copied):
    """Also where the edit is plausible."""
    edit(copied, lambda descriptor: descriptor["sfumato"]["law"]["distortions"]["job"].update(retention=0.9))
    with pytest.raises(ReleaseDamagedError, match="changed after publication"):
        load_release(copied)


def test_a_future_format_version_is_refused(copied):
    """Even before its checksum is looked at, since that may be computed otherwise."""
    edit(copied, lambda descriptor: descriptor["sfumato"].update(format_version=2))
    with pytest.raises(ReleaseUnsupportedError, match="format version 2"):
        load_release(copied)


def test_an_unknown_law_is_refused(copied):
    """It is not guessed."""
    edit(copied, lambda descriptor: descriptor["sfumato"]["law"].update(law="new-law"), mend_checksum=True)
    with pytest.raises(ReleaseUnsupportedError, match="law 'new-law', which this version"):
        load_release(copied)


@pytest.mark.parametrize(
    ("block", "key", "value"),
    [("law", "law", ["no", "text"]), ("method", "method", None), ("law", "software", "\ud800")],
)
def test_a_manifest_of_the_wrong_shape_is_refused(copied, block, key, value):
    """A list for a name, no name at all, half a character: refused as damaged, not our fault."""
    edit(copied, lambda descriptor: descriptor["sfumato"][block].update({key: value}), mend_checksum=True)
    with pytest.raises(ReleaseUnsupportedError):
        load_release(copied)


@pytest.mark.parametrize("change", [{"size": 7}, {"name": "jbo"}])
def test_a_law_that_does_not_fit_the_attributes_is_refused(copied, change):
    """A matrix for another attribute, or of another size, would give wrong numbers that look right."""

    def misfit(descriptor):
        (name, matrix), *_ = descriptor["sfumato"]["law"]["distortions"].items()
        descriptor["sfumato"]["law"]["distortions"] = {
            change.get("name", name): {**matrix, "size": change.get("size", matrix["size"])}
        }

    edit(copied, misfit, mend_checksum=True)
    with pytest.raises(ReleaseDamagedError, match="fits no attribute"):
        load_release(copied)


def test_an_unknown_field_of_a_known_law_is_refused(copied):
    """A field that is not understood may change the meaning of the others."""
    edit(copied, lambda descriptor: descriptor["sfumato"]["law"].update(twist=1), mend_checksum=True)
    with pytest.raises(ReleaseUnsupportedError, match="twist"):
        load_release(copied)


def test_a_manifest_cannot_point_outside_its_folder(copied, tmp_path):
    """Opening a stranger's release must not read other files."""
    (tmp_path / "elsewhere.csv").write_text("job\nSales\n")
    edit(
        copied,
        lambda descriptor: descriptor["sfumato"]["tables"][0].update(path="../elsewhere.csv", format="csv"),
        mend_checksum=True,
    )
    with pytest.raises(ReleaseDamagedError):
        load_release(copied)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "{", '{"sfumato": 3}', pytest.param("[" * 100_000, id="deep")]
)
def test_what_is_not_a_manifest_is_refused(copied, text):
    """Broken JSON and other people's data packages have their own sentences."""
    (copied / "datapackage.json").write_text(text)
    with pytest.raises(ReleaseDamagedError):
        load_release(copied)


def test_a_folder_without_a_manifest_is_no_release(tmp_path):
    """The sentence says what is missing."""
    with pytest.raises(ReleaseError, match=r"has no datapackage\.json"):
        load_release(tmp_path)


def test_queries_on_what_does_not_exist_suggest_the_nearest(release):
    """Attributes and categories alike."""
    with pytest.raises(QueryError, match="did you mean 'job'"):
        release.query("jobs = 'Tech'")
    with pytest.raises(QueryError, match="did you mean 'Sales'"):
        release.query("job = 'sales'")


def test_counts_over_the_same_attribute_twice_are_refused(release):
    """A table has one axis for each attribute."""
    with pytest.raises(ParameterError, match="different attributes"):
        release.counts(["job", "job"])


@pytest.mark.parametrize("level", [0, 1, 95, -0.5])
def test_a_confidence_level_outside_0_and_1_is_refused(release, level):
    """Percentages are a common slip."""
    with pytest.raises(ParameterError, match="between 0 and 1"):
        release.query("job = 'Tech'", confidence_level=level)


def test_unperturbed_questions_are_answered_exactly(release):
    """Without a perturbed attribute there is no error."""
    answer = release.query("sex = 'Female' AND age < 55")
    truth = read_table(people(), SCHEMA).count_by(["sex", "age"]).counts[0, :2].sum()
    assert (answer.estimate, answer.std_error) == (truth, 0)


def test_a_query_equals_its_cell_of_the_table(release):
    """Two ways to ask for one number."""
    table = release.counts(["sex", "job"])
    answer = release.query("sex = 'Male' AND job = 'Tech'")
    assert answer.estimate == pytest.approx(table.values[1, 1], abs=1e-9)
    assert answer.std_error == pytest.approx(table.std_errors[1, 1], abs=1e-9)


def test_a_restricted_table_shows_the_chosen_categories(release):
    """A condition on a tabulated attribute restricts its rows of the table."""
    whole = release.counts(["job", "sex"])
    part = release.counts(["job", "sex"], where="job IN ('Sales', 'Care')")
    assert [labels for labels, *_ in part.cells()] == [
        (job, sex) for job in ("Sales", "Care") for sex in ("Female", "Male")
    ]
    assert np.allclose(part.values, whole.values[[0, 2]])
    assert np.allclose(part.std_errors, whole.std_errors[[0, 2]])


def test_consistent_counts_are_feasible(release):
    """Not negative, and adding up to the exact margin of every unperturbed combination."""
    consistent = release.consistent_counts(["sex", "age", "job"])
    assert consistent.is_consistent
    assert (consistent.values >= 0).all()
    assert np.allclose(consistent.values.sum(axis=2), release.count_by(["sex", "age"]).counts)


@pytest.mark.parametrize("feasibility", ["projection", "clip", "em"])
def test_intervals_of_consistent_counts_hold_what_the_unbiased_ones_do(release, feasibility):
    """A true count is not negative: what the unbiased interval holds of those, the consistent one holds too, and its count."""
    names = ["sex", "age", "job"]
    consistent = release.consistent_counts(names, feasibility=feasibility)
    low, high = consistent.intervals()
    unbiased_low, unbiased_high = release.counts(names).intervals()
    assert (low <= np.clip(unbiased_low, 0, None)).all()
    assert (high >= np.clip(unbiased_high, 0, None)).all()
    assert (low <= consistent.values.ravel()).all()
    assert (high > consistent.values.ravel()).all()
    assert (low >= 0).all()


def test_proportions_are_ratios_of_counts(release):
    """Share and standard error agree with the two counts and with the delta method by hand."""
    share = release.proportion("job = 'Tech'", given="sex = 'Male'")
    top = release.query("job = 'Tech' AND sex = 'Male'")
    bottom = release.query("sex = 'Male'")
    assert share.estimate == pytest.approx(top.estimate / bottom.estimate)
    assert share.std_error == pytest.approx(top.std_error / bottom.estimate)


def test_only_unbiased_numbers_are_called_unbiased(release):
    """Consistent counts and ratios are not, and their plain data say so."""
    assert release.counts(["job"]).to_dict()["estimator"] == "unbiased"
    assert release.consistent_counts(["job"]).to_dict()["estimator"] == "consistent"
    share = release.proportion("job = 'Sales'", given="sex = 'Female'")
    assert share.to_dict()["estimator"] == "ratio of two counts, each unbiased"


def test_an_unknown_target_is_refused(release):
    """Not answered as if the other target had been meant."""
    asked = (
        lambda: release.query("job = 'Sales'", target="tabel"),
        lambda: release.counts(["job"], target="tabel"),
        lambda: release.proportion("job = 'Sales'", target="tabel"),
    )
    for ask in asked:
        with pytest.raises(ParameterError, match="table, population"):
            ask()


def test_exported_columns_have_names_of_their_own(tmp_path):
    """An attribute that is called as a column of results is called does not vanish behind it."""
    schema = Schema.from_toml("""
[attributes.low]
role = "sensitive"
categories = ["a", "b"]
""")
    private = read_table(pa.table({"low": ["a", "b", "a"]}), schema)
    table = publish(private, DESIGN, tmp_path / "release").counts(["low"])
    assert table.to_arrow().column_names == ["low", "estimate", "std_error", "low_", "high"]
    assert table.to_arrow()["low"].to_pylist() == ["a", "b"]


def test_a_share_within_a_group_of_many_attributes_needs_no_large_table(tmp_path):
    """What numerator and denominator ask alike of unperturbed attributes filters, and the answer is the same."""
    names = [f"q{place}" for place in range(9)]
    many = {name: Attribute(name=name, role=Role.OTHER, categories=tuple("0123456789")) for name in names}
    job = Attribute(name="job", role=Role.SENSITIVE, categories=("a", "b"))
    private = pa.table({**{name: ["1", "2"] * 20 for name in names}, "job": ["a", "b"] * 20})
    schema = Schema(attributes=(*many.values(), job))
    opened = publish(read_table(private, schema), DESIGN, tmp_path / "release")
    share = opened.proportion("job = 'a'", given=" AND ".join(f"{name} = '1'" for name in names))
    # All the attributes say the same, so one of them makes the same group.
    alone = opened.proportion("job = 'a'", given="q0 = '1'")
    assert (share.estimate, share.std_error) == (alone.estimate, alone.std_error)
