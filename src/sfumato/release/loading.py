"""From a release folder to a release."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sfumato.data.duckdb import DuckDBEngine
from sfumato.data.engine import Engine
from sfumato.errors import ReleaseDamagedError
from sfumato.release.manifest import TableEntry
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
    _refuse_two_lists(release.tables)
    _ = release.law, release.guarantees, release.schema
    refuse_stronger_promises(release)
    return release


def _refuse_two_lists(tables: Sequence[TableEntry]) -> None:
    """Refuse tables that list other categories under one name: a code of one would be read by the list of the other."""
    lists: dict[str, tuple[str, ...]] = {}
    for attribute in (each for table in tables for each in table.schema_of_attributes.attributes):
        if lists.setdefault(attribute.name, attribute.labels) != attribute.labels:
            raise ReleaseDamagedError(
                f"two tables of the release list other categories of {attribute.name!r}. Get the release again from where it came."
            )
