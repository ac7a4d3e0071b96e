"""Least squares of bucket counts on bucket compositions, against brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sfumato.data.chunks import CodedBatch
from sfumato.errors import ReleaseDamagedError
from sfumato.estimates.counts import rake
from sfumato.methods.anatomy import buckets as bucket_composition
from sfumato.methods.anatomy import buckets as sparse_buckets
from sfumato.methods.anatomy.buckets import (
    BUCKET,
    BucketComposition,
    SparseBuckets,
    feasible_cells,
    refuse_other_sizes,
    sizes_of_buckets,
    spreads_of_cells,
)

# Buckets of three and of two, five values; value 4 occurs once.
PLACES = np.array([[0, 1, 2], [0, 1, 3], [0, 2, -1], [1, 3, 4], [2, 3, -1]], np.int32)


def composition(places=PLACES, values=5):
    """Buckets by their values."""
    return BucketComposition(np.asarray(places, np.int32), values)


def all_assignments(buckets, holding):
    """Every way of dealing the rows of each value to its places, as buckets of the rows that satisfy P."""
    by_value = []
    for value, number in enumerate(holding):
        homes = [j for j, row in enumerate(buckets.places) for each in row if each == value]
        by_value.append(list(itertools.combinations(homes, number)))
    for chosen in itertools.product(*by_value):
        yield np.array([home + 1 for homes in chosen for home in homes])


def test_estimates_are_exactly_unbiased_given_the_buckets():
    """Averaged over all assignments within values, the estimate is the true count."""
    buckets = composition()
    holding = np.array([1, 2, 1, 0, 1])
    found = [
        buckets.solution @ buckets.weighted_counts(rows, np.zeros(len(rows), int), 1)[0]
        for rows in all_assignments(buckets, holding)
    ]
    assert np.allclose(np.mean(found, axis=0), holding, atol=1e-12)


def test_the_covariance_is_exact_given_the_buckets():
    """With the true shares put in, it is the covariance over all assignments, to rounding."""
    buckets = composition()
    holding = np.array([1, 2, 1, 2, 1])
    found = np.array(
        [
            buckets.solution @ buckets.weighted_counts(rows, np.zeros(len(rows), int), 1)[0]
            for rows in all_assignments(buckets, holding)
        ]
    )
    deviations = found - found.mean(axis=0)
    spreads = spreads_of_cells(buckets.totals, holding, holding, holding)[np.newaxis]
    given = buckets.covariances(spreads, buckets.solution, buckets.solution)[0]
    assert np.allclose(given, deviations.T @ deviations / len(found), atol=1e-12)


@pytest.mark.parametrize("at_once", [1, 12, 13])
def test_buckets_are_added_up_in_parts(monkeypatch, at_once):
    """However many at a time."""
    whole = composition().co_occurrence
    monkeypatch.setattr(bucket_composition, "CELLS_AT_ONCE", at_once)
    np.testing.assert_allclose(composition().co_occurrence, whole)


def test_large_domains_get_the_same_covariance_without_the_cube(monkeypatch):
    """The path for many values agrees with the path for few."""
    buckets = composition()
    spreads = np.array([[0.1, 0.2, 0.3, 0.1, 0.0], [0.0, 0.1, 0.0, 0.2, 0.0]] * 2)
    cube = buckets.covariances(spreads, buckets.solution, np.eye(5))
    monkeypatch.setattr(bucket_composition, "LARGEST_TENSOR", 0)
    assert np.allclose(composition().covariances(spreads, buckets.solution, np.eye(5)), cube, atol=1e-12)


def test_estimates_of_all_values_add_up_to_the_rows_of_the_predicate():
    """With weights of one over the bucket's size, the sum over values is exact."""
    buckets = composition()
    counted = buckets.weighted_counts(np.array([1, 1, 4, 5]), np.zeros(4, int), 1)[0]
    assert (buckets.solution @ counted).sum() == pytest.approx(4)
    assert counted.sum() == pytest.approx(4)


