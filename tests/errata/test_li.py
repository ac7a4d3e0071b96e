"""Counterexamples to what Li and Li print, in the order of docs/errata.md; the exact ones stand with the brute force."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from sfumato.data.long_format import SparseUnits
from sfumato.methods.columnized_counts.kernels import columns_by_medoids, count_pairs
from sfumato.methods.columnized_counts.noisy_counts import NoisyCountMatrix

RATINGS = [[5, 5, 0, 0], [5, 5, 0, 1], [4, 4, 0, 0], [0, 0, 2, 2], [3, 0, 2, 2], [0, 4, 1, 1]]
"""Six raters and four movies; 0 is no rating."""


def similarity(ratings, measure):
    """The product's similarity of the items."""
    table = np.array(ratings)
    unit, item = table.nonzero()
    units = SparseUnits.from_triples(range(len(table)), unit, item, table[unit, item] - 1, table.shape[1], 5)
    return count_pairs(units).similarity(measure)


def test_fewer_than_three_quarters_of_absent_rows_appear():
    """Scale 2, rounded: .78 get another count than 0, and half of those a negative one, which is no row."""
    moved = math.exp(-1 / 4)
    assert moved == pytest.approx(0.7788, abs=5e-5)
    assert moved / 2 == pytest.approx(0.3894, abs=5e-5)


@pytest.mark.parametrize(
    ("changed", "printed", "one_in_ten"),
    [({"epsilon": math.log(10)}, 15, 18), ({"delta": 1e-3}, 15, 16), ({"k": 3}, 13, 15)],
)
def test_rows_begin_to_appear_later_than_three_curves_of_figure_1_say(changed, printed, one_in_ten):
    """At the quoted counts fewer than one row in ten is published."""
    matrix = NoisyCountMatrix(**{"k": 10, "epsilon": math.log(5), "delta": 1e-5, **changed})
    assert matrix.release_probabilities_of([printed])[0][0] < 0.1
    assert matrix.threshold(0.1) == one_in_ten


def test_the_mean_of_a_count_is_multiplied_by_its_release_probability_once():
    """The first line of the appendix has it twice; summed over its own row the mean of count 5 is 4.07, not 3.2."""
    matrix = NoisyCountMatrix(k=2, epsilon=math.log(4), delta=0.1)
    row = matrix.row(5, 200)
    mean = float(np.arange(201) @ row)
    released = 1 - row[0]
    assert released == pytest.approx(0.8)
    assert mean == pytest.approx(4.0667, abs=5e-5)
    assert matrix.mean(5) == pytest.approx(mean)
    assert released * mean == pytest.approx(3.253, abs=1e-3)


def test_release_probabilities_grow_because_they_are_below_one():
    """Lemma 1's step (1 - w)(1 - exp(-epsilon)) > 0 needs w < 1; that w > 0 would not do at w = 1."""
    step = 1 - math.exp(-1.0)
    assert (1 - 1.0) * step == 0
    released, _ = NoisyCountMatrix(k=10, epsilon=1.0, delta=1e-5).release_probabilities(60)
    assert (np.diff(released[10:50]) > 0).all()


def test_the_similarity_that_is_called_cosine_is_none():
    """A cosine of an item with itself is 1; section 6.1's formula gives 1/4 for an item with four raters."""
    raters = np.array(RATINGS)[:, 3] > 0
    equal_to_itself = int(raters.sum())
    assert equal_to_itself / (raters.sum() * raters.sum()) == pytest.approx(0.25)


def test_the_two_formulas_for_similarity_differ():
    """Items 1 and 2 agree for three raters: 3/16 by section 6.1, 3/5 by section 7.2."""
    table = np.array(RATINGS)
    first, second = table[:, 0], table[:, 1]
    agreeing = int(((first == second) & (first > 0)).sum())
    by_product = agreeing / ((first > 0).sum() * (second > 0).sum())
    by_union = agreeing / ((first > 0) | (second > 0)).sum()
    assert (by_product, by_union) == pytest.approx((0.1875, 0.6))
    assert similarity(RATINGS, "agreement")[0, 1] == pytest.approx(by_union)


def test_a_learned_schema_gives_a_row_away():
    """Of three tables one row apart the outer two are cut differently, so one row changes columns that all can see."""
    first, second = [1, 1, 0], [0, 1, 1]
    tables = ([first] * 3 + [second] * 2, [first] * 2 + [second] * 2, [first] * 2 + [second] * 3)
    cuts = [sorted(map(sorted, columns_by_medoids(similarity(each, "agreement"), 2))) for each in tables]
    assert cuts[0] == [[0, 1], [2]]
    assert cuts[2] == [[0], [1, 2]]
    assert cuts[1] in (cuts[0], cuts[2])


def test_a_local_search_of_medoids_depends_on_where_it_starts():
    """Swapping one medoid at a time from an arbitrary start may stop at another clustering than the best."""
    draw = np.random.default_rng(5)
    ends = set()
    for _ in range(40):
        points = draw.random((9, 2))
        distance = np.linalg.norm(points[:, None] - points[None], axis=2)
        found = {round(descend(distance, start), 9) for start in itertools.combinations(range(9), 3)}
        ends.add(len(found))
    assert max(ends) > 1


def descend(distance, medoids):
    """Cost where single swaps no longer help, taking the first that does."""
    chosen = set(medoids)

    def cost(those):
        return float(distance[:, sorted(those)].min(axis=1).sum())

    improved = True
    while improved:
        improved = False
        for out, into in itertools.product(sorted(chosen), range(len(distance))):
            tried = (chosen - {out}) | {into}
            if len(tried) == len(chosen) and cost(tried) < cost(chosen) - 1e-12:
                chosen, improved = tried, True
                break
    return cost(chosen)
