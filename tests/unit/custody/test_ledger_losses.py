"""Damage, crashes and several processes: a ledger knows all its entries, or is refused."""

from __future__ import annotations

import json
import multiprocessing
import sqlite3
from contextlib import suppress
from dataclasses import asdict

import numpy as np
import pytest

from sfumato.custody.ledger import Ledger
from sfumato.data.fingerprints import Fingerprint, Sketch
from sfumato.errors import LedgerError, LedgerLostError

TABLE = Fingerprint(100, {"job": "1-2"}, {"id": Sketch(tuple(range(0, 3_000, 3)), 1_000)})


@pytest.fixture
def ledger(tmp_path):
    """A new ledger."""
    return Ledger(tmp_path / "book" / "ledger.db")


def enter(ledger: Ledger, number: int = 0) -> None:
    """An entry whose release is nowhere."""
    ledger.enter(ledger.path.parent / f"release-{number}", TABLE, {"method": "anatomy"}, ())


def test_whatever_happens_to_its_bytes_all_entries_are_known_or_none(ledger):
    """Flipped, cut or replaced at random: refused, or of no consequence."""
    for number in range(4):
        enter(ledger, number)
    known, content = ledger.entries(), ledger.path.read_bytes()
    random, refused = np.random.default_rng(5), 0
    for trial in range(300):
        damaged = bytearray(content)
        place = int(random.integers(len(content)))
        if trial % 3 == 0:
            damaged = damaged[:place]
        else:
            for each in [place] if trial % 3 == 1 else random.integers(len(content), size=20).tolist():
                damaged[each] ^= int(random.integers(1, 256))
        ledger.path.write_bytes(damaged)
        ledger.path.with_name("ledger.db-journal").unlink(missing_ok=True)
        try:
            assert ledger.entries() == known
        except LedgerError:
            refused += 1
    assert refused > 200
    ledger.path.write_bytes(content)
    assert ledger.entries() == known


def test_a_ledger_without_entries_loses_nothing_when_it_is_deleted(ledger):
    """A publication that was refused leaves none; one that was made does."""
    enter(ledger)
    ledger.cancel(ledger.entries()[0])
    ledger.path.unlink()
    ledger.require_usable()
    enter(ledger)
    ledger.path.unlink()
    with pytest.raises(LedgerLostError, match="is missing or empty beside its key"):
        ledger.require_usable()


class Killed(BaseException):
    """Ends a process on the spot."""


@pytest.mark.parametrize("first", [True, False], ids=["the first entry", "a later entry"])
@pytest.mark.parametrize("name", ["_read_key", "_write_key", "_checked"])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("call", range(6))
def test_a_process_that_is_killed_locks_nobody_out(ledger, monkeypatch, first, name, when, call):
    """At every step of entering: the next process finds the entries that were committed, and can enter more."""
    if not first:
        enter(ledger)
    before, calls, step = len(ledger.entries()), [], getattr(Ledger, name)

    def ends(self, *arguments, **options):
        calls.append(name)
        if len(calls) == call + 1 and when == "before":
            raise Killed
        result = step(self, *arguments, **options)
        if len(calls) == call + 1:
            raise Killed
        return result

    with monkeypatch.context() as patched, suppress(Killed):
        patched.setattr(Ledger, name, ends)
        enter(ledger)
    assert len(ledger.entries()) in {before, before + 1}
    enter(ledger)
    assert len(ledger.entries()) in {before + 1, before + 2}
    found = ledger.path.with_suffix(".key").read_text().split()
    with sqlite3.connect(ledger.path) as book:
        assert int(found[2]) == book.execute("select changes from ledger").fetchone()[0]


def test_a_change_that_is_not_noted_beside_the_key_is_no_loss(ledger, monkeypatch):
    """Killed between the two; the next opening makes good for it, and an older copy is then noticed."""
    enter(ledger)
    older = ledger.path.read_bytes()
    with monkeypatch.context() as patched, suppress(Killed):
        patched.setattr(Ledger, "_write_key", lambda *_: (_ for _ in ()).throw(Killed))
        enter(ledger)
    assert len(ledger.entries()) == 2
    ledger.path.write_bytes(older)
    with pytest.raises(LedgerLostError, match="older copy"):
        ledger.entries()


def _enter_some(path):
    for number in range(5):
        enter(Ledger(path), number)


def test_processes_that_enter_at_the_same_time_lose_nothing(ledger):
    """Also when each of them finds no ledger at first."""
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_enter_some, args=(ledger.path,)) for _ in range(4)]
    for each in writers:
        each.start()
    for each in writers:
        each.join()
    assert [each.exitcode for each in writers] == [0] * 4
    assert len(ledger.entries()) == 20


def _of_an_earlier_version(ledger: Ledger, entries: int) -> None:
    key = bytes(range(32)).hex()
    ledger.path.parent.mkdir()
    ledger.path.with_suffix(".key").write_text(key + "\n")
    with sqlite3.connect(ledger.path) as book:
        book.execute(
            "create table releases (number integer primary key autoincrement, content text not null)"
        )
        for _ in range(entries):
            content = {
                "number": 0,
                "when": "2026-01-02",
                "folder": "/nowhere",
                "checksum": "",
                "design": {"method": "anatomy"},
                "guarantees": [],
                "table": {key: value for key, value in asdict(TABLE).items() if key != "serial"},
            }
            book.execute("insert into releases (content) values (?)", (json.dumps(content),))
    book.close()


@pytest.mark.parametrize("entries", [0, 2])
def test_a_ledger_of_an_earlier_version_is_opened_and_protected_from_then_on(ledger, entries):
    """It had no check values."""
    _of_an_earlier_version(ledger, entries)
    assert len(ledger.entries()) == entries
    assert ledger.key == bytes(range(32))
    enter(ledger)
    ledger.path.with_suffix(".key").write_text("ab" * 32 + "\n")
    with pytest.raises(LedgerLostError, match="not its key"):
        ledger.entries()


@pytest.mark.parametrize("damage", ["deleted", "empty"])
def test_a_ledger_of_an_earlier_version_is_missed_too(ledger, damage):
    """Its key was never made before it."""
    _of_an_earlier_version(ledger, 1)
    ledger.path.unlink()
    if damage == "empty":
        ledger.path.touch()
    with pytest.raises(LedgerLostError, match="missing or empty"):
        ledger.require_usable()


def test_reading_a_ledger_that_never_was_makes_none(ledger):
    """A list is empty."""
    assert ledger.entries() == ()
    assert not ledger.path.parent.exists()
