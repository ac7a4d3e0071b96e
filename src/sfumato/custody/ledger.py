"""The ledger: what was released from which table, and what it adds up to."""

from __future__ import annotations

import json
import math
import os
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from hashlib import blake2b
from hmac import compare_digest
from pathlib import Path
from typing import Any, NamedTuple, Self

from sfumato.custody.privacy_unit import promises_of
from sfumato.data.chunks import Read
from sfumato.data.distributed.engine import SplitEngine
from sfumato.data.duckdb_engine import DuckDBEngine
from sfumato.data.fingerprints import CellTally, Fingerprint, Sketch, fingerprint, fingerprint_of_splits
from sfumato.data.private_table import PrivateTable
from sfumato.errors import LedgerError, LedgerLostError, PublishedBeforeError, nearest
from sfumato.guarantees import GUARANTEES, Guarantee
from sfumato.guarantees.differential_privacy import (
    DifferentialPrivacy,
    ItemDifferentialPrivacy,
    LocalDifferentialPrivacy,
    compose,
)
from sfumato.methods.base import METHODS, Design, Repetition
from sfumato.release.storage import read_manifest
from sfumato.schema import Role

# --------------------------------------------------------------------------------------------------
# The book itself: a local file that only its owner can read, one line for each release.


LEDGER_VARIABLE = "SFUMATO_LEDGER"
"""Environment variable that names another ledger than the default one."""

KEY_BYTES = 32
_OWNER_ONLY = 0o600

# A ledger that was lost must not look like a new one. The database keeps a check value of the key, and a keyed digest of
# all entries; the file of the key keeps which ledger it belongs to, and its numbers of changes and entries. The database is
# committed first: it may be ahead of the file of the key after a crash, and is never behind it unless entries are lost.
# A ledger without entries loses nothing when it is deleted.
_KEY_FILE = re.compile(
    rf"([0-9a-f]{{{2 * KEY_BYTES}}})(?:\s+([0-9a-f]{{32}}) (\d{{1,18}}) (\d{{1,18}}))?\s*", re.ASCII
)
_UNAVAILABLE = tuple(
    f"SQLITE_{each}" for each in ("BUSY", "LOCKED", "READONLY", "IOERR", "CANTOPEN", "FULL", "PERM", "NOMEM")
)
"""Errors of SQLite that say nothing about what the file holds."""


