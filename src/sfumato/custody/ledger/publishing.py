"""Publishing with the ledger open: what was released of the same rows is looked up first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sfumato.custody.conditions import promises_of
from sfumato.custody.ledger.book import Entry, Ledger
from sfumato.custody.ledger.composing import compose_entries
from sfumato.data.distributed.engine import SplitEngine
from sfumato.data.distributed.fingerprinting import fingerprint_of_splits
from sfumato.data.duckdb import DuckDBEngine
from sfumato.data.fingerprints import Fingerprint, fingerprint
from sfumato.data.private_table import PrivateTable
from sfumato.errors import PublishedBeforeError
from sfumato.methods.base import Design, Repetition
from sfumato.values.schema import Role

Say = Callable[[str], None]
"""Takes a sentence that the custodian must read."""


@contextmanager
def entered(
    ledger: Ledger, table: PrivateTable, design: Design, folder: Path, *, again: bool, say: Say
) -> Iterator[Entry]:
    """Look the table up, enter the release, and confirm it when the block has made it.

    Raises
    ------
    PublishedBeforeError
        When an earlier release of the same rows, or of people in them, is neither deleted nor withdrawn, unless
        ``again`` says that what both add up to is accepted.
    """
    found = _fingerprint(table, ledger)
    _refuse_or_say(ledger, found, table, design, again=again, say=say)
    guarantees = tuple(each.model_dump(mode="json") for each in promises_of(design, table.schema))
    entry = ledger.enter(folder, found, design.to_dict(), guarantees, _sizes(table))
    try:
        yield entry
    except BaseException:
        ledger.cancel(entry)
        raise
    ledger.confirm(entry)


def _sizes(table: PrivateTable) -> dict[str, int]:
    return {each.name: each.size for each in table.schema.publishable.attributes}


def _fingerprint(table: PrivateTable, ledger: Ledger) -> Fingerprint:
    people = [each.name for each in table.schema.attributes if each.role in (Role.IDENTIFIER, Role.UNIT)]
    if isinstance(table.engine, SplitEngine):
        return fingerprint_of_splits(table.source, table.engine, ledger.key, people)
    engine = table.engine if isinstance(table.engine, DuckDBEngine) else DuckDBEngine()
    return fingerprint(table.source, engine, ledger.key, people)


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
