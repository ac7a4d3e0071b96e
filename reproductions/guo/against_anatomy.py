"""RR-QI and Anatomy at one l: how far each puts the joint distribution from the truth (Guo 2010, section 5.3.2)."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sfumato import RandomizedResponse, Release, publish
from sfumato.errors import NotIdentifiableError
from sfumato.methods.anatomy import Anatomy
from sfumato.private_table import PrivateTable
from sfumato.selection import Tabulation

Floats = npt.NDArray[np.float64]

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


def estimates_of(release: Release, names: Sequence[str], shape: Sequence[int]) -> dict[str, Floats]:
    """The joint table as every estimator of the release gives it; one that is not determined is left out."""
    law, whole = release.law, Tabulation(by=tuple(names))
    found: dict[str, Floats] = {
        "clip": law.consistent(release, whole, feasibility="clip"),
        "em": law.consistent(release, whole, feasibility="em"),
    }
    for name in law.estimators:
        found[name] = law.estimate_by(name, release, whole).values
    try:
        found["raw"] = law.estimate(release, whole).values
    except NotIdentifiableError:
        pass
    return {name: values.reshape(shape) for name, values in found.items()}


def one_draw(
    table: PrivateTable, design: RandomizedResponse | Anatomy, names: Sequence[str], seed: int
) -> dict[str, float]:
    """Publish once, estimate the joint table, and measure every estimate: ``"d_V clip"`` and so on."""
    truth = np.asarray(table.count_by(names).counts, dtype=np.float64)
    with tempfile.TemporaryDirectory() as folder:
        release = publish(table, design, Path(folder) / "release", seed=seed)
        estimates = estimates_of(release, names, truth.shape)
    return {
        f"{measure} {name}": distance(truth, estimate)
        for measure, distance in MEASURES.items()
        for name, estimate in estimates.items()
    }


def over_draws(
    table: PrivateTable, design: RandomizedResponse | Anatomy, names: Sequence[str], draws: int
) -> dict[str, tuple[float, float]]:
    """Mean of every measure over several releases, and the standard deviation of one."""
    found: list[Mapping[str, float]] = [one_draw(table, design, names, seed) for seed in range(draws)]
    return {
        key: (
            float(np.mean([each[key] for each in found])),
            float(np.std([each[key] for each in found], ddof=1)),
        )
        for key in found[0]
    }