class _Key(NamedTuple):
    """What the file of the key holds; files of earlier versions hold the secret alone."""

    secret: bytes
    ledger: str = ""
    changes: int | None = None
    entries: int | None = None

    def digest(self, *content: object) -> bytes:
        """Keyed digest of a sequence of values."""
        return blake2b(json.dumps(content, default=str).encode(), key=self.secret, digest_size=32).digest()


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
    about any value. Both are made, for their owner alone, when the first release is entered. A ledger that
    lost its key or entries is refused, and not taken for a new one.

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
        LedgerLostError
            When key or entries are lost or damaged: tables that were published would not be recognized.
        """
        with self._open() as (_, key):
            return key.secret

    def require_usable(self) -> None:
        """Refuse a ledger that nothing could be entered into, before rows are read.

        Raises
        ------
        LedgerError
            When the file is not a ledger or may not be written, or its key or entries are lost.
        """
        with self._open():
            pass

    def accept_loss(self) -> tuple[Path, ...]:
        """Go on after a loss: with the entries that an older backup holds, else with none. Returns files set aside.

        Raises
        ------
        LedgerError
            When nothing is lost.
        """
        try:
            self.require_usable()
        except LedgerLostError:
            pass
        else:
            raise LedgerError(
                f"nothing of the ledger {str(self.path)!r} is lost. To use another one, name it with --ledger."
            )
        try:
            with self._open(accept_loss=True):
                return ()
        except LedgerLostError:
            aside = tuple(self._set_aside())
        with self._open():
            return aside

    def _set_aside(self) -> Iterator[Path]:
        beside = [self.path.with_name(self.path.name + end) for end in ("", "-journal", "-wal", "-shm")]
        for path in (*beside, self._key_path):
            if path.exists():
                number = 1
                while (aside := path.with_name(f"{path.name}.lost-{number}")).exists():
                    number += 1
                yield path.rename(aside)

    def entries(self) -> tuple[Entry, ...]:
        """All releases ever entered, oldest first."""
        if not os.path.lexists(self.path) and not os.path.lexists(self._key_path):
            return ()
        with self._open() as (book, _):
            rows = _rows(book)
        try:
            return tuple(_entry(number, json.loads(content)) for number, content in rows)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise LedgerError(
                f"the ledger {str(self.path)!r} has entries that this version cannot read. "
                "Use the version of sfumato that wrote them, or a later one."
            ) from None

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
        with self._open() as (book, _):
            number = book.execute(
                "insert into releases (content) values (?)", (json.dumps(asdict(entry)),)
            ).lastrowid
        return replace(entry, number=int(number or 0))

    def confirm(self, entry: Entry) -> Entry:
        """Note that the release of an entry was made."""
        return self._change(replace(entry, checksum=checksum_of(Path(entry.folder))))

    def cancel(self, entry: Entry) -> None:
        """Strike out the entry of a release that was not made."""
        with self._open() as (book, _):
            book.execute("delete from releases where number = ?", (entry.number,))

    def _change(self, entry: Entry) -> Entry:
        with self._open() as (book, _):
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

    @property
    def _key_path(self) -> Path:
        return self.path.with_suffix(".key")

    @contextmanager
    def _open(self, *, accept_loss: bool = False) -> Iterator[tuple[sqlite3.Connection, _Key]]:
        """The checked database and its key, made where both are missing; changes are kept whole or not at all."""
        try:
            key = self._read_key()
            if key is not None and key.entries != 0 and not (self.path.exists() and self.path.stat().st_size):
                raise self._lost(f"{self.path.name!r} is missing or empty beside its key")
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # Made before SQLite does, which would let others read it.
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, _OWNER_ONLY))
            with closing(sqlite3.connect(self.path, timeout=30, isolation_level=None)) as book:
                book.execute("begin immediate")
                before = book.total_changes
                key = self._checked(book, accept_loss=accept_loss)
                yield book, key
                if book.total_changes > before:
                    book.execute("update ledger set changes = changes + 1")
                    book.execute("update ledger set digest = ?", (_digest(book, key),))
                book.execute("commit")
                # Under a lock of its own, so that the count of changes never falls and is never of what is not committed.
                book.execute("begin immediate")
                ((changes, entries),) = book.execute(
                    "select changes, (select count(*) from releases) from ledger"
                ).fetchall()
                now = key._replace(changes=changes, entries=entries)
                if self._read_key() != now:
                    self._write_key(now)
        except (sqlite3.Error, OSError, ValueError) as error:
            # Damaged text of the database is a ValueError.
            name = str(getattr(error, "sqlite_errorname", ""))
            if not isinstance(error, OSError) and not name.startswith(_UNAVAILABLE):
                if self._key_path.exists():
                    raise self._lost(f"{self.path.name!r} is damaged") from None
                raise self._no_ledger() from None
            raise LedgerError(
                f"the ledger {str(self.path)!r} cannot be used ({type(error).__name__}). "
                "It must be a file in a folder that may be written; name another with --ledger."
            ) from None

    def _checked(self, book: sqlite3.Connection, *, accept_loss: bool) -> _Key:
        """The key, after comparing key and database with each other's check values."""
        key = self._read_key()
        names = {
            name for (name,) in book.execute("select name from sqlite_master where name not like 'sqlite_%'")
        }
        if "ledger" not in names:
            # A new ledger, or one of an earlier version, which has no check values yet.
            is_earlier = "releases" in names
            if names - {"releases"}:
                raise self._no_ledger() if key is None else self._lost(f"{self.path.name!r} is not a ledger")
            if key is None and is_earlier and _rows(book):
                raise self._lost(f"its key {self._key_path.name!r} is missing")
            if key is not None and key.entries != 0 and (key.ledger or not is_earlier):
                raise self._lost("its check values are missing")
            return self._begin(book, key)
        if key is None:
            raise self._lost(f"its key {self._key_path.name!r} is missing")
        held, changes = self._verified(book, key)
        if accept_loss:
            return self._begin(book, key)
        if key.ledger and key.ledger != held.ledger:
            raise self._lost(f"{self._key_path.name!r} is of another ledger")
        if key.changes is not None and changes < key.changes:
            raise self._lost(f"it has {changes} of {key.changes} changes, as an older copy would")
        return held

    def _verified(self, book: sqlite3.Connection, key: _Key) -> tuple[_Key, int]:
        """The key as that of this ledger and the number of changes, if key and entries have the digests kept."""
        found = book.execute("select id, changes, key_check, digest from ledger").fetchall()
        if len(found) != 1:
            raise self._lost("its check values are damaged")
        ((identity, changes, key_check, digest),) = found
        held = key._replace(ledger=identity)
        if not _equal(key_check, held.digest("key", identity)):
            raise self._lost(f"{self._key_path.name!r} is not its key")
        if not _equal(digest, _digest(book, held)):
            raise self._lost("its entries are damaged")
        return held, changes

    def _begin(self, book: sqlite3.Connection, key: _Key | None) -> _Key:
        """Give the database, whatever entries it has, a new identity and check values."""
        # Imported where it is used: reading a ledger needs no randomness.
        from sfumato.randomness.streams import secret_bytes

        if key is None:
            # Before the commit, with no change: a process that is killed in between leaves no database to miss.
            key = _Key(secret_bytes(KEY_BYTES), secret_bytes(16).hex(), 0, 0)
            self._write_key(key)
        elif key.changes != 0:
            key = _Key(key.secret, secret_bytes(16).hex(), 0, 0)
        book.execute(
            "create table if not exists releases (number integer primary key autoincrement, content text not null)"
        )
        book.execute("drop table if exists ledger")
        book.execute("create table ledger (id text, changes integer, key_check blob, digest blob)")
        book.execute("insert into ledger values (?, 0, ?, null)", (key.ledger, key.digest("key", key.ledger)))
        return key

    def _read_key(self) -> _Key | None:
        try:
            text = self._key_path.read_text(encoding="ascii")
        except FileNotFoundError:
            return None
        except UnicodeDecodeError:
            text = ""
        parts = _KEY_FILE.fullmatch(text)
        if parts is None:
            raise self._lost(f"its key {self._key_path.name!r} is damaged")
        secret, ledger, *numbers = parts.groups()
        changes, entries = (None if each is None else int(each) for each in numbers)
        return _Key(bytes.fromhex(secret), ledger or "", changes, entries)

    def _write_key(self, key: _Key) -> None:
        """Replace the file of the key, whole or not at all; only under the lock of the database."""
        temporary = self._key_path.with_suffix(".key.partial")
        temporary.unlink(missing_ok=True)
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER_ONLY), "w") as file:
            file.write(f"{key.secret.hex()}\n{key.ledger} {key.changes} {key.entries}\n")
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self._key_path)

    def _lost(self, what: str) -> LedgerLostError:
        return LedgerLostError(
            f"the ledger {str(self.path)!r} cannot be used: {what}. Put ledger and key back from a backup, or go on "
            "without what is lost by `sfumato ledger accept-loss`."
        )

    def _no_ledger(self) -> LedgerError:
        return LedgerError(
            f"the file {str(self.path)!r} cannot be used: it is not a ledger of sfumato. Name another with --ledger."
        )


