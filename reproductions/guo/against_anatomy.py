"""RR-QI and Anatomy at one l: how far from the truth each puts the joint distribution (Guo 2010, section 5.3.2)."""

from __future__ import annotations

import contextlib
import itertools
import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato import RandomizedResponse, Release, publish
from sfumato.data.private_table import PrivateTable
from sfumato.errors import NotIdentifiableError
from sfumato.methods.anatomy.buckets import BucketComposition
from sfumato.methods.anatomy.design import Anatomy
from sfumato.query.selection import Tabulation

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Spread = dict[str, tuple[float, float]]
"""By measure and estimator: the mean over several releases, and the standard deviation of one."""

HALF = 0.5
"""Rows added to every cell of both tables before the Kullback-Leibler distance, which empty cells make infinite."""


def variation(truth: Floats, estimate: Floats) -> float:
    """Total variation distance of two tables of counts with one total.

    Examples
    --------
    >>> variation(np.array([3.0, 1.0]), np.array([2.0, 2.0]))
    0.25
    """
    return float(np.abs(truth - estimate).sum() / 2 / truth.sum())


def euclidean(truth: Floats, estimate: Floats) -> float:
    """Euclidean distance of the proportions.

    Examples
    --------
    >>> euclidean(np.array([6.0, 4.0]), np.array([3.0, 8.0]))
    0.5
    """
    return float(np.linalg.norm((truth - estimate).ravel()) / truth.sum())


def chi_square(truth: Floats, estimate: Floats) -> float:
    """``sum (p - q)^2 / p`` over the cells that occur.

    Examples
    --------
    >>> chi_square(np.array([4.0, 0.0]), np.array([2.0, 2.0]))
    0.25
    """
    occurs = truth > 0
    return float(((truth - estimate)[occurs] ** 2 / truth[occurs]).sum() / truth.sum())


def kullback_leibler(truth: Floats, estimate: Floats) -> float:
    """``sum p ln(p / q)`` after half a row was added to every cell of both.

    Examples
    --------
    >>> round(kullback_leibler(np.array([1.0, 0.0]), np.array([0.0, 1.0])), 4)
    0.5493
    """
    p, q = truth + HALF, estimate + HALF
    p, q = p / p.sum(), q / q.sum()
    return float((p * np.log(p / q)).sum())


def base_error(truth: Floats, estimate: Floats) -> float:
    """Mean relative error of the cells that occur.

    Examples
    --------
    >>> base_error(np.array([4.0, 0.0, 2.0]), np.array([3.0, 1.0, 2.0]))
    0.125
    """
    occurs = truth > 0
    return float(np.mean(np.abs(truth - estimate)[occurs] / truth[occurs]))


def cube_error(truth: Floats, estimate: Floats) -> float:
    """The same over the cells of all margins together, from the whole table to the grand total.

    Examples
    --------
    Two cells and their sum: errors 1/4, 1/2 and 0.

    >>> cube_error(np.array([4.0, 2.0]), np.array([3.0, 3.0]))
    0.25
    """
    axes = range(truth.ndim)
    margins = [over for size in range(truth.ndim + 1) for over in itertools.combinations(axes, size)]
    wholes = np.concatenate([truth.sum(axis=over).ravel() for over in margins])
    guesses = np.concatenate([estimate.sum(axis=over).ravel() for over in margins])
    return base_error(wholes, guesses)


MEASURES = {
    "d_V": variation,
    "L2": euclidean,
    "chi2": chi_square,
    "KL": kullback_leibler,
    "base": base_error,
    "cube": cube_error,
}


def measured(truth: Floats, estimates: Mapping[str, Floats]) -> dict[str, float]:
    """Every measure of every estimate: ``"d_V clip"`` and so on; no logarithms of negative counts.

    Examples
    --------
    >>> found = measured(np.array([3.0, 1.0]), {"raw": np.array([5.0, -1.0])})
    >>> found["d_V raw"], "KL raw" in found
    (0.5, False)
    """
    return {
        f"{measure} {name}": distance(truth, estimate)
        for measure, distance in MEASURES.items()
        for name, estimate in estimates.items()
        if measure != "KL" or estimate.min() >= 0
    }


def estimates_of(release: Release, names: Sequence[str], shape: Sequence[int]) -> dict[str, Floats]:
    """The joint table by every estimator of the release; an unbiased one that does not exist is left out."""
    law, whole = release.law, Tabulation(by=tuple(names))
    found: dict[str, Floats] = {
        "clip": law.consistent(release, whole, feasibility="clip"),
        "em": law.consistent(release, whole, feasibility="em"),
    }
    for name in law.estimators:
        found[name] = law.estimate_by(name, release, whole).values
    with contextlib.suppress(NotIdentifiableError):
        found["raw"] = law.estimate(release, whole).values
    return {name: values.reshape(shape) for name, values in found.items()}


