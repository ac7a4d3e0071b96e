"""``sfumato falsify``: try to refute what a method claims."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.guard import REFUTED
from sfumato.cli.options import AsJson, DesignFile, MethodName, Settings
from sfumato.cli.reading import Reading, with_options
from sfumato.cli.showing import show, talk

EXAMPLES = (
    "sfumato falsify --method noisy-marginals --set epsilon=1",
    "sfumato falsify people.csv --schema schema.toml \\",
    "    --method randomized-response --set retention=0.5",
)


@with_options
def falsify(
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="[DATA]",
            help="Private rows to test the law on besides; nothing of them is published.",
            show_default=False,
        ),
    ] = None,
    *,
    schema: Annotated[
        Path | None,
        typer.Option("--schema", metavar="FILE", help="Schema file (TOML); a toy's when not given."),
    ] = None,
    method: MethodName = None,
    settings: Settings = None,
    design: DesignFile = None,
    trials: Annotated[
        int, typer.Option("--trials", metavar="N", help="Releases of each of two neighbouring tables.")
    ] = 4_000,
    repeats: Annotated[
        int, typer.Option("--repeats", metavar="N", help="Releases of every other table.")
    ] = 20,
    level: Annotated[
        float,
        typer.Option("--level", metavar="A", help="Probability of refuting a method that is what it says."),
    ] = 1e-4,
    seed: Annotated[int | None, typer.Option("--seed", metavar="N", help="Repeats everything.")] = None,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Try to refute what a method claims, by publishing tables made for it again and again."""
    from sfumato.cli.parameters import design_from
    from sfumato.custody.audit.falsifying import falsify as try_to_refute
    from sfumato.values.schema import Schema

    chosen = design_from(method, settings, design)
    if data is not None and schema is None:
        raise typer.BadParameter("give --schema with DATA.")
    declared = None if schema is None else Schema.read(schema)
    private = None if data is None or declared is None else reading.read_table(data, declared)
    found = try_to_refute(
        chosen, schema=declared, table=private, trials=trials, repeats=repeats, level=level, seed=seed
    )
    if private is not None:
        talk("Computed from the private rows too: for your eyes, not for publication.")
    show(found, as_json=as_json)
    if found.is_refuted:
        raise typer.Exit(REFUTED)
