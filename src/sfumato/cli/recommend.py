"""``sfumato recommend``: what a person may like, from published ratings."""

from __future__ import annotations

from typing import Annotated

import typer

from sfumato.cli.options import AsJson, ReleaseFolder
from sfumato.cli.reading import Running, with_options
from sfumato.cli.showing import show

EXAMPLES = (
    "sfumato recommend release",
    'sfumato recommend release --rated "Alien=5" --rated "Heat=2" --number 5',
)


@with_options
def recommend(
    release: ReleaseFolder,
    *,
    rated: Annotated[
        list[str] | None,
        typer.Option("--rated", metavar="ITEM=VALUE", help="A rating of the person; may be repeated."),
    ] = None,
    number: Annotated[int, typer.Option("--number", help="Items to give, at most.")] = 10,
    reading: Running,
    as_json: AsJson = False,
) -> None:
    """Predict what a person would rate items, from published ratings and his own."""
    pairs = [each.rpartition("=") for each in rated or ()]
    if any(not item or not equals for item, equals, _ in pairs):
        raise typer.BadParameter("--rated is ITEM=VALUE.")
    known = {item: value for item, _, value in pairs}
    show(reading.load_release(release).recommend(known, number=number), as_json=as_json)
