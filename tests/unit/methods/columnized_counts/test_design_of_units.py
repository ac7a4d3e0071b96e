"""Items of units cut into columns: what is published, planned and refused."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from noisy_rows import design
from samples import SCHEMA, people
from sfumato import Schema, publish, read_table
from sfumato.errors import DataError, ParameterError, SchemaError
from sfumato.methods.anatomy.design import Anatomy

RATINGS = Schema.from_toml("""
[long]
unit = "user"
item = "movie"
value = "stars"
[attributes.user]
role = "identifier"
[attributes.movie]
role = "other"
categories = ["m1", "m2", "m3", "m4"]
[attributes.stars]
role = "sensitive"
categories = ["1", "2", "3", "4", "5"]
""")


def ratings(users=3_000, seed=1):
    """Users of two tastes, who rate half of four movies."""
    draw = np.random.default_rng(seed)
    taste = draw.integers(0, 2, users)
    user, movie = np.nonzero(draw.random((users, 4)) < 0.5)
    stars = np.where((movie < 2) == (taste[user] == 1), "5", "1")
    return pa.table(
        {"user": [f"user-{u}" for u in user], "movie": [f"m{m + 1}" for m in movie], "stars": stars}
    )


def rating_table(**changes):
    """The ratings as a private table, with some cells replaced."""
    rows = ratings().to_pydict()
    for column, (place, cell) in changes.items():
        rows[column][place] = cell
    return read_table(pa.table(rows), RATINGS)


@pytest.mark.parametrize("keyed", [None, "public key"])
def test_ratings_are_published_in_columns(tmp_path, keyed):
    """One table of fragments: item, value, column, fragment and count; the user's name is nowhere."""
    cut = design(columns=[2], column_budget=1, schema_share=0.0, truncation_key=keyed)
    release = publish(rating_table(), cut, tmp_path / "r", seed=1)
    assert release.law.long.columns == ((0, 1), (2, 3))
    names = ("movie", "stars", "column", "fragment", "count")
    (batch,) = release.scan("fragments", names)
    pairs = {
        tuple(
            sorted(zip(batch.codes["movie"][rows].tolist(), batch.codes["stars"][rows].tolist(), strict=True))
        )
        for fragment in set(batch.codes["fragment"].tolist())
        for rows in [batch.codes["fragment"] == fragment]
    }
    assert ((0, 4), (1, 4)) in pairs
    assert (batch.codes["count"] >= 5).all()
    # Numbers without a gap: they do not tell how many fragments were left out.
    assert set(batch.codes["fragment"].tolist()) == set(range(len(pairs)))
    assert not any(b"user-" in path.read_bytes() for path in release.folder.iterdir())
    form = "additive" if keyed is None else "pointwise"
    assert release.guarantees[1].form == form


def test_counts_of_ratings_come_near_the_truth_when_nothing_is_cut(tmp_path):
    """All fragments are frequent here, so that sums are right up to the noise."""
    release = publish(rating_table(), design(), tmp_path / "r", seed=1)
    rows = ratings().to_pydict()
    true = sum(m == "m1" and s == "5" for m, s in zip(rows["movie"], rows["stars"], strict=True))
    answer = release.query("movie = 'm1' AND stars = '5'")
    assert abs(answer.estimate - true) < 5 * answer.std_error


def test_a_plan_of_ratings_counts_people_by_column():
    """Units that have something in a column, not ratings; each is in one of the two at a budget of one."""
    cut = design(column_sets=(("m1", "m2"), ("m3", "m4")), column_budget=1)
    *_, survival = cut.plan_tables(RATINGS, 6_000, rating_table())
    users = len(set(ratings()["user"].to_pylist()))
    assert sum(row[1] for row in survival.rows) == users
    assert survival.is_private


def test_missing_values_are_dropped_and_others_recoded(tmp_path):
    """A rating without stars is none; the rest is published as low or high."""
    attributes = RATINGS.to_dict()["attributes"]
    stars = {**attributes["stars"], "missing": "category"}
    schema = Schema.from_dict({**RATINGS.to_dict(), "attributes": {**attributes, "stars": stars}})
    rows = ratings().to_pydict()
    rows["stars"] = [
        None if movie == "m4" else each for movie, each in zip(rows["movie"], rows["stars"], strict=True)
    ]
    coarse = design(recoding={"stars": (("1", "2"), ("3", "4", "5"))})
    release = publish(read_table(pa.table(rows), schema), coarse, tmp_path / "r", seed=1)
    assert release.schema["stars"].labels == ("1 or 2", "3 or 4 or 5", "(missing)")
    assert release.query("movie = 'm4'").estimate == 0
    assert release.query("stars IS MISSING").estimate == 0
    assert release.query("stars = '1 or 2'").estimate == pytest.approx(rows["stars"].count("1"), rel=0.05)


