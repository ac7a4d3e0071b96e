"""The attack on Anatomy and its calibration: Mothali (2011), tables 4.3, 4.4 and 5.1, on Adult.

Writes ``results.json`` beside this file. Adult is fetched unless a folder that holds it is given::

    python reproductions/mothali/reproduce.py [folder]
"""

from __future__ import annotations

import csv
import json
import platform
import sys
import tempfile
import time
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato import Attribute, PrivateTable, Role, Schema, __version__, read_table
from sfumato.attacks.anatomy_naive_bayes.attack import AnatomyNaiveBayes, Inference
from sfumato.attacks.anatomy_naive_bayes.guesses import Guesses, guess
from sfumato.attacks.anatomy_naive_bayes.naive_bayes import NaiveBayes, fit
from sfumato.chance.randomness import NoiseSource
from sfumato.custody.audit.bucket_scoring import BucketScore, arrange_with_truth
from sfumato.custody.audit.calibration import IsotonicCalibration, brier_parts, reliability
from sfumato.datasets import fetch_dataset
from sfumato.methods.anatomy.design import Anatomy
from sfumato.methods.anatomy.law.people import BucketedPeople
from sfumato.methods.anatomy.law.permutations import permutation_marginals

HERE = Path(__file__).parent
PUBLIC = ("workclass", "relationship", "sex", "income")
STARTS_OF_APPROXIMATE = 100
SIZES = (2, 3, 4, 5, 6)
PRINTED_SIZES = (2, 3, 4)


def read_adult(folder: Path) -> PrivateTable:
    """Complete training rows, with the thesis's attributes; categories are those that occur in them."""
    data = folder / "adult.csv"
    if not data.exists():
        data = fetch_dataset("adult", folder).data
    with data.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["part"] == "train" and all(row.values())]
    names = (*PUBLIC, "occupation")
    schema = Schema(
        attributes=tuple(
            Attribute(
                name=name,
                role=Role.SENSITIVE if name == "occupation" else Role.QUASI_IDENTIFIER,
                categories=tuple(sorted({row[name] for row in rows})),
                learned=True,
            )
            for name in names
        )
    )
    return read_table(pa.table({name: [row[name] for row in rows] for name in names}), schema)


def attack(people: BucketedPeople, truth: Any, **settings: Any) -> BucketScore:
    """One scored attack, its beliefs from one model of all buckets as in the thesis."""
    settings = {"beliefs": "in-sample", "tolerance": 1e-8} | settings
    return BucketScore(AnatomyNaiveBayes(**settings).infer(people), truth)


def describe(score: BucketScore) -> dict[str, float]:
    """Accuracy in percent, and the parts of the Brier score of the stated probabilities."""
    parts = brier_parts(score.guesses.probabilities, score.is_right)
    sure = score.guesses.probabilities >= 0.9
    return {
        "accuracy": 100 * score.accuracy,
        "accuracy_over_ties": 100 * score.expected_accuracy,
        "brier": parts.brier,
        "calibration": parts.calibration,
        "refinement": parts.refinement,
        "share_above_0.9": float(sure.mean()),
        "precision_above_0.9": float(score.is_right[sure].mean()) if sure.any() else float("nan"),
    }


def product_of_marginals(guesses: Guesses) -> Any:
    """Probability of each guess when marginals are multiplied over a bucket, as the thesis does."""
    return guesses.probabilities_by(tuple(permutation_marginals(each)[0] for each in guesses.marginals))


def from_one_start(people: BucketedPeople, truth: Any, number: int) -> BucketScore:
    """Exact EM from the uniform start (number 0) or from one random start."""
    start = NaiveBayes.uniform(people)
    if number:
        start = NaiveBayes.random(people, np.random.default_rng(number), 1.0, 1.0)
    fitted = fit(people, start)
    logs = fitted.model.log_likelihoods(people)
    guesses = guess(people, np.exp(logs - logs.max(axis=1, keepdims=True)))
    return BucketScore(Inference("exact", guesses, ((fitted,),)), truth)


