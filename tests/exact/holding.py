"""What promises state beside what tiny tables, tried exhaustively, show to be true."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from exact.enumeration import (
    ALLOWANCE,
    REFUSED,
    Outputs,
    exponential,
    largest_ratio,
    outputs_of,
    published,
    valid_groups,
)
from sfumato.data.engine import ArrayEngine, CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.errors import SfumatoError
from sfumato.guarantees import Guarantee
from sfumato.guarantees.small_sum_privacy import exact
from sfumato.methods.base import Design
from sfumato.schema import Schema

Row = tuple[int, ...]
Rows = tuple[Row, ...]


class TooStrongError(AssertionError):
    """A promise states more than is true."""


def hold(stated: Fraction | float, true: Fraction | float, what: str) -> None:
    """Refuse a stated number that is smaller than the true one.

    Raises
    ------
    TooStrongError
        With both numbers.
    """
    if stated < true and not (math.isfinite(true) and Fraction(true) <= Fraction(stated) * (1 + ALLOWANCE)):
        raise TooStrongError(f"{what}: states {float(stated):.17g}, and {float(true):.17g} is true")


def table_of(schema: Schema, rows: Rows) -> PrivateTable:
    """Private rows from the codes of the published attributes, in their order."""
    names = schema.names
    codes = {name: np.array([row[place] for row in rows], np.uint8) for place, name in enumerate(names)}
    return PrivateTable(CodedRows(schema, codes), schema, engine=ArrayEngine())


def mechanism(design: Design | Callable[[PrivateTable], Design], schema: Schema) -> Callable[[Rows], Outputs]:
    """Rows to the probability of everything that can be seen; a design may be chosen from the rows first."""

    @cache
    def outputs(rows: Rows) -> Outputs:
        table = table_of(schema, rows)
        try:
            chosen = design if isinstance(design, Design) else design(table)
        except SfumatoError:
            return {REFUSED: Fraction(1)}
        return outputs_of(lambda: published(table, chosen))

    return outputs


def alike(one: Outputs, other: Outputs) -> bool:
    """Whether two tables have the same manifests: what a promise may take as known is in them."""
    return {_manifest(each) for each in one} == {_manifest(each) for each in other}


def _manifest(output: Any) -> Any:
    if output == REFUSED:
        return REFUSED
    described = json.loads(output[0])
    # The law may hold drawn numbers; what was read off the rows are lists of categories and parameters.
    described["sfumato"].pop("law")
    return json.dumps(described, sort_keys=True)


def neighbours(
    tables: Iterable[Rows], places: Sequence[int], rows_per_unit: int = 1
) -> Iterator[tuple[Rows, Rows]]:
    """Tables of as many rows that differ in these places of the rows of one unit, which stand together."""
    for one, other in itertools.combinations(tables, 2):
        different = [n for n, (a, b) in enumerate(zip(one, other, strict=True)) if a != b]
        units = {n // rows_per_unit for n in different}
        is_same_elsewhere = all(
            a[p] == b[p] for a, b in zip(one, other, strict=True) for p in range(len(a)) if p not in places
        )
        if len(units) == 1 and is_same_elsewhere:
            yield one, other


def hold_ratio(
    promise: Guarantee,
    stated: Fraction | float,
    outputs: Callable[[Rows], Outputs],
    pairs: Iterable[tuple[Rows, Rows]],
) -> Fraction | float:
    """Hold a stated factor against the largest likelihood ratio over pairs of tables; gives the largest.

    A promise that takes lists or parameters as known is held against pairs that share them; one that takes nothing as known
    against all.
    """
    worst: Fraction | float = Fraction(0)
    for one, other in pairs:
        if promise.given and not alike(outputs(one), outputs(other)):
            continue
        worst = max(worst, largest_ratio(outputs(one), outputs(other)))
    assert worst, "no two tables were compared"
    hold(stated, worst, promise.model_dump()["guarantee"])
    return worst


def factor(epsilon: float) -> Fraction | float:
    """``exp(epsilon)``."""
    return exponential(Fraction(epsilon)) if math.isfinite(epsilon) else math.inf


@cache
def channel_of_decoys(values: tuple[int, ...], gamma: int) -> dict[tuple[int, int], Fraction]:
    """``Pr(a row shows v | it holds u)`` over all valid partitions, each as likely as any other, by counting."""
    partitions = list(valid_groups(values, gamma))
    met: dict[tuple[int, int], int] = {}
    for groups in partitions:
        for group in groups:
            for row, other in itertools.product(group, repeat=2):
                key = values[row], values[other]
                met[key] = met.get(key, 0) + 1
    held = {u: values.count(u) for u in set(values)}
    return {(u, v): Fraction(n, len(partitions) * held[u] * gamma) for (u, v), n in met.items()}


def true_odds_factor(values: tuple[int, ...], gamma: int, y: int) -> Fraction:
    """By what seeing y multiplies the odds of holding it, others as frequent as in the table: by the channel."""
    shows = channel_of_decoys(values, gamma)
    others = [u for u in values if u != y]
    by_chance = sum(shows.get((u, y), Fraction(0)) for u in others) / len(others)
    return shows[y, y] / by_chance


def published_counts(values: tuple[int, ...], gamma: int, y: int) -> dict[int, Fraction]:
    """Distribution of the published count of y, over all valid partitions and all draws."""
    partitions = list(valid_groups(values, gamma))
    found: dict[int, Fraction] = {}
    for groups in partitions:
        places = sum(gamma for group in groups if y in {values[row] for row in group})
        for shown in range(places + 1):
            chance = (
                math.comb(places, shown)
                * Fraction(1, gamma) ** shown
                * Fraction(gamma - 1, gamma) ** (places - shown)
            )
            found[shown] = found.get(shown, Fraction(0)) + chance / len(partitions)
    return found


def true_error_probability(
    counts: Sequence[dict[int, Fraction]], count: int, relative_error: float, smallest: int
) -> Fraction:
    """Probability that the mean over some tied counts, raised to what every count is known to have, is wrong."""
    allowed, wrong = exact(relative_error) * count, Fraction(0)
    for drawn in itertools.product(*(each.items() for each in counts)):
        mean = Fraction(sum(number for number, _ in drawn), len(drawn))
        answer = max(mean, Fraction(smallest)) if smallest > 1 else mean
        if abs(answer - count) > allowed:
            wrong += math.prod(chance for _, chance in drawn)
    return wrong
