"""Counts are kept for the next question, within bounds, and say what counting anew would."""

from __future__ import annotations

import itertools
import pickle
import threading

import numpy as np
import pytest

from samples import SCHEMA, people
from sfumato import RandomizedResponse, publish, read_table
from sfumato.data.duckdb_engine import DuckDBEngine
from sfumato.errors import QueryError
from sfumato.query.selection import Selection
from sfumato.release import release as kept_counts
from sfumato.release.release import KeptCounts

QUESTIONS = (
    "job = 'Sales'",
    "job = 'Sales' AND sex = 'Female'",
    "sex = 'Male' AND job != 'Sales'",
    "sex = 'Female' AND age < 35 AND region IS MISSING",
    "age < 35 AND job = 'Tech' AND region != 'North'",
    "",
    "region = 'North'",
)


class CountingEngine(DuckDBEngine):
    """Counts its own passes over rows."""

    passes = 0

    def open(self, source, attributes=()):
        """Count, then open."""
        self.passes += 1
        return super().open(source, attributes)


@pytest.fixture
def release(tmp_path):
    """A release whose engine counts passes."""
    made = publish(
        read_table(people(), SCHEMA), RandomizedResponse(retention=0.5), tmp_path / "release", seed=1
    )
    made.engine = CountingEngine()
    yield made
    made.close()


def anew(release, names, where):
    """The same counts from the rows themselves."""
    rows = release.manifest.tables[0].schema_of_attributes
    conditions = [(rows[name], codes) for name, codes in where.conditions]
    return DuckDBEngine().count_by(release.sources["rows"], rows.select(names), conditions)


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("names", [(), ("job",), ("job", "sex"), ("region", "job", "age")])
def test_kept_counts_are_the_rows_counts(release, question, names):
    """Whatever is conditioned, tabulated or both, in whatever order."""
    where = Selection.parse(question, release.schema)
    found = release.count_by(names, where)
    expected = anew(release, names, where)
    assert found.names == expected.names
    assert np.array_equal(found.counts, expected.counts)
    assert found.counts.dtype == expected.counts.dtype


def test_the_second_question_on_the_same_attributes_reads_nothing(release):
    """Nor does one about fewer of them."""
    release.query("job = 'Sales' AND sex = 'Female' AND age < 35")
    assert release.engine.passes == 1
    release.query("job = 'Tech' AND sex = 'Male' AND age >= 35")
    release.query("sex = 'Male' AND job = 'Tech'")
    release.counts(["age", "job"], where="sex = 'Male'")
    assert release.engine.passes == 1


def test_many_questions_read_the_rows_once(release):
    """Each gets the answer it would get alone."""
    answers = release.queries(QUESTIONS)
    assert release.engine.passes == 1
    release.engine = CountingEngine()
    del release._counts
    assert answers == tuple(release.query(each) for each in QUESTIONS)


def test_options_of_a_question_hold_for_all(release):
    """Confidence and target arrive."""
    (answer,) = release.queries(["job = 'Sales'"], confidence_level=0.9, target="population")
    assert answer == release.query("job = 'Sales'", confidence_level=0.9, target="population")
    assert release.queries([]) == ()


def test_a_question_that_cannot_be_read_is_numbered_before_any_is_answered(release):
    """The position within it stays."""
    with pytest.raises(QueryError, match=r"^question 2: at character 7.*did you mean 'Sales'") as caught:
        release.queries(["job = 'Sales'", "job = 'Slaes'"])
    assert caught.value.position == 6
    assert release.engine.passes == 0
    with pytest.raises(QueryError, match="Ask it by query"):
        release.queries("job = 'Sales'")


def test_the_bound_on_memory_holds(release, monkeypatch):
    """The oldest counts go; the answers stay the same."""
    monkeypatch.setattr(kept_counts, "KEPT_BYTES", 300)
    names = release.schema.names
    for pair in itertools.combinations(names, 2):
        expected = anew(release, pair, Selection()).counts
        assert np.array_equal(release.count_by(pair, Selection()).counts, expected)
        kept = list(release._counts._kept.values())
        assert len(kept) == 1 or sum(kept_counts._bytes(each) for each in kept) <= 300
    answers = release.queries(QUESTIONS)
    assert answers == tuple(release.query(each) for each in QUESTIONS)


def test_tables_too_large_to_keep_are_counted_where_asked(release, monkeypatch):
    """Only the rows selected, and nothing is kept."""
    monkeypatch.setattr(kept_counts, "LARGEST_KEPT_TABLE", 3)
    where = Selection.parse("sex = 'Male'", release.schema)
    expected = anew(release, ("job",), where).counts
    assert np.array_equal(release.count_by(("job",), where).counts, expected)
    assert not release._counts._kept
    assert release.queries(QUESTIONS) == tuple(release.query(each) for each in QUESTIONS)


def test_occupied_combinations_are_kept_too(release):
    """By attributes and weight."""
    first = release.count_occupied(("sex", "job"))
    assert release.count_occupied(("sex", "job")) is first
    assert release.engine.passes == 1


def test_threads_get_the_same_counts(release):
    """Counting twice is allowed, counting wrongly is not."""
    expected = [
        anew(release, pair, Selection()).counts for pair in itertools.permutations(SCHEMA.names[1:], 2)
    ]
    found = {}

    def ask(number):
        found[number] = [
            release.count_by(pair, Selection()).counts for pair in itertools.permutations(SCHEMA.names[1:], 2)
        ]

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert all(
        np.array_equal(one, other)
        for number in range(4)
        for one, other in zip(found[number], expected, strict=True)
    )


def test_kept_counts_are_not_sent_along(release):
    """What arrives counts for itself."""
    release.query("job = 'Sales'")
    arrived = pickle.loads(pickle.dumps(release._counts))
    assert isinstance(arrived, KeptCounts)
    assert not arrived._kept


def test_schemas_of_published_tables_are_parsed_once(release):
    """A question needs them several times."""
    entry = release.manifest.tables[0]
    assert entry.schema_of_attributes is entry.schema_of_attributes
    assert release.schema.publishable is release.schema
