"""What noisy count publishing will show, before any budget is spent."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sfumato.chance.noise import DiscreteLaplace
from sfumato.methods.columnized_counts.law.noisy_count_matrix import NoisyCountMatrix
from sfumato.values.arrays import Integers
from sfumato.values.number_text import Cell
from sfumato.values.result_tables import ResultTable

PROBABILITIES = (0.01, 0.5, 0.99)
"""Release probabilities whose counts a plan states."""

SIZES = (5, 10, 20, 30, 50, 100, 200, 500, 1_000, 10_000)
"""True counts for which a plan states the expected noise level."""

NOTHING = "nothing would survive"


def threshold_table(matrix: NoisyCountMatrix, columns: int, rows: int, total_epsilon: float) -> ResultTable:
    """From which count on a row of a column appears; the same for every column."""
    counts = [matrix.threshold(each) for each in PROBABILITIES]
    total = DiscreteLaplace(scale=1 / total_epsilon).variance if total_epsilon else 0.0
    body: list[tuple[Cell, ...]] = [
        ("columns", columns),
        ("epsilon of a column", matrix.epsilon),
        ("delta of a column", matrix.delta),
        *(
            (f"copies to appear with probability {each:g}", n)
            for each, n in zip(PROBABILITIES, counts, strict=True)
        ),
        ("expected error of a large count", float(matrix.expected_noise([10**9])[0] * 10**9)),
        ("epsilon of the number of rows", total_epsilon),
        ("standard error of the number of rows", math.sqrt(total) if total else "not published"),
        ("rows of the table", rows),
        ("probability that as many equal rows appear", float(matrix.release_probabilities_of([rows])[0][0])),
    ]
    return ResultTable("Release threshold of a row", ("what", "value"), tuple(body))


def noise_table(matrix: NoisyCountMatrix, rows: int) -> ResultTable:
    """Expected noise level by true count."""
    counts = np.array([each for each in SIZES if each <= rows] or [rows])
    appears, _ = matrix.release_probabilities_of(counts)
    levels = matrix.expected_noise(counts)
    return ResultTable(
        "Expected noise level, mean of |published - true| / true, by true count of a row",
        ("true count", "probability to appear", "noise level"),
        tuple(
            (int(count), float(share), float(level))
            for count, share, level in zip(counts, appears, levels, strict=True)
        ),
    )


def survival_table(matrix: NoisyCountMatrix, counts: Sequence[Integers]) -> ResultTable:
    """Which share of each column's rows to expect in the release. Private.

    Parameters
    ----------
    counts
        For each column the number of copies of every different fragment.
    """
    body: list[tuple[Cell, ...]] = []
    for number, each in enumerate(counts, start=1):
        appears, _ = matrix.release_probabilities_of(each)
        rows = int(each.sum())
        published = float(appears.sum())
        share = float((appears * each).sum() / max(rows, 1))
        level = float((matrix.expected_noise(each) * each).sum() / max(rows, 1))
        verdict = NOTHING if published < 0.5 else "ok"
        body.append((number, rows, each.size, int(each.max(initial=0)), published, share, level, verdict))
    return ResultTable(
        "Expected to survive, by column",
        (
            "column",
            "rows",
            "different",
            "largest count",
            "different expected",
            "share of rows",
            "noise level",
            "verdict",
        ),
        tuple(body),
        is_private=True,
    )
