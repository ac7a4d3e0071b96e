"""``sfumato show``: what a release is, and what can be asked of it."""

from __future__ import annotations

from sfumato.cli.options import AsJson, ReleaseFolder
from sfumato.cli.reading import Running, with_options
from sfumato.cli.showing import show as show_result

EXAMPLES = ("sfumato show release", "sfumato show release --json")


@with_options
def show(release: ReleaseFolder, *, reading: Running, as_json: AsJson = False) -> None:
    """Say what a release holds and promises, and with what error it can be counted."""
    show_result(reading.load_release(release).overview(), as_json=as_json)
