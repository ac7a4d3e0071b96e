"""Errors of many buckets without drawing any: by hand, over all subsets, and against buckets that were drawn."""

from __future__ import annotations

import itertools
import math
import time

import numpy as np
import pytest

from sfumato import METHODS, Attribute, Role, Schema, plan
from sfumato.errors import NotIdentifiableError
from sfumato.estimates.counts import CountTable
from sfumato.methods.anatomy import buckets as many_buckets
from sfumato.methods.anatomy.buckets import (
    Alike,
    BucketComposition,
    ManyBuckets,
    SparseBuckets,
    _inverse,
    spreads_of_cells,
)
from sfumato.methods.anatomy.law import BucketedRows
from sfumato.randomness.partitions import partition_rows
from sfumato.randomness.streams import NoiseSource

CELLS = np.array([0.01, 0.1, 0.5, 0.39])


def table(values: int, bucket_size: int, buckets_of_a_value: int, share: float) -> np.ndarray:
    """Cells by values, of which the first has a share of the rows."""
    rows = buckets_of_a_value * values * bucket_size
    totals = np.full(values, round(rows * (1 - share) / (values - 1)))
    totals[0] = round(rows * share)
    return np.outer(CELLS, totals)


def drawn_variances(cells: np.ndarray, bucket_size: int, seed: int) -> np.ndarray:
    """By the composition of buckets that were drawn."""
    totals = cells.sum(axis=0).round().astype(np.int64)
    values = np.repeat(np.arange(len(totals)), totals)
    groups = partition_rows(values, len(totals), bucket_size, NoiseSource.seeded(seed).stream(0))
    buckets = BucketComposition.from_pairs(groups.astype(np.int64) + 1, values, len(totals))
    spreads = spreads_of_cells(buckets.totals, cells, cells, cells)
    covariances = buckets.covariances(spreads, buckets.solution, buckets.solution)
    return np.diagonal(covariances, axis1=1, axis2=2)


def test_three_values_in_pairs_by_hand():
    """All pairs alike: co-occurrence G/3 and G/6, so the variance is 4 G s / 3, and a part 2/G for the values fitted."""
    cells = np.full((2, 3), 1000.0) * [[0.2], [1.8]]
    found, kinds = ManyBuckets.of(cells, 2)
    assert kinds.tolist() == [0, 0, 0]
    assert found.number_of_buckets == 3000
    spread = 200 * 1800 / (2000 * 1999)
    expected = math.sqrt(4 * 3000 * spread / 3 * (1 + 2 / 3000))
    assert found.standard_errors(cells[:, :1])[0, 0] == pytest.approx(expected, rel=1e-9)
    assert expected == pytest.approx(18.985, abs=0.001)


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        # 402 rows make 201 pairs, of which the first value may fill one place each, and one more that rounding made.
        (202, True),
        (204, False),
    ],
)
def test_a_value_of_more_rows_than_buckets_does_not_fit(first, expected):
    """Whole rows may be one too many; two are not."""
    found = ManyBuckets.of(np.array([[first, 100.0, 100.0]]), 2)
    assert (found is not None) is expected


@pytest.mark.parametrize(
    ("totals", "sizes", "bucket_size", "expected"),
    [
        # 5 values of 21 rows in buckets of 4: 26 buckets and one row more.
        ([21], [5], 4, {4: 25 / 26, 5: 1 / 26}),
        ([20], [5], 4, {4: 1.0}),
        # 70 + 70 + 2 * 71 rows of four values in buckets of three: none is as large as the four there are.
        ([70, 70, 71], [1, 1, 2], 3, {3: 1.0}),
        ([70, 71, 71], [1, 1, 2], 3, {3: 93 / 94, 4: 1 / 94}),
        # Two values in pairs: what is too much has no bucket to be in.
        ([21, 22], [1, 1], 2, {2: 1.0}),
    ],
)
def test_sizes_of_buckets_by_hand(totals, sizes, bucket_size, expected):
    """What does not divide the rows makes some buckets one larger, where there is a value more."""
    found = ManyBuckets(np.array(totals, float), np.array(sizes, float), bucket_size)
    assert found.sizes_of_buckets == pytest.approx(expected)


def test_a_value_that_is_everywhere_stands_in_no_bucket_twice():
    """Half of the rows in pairs: with either of the others in half of the buckets, never with itself."""
    found = ManyBuckets(np.array([200.0, 100.0]), np.array([1.0, 2.0]), 2).together(0)
    assert found.chance(0) == pytest.approx(1)
    assert found.chance(0, 1) == pytest.approx(0.5)
    assert [found.chance(0, 0), found.chance(0, 0, 1), found.chance(1, 1)] == [0, 0, 0]


