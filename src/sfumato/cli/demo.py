"""``sfumato demo``: the whole way on an embedded sample."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options import AsJson
from sfumato.cli.showing import show_json, talk, tell

EXAMPLES = (
    "sfumato demo",
    "sfumato demo --out my-demo",
)


def demo(
    *,
    out: Annotated[
        Path,
        typer.Option("--out", metavar="DIR", help="Folder to make; an earlier demonstration is replaced."),
    ] = Path("demo-output"),
    as_json: AsJson = False,
) -> None:
    """Publish an embedded sample by three methods, ask the same questions of each, attack one, and write a report."""
    from sfumato.report.demonstration import run_demonstration

    report = run_demonstration(out, say=talk if as_json else tell)
    if as_json:
        show_json({"report": str(report)})
