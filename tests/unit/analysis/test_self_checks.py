"""What a release shows against itself: each check holds on a right release and is broken on one tampered with."""

from __future__ import annotations

import numpy as np
import pytest

from coded_tables import table_of
from sfumato import (
    METHODS,
    Anatomy,
    ColumnizedCounts,
    Generalization,
    NoisyMarginals,
    RandomizedResponse,
    SamplePerturbScale,
    load_release,
    publish,
)
from sfumato.data.engine import CodedRows
from sfumato.methods.columnized_counts import noisy_counts as noisy_count_matrix
from sfumato.release.manifest import checksum
from sfumato.release.release import Release
from sfumato.release.verification import verify_release
from sfumato.testing import release_in_memory, sample_table


def verdicts(release):
    """By what was looked at, what came of it."""
    return {each.about: each.verdict for each in release.self_checks()}


@pytest.mark.parametrize("method", sorted(METHODS.members))
def test_nothing_is_broken_in_a_right_release(method):
    """Every method's example release keeps what it says of itself."""
    design = METHODS.members[method].example(sample_table(2_000).schema)
    found = verdicts(release_in_memory(sample_table(2_000), design, seed=1))
    assert "broken" not in found.values()
    assert any(about.startswith("fields of") for about in found)


def changed(release, change):
    """The same release with other rows in its first table."""
    table = release.tables[0].name
    rows = release.sources[table]
    sources = {**release.sources, table: CodedRows(rows.schema, change(dict(rows.codes)))}
    return Release(None, release.manifest, sources, release.engine)


def test_counts_below_k_and_a_shifted_matrix_are_broken(monkeypatch):
    """A count of k - 1 where none may be; a matrix that releases everything at once."""
    design = ColumnizedCounts(k=5, epsilon=4.0, delta=1e-5)
    release = release_in_memory(sample_table(2_000), design, seed=1)
    assert verdicts(release)["noisy count matrix"] == "holds"
    assert verdicts(release)["published counts"] == "holds"
    low = changed(release, lambda codes: {**codes, "count": np.full_like(codes["count"], 4)})
    assert verdicts(low)["published counts"] == "broken"
    monkeypatch.setattr(noisy_count_matrix, "_release_words", lambda *_: (2**63, 2**64 - 1))
    assert verdicts(release)["noisy count matrix"] == "broken"


def test_a_margin_that_the_matrix_cannot_give_is_broken():
    """At retention .2 every value is published for a fifth of the rows at least; a margin without one is not from it."""
    release = release_in_memory(sample_table(2_000), RandomizedResponse(retention=0.2), seed=1)
    assert verdicts(release)["margin of job"] == "holds"
    one_value = changed(release, lambda codes: {**codes, "job": np.zeros_like(codes["job"])})
    assert verdicts(one_value)["margin of job"] == "broken"


def test_a_column_that_nobody_declared_is_broken(tmp_path):
    """A file with one column more, its checksum put right."""
    import hashlib
    import json

    import pyarrow as pa
    from pyarrow import parquet

    folder = tmp_path / "release"
    publish(sample_table(500), Anatomy(l_value=2), folder, seed=1)
    assert verify_release(folder).is_kept
    manifest = folder / "datapackage.json"
    told = json.loads(manifest.read_text(encoding="utf-8"))
    entry = told["resources"][0]
    path = folder / entry["path"]
    table = parquet.read_table(path)
    parquet.write_table(table.append_column("note", pa.array(["x"] * table.num_rows)), path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    entry["hash"] = f"sha256:{digest}"
    told["sfumato"]["tables"][0]["sha256"] = digest
    told["sfumato"].pop("checksum", None)
    told["sfumato"]["checksum"] = checksum(told)
    manifest.write_text(json.dumps(told), encoding="utf-8")
    found = verify_release(folder)
    assert not found.is_kept
    assert [each.about for each in found.checks if each.verdict == "broken"] == [f"fields of {entry['name']}"]
    assert "note" not in str(found)


@pytest.mark.parametrize(
    ("design", "flags"),
    [
        (Generalization(k=5, search="mondrian"), {"deterministic", "chosen cuts"}),
        (Generalization(k=5, search="full-domain"), {"deterministic", "chosen levels"}),
        (Generalization(k=2, search="fixed"), {"deterministic"}),
        (SamplePerturbScale(retention=0.5), {"sampling"}),
        (RandomizedResponse(retention=0.5), set()),
        (NoisyMarginals(epsilon=1.0), set()),
    ],
    ids=lambda each: getattr(each, "method", ""),
)
def test_red_flags_of_its_kind(design, flags):
    """Deterministic, sampling and cuts chosen from rows are named; noise is none of them."""
    found = verdicts(release_in_memory(sample_table(2_000), design, seed=1))
    assert {about for about, verdict in found.items() if verdict == "red flag"} == flags


def test_copied_rows_are_a_red_flag():
    """Every row five times: five-anonymous, and nobody hidden. As many rows by chance are not flagged."""
    generator = np.random.default_rng(3)
    codes = [
        generator.integers(12, size=200),
        generator.integers(12, size=200),
        generator.integers(3, size=200),
    ]
    copied = table_of([12, 12, 3], [np.repeat(each, 5) for each in codes])
    release = release_in_memory(copied, Generalization(k=5, search="mondrian"), seed=1)
    assert verdicts(release).get("duplicated rows") == "red flag"
    plain = table_of([12, 12, 3], [generator.integers(size, size=1_000) for size in (12, 12, 3)])
    release = release_in_memory(plain, Generalization(k=5, search="mondrian"), seed=1)
    assert "duplicated rows" not in verdicts(release)


def test_a_folder_says_the_same(tmp_path):
    """What verify prints holds the checks of the release."""
    publish(sample_table(500), Generalization(k=5), tmp_path / "release", seed=1)
    about = {each.about for each in verify_release(tmp_path / "release").checks}
    assert {each.about for each in load_release(tmp_path / "release").self_checks()} <= about