def _rows(book: sqlite3.Connection) -> list[tuple[int, str]]:
    return book.execute("select number, content from releases order by number").fetchall()


def _digest(book: sqlite3.Connection, key: _Key) -> bytes:
    """Keyed digest of everything that the database holds."""
    changes = book.execute("select changes from ledger").fetchall()
    return key.digest("entries", key.ledger, changes, _rows(book))


def _equal(stored: object, computed: bytes) -> bool:
    return isinstance(stored, bytes) and compare_digest(stored, computed)


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
            "table": Fingerprint(
                table["number_of_rows"], table["columns"], people, tuple(table.get("serial", ()))
            ),
        }
    )


# --------------------------------------------------------------------------------------------------
# What several releases of one table add up to.


COMPOSABLE = (DifferentialPrivacy, LocalDifferentialPrivacy, ItemDifferentialPrivacy)
"""Promises whose numbers add up."""


@dataclass(frozen=True)
class PartialSum:
    """What some of the releases add up to, where the others have no such promise.

    Parameters
    ----------
    releases
        Numbers of the ledger; None for one that is not made yet.
    promise
        Of these together.
    """

    releases: tuple[int | None, ...]
    promise: Guarantee

    def sentence(self) -> str:
        """For people: whose sum it is, and that it is not that of all."""
        made = [str(each) for each in self.releases if each is not None]
        words = [*([f"release{'s' if len(made) > 1 else ''} {' and '.join(made)}"] if made else [])]
        words += ["the new release"] if None in self.releases else []
        alone = "by itself" if len(self.releases) == 1 else "by themselves"
        return (
            f"Of {' and '.join(words)} {alone}: {self.promise.statement} The other releases are not included in this total, "
            "and add to it."
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"releases": list(self.releases), "promise": self.promise.model_dump(mode="json")}