def test_the_matrix_of_equal_buckets_is_co_occurrence_over_size_and_total():
    """T[u, v] = C[u, v] / (g f_u) when all buckets have size g."""
    buckets = composition([[0, 1], [0, 2], [1, 2], [0, 1]], 3)
    together = np.array([[3, 2, 1], [2, 3, 1], [1, 1, 2]])
    assert np.allclose(buckets.co_occurrence, together / 2)


def test_a_value_in_every_bucket_leaves_only_differences_of_the_others():
    """Saturation: no single count is determined, a difference of shares of two other values is."""
    buckets = composition([[0, 1], [0, 2], [0, 3], [0, 1]], 4)
    assert buckets.rank == 3
    assert not buckets.determines(np.eye(4)).any()
    # Weights of counts that make a difference of shares: 1/f_1 against 1/f_2.
    assert buckets.determines(np.array([[0, 0.5, -1, 0]])).all()
    assert buckets.determines(np.ones((1, 4))).all()


def test_ordered_ties_leave_pairs_undetermined():
    """Values that always occur together cannot be told apart, their sum can."""
    buckets = composition([[0, 1], [2, 3], [0, 1], [2, 3]], 4)
    assert buckets.rank == 2
    assert buckets.determines(np.array([[1, 1, 0, 0], [1, 0, 0, 0]])).tolist() == [True, False]


def test_values_that_do_not_occur_have_a_count_of_zero():
    """They are determined and exact."""
    buckets = composition(values=7)
    assert buckets.rank == 5
    assert np.array_equal(buckets.solution[5:], np.zeros((2, 7)))
    assert buckets.determines(np.eye(7)).all()


def test_a_value_may_stand_several_times_in_a_bucket():
    """Guo (2010), Table 2.1: flu three times, so a member of the bucket has it with probability 3/4."""
    flu, pneumonia = 0, 1
    buckets = BucketComposition.from_pairs(
        np.repeat([1, 2], 4), np.array([pneumonia, flu, flu, flu, pneumonia, pneumonia, flu, flu]), 2
    )
    assert buckets.counts().tolist() == [[3, 1], [2, 2]]
    bob = buckets.weighted_counts(np.array([1]), np.array([0]), 1)[0]
    assert bob.tolist() == [0.75, 0.25]


def test_covariance_is_exact_with_repeated_values_too():
    """Brute force over assignments, a bucket holding one value twice."""
    buckets = composition([[0, 0, 1], [0, 1, 2], [1, 2, 2], [0, 2, 2]], 3)
    holding = np.array([1, 2, 1])
    found = np.array(
        [
            buckets.solution @ buckets.weighted_counts(rows, np.zeros(len(rows), int), 1)[0]
            for rows in all_assignments(buckets, holding)
        ]
    )
    deviations = found - found.mean(axis=0)
    spreads = spreads_of_cells(buckets.totals, holding, holding, holding)[np.newaxis]
    given = buckets.covariances(spreads, buckets.solution, buckets.solution)[0]
    assert np.allclose(found.mean(axis=0), holding)
    assert np.allclose(given, deviations.T @ deviations / len(found), atol=1e-12)


@pytest.mark.parametrize(
    ("numbers", "reason"), [([0, 1, 1], "outside"), ([1, 1, 9], "outside"), ([1, 3, 3], "no value")]
)
def test_bucket_numbers_that_were_not_published_are_refused(numbers, reason):
    """Buckets are numbered from 1 without a gap."""
    with pytest.raises(ReleaseDamagedError, match=reason):
        BucketComposition.from_pairs(np.array(numbers), np.array([0, 1, 2]), 3)


def test_buckets_with_more_values_than_rows_are_refused():
    """An edited table is noticed even where its checksum was made to fit."""
    with pytest.raises(ReleaseDamagedError, match="2 buckets have not as many values as rows"):
        refuse_other_sizes(np.array([3, 3, 2, 2, 3]), composition().sizes)
    # Buckets that are not there have no rows: one of a single value, and two of which one has none.
    with pytest.raises(ReleaseDamagedError, match=": 1 buckets have"):
        refuse_other_sizes(np.array([3, 3]), np.array([3, 3, 1]))
    with pytest.raises(ReleaseDamagedError, match=": 1 buckets have"):
        refuse_other_sizes(np.array([3, 3, 0, 2]), np.array([3, 3]))


