"""From a release folder to a release."""

from __future__ import annotations

from pathlib import Path

from sfumato.data.duckdb import DuckDBEngine
from sfumato.data.engine import Engine
from sfumato.release.promises import refuse_stronger_promises
from sfumato.release.release import Release
from sfumato.release.storage import read_manifest, verified_sources


def load_release(folder: str | Path, *, engine: Engine | None = None) -> Release:
    """Open a release folder, after checking that nothing in it was changed.

    Raises
    ------
    ReleaseError
        When it is not a release, was damaged or edited, or is of a version not known here.
    """
    path = Path(folder)
    manifest = read_manifest(path)
    sources = verified_sources(path, manifest.tables)
    return opened(Release(path, manifest, sources, engine or DuckDBEngine()))


def opened(release: Release) -> Release:
    """The release, once it is known that it can be read."""
    # Unknown laws and guarantees, and a law that does not fit, are refused on opening, not in the middle of an analysis.
    _ = release.law, release.guarantees, release.schema
    refuse_stronger_promises(release)
    return release
