"""Naive Bayes from noisy counts on Adult and Nursery: tables 8.2 to 8.9 of Mothali (2011), beside ours.

``python reproductions/mothali_classifiers/reproduce.py [--data FOLDER] [--pairs N]``; data sets that are not in
the folder are fetched. Writes ``results.json``.
"""

from __future__ import annotations

import argparse
import csv
import datetime as dt
import json
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
from classifier_trial import ClassifierTrial, cross_validate

import sfumato
from sfumato.chance.randomness import NoiseSource
from sfumato.datasets import fetch_dataset
from sfumato.errors import DownloadError

HERE = Path(__file__).parent
FOLDS = (5, 10, 20)
ESTIMATORS = ("noisy", "shrunken", "james-stein")
ADULT_FEATURES = (
    "workclass",
    "education",
    "marital_status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "native_country",
)


def read_rows(name: str, folder: Path) -> list[dict[str, str]]:
    """Rows of a data set from the folder, fetched first where they are not in it."""
    path = folder / f"{name}.csv"
    if not path.exists():
        fetch_dataset(name, folder)
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def encode(
    rows: list[dict[str, str]], names: tuple[str, ...], target: str
) -> tuple[Any, Any, list[int], int]:
    """Codes of features and class; the domain is that of the cleaned data, as in the thesis."""
    columns, sizes = [], []
    for name in (*names, target):
        values = sorted({row[name] for row in rows})
        code_of = {value: code for code, value in enumerate(values)}
        columns.append([code_of[row[name]] for row in rows])
        sizes.append(len(values))
    codes = np.array(columns)
    return codes[:-1].T, codes[-1], sizes[:-1], sizes[-1]


def summarise(trial: ClassifierTrial) -> dict[str, Any]:
    """The figures of one cell of the tables, in percent."""
    means = {name: trial.mean(name) for name in ESTIMATORS}
    return {
        "accuracy": {name: round(100 * means[name][0], 3) for name in ESTIMATORS},
        "standard_error": {name: round(100 * means[name][1], 3) for name in ESTIMATORS},
        "accuracy_impossible_to_rarest": {
            name: round(100 * float(trial.accuracy_minority[name].mean()), 3) for name in ESTIMATORS
        },
        "impossible_rows": {
            name: round(100 * float(trial.impossible[name].mean()), 3) for name in ESTIMATORS
        },
        "shrunken_above_equal_below_noisy": [round(each, 2) for each in trial.dominance()],
        "majority": round(100 * trial.majority, 3),
        "without_noise": round(100 * trial.without_noise, 3),
    }


def run(data: tuple[Any, Any, list[int], int], epsilons: list[float], pairs: int) -> dict[str, Any]:
    """Every epsilon, number of folds and pseudo-count."""
    cells: dict[str, Any] = {}
    for pseudo_count in (0, 1):
        for epsilon in epsilons:
            for folds in FOLDS:
                trial = cross_validate(
                    *data,
                    epsilon=epsilon,
                    folds=folds,
                    draws=max(pairs // folds, 2),
                    # One split for every epsilon and pseudo-count of a number of folds, fresh noise for each.
                    noise=NoiseSource.seeded(folds),
                    pseudo_count=pseudo_count,
                )
                cells[f"pseudo-count {pseudo_count}, epsilon {epsilon}, {folds} folds"] = summarise(trial)
    return cells


def main() -> None:
    """Run what can be fetched and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with adult.csv and nursery.csv")
    parser.add_argument("--pairs", type=int, default=1000, help="fold and draw pairs for each cell")
    arguments = parser.parse_args()
    claims = tomllib.loads((HERE / "claims.toml").read_text(encoding="utf-8"))
    results: dict[str, Any] = {
        "script": "reproductions/mothali_classifiers/reproduce.py",
        "software": f"sfumato {sfumato.__version__}, numpy {np.__version__}",
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "pairs": arguments.pairs,
    }
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.data or Path(temporary)
        rows = [row for row in read_rows("adult", folder) if all(row.values()) and row["part"] == "train"]
        adult = encode(rows, ADULT_FEATURES, "income")
        results["adult"] = run(adult, claims["accuracy"]["adult"]["epsilons"], arguments.pairs)
        try:
            rows = read_rows("nursery", folder)
        except DownloadError as error:
            print(f"Nursery is left out: {error}")
        else:
            nursery = encode(rows, tuple(rows[0])[:-1], "class")
            results["nursery"] = run(nursery, claims["accuracy"]["nursery"]["epsilons"], arguments.pairs)
    (HERE / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {HERE / 'results.json'}")


if __name__ == "__main__":
    main()