def test_raking_fits_both_margins_although_cells_were_empty():
    """A cell cut to zero must not make the margins impossible."""
    fitted = rake(np.array([[5.0, 0.0], [0.0, 5.0]]), np.array([5.0, 5.0]), np.array([7.0, 3.0]))
    assert np.allclose(fitted.sum(axis=1), [5, 5], atol=1e-6)
    assert np.allclose(fitted.sum(axis=0), [7, 3], atol=1e-6)
    assert (fitted >= 0).all()


def batch_of(*numbers):
    """Published rows of some buckets."""
    return CodedBatch({BUCKET: np.array(numbers, np.int64)}, len(numbers))


def test_sizes_of_buckets_add_up_over_batches_of_any_length():
    """Whichever batch reaches the larger number; one without rows adds nothing."""
    batches = [batch_of(1, 3, 3), batch_of(), batch_of(2), batch_of(4, 1, 1, 4)]
    for order in itertools.permutations(batches):
        assert sizes_of_buckets(order, 4).tolist() == [3, 1, 2, 2]
    assert sizes_of_buckets([], 4).tolist() == sizes_of_buckets([batch_of()], 4).tolist() == []


@pytest.mark.parametrize("numbers", [(0, 1), (1, 5), (0, 5)])
def test_bucket_numbers_below_one_or_beyond_the_buckets_are_refused(numbers):
    """Either is damage, alone or both together."""
    with pytest.raises(ReleaseDamagedError, match="outside 1 to"):
        sizes_of_buckets([batch_of(*numbers)], 4)


def test_raking_leaves_nothing_where_a_margin_is_nothing():
    """And opens cells that were empty where the margins need them."""
    found = rake(np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([0.0, 2.0]), np.array([1.0, 1.0]))
    np.testing.assert_allclose(found, [[0, 0], [1, 1]], atol=1e-8)
    found = rake(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([3.0, 1.0]), np.array([1.0, 3.0]))
    np.testing.assert_allclose(found.sum(axis=1), [3, 1], atol=1e-6)
    np.testing.assert_allclose(found.sum(axis=0), [1, 3], atol=1e-6)


def test_raking_opens_no_cell_of_an_empty_margin():
    """Exactly nothing stays there, however large the rest is, and margins fit to a billionth of the rows."""
    rows, columns = np.array([3e6, 0.0, 1e6]), np.array([1e6, 0.0, 3e6])
    found = rake(np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]), rows, columns)
    assert not found[1].any()
    assert not found[:, 1].any()
    np.testing.assert_allclose(found.sum(axis=1), rows, atol=1e-2)
    np.testing.assert_allclose(found.sum(axis=0), columns, atol=1e-2)


def test_raking_of_nobody_is_nobody():
    """No rows at all."""
    assert not rake(np.zeros((2, 3)), np.zeros(2), np.zeros(3)).any()


def test_raking_keeps_the_odds_of_cells():
    """By hand: odds of 6, and margins of 10 that cells a, 10 - a, 10 - a, a fit where (a / (10 - a))^2 = 6."""
    found = rake(np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([10.0, 10.0]), np.array([10.0, 10.0]))
    own = 10 * np.sqrt(6) / (1 + np.sqrt(6))
    np.testing.assert_allclose(found, [[own, 10 - own], [10 - own, own]], atol=1e-6)


def test_every_different_bucket_is_counted_by_itself():
    """All buckets of up to three of four values, in any order, one of them twice and one three times."""
    every = [each for size in (1, 2, 3) for each in itertools.combinations_with_replacement(range(4), size)]
    places = [[*each, *[-1] * (3 - len(each))] for each in (*every, (2, 1, 0), (3, 3), (3, 3))]
    different, times = composition(places, 4)._different
    found = {tuple(sorted(each)): number for each, number in zip(different.tolist(), times, strict=True)}
    expected = {tuple(sorted([*each, *[-1] * (3 - len(each))])): 1 for each in every}
    assert found == expected | {(0, 1, 2): 2, (-1, 3, 3): 3}


