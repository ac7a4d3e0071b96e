"""``sfumato measures``: how two attributes go together."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from sfumato.cli.counts import attribute_names
from sfumato.cli.options import AsJson, Confidence, ReleaseFolder, TargetName, Where
from sfumato.cli.reading import Running, with_options
from sfumato.cli.showing import show

EXAMPLES = (
    "sfumato measures release --of sex,occupation",
    "sfumato measures release --of sex --of \"occupation = 'Sales'\"",
)


Of = Annotated[
    list[str],
    typer.Option(
        "--of",
        metavar="FIRST,SECOND",
        help="Two attributes; or --of twice, each an attribute or a condition of the query language.",
        show_default=False,
    ),
]


@with_options
def measures(
    release: ReleaseFolder,
    *,
    of: Of,
    where: Where = "",
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only", metavar="MEASURES", help="These measures, separated by commas; all unless given."
        ),
    ] = None,
    interval: Annotated[
        Literal["normal", "chebyshev", "bootstrap"],
        typer.Option(
            "--interval",
            help="Normal ranges, wider ones that hold for any law of the errors, or from rows drawn anew (independent rows, --target population).",
        ),
    ] = "normal",
    confidence: Confidence = 0.95,
    target: TargetName = "table",
    reading: Running,
    as_json: AsJson = False,
) -> None:
    """Measure how two attributes go together: odds ratio, phi, Cramér's V, lift, and more."""
    measured = reading.load_release(release).measures(
        *two_sides(of),
        where=where,
        only=only and attribute_names(only),
        interval=interval,
        confidence_level=confidence,
        target=target,
    )
    show(measured, as_json=as_json)


def two_sides(of: list[str]) -> tuple[str, str]:
    """The two texts of ``--of``: one with a comma, or two.

    Examples
    --------
    >>> two_sides(["sex,job"]), two_sides(["sex", "job IN ('a', 'b')"])
    (('sex', 'job'), ('sex', "job IN ('a', 'b')"))
    """
    # A condition may hold commas of its own, so only a single text is split.
    sides = of if len(of) > 1 else attribute_names(of)
    if len(sides) != 2:
        raise typer.BadParameter(f"--of names two attributes or conditions, got {len(sides)}.")
    return sides[0], sides[1]
