"""``sfumato impute``: tables of rows as they may have been."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.counts import attribute_names
from sfumato.cli.options import AsJson, ReleaseFolder
from sfumato.cli.reading import Running, with_options
from sfumato.cli.showing import show, talk

EXAMPLES = (
    "sfumato impute release --by sex,occupation --out draws",
    'sfumato impute release --model "age*sex + sex*job" --out draws',
)


@with_options
def impute(
    release: ReleaseFolder,
    *,
    out: Annotated[
        Path,
        typer.Option("--out", metavar="DIR", help="Folder to make; it must not exist.", show_default=False),
    ],
    by: Annotated[
        list[str] | None,
        typer.Option("--by", metavar="ATTRIBUTES", help="Attributes to draw; all of them when not given."),
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            "--model",
            metavar="MODEL",
            help="A loglinear model of the attributes to draw, in place of --by; none is assumed when not given.",
        ),
    ] = "",
    draws: Annotated[int, typer.Option("--draws", metavar="N", help="How many tables.")] = 20,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", help="The same draws follow from the same seed.")
    ] = 0,
    reading: Running,
    as_json: AsJson = False,
) -> None:
    """Draw tables of rows as they may have been, for tools that know multiple imputation."""
    names = None if by is None else attribute_names(by)
    found = reading.load_release(release).impute(names, model=model, draws=draws, seed=seed)
    found.write(out)
    show(found, as_json=as_json)
    talk(f"Next: analyse every file of {out} by itself, then pool the results by Rubin's rules.")