@dataclass(frozen=True)
class Composition:
    """What an attacker has who holds several releases of the same rows.

    Parameters
    ----------
    entries
        The releases.
    planned
        Methods of releases that are not made yet.
    together
        Promises of one kind that all of the releases make, composed.
    partly
        The same of those that only some of them make. It is no promise about the releases together.
    without_rule
        Method to what a second release of it costs, for methods whose promise has no such rule.
    """

    entries: tuple[Entry, ...]
    planned: tuple[str, ...]
    together: tuple[Guarantee, ...]
    partly: tuple[PartialSum, ...]
    without_rule: dict[str, str]

    def summary(self) -> str:
        """Sentences for people."""
        number = len(self.entries) + len(self.planned)
        lines = [f"{number} release{'' if number == 1 else 's'} of one table:"]
        lines += [f"  {each.number}. {each.when} {each.method}, {each.folder}" for each in self.entries]
        lines += [f"  new: {method}" for method in self.planned]
        lines += [f"Together: {each.statement}" for each in self.together]
        lines += [each.sentence() for each in self.partly]
        lines += [f"{method}: {sentence}" for method, sentence in self.without_rule.items()]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "releases": [
                {"number": each.number, "when": each.when, "method": each.method, "folder": each.folder}
                for each in self.entries
            ],
            "planned": list(self.planned),
            "together": [each.model_dump(mode="json") for each in self.together],
            "partly": [each.to_dict() for each in self.partly],
            "without_rule": self.without_rule,
        }


def compose_entries(entries: Sequence[Entry], *, planned: Sequence[Repetition] = ()) -> Composition:
    """What releases of one table, and some that are only planned, add up to.

    Parameters
    ----------
    entries
        Of the ledger.
    planned
        Releases that are not made yet.
    """
    releases = [*map(_repetition, entries), *planned]
    numbers = [*(each.number for each in entries), *(None for _ in planned)]
    sums = [
        (summed, tuple(numbers[each] for each in places))
        for summed, places in _sums([each.promises for each in releases])
    ]
    methods = [str(each.design.to_dict()["method"]) for each in releases]
    return Composition(
        tuple(entries),
        tuple(methods[len(entries) :]),
        tuple(summed for summed, made in sums if len(made) == len(releases)),
        tuple(PartialSum(made, summed) for summed, made in sums if len(made) < len(releases)),
        dict(_without_rule(methods, releases)),
    )


def _repetition(entry: Entry) -> Repetition:
    return Repetition(
        METHODS.read(entry.design),
        tuple(_read(stored) for stored in entry.guarantees),
        entry.sizes,
        entry.table.number_of_rows,
    )


def _without_rule(methods: Sequence[str], releases: Sequence[Repetition]) -> Iterator[tuple[str, str]]:
    """By method, what its releases that have no epsilon tell together."""
    for method in dict.fromkeys(methods):
        alike = [
            each
            for name, each in zip(methods, releases, strict=True)
            if name == method and not any(isinstance(promise, COMPOSABLE) for promise in each.promises)
        ]
        if alike:
            design = type(alike[-1].design)
            yield method, design.published_again(alike) if len(alike) > 1 else design.published_twice


def _read(stored: dict[str, Any]) -> Guarantee:
    return GUARANTEES.read({key: value for key, value in stored.items() if key != "description"})


Places = tuple[int, ...]


