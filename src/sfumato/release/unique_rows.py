"""How many rows of a release are unique on what is published as it is: anyone can count that."""

from __future__ import annotations

from sfumato.data.uniqueness import UniqueRowCounter, UniqueRows
from sfumato.release.manifest import TableEntry
from sfumato.release.release import Release


def count_unique_rows(release: Release) -> UniqueRows | None:
    """Count them by one pass; None where no column says that it is published as it is."""
    exact = set(release.manifest.published_as_they_are)

    def names_of(table: TableEntry) -> tuple[str, ...]:
        return tuple(name for name in table.schema_of_attributes.names if name in exact)

    table = max(release.tables, key=lambda each: len(names_of(each)))
    names = names_of(table)
    if not names:
        return None
    counter = UniqueRowCounter(table.schema_of_attributes.select(names))
    for batch in release.scan(table.name, names):
        counter.add(batch)
    return counter.result()
