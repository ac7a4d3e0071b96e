"""What a method hands over to be written: rows in motion, and the facts that go with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from sfumato.guarantees import Guarantee
from sfumato.laws import Law
from sfumato.values.batches import CodedBatch
from sfumato.values.schema import Schema


@dataclass(frozen=True, eq=False)
class PublishedTable:
    """A table about to be written; its rows are made while they are written, in random order.

    Parameters
    ----------
    name
        Name of the resource and of its file.
    schema
        The categorical columns.
    batches
        Called once, to give the rows as codes.
    integers
        Columns that hold whole numbers instead of categories, such as a bucket or a count.
    may_be_empty
        The method may leave every row out, and that none is there is part of what is published.
    """

    name: str
    schema: Schema
    batches: Callable[[], Iterator[CodedBatch]]
    integers: tuple[str, ...] = ()
    may_be_empty: bool = False


@dataclass(frozen=True, eq=False)
class Publication:
    """Everything that becomes a release.

    Parameters
    ----------
    tables
        The published tables; the first is the one that queries are about.
    law
        How published relates to true.
    guarantees
        What is promised.
    design
        The method's name and every public parameter, as plain data.
    assumptions, not_protected, weaknesses, citations
        Sentences for the manifest.
    chosen_from_private_data
        Parameter to how it was chosen by looking at the private rows; empty when none was.
    is_reproducible
        A seeded noise source was used, so the release protects nobody.
    """

    tables: tuple[PublishedTable, ...]
    law: Law
    guarantees: tuple[Guarantee, ...]
    design: dict[str, Any]
    assumptions: tuple[str, ...] = ()
    not_protected: tuple[str, ...] = ()
    weaknesses: tuple[str, ...] = ()
    citations: tuple[str, ...] = ()
    chosen_from_private_data: dict[str, str] = field(default_factory=dict)
    is_reproducible: bool = False
