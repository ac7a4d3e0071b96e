"""Naive Bayes from noisy counts on Adult and Nursery: tables 8.2 to 8.9 of Mothali (2011), beside ours.

``python reproductions/run.py mothali_classifiers`` computes everything anew and compares; ``--renew`` writes ``results.json``.
"""

from __future__ import annotations

import csv
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from classifier_trial import ClassifierTrial, cross_validate

from evidence import Claims, Moves, Part, Reproduction, Results, Verdicts, bundled
from sfumato.randomness.streams import NoiseSource

Encoded = tuple[Any, Any, list[int], int]
"""Feature codes, class codes, numbers of categories, number of classes."""

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
    """Rows of a bundled data set."""
    with bundled(name, folder).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def read_adult(folder: Path) -> Encoded:
    """Complete training rows."""
    rows = [row for row in read_rows("adult", folder) if all(row.values()) and row["part"] == "train"]
    return encode(rows, ADULT_FEATURES, "income")


def read_nursery(folder: Path) -> Encoded:
    """All rows."""
    rows = read_rows("nursery", folder)
    return encode(rows, tuple(rows[0])[:-1], "class")


READERS = {"adult": read_adult, "nursery": read_nursery}


def encode(rows: list[dict[str, str]], names: tuple[str, ...], target: str) -> Encoded:
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


def cell(data: Encoded, pseudo_count: int, epsilon: float, folds: int, pairs: int) -> dict[str, Any]:
    """One cell of the tables."""
    trial = cross_validate(
        *data,
        epsilon=epsilon,
        folds=folds,
        draws=max(pairs // folds, 2),
        # One split for every epsilon and pseudo-count of a number of folds, fresh noise for each.
        noise=NoiseSource.seeded(folds),
        pseudo_count=pseudo_count,
    )
    return summarise(trial)


def title(pseudo_count: int, epsilon: float, folds: int) -> str:
    """Under which a cell is stored."""
    return f"pseudo-count {pseudo_count}, epsilon {epsilon}, {folds} folds"


def part(name: str) -> Part:
    """Every epsilon, number of folds and pseudo-count of a data set."""

    def computed(claims: Claims, folder: Path) -> dict[str, Any]:
        data = READERS[name](folder)
        return {
            title(*which): cell(data, *which, PAIRS)
            for which in itertools.product((0, 1), claims["accuracy"][name]["epsilons"], FOLDS)
        }

    return computed


def thresholds(claims: Claims, folder: Path) -> dict[str, Any]:
    """Smaller epsilons than the tables have, 5 folds."""
    return {
        name: {
            str(epsilon): cell(READERS[name](folder), 0, epsilon, 5, PAIRS)
            for epsilon in claims["thresholds"][name]["epsilons"]
        }
        for name in READERS
    }


def gain(results: Results, name: str, epsilon: float) -> tuple[float, float]:
    """By how much shrunken counts do better than noisy ones, and the larger of their standard errors."""
    known = results["thresholds"][name].get(str(epsilon))
    found = known or results[name][title(0, epsilon, 5)]
    accuracy, errors = found["accuracy"], found["standard_error"]
    return accuracy["shrunken"] - accuracy["noisy"], max(errors["shrunken"], errors["noisy"])


def judge_thresholds(claims: Claims, results: Results) -> Verdicts:
    """Whether gains grow down to the threshold, and whether they stop growing there."""
    found: Verdicts = {}
    for name in READERS:
        claim = claims["thresholds"][name]
        for which in ("grows", "ends"):
            gains = [gain(results, name, epsilon) for epsilon in claim[which]]
            steps = [
                second[0] - first[0] > 2 * max(first[1], second[1])
                for first, second in itertools.pairwise(gains)
            ]
            found[f"threshold-{name}-{which}"] = {
                "printed": claim["printed"],
                "ours": [round(each, 3) for each, _ in gains],
                "matched": all(steps) if which == "grows" else not any(steps),
            }
    return found


def quick(claims: Claims, folder: Path) -> Results:
    """A cell of each data set with all its draws."""
    del claims
    chosen = {"adult": (0, 0.01, 5), "nursery": (0, 0.1, 5)}
    return {
        name: {title(*which): cell(READERS[name](folder), *which, PAIRS)} for name, which in chosen.items()
    }


def layout(
    claims: Claims, results: Results, name: str, what: Callable[[dict[str, Any]], list[float]]
) -> list[list[float]]:
    """Ours as the tables are printed: a line for each epsilon, columns by number of folds."""
    return [
        [number for folds in FOLDS for number in what(results[name][title(0, epsilon, folds)])]
        for epsilon in claims["accuracy"][name]["epsilons"]
    ]


def judge(claims: Claims, results: Results) -> Verdicts:
    """Every cell of the tables of accuracy and of wins."""
    tables: dict[str, Callable[[dict[str, Any]], list[float]]] = {
        "accuracy": lambda each: [each["accuracy"][name] for name in ESTIMATORS],
        "dominance": lambda each: [each["shrunken_above_equal_below_noisy"][0]],
    }
    found: Verdicts = {}
    for (table, what), name in itertools.product(tables.items(), READERS):
        ours, printed = layout(claims, results, name, what), claims[table][name]["printed"]
        for line, (mine, theirs) in enumerate(zip(ours, printed, strict=True)):
            for column, (one, other) in enumerate(zip(mine, theirs, strict=True)):
                matched = abs(one - other) <= claims[table]["tolerance"]
                found[f"{table}-{name}-{line}-{column}"] = {"printed": other, "ours": one, "matched": matched}
    return found | judge_thresholds(claims, results)


PAIRS = 1000
"""Fold and draw pairs for each cell."""

FIVE_ERRORS = "five standard errors of 1,000 pairs of a fold and a draw, at the smallest epsilon"
DIFFERS = frozenset(
    {f"accuracy-adult-1-{column}" for column in (6, 7, 8)}
    | {"accuracy-adult-2-7"}
    | {f"accuracy-adult-3-{column}" for column in range(9)}
    | {f"accuracy-adult-{line}-{column}" for line in (4, 5) for column in (6, 7, 8)}
    | {"accuracy-nursery-0-6"}
)
"""On Adult the thesis is above what is reached without noise in many folds; on Nursery it has a typing error."""

REPRODUCTION = Reproduction(
    folder=HERE,
    parts={name: part(name) for name in READERS} | {"thresholds": thresholds},
    quick=quick,
    judge=judge,
    differs=DIFFERS,
    moves=(
        Moves(pattern="* > majority", why="the same rows"),
        Moves(pattern="* > without_noise", absolute=0.15, why="another split of the folds"),
        Moves(pattern="* > standard_error > *", relative=0.4, why="1,000 pairs, of which folds are few"),
        Moves(pattern="* > accuracy_impossible_to_rarest > *", absolute=1.5, why=FIVE_ERRORS),
        Moves(pattern="* > impossible_rows > *", absolute=1.5, why=FIVE_ERRORS),
        Moves(pattern="* > shrunken_above_equal_below_noisy > *", absolute=8.0, why=FIVE_ERRORS),
        Moves(pattern="adult > *epsilon 0.0* > accuracy > *", absolute=0.6, why=FIVE_ERRORS),
        Moves(
            pattern="thresholds > * > accuracy > *", absolute=1.5, why=FIVE_ERRORS + "; set before the run"
        ),
        Moves(pattern="* > accuracy > *", absolute=0.25, why=FIVE_ERRORS),
    ),
)
