"""``sfumato ledger``: what was published from which table, and what it adds up to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.options import AsJson, LedgerFile, ledger_named
from sfumato.cli.showing import show_json, talk, tell

if TYPE_CHECKING:
    from sfumato.custody.ledger import Entry

LIST_EXAMPLES = ("sfumato ledger list",)
COMPOSE_EXAMPLES = ("sfumato ledger compose",)
WITHDRAW_EXAMPLES = ("sfumato ledger withdraw 3",)


def list_entries(*, ledger: LedgerFile = None, as_json: AsJson = False) -> None:
    """List every release that was published from this machine."""
    entries = ledger_named(ledger).entries()
    if as_json:
        show_json([_facts(each) for each in entries])
    elif not entries:
        talk("The ledger is empty.")
    else:
        for each in entries:
            tell(f"{each.number:>4}  {each.when}  {_state(each):<9}  {each.method}  {each.folder}")


def compose(*, ledger: LedgerFile = None, as_json: AsJson = False) -> None:
    """Say, for each table, what the releases of it that are still out add up to."""
    from sfumato.custody.ledger import compose_entries

    tables: list[list[Entry]] = []
    for entry in ledger_named(ledger).entries():
        if not entry.counts:
            continue
        same = next((each for each in tables if each[0].table.is_same_table(entry.table)), None)
        if same is None:
            tables.append([entry])
        else:
            same.append(entry)
    compositions = [compose_entries(each) for each in tables]
    if as_json:
        show_json([each.to_dict() for each in compositions])
    elif compositions:
        tell("\n\n".join(each.summary() for each in compositions))
    else:
        talk("No release is out.")


def withdraw(
    number: Annotated[int, typer.Argument(metavar="NUMBER", help="Number of the entry.", show_default=False)],
    *,
    ledger: LedgerFile = None,
) -> None:
    """Say that nobody else holds a release any more, so that it no longer counts."""
    entry = ledger_named(ledger).withdraw(number)
    talk(
        f"Entry {entry.number} ({entry.method}, {entry.folder}) no longer counts. Its folder is left as it is."
    )


def _state(entry: Entry) -> str:
    if entry.is_withdrawn:
        return "withdrawn"
    return "deleted" if entry.is_deleted else "out"


def _facts(entry: Entry) -> dict[str, Any]:
    return {
        "number": entry.number,
        "when": entry.when,
        "state": _state(entry),
        "method": entry.method,
        "folder": entry.folder,
        "design": entry.design,
    }