def test_buckets_of_many_places_are_multiplied_one_by_one():
    """Nine of two hundred values: more kinds of buckets than numbers for them."""
    rng = np.random.default_rng(4)
    places = np.array([rng.permutation(200)[:9] for _ in range(30)], np.int32)
    places[::3, 7:] = -1
    found = composition(places, 200).co_occurrence
    expected = np.zeros((200, 200))
    for bucket in places:
        inside = [each for each in bucket if each >= 0]
        for one, other in itertools.product(inside, repeat=2):
            expected[one, other] += 1 / len(inside)
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize(
    ("rows", "inside"),
    [
        ([1, 1, 2, 4, 5, 5, 3, 2], [0, 0, 0, 0, 0, 1, 1, 1]),
        # All of the bucket of the value that occurs once.
        ([4, 4, 4, 5, 1, 1, 2, 3], [0, 0, 0, 0, 1, 1, 1, 1]),
    ],
)
def test_the_most_likely_counts_are_those_of_a_matrix_written_out(rows, inside):
    """Steps of expectation-maximization with loops: a row of value u counts toward v by how often they share a bucket."""
    buckets = composition(values=6)
    cells = buckets.weighted_counts(np.array(rows), np.array(inside), 2)
    matrix = np.zeros((6, 6))
    for bucket in PLACES:
        inside = [each for each in bucket if each >= 0]
        for one, other in itertools.product(inside, repeat=2):
            matrix[one, other] += 1 / len(inside) / buckets.totals[one]
    found = feasible_cells(buckets, cells, "em")
    for cell in range(2):
        shares = np.array([3, 3, 3, 3, 1, 0]) / 13 * cells[cell].sum()
        for _ in range(5_000):
            expected = shares @ matrix
            ratio = [cells[cell][v] / expected[v] if expected[v] else 0 for v in range(6)]
            shares = shares * (matrix @ ratio)
        # The fit ends at a step of a ten-millionth of the rows.
        np.testing.assert_allclose(found[cell], shares, atol=1e-3)


def many_buckets(values=40, number=400, seed=3):
    """Random buckets of three and of two, with values that nobody has and two that only meet each other."""
    rng = np.random.default_rng(seed)
    places = np.array([rng.permutation(values - 4)[:3] for _ in range(number)], np.int32)
    places[::7, 2] = -1
    alone = np.full((2, 3), -1, np.int32)
    alone[:, :2] = values - 4, values - 3
    return composition(np.vstack([places, alone]), values)


def test_many_values_are_solved_as_few_are(monkeypatch):
    """Sum by sum and from the matrix of all pairs: estimates, outputs, covariances, and what is determined."""
    dense = many_buckets()
    rng = np.random.default_rng(5)
    weights = rng.integers(0, 2, (6, 40)).astype(float)
    weights[:, 36:38] = 1
    rows = rng.integers(1, len(dense.places) + 1, 300)
    cells = dense.weighted_counts(rows, rng.integers(0, 2, 300), 2)
    spreads = rng.random((2, 40))
    expected = dense.estimates(cells), dense.outputs(weights), dense.together(cells)
    varying = dense.covariances(spreads, expected[1], expected[1])
    single = dense.determines(np.eye(40))
    monkeypatch.setattr(bucket_composition, "LARGEST_DENSE", 10)
    sparse = many_buckets()
    for found, wanted in zip(
        (sparse.estimates(cells), sparse.outputs(weights), sparse.together(cells)), expected, strict=True
    ):
        assert np.allclose(found, wanted, rtol=1e-7, atol=1e-7)
    found = sparse.covariances(spreads, sparse.outputs(weights), sparse.outputs(weights))
    assert np.allclose(found, varying, rtol=1e-6, atol=1e-6)
    assert single.tolist() == [*[True] * 36, False, False, True, True]
    assert sparse.determines(np.eye(40)).tolist() == single.tolist()


