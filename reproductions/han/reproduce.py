"""The ratio attack of Han (2016), chapter 3, on real Adult data.

``python reproductions/han/reproduce.py [--data FOLDER]``; Adult is fetched where it is not in the folder.
Writes ``results.json``. Everything but the simulated trials of table 3.1 is deterministic.
"""

from __future__ import annotations

import argparse
import csv
import datetime as dt
import itertools
import json
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import sfumato
from sfumato import PrivateTable, Schema, read_table
from sfumato.attacks.ratio.attack import GroupCounts, disclosures_in_counts, hiding_noise
from sfumato.attacks.ratio.law import closeness_probability, ratio_quantiles
from sfumato.chance.noise import DiscreteLaplace, Laplace
from sfumato.chance.randomness import NoiseSource
from sfumato.datasets import fetch_dataset

HERE = Path(__file__).parent
EPSILONS = (2, 1, 0.5, 0.1, 0.01)
TRIALS = 20_000
SETTINGS = {
    "education, occupation, race, sex to income": (("education", "occupation", "race", "sex"), "income"),
    "sex, education, marital status, race to occupation": (
        ("sex", "education", "marital_status", "race"),
        "occupation",
    ),
    "sex, occupation, marital status, race to education": (
        ("sex", "occupation", "marital_status", "race"),
        "education",
    ),
}


def read_adult(folder: Path) -> PrivateTable:
    """The 45,222 complete rows, over the domain of their own values."""
    if not (folder / "adult.csv").exists():
        fetch_dataset("adult", folder)
    with (folder / "adult.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if all(row.values())]
    text = (folder / "adult.schema.toml").read_text(encoding="utf-8")
    schema = Schema.from_toml(text.replace('missing = "category"', 'missing = "error"'))
    return read_table(pa.table({name: [row[name] for row in rows] for name in schema.names}), schema)


def simulate_table_3_1(claims: dict[str, Any]) -> dict[str, Any]:
    """Ranges of ten-trial means that really occur, from many tables of ten trials."""
    found: dict[str, Any] = {}
    part, group = claims["part"], claims["group"]
    for scale in claims["scales"]:
        noise = Laplace(scale=float(scale))
        source = NoiseSource.seeded(scale)
        noise_of_group, noise_of_part = (
            noise.draw_for_study(source.stream(number), 10 * TRIALS).reshape(TRIALS, 10) for number in (0, 1)
        )
        ratios = ((part + noise_of_part) / (group + noise_of_group)).mean(axis=1)
        found[str(scale)] = {
            "mean ratio, 5/50/95 %": np.quantile(ratios, (0.05, 0.5, 0.95)).round(3).tolist(),
            "expected error of group, of part": [scale / group, scale / part],
            "99.9 % range of ten-trial mean error, group": np.quantile(
                np.abs(noise_of_group).mean(axis=1) / group, (0.0005, 0.9995)
            ).tolist(),
            "99.9 % range of ten-trial mean error, part": np.quantile(
                np.abs(noise_of_part).mean(axis=1) / part, (0.0005, 0.9995)
            ).tolist(),
            "quantiles of one ratio, 5/50/95 %": ratio_quantiles([0.05, 0.5, 0.95], part, group, scale)
            .round(4)
            .tolist(),
            "closeness within 20 %, continuous and as published": [
                float(closeness_probability(part, group, law(scale=float(scale)), tolerance=0.2))
                for law in (Laplace, DiscreteLaplace)
            ],
        }
    return found


def scan_adult(table: PrivateTable) -> dict[str, Any]:
    """Disclosures by epsilon, expected errors, and the epsilon at which nothing is disclosed."""
    found: dict[str, Any] = {}
    for title, (names, sensitive) in SETTINGS.items():
        pairs = list(itertools.combinations(names, 2))
        sensitivity = 4 * len(pairs)
        with_sensitive = [table.count_by((*pair, sensitive)) for pair in pairs]
        cells = GroupCounts.of_tables(with_sensitive, sensitive)
        whole = GroupCounts.of_tables([table.count_by((*names, sensitive))], sensitive)
        published = np.concatenate(
            [each.counts.ravel() for each in [*(table.count_by(pair) for pair in pairs), *with_sensitive]]
        )
        sizes = np.maximum(published, 1e-4 * table.number_of_rows)
        hiding = hiding_noise(cells, sensitivity, table.number_of_rows)
        found[title] = {
            "sensitivity": sensitivity,
            "disclosed two-way cells by epsilon": {
                str(epsilon): disclosures_in_counts(cells, Laplace(scale=sensitivity / epsilon)).number
                for epsilon in EPSILONS
            },
            "disclosed full groups by epsilon": {
                str(epsilon): disclosures_in_counts(whole, Laplace(scale=sensitivity / epsilon)).number
                for epsilon in EPSILONS
            },
            "expected error by epsilon, cells with rows": {
                str(epsilon): float(sensitivity / epsilon * np.mean(1 / sizes[published > 0]))
                for epsilon in EPSILONS
            },
            "expected error by epsilon, all cells": {
                str(epsilon): float(sensitivity / epsilon * np.mean(1 / sizes)) for epsilon in EPSILONS
            },
            "largest epsilon without disclosure": hiding.epsilon,
            "error there, cells with rows": float(hiding.scale * np.mean(1 / sizes[published > 0])),
        }
    return found


def main() -> None:
    """Compute everything and write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with adult.csv and adult.schema.toml")
    arguments = parser.parse_args()
    claims = tomllib.loads((HERE / "claims.toml").read_text(encoding="utf-8"))
    noise = Laplace(scale=float(claims["example_1"]["scale"]))
    table_3_2 = claims["table_3_2"]
    with tempfile.TemporaryDirectory() as temporary:
        table = read_adult(arguments.data or Path(temporary))
        results = {
            "script": "reproductions/han/reproduce.py",
            "software": f"sfumato {sfumato.__version__}, numpy {np.__version__}",
            "date": dt.datetime.now(dt.UTC).date().isoformat(),
            "rows": table.number_of_rows,
            "example_1": 1 - noise.tail(claims["example_1"]["within"]),
            "table_3_1": simulate_table_3_1(claims["table_3_1"]),
            "table_3_2": [
                [2 * (scale / group) ** 2 for group in table_3_2["groups"]] for scale in table_3_2["scales"]
            ],
            "adult": scan_adult(table),
        }
    (HERE / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {HERE / 'results.json'}")


if __name__ == "__main__":
    main()
