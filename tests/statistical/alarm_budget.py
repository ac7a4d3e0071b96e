"""One alarm budget for every random check of the suite.

A correct build may fail somewhere in ``tests/statistical`` in at most one run in ten thousand
(``ALARM_PER_RUN``). That chance is shared out evenly: a check draws its own ``ALPHA`` by name, and
``test_alarm_budget.py`` asserts that no more than ``MAXIMUM_CHECKS`` names are drawn.

How to write a check
--------------------
Take the fixture ``alarm_budget`` (this module), name the check with a literal text, draw noise from
its seed, compute a p-value that is valid under the null, and show that a broken twin is caught::

    def test_coin_is_fair(alarm_budget):
        '''Null: heads with probability 1/2. Statistic: number of heads, exact binomial. n = 10**6.

        Twin: 0.51, which lies 20 standard errors off.
        '''
        check = alarm_budget.draw("coin is fair")
        ...
        alarm_budget.assert_passes(alarm_budget.binomial_p_value(heads, n, 0.5), check)
        alarm_budget.assert_rejects(alarm_budget.binomial_p_value(twin_heads, n, 0.5), check)

- The docstring states null, statistic, exact or asymptotic, sample size; alpha is ``check.alpha``.
- A test with several p-values, or with parameters, draws with ``pieces=`` their number: each piece
  has its share of the one alpha.
- A twin that is missed is an alarm too. Choose n so that it lies ``TWIN_DISTANCE`` standard errors
  or more from the null; then it is missed less than once in 10**11 runs.
- No retries and no widened tolerances: change n or the statistic, and say why.

Seeds
-----
Seeds follow from the name of the check, so ordinary runs repeat exactly. ``SFUMATO_FRESH_SEED=1``
takes fresh entropy and prints it; any larger number in its place repeats the run that printed it.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import math
import os
import secrets
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

ALARM_PER_RUN = 1e-4
MAXIMUM_CHECKS = 200
ALPHA = ALARM_PER_RUN / MAXIMUM_CHECKS
TWIN_DISTANCE = 12
FRESH_SEED_VARIABLE = "SFUMATO_FRESH_SEED"
# Chi-square is a limit law. Where a p-value meets ALPHA, a rare cell with this expected count is
# rejected 1.25 times as often as the limit says, one with an expected count of 100 2.5 times
# (Poisson tails). More cells share the deviation and come closer to the limit.
MINIMUM_EXPECTED = 1000

_TESTS = Path(__file__).resolve().parent.parent
_times_drawn: Counter[str] = Counter()


@dataclass(frozen=True)
class Check:
    """A named random check, with the alarm rate and the seed that belong to it."""

    name: str
    alpha: float
    seed: int


@dataclass(frozen=True)
class RegisteredCheck:
    """A place in the source where a check is drawn."""

    name: str
    pieces: int
    place: str


def entropy() -> int | None:
    """Give the fresh entropy of this run, or nothing when seeds are fixed.

    The drawn number replaces the 1 in the environment, so that worker processes use the same.
    """
    asked = os.environ.get(FRESH_SEED_VARIABLE, "")
    if asked in {"", "0"}:
        return None
    if asked == "1":
        asked = os.environ[FRESH_SEED_VARIABLE] = str(secrets.randbits(62) + 2)
    return int(asked)


def entropy_message() -> str:
    """Say how the seeds of this run were made and how to repeat them."""
    fresh = entropy()
    if fresh is None:
        return f"seeds fixed; {FRESH_SEED_VARIABLE}=1 takes fresh ones"
    return f"seeds fresh; {FRESH_SEED_VARIABLE}={fresh} repeats them"


def find_draws(source: str, place: str) -> Iterator[RegisteredCheck]:
    """Yield each ``alarm_budget.draw("name")`` in a Python source text.

    Examples
    --------
    >>> [each.name for each in find_draws('alarm_budget.draw("coin is fair")', "here")]
    ['coin is fair']
    """
    # Most files draw nothing, and taking all of them apart takes a second in each worker process.
    for node in ast.walk(ast.parse(source)) if "alarm_budget" in source else ():
        if not (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and ast.unparse(node.func) == "alarm_budget.draw"
        ):
            continue
        pieces = {keyword.arg: keyword.value for keyword in node.keywords}.get("pieces")
        try:
            name = ast.literal_eval(node.args[0])
            number = 1 if pieces is None else ast.literal_eval(pieces)
        except ValueError as error:
            raise AssertionError(
                f"{place}:{node.lineno}: the name and pieces of a check must be written out, "
                "so that the budget can be counted without running it."
            ) from error
        yield RegisteredCheck(name, number, f"{place}:{node.lineno}")


@functools.cache
def registered_checks() -> tuple[RegisteredCheck, ...]:
    """Give every check that any test draws, by reading the sources.

    Reading instead of running makes the count the same in every worker process and for any
    selection of tests.
    """
    return tuple(
        check
        for path in sorted(_TESTS.rglob("test_*.py"))
        for check in find_draws(path.read_text(encoding="utf-8"), str(path.relative_to(_TESTS)))
    )


def draw(name: str, *, pieces: int = 1) -> Check:
    """Draw the alpha of a check; each name once, or once for each of its pieces.

    Parameters
    ----------
    name
        What is checked; unique in the suite, and written as a literal in the call.
    pieces
        Number of p-values among which the alpha is split.

    Examples
    --------
    >>> draw("no test draws this")
    Traceback (most recent call last):
    AssertionError: check 'no test draws this' is not in the sources...
    """
    declared = {check.name: check.pieces for check in registered_checks()}
    if declared.get(name) != pieces:
        raise AssertionError(
            f"check {name!r} is not in the sources with pieces={pieces}. "
            'Write alarm_budget.draw("...") with a literal name in a test file.'
        )
    _times_drawn[name] += 1
    if _times_drawn[name] > pieces:
        raise AssertionError(
            f"check {name!r} was drawn {_times_drawn[name]} times and declares {pieces}. "
            "Give pieces= the number of p-values, so that the alpha is split."
        )
    # Pieces share the seed: the order in which worker processes draw them must not matter.
    seed = int.from_bytes(hashlib.sha256(f"{entropy()}:{name}".encode()).digest()[:8], "big")
    return Check(name, ALPHA / pieces, seed)


def binomial_p_value(successes: int, trials: int, probability: float) -> float:
    """Two-sided p-value of a number of successes, exact: twice the smaller tail.

    Examples
    --------
    >>> binomial_p_value(0, 10, 0.5) == 2 / 2**10
    True
    """
    from scipy.stats import binom

    below = binom.cdf(successes, trials, probability)
    above = binom.sf(successes - 1, trials, probability)
    return float(min(1.0, 2 * min(below, above)))


def coverage_p_value(covered: int, replicates: int, confidence_level: float) -> float:
    """Two-sided p-value that intervals cover as often as they say, exact binomial.

    Intervals that are too wide are caught as well as those that are too narrow.
    """
    return binomial_p_value(covered, replicates, confidence_level)


def coverage_acceptance(
    replicates: int, confidence_level: float, *, alpha: float = ALPHA
) -> tuple[float, float]:
    """Smallest and largest observed coverage that pass, to choose the number of replicates."""
    from scipy.stats import binom

    lowest = int(binom.ppf(alpha / 2, replicates, confidence_level))
    highest = int(binom.isf(alpha / 2, replicates, confidence_level))
    return lowest / replicates, highest / replicates


def chi_square_p_value(
    observed: npt.ArrayLike, expected: npt.ArrayLike, *, minimum_expected: float = MINIMUM_EXPECTED
) -> float:
    """P-value of Pearson's goodness of fit, asymptotic.

    Parameters
    ----------
    observed, expected
        Counts, (n_cells,) or (n_groups, n_cells). Each group is one multinomial sample whose size
        is fixed, so a group loses one degree of freedom.
    minimum_expected
        Cells of a group that expect less are pooled, smallest first, until they do not.

    Examples
    --------
    >>> chi_square_p_value([5000, 5000], [5000, 5000])
    1.0
    >>> chi_square_p_value([9999, 1], [10000, 0])
    0.0
    """
    from scipy.stats import chi2

    statistic, degrees = 0.0, 0
    seen, awaited = np.atleast_2d(observed), np.atleast_2d(np.asarray(expected, float))
    for group_seen, group_awaited in zip(seen, awaited, strict=True):
        if not math.isclose(group_seen.sum(), group_awaited.sum(), rel_tol=1e-9):
            raise AssertionError("observed and expected counts of a group have different sums.")
        if group_seen[group_awaited == 0].any():
            return 0.0
        if not group_awaited.any():
            continue
        cells = _pool(group_seen, group_awaited, minimum_expected)
        statistic += sum((count - mean) ** 2 / mean for count, mean in cells)
        degrees += len(cells) - 1
    if degrees == 0:
        raise AssertionError("pooling left one cell in each group: draw a larger sample.")
    return float(chi2.sf(statistic, degrees))


def _pool(
    observed: npt.NDArray[np.number], expected: npt.NDArray[np.float64], minimum_expected: float
) -> list[tuple[float, float]]:
    """Give (observed, expected) of each cell after pooling the small ones."""
    cells = [(float(observed[i]), float(expected[i])) for i in np.argsort(expected)]
    while len(cells) > 1 and cells[0][1] < minimum_expected:
        (first_count, first_mean), (second_count, second_mean) = cells[:2]
        pooled = (first_count + second_count, first_mean + second_mean)
        cells = sorted([pooled, *cells[2:]], key=lambda cell: cell[1])
    return cells


def mean_p_value(
    values: npt.ArrayLike, expected_mean: float, *, standard_deviation: float | None = None
) -> float:
    """Two-sided p-value of a mean by its z-score, asymptotic.

    Without a standard deviation the sample's own is used, which needs some ten thousand values.
    Heavy tails need more: the skewness of the mean times 20 should be well below 1.

    Examples
    --------
    >>> mean_p_value([1.0, 3.0], 2.0, standard_deviation=1.0)
    1.0
    """
    from scipy.stats import norm

    sample = np.asarray(values, float)
    deviation = sample.std(ddof=1) if standard_deviation is None else standard_deviation
    z_score = (sample.mean() - expected_mean) * math.sqrt(sample.size) / deviation
    return float(2 * norm.sf(abs(z_score)))


def assert_passes(p_value: float, check: Check) -> None:
    """Fail unless the p-value is above the check's alpha."""
    if not p_value > check.alpha:
        raise AssertionError(
            f"{check.name!r} is rejected: p = {p_value:.3g}, alpha = {check.alpha:.3g} "
            f"({entropy_message()}). A correct build does this less than once in "
            f"{1 / ALARM_PER_RUN:,.0f} runs of the whole suite: look for the bug, do not run again."
        )


def assert_rejects(p_value: float, check: Check) -> None:
    """Fail unless the p-value of a broken twin is at or below the check's alpha."""
    if not p_value <= check.alpha:
        raise AssertionError(
            f"{check.name!r} did not catch its broken twin: p = {p_value:.3g}, "
            f"alpha = {check.alpha:.3g} ({entropy_message()}). The check has no power: "
            "take a larger sample or a statistic that sees the fault."
        )
