"""Reconstruction privacy on Adult: Han (2016), section 4.4, violations and errors of aggregate queries.

``python reproductions/run.py han_reconstruction`` computes everything anew and compares; ``--renew`` writes ``results.json``.
"""

from __future__ import annotations

import csv
import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, wraps
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from evidence import Claims, Moves, Part, Reproduction, Results, Verdicts, bundled, judged
from sfumato import PrivateTable, RandomizedResponse, Role, Schema, read_table
from sfumato.data.chunks import CodedBatch
from sfumato.datasets import get_card
from sfumato.estimates.counts import OccupiedCounts
from sfumato.methods.base import Design
from sfumato.methods.sample_perturb_scale.design import (
    MergedSchema,
    MergedValues,
    SamplePerturbScale,
    find_violations,
)
from sfumato.randomness.streams import NoiseSource
from sfumato.release.publication import make_rows

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
    with bundled("adult", folder).open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if all(row.values())]
    known = Schema.from_toml(get_card("adult").read_schema())
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


@dataclass(frozen=True, eq=False)
class Prepared:
    """Adult, what its values were merged to, the queries and their answers."""

    table: PrivateTable
    merged: MergedSchema
    merged_values: MergedValues
    queries: Queries
    truth: Floats

    @classmethod
    def read(cls, folder: Path) -> Prepared:
        """Everything that all settings share."""
        table = read_adult(folder)
        merged, merged_values = SamplePerturbScale(retention=0.5, merge="components").merge_values(table)
        truth = count_cells((type(b)(merged.recode(b.codes), b.number_of_rows) for b in table.scan()), merged)
        return cls(table, merged, merged_values, draw_queries(table, merged), truth)


def run_errors(prepared: Prepared, design: Design, retention: float) -> tuple[float, float]:
    """Mean error over the runs, and its standard error."""
    errors = []
    table, merged = prepared.table, prepared.merged
    for run in range(RUNS):
        noise = NoiseSource.seeded(run)
        batches = make_rows(design.publish(table, noise).tables[0].rows, table.scan, noise)
        if isinstance(design, RandomizedResponse):
            batches = (type(each)(merged.recode(each.codes), each.number_of_rows) for each in batches)
        counts = count_cells(batches, merged)
        errors.append(mean_relative_error(counts, prepared.queries, prepared.truth, retention))
    return float(np.mean(errors)), float(np.std(errors, ddof=1) / math.sqrt(RUNS))


def design_of(prepared: Prepared, setting: tuple[float, float, float]) -> SamplePerturbScale:
    """As the thesis samples and scales."""
    retention, relative_error, error_probability = setting
    return SamplePerturbScale(
        retention=retention,
        relative_error=relative_error,
        error_probability=error_probability,
        cap="group",
        strict=False,
        merged_values=prepared.merged_values,
    )


def violations(prepared: Prepared, setting: tuple[float, float, float]) -> dict[str, Any]:
    """Violating groups and rows, rows kept, and the true probability: exact."""
    design, table = design_of(prepared, setting), prepared.table
    report = find_violations(table, design)
    kept = next(
        each for each in design.plan_tables(table.schema, 1, table) if each.title == "Rows that would be kept"
    )
    promise = design.promise(table.schema)
    return {
        "violating_groups": report.share_of_groups,
        "violating_possible_groups": report.share_of_possible_groups,
        "violating_rows": report.share_of_rows,
        "kept": kept.rows[0][2],
        "true_probability_within_at_frequency_0.75": promise.true_tails(
            int(promise.caps_at(0.75)), 0.75
        ).within,
    }


def tag(setting: tuple[float, float, float]) -> str:
    """Of a setting, in the ids of claims."""
    return "-".join(f"{each:g}" for each in setting)


def quietly(part: Part) -> Part:
    """Without the warnings: two sensitive values, and chains of merged ones, are the thesis's own."""

    @wraps(part)
    def computed(claims: Claims, folder: Path) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return part(claims, folder)

    return computed


@quietly
def merging(claims: Claims, folder: Path) -> dict[str, Any]:
    """Values and groups before and after merging."""
    del claims
    prepared = Prepared.read(folder)
    return {
        **{f"merged-{name}": prepared.merged.schema[name].size for name in PUBLIC},
        "groups-after-merging": math.prod(prepared.merged.schema[name].size for name in PUBLIC),
        "groups-before-merging": math.prod(prepared.table.schema[name].size for name in PUBLIC),
    }


@quietly
def settings(claims: Claims, folder: Path) -> dict[str, Any]:
    """Violations, rows kept and both errors at every setting."""
    del claims
    prepared = Prepared.read(folder)
    plain = {
        retention: run_errors(prepared, RandomizedResponse(retention=retention), retention)
        for retention, _, _ in SETTINGS[:5]
    }
    found = {}
    for setting in SETTINGS:
        sampled = run_errors(prepared, design_of(prepared, setting), setting[0])
        found[tag(setting)] = {
            **violations(prepared, setting),
            "plain_error": plain[setting[0]][0],
            "plain_standard_error": plain[setting[0]][1],
            "sampled_error": sampled[0],
            "sampled_standard_error": sampled[1],
        }
    return found


@quietly
def quick(claims: Claims, folder: Path) -> Results:
    """What is exact at every third setting, and the errors of the thesis's default setting over all runs."""
    prepared = Prepared.read(folder)
    exact: dict[str, Any] = {tag(setting): violations(prepared, setting) for setting in SETTINGS[::3]}
    default = SETTINGS[0]
    error, spread = run_errors(prepared, design_of(prepared, default), default[0])
    exact[tag(default)] |= {"sampled_error": error, "sampled_standard_error": spread}
    return {"merging": merging(claims, folder), "settings": exact}


def judge(claims: Claims, results: Results) -> Verdicts:
    """Each claim with our number."""
    rows = results["settings"]
    default = rows[tag(SETTINGS[0])]
    ours = {
        **results["merging"],
        "violating-groups-thesis": default["violating_groups"],
        "violating-rows-thesis": default["violating_rows"],
        "worst-increase-thesis": max(row["sampled_error"] / row["plain_error"] - 1 for row in rows.values()),
    }
    for name, row in rows.items():
        for claim in ("violating-groups", "violating-rows", "kept", "plain-error", "sampled-error"):
            ours[f"{claim}-{name}"] = row[claim.replace("-", "_")]
    return judged(claims["claims"], ours)


FIVE_ERRORS = "five standard errors of 200 runs"
REPRODUCTION = Reproduction(
    folder=HERE,
    parts={"merging": merging, "settings": settings},
    quick=quick,
    judge=judge,
    differs=frozenset({"violating-groups-thesis", "violating-rows-thesis", "worst-increase-thesis"}),
    moves=(
        Moves(pattern="settings > * > kept", relative=0.01, why="the rows of a sample are rounded at random"),
        Moves(
            pattern="settings > * > *_standard_error", relative=0.5, why="a standard deviation of 200 runs"
        ),
        Moves(pattern="settings > * > *_error", relative=0.08, why=FIVE_ERRORS),
    ),
)
