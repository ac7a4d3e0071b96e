"""Breach levels of itemsets, against enumeration and against baskets whose truth is known."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from sfumato import Schema, load_release, publish, read_table
from sfumato.attacks.itemsets import ItemsetBreach, breach_level
from sfumato.cli.app import app
from sfumato.errors import NotIdentifiableError, QueryError
from sfumato.methods.randomized_response.design import RandomizedResponse
from sfumato.randomness.distortion import UniformDistortion, asymmetric_binary, warner

ITEMS = ("bread", "butter", "herring", "äpfel")
UNITS = 4_000


@pytest.mark.parametrize("matrix", [warner(0.8), asymmetric_binary(0.95, 0.6)])
@pytest.mark.parametrize("item", [0, 1, 2])
def test_a_level_is_bayes_over_all_baskets(matrix, item):
    """Three items that go together, every true and published basket enumerated."""
    true = np.random.default_rng(3).dirichlet(np.full(8, 0.7)).reshape(2, 2, 2)
    dense = matrix.dense()
    published = np.einsum("abc,ax,by,cz->xyz", true, dense, dense, dense)
    joint = sum(
        true[basket] * np.prod([dense[has, 1] for has in basket])
        for basket in itertools.product((0, 1), repeat=3)
        if basket[item]
    )
    shown, without = published[1, 1, 1], published[tuple(0 if place == item else 1 for place in range(3))]
    level, _ = breach_level([without, shown], dense, matrix.inverse())
    assert level == pytest.approx(joint / published[1, 1, 1])


def test_a_level_of_ratings_counts_every_value_that_is_shown():
    """Two items with three values each: shown and had are any value; enumerated."""
    draw = np.random.default_rng(4)
    kept = UniformDistortion(retention=0.6, size=4)
    true, dense = draw.dirichlet(np.full(16, 0.8)).reshape(4, 4), kept.dense()
    published = dense.T @ true @ dense
    joint = sum(
        true[x, z] * dense[x, 1:].sum() * dense[z, 1:].sum()
        for x, z in itertools.product(range(1, 4), range(4))
    )
    level, _ = breach_level(published[:, 1:].sum(axis=1), dense, kept.inverse())
    assert level == pytest.approx(joint / published[1:, 1:].sum())


def test_the_standard_error_is_that_of_repeated_draws():
    """400 tables of 3,000 units drawn from one law; sd within 15 %, which is four of its own standard errors."""
    kept, draw = warner(0.8), np.random.default_rng(7)
    shares = np.array([0.55, 0.2, 0.1, 0.15])
    counts = draw.multinomial(3_000, shares, size=400)
    found = np.array([breach_level(row[[2, 3]], kept.dense(), kept.inverse()) for row in counts])
    assert found[:, 0].std() == pytest.approx(found[:, 1].mean(), rel=0.15)


@pytest.fixture(scope="module")
def baskets(tmp_path_factory):
    """Butter mostly with bread, herring rare; items randomized at 0.85."""
    folder = tmp_path_factory.mktemp("baskets")
    draw = np.random.default_rng(11)
    bread = draw.random(UNITS) < 0.4
    has = np.stack(
        [
            bread,
            draw.random(UNITS) < np.where(bread, 0.7, 0.05),
            draw.random(UNITS) < 0.02,
            draw.random(UNITS) < 0.3,
        ]
    )
    item, unit = has.nonzero()
    names = np.array(ITEMS)
    pq.write_table(
        pa.table({"who": [f"u{each}" for each in unit], "what": names[item].tolist()}),
        folder / "baskets.parquet",
    )
    schema = Schema.from_dict(
        {
            "attributes": {
                "who": {"role": "identifier"},
                "what": {"role": "sensitive", "categories": list(ITEMS)},
            },
            "long": {"unit": "who", "item": "what"},
        }
    )
    table = read_table(folder / "baskets.parquet", schema)
    publish(table, RandomizedResponse(retention=0.7), folder / "release", seed=5)
    return load_release(folder / "release"), folder / "release"


def test_an_item_shown_with_its_companion_is_believed_more(baskets):
    """By the command line: herring alone is hardly believed, butter with bread is."""
    release, folder = baskets
    done = CliRunner().invoke(app, ["attack", str(folder), "--attack", "itemset-breach", "--json"])
    assert done.exit_code == 0, done.output
    rows = json.loads(done.stdout)["tables"][0]["rows"]
    level = {
        (row[0], row[1]): row[4]
        for row in (each if isinstance(each, list) else list(each.values()) for each in rows)
    }
    assert level["bread, butter", "butter"] > level["butter", "butter"] > 0.5
    result = ItemsetBreach(items=("herring",), level=0.5).run(release)
    assert result.findings["highest breach level"] < 0.5
    assert result.findings["of them at 0.5 or more"] == 0


def test_a_set_is_asked_for_by_name_in_any_order(baskets):
    """Levels of both items, the same as among the pairs."""
    release, _ = baskets
    one = ItemsetBreach(items=("butter", "bread")).run(release).tables[0].rows
    all_pairs = ItemsetBreach(shown=1_000).run(release).tables[0].rows
    same = [row[1:] for row in all_pairs if set(row[0].split(", ")) == {"bread", "butter"}]
    assert sorted(row[1:] for row in one) == sorted(same)


def test_unknown_items_and_other_releases_are_refused(baskets, tmp_path):
    """An item that is not there, and a table that is no basket."""
    release, _ = baskets
    with pytest.raises(QueryError, match=r"no attribute 'brad'|'bread'"):
        ItemsetBreach(items=("brad",)).run(release)
    schema = Schema.from_dict(
        {
            "attributes": {
                "town": {"role": "quasi-identifier", "categories": ["a", "b"]},
                "job": {"role": "sensitive", "categories": ["x", "y"]},
            }
        }
    )
    table = read_table(pa.table({"town": ["a", "b"] * 20, "job": ["x", "y"] * 20}), schema)
    publish(table, RandomizedResponse(retention=0.7), tmp_path / "rows", seed=5)
    with pytest.raises(NotIdentifiableError, match="baskets or ratings"):
        ItemsetBreach().run(load_release(tmp_path / "rows"))
