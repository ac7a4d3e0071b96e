"""``sfumato regression``: a model fitted through the law of a release."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from sfumato.cli.options import AsJson, Confidence, ReleaseFolder, TargetName, Where
from sfumato.cli.reading import Running, with_options
from sfumato.cli.showing import show

EXAMPLES = (
    'sfumato regression release "income ~ age + sex"',
    "sfumato regression release \"job IN ('Sales', 'Tech') ~ sex*score(age)\"",
    'sfumato regression release "income ~ sex" --interval score',
)


@with_options
def regression(
    release: ReleaseFolder,
    formula: Annotated[
        str,
        typer.Argument(
            metavar="FORMULA",
            help="Response ~ terms joined by +: attributes, a:b, a*b, score(age), sex[ref='F']. The response is "
            "an attribute, a condition or score(attribute).",
            show_default=False,
        ),
    ],
    *,
    family: Annotated[
        Literal["logistic", "multinomial", "poisson", "linear"] | None,
        typer.Option("--family", help="Follows from the response unless given."),
    ] = None,
    where: Where = "",
    interval: Annotated[
        Literal["normal", "score"],
        typer.Option("--interval", help="Score intervals keep their level where the release tells little."),
    ] = "normal",
    confidence: Confidence = 0.95,
    target: TargetName = "table",
    reading: Running,
    as_json: AsJson = False,
) -> None:
    """Fit a regression; response, covariates or both may be perturbed."""
    fitted = reading.load_release(release).regression(
        formula,
        family=family,
        where=where,
        interval=interval,
        confidence_level=confidence,
        target=target,
    )
    show(fitted, as_json=as_json)
