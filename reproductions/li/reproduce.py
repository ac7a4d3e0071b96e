"""Noisy count publishing and columnization: Li and Li, figures 1 to 3 and the numbers in the text.

``python reproductions/run.py li`` computes everything anew and compares, ``--part "100 movies, seed 0"`` a part of it; ``--renew`` writes
``results.json``. MovieLens is fetched.
"""

from __future__ import annotations

import csv
import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from ledger import composed

from evidence import Claims, Moves, Part, Reproduction, Results, Verdicts, fetched, judged
from sfumato.analysis.recommender import Factorization, HoldOut, fit_ratings, hold_out
from sfumato.attacks.itemsets import match_records
from sfumato.data.long_format import SparseUnits
from sfumato.datasets.ratings import rating_triples
from sfumato.methods.columnized_counts.kernels import (
    Groups,
    columns_by_medoids,
    count_fragments,
    count_pairs,
    cut_into_fragments,
    truncate,
)
from sfumato.methods.columnized_counts.law import SparseRecords
from sfumato.methods.columnized_counts.noisy_counts import NoisyCountMatrix
from sfumato.randomness.streams import NoiseSource

HERE = Path(__file__).parent
STARS = (1.0, 2.0, 3.0, 4.0, 5.0)
EPSILONS = {"1": 1.0, "ln5": math.log(5), "ln10": math.log(10)}
DELTAS = (1e-3, 1e-5, 1e-7)
SCHEMAS: dict[str, tuple[tuple[int, ...], int]] = {
    "schema 1": ((5,), 2),
    "schema 2": ((10,), 3),
    "schema 3": ((50,), 6),
    "schema 4": ((5, 10), 4),
    "schema 5": ((5, 10, 50), 8),
}
"""Table 2: numbers of columns, and the column budget."""

QUOTED = {
    "eps=1": ({"epsilon": 1.0}, 30),
    "eps=ln5": ({}, 23),
    "eps=ln10": ({"epsilon": math.log(10)}, 15),
    "delta=1e-3": ({"delta": 1e-3}, 15),
    "delta=1e-7": ({"delta": 1e-7}, 30),
    "k=3": ({"k": 3}, 13),
    "k=20": ({"k": 20}, 35),
}
"""Counts at which the text says that rows begin to appear in figure 1."""


def noise_curves() -> dict[str, Any]:
    """Figure 1: exact noise level beside a Monte-Carlo one, and the release probability at the quoted starts."""
    result: dict[str, Any] = {}
    for name, (change, quoted) in QUOTED.items():
        matrix = NoisyCountMatrix(**{"k": 10, "epsilon": math.log(5), "delta": 1e-5, **change})
        counts = np.arange(1, 61)
        drawn = matrix.draw(np.repeat(counts, 2_000), NoiseSource.seeded(1).named(name)).reshape(60, 2_000)
        simulated = np.abs(drawn - counts[:, None]).mean(axis=1) / counts
        exact = matrix.expected_noise(counts)
        result[name] = {
            "quoted start": quoted,
            "release probability at the quoted start": float(matrix.release_probabilities_of([quoted])[0][0]),
            "counts at release probability .01, .1, .5, .99": [
                matrix.threshold(p) for p in (0.01, 0.1, 0.5, 0.99)
            ],
            "exact noise": [round(float(each), 4) for each in exact],
            "largest difference of 2,000 draws": float(np.abs(exact - simulated).max()),
        }
    return result


def make_believe(units: int, items: int, seed: int) -> SparseUnits:
    """Make-believe raters, the first so many of a seed, and their ratings of the first so many movies."""
    parts = [np.concatenate(each) for each in zip(*rating_triples(7 * units, seed), strict=True)]
    user, movie, stars = (each[(parts[0] < units) & (parts[1] < items)] for each in parts)
    _, user = np.unique(user, return_inverse=True)
    return SparseUnits.from_triples(range(int(user.max()) + 1), user, movie, stars - 1, items, 5)  # type: ignore[arg-type]


def movielens(folder: Path, items: int) -> SparseUnits:
    """MovieLens ratings of the first so many movies."""
    with fetched("movielens-100k", folder).open(encoding="utf-8", newline="") as file:
        rows = np.array([[int(cell) for cell in row] for row in list(csv.reader(file))[1:]])
    rows = rows[rows[:, 1] <= items]
    _, user = np.unique(rows[:, 0], return_inverse=True)
    return SparseUnits.from_triples(
        range(int(user.max()) + 1), user, rows[:, 1] - 1, rows[:, 2] - 1, items, 5
    )  # type: ignore[arg-type]