@pytest.mark.parametrize("largest_dense", [3, 4])
def test_what_is_determined_does_not_hang_on_how_large_sums_or_tables_are(monkeypatch, largest_dense):
    """Two pairs of values that always meet: only their sums are, by whatever they are multiplied, and nothing near them."""
    monkeypatch.setattr(bucket_composition, "LARGEST_DENSE", largest_dense)
    buckets = composition([[0, 1], [2, 3]] * 5_000, 4)
    sums = np.array([[1, 1, 0, 0], [2, 2, -3, -3]])
    others = np.array([[1, 1 + 1e-5, 0, 0], [1, 0, 0, 0], [1, -1, 0, 0]])
    for scale in (1e-9, 1.0, 1e9):
        assert buckets.determines(sums * scale).all()
        assert not buckets.determines(others * scale).any()


def test_as_many_rounds_as_values_solve_for_many_values(monkeypatch):
    """Conjugate gradients end in as many; values of very different frequency need no more than that."""
    rng = np.random.default_rng(8)
    chances = np.geomspace(1, 0.003, 30)
    places = np.array(
        [rng.choice(30, 3, replace=False, p=chances / chances.sum()) for _ in range(3_000)], np.int32
    )
    buckets = composition(places, 30)
    assert buckets.totals.min() > 0
    assert buckets.totals.max() > 100 * buckets.totals.min()
    right = rng.random((4, 30))
    monkeypatch.setattr(sparse_buckets, "MOST_ROUNDS", 30)
    found, is_determined = SparseBuckets(places, 30).solve(right)
    assert is_determined.all()
    np.testing.assert_allclose(found @ buckets.co_occurrence, right, rtol=1e-6, atol=1e-6)


def test_a_direction_without_curvature_is_none_in_large_tables_too():
    """Ninety thousand pairs of the first value and one of three others: rounding of large sums is no curvature."""
    places = np.stack([np.zeros(90_000), np.arange(90_000) % 3 + 1], axis=1)
    buckets = composition(places, 5)
    assert buckets.rank == 3
    # Differences of the others are determined, the first value is not; the last nobody has.
    asked = np.array(
        [[0.0, 1, -1, 0, 0], [0, 1, 0, -1, 0], [1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0, 0, 0, 1]]
    )
    assert buckets.determines(asked).tolist() == [True, True, False, False, True]


def test_values_are_scaled_to_ones_on_the_diagonal():
    """Of A'KA by hand, K one over the size: a value twice in a bucket of three has 4/3 there; nobody's value stays out."""
    places = np.array([[0, 0, 1], [2, 1, -1], [3, 0, 2]], np.int32)
    buckets = SparseBuckets(places, 5)
    assert buckets.incidence.toarray().tolist() == [[2, 1, 0, 0, 0], [0, 1, 1, 0, 0], [1, 0, 1, 1, 0]]
    diagonal = np.array([4 / 3 + 1 / 3, 1 / 3 + 1 / 2, 1 / 2 + 1 / 3, 1 / 3])
    np.testing.assert_allclose(np.diag(buckets.together(np.eye(5)))[:4], diagonal)
    np.testing.assert_allclose(buckets._scale, [*diagonal**-0.5, 0])


def test_a_value_of_one_row_adds_no_error_however_many_values_there_are(monkeypatch):
    """It is in its one bucket, whatever is said to spread there; by all pairs and sum by sum."""
    spreads = np.zeros((1, 5))
    spreads[0, 4] = 1
    for largest in (5, 4):
        monkeypatch.setattr(bucket_composition, "LARGEST_DENSE", largest)
        found = composition().covariances(spreads, np.eye(5), np.eye(5))
        np.testing.assert_allclose(found, 0, atol=1e-12)


def test_a_value_of_one_row_has_no_spread():
    """Nor one of none; of three rows two of which satisfy it, a third."""
    some = np.array([0.0, 1.0, 2.0])
    found = spreads_of_cells(np.array([0, 1, 3]), some, some, some)
    np.testing.assert_allclose(found, [0, 0, 1 / 3])


@pytest.mark.parametrize(("largest", "is_sparse"), [(4, True), (5, False), (2_000, False)])
def test_all_pairs_of_values_are_laid_out_as_long_as_they_are_few(monkeypatch, largest, is_sparse):
    """Five values, of so many at most."""
    monkeypatch.setattr("sfumato.methods.anatomy.buckets.LARGEST_DENSE", largest)
    assert isinstance(composition()._sparse, SparseBuckets) is is_sparse
