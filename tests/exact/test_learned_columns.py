"""Columns learned from noisy similarities: which columns are chosen is seen, like everything else of a release.

Three attributes of two categories are cut into two columns, so that there are three choices. Every noisy two-way table is
enumerated with all its noise: what falls to zero or below is one outcome, as in the code, and what rises above ``TOP`` is put
together to one that is seen as such. Similarities, clustering and publishing are the real code.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import cache
from typing import get_args

import numpy as np
import pytest

from exact.brute_force import pointwise_delta
from exact.enumeration import ALLOWANCE, REFUSED, Outputs, Paths, enumerated, exponential, published
from exact.holding import TooStrongError, factor, hold, table_of
from sfumato.data.long_format import SparseUnits
from sfumato.methods.columnized_counts import count_phase as choice
from sfumato.methods.columnized_counts import count_phase as counting
from sfumato.methods.columnized_counts.design import ColumnizedCounts
from sfumato.methods.columnized_counts.kernels import (
    ItemSimilarity,
    count_pairs,
    overlapping_columns,
    pair_sensitivity,
)
from sfumato.methods.columnized_counts.law import LEARNED_COLUMNS
from sfumato.randomness.noise import DiscreteLaplace
from sfumato.randomness.streams import NoiseSource
from sfumato.schema import Schema

MOST_ROWS = 2
TOP = 2
"""Noisy counts above it are one outcome."""
BEYOND = "a noisy count beyond all that is told apart"
CHOICES = {((0,), (1, 2)), ((0, 1), (2,)), ((0, 2), (1,))}

SCHEMA = Schema.from_dict(
    {"attributes": {name: {"role": "sensitive", "categories": ["x", "y"]} for name in "abc"}}
)
DESIGN = ColumnizedCounts(k=1, epsilon=4.0, delta=0.1, columns=(2,), schema_share=0.5, total_share=0.0)
VALUES = tuple(itertools.product(range(2), repeat=3))
PAIRS = tuple(itertools.combinations(range(3), 2))


def tables(rows):
    """Every table of up to so many rows, in no order."""
    sizes = range(rows + 1)
    return [each for size in sizes for each in itertools.combinations_with_replacement(VALUES, size)]


def neighbours(rows):
    """Tables, and each with one of its rows gone."""
    return [(each, each[:gone] + each[gone + 1 :]) for each in tables(rows) for gone in range(len(each))]


def noise_weights(scale):
    """Probabilities of noise from ``-MOST_ROWS``, which stands for all below, to ``TOP + 1``, for all above."""
    ratio = exponential(-1 / Fraction(scale))
    weights = [(1 - ratio) / (1 + ratio) * ratio ** abs(k) for k in range(-MOST_ROWS, TOP + 2)]
    weights[0] = ratio**MOST_ROWS / (1 + ratio)
    weights[-1] = ratio ** (TOP + 1) / (1 + ratio)
    assert abs(sum(weights) - 1) < ALLOWANCE
    return weights


def similarities_of(counts, epsilon) -> Outputs:
    """Distribution of the similarity of the first two attributes, whose two-way table has these counts."""
    rows = tuple((*divmod(cell, 2), 0) for cell, count in enumerate(counts) for _ in range(count))
    table, paths, found = table_of(SCHEMA, rows), Paths(), {}
    counted = table.count_tables([tuple("abc"[each] for each in pair) for pair in PAIRS])

    with pytest.MonkeyPatch.context() as patch:
        drawn = []
        # Counted once: the rows are the same for all noise.
        patch.setattr(type(table), "count_tables", lambda *_: counted)

        def draw(self, _, count):
            # Of the other pairs of attributes nothing is asked here.
            if drawn:
                return np.zeros(count, np.int64)
            weights = noise_weights(self.scale)
            drawn.extend(paths.choose(weights) - MOST_ROWS for _ in range(count))
            return np.array(drawn, np.int64)

        patch.setattr(DiscreteLaplace, "draw", draw)
        while True:
            drawn.clear()
            noisy = choice.attribute_similarities(table, epsilon, NoiseSource.seeded(0))
            is_beyond = any(count + each > TOP for count, each in zip(counts, drawn, strict=True))
            output = BEYOND if is_beyond else float(noisy[0, 1])
            found[output] = found.get(output, Fraction(0)) + paths.weight
            if not paths.advance():
                return found


class Learning:
    """How columns are chosen from rows, with exact probabilities; the code as it is when this is made."""

    def __init__(self, epsilon):
        self.of_counts = cache(lambda counts: similarities_of(counts, epsilon))

    def similarities(self, rows) -> list[Outputs]:
        """Of every pair of attributes; they are drawn independently."""
        found = []
        for first, second in PAIRS:
            counts = [0] * 4
            for row in rows:
                counts[2 * row[first] + row[second]] += 1
            found.append(self.of_counts(tuple(counts)))
        return found

    def ratio(self, one, other):
        """Largest likelihood ratio of all similarities together: the product of the largest of each."""
        worst = Fraction(1)
        for here, there in zip(self.similarities(one), self.similarities(other), strict=True):
            if here.keys() != there.keys():
                return math.inf
            worst *= max(here[each] / there[each] for each in here)
        return worst

    @cache  # noqa: B019 - a test's own object
    def columns(self, rows) -> Outputs:
        """The columns that are chosen, by the clustering itself."""
        found: Outputs = {}
        for three in itertools.product(*(each.items() for each in self.similarities(rows))):
            weight = math.prod(p for _, p in three)
            output = BEYOND if BEYOND in (s for s, _ in three) else chosen_by(*(s for s, _ in three))
            found[output] = found.get(output, Fraction(0)) + weight
        return found


@cache
def chosen_by(*similarities):
    """The columns for the similarities of the three pairs."""
    matrix = np.eye(3)
    for (first, second), each in zip(PAIRS, similarities, strict=True):
        matrix[first, second] = matrix[second, first] = each
    return overlapping_columns(matrix, (2,))


@pytest.fixture(scope="module")
def learning():
    """By the share of epsilon that is spent on it."""
    return Learning(DESIGN.schema_epsilon)


def largest(one: Outputs, other: Outputs):
    """Likelihood ratio, in either direction."""
    if one.keys() != other.keys():
        return math.inf
    return max(max(one[each] / other[each], other[each] / one[each]) for each in one)


def test_similarities_and_the_choice_of_columns_keep_their_share_of_epsilon(learning):
    """Every table of up to two rows, each row gone, and of equal rows the choice itself; the noise is no more than it must be."""
    stated = factor(DESIGN.schema_epsilon)
    of_similarities = of_choice = Fraction(1)
    for more, fewer in neighbours(MOST_ROWS):
        of_similarities = max(of_similarities, learning.ratio(more, fewer), learning.ratio(fewer, more))
    for more, fewer in small_neighbours():
        of_choice = max(of_choice, largest(learning.columns(more), learning.columns(fewer)))
    hold(stated, of_similarities, "similarities")
    hold(stated, of_choice, "columns")
    assert of_choice <= of_similarities
    assert float(of_similarities) > float(stated) * 0.99
    assert {each for pair in small_neighbours() for each in learning.columns(pair[0])} == {*CHOICES, BEYOND}
    assert all(sum(learning.columns(more).values()) == pytest.approx(1) for more, _ in small_neighbours())


def test_a_score_of_too_small_a_sensitivity_is_caught(monkeypatch):
    """Sabotage: as if a row were in one two-way table, and not in three."""
    real = choice.scale_at_least
    monkeypatch.setattr(choice, "scale_at_least", lambda exact: real(exact / len(PAIRS)))
    learning = Learning(DESIGN.schema_epsilon)
    found = max(learning.ratio(more, fewer) for more, fewer in neighbours(1))
    with pytest.raises(TooStrongError):
        hold(factor(DESIGN.schema_epsilon), found, "similarities")


def releases(design, learning, rows) -> Outputs:
    """Everything that can be seen of a release whose columns are learned: that it exists, its columns, its rows."""
    table, paths, found = table_of(SCHEMA, rows), Paths(), {}
    choices = sorted(learning.columns(rows).items(), key=str)

    def choose(*_):
        columns, _ = choices[paths.choose([weight for _, weight in choices])]
        if columns == BEYOND:
            raise _SeenBeyond
        return columns

    with pytest.MonkeyPatch.context() as patch, enumerated(paths):
        patch.setattr(counting, "attribute_columns", choose)
        while True:
            try:
                output = published(table, design)
            except _SeenBeyond:
                output = BEYOND
            found[output] = found.get(output, Fraction(0)) + paths.weight
            if not paths.advance():
                return found


class _SeenBeyond(Exception):  # noqa: N818 - no error: an outcome
    """The noise of a similarity is beyond what is told apart."""


def small_neighbours():
    """One row and none, and two equal rows and one of them, for every row."""
    return [pair for row in VALUES for pair in (((row,), ()), ((row, row), (row,)))]


def test_whole_releases_with_learned_columns_keep_epsilon_and_delta(learning):
    """Existence, columns and rows together."""
    private = DESIGN.guarantees(SCHEMA)[1]
    assert private.given == ()
    growth = factor(private.epsilon) * (1 + ALLOWANCE)
    outputs = cache(lambda rows: releases(DESIGN, learning, rows))
    worst = Fraction(0)
    for more, fewer in small_neighbours():
        here, there = outputs(more), outputs(fewer)
        assert REFUSED not in {*here, *there}
        worst = max(worst, pointwise_delta(here, there, growth))
    hold(Fraction(private.delta), worst, "delta")
    assert worst > Fraction(private.delta) / 10


def test_columns_learned_without_noise_are_caught_unless_taken_as_known():
    """Sabotage: exact similarities beside a promise that does not say so; the design's own says so."""
    design = DESIGN.model_copy(update={"schema_share": 0.0})
    private = design.guarantees(SCHEMA)[1]
    assert private.given == (LEARNED_COLUMNS,)
    growth = factor(private.epsilon) * (1 + ALLOWANCE)
    alike = ((0, 0, 0), (1, 1, 0), (0, 0, 1), (1, 1, 1))
    other = ((0, 0, 0), (1, 0, 1), (0, 1, 0), (1, 1, 1))
    exact = Exact()
    assert exact.columns(alike) != exact.columns(other)
    # On the way from one table to the other, some row more or less changes the columns for certain.
    steps = [*(other[:n] for n in range(5)), *(alike[:n] for n in range(5))]
    unlike = next(
        (more, fewer)
        for more, fewer in zip(steps[1:], steps[:-1], strict=True)
        if len(more) == len(fewer) + 1 and exact.columns(more) != exact.columns(fewer)
    )
    here, there = (releases(design, exact, rows) for rows in unlike)
    with pytest.raises(TooStrongError):
        hold(Fraction(private.delta), pointwise_delta(here, there, growth), "delta")


