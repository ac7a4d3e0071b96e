"""A ledger that lost its key or entries is refused, and never taken for a new one."""

from __future__ import annotations

import os
import shutil
import sqlite3

import numpy as np
import pytest

PUBLISH = (
    *("publish", "people.csv", "--schema", "schema.toml", "--method", "randomized-response"),
    *("--set", "retention=0.5", "--ledger", "book/ledger.db", "--out"),
)


@pytest.fixture
def published(run, folder):
    """A folder with a ledger that has one entry, and a copy of the ledger as it was before."""
    assert run(*PUBLISH, "zeroth").exit_code == 0
    shutil.copytree(folder / "book", folder / "earlier")
    assert run(*PUBLISH, "first", "--again").exit_code == 0
    return folder / "book"


def _write(name, content):
    return lambda book: (book / name).write_bytes(content)


def _cut(share):
    def cut(book):
        content = (book / "ledger.db").read_bytes()
        (book / "ledger.db").write_bytes(content[: int(share * len(content))])

    return cut


def _overwrite(where, what):
    def overwrite(book):
        content = bytearray((book / "ledger.db").read_bytes())
        places = range(int(where[0] * len(content)), int(where[1] * len(content)))
        random = np.random.default_rng(11)
        for place in places if what == "zeros" else random.choice(places, 40, replace=False):
            content[place] = 0 if what == "zeros" else content[place] ^ int(random.integers(1, 256))
        (book / "ledger.db").write_bytes(content)

    return overwrite


def _sql(text):
    def change(book):
        with sqlite3.connect(book / "ledger.db") as open_book:
            open_book.executescript(text)
        open_book.close()

    return change


def _another_database(book):
    (book / "ledger.db").unlink()
    _sql("create table houses (price int); insert into houses values (1)")(book)


def _folder_at(name):
    def change(book):
        (book / name).unlink()
        (book / name).mkdir()

    return change


def _another_ledger(name):
    """The file of another ledger, which is in order."""

    def change(book):
        from sfumato.custody.ledger import Ledger

        other = Ledger(book.parent / "other" / "ledger.db")
        other.require_usable()
        shutil.copy(other.path.with_name(name), book / name)

    return change


def _change_key(change):
    def changed(book):
        content = (book / "ledger.key").read_text()
        (book / "ledger.key").write_text(change(content))

    return changed


DAMAGE = {
    "key deleted": lambda book: (book / "ledger.key").unlink(),
    "key empty": _write("ledger.key", b""),
    "key not hexadecimal": _change_key(lambda text: "z" + text[1:]),
    "key of bytes": _write("ledger.key", bytes(range(100, 200))),
    "key short": _change_key(lambda text: text[:60]),
    "key long": _change_key(lambda text: "0" + text),
    "another key": _write("ledger.key", b"ab" * 32 + b"\n"),
    "another key with its count": _another_ledger("ledger.key"),
    "one digit of the key": _change_key(lambda text: ("0" if text[0] != "0" else "1") + text[1:]),
    "count of changes not a number": _change_key(lambda text: text.rstrip() + "x\n"),
    "key is a folder": _folder_at("ledger.key"),
    "database deleted": lambda book: (book / "ledger.db").unlink(),
    "database empty": _cut(0),
    **{f"database cut to {share}": _cut(share) for share in (0.001, 0.01, 0.3, 0.5, 0.75, 0.95, 0.999)},
    "database of text": _write("ledger.db", b"this is a letter and no ledger " * 400),
    "database is a folder": _folder_at("ledger.db"),
    "another database": _another_database,
    "another ledger": _another_ledger("ledger.db"),
    "zeros at the front": _overwrite((0, 0.01), "zeros"),
    "zeros in the middle": _overwrite((0.4, 0.5), "zeros"),
    "zeros at the end": _overwrite((0.9, 1), "zeros"),
    "flips at the front": _overwrite((0, 0.05), "flips"),
    "flips everywhere": _overwrite((0, 1), "flips"),
    "an entry deleted": _sql("delete from releases where number = 1"),
    "all entries deleted": _sql("delete from releases"),
    "entries dropped": _sql("drop table releases"),
    "entries of numbers": _sql("update releases set content = 7"),
    "entries of nothing": _sql("update releases set content = '{}'"),
    "entries that are no JSON": _sql("update releases set content = 'x'"),
    "entries of bytes": _sql("update releases set content = x'ff'"),
    "an entry withdrawn by hand": _sql(
        """update releases set content = replace(content, '"is_withdrawn": false', '"is_withdrawn": true')"""
    ),
    "an older copy of the database": lambda book: shutil.copy(
        book.parent / "earlier" / "ledger.db", book / "ledger.db"
    ),
    "check values dropped": _sql("drop table if exists ledger"),
    "check values deleted": _sql("create table if not exists ledger (a); delete from ledger"),
    "check values of another kind": _sql("drop table if exists ledger; create table ledger (a)"),
}


