"""Mechanisms small enough to be audited by brute force: copying, sampling, recoding, count publishing, columns, Mondrian."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from exact.brute_force import Mechanism, Probability, Row, Rows
from exact.count_matrices import exact_release_probabilities
from sfumato.methods.columnized_counts.noisy_counts import matrix_row

Matrix = Callable[[int], Sequence[Probability]]
"""Count to the probabilities of publishing 0, 1, 2, ... copies."""


def noisy_count_rows(growth: Fraction, ratio: Fraction, delta: Fraction, k: int, largest: int) -> Matrix:
    """Rows of the practical matrix (eq. 4) in fractions; the last entry is everything from ``largest`` on.

    Copies beyond the largest true count have the same ratios as that count itself, so that taking them
    together changes no verdict.

    Examples
    --------
    >>> row = noisy_count_rows(Fraction(4), Fraction(1, 2), Fraction(1, 10), 2, 4)(2)
    >>> [str(each) for each in row]
    ['9/10', '0', '1/15', '1/60', '1/60']
    """
    appears = exact_release_probabilities(growth, ratio, delta, k, largest)

    def row(count: int) -> list[Probability]:
        head: list[Probability] = list(
            matrix_row(count, largest - 1, k, ratio, appears[count], 1 - appears[count])
        )
        return [*head, 1 - sum(head)]

    return row


def publishing(matrix: Matrix) -> Mechanism:
    """Each different row published with a drawn number of copies, independently."""

    def mechanism(rows: Rows) -> dict[Any, Probability]:
        outputs: dict[Any, Probability] = {frozenset(): Fraction(1)}
        for value, count in Counter(rows).items():
            drawn = [(copies, p) for copies, p in enumerate(matrix(count)) if p]
            outputs = {
                shown | {(value, copies)} if copies else shown: probability * p
                for shown, probability in outputs.items()
                for copies, p in drawn
            }
        return outputs

    return mechanism


def columnized(
    matrix: Matrix, columns: Sequence[Sequence[int]], *, budget: int | None = None, drops_nulls: bool = True
) -> Mechanism:
    """Rows (tuples, None for no value) cut into columns, each published by itself.

    Parameters
    ----------
    budget
        Columns that a row keeps, a uniform choice of those it covers; all when not given.
    drops_nulls
        Fragments without any value are not counted; counting them breaks theorem 7.
    """
    publish = publishing(matrix)

    def cut(rows: Sequence[tuple[tuple[Any, ...], tuple[int, ...]]]) -> dict[Any, Probability]:
        outputs: dict[Any, Probability] = {(): Fraction(1)}
        for number, column in enumerate(columns):
            fragments = tuple(tuple(row[i] for i in column) for row, kept in rows if number in kept)
            drawn = publish(fragments)
            outputs = {
                (*shown, table): probability * p
                for shown, probability in outputs.items()
                for table, p in drawn.items()
            }
        return outputs

    def mechanism(rows: Rows) -> dict[Any, Probability]:
        choices = [_kept_columns(row, columns, budget, drops_nulls=drops_nulls) for row in rows]
        total: Counter[Any] = Counter()
        for kept in itertools.product(*choices):
            weight = Fraction(1)
            for options in choices:
                weight /= len(options)
            for output, probability in cut(list(zip(rows, kept, strict=True))).items():  # type: ignore[arg-type]
                total[output] += weight * probability  # type: ignore[assignment]
        return dict(total)

    return mechanism


def _kept_columns(
    row: Any, columns: Sequence[Sequence[int]], budget: int | None, *, drops_nulls: bool
) -> list[tuple[int, ...]]:
    """The choices of columns a row may keep, equally likely."""
    covered = [
        number
        for number, column in enumerate(columns)
        if not drops_nulls or any(row[i] is not None for i in column)
    ]
    if budget is None or len(covered) <= budget:
        return [tuple(covered)]
    return list(itertools.combinations(covered, budget))


def duplicating(times: int) -> Mechanism:
    """Every row so many times: k-anonymous to look at, and everything is published."""
    return lambda rows: {tuple(sorted(map(repr, rows * times))): Fraction(1)}


def sampling(rate: Probability) -> Mechanism:
    """Every row with the same probability, independently."""

    def mechanism(rows: Rows) -> dict[Any, Probability]:
        outputs: dict[Any, Probability] = {}
        for kept in itertools.product((False, True), repeat=len(rows)):
            output = tuple(sorted(repr(row) for row, is_kept in zip(rows, kept, strict=True) if is_kept))
            probability: Probability = Fraction(1)
            for is_kept in kept:
                probability = probability * (rate if is_kept else 1 - rate)
            outputs[output] = outputs.get(output, 0) + probability
        return outputs

    return mechanism


def fixed_recoding(recode: Callable[[Any], Row], k: int) -> Mechanism:
    """A public recoding, then classes below k dropped (k-DGS)."""

    def mechanism(rows: Rows) -> dict[Any, Probability]:
        coarse = [recode(row) for row in rows]
        return {tuple(sorted(repr(each) for each in coarse if coarse.count(each) >= k)): Fraction(1)}

    return mechanism


def tight_box_mondrian(regions: Sequence[tuple[float, float]]) -> Mechanism:
    """Numbers in fixed regions, each region shown as the smallest box around its rows: extremes leak."""

    def mechanism(rows: Rows) -> dict[Any, Probability]:
        boxes = []
        for low, high in regions:
            inside = [row for row in rows if low <= row < high]  # type: ignore[operator]
            if inside:
                boxes.append((min(inside), max(inside), len(inside)))  # type: ignore[type-var]
        return {tuple(boxes): Fraction(1)}

    return mechanism


def midpoint_mondrian(low: Sequence[float], high: Sequence[float], k: int) -> Mechanism:
    """Fixed midpoint cuts and boundary labels, but a cut is made only when both sides keep k rows.

    The stopping rule depends on single rows, so that it is not semantically k-anonymous either.
    """

    def split(rows: list[Any], box: tuple[tuple[float, ...], tuple[float, ...]], axis: int) -> list[Any]:
        for step in range(len(low)):
            along = (axis + step) % len(low)
            middle = (box[0][along] + box[1][along]) / 2
            left = [row for row in rows if row[along] < middle]
            right = [row for row in rows if row[along] >= middle]
            if len(left) >= k and len(right) >= k:
                ends = tuple(middle if i == along else each for i, each in enumerate(box[1]))
                begins = tuple(middle if i == along else each for i, each in enumerate(box[0]))
                return [*split(left, (box[0], ends), along + 1), *split(right, (begins, box[1]), along + 1)]
        return [(box, len(rows))]

    def mechanism(rows: Rows) -> dict[Any, Probability]:
        return {tuple(split(list(rows), (tuple(low), tuple(high)), 0)): Fraction(1)}

    return mechanism
