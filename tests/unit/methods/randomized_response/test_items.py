"""Baskets and ratings by randomized response: what a unit has of every item is redrawn."""

from __future__ import annotations

import hashlib
import itertools
import pickle

import numpy as np
import pyarrow as pa
import pytest

from foreign import rewritten
from samples import BASKETS, LONG_SCHEMA, baskets, ratings
from sfumato import RandomizedResponse, Schema, load_release, plan, publish, read_table, write_report
from sfumato.custody.publish import in_memory
from sfumato.errors import DataError, ParameterError, ReleaseDamagedError
from sfumato.guarantees.differential_privacy import ItemDifferentialPrivacy
from sfumato.randomness.distortion import DenseDistortion, UniformDistortion
from sfumato.release.verification import verify_release
from sfumato.testing import check_method, release_in_memory
from sfumato.testing.queries import as_asked


@pytest.fixture
def table():
    """Baskets in memory."""
    return in_memory(read_table(baskets(), BASKETS))


def test_estimates_are_those_worked_by_hand(table):
    """With p kept of yes and no alike, a published share y of yes estimates (y - (1 - p)) / (2 p - 1)."""
    release = release_in_memory(table, RandomizedResponse(retention=0.6), seed=5)
    kept, units = 0.8, 400
    codes = {name: np.zeros(units, int) for name in ("leite", "café")}
    for batch in release.scan("items", ("article", "unit")):
        for name, column in codes.items():
            column[batch.codes["unit"][batch.codes["article"] == release.schema.names.index(name)]] = 1
    one, other = (
        np.where(column == 1, kept, kept - 1) / (2 * kept - 1) for column in (codes["leite"], codes["café"])
    )
    answered = release.counts(["leite", "café"])
    assert answered.values[1, 1] == pytest.approx((one * other).sum())
    variance = (one**2 * other**2).sum() - (one * other).sum()
    assert answered.std_errors[1, 1] == pytest.approx(np.sqrt(variance))


def test_every_question_is_asked_of_items(table):
    """The law is that of rows with an attribute for each item, so that everything else follows."""
    release = release_in_memory(table, RandomizedResponse(retention=0.9), seed=1)
    assert release.schema.names == ("pão", "leite", "café", "unit")
    assert release.schema["leite"].labels == ("no", "yes")
    truth = as_asked(table, release.schema)
    for pair in itertools.combinations(release.schema.names, 2):
        found = release.counts(pair)
        errors = np.abs(found.values - truth.count_by(pair).counts)
        # Six standard errors: a correct build exceeds them about once in 10^8 cells.
        assert (errors <= 6 * found.std_errors).all()
    assert release.query("leite = 'yes' OR \"café\" = 'yes'").estimate > 0
    assert release.measures("leite", "café")["lift"].estimate > 1


@pytest.mark.parametrize(
    ("design", "data", "schema"),
    [
        (RandomizedResponse(retention=0.5), baskets(), BASKETS),
        (RandomizedResponse(matrix={"article": ((0.95, 0.05), (0.3, 0.7))}), baskets(), BASKETS),
        (RandomizedResponse(epsilon=2.0), ratings(), LONG_SCHEMA),
    ],
)
def test_what_it_says_of_items_is_true(design, data, schema):
    """Bias, coverage and stated errors, as for every method; the alarm rate is that of the check."""
    check_method(design, read_table(data, schema), releases=30).raise_for_failures()


def test_a_wrong_matrix_would_be_seen(monkeypatch, table):
    """The broken twin: rows are drawn by another retention than the law says."""
    monkeypatch.setattr(UniformDistortion, "drawn", UniformDistortion(retention=0.45, size=2).drawn)
    assert not check_method(RandomizedResponse(retention=0.6), table, releases=30).is_honest


def test_the_promise_is_about_one_item(table):
    """Epsilon of what is drawn, log(0.8 / 0.2) for 0.6 kept; more of several items."""
    (promise,) = release_in_memory(table, RandomizedResponse(retention=0.6), seed=5).guarantees
    assert promise.epsilon == pytest.approx(np.log(4))
    assert "d items" in promise.sentence
    (own,) = RandomizedResponse(matrix={"article": ((1.0, 0.0), (0.3, 0.7))}).guarantees(BASKETS)
    assert own.epsilon is None
    assert "rules out" in own.sentence
    assert "for certain" in own.plain_words
    assert own.is_within(promise)
    assert not promise.is_within(own)


def test_more_than_the_law_gives_is_not_believed(tmp_path):
    """A smaller epsilon in the manifest is refused."""
    publish(
        read_table(baskets(), BASKETS),
        RandomizedResponse(retention=0.6),
        tmp_path / "r",
        seed=1,
        format="csv",
    )

    def promise_more(manifest):
        manifest["guarantees"][0]["epsilon"] = 0.1

    rewritten(tmp_path / "r", promise_more)
    with pytest.raises(ReleaseDamagedError, match="do not follow from its law"):
        load_release(tmp_path / "r")


def test_numbers_and_order_of_units_say_nothing(table):
    """The number that a unit gets is any, and rows of a unit stand together."""
    firsts = set()
    for seed in range(12):
        release = release_in_memory(table, RandomizedResponse(retention=0.99), seed=seed)
        units = np.concatenate([each.codes["unit"] for each in release.scan("items", ("unit",))])
        assert (np.diff(units) >= 0).all()
        first = [
            each.codes["article"][each.codes["unit"] == 0]
            for each in release.scan("items", ("article", "unit"))
        ]
        firsts.add(tuple(np.concatenate(first)))
    assert len(firsts) > 1


