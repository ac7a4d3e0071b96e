"""An engine over splits, run here: the same counts, releases and refusals as without splits."""

from __future__ import annotations

import itertools
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import engine_cases
from engine_cases import DESIGNS, digests, write_people
from samples import LONG_SCHEMA, SCHEMA, people, ratings
from sfumato import METHODS, load_release, publish, read_table
from sfumato.data.distributed import splits
from sfumato.data.distributed import splits as resting
from sfumato.data.distributed import splits as tasks
from sfumato.data.distributed.engine import LocalRunner, SplitEngine
from sfumato.data.distributed.exchange import Parcels, from_bytes, to_bytes
from sfumato.data.distributed.splits import OTHER_FAILURE, attempt
from sfumato.errors import DataError, ParameterError, ReleaseDamagedError, SourceError
from sfumato.release import distributed as parts
from sfumato.schema import Schema


@pytest.fixture(autouse=True)
def small_splits(monkeypatch):
    """Splits of 300 rows, files of 400."""
    for module in (splits, resting):
        monkeypatch.setattr(module, "ROWS_PER_SPLIT", 300)
    monkeypatch.setattr(parts, "ROWS_PER_FILE", 400)


@pytest.fixture
def engine():
    """Tasks run one after the other."""
    return SplitEngine(LocalRunner())


@pytest.mark.parametrize("form", ["parquet", "files", "csv"])
def test_counts_are_those_of_one_machine(engine, tmp_path, form):
    """Whatever the rows are divided by."""
    engine_cases.counts_are_those_of_one_machine(engine, tmp_path, form)


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_misfits_are_told_alike(engine, tmp_path, form):
    """Added up over splits."""
    engine_cases.misfits_are_told_alike(engine, tmp_path, form)


@pytest.mark.parametrize("name", list(DESIGNS))
def test_a_release_is_read_like_any_other(engine, tmp_path, name):
    """Every method."""
    engine_cases.a_release_is_read_like_any_other(engine, tmp_path, name)


def test_a_second_release_is_refused(engine, tmp_path):
    """By the ledger."""
    engine_cases.a_second_release_is_refused(engine, tmp_path)


def test_a_file_that_changes_is_refused(engine, tmp_path, monkeypatch):
    """Nothing is published."""
    engine_cases.a_file_that_changes_is_refused(engine, tmp_path, monkeypatch)


def test_every_design_has_a_case():
    """A method that nobody tries on splits would not be seen to fail there."""
    assert {method for method, _ in DESIGNS.values()} == set(METHODS.members)


def test_the_page_says_of_every_method_whether_it_runs():
    """In one table, which names neither more nor fewer."""
    page = Path(__file__).parents[4] / "docs" / "spark.md"
    table = page.read_text().split("<!-- methods -->")[1].split("<!-- end -->")[0]
    named = re.findall(r"^\| `([a-z-]+)` \| (yes|wide tables) \|", table, re.MULTILINE)
    assert [name for name, _ in named if name in METHODS.members] == [name for name, _ in named]
    assert {name for name, _ in named} == set(METHODS.members)


def test_rows_are_divided_by_row_groups(tmp_path):
    """Whole row groups, in order, none twice, and as few splits as the size allows."""
    path = write_people(tmp_path, "parquet")
    found = splits.splits_of(read_table(path, SCHEMA).source)
    assert [(each.first, each.end) for each in found] == [(0, 300), (300, 600), (600, 900), (900, 1_200)]


def test_a_row_group_larger_than_a_split_is_one(tmp_path):
    """It cannot be divided without reading it twice."""
    pq.write_table(people(1_000), tmp_path / "one.parquet")
    assert len(splits.splits_of(read_table(tmp_path / "one.parquet", SCHEMA).source)) == 1


