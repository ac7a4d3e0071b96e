"""``sfumato report``: one self-contained page about a release."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options import AsJson, ReleaseFolder
from sfumato.cli.reading import Reading, with_options
from sfumato.cli.showing import show_json, talk, tell

EXAMPLES = (
    "sfumato report release --out report.html",
    "sfumato report release --against people.csv --out private.html",
)


@with_options
def report(
    release: ReleaseFolder,
    *,
    out: Annotated[
        Path,
        typer.Option("--out", metavar="FILE", help="HTML file to make; must not exist.", show_default=False),
    ],
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            metavar="DATA",
            help="The private rows, to show errors against the truth: a private page.",
        ),
    ] = None,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Write a report on a release: promise, accuracy, margins with intervals, how to repeat it."""
    from sfumato.report import write_report

    opened = reading.load_release(release)
    private = None if against is None else reading.read_table(against, opened.schema)
    # Names without folders: where files lie is nobody else's business.
    command = f"sfumato report {shlex.quote(release.name)} --out {shlex.quote(out.name)}"
    page = write_report(opened, out, against=private, command=command)
    if private is not None:
        talk("The page holds what was computed from the private rows: for your eyes, not for publication.")
    if as_json:
        show_json({"report": str(page), "private": private is not None})
    else:
        tell(str(page))
