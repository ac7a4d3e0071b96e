"""``sfumato studio``: the whole job in a page on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.showing import tell

EXAMPLES = (
    "sfumato studio",
    "sfumato studio people.csv --project survey",
    "sfumato studio release --no-browser",
)


def studio(
    opened: Annotated[
        str | None,
        typer.Argument(
            metavar="[DATA | RELEASE]",
            help="Private rows, or the folder of a release. Without: the project folder goes on where it stands.",
            show_default=False,
        ),
    ] = None,
    *,
    project: Annotated[
        Path,
        typer.Option(
            "--project", metavar="DIR", help="Folder for schema, designs and results; made when needed."
        ),
    ] = Path("sfumato-studio"),
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65535, help="Port to listen on; a free one.")
    ] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the address in the browser.")
    ] = True,
) -> None:
    """Open a page on this machine that does the custodian's and the analyst's whole job."""
    from sfumato.studio.serving import serve

    serve(project, opened=opened, port=port, say=tell, open_browser=browser)