def test_a_column_with_the_name_of_row_numbers_is_read(engine, tmp_path):
    """DuckDB numbers rows under that name: such a file is read whole, by one task."""
    table = people(400).rename_columns(["file_ROW_number", *people(1).column_names[1:]])
    pq.write_table(table, tmp_path / "named.parquet", row_group_size=100)
    read = read_table(
        tmp_path / "named.parquet", Schema(attributes=SCHEMA.select(SCHEMA.names[1:])), engine=engine
    )
    truth = read_table(people(400), SCHEMA).count_by(["job"]).counts
    assert np.array_equal(read.count_by(["job"]).counts, truth)
    publish(read, METHODS.make("anatomy", {"l_value": 2}), tmp_path / "out", seed=1)
    assert np.array_equal(load_release(tmp_path / "out").counts("job").values, truth)


def test_rows_come_in_random_order(engine, tmp_path):
    """The private rows are sorted by job; the published ones are not, within files or between them."""
    design = METHODS.make("generalization", {"k": 2})
    publish(
        read_table(write_people(tmp_path, "parquet"), SCHEMA, engine=engine), design, tmp_path / "out", seed=1
    )
    jobs = [pq.read_table(each)["job"].to_pylist() for each in sorted((tmp_path / "out" / "rows").iterdir())]
    assert len(jobs) == 3
    for each in jobs:
        changes = sum(one != other for one, other in itertools.pairwise(each))
        # Sorted rows change three times; in random order about half of 400 neighbours differ.
        assert changes > 150
    shares = [each.count("Care") / len(each) for each in jobs]
    # Five standard errors of a share among 400.
    assert max(shares) - min(shares) < 5 * (0.25 / 400) ** 0.5 * 2**0.5


def test_nothing_private_is_left_or_lies_open(engine, tmp_path, monkeypatch):
    """Coded rows are encrypted, in a folder that is gone afterwards, for whatever reason it ends."""
    seen = []
    write = splits.CodedRun.write.__func__

    def watched(cls, path, schema, codes, rows, encryption):
        found = write(cls, path, schema, codes, rows, encryption)
        seen.append(path)
        job = np.ascontiguousarray(codes["job"]).tobytes()
        assert job[:64] not in path.read_bytes()
        assert path.stat().st_mode & 0o077 == 0
        return found

    monkeypatch.setattr(splits.CodedRun, "write", classmethod(watched))
    design = METHODS.make("anatomy", {"l_value": 2})
    publish(
        read_table(write_people(tmp_path, "csv"), SCHEMA, engine=engine), design, tmp_path / "out", seed=1
    )
    assert len(seen) == 4
    assert not any(each.exists() for each in seen)
    assert not seen[0].parent.exists()


def test_rows_that_wait_to_meet_are_encrypted(engine, tmp_path, monkeypatch):
    """Anatomy's rows travel with their sensitive values: no blob of the first stage shows them."""
    seen = []
    exchange = engine.runner.exchange

    def watched(given, attributes, deal, meetings):
        for number, split in enumerate(given):
            seen.extend(deal.for_number(number)(tasks.batches_of(split, attributes), number))
        return exchange(given, attributes, deal, meetings)

    monkeypatch.setattr(engine.runner, "exchange", watched)
    design = METHODS.make("anatomy", {"l_value": 2})
    publish(
        read_table(write_people(tmp_path, "parquet"), SCHEMA, engine=engine), design, tmp_path / "out", seed=1
    )
    assert seen
    assert not any(b"job" in each.content or b"\x02" * 20 in each.content for each in seen)


def test_the_same_whatever_the_form(engine, tmp_path):
    """With one seed, rows that are read from text and from a file of the same splits give the same files."""
    found = []
    for form in ("parquet", "csv"):
        (tmp_path / form).mkdir()
        table = read_table(write_people(tmp_path / form, form), SCHEMA, engine=engine)
        publish(table, METHODS.make("splu-gen", {"gamma": 2}), tmp_path / form / "out", seed=9)
        found.append(digests(tmp_path / form / "out"))
    assert found[0] == found[1]


