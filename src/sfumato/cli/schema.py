"""``sfumato schema``: first schemas from data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options import AsJson, Data, SqlQuery, TableName
from sfumato.cli.showing import show_json, talk, warn

EXAMPLES = (
    "sfumato schema infer people.csv --out schema.toml",
    "sfumato schema infer sqlite:///people.db --table people --out schema.toml",
)


def infer(
    data: Data,
    *,
    out: Annotated[
        Path,
        typer.Option(
            "--out", metavar="FILE", help="Schema file to make; must not exist.", show_default=False
        ),
    ],
    table: TableName = None,
    query: SqlQuery = None,
    as_json: AsJson = False,
) -> None:
    """Guess roles and categories from data, and say what a person must check."""
    from sfumato.custody.infer import infer_schema
    from sfumato.writing import refuse_existing, write_whole

    refuse_existing(out, parameter="out")
    guess = infer_schema(data, table=table, query=query)
    with write_whole(out, parameter="out") as (temporary,):
        temporary.write_text(guess.to_toml(), encoding="utf-8")
    if as_json:
        show_json({"schema": str(out), **guess.to_dict()})
    else:
        typer.echo(guess.summary())
    warn(f"{out} holds values from the data. Keep it private until a person has checked it.")
    talk("\n".join(["Check before publishing:", *(f"- {check}" for check in guess.checks)]))