class Exact:
    """Columns as they are chosen where nothing is spent on it."""

    def columns(self, rows) -> Outputs:
        """One choice, for certain."""
        similar = choice.attribute_similarities(table_of(SCHEMA, rows), None, NoiseSource.seeded(0))
        return {chosen_by(*(float(similar[pair]) for pair in PAIRS)): Fraction(1)}


def statistics(units, measure):
    """What noise is added to, for baskets or ratings given as items with values."""
    triples = [(number, item, value) for number, unit in enumerate(units) for item, value in unit]
    sparse = SparseUnits.from_triples([str(n) for n in range(len(units))], *zip(*triples, strict=True), 4, 2)
    found = count_pairs(sparse, with_agreement=measure != "phi-squared")
    above = np.triu_indices(4, 1)
    parts = [found.supports]
    if measure != "phi-squared":
        parts.append(found.agreeing[above])
    if measure in ("agreement", "phi-squared"):
        parts.append(found.both[above])
    return np.concatenate([*parts, [found.units] if measure == "phi-squared" else []])


@pytest.mark.parametrize("measure", get_args(ItemSimilarity))
def test_similarities_of_items_have_the_sensitivity_that_their_noise_is_made_for(measure):
    """Every unit of up to three of four items and two values, beside another one; the largest change is the stated one."""
    beside = ((0, 0), (1, 1), (2, 0))
    for most in (1, 2, 3):
        changes = [
            np.abs(statistics([beside, unit], measure) - statistics([beside], measure)).sum()
            for size in range(1, most + 1)
            for items in itertools.combinations(range(4), size)
            for values in itertools.product(range(2), repeat=size)
            for unit in [tuple(zip(items, values, strict=True))]
        ]
        assert max(changes) == pair_sensitivity(most, measure)
