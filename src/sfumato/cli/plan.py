"""``sfumato plan``: promise and expected accuracy, before publishing."""

from __future__ import annotations

from typing import Annotated

import typer

from sfumato.cli.options import (
    AsJson,
    DesignFile,
    MethodName,
    SchemaFile,
    Settings,
)
from sfumato.cli.reading import Reading, with_options
from sfumato.cli.showing import show, talk

EXAMPLES = (
    "sfumato plan --schema schema.toml --rows 50000 \\",
    "    --method randomized-response --set retention=0.5",
    "sfumato plan people.csv --schema schema.toml --design design.toml",
)


@with_options
def plan(
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="[DATA]",
            help="The private rows, for errors at the true counts; without them give --rows.",
            show_default=False,
        ),
    ] = None,
    *,
    schema: SchemaFile,
    method: MethodName = None,
    settings: Settings = None,
    design: DesignFile = None,
    rows: Annotated[
        int | None, typer.Option("--rows", metavar="N", help="Rows to plan for, instead of DATA.")
    ] = None,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Show what a design promises and how accurate estimates from its release will be."""
    from sfumato.cli.parameters import design_from
    from sfumato.custody.plan import plan as make_plan
    from sfumato.values.schema import Schema

    chosen = design_from(method, settings, design)
    if (data is None) == (rows is None):
        raise typer.BadParameter("give either DATA or --rows, one of them.")
    declared = Schema.read(schema)
    private = None if data is None else reading.read_table(data, declared)
    number_of_rows = private.number_of_rows if private is not None else rows
    assert number_of_rows is not None
    expected = make_plan(chosen, declared, number_of_rows, table=private)
    if expected.is_private:
        talk("Tables marked private were computed from the rows: for your eyes, not for publication.")
    show(expected, as_json=as_json)
