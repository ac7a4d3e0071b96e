"""``sfumato loglinear``: a loglinear model fitted through the law, or a search for one."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from sfumato.cli.counts import attribute_names
from sfumato.cli.options import AsJson, Confidence, ReleaseFolder, TargetName, Where
from sfumato.cli.reading import Running, with_options
from sfumato.cli.showing import show

EXAMPLES = (
    'sfumato loglinear release "sex*job + job*region"',
    "sfumato loglinear release --search sex,job,region",
)


@with_options
def loglinear(
    release: ReleaseFolder,
    model: Annotated[
        str | None,
        typer.Argument(
            metavar="MODEL",
            help="Products of attributes joined by +, such as a*b + b*c: a and c are independent given b.",
            show_default=False,
        ),
    ] = None,
    *,
    search: Annotated[
        list[str] | None,
        typer.Option(
            "--search",
            metavar="ATTRIBUTES",
            help="Test every model of these two to four attributes instead, and name the smallest that fits. Exploratory.",
        ),
    ] = None,
    level: Annotated[float, typer.Option("--level", help="At which a search rejects a model.")] = 0.05,
    counts: Annotated[
        Literal["estimated", "published"] | None,
        typer.Option(
            "--counts",
            help="Counts estimated through the law, or published rows as they stand where randomization preserves the model.",
        ),
    ] = None,
    where: Where = "",
    confidence: Confidence = 0.95,
    target: TargetName = "table",
    reading: Running,
    as_json: AsJson = False,
) -> None:
    """Fit a loglinear model and test whether it fits, or search among models."""
    if (model is None) == (search is None):
        raise typer.BadParameter("give a model, or --search with attributes, one of them.")
    opened = reading.load_release(release)
    if model is None:
        names = attribute_names(search or [])
        show(opened.search_loglinear(names, where=where, counts=counts, level=level), as_json=as_json)
        return
    fitted = opened.loglinear(model, where=where, counts=counts, confidence_level=confidence, target=target)
    show(fitted, as_json=as_json)
