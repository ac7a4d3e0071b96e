"""Recommending from ratings: means, similarities, factors by column, and the hold-out."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from samples import SCHEMA, people
from sfumato import Schema, publish, read_table
from sfumato.analysis.recommender import (
    Factorization,
    fit_ratings,
    fit_release,
    hold_out,
    item_means,
    item_similarities,
)
from sfumato.data.long_format import SparseUnits
from sfumato.datasets.ratings import rating_triples
from sfumato.errors import ParameterError
from sfumato.methods.columnized_counts.design import ColumnizedCounts
from sfumato.methods.columnized_counts.law import SparseRecords
from sfumato.randomness.streams import NoiseSource

STARS = (1.0, 2.0, 3.0, 4.0, 5.0)


def two_tastes(users=1_500, items=12, seed=5):
    """People who like the even or the odd items, four stars apart, with a bias of their own."""
    draw = np.random.default_rng(seed)
    taste = draw.integers(0, 2, users)
    user, item = np.nonzero(draw.random((users, items)) < 0.6)
    liked = (item % 2 == taste[user]).astype(int)
    value = np.clip(np.rint(1 + 2 * liked + draw.normal(0, 0.4, user.size)), 0, 4).astype(int)
    return SparseUnits.from_triples([str(u) for u in range(users)], user, item, value, items, 5)


def split_of(ratings, seed=1):
    """A fifth of the ratings aside."""
    words = NoiseSource.seeded(seed).stream(0).words(ratings.items.size)
    return hold_out(ratings, 0.2, words)


def errors_of(columns, split, settings=None):
    """RMSE on what was kept aside."""
    model = fit_ratings(columns, STARS, settings)
    return model.predict(split.train, split.units, split.items).errors(np.array(STARS)[split.values])


def test_a_hold_out_leaves_everybody_a_rating():
    """A fifth is aside, nobody lost all, and nothing is in both parts."""
    ratings = two_tastes()
    split = split_of(ratings)
    assert (np.diff(split.train.starts) >= 1)[np.diff(ratings.starts) >= 1].all()
    assert split.units.size + split.train.items.size == ratings.items.size
    assert split.units.size / ratings.items.size == pytest.approx(0.2, abs=0.02)


def test_factors_find_tastes_that_means_cannot():
    """The items are liked by half: the mean and the bias say nothing, two factors nearly everything."""
    split = split_of(two_tastes())
    found = errors_of([SparseRecords.raw(split.train)], split, Factorization(rank=2, noise_variance=0.3))
    assert found["item means"] > 0.9
    assert found["factors"] < 0.65 * found["means and user bias"]


def test_a_record_with_a_count_is_that_many_equal_people():
    """Means and factors are the same as from the people themselves."""
    once = SparseUnits.from_triples(["a", "b"], [0, 0, 1, 1], [0, 1, 0, 1], [4, 0, 0, 4], 2, 5)
    people_of = [(u, i, v) for u in range(40) for i, v in ((0, 4 if u < 30 else 0), (1, 0 if u < 30 else 4))]
    user, item, value = zip(*people_of, strict=True)
    many = SparseUnits.from_triples([str(u) for u in range(40)], user, item, value, 2, 5)
    weighted = fit_ratings([SparseRecords(once, np.array([30, 10]))], STARS)
    plain = fit_ratings([SparseRecords.raw(many)], STARS)
    assert weighted.means == pytest.approx(plain.means)
    # The two may differ by a turn of the axes; products of factors may not.
    assert weighted.blocks[0] @ weighted.blocks[0].T == pytest.approx(
        plain.blocks[0] @ plain.blocks[0].T, abs=1e-6
    )


def test_each_column_has_factors_of_its_own():
    """Zero outside the column, and an item of no column is predicted by mean and bias."""
    split = split_of(two_tastes())
    first = SparseRecords.raw(split.train.keep(split.train.items < 6))
    second = SparseRecords.raw(split.train.keep((split.train.items >= 6) & (split.train.items < 11)))
    model = fit_ratings([first, second], STARS)
    assert not model.blocks[0][6:].any()
    assert not model.blocks[1][:6].any()
    found = model.predict(split.train, [0, 1], [11, 11])
    assert found.with_factors.tolist() == found.with_bias.tolist()


def test_columns_without_noise_lose_little_against_the_whole():
    """Two blocks of six items still know the taste."""
    split = split_of(two_tastes())
    whole = errors_of([SparseRecords.raw(split.train)], split)
    columns = [SparseRecords.raw(split.train.keep(split.train.items % 12 // 6 == part)) for part in (0, 1)]
    cut = errors_of(columns, split)
    assert whole["factors"] < cut["factors"] < cut["means and user bias"]


def test_nothing_published_predicts_the_middle():
    """An empty release has no means; the middle of the scale stands for them."""
    nothing = SparseUnits.from_triples([], [], [], [], 12, 5)
    model = fit_ratings([SparseRecords.raw(nothing)], STARS)
    assert model.means.tolist() == [3.0] * 12
    assert not model.blocks.any()


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """Make-believe ratings of the twenty most popular movies, published in two columns."""
    user, movie, stars = (np.concatenate(each) for each in zip(*rating_triples(60_000, 2), strict=True))
    popular = np.argsort(-np.bincount(movie, minlength=500))[:20]
    kept = np.isin(movie, popular)
    schema = Schema.from_dict(
        {
            "long": {"unit": "user", "item": "movie", "value": "stars"},
            "attributes": {
                "user": {"role": "identifier"},
                "movie": {"role": "other", "categories": [str(each) for each in popular]},
                "stars": {"role": "sensitive", "categories": ["1", "2", "3", "4", "5"]},
            },
        }
    )
    table = pa.table(
        {
            "user": [str(each) for each in user[kept]],
            "movie": [str(each) for each in movie[kept]],
            "stars": [str(each) for each in stars[kept]],
        }
    )
    design = ColumnizedCounts(k=5, epsilon=4.0, delta=1e-4, columns=2, column_budget=2, schema_share=0.0)
    published = publish(read_table(table, schema), design, tmp_path_factory.mktemp("r") / "r", seed=1)
    true = {str(each): float(stars[movie == each].mean()) for each in popular}
    return published, true


def test_published_item_means_are_near_the_true_ones(release):
    """Of movies with many published ratings; rare fragments are missing, which leans them a little."""
    published, true = release
    rows = [row for row in item_means(published).rows if row[1] >= 500]
    assert len(rows) >= 3
    assert all(abs(mean - true[name]) < 0.35 for name, _, mean in rows)


def test_similarities_across_columns_are_not_known(release):
    """Not a number where two items share no column."""
    published, _ = release
    found = item_similarities(published)
    first, second = published.law.long.columns
    assert np.isnan(found[np.ix_(first, second)]).all()
    inside = found[np.ix_(first, first)]
    assert ((inside >= 0) & (inside <= 1)).all()
    assert np.diagonal(found) == pytest.approx(np.ones(20))


def test_a_model_comes_from_the_release_alone(release):
    """One block for each column."""
    published, _ = release
    model = fit_release(published)
    assert model.blocks.shape[:2] == (2, 20)
    assert ((model.means >= 1) & (model.means <= 5)).all()


def test_releases_without_ratings_are_refused(tmp_path):
    """Whole rows hold no items."""
    rows = publish(
        read_table(people(2_000), SCHEMA), ColumnizedCounts.example(SCHEMA), tmp_path / "w", seed=1
    )
    with pytest.raises(ParameterError, match="unit-item-value data"):
        fit_release(rows)


def test_values_that_are_no_numbers_have_no_mean(tmp_path):
    """Words cannot be averaged."""
    schema = Schema.from_dict(
        {
            "long": {"unit": "user", "item": "movie", "value": "view"},
            "attributes": {
                "user": {"role": "identifier"},
                "movie": {"role": "other", "categories": ["a", "b"]},
                "view": {"role": "sensitive", "categories": ["good", "bad"]},
            },
        }
    )
    table = pa.table({"user": [str(u) for u in range(200)], "movie": ["a"] * 200, "view": ["good"] * 200})
    release = publish(read_table(table, schema), ColumnizedCounts(k=5, epsilon=2.0), tmp_path / "r", seed=1)
    with pytest.raises(ParameterError, match="are no numbers"):
        item_means(release)