def _sums(promises: Sequence[tuple[Guarantee, ...]]) -> Iterator[tuple[Guarantee, Places]]:
    """Promises of one kind composed, with the places of the releases that make them."""
    central: dict[Any, tuple[list[DifferentialPrivacy], list[int]]] = {}
    local: tuple[list[LocalDifferentialPrivacy], list[int]] = ([], [])
    of_items: tuple[list[ItemDifferentialPrivacy], list[int]] = ([], [])
    for place, each in ((place, each) for place, stated in enumerate(promises) for each in stated):
        if isinstance(each, DifferentialPrivacy):
            kind = (each.relation, each.rows_per_unit, each.whole_units)
            alike, places = central.setdefault(kind, ([], []))
            alike.append(each)
            places.append(place)
        elif isinstance(each, LocalDifferentialPrivacy):
            local[0].append(each)
            local[1].append(place)
        elif isinstance(each, ItemDifferentialPrivacy):
            of_items[0].append(each)
            of_items[1].append(place)
    for alike, places in central.values():
        yield compose(alike), tuple(places)
    if local[0]:
        yield _local(local[0]), tuple(local[1])
    if of_items[0]:
        yield _of_items(of_items[0]), tuple(of_items[1])


def _given(promises: Sequence[Guarantee]) -> tuple[str, ...]:
    """What a sum takes as known: all that its parts do."""
    return tuple(dict.fromkeys(each for promise in promises for each in promise.given))