def publish(
    ratings: SparseUnits,
    columns: Groups,
    budget: int,
    epsilon: float,
    delta: float,
    noise: NoiseSource,
    k: int = 10,
) -> list[SparseRecords]:
    """What a release of these columns would hold: theorem 7's share of the budget for each."""
    matrix = NoisyCountMatrix(k=k, epsilon=epsilon / budget, delta=delta / budget)
    fragments = cut_into_fragments(ratings, columns)
    if budget < len(columns):
        fragments = truncate(
            fragments, budget, noise.named("truncation").stream(0).words(fragments.column.size)
        )
    counted = count_fragments(fragments, ratings.number_of_values, noise)
    drawn = matrix.draw(counted.counts, noise)
    records = []
    for number in range(len(columns)):
        shown = counted.fragments.keep((counted.fragments.column == number) & (drawn > 0))
        crowd = drawn[(counted.fragments.column == number) & (drawn > 0)]
        places = [np.arange(start, end) for start, end in zip(shown.starts, shown.ends, strict=True)]
        flat = np.concatenate(places) if places else np.zeros(0, np.int64)
        unit = np.repeat(np.arange(crowd.size), shown.ends - shown.starts)
        units = SparseUnits.from_triples(
            range(crowd.size),  # type: ignore[arg-type]
            unit,
            shown.items[flat],
            shown.values[flat],
            ratings.number_of_items,
            5,
        )
        records.append(SparseRecords(units, crowd))
    return records


def score(records: Sequence[SparseRecords], split: HoldOut) -> dict[str, float]:
    """RMSE on the ratings kept aside, with the ablation of the user bias."""
    model = fit_ratings(list(records), STARS, Factorization())
    found = model.predict(split.train, split.units, split.items).errors(np.array(STARS)[split.values])
    published = sum(int(each.crowd.sum()) for each in records)
    several = sum(int((np.diff(each.units.starts) > 1) @ each.crowd) for each in records)
    return {
        **{name: round(value, 4) for name, value in found.items()},
        "people published": published,
        "with more than one rating": several,
    }


def rmse_cells(
    ratings: SparseUnits, seed: int, schemas: Sequence[str], cells: Sequence[tuple[str, float]], k: int = 10
) -> dict[str, Any]:
    """Baseline, original, plain noisy counts and the column schemas, over epsilons and deltas."""
    noise = NoiseSource.seeded(seed)
    split = hold_out(ratings, 0.15, noise.named("hold out").stream(0).words(ratings.items.size))
    original = score([SparseRecords.raw(split.train)], split)
    result: dict[str, Any] = {
        "raters": ratings.number_of_units,
        "ratings": int(ratings.items.size),
        "baseline (movie average)": original["item means"],
        "original": original,
    }
    everything = (tuple(range(ratings.number_of_items)),)
    similarity = count_pairs(split.train).similarity("agreement")
    cuts = {n: columns_by_medoids(similarity, n) for name in schemas for n in SCHEMAS[name][0]}
    for epsilon, delta in cells:
        for name in ("plain", *schemas):
            columns = everything if name == "plain" else tuple(c for n in SCHEMAS[name][0] for c in cuts[n])
            budget = 1 if name == "plain" else SCHEMAS[name][1]
            bits = noise.named(f"{name} {epsilon} {delta}")
            records = publish(split.train, columns, budget, EPSILONS[epsilon], delta, bits, k)
            found = score(records, split)
            gap = result["baseline (movie average)"] - original["factors"]
            found["share of the gap closed"] = round(
                (result["baseline (movie average)"] - found["factors"]) / gap, 3
            )
            result[f"{name}, eps={epsilon}, delta={delta:g}"] = found
    return result


def linking(ratings: SparseUnits, seed: int, pairs: int = 4, targets: int = 500) -> dict[str, Any]:
    """How many raters are found by a few of their ratings, raw and published."""
    noise = NoiseSource.seeded(seed).named("linking")
    many = np.flatnonzero(np.diff(ratings.starts) >= pairs)
    chosen = many[noise.stream(0).permutation(many.size)[:targets]]
    place = np.full(ratings.number_of_units, -1)
    place[chosen] = np.arange(chosen.size)
    known = ratings.at_most(pairs, noise.stream(1))
    inside = place[known.units()] >= 0
    aux = SparseUnits.from_triples(
        range(chosen.size),  # type: ignore[arg-type]
        place[known.units()[inside]],
        known.items[inside],
        known.values[inside],
        ratings.number_of_items,
        5,
    )
    raw = match_records(aux, SparseRecords.raw(ratings))
    result = {
        "targets": int(chosen.size),
        "known ratings": pairs,
        "raw: claimed": float(raw.is_claimed.mean()),
        "raw: right among claimed": float((raw.best == chosen)[raw.is_claimed].mean())
        if raw.is_claimed.any()
        else 0.0,
    }
    similarity = count_pairs(ratings).similarity("agreement")
    for name, columns, budget in (
        ("noisy counts", (tuple(range(ratings.number_of_items)),), 1),
        ("ten columns", columns_by_medoids(similarity, 10), 3),
    ):
        records = publish(ratings, columns, budget, math.log(5), 1e-5, noise.named(name))
        best = np.zeros(chosen.size)
        for each in records:
            if each.crowd.size:
                matches = match_records(aux, each)
                best = np.maximum(best, np.where(matches.is_claimed, matches.right_if_there, 0))
        result[f"{name}: claimed"] = float((best > 0).mean())
        result[f"{name}: highest chance of the right person"] = float(best.max())
        result[f"{name}: expected found, at best"] = float(best.mean())
    return result


