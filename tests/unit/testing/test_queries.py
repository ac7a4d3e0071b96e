"""Releases in memory are what a folder would hold."""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
import pytest

from samples import LONG_SCHEMA, SCHEMA, people, ratings
from sfumato import ColumnizedCounts, publish, read_table
from sfumato.errors import NotIdentifiableError, ParameterError
from sfumato.methods.base import METHODS
from sfumato.randomness.streams import NoiseSource
from sfumato.testing import in_memory, release_in_memory, sample_table
from sfumato.testing.queries import redrawn


@pytest.mark.parametrize("name", list(METHODS.members))
def test_a_release_in_memory_answers_as_its_folder_does(name, tmp_path):
    """Same seed: the same manifest but for the files' digests, the same rows in the same order, the same answers."""
    design = METHODS.get(name).example(SCHEMA)
    table = in_memory(read_table(people(600), SCHEMA))
    held = release_in_memory(table, design, seed=5)
    stored = publish(table, design, tmp_path / "release", seed=5)
    assert held.folder is None
    without = {"tables": ()}
    assert held.manifest.model_copy(update=without) == stored.manifest.model_copy(update=without)
    assert repr(held) == repr(stored)
    for entry in stored.manifest.tables:
        columns = [*entry.schema_of_attributes.names, *entry.integers]
        rows = [next(iter(each.scan(entry.name, columns))) for each in (held, stored)]
        assert all(np.array_equal(rows[0].codes[column], rows[1].codes[column]) for column in columns)
    for target in ("table", "population"):
        for by in (["sex"], ["sex", "age"], ["age", "job"]):
            try:
                answered = stored.counts(by, target=target)
            except NotIdentifiableError as refusal:
                with pytest.raises(NotIdentifiableError) as ours:
                    held.counts(by, target=target)
                assert str(ours.value) == str(refusal)
                continue
            assert held.counts(by, target=target).to_dict() == answered.to_dict()


def test_a_release_without_a_seed_is_fresh_and_says_so():
    """As a folder would."""
    table, design = sample_table(200), METHODS.get("randomized-response")(retention=0.5)
    one, other = (release_in_memory(table, design) for _ in range(2))
    assert not one.manifest.reproducible
    assert one.manifest.tables != other.manifest.tables


def test_what_cannot_be_published_is_refused_as_for_a_folder():
    """A method for rows does not take units with many of them."""
    table = in_memory(read_table(ratings(40), LONG_SCHEMA))
    with pytest.raises(ParameterError, match="protects single rows"):
        release_in_memory(table, METHODS.get("anatomy")(l_value=2))


def test_long_data_are_kept_by_unit_and_redrawn_by_unit():
    """Units keep their rows together; as many units are drawn as there were."""
    original = read_table(ratings(), LONG_SCHEMA)
    table = in_memory(original)
    ours, theirs = table.rows_of_units(), original.rows_of_units()
    assert np.array_equal(ours.ends, theirs.ends)
    assert np.array_equal(
        table.count_by(["movie", "stars"]).counts, original.count_by(["movie", "stars"]).counts
    )
    again = redrawn(table, NoiseSource.seeded(1))
    assert again.rows_of_units().ends.size == ours.ends.size
    # Everybody rated the first movie, so its count is the number of units in any draw of units.
    assert again.count_by(["movie"]).counts[0] == ours.ends.size
    held = release_in_memory(again, ColumnizedCounts.example(LONG_SCHEMA), seed=1)
    assert held.counts(["movie"]).values.sum() > 0


def test_a_redrawn_table_has_the_populations_shares():
    """As many rows, each equally likely: counts within six standard errors of drawing."""
    table = sample_table(2_000)
    drawn = redrawn(table, NoiseSource.seeded(3))
    expected, seen = (each.count_by(["sex", "job"]).counts for each in (table, drawn))
    assert seen.sum() == 2_000
    assert not np.array_equal(seen, expected)
    assert (np.abs(seen - expected) < 6 * np.sqrt(expected)).all()


def test_the_sample_is_the_same_every_time_and_of_the_size_asked_for():
    """It is a population, not a draw."""
    for rows in (1, 999, 5_000):
        assert sample_table(rows).number_of_rows == rows
    one, other = (sample_table().count_by(["region", "job"]).counts for _ in range(2))
    assert np.array_equal(one, other)


def test_the_package_is_light():
    """Importing it loads no engine and no statistics."""
    code = "import sfumato.testing, sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not {"duckdb", "pyarrow", "scipy", "sklearn"} & set(loaded.split())


SECONDS_OF_400_RELEASES = 60.0
"""What somebody can wait for who looks at how often intervals of 5,000 rows cover; the slowest takes an eighth of it."""


@pytest.mark.parametrize("name", list(METHODS.members))
def test_hundreds_of_releases_take_less_than_a_minute(name):
    """Of 5,000 rows, each of a table drawn anew; twenty stand for 400, in seconds of processor."""
    table, releases = sample_table(5_000), 20
    design = METHODS.get(name).example(table.schema)
    release_in_memory(table, design, seed=0)
    started = time.process_time()
    for seed in range(releases):
        release_in_memory(redrawn(table, NoiseSource.seeded(seed)), design, seed=seed)
    assert (time.process_time() - started) * 400 / releases < SECONDS_OF_400_RELEASES
