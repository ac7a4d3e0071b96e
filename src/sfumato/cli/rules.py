"""``sfumato rules``: frequent item sets and association rules."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from sfumato.cli.options import AsJson, Confidence, TargetName
from sfumato.cli.reading import Reading, with_options
from sfumato.cli.showing import show

EXAMPLES = (
    "sfumato rules release --minimum-support 0.01 --minimum-confidence 0.5",
    "sfumato rules release --decide-by lower --longest 3 --json",
    "sfumato rules release --among \"bread = 'yes'\" --among \"milk = 'yes'\"",
    "sfumato rules receipts.csv --schema schema.toml --minimum-support 0.02",
)


@with_options
def rules(
    release: Annotated[
        str,
        typer.Argument(
            metavar="RELEASE",
            help="Folder of a release; or, with --schema, private data, of which the result is private too.",
            show_default=False,
        ),
    ],
    *,
    minimum_support: Annotated[
        float, typer.Option("--minimum-support", metavar="SHARE", help="Least share of rows that have a set.")
    ] = 0.01,
    minimum_confidence: Annotated[
        float,
        typer.Option(
            "--minimum-confidence",
            metavar="SHARE",
            help="Least share of the antecedent's rows that have the consequent.",
        ),
    ] = 0.5,
    longest: Annotated[int, typer.Option("--longest", metavar="N", help="Items of the longest sets.")] = 4,
    decide_by: Annotated[
        Literal["estimate", "lower", "upper"],
        typer.Option(
            "--decide-by",
            help="What the thresholds are held against: the estimate, or an end of its interval (lower: few false, upper: few missed).",
        ),
    ] = "estimate",
    among: Annotated[
        list[str] | None,
        typer.Option(
            "--among",
            metavar="ITEMS",
            help="An attribute, or a condition on one; may be repeated. All unless given.",
        ),
    ] = None,
    category: Annotated[
        str | None,
        typer.Option(
            "--category",
            metavar="NAME",
            help="Only this category of every attribute is an item, such as yes.",
        ),
    ] = None,
    consequent: Annotated[
        list[str] | None,
        typer.Option(
            "--consequent", metavar="ITEMS", help="What rules may be about, as --among; may be repeated."
        ),
    ] = None,
    longest_consequent: Annotated[
        int, typer.Option("--longest-consequent", metavar="N", help="Items that may follow at a time.")
    ] = 1,
    interval: Annotated[
        Literal["normal", "chebyshev"],
        typer.Option(
            "--interval",
            help="Ranges of confidence and lift: normal, or wider ones that hold for any law of the errors.",
        ),
    ] = "normal",
    simultaneous: Annotated[
        bool, typer.Option("--simultaneous", help="Ranges that hold for all rules considered together.")
    ] = False,
    schema: Annotated[
        Path | None,
        typer.Option(
            "--schema", metavar="FILE", help="Schema file (TOML) of private data.", show_default=False
        ),
    ] = None,
    confidence: Confidence = 0.95,
    target: TargetName = "table",
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Find frequent item sets and association rules, with support, confidence, lift and their errors."""
    from sfumato.analysis.rules import Settings

    settings = Settings(
        minimum_support=minimum_support,
        minimum_confidence=minimum_confidence,
        longest=longest,
        decide_by=decide_by,
        longest_consequent=longest_consequent,
        interval=interval,
        confidence_level=confidence,
        simultaneous=simultaneous,
        target=target,
    )
    if schema is None:
        from sfumato.analysis.rules.releases import mine_release

        opened = reading.load_release(Path(release))
        found = mine_release(opened, settings, among=among, category=category, consequents=consequent)
    else:
        from sfumato.custody.rules import mine_table

        table = reading.read_table(release, schema)
        found = mine_table(table, settings, among=among, category=category, consequents=consequent)
    show(found, as_json=as_json)
