"""Auditing by brute force: tiny tables, every output, the definitions themselves.

A mechanism is a function from rows to the probabilities of its outputs. On a domain of a few values all
tables up to a few rows can be tried, so that a promise is refuted by an example or survives all of them.
"Not refuted" is said of the tables tried and of nothing else.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.errors import ParameterError

Row = Hashable
Rows = tuple[Row, ...]
Probability = Fraction | float
Mechanism = Callable[[Rows], Mapping[Any, Probability]]
"""Rows to the probability of every possible output; probabilities may be fractions, and then all is exact."""

LARGEST_NUMBER_OF_TABLES = 100_000
"""Tables that an exhaustive audit may try."""


@dataclass(frozen=True)
class Refutation:
    """A table on which a promise fails.

    Parameters
    ----------
    promise
        What was tested.
    rows
        The table.
    detail
        What went wrong, in numbers.
    """

    promise: str
    rows: Rows
    detail: str


@dataclass(frozen=True)
class BruteForceVerdict:
    """Outcome of an exhaustive audit.

    Parameters
    ----------
    refutations
        The first table found for each promise that fails.
    tables_tried
        How many tables there were.
    """

    refutations: tuple[Refutation, ...]
    tables_tried: int

    @property
    def is_refuted(self) -> bool:
        """Some promise failed on some table."""
        return bool(self.refutations)

    def __str__(self) -> str:
        if not self.refutations:
            return f"not refuted on {self.tables_tried:,} tables"
        return "; ".join(f"{each.promise}: refuted ({each.detail})" for each in self.refutations)


def is_close(one: Mapping[Any, Probability], other: Mapping[Any, Probability], growth: Probability) -> bool:
    """Whether no output's probabilities differ by more than a factor; 0/0 counts as 1.

    Examples
    --------
    >>> is_close({"a": 0.5, "b": 0.5}, {"a": 0.4, "b": 0.6}, 1.25), is_close({"a": 1}, {"b": 1}, 100)
    (True, False)
    """
    return all(
        one.get(output, 0) <= growth * other.get(output, 0)
        and other.get(output, 0) <= growth * one.get(output, 0)
        for output in {*one, *other}
    )


def rows_not_anonymous(mechanism: Mechanism, rows: Sequence[Row], k: int, growth: Probability = 1) -> Rows:
    """Values of the rows for which both conditions of semantic (k, epsilon)-anonymity fail.

    Parameters
    ----------
    mechanism
        What is audited.
    rows
        The table.
    k
        The crowd.
    growth
        exp(epsilon); 1 asks for equal distributions.

    References
    ----------
    Li and Li, definition 4. "Tuples other than t" are other rows: equal values count.

    Examples
    --------
    >>> from exact.toy_mechanisms import duplicating
    >>> rows_not_anonymous(duplicating(2), "abc", 2)
    ('a', 'b', 'c')
    """
    table = tuple(rows)
    here = mechanism(table)
    failing = []
    for value in dict.fromkeys(table):
        place = table.index(value)
        rest = table[:place] + table[place + 1 :]
        if is_close(here, mechanism(rest), growth):
            continue
        # Every other row's value is tried once and counted as often as it occurs.
        safe = sum(
            rest.count(other)
            for other in dict.fromkeys(rest)
            if is_close(here, mechanism((*rest, other)), growth)
        )
        if safe < k - 1:
            failing.append(value)
    return tuple(failing)


def pointwise_delta(
    one: Mapping[Any, Probability], other: Mapping[Any, Probability], growth: Probability
) -> Probability:
    """Mass of the outputs whose ratio is not within exp(±epsilon), under the table that gives them more.

    References
    ----------
    Li and Li, definition 2.

    Examples
    --------
    >>> pointwise_delta({"a": Fraction(9, 10), "b": Fraction(1, 10)}, {"a": Fraction(1)}, 2)
    Fraction(1, 10)
    """
    unsafe = [
        output
        for output in {*one, *other}
        if one.get(output, 0) > growth * other.get(output, 0)
        or other.get(output, 0) > growth * one.get(output, 0)
    ]
    return max(sum(each.get(output, 0) for output in unsafe) for each in (one, other))


def additive_delta(
    one: Mapping[Any, Probability], other: Mapping[Any, Probability], growth: Probability
) -> Probability:
    """Smallest delta of the standard form, in both directions: sum of ``max(0, p - exp(epsilon) q)``.

    Examples
    --------
    >>> additive_delta({"a": Fraction(9, 10), "b": Fraction(1, 10)}, {"a": Fraction(1)}, 2)
    Fraction(1, 10)
    """

    def excess(mine: Mapping[Any, Probability], yours: Mapping[Any, Probability]) -> Probability:
        return sum(
            (max(p - growth * yours.get(output, 0), 0) for output, p in mine.items()), start=0 * growth
        )

    return max(excess(one, other), excess(other, one))


def audit_mechanism(
    mechanism: Mechanism,
    domain: Iterable[Row],
    largest_table: int,
    *,
    k: int | None = None,
    growth: Probability = 1,
    pointwise: Probability | None = None,
    additive: Probability | None = None,
) -> BruteForceVerdict:
    """Try every table up to a size against the promises that are named.

    Parameters
    ----------
    mechanism, domain
        What is audited, and the values that rows may have.
    largest_table
        Rows of the largest table tried.
    k
        Test semantic k-anonymity with equal distributions.
    growth
        exp(epsilon) of the differential privacy tested.
    pointwise, additive
        The delta claimed in either form, one row more or less; None leaves the form untested.

    Examples
    --------
    >>> from exact.toy_mechanisms import sampling
    >>> verdict = audit_mechanism(sampling(Fraction(1, 5)), "ab", 2, k=2, growth=2, additive=Fraction(1, 10))
    >>> print(verdict)
    semantic 2-anonymity: refuted (fails for 1 of 1 rows); additive differential privacy: refuted (delta 1/5)
    """
    values = list(domain)
    tables = [
        rows
        for size in range(1, largest_table + 1)
        for rows in itertools.combinations_with_replacement(values, size)
    ]
    if len(tables) > LARGEST_NUMBER_OF_TABLES:
        raise ParameterError(
            f"{len(tables):,} tables are too many for brute force; at most {LARGEST_NUMBER_OF_TABLES:,}. "
            "Use fewer values or smaller tables."
        )
    found: dict[str, Refutation] = {}
    claims = (("pointwise", pointwise, pointwise_delta), ("additive", additive, additive_delta))
    for rows in tables:
        if k is not None and (failing := rows_not_anonymous(mechanism, rows, k)):
            promise = f"semantic {k}-anonymity"
            count = sum(rows.count(each) for each in failing)
            found.setdefault(promise, Refutation(promise, rows, f"fails for {count} of {len(rows)} rows"))
        for value in dict.fromkeys(rows):
            place = rows.index(value)
            smaller = mechanism(rows[:place] + rows[place + 1 :])
            for name, claimed, measure in claims:
                if claimed is None:
                    continue
                measured = measure(mechanism(rows), smaller, growth)
                if measured > claimed:
                    promise = f"{name} differential privacy"
                    found.setdefault(promise, Refutation(promise, rows, f"delta {measured}"))
    return BruteForceVerdict(tuple(found.values()), len(tables))


def refute_pure_privacy(matrix: Sequence[Sequence[Probability]], growth: Probability) -> int | None:
    """First row of a count matrix that breaks epsilon-differential privacy, or None when none does.

    A matrix whose row 0 publishes nothing breaks it at its first row that publishes something, whatever
    epsilon: theorem 3 of Li and Li.

    Examples
    --------
    >>> refute_pure_privacy([[1, 0], [1, 0], [0.9, 0.1]], 1e6)
    2
    """
    for number, (before, after) in enumerate(itertools.pairwise(matrix), start=1):
        if not is_close(dict(enumerate(before)), dict(enumerate(after)), growth):
            return number
    return None
