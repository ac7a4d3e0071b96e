"""``sfumato classify``: a classifier from estimated counts, and how often it is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from sfumato.cli.counts import attribute_names
from sfumato.cli.options import AsJson, Confidence, ReleaseFolder, TargetName
from sfumato.cli.reading import Running, with_options
from sfumato.cli.showing import show, show_json

EXAMPLES = (
    "sfumato classify release --of occupation --by sex,age",
    "sfumato classify release --of occupation --by sex,age --test other-release",
    "sfumato classify release --of salary --by sex,age --classifier naive-bayes",
)


@with_options
def classify(
    release: ReleaseFolder,
    *,
    of: Annotated[
        str, typer.Option("--of", metavar="ATTRIBUTE", help="What to predict.", show_default=False)
    ],
    by: Annotated[
        list[str],
        typer.Option("--by", metavar="ATTRIBUTES", help="What to predict it from.", show_default=False),
    ],
    classifier: Annotated[
        Literal["tree", "naive-bayes"], typer.Option("--classifier", help="A decision tree, or naive Bayes.")
    ] = "tree",
    depth: Annotated[int, typer.Option("--depth", help="Splits of a tree, from the root to a leaf.")] = 3,
    shrink: Annotated[
        Literal["counts", "threshold", "signed", "printed", "exact"] | None,
        typer.Option("--shrink", help="For naive Bayes: move counts with equal noise towards zero first."),
    ] = None,
    test: Annotated[
        Path | None,
        typer.Option(
            "--test",
            metavar="RELEASE",
            help="Estimate its error on this release; on the same one unless given.",
        ),
    ] = None,
    confidence: Confidence = 0.95,
    target: TargetName = "table",
    reading: Running,
    as_json: AsJson = False,
) -> None:
    """Learn a classifier from estimated counts, and estimate how often it is wrong about true rows."""
    if shrink is not None and classifier == "tree":
        raise typer.BadParameter(
            "--shrink is for naive Bayes; the splits of a tree have their noise taken out."
        )
    opened = reading.load_release(release)
    features = attribute_names(by)
    learned = (
        opened.tree(of, features, depth=depth)
        if classifier == "tree"
        else opened.naive_bayes(of, features, shrink=shrink)
    )
    asked = opened if test is None else reading.load_release(test)
    error = learned.error(asked, confidence_level=confidence, target=target)
    if as_json:
        tree = {"tree": learned.to_dict()} if classifier == "tree" else {}
        show_json(
            {"classifier": classifier, "of": of, "features": list(features), **tree, "error": error.to_dict()}
        )
        return
    if classifier == "tree":
        show(learned, as_json=False)
    show(error, as_json=False)
