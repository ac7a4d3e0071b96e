"""Make-believe ratings: repeatable, of the size asked for, and fit for their schema."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato import read_table
from sfumato.datasets import make_dataset
from sfumato.datasets.ratings import ITEMS, rating_triples
from sfumato.errors import ParameterError


def ratings(rows, seed):
    """All blocks end to end."""
    return [np.concatenate(each) for each in zip(*rating_triples(rows, seed), strict=True)]


def test_fewer_rows_are_the_first_of_more():
    """The same seed gives the same ratings."""
    few, many = ratings(3_000, 4), ratings(30_000, 4)
    assert all((one == other[:3_000]).all() for one, other in zip(few, many, strict=True))
    assert any((one != other).any() for one, other in zip(few, ratings(3_000, 5), strict=True))


def test_nobody_rates_a_movie_twice_and_stars_are_from_one_to_five():
    """A unit has each item once."""
    user, movie, stars = ratings(20_000, 1)
    assert len(set(zip(user.tolist(), movie.tolist(), strict=True))) == 20_000
    assert set(stars.tolist()) == {1, 2, 3, 4, 5}
    assert movie.max() < ITEMS


def test_popularity_is_skewed_and_people_have_a_few_ratings():
    """The tenth movie has far fewer ratings than the first; five to six a person."""
    user, movie, _ = ratings(50_000, 2)
    counts = np.sort(np.bincount(movie, minlength=ITEMS))[::-1]
    assert counts[0] > 4 * counts[20]
    assert 4.5 < user.size / (user.max() + 1) < 7


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_files_are_read_back_as_units(tmp_path, suffix):
    """The schema beside the file says which column is what."""
    made = make_dataset("ratings", 5_000, 3, tmp_path / f"r.{suffix}")
    units = read_table(made.data, made.schema).rows_of_units()
    assert made.rows == 5_000 == units.ends[-1]
    assert units.codes["rating"].max() <= 4


@pytest.mark.parametrize(
    ("rows", "seed", "name", "words"),
    [(0, 1, "a.csv", "rows must be"), (5, -1, "a.csv", "seed must be"), (5, 1, "a.txt", "out must end")],
)
def test_bad_requests_write_nothing(tmp_path, rows, seed, name, words):
    """Refused before a file is made."""
    with pytest.raises(ParameterError, match=words):
        make_dataset("ratings", rows, seed, tmp_path / name)
    assert not list(tmp_path.iterdir())
