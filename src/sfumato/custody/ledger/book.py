"""The book itself: a local file that only its owner can read, one line for each release."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sfumato.data.fingerprints import Fingerprint, Sketch
from sfumato.errors import LedgerError, nearest
from sfumato.release.storage import read_manifest

LEDGER_VARIABLE = "SFUMATO_LEDGER"
"""Environment variable that names another ledger than the default one."""

KEY_BYTES = 32
_OWNER_ONLY = 0o600


@dataclass(frozen=True)
class Entry:
    """One release, as the ledger keeps it. Private: it says what was made of which table.

    Parameters
    ----------
    number
        Counted from 1 on.
    when
        Day of publication, in UTC.
    folder
        Where the release was written.
    checksum
        Of the release's manifest; empty while the release is being written.
    design
        The method and every public parameter.
    guarantees
        The promises, as the manifest states them.
    table
        Fingerprint of the private table.
    is_withdrawn
        The custodian has said that nobody else holds it.
    sizes
        Published attribute to its number of categories; empty in entries of older versions.
    """

    number: int
    when: str
    folder: str
    checksum: str
    design: dict[str, Any]
    guarantees: tuple[dict[str, Any], ...]
    table: Fingerprint
    is_withdrawn: bool = False
    sizes: dict[str, int] = field(default_factory=dict)

    @property
    def method(self) -> str:
        """Public name of the method."""
        return str(self.design["method"])

    @property
    def is_deleted(self) -> bool:
        """Whether the release is no longer in the folder it was written to."""
        if not self.checksum:
            return not Path(self.folder).exists()
        try:
            return checksum_of(Path(self.folder)) != self.checksum
        except Exception:  # noqa: BLE001 - whatever stands there now, it is not this release
            return True

    @property
    def counts(self) -> bool:
        """Whether another release of the same table adds to this one."""
        return not self.is_withdrawn and not self.is_deleted


class Ledger:
    """What was released from which table.

    The key of the fingerprints is in a file of its own beside it: without the key the ledger says nothing
    about any value. Both are made, for their owner alone, when the first release is entered.

    Parameters
    ----------
    path
        The file. It is made when something is entered.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Ledger(Path(folder) / "ledger.db").entries()
    ()
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r})"

    @property
    def key(self) -> bytes:
        """The secret that fingerprints are made with; made on first use.

        Raises
        ------
        LedgerError
            When the key is gone while the ledger has entries: its fingerprints can no longer be compared.
        """
        path = self.path.with_suffix(".key")
        if path.is_file():
            key = bytes.fromhex(path.read_text(encoding="ascii").strip())
            if len(key) == KEY_BYTES:
                return key
        if self.entries():
            raise LedgerError(
                f"the key of the ledger {str(self.path)!r} is missing or damaged, so that no table can be recognized. "
                f"Put {path.name!r} back, or start a new ledger with --ledger."
            )
        return self._new_key(path)

    def _new_key(self, path: Path) -> bytes:
        # Imported where it is used: reading a ledger needs no randomness.
        from sfumato.chance.randomness import secret_bytes

        key = secret_bytes(KEY_BYTES)
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(f".{key[:4].hex()}.partial")
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER_ONLY), "w") as file:
            file.write(key.hex() + "\n")
        try:
            # A link is made whole or not at all, and never over what another process made a moment ago.
            path.hardlink_to(temporary)
        except FileExistsError:
            return bytes.fromhex(path.read_text(encoding="ascii").strip())
        finally:
            temporary.unlink()
        return key

    def require_usable(self) -> None:
        """Refuse a ledger that nothing could be entered into, before anybody waits for what is to be entered.

        Raises
        ------
        LedgerError
            When the file is no ledger or may not be written, or its key is gone.
        """
        with self._open():
            _ = self.key

    def entries(self) -> tuple[Entry, ...]:
        """All releases ever entered, oldest first."""
        if not self.path.exists():
            return ()
        with self._open() as book:
            rows = book.execute("select number, content from releases order by number").fetchall()
        return tuple(_entry(number, json.loads(content)) for number, content in rows)

    def of_table(self, table: Fingerprint) -> tuple[Entry, ...]:
        """Releases of the same rows that nobody has withdrawn, oldest first."""
        return tuple(
            each for each in self.entries() if not each.is_withdrawn and each.table.is_same_table(table)
        )

    def sharing_people(self, table: Fingerprint) -> tuple[tuple[Entry, float | None], ...]:
        """Releases of other rows with a column in common: about how many people they share, or None where nothing tells."""
        return tuple(
            (each, each.table.people_shared_with(table))
            for each in self.entries()
            if each.counts
            and not each.table.is_same_table(table)
            and each.table.columns.keys() & table.columns.keys()
        )

    def enter(
        self,
        folder: Path,
        table: Fingerprint,
        design: dict[str, Any],
        guarantees: tuple[dict[str, Any], ...],
        sizes: dict[str, int] | None = None,
    ) -> Entry:
        """Write down a release that is about to be made; :meth:`confirm` it afterwards.

        In this order, a process that is killed in between leaves an entry without a release, which does not
        count, and never a release without an entry.
        """
        entry = Entry(
            number=0,
            when=datetime.now(UTC).date().isoformat(),
            folder=str(folder.resolve()),
            checksum="",
            design=design,
            guarantees=guarantees,
            table=table,
            sizes=sizes or {},
        )
        with self._open() as book:
            number = book.execute(
                "insert into releases (content) values (?)", (json.dumps(asdict(entry)),)
            ).lastrowid
        return replace(entry, number=int(number or 0))

    def confirm(self, entry: Entry) -> Entry:
        """Note that the release of an entry was made."""
        return self._change(replace(entry, checksum=checksum_of(Path(entry.folder))))

    def cancel(self, entry: Entry) -> None:
        """Strike out the entry of a release that was not made."""
        with self._open() as book:
            book.execute("delete from releases where number = ?", (entry.number,))

    def _change(self, entry: Entry) -> Entry:
        with self._open() as book:
            book.execute(
                "update releases set content = ? where number = ?", (json.dumps(asdict(entry)), entry.number)
            )
        return entry

    def withdraw(self, number: int) -> Entry:
        """Note that nobody else holds a release any more, so that it no longer counts.

        Raises
        ------
        LedgerError
            When there is no such entry.
        """
        found = {each.number: each for each in self.entries()}
        if number not in found:
            raise LedgerError(
                f"the ledger has no entry {number}; {nearest(str(number), [str(each) for each in found])} "
                "`sfumato ledger list` shows them."
            )
        return self._change(replace(found[number], is_withdrawn=True))

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """The file, made for its owner alone where it is not there; changes are kept whole or not at all."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # Made before SQLite does, which would let others read it.
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, _OWNER_ONLY))
            with closing(sqlite3.connect(self.path, timeout=30)) as book, book:
                book.execute(
                    "create table if not exists releases (number integer primary key autoincrement, content text not null)"
                )
                yield book
        except (sqlite3.Error, OSError) as error:
            raise LedgerError(
                f"the ledger {str(self.path)!r} cannot be used ({type(error).__name__}). "
                "It must be a ledger of sfumato in a folder that may be written; name another with --ledger."
            ) from None


def default_ledger() -> Ledger:
    """The ledger of this person on this machine, or the one that ``SFUMATO_LEDGER`` names."""
    named = os.environ.get(LEDGER_VARIABLE)
    if named:
        return Ledger(Path(named))
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Ledger(Path(home) / "sfumato" / "ledger.db")


def checksum_of(folder: Path) -> str:
    """Checksum of the manifest in a folder."""
    return str(read_manifest(folder).to_descriptor()["sfumato"]["checksum"])


def _entry(number: int, content: dict[str, Any]) -> Entry:
    table = content["table"]
    people = {
        name: Sketch(tuple(sketch["hashes"]), sketch["different"]) for name, sketch in table["people"].items()
    }
    return Entry(
        **{
            **content,
            "number": number,
            "guarantees": tuple(content["guarantees"]),
            "table": Fingerprint(table["number_of_rows"], table["columns"], people),
        }
    )