@pytest.mark.parametrize("name", list(DAMAGE))
def test_a_lost_or_damaged_ledger_is_refused_in_one_sentence(run, published, name):
    """Exit code 1, nothing written, with the remedy; and the remedy works."""
    DAMAGE[name](published)
    before = _contents(published)
    for arguments in ((*PUBLISH, "second"), ("ledger", "list", "--ledger", "book/ledger.db")):
        refused = run(*arguments)
        assert refused.exit_code == 1, refused.stderr
        assert "ledger" in refused.stderr
        assert "\n" not in refused.stderr.strip()
        assert len(refused.stderr) <= 240 + len("sfumato: ")
    assert not (published.parent / "second").exists()
    assert _contents(published) == before
    if "folder" in name:
        assert run("ledger", "accept-loss", "--ledger", "book/ledger.db").exit_code == 1
        return
    assert "accept-loss" in refused.stderr
    accepted = run("ledger", "accept-loss", "--ledger", "book/ledger.db")
    assert accepted.exit_code == 0
    if name == "an older copy of the database":
        assert "The ledger has 1 entry." in accepted.stderr
        assert run(*PUBLISH, "second").exit_code == 1, "what it still knows is still refused"
    else:
        assert "The ledger has 0 entries." in accepted.stderr
        assert "lost-1" in accepted.stderr
        assert run(*PUBLISH, "second").exit_code == 0
    assert run(*PUBLISH, "third").exit_code == 1
    # What was given up does not come back and take the new entries' place.
    assert run("ledger", "accept-loss", "--ledger", "book/ledger.db").exit_code == 1


def _contents(book):
    return {each.name: each.read_bytes() if each.is_file() else None for each in book.iterdir()}


@pytest.mark.skipif(os.geteuid() == 0, reason="the administrator may read and write everything")
@pytest.mark.parametrize("name", ["ledger.key", "ledger.db", "."])
@pytest.mark.parametrize("mode", [0o000, 0o400])
def test_a_ledger_that_may_not_be_used_is_refused(run, published, name, mode):
    """A file or folder without the rights."""
    (published / name).chmod(mode)
    try:
        refused = run(*PUBLISH, "second")
    finally:
        (published / name).chmod(0o700)
    if (name, mode) == ("ledger.key", 0o400):
        # It is replaced by a new file.
        assert "neither deleted nor withdrawn" in refused.stderr
    else:
        assert "cannot be used" in refused.stderr
    assert refused.exit_code == 1
    assert not (published.parent / "second").exists()


@pytest.mark.parametrize("name", ["letter", "another database"])
def test_a_file_that_never_was_a_ledger_is_left_as_it_is(run, folder, name):
    """Its owner did not mean it to be set aside."""
    (folder / "book").mkdir()
    (folder / "book" / "ledger.db").write_bytes(b"a letter " * 400)
    if name == "another database":
        _another_database(folder / "book")
    before = _contents(folder / "book")
    for arguments in ((*PUBLISH, "out"), ("ledger", "accept-loss", "--ledger", "book/ledger.db")):
        refused = run(*arguments)
        assert refused.exit_code == 1
        assert "not a ledger" in refused.stderr
    assert _contents(folder / "book") == before


def test_a_key_restored_from_an_older_copy_is_the_key(run, published):
    """The database is ahead of it, as after a crash: nothing is lost."""
    shutil.copy(published.parent / "earlier" / "ledger.key", published / "ledger.key")
    assert run("ledger", "list", "--ledger", "book/ledger.db").exit_code == 0
    shutil.copy(published.parent / "earlier" / "ledger.db", published / "ledger.db")
    assert run("ledger", "list", "--ledger", "book/ledger.db").exit_code == 1
