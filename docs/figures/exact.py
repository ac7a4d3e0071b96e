"""Numbers on pages that follow from formulas: each computed anew by the functions that the product uses.

A figure is a page and the text that must stand on it, numbers filled in.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from sfumato.attacks.ratio_law import closeness_probability, gaussian_closeness, ratio_quantiles
from sfumato.attacks.small_sums import exposed_share
from sfumato.guarantees.reconstruction_privacy import chernoff_cap, exact_tails, exact_uniform_cap, normal_cap
from sfumato.guarantees.small_sum_privacy import (
    averaged_error_probability,
    error_probabilities,
    exact_threshold,
    homogeneous_error_probability,
    misprinted_lemma_1_threshold,
    odds_factor,
    smallest_error_probability,
)
from sfumato.methods.columnized_counts.noisy_counts import NoisyCountMatrix
from sfumato.randomness.noise import DiscreteLaplace, Laplace

Figure = tuple[str, str]
DECOYS = "docs/methods/splu-gen.md"
LAMBDA = DELTA = 0.3


def figures() -> Iterator[Figure]:
    """All of them."""
    yield from averaging()
    yield from decoys()
    yield from retentions_of_decoys()
    yield from columnized_counts()
    yield from reconstruction()
    yield from ratio()
    normal = 1 - math.exp(-1.96 * math.sqrt(2))
    yield (
        "docs/methods/noisy-marginals.md",
        f"1.96 standard errors would hold one Laplace cell with probability {normal:.3f} only.",
    )


def short(number: float, digits: int) -> str:
    """Without the nought before the point, as tables have it."""
    return f"{number:.{digits}f}".removeprefix("0")


def averaging() -> Iterator[Figure]:
    """The mean of small counts over releases."""
    for releases in (1, 5, 20, 100):
        wrong = error_probabilities([3], 10, 0.3, releases=releases)[0]
        seen = exposed_share(10, releases)
        yield "docs/attacks/averaging.md", f"| {releases} | {wrong:.3f} | {seen:.2f} |"
    after = ", ".join(f"{error_probabilities([3], 10, 0.3, releases=each)[0]:.2f}" for each in (1, 5, 20))
    yield DECOYS, f"at gamma 10 and three rows the error probability is {after} after 1, 5, 20 releases."


def decoys() -> Iterator[Figure]:
    """Small-sum privacy, large-sum utility, the odds factor, and where theorem 4 fails."""
    yield DECOYS, f"{odds_factor(8, 4_000, 10):.0f} for a value of 8 rows in 4,000 at gamma 10"
    odds = 7 / 2 * odds_factor(8, 4_000, 10)
    yield (
        DECOYS,
        f"Seven of the nine others hold it, odds of 3.5, times 55: {odds / (1 + odds):.1%}".replace(
            "%", " %"
        ),
    )
    small = [f"{smallest_error_probability(largest, 10, 0.3):.2f}" for largest in (3, 5, 10)]
    yield DECOYS, f"gamma 10 and 0.3: {small[0]} for counts up to 3, {small[1]} up to 5, {small[2]} up to 10"
    tied = [
        min(averaged_error_probability(count, (10,) * number, 0.3) for count in range(1, 11))
        for number in (1, 2, 3, 4)
    ]
    told = ", ".join(f"{each:.2g}" for each in tied)
    yield DECOYS, f"their counts can be averaged: {told} for 1 to 4 attributes at counts up to 10."
    raised = error_probabilities([10], 10, 0.3, smallest_count=10)[0]
    yield DECOYS, f"at gamma 10 and t = 10 they are wrong with probability {raised:.2f} instead of {small[2]}"
    yield DECOYS, f"at gamma 10, 0.3 and 0.05 from {exact_threshold(10, 0.3, 0.05)} rows on."
    printed = misprinted_lemma_1_threshold(10, 0.3, 0.05)
    yield DECOYS, f"divide by the number of draws twice and say {printed:.2f}"
    exact, promised = homogeneous_error_probability(3, 5, 0.3), smallest_error_probability(3, 5, 0.3)
    yield DECOYS, f"answered wrongly with probability {exact:.3f}, not {promised:.3f}."
    fails = [gamma for gamma in range(2, 11) if _theorem_4_fails(gamma, 0.3)]
    yield DECOYS, f"it fails for every gamma from {min(fails)} to {max(fails)} and holds"
    assert fails == list(range(2, 9))
    assert not homogeneous_error_probability(7, 10, 0.2) >= smallest_error_probability(7, 10, 0.2)
    yield DECOYS, "at 0.2 it fails there too (a group of seven)"
    for gamma, size in ((2, 2), (2, 5), (5, 3), (5, 6), (10, 3)):
        alone = homogeneous_error_probability(size, gamma, 0.3)
        theirs = smallest_error_probability(size, gamma, 0.3)
        yield "docs/attacks/small-sum.md", f"| {gamma} | {size} | {alone:.3f} | {theirs:.3f} |"


def _theorem_4_fails(gamma: int, error: float) -> bool:
    return any(
        homogeneous_error_probability(size, gamma, error) < smallest_error_probability(size, gamma, error)
        for size in range(1, 11)
    )


def retentions_of_decoys() -> Iterator[Figure]:
    """A row that shows its own value with p in place of one in gamma: sums of two binomials, as the page of the decision has them."""
    page = "docs/decisions/0095-decoys-keep-their-own-value-with-one-in-gamma.md"
    for one_in, gamma in ((3, 3), (3, 10), (5, 5), (5, 10), (5, 3), (10, 10), (10, 5)):
        kept, other = 1 / one_in, (1 - 1 / one_in) / (gamma - 1)
        wrong = [_wrong_by_two(count, gamma, kept) for count in (1, 3, 10)]
        if gamma == one_in:
            assert np.allclose(wrong, error_probabilities([1, 3, 10], gamma, 0.3))
        spread = (1 - kept) * (1 + kept - other)
        name = f"{gamma} (uniform)" if gamma == one_in else str(gamma)
        told = ", ".join(short(each, 2) for each in wrong)
        yield page, f"| 1/{one_in} | {name} | {kept / (1 - kept):.2f} | {spread:.2f} | {told} |"
    yield (
        page,
        f"a count of ten off by more than 30 % with probability {short(_wrong_by_two(10, 2, 0.1), 2)}",
    )


def _wrong_by_two(count: int, gamma: int, kept: float) -> float:
    """Probability that a count is off by more than 30 %: rows that hold the value, and the others of their groups."""
    chances = np.convolve(_binomial(count, kept), _binomial((gamma - 1) * count, (1 - kept) / (gamma - 1)))
    return float(chances[10 * np.abs(np.arange(chances.size) - count) > 3 * count].sum())


def _binomial(number: int, chance: float) -> np.ndarray:  # type: ignore[type-arg]
    return np.array(
        [
            math.comb(number, each) * chance**each * (1 - chance) ** (number - each)
            for each in range(number + 1)
        ]
    )


def columnized_counts() -> Iterator[Figure]:
    """From how many rows on a row appears."""
    page = "docs/methods/columnized-counts.md"
    for name, epsilon in (("epsilon 1", 1.0), ("ln 5", math.log(5)), ("ln 10", math.log(10))):
        cells = (_appears(epsilon, delta) for delta in (1e-3, 1e-5, 1e-7))
        yield page, f"| {name} | {' | '.join(', '.join(map(str, each)) for each in cells)} |"
    first = NoisyCountMatrix(k=10, epsilon=1 / 8, delta=1e-5 / 8).threshold(0.5)
    yield (
        page,
        f"with a budget of 8, epsilon 1 and delta 1e-5 a row appears with probability .5 from {first} copies on.",
    )
    yield page, f"of exp(epsilon of the total), {math.exp(0.05):.2f} at epsilon 1."


def _appears(epsilon: float, delta: float) -> list[int]:
    matrix = NoisyCountMatrix(k=10, epsilon=epsilon, delta=delta)
    return [matrix.threshold(share) for share in (0.01, 0.5, 0.99)]


def reconstruction() -> Iterator[Figure]:
    """True probabilities at the cap."""
    page = "docs/methods/sample-perturb-scale.md"
    stated = {"relative_error": LAMBDA, "error_probability": DELTA}
    normal = []
    for size, frequency, retention, remark in (
        (2, 0.5, 0.5, ""),
        (50, 0.1, 0.5, ""),
        (10, 1.0, 0.5, " (uniform cap)"),
    ):
        cap = int(chernoff_cap([frequency], retention=retention, size=size, **stated)[0])
        tails = exact_tails(
            cap, round(cap * frequency), retention=retention, size=size, relative_error=LAMBDA
        )
        share = short(frequency, 1) if frequency < 1 else "1"
        lower = short(tails.lower, 4 if tails.lower < 0.01 else 3)
        within = short(1 - tails.lower - tails.upper, 3)
        yield page, f"| {size}, {share}, {short(retention, 1)}{remark} | {cap} | {lower} | {within} |"
        normal.append(int(normal_cap([frequency], retention=retention, size=size, **stated)[0]))
    yield page, f"{normal[0]} for the 214 above and {normal[1]} for the 642."
    few = exact_uniform_cap(retention=0.2, size=10, **stated)
    many = int(chernoff_cap([1.0], retention=0.2, size=10, **stated)[0])
    yield page, f"Such caps are small, {few} rows in place of {many} at retention .2 and ten categories"


def ratio() -> Iterator[Figure]:
    """Han's example: 420 of 501."""
    page = "docs/attacks/ratio.md"
    for scale in (200, 20, 4):
        one = float(closeness_probability(420, 501, Laplace(scale=scale), tolerance=0.2))
        other = float(closeness_probability(420, 501, DiscreteLaplace(scale=scale), tolerance=0.2))
        spread = ", ".join(f"{each:.2f}" for each in ratio_quantiles([0.05, 0.5, 0.95], 420, 501, scale))
        yield page, f"| {scale} | {one:.4f} | {other:.4f} | {spread} |"
    yield page, f"24.8 % of all do. The jump is {420 / 501 / 0.248:.2f}."
    variance = 2 * 50**2
    summed = gaussian_closeness(
        420, 501, math.sqrt(variance), math.sqrt(2 * variance), tolerance=0.2, covariance=variance
    )
    yield page, f"({float(summed):.3f} for {_two_cells():.3f} with two cells, 420 of 501 and scale 50)"


def _two_cells() -> float:
    """Laplace noise on a part and on the rest of its group: the ratio of the part to the sum, by adding up densities."""
    step = 0.5
    at = np.arange(-1_500, 1_500 + step, step)
    density = np.exp(-np.abs(at) / 50) / 100 * step
    cumulative = np.cumsum(density)
    share = 420 / 501
    part = 420 + at
    # part / (part + rest) within 20 % of the share: the rest between part (1 / high - 1) and part (1 / low - 1).
    low, high = part * (1 / min(1.2 * share, np.inf) - 1), part * (1 / (0.8 * share) - 1)
    inside = np.interp(high - 81, at, cumulative) - np.interp(low - 81, at, cumulative)
    return float((density * inside)[part > 0].sum())