@pytest.mark.parametrize("method", ["randomized response", "anatomy"])
def test_where_blobs_are_cut_changes_nothing(engine, tmp_path, monkeypatch, method):
    """A task hands over what it holds as often as its memory asks for."""
    path = write_people(tmp_path, "parquet")
    found = []
    monkeypatch.setattr(tasks, "ROWS_PER_BATCH", 50)
    for place, most in (("one", 2**26), ("many", 1)):
        monkeypatch.setattr(parts, "BYTES_PER_BLOB", most)
        publish(
            read_table(path, SCHEMA, engine=engine),
            METHODS.make(*DESIGNS[method]),
            tmp_path / place,
            seed=3,
            accept=("singled-out",),
        )
        found.append(digests(tmp_path / place))
    assert found[0] == found[1]


def test_a_wide_table_with_many_categories(engine, tmp_path):
    """Sixty columns, one of them with 100,000 categories of which few occur: counts and rows as on one machine."""
    import pyarrow as pa

    draw = np.random.default_rng(5)
    labels = [f"Straße {number} 東" for number in range(100_000)]
    columns = {f"c{place}": draw.choice(["a", "b", None], 600) for place in range(59)}
    columns["street"] = [labels[each] for each in draw.zipf(1.3, 600).clip(1, 100_000) - 1]
    pq.write_table(pa.table(columns), tmp_path / "wide.parquet", row_group_size=70)
    schema = Schema.from_dict(
        {
            "attributes": {
                **{
                    f"c{place}": {"role": "other", "categories": ["a", "b"], "missing": "category"}
                    for place in range(59)
                },
                "street": {"role": "sensitive", "categories": labels},
            }
        }
    )
    there, here = (read_table(tmp_path / "wide.parquet", schema, engine=each) for each in (engine, None))
    names = [f"c{place}" for place in range(59)]
    assert there.group_sizes(names) == here.group_sizes(names)
    assert there.group_diversity(names[:4], "street") == here.group_diversity(names[:4], "street")
    assert np.array_equal(there.count_by(["street"]).counts, here.count_by(["street"]).counts)
    publish(there, METHODS.make("anatomy", {"l_value": 2}), tmp_path / "out", seed=1, accept=("singled-out",))
    released = load_release(tmp_path / "out").counts("street").values
    assert np.array_equal(released, here.count_by(["street"]).counts)


def test_long_data_are_refused_with_the_reason(engine, tmp_path):
    """They would have to be gathered in one process."""
    pq.write_table(ratings(), tmp_path / "ratings.parquet")
    table = read_table(tmp_path / "ratings.parquet", LONG_SCHEMA, engine=engine)
    with pytest.raises(ParameterError, match="--engine duckdb"):
        publish(table, METHODS.make("columnized-counts", {"k": 5, "epsilon": 4.0}), tmp_path / "out", seed=1)


def test_text_files_are_not_written_in_parts(engine, tmp_path):
    """Said before anything is made."""
    table = read_table(write_people(tmp_path, "parquet"), SCHEMA, engine=engine)
    design = METHODS.make("randomized-response", {"retention": 0.5})
    with pytest.raises(ParameterError, match="Parquet"):
        publish(table, design, tmp_path / "out", seed=1, format="csv")
    assert not (tmp_path / "out").exists()


@pytest.fixture
def released(engine, tmp_path):
    """A release in three parts."""
    table = read_table(write_people(tmp_path, "parquet"), SCHEMA, engine=engine)
    publish(table, METHODS.make("randomized-response", {"retention": 0.5}), tmp_path / "out", seed=1)
    return tmp_path / "out"


def test_a_stray_file_does_not_join_the_release(released):
    """The manifest names the files; a folder may hold others."""
    shutil.copy(released / "rows" / "part-00000.parquet", released / "rows" / "part-00009.parquet")
    assert load_release(released).number_of_rows == engine_cases.ROWS


@pytest.mark.parametrize("spoil", ["gone", "swapped", "link", "folder a link"])
def test_parts_that_are_not_as_published_are_refused(released, tmp_path, spoil):
    """Whichever way."""
    first, second = (released / "rows" / f"part-0000{number}.parquet" for number in (0, 1))
    if spoil == "gone":
        first.unlink()
    elif spoil == "swapped":
        content = first.read_bytes()
        first.write_bytes(second.read_bytes())
        second.write_bytes(content)
    elif spoil == "link":
        first.rename(tmp_path / "elsewhere.parquet")
        first.symlink_to(tmp_path / "elsewhere.parquet")
    else:
        (released / "rows").rename(tmp_path / "elsewhere")
        (released / "rows").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ReleaseDamagedError):
        load_release(released)


