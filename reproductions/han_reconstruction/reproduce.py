"""Reconstruction privacy on Adult: Han (2016), section 4.4, violations and errors of aggregate queries.

Writes ``results.json`` beside this file. Adult is fetched unless a folder that holds it is given::

    python reproductions/han_reconstruction/reproduce.py [folder]
"""

from __future__ import annotations

import csv
import json
import math
import platform
import sys
import tempfile
import time
import tomllib
import warnings
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sfumato import PrivateTable, RandomizedResponse, Role, Schema, __version__, read_table
from sfumato.chance.randomness import NoiseSource
from sfumato.datasets import fetch_dataset
from sfumato.methods.base import Design
from sfumato.methods.sample_perturb_scale.design.merged_attributes import MergedSchema, MergedValues
from sfumato.methods.sample_perturb_scale.design.sample_perturb_scale import SamplePerturbScale
from sfumato.methods.sample_perturb_scale.plan.violations import find_violations
from sfumato.release.making import make_rows
from sfumato.values.batches import CodedBatch
from sfumato.values.counts import OccupiedCounts

HERE = Path(__file__).parent
PUBLIC = ("education", "occupation", "race", "sex")
QUERIES = 5_000
POOLS = 10
RUNS = 200
SMALLEST_SELECTIVITY = 0.001
SETTINGS = (
    *((p, 0.3, 0.3) for p in (0.5, 0.1, 0.3, 0.7, 0.9)),
    *((0.5, error, 0.3) for error in (0.1, 0.2, 0.4, 0.5)),
    *((0.5, 0.3, probability) for probability in (0.1, 0.2, 0.4, 0.5)),
)
"""Retention, relative error, error probability: Table 4.5, one varied at a time."""

Floats = npt.NDArray[np.float64]
Queries = tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64], npt.NDArray[np.int64]]
"""Which cells each query selects, its sensitive value, and how often it was drawn."""


class TableInMemory(PrivateTable):
    """A private table that is read once: it is published thousands of times here."""

    @cached_property
    def batches(self) -> list[CodedBatch]:
        """All rows."""
        return list(super().scan())

    def scan(self, names: Sequence[str] | None = None) -> Iterator[CodedBatch]:
        """The rows that were read."""
        return iter(self.batches) if names is None else super().scan(names)

    @cached_property
    def counted(self) -> dict[tuple[str, ...], OccupiedCounts]:
        """What was counted before."""
        return {}

    def count_occupied(self, names: Sequence[str]) -> OccupiedCounts:
        """Counted once."""
        if tuple(names) not in self.counted:
            self.counted[tuple(names)] = super().count_occupied(names)
        return self.counted[tuple(names)]


def read_adult(folder: Path) -> PrivateTable:
    """The complete rows of train and test with the thesis's five attributes."""
    data = folder / "adult.csv"
    if not data.exists():
        fetch_dataset("adult", folder)
    with data.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if all(row.values())]
    known = Schema.read(folder / "adult.schema.toml")
    attributes = tuple(
        known[name].model_copy(
            update={"role": Role.SENSITIVE if name == "income" else Role.QUASI_IDENTIFIER, "missing": "error"}
        )
        for name in (*PUBLIC, "income")
    )
    columns = {each.name: [row[each.name] for row in rows] for each in attributes}
    table = read_table(pa.table(columns), Schema(attributes=attributes))
    return TableInMemory(table.source, table.schema, engine=table.engine)


def draw_queries(table: PrivateTable, merged: MergedSchema) -> Queries:
    """The pools of section 4.4.1, end to end: which merged cells each query selects, and its sensitive value.

    Attributes and values are drawn from the original domains; a query is kept when it selects a thousandth
    of the rows, and its values are then replaced by the merged ones.
    """
    draw = np.random.default_rng(2016)
    counts = table.count_by([*PUBLIC, "income"]).counts
    sizes = [table.schema[name].size for name in PUBLIC]
    shape = [merged.schema[name].size for name in PUBLIC]
    cells = np.stack(np.unravel_index(np.arange(math.prod(shape)), shape), axis=1)
    selected, values = [], []
    while len(values) < POOLS * QUERIES:
        places = draw.choice(len(PUBLIC), draw.integers(1, 4), replace=False)
        codes = {int(place): int(draw.integers(sizes[place])) for place in places}
        value = int(draw.integers(table.schema["income"].size))
        index: tuple[Any, ...] = tuple(codes.get(place, slice(None)) for place in range(len(PUBLIC)))
        if counts[(*index, value)].sum() < SMALLEST_SELECTIVITY * counts.sum():
            continue
        chosen = np.ones(len(cells), dtype=bool)
        for place, code in codes.items():
            recoding = merged.recoding.get(PUBLIC[place])
            chosen &= cells[:, place] == (code if recoding is None else int(recoding[code]))
        selected.append(chosen)
        values.append(value)
    # The same queries come again and again; each is answered once and weighted.
    different, weights = np.unique(
        np.column_stack([np.array(selected), np.array(values)]), axis=0, return_counts=True
    )
    return different[:, :-1].astype(bool), different[:, -1].astype(np.int64), weights


def count_cells(batches: Any, merged: MergedSchema) -> Floats:
    """Rows by merged cell and income, ``(cells, 2)``."""
    shape = (*(merged.schema[name].size for name in PUBLIC), merged.schema["income"].size)
    counts = np.zeros(math.prod(shape))
    for batch in batches:
        cells = np.ravel_multi_index([batch.codes[name] for name in (*PUBLIC, "income")], shape)
        counts += np.bincount(cells, minlength=counts.size)
    return counts.reshape(-1, shape[-1])


