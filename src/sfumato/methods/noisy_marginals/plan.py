"""What noisy marginals will be worth, and what they will give away, before they are published."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sfumato.attacks.ratio.disclosures import (
    SMALLEST_CLOSENESS,
    SMALLEST_JUMP,
    TOLERANCE,
    find_disclosures,
)
from sfumato.attacks.ratio.law import (
    RULE_OF_THUMB,
    approximate_moments,
    closeness_probability,
    gaussian_closeness,
)
from sfumato.chance.noise import LARGEST_SUMMED_GAUSSIAN, DiscreteGaussian, DiscreteLaplace
from sfumato.data.private_table import PrivateTable
from sfumato.methods.noisy_marginals.design.choice import Measurement
from sfumato.values.arrays import Floats
from sfumato.values.number_text import Cell, percent
from sfumato.values.result_tables import ResultTable
from sfumato.values.schema import Role

Noise = DiscreteLaplace | DiscreteGaussian

SIZES = (1, 10, 100, 1_000, 10_000, 100_000)
"""True counts for which a plan states the expected error."""

GROUP_SIZES = (20, 50, 100, 200, 500, 1_000, 5_000, 20_000)
"""Group sizes for which a plan states whether the ratio attack succeeds."""

SHARES = (0.5, 0.7, 0.9)
"""Shares of a sensitive value in the group."""

SANITY_SHARE = 1e-4
"""Share of all rows below which a count is taken as this share when its error is made relative (Han 2016)."""


def precision_table(measurements: Sequence[Measurement], noises: Sequence[Noise]) -> ResultTable:
    """Noise of every published table and answer."""
    return ResultTable(
        "Noise on every count, by published table",
        ("counts of", "cells", "scale", "std. error", "95 % of noise within"),
        tuple(
            (
                " by ".join(each.names),
                each.cells,
                noise.scale,
                math.sqrt(noise.variance),
                noise.half_width(0.95),
            )
            for each, noise in zip(measurements, noises, strict=True)
        ),
    )


def size_table(noises: Sequence[Noise], rows: int) -> ResultTable:
    """Relative standard error of a published count, by its true size."""
    deviations = [math.sqrt(each.variance) for each in noises]
    return ResultTable(
        f"Expected relative error of a published count (std. error over count), {rows:,} rows",
        ("true count", "least noisy table", "noisiest table"),
        tuple((size, min(deviations) / size, max(deviations) / size) for size in SIZES if size <= rows),
    )


def exposure_table(noises: Sequence[Noise], rows: int) -> ResultTable:
    """How close the ratio of two noisy counts comes, by the size of the group (least noisy table).

    Lemma 1 of Han (2016) gives the relative bias V / group^2 with V the variance of the noise, which
    is its table 3.2 for Laplace noise; beside it the rule of thumb, and the exact probability.
    """
    noise = min(noises, key=lambda each: each.variance)
    equivalent_scale = math.sqrt(noise.variance / 2)
    body: list[tuple[Cell, ...]] = []
    for size in GROUP_SIZES:
        if size > rows:
            break
        exact = [
            float(closeness_probability(round(share * size), size, noise, tolerance=TOLERANCE))
            for share in SHARES
        ]
        relative_scale = equivalent_scale / size
        bias = approximate_moments(size, size, noise.variance)[0] - 1
        is_accurate = "yes" if relative_scale <= RULE_OF_THUMB else "no"
        body.append((size, relative_scale, bias, is_accurate, *exact))
    return ResultTable(
        f"Ratio attack: probability that a noisy share is within {percent(TOLERANCE)} of the true one",
        (
            "group size",
            "scale / size",
            "bias (lemma 1)",
            "accurate (rule of thumb)",
            *(f"exact, share {share}" for share in SHARES),
        ),
        tuple(body),
    )


def private_tables(
    table: PrivateTable,
    marginals: Sequence[tuple[str, ...]],
    noises: Sequence[Noise],
    class_attribute: str | None,
) -> tuple[ResultTable, ...]:
    """Expected errors of the real tables, and what the ratio attack would disclose of them."""
    schema = table.schema
    rows = table.number_of_rows
    sensitive = [each.name for each in schema.with_role(Role.SENSITIVE)]
    targets = [class_attribute] if class_attribute else sensitive
    body: list[tuple[Cell, ...]] = []
    counted = table.count_tables(marginals)
    priors_of = {name: table.count_by([name]).counts / rows for name in targets}
    for place, (names, noise) in enumerate(zip(marginals, noises, strict=True)):
        counts = counted[place].counts
        errors = expected_relative_errors(counts, noise, rows)
        disclosed = 0
        for target in (each for each in targets if each in names and len(names) > 1):
            priors = priors_of[target]
            parts = np.moveaxis(counts, names.index(target), -1).reshape(-1, schema[target].size)
            is_group_published = any(set(each) == set(names) - {target} for each in marginals)
            disclosed += (
                find_disclosures(parts, parts.sum(axis=1), priors, noise).number
                if is_group_published
                else number_disclosed_by_sums(parts, priors, noise)
            )
        nonempty = errors[counts > 0]
        body.append((" by ".join(names), float(nonempty.mean()), float(errors.mean()), disclosed))
    return (
        ResultTable(
            "Expected relative error over the cells of each table, and values the ratio attack would disclose",
            ("table", "error, cells with rows", "error, all cells", "disclosed"),
            tuple(body),
            is_private=True,
        ),
    )


def number_disclosed_by_sums(parts: Floats, priors: Floats, noise: Noise) -> int:
    """Values the ratio attack would disclose where a group is known only as the sum of its noisy parts.

    The sum is noisier than a published group, and shares the noise of the part; both noises are taken as
    normal, as the attack itself does there.

    Examples
    --------
    >>> parts = np.array([[900.0, 100.0], [100.0, 900.0]])
    >>> number_disclosed_by_sums(parts, np.array([0.2, 0.8]), DiscreteLaplace(scale=2.0))
    1
    """
    groups = np.broadcast_to(parts.sum(axis=1, keepdims=True), parts.shape)
    occurs = parts > 0
    part, group = parts[occurs], groups[occurs]
    jump = part / group / np.broadcast_to(priors, parts.shape)[occurs]
    worth = jump >= SMALLEST_JUMP
    own = math.sqrt(noise.variance)
    close = gaussian_closeness(
        part[worth],
        group[worth],
        own,
        own * math.sqrt(parts.shape[1]),
        tolerance=TOLERANCE,
        covariance=noise.variance,
    )
    return int(np.count_nonzero(close >= SMALLEST_CLOSENESS))


def expected_relative_errors(counts: Floats, noise: Noise, rows: int) -> Floats:
    """``E|noise| / max(count, sanity)`` for every cell (Han 2016, section 3.4).

    Examples
    --------
    >>> noise = DiscreteLaplace(scale=48.0)
    >>> expected_relative_errors(np.array([480.0, 0.0]), noise, 100_000).round(2).tolist()
    [0.1, 4.8]
    """
    return np.asarray(mean_size(noise) / np.maximum(counts, SANITY_SHARE * rows))


def mean_size(noise: Noise) -> float:
    """``E|noise|``, without a sum over its support, which grows with the scale.

    Examples
    --------
    >>> round(mean_size(DiscreteLaplace(scale=48.0)), 3), f"{mean_size(DiscreteLaplace(scale=1e9)):.4g}"
    (47.997, '1e+09')
    """
    if isinstance(noise, DiscreteLaplace):
        # 2q / (1 - q^2) with q = exp(-1/scale), with no exponential that overflows.
        return 2 * noise.ratio / -math.expm1(-2 / noise.scale)
    if noise.scale > LARGEST_SUMMED_GAUSSIAN:
        # Half of E|k| is sum k exp(-k^2 / 2 s^2) = s^2 - 1/12 + O(1/s^2), by Euler and Maclaurin.
        return 2 * (noise.scale**2 - 1 / 12) / (math.sqrt(2 * math.pi) * noise.scale)
    support = np.arange(1, math.ceil(40 * noise.scale) + 2)
    return float(2 * np.sum(support * noise.probability(support)))
