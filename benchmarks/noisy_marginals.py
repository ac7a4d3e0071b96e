"""Kernels of noisy marginals: noise and attack by the second, a peer's classifier. What users get is in ``cliffs.py``.

The peer is diffprivlib, in an environment of its own that is made when it is first needed. Its naive Bayes is
Gaussian: it models category codes as if they were measurements. So the comparison is not like for like; it says
what a user gets who takes the nearest thing off the shelf.
"""

from __future__ import annotations

import csv
import json
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from measuring import Measurement, environment, finish
from sfumato.analysis.naive_bayes import CountNaiveBayes, count_classes
from sfumato.attacks.ratio_law import find_disclosures
from sfumato.datasets import fetch_dataset
from sfumato.randomness.noise import DiscreteGaussian, DiscreteLaplace, Laplace
from sfumato.randomness.streams import NoiseSource

FEATURES = (
    "workclass",
    "education",
    "marital_status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "native_country",
)
EPSILONS = (0.01, 0.1, 1.0)
REPEATS = 30

PEER_CODE = """
import json, sys, warnings
import numpy as np
warnings.simplefilter("ignore")
from diffprivlib.models import GaussianNB
data = json.load(open(sys.argv[1]))
rows, labels, test, truth = (np.array(data[name]) for name in ("rows", "labels", "test", "truth"))
bounds = (np.zeros(len(data["sizes"])), np.array(data["sizes"]) - 1.0)
found = {}
for epsilon in data["epsilons"]:
    scores = [
        GaussianNB(epsilon=epsilon, bounds=bounds, random_state=seed).fit(rows, labels).score(test, truth)
        for seed in range(data["repeats"])
    ]
    found[str(epsilon)] = float(np.mean(scores))
print(json.dumps(found))
"""


def processor_seconds(work: Callable[[], object], *, rounds: int = 3) -> float:
    """Median seconds of processor."""
    seconds = []
    for _ in range(rounds):
        started = time.process_time()
        work()
        seconds.append(time.process_time() - started)
    return statistics.median(seconds)


def drawing() -> Iterator[Measurement]:
    """Ten million noisy cells."""
    source = NoiseSource.from_operating_system()
    for law in (DiscreteLaplace(scale=0.5), DiscreteLaplace(scale=48.0), DiscreteGaussian(scale=48.0)):
        seconds = processor_seconds(lambda law=law: law.draw(source.stream(0), 10_000_000))
        yield Measurement(f"kernel: 10 million cells, {law.form} of scale {law.scale:g}, CPU s", seconds, 2.0)


def scanning() -> Iterator[Measurement]:
    """A million groups of two sensitive values."""
    generator = np.random.default_rng(1)
    groups = generator.integers(2, 2000, 1_000_000)
    first = (groups * generator.random(groups.size)).astype(np.int64)
    parts = np.stack([first, groups - first], axis=1)
    for law in (Laplace(scale=50.0), DiscreteLaplace(scale=2.0), DiscreteLaplace(scale=48.0)):
        # No jump is too small, so that every pair is computed.
        seconds = processor_seconds(
            lambda law=law: find_disclosures(parts, groups, [0.5, 0.5], law, smallest_jump=1e-9)
        )
        name = (
            f"kernel: ratio attack on 1 million groups of 2 values, {law.form} of scale {law.scale:g}, CPU s"
        )
        yield Measurement(name, seconds, 5.0)


def classifying() -> Iterator[Measurement]:
    """Error of our private naive Bayes over the peer's, on Adult's own train and test parts."""
    with tempfile.TemporaryDirectory() as folder:
        files = fetch_dataset("adult", folder)
        with files.data.open(encoding="utf-8", newline="") as file:
            people = [row for row in csv.DictReader(file) if all(row.values())]
        code_of = {
            name: {value: code for code, value in enumerate(sorted({row[name] for row in people}))}
            for name in (*FEATURES, "income")
        }
        parts = {
            part: np.array(
                [
                    [code_of[name][row[name]] for name in (*FEATURES, "income")]
                    for row in people
                    if row["part"] == part
                ]
            )
            for part in ("train", "test")
        }
        train, test = parts["train"], parts["test"]
        sizes = [len(code_of[name]) for name in FEATURES]
        task = {
            "rows": train[:, :-1].tolist(),
            "labels": train[:, -1].tolist(),
            "test": test[:, :-1].tolist(),
            "truth": test[:, -1].tolist(),
            "sizes": sizes,
            "epsilons": EPSILONS,
            "repeats": REPEATS,
        }
        path = Path(folder) / "task.json"
        path.write_text(json.dumps(task), encoding="utf-8")
        told = subprocess.run(
            [environment("diffprivlib"), "-c", PEER_CODE, path], check=True, capture_output=True, text=True
        )
    theirs = json.loads(told.stdout)
    tables = count_classes(train[:, :-1], train[:, -1], sizes, 2)
    majority = float(np.mean(test[:, -1] == 0))
    for epsilon in EPSILONS:
        law = DiscreteLaplace(scale=len(FEATURES) / epsilon)
        scores = []
        for number in range(REPEATS):
            stream = NoiseSource.from_operating_system().stream(number)
            noisy = [each + law.draw(stream, each.size).reshape(each.shape) for each in tables]
            scores.append(CountNaiveBayes.from_counts(noisy, [0, 1]).score(test[:, :-1], test[:, -1]))
        mine = float(np.mean(scores))
        yield Measurement(
            f"kernel: error of naive Bayes / diffprivlib's Gaussian one (not like for like), epsilon {epsilon}",
            (1 - mine) / (1 - theirs[str(epsilon)]),
            1.0,
            f"accuracy {mine:.4f} against {theirs[str(epsilon)]:.4f}, majority class {majority:.4f}",
        )


if __name__ == "__main__":
    finish(drawing(), scanning(), classifying())
