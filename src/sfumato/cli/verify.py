"""``sfumato verify``: everything about a release that can be checked without the private rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.guard import REFUTED
from sfumato.cli.options import AsJson, ReleaseFolder
from sfumato.cli.reading import Running, with_options
from sfumato.cli.showing import show

EXAMPLES = ("sfumato verify release", "sfumato verify release --key custodian.pub --json")


@with_options
def verify(
    release: ReleaseFolder,
    *,
    key: Annotated[
        Path | None,
        typer.Option(
            "--key", metavar="PUBLIC", help="Public Ed25519 key that must have signed it (PEM or OpenSSH)."
        ),
    ] = None,
    reading: Running,
    as_json: AsJson = False,
) -> None:
    """Check a release by itself: files, rows, promises against law and tables, signature."""
    from sfumato.release.verifying import verify_release

    found = verify_release(release, key=key, engine=reading.make_engine())
    show(found, as_json=as_json)
    if not found.is_kept:
        raise typer.Exit(REFUTED)