def one_release(
    table: PrivateTable, design: RandomizedResponse | Anatomy, names: Sequence[str], seed: int
) -> dict[str, float]:
    """Publish once, estimate the joint table, and measure every estimate."""
    truth = np.asarray(table.count_by(names).counts, dtype=np.float64)
    with tempfile.TemporaryDirectory() as folder:
        release = publish(
            table, design, Path(folder) / "release", seed=seed, accept=("singled-out",), say=lambda _: None
        )
        return measured(truth, estimates_of(release, names, truth.shape))


def one_ordered_anatomy(
    table: PrivateTable, l_value: int, names: Sequence[str], seed: int
) -> dict[str, float]:
    """Xiao and Tao's answer where buckets take the most frequent values left, *ties in the order of the values*."""
    columns = [np.concatenate([batch.codes[name] for batch in table.scan([name])]) for name in names]
    truth = np.asarray(table.count_by(names).counts, dtype=np.float64)
    values = columns[-1].astype(np.int64)
    buckets = ordered_buckets(values, truth.shape[-1], l_value, np.random.default_rng(seed))
    composition = BucketComposition.from_pairs(buckets + 1, values, truth.shape[-1])
    cells = np.ravel_multi_index(columns[:-1], truth.shape[:-1])
    answer = composition.weighted_counts(buckets + 1, cells, math.prod(truth.shape[:-1]))
    return measured(truth, {"anatomy": answer.reshape(truth.shape)})


def ordered_buckets(
    values: Codes, number_of_values: int, l_value: int, generator: np.random.Generator
) -> Codes:
    """Bucket of each row, from 0: one row of each of the l most frequent values left, again and again.

    Examples
    --------
    >>> np.bincount(ordered_buckets(np.array([0, 0, 1, 1, 2, 2]), 3, 2, np.random.default_rng(0))).tolist()
    [2, 2, 2]
    """
    left = np.bincount(values, minlength=number_of_values)
    places: list[list[int]] = [[] for _ in left]
    number = 0
    while np.count_nonzero(left) >= l_value:
        chosen = np.argsort(-left, kind="stable")[:l_value]
        for value in chosen:
            places[value].append(number)
        left[chosen] -= 1
        number += 1
    for value in np.flatnonzero(left):
        lacking = np.setdiff1d(np.arange(number), places[value])
        places[value] += generator.choice(lacking, left[value], replace=False).tolist()
    buckets = np.empty(len(values), np.int64)
    for value, own in enumerate(places):
        buckets[values == value] = generator.permutation(np.array(own, np.int64))
    return buckets


def over_draws(draw: Callable[[int], Mapping[str, float]], draws: int) -> Spread:
    """Mean of every measure over several draws, and the standard deviation of one."""
    found = [draw(seed) for seed in range(draws)]
    return {
        key: (
            float(np.mean([each[key] for each in found])),
            float(np.std([each[key] for each in found], ddof=1)),
        )
        for key in found[0]
        if all(key in each for each in found)
    }


def held_against(claim: Mapping[str, Any], l_value: int, found: Spread, draws: int) -> dict[str, Any]:
    """Each number of a claimed line beside ours: matched within rounding and the Monte-Carlo error of both."""
    result = {}
    for key, decimals, given in zip(claim["columns"], claim["decimals"], claim[str(l_value)], strict=True):
        mean, deviation = found[key]
        # Theirs is one draw, ours a mean of several.
        allowed = 0.5 * 10.0**-decimals + claim["deviations"] * deviation * math.sqrt(1 + 1 / draws)
        result[key] = {
            "given": given,
            "mean": round(mean, 4),
            "deviation": round(deviation, 4),
            "matched": bool(abs(mean - given) <= allowed),
        }
    return result


def design_with(table: PrivateTable, diagonals: Mapping[str, float]) -> RandomizedResponse:
    """Randomized response by the thesis's p, that a value is published as it is.

    ``p = r + (1 - r) / d`` for a retention of r among d categories.
    """
    retention = {
        name: (table.schema[name].size * diagonal - 1) / (table.schema[name].size - 1)
        for name, diagonal in diagonals.items()
    }
    return RandomizedResponse(retention=retention, attributes=tuple(diagonals))
