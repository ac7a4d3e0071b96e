"""Numbers on pages that come from seeded simulations: groups of the census, scale factors, shrunken counts.

A figure is a page and the text that must stand on it, numbers filled in. One seed each, fixed before the run.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

import sfumato
from sfumato.analysis.shrinkage import fit_prior_rate, james_stein, posterior_mean, shrink
from sfumato.attacks.group_reconstruction import GroupFrequency, ScaleFactor, probability_within
from sfumato.custody.publish import in_memory
from sfumato.datasets import make_dataset
from sfumato.methods.sample_perturb_scale.design import find_violations
from sfumato.randomness.distortion import UniformDistortion
from sfumato.testing import release_in_memory

Figure = tuple[str, str]
SEED = 7
SAMPLED = "docs/methods/sample-perturb-scale.md"
RECONSTRUCTED = "docs/attacks/group-frequency.md"


def figures() -> Iterator[Figure]:
    """All of them."""
    yield from scale_factors()
    yield from believed_frequencies()
    yield from marginals_of_buckets()
    yield from shrunken_counts()
    yield from groups_of_the_census()


def groups_of_the_census() -> Iterator[Figure]:
    """How many groups are reconstructed with and without sampling, and what it costs."""
    names = ("sex", "education", "marital", "race", "occupation")
    with tempfile.TemporaryDirectory() as folder:
        made = make_dataset("census", 300_000, SEED, Path(folder) / "people.parquet")
        whole = sfumato.Schema.read(made.schema)
        table = in_memory(sfumato.read_table(made.data, sfumato.Schema(attributes=whole.select(names))))
    plain, sampled = sfumato.RandomizedResponse(retention=0.5), sfumato.SamplePerturbScale(retention=0.5)
    exact = sfumato.SamplePerturbScale(retention=0.2, error_probability=0.1, bound="exact")
    found = find_violations(table, sampled)
    yield (
        SAMPLED,
        f"{found.occupied_groups:,} groups by sex, education, marital status and race, 50 occupations, retention .5) plain perturbation leaves {found.violating_groups} groups with {found.violating_rows / found.rows:.0%} of the rows in violation.".replace(
            "%", " %"
        ),
    )
    yield RECONSTRUCTED, f"A census-like table of 300,000 rows in {found.occupied_groups:,} groups"
    named = {
        "randomized response": plain,
        "sample, perturb, scale, uniform cap": sampled,
        'the same with `bound = "exact"`, retention .2, error probability .1': exact,
    }
    spread, surely = [], []
    for name, design in named.items():
        release = release_in_memory(table, design, seed=SEED)
        told = GroupFrequency(relative_error=0.3).run(release).findings
        groups = int(str(told["groups within it with probability 95 %"]))
        share = 100 * float(str(told["share of rows in those groups"]))
        rows = f"{share:.0f} %" if share >= 1 else f"{share:.2g} %" if share else "0"
        yield RECONSTRUCTED, f"| {name} | {groups} | {rows} |"
        surely.append((groups, rows))
        errors = release.counts("occupation").estimates.standard_errors
        spread.append(f"{errors.min():,.0f} to {errors.max():,.0f}")
    cap = sampled.promise(table.schema).uniform_cap
    yield (
        SAMPLED,
        f"The standard error of an occupation's count is {spread[0]} with it, and {spread[1]} with the uniform cap of {cap} rows.",
    )
    yield (
        SAMPLED,
        f"with plain perturbation {surely[0][0]} groups, holding {surely[0][1]} of the rows, have their most frequent occupation's share within 30 % with probability 95 % or more; after sampling {surely[1][0]}, holding {surely[1][1]} of the rows.",
    )


def scale_factors() -> Iterator[Figure]:
    """Largest frequencies of 30 groups, read off the lattice of their counts and off the values."""
    groups, jobs = 30, "abcdefghij"
    schema = sfumato.Schema.from_dict(
        {
            "attributes": {
                "place": {"role": "quasi-identifier", "categories": list(map(str, range(groups)))},
                "job": {"role": "sensitive", "categories": list(jobs)},
            }
        }
    )
    frequencies = np.linspace(0.25, 0.9, groups)
    promise = sfumato.SamplePerturbScale(retention=0.5).promise(schema)
    by_values, by_lattice = [], []
    for factor in (30, 60, 120, 300):
        draw = np.random.default_rng(SEED)
        place, job = [], []
        for group, frequency in enumerate(frequencies):
            rows = int(factor * float(promise.caps_at(frequency)))
            shares = [frequency, *draw.dirichlet(np.full(9, 5.0)) * (1 - frequency)]
            counts = np.floor(rows * np.array(shares)).astype(int)
            job.append(np.repeat(np.arange(10), counts))
            place.append(np.full(counts.sum(), group))
        labels = np.array(list(jobs))[np.concatenate(job)]
        rows = pa.table({"place": np.concatenate(place).astype(str), "job": labels})
        table = in_memory(sfumato.read_table(rows, schema))
        cells = []
        for cap in ("group", "uniform"):
            release = release_in_memory(table, sfumato.SamplePerturbScale(retention=0.5, cap=cap), seed=SEED)
            lattice = ScaleFactor(shown=groups).run(release).tables[0].rows
            cells.append((len(lattice), _off({int(row[0]): row[-1] for row in lattice}, frequencies)))
            if cap == "group":
                values = GroupFrequency(shown=groups).run(release).tables[0].rows
                from_values = _off({int(row[0]): row[3] for row in values}, frequencies)
        (found, lattice_off), (_, uniform_off) = cells
        by_lattice.append(f"{100 * lattice_off:.1f}")
        by_values.append(100 * from_values)
        yield (
            "docs/attacks/scale-factor.md",
            f"| {factor} | {found} | {lattice_off:.1%} | {from_values:.0%} | {uniform_off:.0%} |".replace(
                "%", " %"
            ),
        )
    (lattice,) = set(by_lattice)
    yield (
        SAMPLED,
        f"finds it to within {lattice} %, where the values themselves allow {min(by_values):.0f} to {max(by_values):.0f} %",
    )


def _off(guesses: dict[int, object], frequencies: np.ndarray) -> float:  # type: ignore[type-arg]
    """Median relative error of the largest frequency."""
    return float(
        np.median([abs(float(str(each)) / frequencies[group] - 1) for group, each in guesses.items()])
    )


def believed_frequencies() -> Iterator[Figure]:
    """Whether reconstructions are within the error as often as stated, frequencies being even beforehand."""
    draw = np.random.default_rng(SEED)
    number, size, retention, error = 200_000, 5, 0.5, 0.2
    rows = draw.integers(20, 401, number)
    true = draw.random(number)
    holders = draw.binomial(rows, true)
    other = (1 - retention) / size
    shown = draw.binomial(holders, retention + other) + draw.binomial(rows - holders, other)
    frequency = holders / rows
    estimate = (shown / rows - other) / retention
    stated = probability_within(estimate, rows, UniformDistortion(retention=retention, size=size), error)
    within = np.abs(estimate - frequency) <= error * frequency
    places = np.minimum((stated * 5).astype(int), 4)
    for name, values in (("mean stated", stated), ("within", within)):
        means = " | ".join(f"{values[places == each].mean():.2f}".removeprefix("0") for each in range(5))
        yield RECONSTRUCTED, f"| {name} | {means} |"


def marginals_of_buckets() -> Iterator[Figure]:
    """How far cheaper expectations are from those over all permutations, buckets of six with even likelihoods."""
    size, buckets = 6, 3_000
    likelihoods = np.random.default_rng(SEED).random((buckets, size, size))
    ways = np.array(list(itertools.permutations(range(size))))
    weights = likelihoods[:, np.arange(size), ways].prod(axis=2)
    exact = (
        np.stack(
            [
                np.stack([weights[:, ways[:, person] == value].sum(axis=1) for value in range(size)], axis=1)
                for person in range(size)
            ],
            axis=1,
        )
        / weights.sum(axis=1)[:, np.newaxis, np.newaxis]
    )
    alone = likelihoods / likelihoods.sum(axis=2, keepdims=True)
    balanced = alone
    for _ in range(300):
        balanced = balanced / balanced.sum(axis=1, keepdims=True)
        balanced = balanced / balanced.sum(axis=2, keepdims=True)
    apart = [np.abs(each - exact) for each in (balanced, alone)]
    yield (
        "docs/attacks/anatomy-naive-bayes.md",
        (
            f"On {buckets:,} random buckets of six (uniform likelihoods) its marginals differ from the exact ones by {apart[0].mean():.3f} on average and "
            f"{apart[0].max():.2f} at most; those of `restricted` by {apart[1].mean():.3f} and {apart[1].max():.2f}."
        ),
    )


def shrunken_counts() -> Iterator[Figure]:
    """Squared error less that of the noisy counts; some of the entries up to 1, the others up to 100."""
    modes, vectors = ("printed", "signed", "threshold"), 10_000
    for entries in (3, 10, 50):
        draw = np.random.default_rng(SEED)
        # Any number of entries but none and all, equally likely, as in the thesis (section 7.2).
        small = np.arange(entries) < draw.integers(1, entries, vectors)[:, np.newaxis]
        true = np.where(small, draw.uniform(0, 1, small.shape), draw.uniform(0, 100, small.shape))
        noisy = true + draw.laplace(0, 1, true.shape)
        plain, cut = _squared(noisy, true), _squared(np.maximum(noisy, 0), true)
        told = [_squared(_shrunken(noisy, mode), true) - plain for mode in modes]
        told.append(_squared(_shrunken(noisy, "counts"), true) - cut)
        told.append(_squared(james_stein(noisy, 2.0), true) - plain)
        rates = fit_prior_rate(noisy, 1.0)[:, np.newaxis]
        told.append(_squared(posterior_mean(noisy, 1.0, rates), true) - plain)
        yield "docs/analysis/shrinkage.md", f"| {entries} | {' | '.join(f'{each:+.2f}' for each in told)} |"


def _shrunken(noisy: np.ndarray, mode: str) -> np.ndarray:  # type: ignore[type-arg]
    return np.array([shrink(each, 1.0, mode=mode).values for each in noisy])  # type: ignore[arg-type]


def _squared(found: np.ndarray, true: np.ndarray) -> float:  # type: ignore[type-arg]
    return float(np.square(found - true).sum(axis=1).mean())
