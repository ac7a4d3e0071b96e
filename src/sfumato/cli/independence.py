"""``sfumato independence``: whether attributes could be independent."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from sfumato.cli.counts import attribute_names
from sfumato.cli.options import AsJson, Given, ReleaseFolder, Where
from sfumato.cli.reading import Running, with_options
from sfumato.cli.showing import show

EXAMPLES = (
    "sfumato independence release --of sex,occupation",
    "sfumato independence release --of sex --of \"occupation = 'Sales'\"",
    "sfumato independence release --of sex,occupation --given region",
    "sfumato independence release --of sex,age,occupation --counts published",
)


@with_options
def independence(
    release: ReleaseFolder,
    *,
    of: Annotated[
        list[str],
        typer.Option(
            "--of",
            metavar="FIRST,SECOND,...",
            help="Two attributes or more, which are then tested for mutual independence; or --of for each attribute or "
            "condition of the query language.",
            show_default=False,
        ),
    ],
    given: Given = None,
    where: Where = "",
    counts: Annotated[
        Literal["estimated", "published"] | None,
        typer.Option(
            "--counts",
            help="Counts estimated through the law, or published rows as they stand where that keeps the level.",
        ),
    ] = None,
    reading: Running,
    as_json: AsJson = False,
) -> None:
    """Test whether attributes are independent in the population, at the right level."""
    sides = of if len(of) > 1 else attribute_names(of)
    if len(sides) < 2:
        raise typer.BadParameter(f"--of names two attributes or conditions, or more, got {len(sides)}.")
    names = attribute_names(given) if given else ()
    tested = reading.load_release(release).independence(*sides, given=names, where=where, counts=counts)
    show(tested, as_json=as_json)