def test_chances_are_those_over_all_buckets():
    """Of one, two and three of five values, two of one kind and three of another, weighed subset by subset."""
    weights, kinds = np.array([2.0, 0.5]), (0, 0, 1, 1, 1)
    sizes, nowhere = np.array([2.0, 3.0]), np.zeros(2, np.bool_)
    subsets = list(itertools.combinations(range(5), 3))
    chances = [math.prod(weights[kinds[value]] for value in each) for each in subsets]
    for values in ((0,), (2,), (0, 1), (0, 2), (2, 3), (0, 1, 2), (0, 2, 3), (2, 3, 4)):
        taken = np.bincount([kinds[value] for value in values], minlength=2)
        holding = sum(chance for chance, each in zip(chances, subsets, strict=True) if {*values} <= {*each})
        found = many_buckets._chance(weights, nowhere, sizes, 3, taken)
        assert found == pytest.approx(holding / sum(chances), rel=1e-12)


@pytest.mark.parametrize(
    ("values", "bucket_size", "share"),
    [(4, 2, 0.1), (14, 2, 0.01), (14, 8, 0.1), (14, 4, 1 / 14), (50, 4, 0.1)],
)
@pytest.mark.parametrize(("buckets_of_a_value", "tolerance"), [(21, 0.02), (100, 0.01)])
def test_errors_are_those_of_drawn_buckets(values, bucket_size, share, buckets_of_a_value, tolerance):
    """The mean over a few drawings; a first trial had shown 0.2 % to 1 %, tolerances are twice as wide."""
    cells = table(values, bucket_size, buckets_of_a_value, share)
    found, kinds = ManyBuckets.of(cells, bucket_size)
    places = np.unique(kinds, return_index=True)[1]
    expected = found.standard_errors(cells[:, places])[:, kinds]
    drawn = np.sqrt(np.mean([drawn_variances(cells, bucket_size, seed) for seed in range(8)], axis=0))
    # Values of one kind have one error; what is drawn for each of them differs.
    means = np.stack([drawn[:, kinds == kind].mean(axis=1) for kind in kinds], axis=1)
    np.testing.assert_allclose(expected, means, rtol=tolerance)


def test_the_law_takes_the_way_that_fits():
    """Many buckets of two kinds are not drawn; few are, and so are values that all differ. Both say nearly the same."""
    law = BucketedRows(sensitive="job", l_value=2)
    sex = Attribute(name="sex", role=Role.QUASI_IDENTIFIER, categories=("F", "M"))
    job = Attribute(name="job", role=Role.SENSITIVE, categories=tuple("abcd"))
    alike = np.outer([0.3, 0.7], [1000, 2000, 2000, 2000])
    assert ManyBuckets.of(alike, 2) is not None
    assert ManyBuckets.of(alike / 100, 2) is None
    other = alike + np.array([[0, 1, 2, 3], [3, 2, 1, 0]])
    assert ManyBuckets.of(other, 2) is None
    first, second = (law.expected_standard_errors(CountTable((sex, job), each)) for each in (alike, other))
    np.testing.assert_allclose(first, second, rtol=0.03)
    assert not np.array_equal(first, second)


def test_a_value_that_does_not_occur_has_no_error():
    """And leaves those of the others as they are."""
    law = BucketedRows(sensitive="job", l_value=2)
    sex = Attribute(name="sex", role=Role.QUASI_IDENTIFIER, categories=("F", "M"))
    jobs = [Attribute(name="job", role=Role.SENSITIVE, categories=tuple(text)) for text in ("abcd", "abc")]
    counts = np.outer([0.3, 0.7], [1000, 2000, 2000, 0])
    four, three = (
        law.expected_standard_errors(CountTable((sex, job), counts[:, : job.size])) for job in jobs
    )
    assert not four[:, 3].any()
    np.testing.assert_allclose(four[:, :3], three)


@pytest.mark.parametrize(("values", "share"), [(4, 0.5), (2, 0.5)])
def test_buckets_that_always_hold_a_value_do_not_tell_it_apart(values, share):
    """Half of the rows in pairs: every bucket has one of them, and no sum of buckets says whose."""
    cells = table(values, 2, 300, share)
    found, kinds = ManyBuckets.of(cells, 2)
    with pytest.raises(NotIdentifiableError, match="tell them apart"):
        found.standard_errors(cells[:, np.unique(kinds, return_index=True)[1]])