@pytest.mark.parametrize(
    "change",
    [
        {"path": "../elsewhere"},
        {"number_of_rows": 7},
        {"name": "../rows"},
        {"format": "csv"},
        {"parts": [{"path": "/etc/hostname", "sha256": "0" * 64, "number_of_rows": 1_200}]},
    ],
)
def test_a_manifest_cannot_name_other_files_as_parts(released, change):
    """With its checksum made anew, as whoever writes it would."""
    from sfumato.errors import ReleaseError
    from sfumato.release.manifest import checksum

    path = released / "datapackage.json"
    descriptor = json.loads(path.read_text())
    descriptor["sfumato"]["tables"][0] |= change
    del descriptor["sfumato"]["checksum"]
    descriptor["sfumato"]["checksum"] = checksum(descriptor)
    path.write_text(json.dumps(descriptor))
    with pytest.raises(ReleaseError):
        load_release(released)


def test_columns_travel_as_bytes():
    """Of every type, and none where there is nothing."""
    parts_of = [
        {"a": np.array([1, 2], np.uint8), "b": np.array([70_000, 5], np.int32)},
        {"a": np.array([3], np.uint8), "b": np.array([-1], np.int32)},
    ]
    joined = from_bytes(map(to_bytes, parts_of))
    assert joined.codes["a"].tolist() == [1, 2, 3]
    assert joined.codes["b"].tolist() == [70_000, 5, -1]
    assert joined.codes["b"].dtype == np.int32
    assert from_bytes([]).number_of_rows == 0


def test_parcels_are_opened_by_their_job_alone(tmp_path):
    """A parcel that was touched, or put under another name, is not unpickled."""
    parcels = Parcels.of(tmp_path)
    parcels.put("one", {"key": b"secret-of-the-noise"})
    assert parcels.take("one") == {"key": b"secret-of-the-noise"}
    stored = tmp_path / "one"
    assert b"secret" not in stored.read_bytes()
    assert stored.stat().st_mode & 0o077 == 0
    shutil.copy(stored, tmp_path / "two")
    with pytest.raises(DataError, match="was changed"):
        parcels.take("two")
    stored.write_bytes(stored.read_bytes()[:-1] + b"x")
    with pytest.raises(DataError, match="was changed"):
        parcels.take("one")
    assert "secret" not in repr(parcels)
    with pytest.raises(FileExistsError):
        parcels.put("one", "a name is used once")


def test_what_only_this_process_has_cannot_be_sent(tmp_path):
    """Said with the remedy, and nothing is left of it."""
    with (tmp_path / "open").open("wb") as file, pytest.raises(ParameterError, match="Write them to a file"):
        Parcels.of(tmp_path).put("one", file)
    assert not (tmp_path / "one").exists()


def test_a_task_is_at_home_where_its_job_was_begun(tmp_path, monkeypatch):
    """And back afterwards; where there is no such folder, it stays."""
    from dataclasses import replace

    parcels = replace(Parcels.of(tmp_path), home=tmp_path)
    elsewhere = Path.cwd()
    with parcels.at_home():
        assert Path.cwd() == tmp_path
    assert Path.cwd() == elsewhere
    with pytest.raises(ZeroDivisionError), parcels.at_home():
        1 / 0  # noqa: B018 - whatever ends a task
    assert Path.cwd() == elsewhere
    with replace(parcels, home=tmp_path / "not there").at_home():
        assert Path.cwd() == elsewhere


def test_whatever_goes_wrong_in_a_task_no_cell_is_repeated():
    """Sentences of ours come back as they are, others not at all."""

    def broken():
        raise ValueError("the cell MARKER is wrong")

    def refused():
        raise SourceError("the table changed.")

    assert attempt(broken).error().args == (OTHER_FAILURE,)
    assert isinstance(attempt(refused).error(), SourceError)
    assert str(attempt(refused).error()) == "the table changed."