def test_names_of_units_and_what_nobody_has_stay_out_of_it(tmp_path):
    """The receipt is an identifier; the list of articles is the schema's."""
    release = publish(read_table(baskets(), BASKETS), RandomizedResponse(retention=0.5), tmp_path / "r")
    for path in (tmp_path / "r").iterdir():
        assert b"receipt-" not in path.read_bytes()
    assert release.counts("unit").values.sum() == pytest.approx(400)
    assert "Every person is one unit." in release.manifest.assumptions


@pytest.mark.parametrize(
    ("design", "message"),
    [
        (RandomizedResponse(retention={"receipt": 0.5}), "'receipt' says nothing"),
        (RandomizedResponse(retention=0.5, attributes=("leite",)), "'leite' says nothing"),
        (RandomizedResponse(matrix={"article": tuple(map(tuple, np.eye(3)))}), "has 3 categories"),
    ],
)
def test_wrong_parameters_are_refused(design, message, tmp_path):
    """With what would be right."""
    with pytest.raises(ParameterError, match=message):
        publish(read_table(baskets(), BASKETS), design, tmp_path / "r")
    assert not (tmp_path / "r").exists()


def test_an_item_twice_is_refused(tmp_path):
    """By number of rows, without the item."""
    twice = pa.concat_tables([baskets(), baskets(1)])
    with pytest.raises(DataError, match="1 rows give a unit a second value") as refusal:
        publish(read_table(twice, BASKETS), RandomizedResponse(retention=0.5), tmp_path / "r")
    assert "leite" not in str(refusal.value)


def changed_rows(folder, change):
    """The release in a folder with other rows, and a manifest that fits them."""
    path = folder / "items.csv"
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")

    def fit(manifest):
        manifest["tables"][0]["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
        manifest["tables"][0]["number_of_rows"] = len(path.read_text(encoding="utf-8").splitlines()) - 1

    return rewritten(folder, fit)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("pão,400\n", "rows of units that it does not have"),
        ("pão,-1\n", "rows of units that it does not have"),
    ],
)
def test_rows_of_units_that_are_not_there_are_refused(line, message, tmp_path):
    """A release from elsewhere may hold anything."""
    publish(
        read_table(baskets(), BASKETS),
        RandomizedResponse(retention=0.5),
        tmp_path / "r",
        seed=2,
        format="csv",
    )
    release = load_release(changed_rows(tmp_path / "r", lambda text: text + line))
    with pytest.raises(ReleaseDamagedError, match=message):
        release.counts("leite")
    with pytest.raises(ReleaseDamagedError, match=message):
        verify_release(tmp_path / "r")


def test_a_unit_with_an_item_twice_is_refused(tmp_path):
    """It would count as one and be counted as two."""
    publish(
        read_table(baskets(), BASKETS),
        RandomizedResponse(retention=0.5),
        tmp_path / "r",
        seed=2,
        format="csv",
    )
    release = load_release(changed_rows(tmp_path / "r", lambda text: text + text.splitlines()[1] + "\n"))
    with pytest.raises(ReleaseDamagedError, match="units that have an item twice"):
        release.counts(BASKETS["article"].labels)


def test_a_plan_says_how_noise_grows_with_length():
    """(1 - p) p / (2 p - 1)^2 for each item, by hand at p = 0.8: 0.16 / 0.36."""
    made = plan(RandomizedResponse(retention=0.6), BASKETS, rows=10_000)
    (found,) = (each for each in made.tables if "item set" in each.title)
    assert [row[1] for row in found.rows] == pytest.approx(
        [np.sqrt((0.16 / 0.36) ** length / 10_000) for length in (1, 2, 3, 4)]
    )


def test_the_promise_of_any_matrix_is_the_largest_ratio_of_a_column():
    """By hand: 0.7 / 0.05 is larger than 0.95 / 0.3."""
    (promise,) = RandomizedResponse(matrix={"article": ((0.95, 0.05), (0.3, 0.7))}).guarantees(BASKETS)
    assert isinstance(promise, ItemDifferentialPrivacy)
    assert promise.epsilon == pytest.approx(np.log(14))
    assert DenseDistortion(rows=((0.95, 0.05), (0.3, 0.7))).size == 2


def test_a_release_that_was_asked_can_be_sent_elsewhere(table):
    """What it keeps of its items is read again there."""
    release = release_in_memory(table, RandomizedResponse(retention=0.6), seed=5)
    before = release.counts(["leite", "café"]).values
    again = pickle.loads(pickle.dumps(release))
    assert (again.counts(["leite", "café"]).values == before).all()


def test_a_release_of_many_items_is_shown_and_reported_in_part(tmp_path):
    """And says so: a supermarket has tens of thousands of articles."""
    articles = [f"article {number}" for number in range(400)]
    schema = Schema.from_dict(
        {
            "long": {"unit": "receipt", "item": "article"},
            "attributes": {
                "receipt": {"role": "identifier"},
                "article": {"role": "sensitive", "categories": articles},
            },
        }
    )
    rows = pa.table({"receipt": [str(each // 2) for each in range(400)], "article": articles})
    release = publish(read_table(rows, schema), RandomizedResponse(retention=0.9), tmp_path / "r")
    shown = release.overview().summary()
    assert "changed" in shown
    assert "and 340 more" in shown
    assert "(400 in all)" in repr(release)
    write_report(release, tmp_path / "report.html")
    assert "the first 200 of 400" in (tmp_path / "report.html").read_text(encoding="utf-8")