@pytest.mark.parametrize("scale", [1e-15, 1.0, 1e15])
def test_sums_are_solved_however_large_they_are(scale):
    """A triangle of three values, each two of them in some buckets: ``x C = right`` to nine digits, by C written out."""
    pairs = [(0, 1)] * 3 + [(1, 2)] * 2 + [(0, 2)]
    together = np.zeros((3, 3))
    for one, other in pairs:
        together[np.ix_([one, other], [one, other])] += 0.5
    right = scale * np.array([[1.0, 0, 0], [0.2, -0.5, 3.0]])
    found, is_determined = SparseBuckets(np.array(pairs, np.int32), 3).solve(right)
    assert is_determined.all()
    np.testing.assert_allclose(found, right @ np.linalg.inv(together), rtol=1e-9, atol=1e-9 * scale)


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_what_vanishes_is_judged_beside_the_entries_themselves(scale):
    """Two kinds: a difference of one in a hundred billion is none, one in a billion is some, whatever the entries are."""
    own = scale * np.array([2.0, 3.0])
    means = scale * np.array([[4.0, 1.0], [1.0, 5.0]])
    for share, is_there in ((1e-9, True), (1e-11, False)):
        matrix = Alike(own * np.array([1.0, share]), means)
        if is_there:
            found = _inverse(matrix, own)
            np.testing.assert_allclose(found.differences, 1 / matrix.differences)
            np.testing.assert_allclose(found.means @ means, np.eye(2), atol=1e-9)
        else:
            with pytest.raises(NotIdentifiableError, match="tell them apart"):
                _inverse(matrix, own)
    # Kinds that always come together, to the same accuracy.
    together = Alike(own, scale * np.array([[2.0, 6.0**0.5], [6.0**0.5, 3.0 + 1e-11]]))
    with pytest.raises(NotIdentifiableError, match="tell them apart"):
        _inverse(together, own)


def test_a_value_of_one_row_has_an_error():
    """In which bucket it is, is public; whether it is in a cell is not. Nobody has none."""
    law = BucketedRows(sensitive="job", l_value=2)
    sex = Attribute(name="sex", role=Role.QUASI_IDENTIFIER, categories=("F", "M"))
    job = Attribute(name="job", role=Role.SENSITIVE, categories=tuple("abcde"))
    counts = np.array([[1, 20, 30, 25, 0], [0, 25, 20, 25, 0]])
    found = law.expected_standard_errors(CountTable((sex, job), counts))
    assert (found[:, :4] > 0).all()
    assert not found[:, 4].any()


@pytest.mark.parametrize(
    ("places", "values", "is_sparse"), [(3, 15, False), (3, 16, True), (2, 10, False), (2, 11, True)]
)
def test_pairs_of_places_are_taken_from_five_times_as_many_values_on(monkeypatch, places, values, is_sparse):
    """Than a bucket has places; fewer values are quicker row by row."""
    by_pairs = []
    monkeypatch.setattr(
        BucketComposition,
        "_gram_by_pairs",
        lambda self, _: by_pairs.append(self) or np.eye(self.number_of_values),
    )
    buckets = BucketComposition(np.arange(places, dtype=np.int32)[np.newaxis], values)
    assert buckets.co_occurrence.shape == (values, values)
    assert bool(by_pairs) is is_sparse


def test_pairs_of_places_give_the_same_products_as_rows_of_values(monkeypatch):
    """Buckets of different sizes, with empty places."""
    generator = np.random.default_rng(3)
    places = np.array([generator.permutation(30)[:3] for _ in range(40)], np.int32)
    places[::4, 2] = -1
    weights = generator.random(30)
    by_pairs = BucketComposition(places, 30)._gram(weights)
    monkeypatch.setattr("sfumato.methods.anatomy.buckets.SPARSE", 10**9)
    by_rows = BucketComposition(places, 30)._gram(weights)
    np.testing.assert_allclose(by_pairs, by_rows, atol=1e-12)


@pytest.mark.parametrize("values", [8, 50, 500])
def test_a_plan_takes_no_time_however_many_values_there_are(values):
    """Drawing buckets took 0.4, 7 and 13 seconds."""
    schema = Schema(
        attributes=(
            Attribute(name="sex", role=Role.QUASI_IDENTIFIER, categories=("F", "M")),
            Attribute(name="job", role=Role.SENSITIVE, categories=tuple(f"job {n}" for n in range(values))),
        )
    )
    design = METHODS.make("anatomy", {"l_value": 4})
    plan(design, schema, 100_000)
    began = time.process_time()
    plan(design, schema, 1_000_000)
    assert time.process_time() - began < 0.2
