"""Publishing with the ledger open: what was released of the same rows is looked up first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Self

from sfumato.custody.conditions import promises_of
from sfumato.custody.ledger.book import Entry, Ledger
from sfumato.custody.ledger.composing import compose_entries
from sfumato.data.distributed.engine import SplitEngine
from sfumato.data.distributed.fingerprinting import fingerprint_of_splits
from sfumato.data.duckdb import DuckDBEngine
from sfumato.data.fingerprints import CellTally, Fingerprint, fingerprint
from sfumato.data.portions import Read
from sfumato.data.private_table import PrivateTable
from sfumato.errors import PublishedBeforeError
from sfumato.methods.base import Design, Repetition
from sfumato.values.schema import Role

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
