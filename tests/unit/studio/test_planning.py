"""What a slider shows: a promise at once for every method, the newest plan, and plans that are the command line's own."""

from __future__ import annotations

import asyncio
import time

import pytest

import samples
from sfumato import METHODS, Attribute, Role, Schema
from sfumato.custody.plan import plan
from sfumato.studio import planner
from sfumato.studio.processes import Planner

AT_ONCE = 0.2
"""Seconds of computation within which numbers must be there."""

ROWS = 50_000


def order(name: str, do: str) -> dict:
    """As the page sends it for the method's example."""
    parameters = {
        key: value
        for key, value in METHODS.get(name).example(samples.SCHEMA.publishable).to_dict().items()
        if key != "method"
    }
    return {
        "do": do,
        "schema": samples.SCHEMA.to_dict(),
        "rows": ROWS,
        "method": name,
        "parameters": parameters,
    }


def seconds(asked: dict) -> float:
    """Computing time of a warm planner; the clock of a busy machine would measure the others."""
    assert planner.answer(asked)["exit"] == 0
    began = time.process_time()
    planner.answer(asked)
    return time.process_time() - began


@pytest.mark.parametrize("name", METHODS.members)
def test_a_promise_is_there_at_once(name):
    """For every method."""
    assert seconds(order(name, "promise")) < AT_ONCE


@pytest.mark.parametrize("name", METHODS.members)
def test_errors_to_expect_are_there_at_once(name):
    """From the number of rows alone."""
    assert seconds(order(name, "plan")) < AT_ONCE


@pytest.mark.parametrize("name", METHODS.members)
def test_the_planner_says_what_plan_says(name):
    """Word for word and number for number; its promise is that of the whole plan."""
    asked = order(name, "plan")
    expected = plan(METHODS.make(name, asked["parameters"]), samples.SCHEMA, ROWS).to_dict()
    assert planner.answer(asked)["result"] == expected
    promised = planner.answer({**asked, "do": "promise"})["result"]
    assert promised == {**expected, "private": False, "tables": []}


def test_counts_are_made_once(tmp_path, monkeypatch):
    """The second plan of the same rows asks the engine for nothing that the first one asked for."""
    from pyarrow import csv

    from sfumato.data.private_table import PrivateTable

    csv.write_csv(samples.people(500), tmp_path / "people.csv")
    counted = []
    real = PrivateTable.count_by
    monkeypatch.setattr(
        PrivateTable, "count_by", lambda *all, **named: counted.append(1) or real(*all, **named)
    )
    asked = {**order("randomized-response", "plan"), "data": str(tmp_path / "people.csv"), "options": {}}
    first = planner.answer(asked)["result"]
    number = len(counted)
    assert number
    assert planner.answer(asked)["result"] == first
    assert len(counted) == number
    expected = plan(
        METHODS.make("randomized-response", asked["parameters"]),
        samples.SCHEMA,
        500,
        table=planner._table(asked),
    ).to_dict()
    assert first == expected


def test_a_plan_that_takes_long_is_given_up_for_the_newest(tmp_path, monkeypatch):
    """Whoever waited for the older one is told; the newer one is answered."""
    monkeypatch.setattr("sfumato.studio.processes.PATIENCE", 0.0)
    # So many values and so few rows that buckets have to be drawn: seconds.
    job = Attribute(name="job", role=Role.SENSITIVE, categories=tuple(f"job {n}" for n in range(1_000)))
    schema = Schema(attributes=(samples.SCHEMA["sex"], job))
    slow = {**order("anatomy", "plan"), "schema": schema.to_dict(), "rows": 30_000}

    async def run():
        found = Planner(tmp_path)
        await found.ask(order("anatomy", "promise"))
        older = asyncio.create_task(found.newest(slow))
        await asyncio.sleep(0.05)
        newer = await found.newest(order("generalization", "plan"))
        await found.close()
        return await older, newer

    older, newer = asyncio.run(run())
    assert older["exit"] == 1
    assert "ended" in older["said"]
    assert newer["exit"] == 0
