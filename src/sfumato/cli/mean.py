"""``sfumato mean``: means, quantiles and variances of binned and numeric attributes."""

from __future__ import annotations

from typing import Annotated

import typer

from sfumato.cli.options import AsJson, Confidence, ReleaseFolder, TargetName, Where
from sfumato.cli.reading import Running, with_options
from sfumato.cli.showing import show

EXAMPLES = (
    "sfumato mean release age",
    "sfumato mean release age --where \"occupation = 'Sales'\"",
    "sfumato mean release age --quantile 0.5",
)


@with_options
def mean(
    release: ReleaseFolder,
    attribute: Annotated[
        str,
        typer.Argument(
            metavar="ATTRIBUTE",
            help="Binned, or with ordered categories that are numbers.",
            show_default=False,
        ),
    ],
    *,
    where: Where = "",
    quantile: Annotated[
        float | None,
        typer.Option("--quantile", metavar="SHARE", help="This quantile instead; 0.5 is the median."),
    ] = None,
    variance: Annotated[bool, typer.Option("--variance", help="The variance instead.")] = False,
    score: Annotated[
        list[str] | None,
        typer.Option(
            "--score", metavar="CATEGORY=NUMBER", help="What a category counts for; for all of them."
        ),
    ] = None,
    confidence: Confidence = 0.95,
    target: TargetName = "table",
    reading: Running,
    as_json: AsJson = False,
) -> None:
    """Estimate the mean, a quantile or the variance of an attribute whose categories stand for numbers."""
    if variance and quantile is not None:
        raise typer.BadParameter("give --quantile or --variance, one of them.")
    scores = None if score is None else dict(category_number(each, "--score") for each in score)
    opened = reading.load_release(release)
    if quantile is not None:
        found = opened.quantile(
            attribute, quantile, where=where, scores=scores, confidence_level=confidence, target=target
        )
    elif variance:
        found = opened.variance(
            attribute, where=where, scores=scores, confidence_level=confidence, target=target
        )
    else:
        found = opened.mean(attribute, where=where, scores=scores, confidence_level=confidence, target=target)
    show(found, as_json=as_json)


def category_number(text: str, option: str) -> tuple[str, float]:
    """A category and its number, from what was given to an option.

    Examples
    --------
    >>> category_number("a=b=0.5", "--score")
    ('a=b', 0.5)
    """
    category, _, number = text.rpartition("=")
    try:
        return category, float(number)
    except ValueError:
        raise typer.BadParameter(f"{option} is CATEGORY=NUMBER, got {text!r}.") from None
