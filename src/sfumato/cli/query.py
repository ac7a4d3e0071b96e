"""``sfumato query``: how many rows satisfy a condition, with the error of the answer."""

from __future__ import annotations

from typing import Annotated

import typer

from sfumato.cli.options import AsJson, Confidence, EstimatorName, ReleaseFolder, TargetName
from sfumato.cli.showing import show

EXAMPLES = (
    "sfumato query release \"occupation = 'Sales' AND age < 35\"",
    "sfumato query release \"occupation = 'Sales'\" --given \"sex = 'Female'\"",
    'sfumato query release "age < 35" \\',
    "    --given \"occupation = 'Sales'\" --versus \"occupation = 'Tech'\"",
)


def query(
    release: ReleaseFolder,
    question: Annotated[
        str,
        typer.Argument(
            metavar="QUESTION",
            help="Conditions joined by AND: =, !=, IN (...), NOT IN (...), IS MISSING; on bins also <, <=, >, >=, "
            "BETWEEN. Text in single quotes.",
            show_default=False,
        ),
    ],
    *,
    given: Annotated[
        str | None,
        typer.Option(
            "--given", metavar="CONDITIONS", help="Estimate a share of the rows that satisfy these."
        ),
    ] = None,
    versus: Annotated[
        str | None,
        typer.Option(
            "--versus",
            metavar="CONDITIONS",
            help="With --given: how much larger its share is than that of the rows that satisfy these.",
        ),
    ] = None,
    confidence: Confidence = 0.95,
    target: TargetName = "table",
    estimator: EstimatorName = None,
    as_json: AsJson = False,
) -> None:
    """Estimate how many rows satisfy a condition, or which share of a group does."""
    from sfumato.release import load_release

    if given is not None and estimator is not None:
        raise typer.BadParameter("shares are ratios of the law's own estimates; leave --estimator out.")
    if versus is not None and given is None:
        raise typer.BadParameter("--versus compares with the group of --given; give both.")
    opened = load_release(release)
    if given is None:
        answer = opened.query(question, confidence_level=confidence, target=target, estimator=estimator)
    elif versus is not None:
        answer = opened.difference(
            question, given=given, versus=versus, confidence_level=confidence, target=target
        )
    else:
        answer = opened.proportion(question, given=given, confidence_level=confidence, target=target)
    show(answer, as_json=as_json)
