"""The ledger: what was released from which table, and what it adds up to."""

from __future__ import annotations

import json
import math
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from sfumato.custody.privacy_unit import promises_of
from sfumato.data.chunks import Read
from sfumato.data.distributed.engine import SplitEngine
from sfumato.data.duckdb_engine import DuckDBEngine
from sfumato.data.fingerprints import CellTally, Fingerprint, Sketch, fingerprint, fingerprint_of_splits
from sfumato.data.private_table import PrivateTable
from sfumato.errors import LedgerError, PublishedBeforeError, nearest
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
        from sfumato.randomness.streams import secret_bytes

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
            f"Of {' and '.join(words)} {alone}: {self.promise.statement} What the others tell is not in this sum, and comes "
            "on top."
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
    """Local differential privacy of several releases: draws are independent, so epsilons add up."""
    # Stated for the largest units that any of them is about; what was said of fewer rows counts as often as it must.
    most = max(each.rows_per_unit for each in promises)
    local = [each.for_units(-(-most // each.rows_per_unit)) for each in promises]
    unprotected = {name for each in local for name in each.unprotected}
    unbounded = {name for each in local for name in each.unbounded} - unprotected
    covered = {name for each in local for name in each.epsilon_by_attribute} - unprotected - unbounded
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
        return fingerprint_of_splits(table.source, table.engine, ledger.key, people)
    engine = table.engine if isinstance(table.engine, DuckDBEngine) else DuckDBEngine()
    return fingerprint(table.source, engine, ledger.key, people, tally=tally)


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
    for each in earlier:
        if each.is_deleted:
            say(
                f"an earlier release of this table ({each.when}, {each.method}) is no longer at {each.folder}. "
                "If somebody else holds it, the two add up."
            )
    _about_people(ledger, found, again=again, say=say)


def _about_people(ledger: Ledger, found: Fingerprint, *, again: bool, say: Say) -> None:
    for each, shared in ledger.sharing_people(found):
        place = f"the table released on {each.when} by {each.method} ({each.folder})"
        if shared is None:
            say(
                f"cannot tell whether this table shares people with {place}: no identifier is declared in both. "
                "If it does, the releases add up for them."
            )
        elif shared >= 0.5:
            sentence = (
                f"about {shared:,.0f} people of this table are also in {place}; for them the releases add up."
            )
            if not again:
                raise PublishedBeforeError(
                    f"{sentence} Withdraw it with `sfumato ledger withdraw {each.number}` if nobody else holds it, "
                    "or accept the sum with --again."
                )
            say(sentence)