def _local(promises: Sequence[LocalDifferentialPrivacy]) -> LocalDifferentialPrivacy:
    """Local differential privacy of several releases: draws are independent, so epsilons add up.

    An attribute that one of them publishes unperturbed has no bound, however another perturbs it.
    """
    # Stated for the largest units that any of them is about; what was said of fewer rows counts as often as it must.
    most = max(each.rows_per_unit for each in promises)
    local = [each.for_units(-(-most // each.rows_per_unit)) for each in promises]
    unprotected = {name for each in local for name in each.unprotected}
    perturbed = {name for each in local for name in each.epsilon_by_attribute}
    unbounded = {name for each in local for name in each.unbounded} | (perturbed & unprotected)
    covered = perturbed - unbounded
    return LocalDifferentialPrivacy(
        epsilon_by_attribute={
            name: math.fsum(each.epsilon_by_attribute.get(name, 0.0) for each in local)
            for name in sorted(covered)
        },
        unprotected=tuple(sorted(unprotected)),
        unbounded=tuple(sorted(unbounded)),
        rows_per_unit=most,
        given=_given(promises),
    )


def _of_items(promises: Sequence[ItemDifferentialPrivacy]) -> ItemDifferentialPrivacy:
    """What units have of items, redrawn independently in every release: epsilons add up; none where one has none."""
    finite = [each.epsilon for each in promises if each.epsilon is not None]
    return ItemDifferentialPrivacy(
        epsilon=math.fsum(finite) if len(finite) == len(promises) else None, given=_given(promises)
    )


# --------------------------------------------------------------------------------------------------
# Publishing with the ledger open: what was released of the same rows is looked up first.


Say = Callable[[str], None]
"""Takes a sentence that the custodian must read."""


class Entering:
    """A release on its way into the ledger: looked up, entered, and confirmed when the block has made it.

    Parameters
    ----------
    ledger
        Where releases are written down; nothing is looked up where there is none.
    table
        The private rows.
    design
        How they are published.
    folder
        Where to.
    again
        Earlier releases that are still out are accepted.
    say
        Takes what cannot be refused for certain.
    """

    def __init__(
        self,
        ledger: Ledger | None,
        table: PrivateTable,
        design: Design,
        folder: Path,
        *,
        again: bool,
        say: Say,
    ) -> None:
        self.ledger, self.table, self.design, self.folder = ledger, table, design, folder
        self._again, self._say = again, say
        self._entry: Entry | None = None
        self._tally = CellTally(table.told_by_counts)

    def __enter__(self) -> Self:
        if self.ledger is not None:
            self.ledger.require_usable()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self.ledger is None or self._entry is None:
            return
        if kind is None:
            self.ledger.confirm(self._entry)
        else:
            self.ledger.cancel(self._entry)

    @property
    def number(self) -> int | None:
        """Of the release in the ledger, once it is entered."""
        return None if self._entry is None else self._entry.number

    def looking_up(self, read: Read, resting: PrivateTable, *, passes_once: bool) -> Read:
        """What reads the rows for publishing, which need not be read once more to be looked up.

        Rows that pass by once are counted on their way, and looked up by :meth:`look_up_passed`; others are looked up
        at once, as they are at rest.
        """
        if self.ledger is None:
            return read
        if passes_once:
            return self._tally.watching(read)
        names = [each.name for each in self._tally.attributes]
        if names and not isinstance(resting.engine, SplitEngine):
            counts = resting.count_tables([[name] for name in names])
            self._tally.take([counts[place] for place in range(len(names))], resting.number_of_rows)
        self.look_up_passed()
        return read

    def look_up_passed(self) -> None:
        """Look the rows up and enter the release, unless that was done.

        Raises
        ------
        PublishedBeforeError
            When an earlier release of the same rows, or of people in them, is neither deleted nor withdrawn, unless
            ``again`` says that what both add up to is accepted.
        """
        table, ledger = self.table, self.ledger
        if ledger is None or self._entry is not None:
            return
        found = _fingerprint(table, ledger, self._tally)
        _refuse_or_say(ledger, found, table, self.design, again=self._again, say=self._say)
        guarantees = tuple(each.model_dump(mode="json") for each in promises_of(self.design, table.schema))
        self._entry = ledger.enter(self.folder, found, self.design.to_dict(), guarantees, _sizes(table))


def _sizes(table: PrivateTable) -> dict[str, int]:
    return {each.name: each.size for each in table.schema.publishable.attributes}


def _fingerprint(table: PrivateTable, ledger: Ledger, tally: CellTally) -> Fingerprint:
    people = [each.name for each in table.schema.attributes if each.role in (Role.IDENTIFIER, Role.UNIT)]
    if isinstance(table.engine, SplitEngine):
        return fingerprint_of_splits(table.source.cells, table.engine, ledger.key, people)
    engine = table.engine if isinstance(table.engine, DuckDBEngine) else DuckDBEngine()
    # Of all rows, also where some of each person are drawn.
    return fingerprint(table.source.cells, engine, ledger.key, people, tally=tally)


def _refuse_or_say(
    ledger: Ledger, found: Fingerprint, table: PrivateTable, design: Design, *, again: bool, say: Say
) -> None:
    """Refuse what adds up to more than one release; say what cannot be refused for certain."""
    earlier = ledger.of_table(found)
    out = [each for each in earlier if each.counts]
    planned = [Repetition(design, promises_of(design, table.schema), _sizes(table), found.number_of_rows)]
    if out and not again:
        raise PublishedBeforeError(
            f"this table was published on {out[-1].when} by {out[-1].method} ({out[-1].folder}), and that release is "
            "neither deleted nor withdrawn. Another release of the same rows adds to it.\n"
            f"{compose_entries(out, planned=planned).summary()}\n"
            "Give out the earlier release once more; or `sfumato ledger withdraw "
            f"{out[-1].number}` if nobody else holds it; or accept the sum with --again."
        )
    deleted = [each for each in earlier if each.is_deleted]
    if deleted:
        last = deleted[-1]
        other = f", nor are {len(deleted) - 1} more" if len(deleted) > 1 else ""
        say(
            f"an earlier release of this table ({last.when}, {last.method}) is no longer at {last.folder}{other}. "
            "If another party holds a copy, the releases add up."
        )
    _about_people(ledger, found, again=again, say=say)


def _about_people(ledger: Ledger, found: Fingerprint, *, again: bool, say: Say) -> None:
    related = ledger.sharing_people(found)
    unknown = [each for each, shared in related if shared is None]
    if unknown:
        one = len(unknown) == 1
        say(
            f"cannot tell whether this table shares people with {'an' if one else len(unknown)} earlier table"
            f"{'' if one else 's'}, last {unknown[-1].folder}: no identifier, other than serial numbers, is declared in "
            "both. If it does, the releases add up for them."
        )
    for each, shared in related:
        if shared is not None and shared >= 0.5:
            sentence = (
                f"about {shared:,.0f} people of this table are also in the table released on {each.when} by {each.method} "
                f"({each.folder}); for them the releases add up."
            )
            if not again:
                raise PublishedBeforeError(
                    f"{sentence} Withdraw it with `sfumato ledger withdraw {each.number}` if no other party holds it, "
                    "or accept the sum with --again."
                )
            say(sentence)
