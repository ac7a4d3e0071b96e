"""``sfumato advise``: what stays valid when the distortion matrices are unknown."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from sfumato.cli.counts import attribute_names
from sfumato.cli.measures import two_sides
from sfumato.cli.options import AsJson, Given, ReleaseFolder
from sfumato.cli.reading import Running, with_options
from sfumato.cli.showing import show

EXAMPLES = (
    "sfumato advise release",
    "sfumato advise release --of sex,occupation --given region",
    "sfumato advise release --of sex,occupation --knowing uniform",
)


@with_options
def advise(
    release: ReleaseFolder,
    *,
    of: Annotated[
        list[str] | None,
        typer.Option(
            "--of",
            metavar="FIRST,SECOND",
            help="Two attributes, or --of twice; any perturbed pair unless given.",
        ),
    ] = None,
    given: Given = None,
    knowing: Annotated[
        Literal["nothing", "keeping", "uniform"],
        typer.Option(
            "--knowing",
            help="What is known of the matrices: nothing; that values are kept more often than changed; that all other "
            "values are equally likely.",
        ),
    ] = "nothing",
    reading: Running,
    as_json: AsJson = False,
) -> None:
    """Say what published rows tell without the matrices: valid, known in one direction, or not valid."""
    sides = two_sides(of) if of else ()
    names = attribute_names(given) if given else ()
    show(reading.load_release(release).advise(*sides, given=names, knowing=knowing), as_json=as_json)