def verbatim(ratings: SparseUnits, delta: float) -> dict[str, Any]:
    """Unique rows published as they are: sampling at rate delta, which is (0, delta)-private, against k = 10."""
    counted = count_fragments(
        cut_into_fragments(ratings, (tuple(range(ratings.number_of_items)),)), 5, NoiseSource.seeded(3)
    )
    unique = int((counted.counts == 1).sum())
    noise = NoiseSource.seeded(4)
    sampled = int(noise.stream(0).bernoulli(unique, int(delta * 2**64)).sum())
    matrix = NoisyCountMatrix(k=10, epsilon=math.log(5), delta=delta)
    shown = matrix.draw(counted.counts, noise.named("matrix"))
    return {
        "unique rows": unique,
        "delta": delta,
        "expected verbatim by sampling": unique * delta,
        "verbatim by sampling": sampled,
        "verbatim by noisy counts": int((shown[counted.counts == 1] > 0).sum()),
        "smallest true count published": int(counted.counts[shown > 0].min(initial=10**9)),
    }


def mean_over_seeds(results: dict[str, Any], data: str, cell: str, what: str = "factors") -> float:
    """Mean of one figure of a cell over the seeds that ran it."""
    found = [
        each[cell][what]
        for name, each in results.items()
        if name.startswith(f"{data}, seed") and cell in each
    ]
    return float(np.mean(found))


def findings(results: dict[str, Any]) -> dict[str, float]:
    """Our number for every claim."""
    paper = NoisyCountMatrix(k=10, epsilon=1.0, delta=1e-5)
    starts = {
        f"start-{name}": each["release probability at the quoted start"]
        for name, each in results["figure 1"].items()
    }
    by_epsilon = [f"eps={each}, delta=1e-05" for each in EPSILONS]
    by_delta = [f"eps=ln5, delta={each:g}" for each in reversed(DELTAS)]
    cells = [*by_epsilon, by_delta[0], by_delta[2]]

    def error(name: str, cell: str, data: str = "500 movies") -> float:
        return mean_over_seeds(results, data, f"{name}, {cell}")

    def falls(name: str, grid: Sequence[str], data: str = "500 movies") -> bool:
        found = [error(name, cell, data) for cell in grid]
        return all(before > after for before, after in itertools.pairwise(found))

    def reference(data: str, what: str) -> float:
        rows = [each for name, each in results.items() if name.startswith(f"{data}, seed")]
        return float(np.mean([each["original"][what] for each in rows]))

    def is_between(data: str, cell: str) -> bool:
        return reference(data, "factors") < error("plain", cell, data) < reference(data, "item means")

    hundred = ("100 movies", "100 movies, k=3")
    close = [
        mean_over_seeds(results, "500 movies", f"{name}, {by_epsilon[2]}", "share of the gap closed")
        for name in ("schema 2", "schema 4", "schema 5")
    ]
    default = "eps=ln5, delta=1e-05"
    return {
        **starts,
        "w-35": paper.threshold(0.99),
        "mean-3": NoisyCountMatrix(k=2, epsilon=math.log(4), delta=0.1).mean(3),
        # Laplace noise of scale 2 rounds to 1 or more when it exceeds 1/2.
        "laplace-absent": math.exp(-1 / 4) / 2,
        "noise-50": float(paper.expected_noise([50])[0]),
        "noise-30": float(paper.expected_noise([30])[0]),
        "fig-2-between": float(np.mean([is_between(data, cell) for data in hundred for cell in cells])),
        "fig-2-epsilon": falls("plain", by_epsilon, "100 movies"),
        "fig-2-delta": falls("plain", by_delta, "100 movies"),
        "fig-2-k": all(error("plain", cell, hundred[1]) < error("plain", cell, hundred[0]) for cell in cells),
        "plain-500": mean_over_seeds(results, "500 movies", f"plain, {default}", "share of the gap closed"),
        "columns-help": float(
            np.mean([error(name, cell) < error("plain", cell) for name in SCHEMAS for cell in cells])
        ),
        "quite-close": max(close),
        "five-to-ten": error("schema 2", default) < error("schema 1", default),
        "ten-to-fifty": error("schema 3", default) > error("schema 2", default),
        "four-beats-five": float(
            np.mean([error("schema 4", cell) < error("schema 5", cell) for cell in cells])
        ),
        "fig-3-epsilon": float(np.mean([falls(name, by_epsilon) for name in SCHEMAS])),
        "fig-3-delta": float(np.mean([falls(name, by_delta) for name in SCHEMAS])),
        "verbatim": results["verbatim"]["verbatim by noisy counts"],
    }


