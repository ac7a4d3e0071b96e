"""Opening a release, from a folder or in memory; stated guarantees are recomputed from the law."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.data.chunks import CodedBatch, Read
from sfumato.data.duckdb_engine import DuckDBEngine
from sfumato.data.engine import ArrayEngine, CodedRows, Engine
from sfumato.errors import PromiseRefutedError, ReleaseDamagedError
from sfumato.guarantees import Guarantee
from sfumato.guarantees.base import about_chosen_parameters, about_learned_lists
from sfumato.laws import Law
from sfumato.randomness.streams import NoiseSource
from sfumato.release.manifest import Manifest, TableEntry
from sfumato.release.publication import PublishedTable, make_rows
from sfumato.release.release import Release
from sfumato.release.storage import Describe, entry_of, read_manifest, shuffled, verified_sources
from sfumato.schema import Schema

# --------------------------------------------------------------------------------------------------
# Promises are recomputed, never believed: what a release claims against what its law gives.


CATEGORIES_OF = "categories of "
"""Begins what a manifest says of an attribute whose list of categories was chosen by looking at the private rows."""


def refuse_stronger_promises(release: Release) -> None:
    """Refuse a release that promises more than follows from its law and its attributes, or in words of its own.

    What only its tables can tell, such as the size of every class, is judged when they are read
    (:mod:`sfumato.release.verification`).

    Raises
    ------
    PromiseRefutedError
        Naming the promise.
    """
    law, declared = release.law, release.manifest.chosen_from_private_data
    lists = about_learned_lists(learned_lists(release.schema, release.published_schema, learned_of(declared)))
    choices = about_chosen_parameters(open_choices(law, declared))
    for stated in release.guarantees:
        name = stated.model_dump()["guarantee"]
        if not stated.follows_from(law.promises(release.schema, stated), release):
            raise PromiseRefutedError(
                f"the release promises {name} with numbers that do not follow from its law. A promise may say no more than "
                "the law beside it gives; do not rely on this release, and ask where it comes from.",
                promise=name,
            )
        if not stated.is_under(lists):
            raise PromiseRefutedError(
                f"the release promises {name} without saying that categories were read off the private rows, as its "
                "attributes do. Do not rely on this release, and ask where it comes from.",
                promise=name,
            )
        if not stated.holds_of_tables and not stated.is_under(choices):
            raise PromiseRefutedError(
                f"the release promises {name} without saying that parameters were chosen from the private rows, as it says "
                "elsewhere. Do not rely on this release, and ask where it comes from.",
                promise=name,
            )
        if not stated.is_under(law.conditions_of(declared, stated, release.schema)):
            raise PromiseRefutedError(
                f"the release promises {name} of something that was learned from the private rows, and neither pays for it nor "
                "takes it as known. Do not rely on this release, and ask where it comes from.",
                promise=name,
            )
        _refuse_foreign_words(release, stated, {*lists, *choices, *law.own_conditions})


def learned_lists(schema: Schema, published: Schema, declared: Iterable[str]) -> tuple[str, ...]:
    """Attributes of a release whose lists of categories were read off the private rows.

    Parameters
    ----------
    schema, published
        The attributes of questions, and those of the files.
    declared
        Attributes of the private table of which it is known. Of one that is not in the release, no list is.
    """
    names = dict.fromkeys((*schema.learned, *published.learned, *declared))
    return tuple(name for name in names if name in schema or name in published)


def learned_of(chosen: Iterable[str]) -> tuple[str, ...]:
    """The attributes whose categories a manifest names among what was chosen from the private rows."""
    return tuple(each.removeprefix(CATEGORIES_OF) for each in chosen if each.startswith(CATEGORIES_OF))


def open_choices(law: Law, chosen: Iterable[str]) -> tuple[str, ...]:
    """Parameters chosen from the private rows for which a promise does not account by itself."""
    return tuple(
        each for each in chosen if not each.startswith(CATEGORIES_OF) and each not in law.accounted_choices
    )


def unknown_choices(law: Law, chosen: Iterable[str], names: Collection[str]) -> tuple[str, ...]:
    """What a law does not know to be chosen from rows; a word of it followed by an attribute's name is known."""
    return tuple(
        each
        for each in open_choices(law, chosen)
        if each not in law.chosen_from_rows
        and not any(each == f"{word} {name}" for word in law.chosen_from_rows for name in names)
    )


def _refuse_foreign_words(release: Release, stated: Guarantee, known: Collection[str]) -> None:
    """Refuse text that does not follow from the release: it would be read as a part of the promise.

    Conditions are sentences of ours about what the release declares; any other text of a promise is the name of an
    attribute or of a category.
    """
    names = {*release.schema.names, *release.published_schema.names, *release.schema.left_out}
    foreign = bool(unknown_choices(release.law, release.manifest.chosen_from_private_data, names))
    foreign = foreign or not {*stated.given} <= {*known}
    unnamed = {*_texts(stated)} - names
    if unnamed and not foreign:
        attributes = (*release.schema.attributes, *release.published_schema.attributes)
        foreign = bool(unnamed - {label for each in attributes for label in each.labels})
    if foreign:
        raise PromiseRefutedError(
            f"the release promises {stated.model_dump()['guarantee']} in words that do not follow from its law and its "
            "attributes. A promise has no words of its own; do not rely on this release, and ask where it comes from.",
            promise=stated.model_dump()["guarantee"],
        )


def _texts(stated: Guarantee) -> Iterator[str]:
    """Every text of a promise that is not one of a few allowed ones, its conditions left out."""
    for name, field in type(stated).model_fields.items():
        value = getattr(stated, name)
        if name != "given" and (field.annotation is str or not isinstance(value, str)):
            yield from _within(value)


def _within(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from (*_within(key), *_within(inner))
    elif isinstance(value, (tuple, list, set, frozenset)):
        for inner in value:
            yield from _within(inner)


# --------------------------------------------------------------------------------------------------
# From a release folder to a release.


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


# --------------------------------------------------------------------------------------------------
# A release that was never a folder: the same manifest, the same law, rows kept as codes.


def hold_release(
    tables: Sequence[PublishedTable], describe: Describe, *, read: Read, noise: NoiseSource
) -> Release:
    """The release that tables become, without files; arguments are those of writing a folder.

    Rows are shuffled and the manifest is written and read again as for a folder, so that everything but
    the file format is what a reader of the folder would meet. Memory grows with the number of rows.
    """
    held = [_hold(table, make_rows(table.rows, read, noise), noise) for table in tables]
    manifest = describe(tuple(entry for entry, _ in held))
    again = Manifest.from_text(json.dumps(manifest.to_descriptor(), ensure_ascii=False))
    return opened(Release(None, again, {entry.name: rows for entry, rows in held}, ArrayEngine()))


def _hold(
    table: PublishedTable, made: Iterator[CodedBatch], noise: NoiseSource
) -> tuple[TableEntry, CodedRows]:
    rows = CodedRows.gathered(table.schema, shuffled(table, made, noise, None))
    codes = {
        name: rows.codes.get(name, np.empty(0, np.int64)) for name in (*table.schema.names, *table.integers)
    }
    digest = hashlib.sha256()
    for name, column in codes.items():
        digest.update(name.encode())
        digest.update(column.tobytes())
    # What the file would be called; there is none.
    entry = entry_of(table, f"{table.name}.parquet", "parquet", digest.hexdigest(), rows.number_of_rows)
    return entry, CodedRows(table.schema, codes)
