"""``sfumato shrink``: noisy counts moved towards zero."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from sfumato.cli.counts import attribute_names
from sfumato.cli.options import AsJson, ReleaseFolder
from sfumato.cli.reading import Running, with_options
from sfumato.cli.showing import show

EXAMPLES = (
    "sfumato shrink release --by sex,occupation",
    "sfumato shrink release --by occupation --mode exact",
)


@with_options
def shrink(
    release: ReleaseFolder,
    *,
    by: Annotated[
        list[str],
        typer.Option("--by", metavar="ATTRIBUTES", help="Attributes to tabulate.", show_default=False),
    ],
    mode: Annotated[
        Literal["counts", "threshold", "signed", "printed", "exact"],
        typer.Option("--mode", help="How counts are moved; the page on shrinkage says when which."),
    ] = "counts",
    reading: Running,
    as_json: AsJson = False,
) -> None:
    """Move noisy counts towards zero: better where many are near it, and biased on purpose."""
    show(reading.load_release(release).shrink(attribute_names(by), mode=mode), as_json=as_json)