def test_baskets_need_no_value(tmp_path):
    """Having an item says it all."""
    schema = Schema.from_dict(
        {
            "long": {"unit": "user", "item": "movie"},
            "attributes": {
                "user": {"role": "identifier"},
                "movie": {"role": "other", "categories": ["m1", "m2", "m3", "m4"]},
            },
        }
    )
    release = publish(read_table(ratings().drop_columns(["stars"]), schema), design(), tmp_path / "r", seed=1)
    assert release.query("movie = 'm2'").estimate == pytest.approx(1_500, rel=0.1)


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"user": (3, None)}, DataError, "column 'user' has no value in 1 row"),
        ({"user": (3, "")}, DataError, "every row must say whose it is"),
        ({"movie": (3, None)}, DataError, "column 'movie' has no value in 1 row"),
        ({"movie": (3, "SECRET")}, DataError, "column 'movie' has a value outside"),
    ],
)
def test_rows_without_unit_or_item_are_refused_without_a_trace(tmp_path, changes, error, words):
    """Column, reason and number of rows; never a cell."""
    with pytest.raises(error, match=words) as caught:
        publish(rating_table(**changes), design(), tmp_path / "r", seed=1)
    assert "SECRET" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_unit_with_two_values_for_an_item_is_refused(tmp_path):
    """One more rating of a movie that the user has rated already."""
    rows = ratings().to_pydict()
    for column in rows:
        rows[column].append(rows[column][0])
    rows["stars"][-1] = "3"
    with pytest.raises(DataError, match="second value for an item"):
        publish(read_table(pa.table(rows), RATINGS), design(), tmp_path / "r", seed=1)


def test_a_key_needs_named_units():
    """Rows of an ordinary table have no names."""
    with pytest.raises(ParameterError, match="truncation_key needs unit-item-value data"):
        design(columns=2, column_budget=1, truncation_key="x").guarantees(SCHEMA)


def test_recoding_must_name_known_categories(tmp_path):
    """The nearest is suggested."""
    with pytest.raises(ParameterError, match="did you mean 'Sales'"):
        publish(
            read_table(people(500), SCHEMA), design(recoding={"job": (("Slaes", "Tech"),)}), tmp_path / "r"
        )
    with pytest.raises(ParameterError, match="recoding names 'movie'"):
        design(recoding={"movie": (("m1", "m2"),)}).guarantees(RATINGS)


def test_methods_that_protect_rows_refuse_units(tmp_path):
    """A person with two hundred ratings is not protected row by row."""
    with pytest.raises(ParameterError, match="protects single rows"):
        publish(rating_table(), Anatomy(l_value=2), tmp_path / "r", seed=1)


def test_units_need_a_long_schema():
    """Otherwise nobody said which column is what."""
    with pytest.raises(SchemaError, match=r"no \[long\] table"):
        read_table(people(10), SCHEMA).rows_of_units()


def many_items(units, items, per_unit, seed=6):
    """Sparse baskets over many items, of which a few are popular, as a private table."""
    draw = np.random.default_rng(seed)
    unit = np.repeat(np.arange(units), per_unit)
    item = np.minimum(draw.pareto(0.6, unit.size) * 3, items - 1).astype(int)
    keys = np.unique(unit * items + item)
    schema = Schema.from_dict(
        {
            "long": {"unit": "user", "item": "item"},
            "attributes": {
                "user": {"role": "identifier"},
                "item": {"role": "other", "categories": [str(each) for each in range(items)]},
            },
        }
    )
    rows = pa.table({"user": [str(u) for u in keys // items], "item": [str(i) for i in keys % items]})
    return read_table(rows, schema)


@pytest.mark.parametrize(
    ("units", "items"),
    [(2_000, 1_000), pytest.param(20_000, 20_000, marks=pytest.mark.slow)],
)
def test_thousands_of_items_are_cut_and_published(tmp_path, units, items):
    """Sparse from the file to the release; every item is in one column of the cut."""
    cut = design(columns=10, column_budget=2, schema_share=0.0)
    release = publish(many_items(units, items, 5), cut, tmp_path / "r", seed=1)
    columns = release.law.long.columns
    assert sorted(each for column in columns for each in column) == list(range(items))
    assert release.number_of_rows > 0