def judge(claims: Claims, results: Results) -> Verdicts:
    """Each claim with our number."""
    found = {name: float(each) for name, each in findings(results).items()}
    found |= {f"ledger-{name}": each for name, each in results["ledger"].items()}
    return judged(claims["claims"], found)


RATERS = 80_000
SMALL_GRID = tuple((epsilon, delta) for epsilon in EPSILONS for delta in DELTAS)
LARGE_GRID = tuple((e, d) for e, d in SMALL_GRID if d == 1e-5 or e == "ln5")
"""Of seeds after the first."""


def cells_part(items: int, seed: int, k: int = 10) -> Part:
    """Make-believe ratings of one seed; columns where there are 500 movies."""
    names = tuple(SCHEMAS) if items == 500 else ()
    grid = SMALL_GRID if seed == 0 else LARGE_GRID
    return lambda *_: rmse_cells(make_believe(RATERS, items, seed), seed, names, grid, k)


def movielens_part(items: int) -> Part:
    """The first so many movies of MovieLens."""
    names = tuple(SCHEMAS) if items == 500 else ()
    return lambda _, folder: rmse_cells(movielens(folder, items), 0, names, SMALL_GRID)


def quick(claims: Claims, folder: Path) -> Results:
    """Figure 1, rows published verbatim, and plain noisy counts of 100 make-believe movies in two cells."""
    del claims, folder
    ratings = make_believe(RATERS, 500, 0)
    cells = (("1", 1e-5), ("ln10", 1e-3))
    return {
        "figure 1": noise_curves(),
        "ledger": composed(),
        "verbatim": verbatim(ratings, 1e-3),
        "100 movies, seed 0": rmse_cells(make_believe(RATERS, 100, 0), 0, (), cells),
    }


ONE_DRAW = "one release: five standard deviations of an RMSE over other draws of the same ratings"
REPRODUCTION = Reproduction(
    folder=HERE,
    parts={
        "figure 1": lambda *_: noise_curves(),
        "ledger": lambda *_: composed(),
        **{
            f"{label}, seed {seed}": cells_part(items, seed, k)
            for seed in range(5)
            for label, items, k in (
                ("100 movies", 100, 10),
                ("100 movies, k=3", 100, 3),
                ("500 movies", 500, 10),
            )
        },
        **{f"movielens, {items} movies": movielens_part(items) for items in (100, 500)},
        "linking, movielens": lambda _, folder: linking(movielens(folder, 1682), 0),
        "linking, make-believe": lambda *_: linking(make_believe(RATERS, 500, 0), 0),
        "verbatim": lambda *_: verbatim(make_believe(RATERS, 500, 0), 1e-3),
    },
    quick=quick,
    judge=judge,
    differs=frozenset(
        {
            *(
                "w-35",
                "mean-3",
                "laplace-absent",
                "noise-30",
                "start-eps=ln10",
                "start-delta=1e-3",
                "start-k=3",
            ),
            *("columns-help", "quite-close", "ten-to-fifty", "four-beats-five"),
        }
    ),
    moves=(
        Moves(pattern="figure 1 > * > largest difference*", absolute=0.05, why="2,000 draws of each count"),
        Moves(
            pattern="verbatim > verbatim by sampling",
            absolute=40,
            why="five standard deviations of a rare count",
        ),
        Moves(pattern="verbatim > smallest true count published", absolute=4, why="one release"),
        Moves(pattern="linking* > * found*", absolute=0.02, why="500 targets"),
        Moves(pattern="linking* > *", absolute=0.1, why="500 targets"),
        Moves(pattern="* > share of the gap closed", absolute=0.35, why=ONE_DRAW),
        Moves(pattern="* > people published", relative=0.05, why=ONE_DRAW),
        Moves(pattern="movielens* > with more than one rating", why="nothing is published at any setting"),
        Moves(pattern="* > with more than one rating", relative=0.3, absolute=100, why=ONE_DRAW),
        Moves(pattern="* movies* > *", absolute=0.03, why=ONE_DRAW),
    ),
)
