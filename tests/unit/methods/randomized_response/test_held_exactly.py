"""How often intervals of a handful of rows at a high retention hold the truth: by the probability of everything that may be published.

Written down before it was computed: the mean over all tables is 95 % or more of every kind, and none of them lies below 93 %. It holds, after first attempts had
failed it: of combinations quadrature of the parts' ends (78 %), of cells with an estimated chance one that took every row seen for the cell's own (64 %). Score intervals, the twin, were
expected below 93.5 % on average; they are at 94 to 95, and at 91 or below in the worst table.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from sfumato.laws.estimator import answer
from sfumato.methods.randomized_response.law import PerturbedCounts
from sfumato.query.selection import Selection, Tabulation

KEPT = np.array([[0.98, 0.02], [0.06, 0.94]])
INVERSE = np.linalg.inv(KEPT)
GROUPS = (9, 14)


def draws(rows, chance):
    """Probabilities of 0, 1, ... of some rows."""
    return np.array([math.comb(rows, k) * chance**k * (1 - chance) ** (rows - k) for k in range(rows + 1)])


def seen_by_count(rows):
    """Probability of each number published as the second category, for every true one."""
    return np.array([np.convolve(draws(x, KEPT[1, 1]), draws(rows - x, KEPT[0, 1])) for x in range(rows + 1)])


def where(**codes):
    """One number."""
    return Tabulation(where=Selection(tuple((name, (code,)) for name, code in codes.items())))


def ends_of_groups(combine):
    """Ends of an interval by the numbers published of two groups, ``(first, second)`` each."""
    low, high = (np.empty([each + 1 for each in GROUPS]) for _ in range(2))
    for seen in itertools.product(*(range(each + 1) for each in GROUPS)):
        counts = np.array([[rows - y, y] for rows, y in zip(GROUPS, seen, strict=True)], float)
        published = PerturbedCounts(
            counts, ("group", "job"), [None, KEPT], [None, INVERSE], float(sum(GROUPS))
        )
        ends = combine(published).intervals(0.95)
        low[seen], high[seen] = ends[0][0], ends[1][0]
    return low, high


CELLS = where(group=0, job=1), where(group=1, job=1)


def difference(published):
    """Of two counts."""
    return answer(published, CELLS, "table").linear(np.array([[1.0, -1.0]]))


def difference_of_shares(published):
    """Of two groups that are known."""
    counts = answer(published, (*CELLS, where(group=0), where(group=1)), "table")
    return counts.ratios([[1, 0, 0, 0], [0, 1, 0, 0]], [[0, 0, 1, 0], [0, 0, 0, 1]]).linear(
        np.array([[1.0, -1.0]])
    )


def total(published):
    """Of both, asked as one."""
    return answer(published, CELLS, "table", np.array([[1.0, 1.0]]))


def total_of_answers(published):
    """Of both, added up afterwards."""
    return answer(published, CELLS, "table").linear(np.array([[1.0, 1.0]]))


KINDS = {
    "difference": (difference, lambda a, b: a - b),
    "difference of shares": (difference_of_shares, lambda a, b: a / GROUPS[0] - b / GROUPS[1]),
    "sum": (total, lambda a, b: a + b),
    "sum of answers": (total_of_answers, lambda a, b: a + b),
}


def held_by_groups(combine, truth):
    """Probability that the interval holds the truth, for every pair of true counts; nothing is allowed for rounding."""
    low, high = ends_of_groups(combine)
    first, second = (seen_by_count(each) for each in GROUPS)
    held = np.empty([each + 1 for each in GROUPS])
    for one, other in itertools.product(*(range(each + 1) for each in GROUPS)):
        number = truth(one, other)
        held[one, other] = first[one] @ ((low <= number) & (number <= high)) @ second[other]
    return held


@pytest.mark.parametrize("kind", KINDS)
def test_what_two_groups_are_combined_to_is_held(kind, monkeypatch):
    """Over all 150 pairs of true counts."""
    held = held_by_groups(*KINDS[kind])
    assert held.mean() >= 0.95
    assert held.min() >= 0.93
    monkeypatch.setattr(PerturbedCounts, "limits", lambda *_: None)
    assert held_by_groups(*KINDS[kind]).min() < 0.91


def outcomes(rows, cells):
    """All tables with so many rows, ``(tables, cells)``."""
    return np.array([each for each in itertools.product(range(rows + 1), repeat=cells) if sum(each) == rows])


def published_by_truth(rows, chances):
    """Probability of every published table for every true one, ``(true, published)``: a row at a time."""
    found = outcomes(rows, len(chances))
    place = {tuple(each): number for number, each in enumerate(found.tolist())}
    result = np.zeros((len(found), len(found)))
    for number, true in enumerate(found.tolist()):
        reached = {(0,) * len(chances): 1.0}
        for cell in itertools.chain.from_iterable([cell] * count for cell, count in enumerate(true)):
            step: dict[tuple[int, ...], float] = {}
            for table, chance in reached.items():
                for to, own in enumerate(chances[cell]):
                    grown = (*table[:to], table[to] + 1, *table[to + 1 :])
                    step[grown] = step.get(grown, 0.0) + chance * own
            reached = step
        for table, chance in reached.items():
            result[number, place[table]] = chance
    return result


def held_by_tables(rows, matrices):
    """Probability that each cell of each true table is held, ``(tables, cells)``."""
    chances = np.ones((1, 1))
    for each in matrices:
        chances = np.kron(chances, each)
    tables, names = outcomes(rows, len(chances)), tuple("ab"[: len(matrices)])
    inverses = [np.linalg.inv(each) for each in matrices]
    low, high = np.empty(tables.shape), np.empty(tables.shape)
    for number, each in enumerate(tables):
        counts = each.reshape([len(matrix) for matrix in matrices]).astype(float)
        published = PerturbedCounts(counts, names, matrices, inverses, float(rows))
        low[number], high[number] = answer(published, (Tabulation(by=names),), "table").intervals(0.95)
    is_held = (low <= tables[:, None, :]) & (tables[:, None, :] <= high)
    return np.einsum("tp,tpc->tc", published_by_truth(rows, chances), is_held.astype(float))


UNEVEN = np.array([[0.99, 0.01, 0.0], [0.05, 0.95, 0.0], [0.4, 0.0, 0.6]])
"""Of the third category two in five become the first, of which hardly any leaves."""


@pytest.mark.parametrize(
    ("rows", "matrices"),
    [(2, [KEPT, KEPT]), (5, [KEPT, KEPT]), (9, [UNEVEN]), (4, [KEPT, UNEVEN])],
    ids=["two rows", "five rows", "an uneven matrix", "both"],
)
def test_cells_whose_chances_are_estimated_are_held(rows, matrices, monkeypatch):
    """All cells of all tables."""
    found = held_by_tables(rows, matrices)
    assert found.mean() >= 0.95
    assert found.min() >= 0.93
    monkeypatch.setattr(PerturbedCounts, "limits", lambda *_: None)
    assert held_by_tables(rows, matrices).min() < 0.85


def test_answers_of_a_release_are_combined_as_their_counts_are():
    """A difference of two shares, each an answer of its own, ends where that of the law's shares does."""
    import pyarrow as pa

    from sfumato import RandomizedResponse, read_table
    from sfumato.schema import Attribute, Role, Schema
    from sfumato.testing import release_in_memory

    schema = Schema(
        attributes=(
            Attribute(name="group", role=Role.QUASI_IDENTIFIER, categories=("a", "b")),
            Attribute(name="job", role=Role.SENSITIVE, categories=("x", "y")),
        )
    )
    rows = pa.table({"group": ["a"] * 9 + ["b"] * 14, "job": ["x"] * 7 + ["y"] * 2 + ["x"] * 11 + ["y"] * 3})
    release = release_in_memory(read_table(rows, schema), RandomizedResponse(retention=0.94), seed=5)
    first, second = (release.proportion("job = 'y'", given=f"group = '{each}'") for each in "ab")
    whole = release.difference("job = 'y'", given="group = 'a'", versus="group = 'b'")
    apart = first - second
    assert (apart.low, apart.high) == pytest.approx((whole.low, whole.high))
    assert apart.low < apart.estimate < apart.high
    # No further than the two intervals at half the chance to miss.
    ends = [
        release.proportion("job = 'y'", given=f"group = '{each}'", confidence_level=0.975) for each in "ab"
    ]
    assert apart.low == pytest.approx(ends[0].low - ends[1].high)
    assert apart.high == pytest.approx(ends[0].high - ends[1].low)
