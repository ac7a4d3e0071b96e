"""Rows of a data frame that were coded are remembered: by the frame itself, and by what their codes mean."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from sfumato.data.distributed import spark as spark_engine
from sfumato.data.distributed.spark import SparkEngine
from sfumato.data.sources.databases import SparkFrame
from sfumato.schema import Schema


class Frame:
    """Stands for a data frame: only who it is matters."""


@pytest.fixture
def engine(monkeypatch, tmp_path):
    """An engine that codes nothing: splits tell by their number how often it was asked to."""
    made = SparkEngine(session=object())
    monkeypatch.setattr(made.spark, "shared_folder", lambda: nullcontext(tmp_path))
    coded = []

    def splits(resting):
        coded.append(resting.schema)
        return (len(coded),)

    monkeypatch.setattr(spark_engine.AtRest, "splits", splits)
    return made


def attributes(edges):
    """One attribute in bins."""
    return Schema.from_toml(f'[attributes.v]\nrole = "sensitive"\nbins = {edges}').attributes


def test_a_frame_that_is_gone_leaves_its_place_to_no_other(engine):
    """A frame is held while its rows are: otherwise one that is made later could be at its address."""
    frame = Frame()
    place = id(frame)
    assert engine.splits(SparkFrame(frame), attributes([0, 1, 2])) == (1,)
    del frame
    others = [Frame() for _ in range(100)]
    assert place not in map(id, others)
    for number, each in enumerate(others, start=2):
        assert engine.splits(SparkFrame(each), attributes([0, 1, 2])) == (number,)


def test_the_same_frame_is_coded_once_for_the_same_bins(engine):
    """Under another schema its codes mean something else."""
    frame = Frame()
    asked = [attributes([0, 1, 2]), attributes([0, 1, 3]), attributes([0, 1, 2])]
    assert [engine.splits(SparkFrame(frame), each) for each in asked] == [(1,), (2,), (1,)]


def test_closing_forgets(engine):
    """The files are gone then."""
    frame = Frame()
    engine.splits(SparkFrame(frame), attributes([0, 1, 2]))
    engine.close()
    assert engine.splits(SparkFrame(frame), attributes([0, 1, 2])) == (2,)
