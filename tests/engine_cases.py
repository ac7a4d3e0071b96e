"""What every engine must do, whatever it runs on: held against DuckDB on this machine alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

from samples import SCHEMA, people
from sfumato import METHODS, load_release, publish, read_table
from sfumato.custody.inspect import inspect_table
from sfumato.custody.ledger import Ledger
from sfumato.data.duckdb_engine import DuckDBEngine
from sfumato.data.engine import Engine
from sfumato.errors import DataError, PublishedBeforeError, SourceError
from sfumato.query.selection import Selection
from sfumato.release.verification import verify_release

ROWS = 1_200

DESIGNS = {
    "randomized response": ("randomized-response", {"retention": 0.5}),
    "two attributes": ("randomized-response", {"retention": 0.5, "attributes": ["job", "region"]}),
    "anatomy": ("anatomy", {"l_value": 2}),
    "splu-gen": ("splu-gen", {"gamma": 2}),
    "splu-gen without rare values": ("splu-gen", {"gamma": 2, "suppress_rarer_than": 20}),
    "sample-perturb-scale": (
        "sample-perturb-scale",
        {"retention": 0.3, "relative_error": 0.3, "error_probability": 0.3},
    ),
    "sample-perturb-scale, rounded": ("sample-perturb-scale", {"retention": 0.3, "strict": False}),
    "mondrian": ("generalization", {"k": 5}),
    "full domain": ("generalization", {"k": 5, "search": "full-domain", "suppression": 0.1}),
    "resampling": ("distribution-resampling", {}),
    "marginals and queries": ("noisy-marginals", {"epsilon": 1.0, "queries": ["job = 'Tech'"]}),
    "columns with a budget": (
        "columnized-counts",
        {"k": 5, "epsilon": 4.0, "column_sets": [["sex", "job"], ["age", "region"]], "column_budget": 1},
    ),
}
"""Every method, and what its row phase or its counting has besides."""


def write_people(folder: Path, form: str, rows: int = ROWS) -> str:
    """Private rows in a form that an engine reads: a file of several row groups, several files, or text."""
    table = people(rows)
    if form == "parquet":
        pq.write_table(table, folder / "people.parquet", row_group_size=100)
        return str(folder / "people.parquet")
    if form == "files":
        for place in range(3):
            part = table.slice(place * rows // 3, rows // 3)
            pq.write_table(part, folder / f"people{place}.parquet", row_group_size=90)
        return str(folder / "people*.parquet")
    pc.write_csv(table, folder / "people.csv")
    return str(folder / "people.csv")


def counts_are_those_of_one_machine(engine: Engine, folder: Path, form: str) -> None:
    """Every kind of count, and what an inspection says."""
    path = write_people(folder, form)
    there, here = (read_table(path, SCHEMA, engine=each) for each in (engine, DuckDBEngine()))
    names = ["region", "job", "sex"]
    assert there.number_of_rows == here.number_of_rows == ROWS
    assert np.array_equal(there.count_by(names).counts, here.count_by(names).counts)
    where = Selection.parse("job = 'Tech'", SCHEMA)
    assert np.array_equal(there.count_by(["sex"], where).counts, here.count_by(["sex"], where).counts)
    for fewest in (1, 4):
        found, expected = (each.count_occupied(names, fewest=fewest) for each in (there, here))
        as_sets = [
            set(zip(*(codes.tolist() for codes in each.codes), each.counts.tolist(), strict=True))
            for each in (found, expected)
        ]
        assert as_sets[0] == as_sets[1]
    assert there.group_sizes(names) == here.group_sizes(names)
    assert there.group_diversity(["region", "sex"], "job") == here.group_diversity(["region", "sex"], "job")
    # Added up by tasks, as where there are many splits: the same combinations, and none that few rows have.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sfumato.data.distributed.engine.FEW_SPLITS", 0)
        found = there.count_occupied(names, fewest=4)
    assert as_sets[1] == set(
        zip(*(codes.tolist() for codes in found.codes), found.counts.tolist(), strict=True)
    )
    sets = [("job", "sex"), ("region",)]
    for one, other in zip(
        *([each.count_tables(sets)[place] for place in (0, 1)] for each in (there, here)), strict=True
    ):
        assert np.array_equal(one.counts, other.counts)
    portions = there.count_portions(["job"])
    assert np.array_equal(portions.of_attribute("job").sum(axis=0), here.count_by(["job"]).counts)
    assert inspect_table(there).summary() == inspect_table(here).summary()


def misfits_are_told_alike(engine: Engine, folder: Path, form: str) -> None:
    """Columns and numbers of rows over all splits, in the same words, and no cell."""
    spoiled = people(ROWS).to_pydict()
    for place in (3, 700, 1_150):
        spoiled["job"][place] = "MARKER-OF-A-CELL"
    spoiled["age"][500] = -7
    table = pa.table(spoiled)
    path = folder / f"spoiled.{'csv' if form == 'csv' else 'parquet'}"
    if form == "csv":
        pc.write_csv(table, path)
    else:
        pq.write_table(table, path, row_group_size=100)
    design = METHODS.make("randomized-response", {"retention": 0.5})
    sentences = []
    for each in (engine, DuckDBEngine()):
        with pytest.raises(DataError) as refused:
            publish(read_table(path, SCHEMA, engine=each), design, folder / "out", seed=1)
        sentences.append(str(refused.value))
        assert not (folder / "out").exists()
    assert sentences[0] == sentences[1]
    assert "3 rows" in sentences[0]
    assert "MARKER" not in sentences[0]
    assert not [each.name for each in folder.iterdir() if each.name.startswith(".")]


def a_release_is_read_like_any_other(engine: Engine, folder: Path, name: str) -> None:
    """Published on the engine, opened and asked by DuckDB: verified, its law that of the method, answers near the truth."""
    method, parameters = DESIGNS[name]
    path = write_people(folder, "parquet")
    private = read_table(path, SCHEMA, engine=engine)
    publish(private, METHODS.make(method, parameters), folder / "there", seed=3, accept=("singled-out",))
    publish(
        read_table(path, SCHEMA),
        METHODS.make(method, parameters),
        folder / "here",
        seed=3,
        accept=("singled-out",),
    )
    assert verify_release(folder / "there").is_kept
    there, here = (load_release(folder / each) for each in ("there", "here"))
    assert type(there.law) is type(here.law)
    assert there.manifest.guarantees == here.manifest.guarantees
    assert there.manifest.assumptions == here.manifest.assumptions
    truth = read_table(path, SCHEMA).count_by(["job"]).counts
    estimated = there.counts("job")
    away = np.abs(estimated.values - truth) / np.maximum(estimated.std_errors, 1.0)
    # Eight standard errors: an engine that lost or doubled rows would be further off.
    assert away.max() < 8


def a_second_release_is_refused(engine: Engine, folder: Path) -> None:
    """The ledger knows a table in splits again, also when DuckDB read it the first time."""
    path = write_people(folder, "parquet")
    design = METHODS.make("randomized-response", {"retention": 0.5})
    ledger = Ledger(folder / "ledger.json")
    publish(read_table(path, SCHEMA), design, folder / "first", ledger=ledger, say=lambda _: None)
    with pytest.raises(PublishedBeforeError):
        publish(
            read_table(path, SCHEMA, engine=engine),
            design,
            folder / "second",
            ledger=ledger,
            say=lambda _: None,
        )
    assert not (folder / "second").exists()


def a_file_that_changes_is_refused(engine: Engine, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between counting and publishing: nothing is published."""
    path = Path(write_people(folder, "parquet"))
    table = read_table(path, SCHEMA, engine=engine)
    design = METHODS.make("anatomy", {"l_value": 2})
    count = type(table).count_portions

    def then_changed(self: object, names: object) -> object:
        found = count(self, names)  # type: ignore[arg-type]
        pq.write_table(people(ROWS + 1), path, row_group_size=100)
        return found

    monkeypatch.setattr(type(table), "count_portions", then_changed)
    with pytest.raises(SourceError, match="changed"):
        publish(table, design, folder / "out", seed=1)
    assert not (folder / "out").exists()


def digests(folder: Path) -> object:
    """Checksums of every file of a release."""
    tables = json.loads((folder / "datapackage.json").read_text())["sfumato"]["tables"]
    return [[part["sha256"] for part in each.get("parts", ())] or each["sha256"] for each in tables]


Make = Callable[[], Engine]
