"""``sfumato schema``: first schemas from data, what does not fit one, and what its keys mean."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.guard import REFUSED
from sfumato.cli.options import AsJson, Data
from sfumato.cli.reading import Reading, with_options
from sfumato.cli.showing import show, show_json, talk, tell, warn

EXPLAIN_EXAMPLES = ("sfumato schema explain", "sfumato schema explain dates")
CHECK_EXAMPLES = ("sfumato schema check people.csv schema.toml",)
EXAMPLES = (
    "sfumato schema infer people.csv --out schema.toml",
    "sfumato schema infer sqlite:///people.db --table people --out schema.toml",
)


@with_options
def infer(
    data: Data,
    *,
    out: Annotated[
        Path,
        typer.Option(
            "--out", metavar="FILE", help="Schema file to make; must not exist.", show_default=False
        ),
    ],
    header: Annotated[
        bool,
        typer.Option(
            "--header", help="The first line does hold the column names, though they look like values."
        ),
    ] = False,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Guess roles and categories from data, and say what a person must check."""
    from sfumato.custody.infer import infer_schema
    from sfumato.writing import refuse_existing, write_whole

    refuse_existing(out, parameter="out")
    guess = infer_schema(data, **reading.source_options, has_header=header, engine=reading.make_engine())
    with write_whole(out, parameter="out") as (temporary,):
        temporary.write_text(guess.to_toml(), encoding="utf-8")
    if as_json:
        show_json({"schema": str(out), **guess.to_dict()})
    else:
        tell(guess.summary())
    warn(f"{out} holds values from the data. Keep it private until a person has checked it.")
    title = "Decide before publishing, most harmful first; the file says everything there is to check:"
    talk("\n".join([title, *(f"{place}. {each}" for place, each in enumerate(guess.decisions, 1))]))


@with_options
def check(
    data: Data,
    schema: Annotated[Path, typer.Argument(metavar="SCHEMA", help="Schema file (TOML).", show_default=False)],
    *,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Name everything in which data and a schema do not fit, with numbers of rows; exit 1 when something does not."""
    from sfumato.custody.check import check_schema
    from sfumato.values.schema import Schema

    found = check_schema(data, Schema.read(schema), **reading.source_options, engine=reading.make_engine())
    show(found, as_json=as_json)
    if not found.fits:
        talk("\n".join(f"- {sentence}" for sentence in found.sentences))
        raise typer.Exit(REFUSED)


def explain(
    key: Annotated[
        str | None, typer.Argument(metavar="[KEY]", help="A key of a schema file; all without it.")
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Explain what can stand in a schema file."""
    from sfumato.values.schema.explaining import explain_key, schema_language

    show(schema_language() if key is None else explain_key(key), as_json=as_json)
