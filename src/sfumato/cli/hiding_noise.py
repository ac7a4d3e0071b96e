"""``sfumato hiding-noise``: how much noise keeps groups' sensitive values from being told by ratios."""

from __future__ import annotations

from typing import Annotated

import typer

from sfumato.cli.counts import attribute_names
from sfumato.cli.options import AsJson, Data, SchemaFile
from sfumato.cli.reading import Reading, with_options
from sfumato.cli.showing import show

EXAMPLES = (
    "sfumato hiding-noise people.csv --schema schema.toml \\",
    "    --of income --by education,sex",
)


@with_options
def hiding_noise(
    data: Data,
    *,
    schema: SchemaFile,
    of: Annotated[
        str, typer.Option("--of", metavar="ATTRIBUTE", help="The sensitive attribute.", show_default=False)
    ],
    by: Annotated[
        list[str],
        typer.Option(
            "--by", metavar="ATTRIBUTES", help="Attributes that make the groups.", show_default=False
        ),
    ],
    sensitivity: Annotated[
        float,
        typer.Option("--sensitivity", help="How much one person changes all published counts, summed up."),
    ] = 2.0,
    unknown: Annotated[
        list[str] | None,
        typer.Option(
            "--unknown",
            metavar="LABEL",
            help="A label that stands for no known value; its rows count in their groups. May be repeated.",
            show_default=False,
        ),
    ] = None,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Compute the least noise at which the ratio attack finds nothing; the result is private."""
    from sfumato.custody.hiding import plan_hiding

    table = reading.read_table(data, schema)
    found = plan_hiding(table, of, attribute_names(by), sensitivity=sensitivity, unknown=unknown or ())
    show(found, as_json=as_json)
