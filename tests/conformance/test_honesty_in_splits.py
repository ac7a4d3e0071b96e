"""Every method published in splits and parts, against the suite that methods get: the law that releases state is theirs there too.

What Spark publishes is the same, byte for byte, as what is published here in splits (``tests/spark/test_engine.py``), so that
what holds here holds there.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from conformance.test_honesty import hold_against_the_register
from sfumato import METHODS, RandomizedResponse, load_release, publish
from sfumato.data.distributed import engine as split_engine
from sfumato.data.distributed import splits
from sfumato.data.distributed import splits as resting
from sfumato.data.distributed.engine import LocalRunner, SplitEngine
from sfumato.data.engine import ArrayEngine, CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.release import distributed as parts
from sfumato.testing import check_method

RELEASES = 30
"""Half of the quick run's: standard errors 30 % too small give 0.68 / (0.42 / sqrt(30)) = 8.9 of the 8.2 that is asked for."""

SPLITS, ROWS_PER_FILE = 8, 100
SPLITS_OF_FILES = splits.splits_of


@dataclasses.dataclass(frozen=True, eq=False)
class ArrayRun:
    """Some rows of a table in memory, as a split."""

    rows: CodedRows

    @property
    def number_of_rows(self):
        """Rows."""
        return self.rows.number_of_rows

    def opened(self):
        """Arrays."""
        return ArrayEngine(), self.rows


def splits_in_memory(source):
    """Runs of rows in their order; files of a release as they are."""
    if not isinstance(source, CodedRows):
        return SPLITS_OF_FILES(source)
    runs = np.array_split(np.arange(source.number_of_rows), SPLITS)
    return tuple(ArrayRun(source.take(each)) for each in runs if each.size)


@pytest.fixture
def in_splits(monkeypatch, tmp_path):
    """What publishes a table in memory in splits, to files, and opens them."""
    monkeypatch.setattr(split_engine, "splits_of", splits_in_memory)
    monkeypatch.setattr(resting, "splits_of", splits_in_memory)
    monkeypatch.setattr(resting, "is_divided", lambda _: True)
    monkeypatch.setattr(parts, "ROWS_PER_FILE", ROWS_PER_FILE)
    made = []

    def make(table, design, noise):
        seed = int(noise.named("seed").stream(0).words(1)[0] >> np.uint64(1))
        made.append(tmp_path / f"release-{len(made)}")
        private = PrivateTable(table.source, table.schema, engine=SplitEngine(LocalRunner()))
        publish(private, design, made[-1], seed=seed, accept=("singled-out",), say=lambda _: None)
        return load_release(made[-1])

    yield make
    # Otherwise nothing was cut, and nothing tried.
    tables = load_release(made[0]).manifest.tables
    assert made[0].name == "release-0"
    assert {len(each.parts) for each in tables} != {1}


@pytest.mark.spark
@pytest.mark.parametrize("name", list(METHODS.members))
def test_a_method_is_honest_in_splits(name, alarm_budget, in_splits):
    """Null: estimates unbiased, intervals cover, stated errors real. Thirty releases, family-wise alpha. Twin: below."""
    check = alarm_budget.draw("methods are honest in splits", pieces=16)
    report = check_method(
        METHODS.get(name), releases=RELEASES, alpha=check.alpha, seed=check.seed, make=in_splits
    )
    hold_against_the_register(report, many=False)


@pytest.mark.spark
def test_splits_that_share_their_draws_are_caught(monkeypatch, alarm_budget, in_splits):
    """The twin: every split is given the noise of the first, so that errors do not average out."""
    from sfumato.data.chunks import Portion

    check = alarm_budget.draw("splits that share draws are caught", pieces=1)
    monkeypatch.setattr(Portion, "stream_number", lambda _, batch: batch)
    report = check_method(
        RandomizedResponse(retention=0.5),
        releases=RELEASES,
        alpha=check.alpha,
        seed=check.seed,
        make=in_splits,
    )
    assert not report.is_honest