def mean_relative_error(
    counts: Floats,
    queries: Queries,
    truth: Floats,
    retention: float,
) -> float:
    """Mean over the pool of |est - ans| / ans, with est = |S*| F' (algorithm 6)."""
    selected, values, weights = queries
    rows = selected @ counts
    size = rows.sum(axis=1)
    observed = rows[np.arange(len(values)), values]
    estimates = (observed - size * (1 - retention) / counts.shape[1]) / retention
    answers = (selected @ truth)[np.arange(len(values)), values]
    return float(np.average(np.abs(estimates - answers) / answers, weights=weights))


def run_errors(
    table: PrivateTable, design: Design, merged: MergedSchema, queries: Any, truth: Floats, retention: float
) -> tuple[float, float]:
    """Mean error over the runs, and its standard error."""
    errors = []
    for run in range(RUNS):
        noise = NoiseSource.seeded(run)
        batches = make_rows(design.publish(table, noise).tables[0].rows, table.scan, noise)
        if isinstance(design, RandomizedResponse):
            batches = (type(each)(merged.recode(each.codes), each.number_of_rows) for each in batches)
        errors.append(mean_relative_error(count_cells(batches, merged), queries, truth, retention))
    return float(np.mean(errors)), float(np.std(errors, ddof=1) / math.sqrt(RUNS))


def run_setting(
    table: PrivateTable,
    merged: MergedSchema,
    merged_values: MergedValues,
    queries: Any,
    truth: Floats,
    setting: tuple[float, float, float],
    plain: tuple[float, float],
) -> dict[str, Any]:
    """Violations, rows kept and both errors at one setting, as the thesis samples and scales."""
    retention, relative_error, error_probability = setting
    design = SamplePerturbScale(
        retention=retention,
        relative_error=relative_error,
        error_probability=error_probability,
        cap="group",
        strict=False,
        merged_values=merged_values,
    )
    report = find_violations(table, design)
    kept = next(
        each for each in design.plan_tables(table.schema, 1, table) if each.title == "Rows that would be kept"
    )
    sampled_error, sampled_spread = run_errors(table, design, merged, queries, truth, retention)
    promise = design.promise(table.schema)
    return {
        "retention": retention,
        "relative_error": relative_error,
        "error_probability": error_probability,
        "violating_groups": report.share_of_groups,
        "violating_possible_groups": report.share_of_possible_groups,
        "violating_rows": report.share_of_rows,
        "kept": kept.rows[0][2],
        "plain_error": plain[0],
        "plain_standard_error": plain[1],
        "sampled_error": sampled_error,
        "sampled_standard_error": sampled_spread,
        "true_probability_within_at_frequency_0.75": promise.true_tails(
            int(promise.caps_at(0.75)), 0.75
        ).within,
    }


def compute(folder: Path) -> tuple[dict[str, float], list[dict[str, Any]]]:
    """Every claim's number, and the whole table."""
    table = read_adult(folder)
    merged, merged_values = SamplePerturbScale(retention=0.5, merge="components").merge_values(table)
    truth = count_cells((type(b)(merged.recode(b.codes), b.number_of_rows) for b in table.scan()), merged)
    queries = draw_queries(table, merged)
    plain = {
        retention: run_errors(
            table, RandomizedResponse(retention=retention), merged, queries, truth, retention
        )
        for retention, _, _ in SETTINGS[:5]
    }
    rows = [
        run_setting(table, merged, merged_values, queries, truth, setting, plain[setting[0]])
        for setting in SETTINGS
    ]
    default = rows[0]
    ours = {
        **{f"merged-{name}": merged.schema[name].size for name in PUBLIC},
        "groups-after-merging": math.prod(merged.schema[name].size for name in PUBLIC),
        "groups-before-merging": math.prod(table.schema[name].size for name in PUBLIC),
        "violating-groups-thesis": default["violating_groups"],
        "violating-rows-thesis": default["violating_rows"],
        "worst-increase-thesis": max(row["sampled_error"] / row["plain_error"] - 1 for row in rows),
    }
    for row in rows:
        tag = f"{row['retention']:g}-{row['relative_error']:g}-{row['error_probability']:g}"
        for claim in ("violating-groups", "violating-rows", "kept", "plain-error", "sampled-error"):
            ours[f"{claim}-{tag}"] = row[claim.replace("-", "_")]
    return ours, rows


def main() -> None:
    """Run everything and write the results beside the claims."""
    start = time.process_time()
    warnings.simplefilter("ignore", UserWarning)
    with tempfile.TemporaryDirectory() as temporary:
        ours, rows = compute(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(temporary))
    claims = tomllib.loads((HERE / "claims.toml").read_text(encoding="utf-8"))["claims"]
    results = {
        "script": "reproductions/han_reconstruction/reproduce.py",
        "versions": {"sfumato": __version__, "numpy": np.__version__, "python": platform.python_version()},
        "date": datetime.now(UTC).date().isoformat(),
        "seconds_of_processor": round(time.process_time() - start),
        "runs": RUNS,
        "pools": POOLS,
        "claims": [
            {
                "id": claim["id"],
                "printed": claim["printed"],
                "ours": ours[claim["id"]],
                "matched": abs(ours[claim["id"]] - claim["printed"]) <= claim["tolerance"] + 1e-12,
            }
            for claim in claims
        ],
        "settings": rows,
    }
    (HERE / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    for each in results["claims"]:
        if not each["matched"]:
            print(f"differs: {each['id']}: printed {each['printed']}, ours {each['ours']:.4g}")
    print(f"{sum(each['matched'] for each in results['claims'])} of {len(claims)} claims matched")


if __name__ == "__main__":
    main()