def exact_by_start(people: BucketedPeople, truth: Any, starts: int) -> dict[str, Any]:
    """Exact EM from several single starts, and the one that the objective chooses."""
    scores = [from_one_start(people, truth, number) for number in range(starts)]
    runs = [(score.inference.fits[0][0].objective, 100 * score.accuracy, score) for score in scores]
    accuracies = [accuracy for _, accuracy, _ in runs]
    best = max(runs, key=lambda run: run[0])[2]
    parts = brier_parts(product_of_marginals(best.guesses), best.is_right)
    half = np.arange(len(truth)) % 2 == 0
    probabilities, is_right = best.guesses.probabilities, best.is_right
    line = IsotonicCalibration.fit(probabilities[half], is_right[half])
    mended = brier_parts(line.apply(probabilities[~half]), is_right[~half])
    return {
        **describe(best),
        "minimum": min(accuracies),
        "mean": float(np.mean(accuracies)),
        "maximum": max(accuracies),
        "objectives": [objective for objective, _, _ in runs],
        "product_brier": parts.brier,
        "product_calibration": parts.calibration,
        "isotonic_calibration_on_the_other_half": mended.calibration,
        "reliability": reliability(probabilities, is_right).to_table().to_dict()["rows"],
    }


def approximate(people: BucketedPeople, truth: Any) -> dict[str, Any]:
    """The thesis's approximate EM; the run evaluated is the best by the truth, as there."""
    scores = [
        attack(people, truth, variant="approximate", starts=1, cycles=200, seed=seed)
        for seed in range(STARTS_OF_APPROXIMATE)
    ]
    accuracies = [100 * score.accuracy for score in scores]
    best = max(scores, key=lambda score: score.accuracy)
    product = brier_parts(best.guesses.probabilities, best.is_right, representative="midpoint")
    average = brier_parts(best.row_averages, best.is_right, representative="midpoint")
    return {
        "minimum": min(accuracies),
        "mean": float(np.mean(accuracies)),
        "maximum": max(accuracies),
        "product": vars(product),
        "row_average": vars(average),
    }


def run(table: PrivateTable) -> dict[str, Any]:
    """Every figure, by bucket size."""
    results: dict[str, Any] = {}
    for size in SIZES:
        design = Anatomy(l_value=size, partition="largest-first")
        people, truth = arrange_with_truth(table, design, NoiseSource.seeded(size), seed=1)
        mixed, mixed_truth = arrange_with_truth(
            table, Anatomy(l_value=size), NoiseSource.seeded(size), seed=1
        )
        entry: dict[str, Any] = {
            "baseline": 100 * people.chance_of_random_guess,
            "different_value_sets": people.number_of_value_sets,
            "exact": exact_by_start(people, truth, 5),
            "exact_on_mixed_buckets": describe(attack(mixed, mixed_truth, variant="exact", starts=3)),
            "balanced": describe(attack(people, truth, variant="balanced", starts=3)),
            "restricted": describe(attack(people, truth, variant="restricted", starts=5)),
            "gibbs": describe(attack(people, truth, variant="gibbs", sweeps=60)),
        }
        if size in PRINTED_SIZES:
            entry["approximate"] = approximate(people, truth)
        results[str(size)] = entry
    return results


def ours(results: dict[str, Any]) -> dict[str, float]:
    """Our number for every claim."""
    found = {"exact-em-spread-4": results["4"]["exact"]["maximum"] - results["4"]["exact"]["minimum"]}
    for size in map(str, PRINTED_SIZES):
        entry = results[size]
        rough = entry["approximate"]
        found[f"exact-em-{size}"] = entry["exact"]["mean"]
        found[f"de-finetti-{size}"] = entry["gibbs"]["accuracy"]
        found[f"approximate-em-mean-{size}"] = rough["mean"]
        found[f"approximate-em-spread-{size}"] = rough["maximum"] - rough["minimum"]
        found[f"brier-product-{size}"] = rough["product"]["brier"]
        found[f"brier-row-average-{size}"] = rough["row_average"]["brier"]
    return found


def main() -> None:
    """Run, compare with the claims, write."""
    started = time.process_time()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(temporary)
        results = run(read_adult(folder))
    numbers = ours(results)
    claims = tomllib.loads((HERE / "claims.toml").read_text(encoding="utf-8"))["claims"]
    compared = [
        {
            "id": claim["id"],
            "printed": claim["printed"],
            "ours": numbers[claim["id"]],
            "matched": abs(numbers[claim["id"]] - claim["printed"]) <= claim["tolerance"],
        }
        for claim in claims
    ]
    content = {
        "script": "reproductions/mothali/reproduce.py",
        "versions": {"sfumato": __version__, "numpy": np.__version__, "python": platform.python_version()},
        "date": datetime.now(UTC).date().isoformat(),
        "seconds_of_processor": round(time.process_time() - started),
        "claims": compared,
        "by_bucket_size": results,
    }
    (HERE / "results.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    for each in compared:
        verdict = "matched" if each["matched"] else "differs"
        print(f"{each['id']:28} printed {each['printed']:8.4g}  ours {each['ours']:8.4g}  {verdict}")


if __name__ == "__main__":
    main()
