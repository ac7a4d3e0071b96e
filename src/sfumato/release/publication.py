"""What a method hands over to be written: rows in motion, and the facts that go with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from sfumato.data.portions import PileStep, RowStep
from sfumato.laws import Law
from sfumato.values.batches import CodedBatch
from sfumato.values.schema import Schema


@dataclass(frozen=True, eq=False)
class MadeRows:
    """Rows that a step makes from private ones, portion by portion.

    Parameters
    ----------
    reads
        Attributes of the private table that the step sees.
    step
        The row phase.
    shares
        For each portion, what the count phase found for it; None for a step that needs nothing.
    gather
        Where rows of different portions must meet: what becomes of a pile of them. The step then says each
        row's pile under the name :data:`~sfumato.data.portions.PILE`.
    piles
        For each pile, what the count phase found for it.
    """

    reads: tuple[str, ...]
    step: RowStep[Any]
    shares: tuple[Any, ...] | None = None
    gather: PileStep[Any] | None = None
    piles: tuple[Any, ...] = ()


@dataclass(frozen=True, eq=False)
class DrawnRows:
    """Rows that come from counts alone: no private row is read for them.

    Parameters
    ----------
    batches
        Called to give the rows as codes.
    """

    batches: Callable[[], Iterator[CodedBatch]]


@dataclass(frozen=True, eq=False)
class PublishedTable:
    """A table about to be written; its rows are made while they are written, in random order.

    Parameters
    ----------
    name
        Name of the resource and of its file.
    schema
        The categorical columns.
    rows
        How the rows are made.
    integers
        Columns that hold whole numbers instead of categories, such as a bucket or a count.
    integer_type
        In which those are written: the shorter, where none can be larger.
    may_be_empty
        The method may leave every row out, and that none is there is part of what is published.
    order_says_nothing
        The rows come in an order drawn at random, such as that of numbers given to units at random: they are
        published as they come, so that rows of a unit stand together.
    """

    name: str
    schema: Schema
    rows: MadeRows | DrawnRows
    integers: tuple[str, ...] = ()
    integer_type: Literal["int32", "int64"] = "int64"
    may_be_empty: bool = False
    order_says_nothing: bool = False


@dataclass(frozen=True, eq=False)
class Publication:
    """What a method makes of a private table; what every release says besides is added when it is published.

    Parameters
    ----------
    tables
        The published tables; the first is the one that queries are about.
    law
        How published relates to true.
    published_as_they_are
        Attributes that the method leaves as they are.
    assumptions, not_protected
        The method's own sentences for the manifest, beyond those that hold for every method.
    chosen_from_private_data
        Parameter, by a name that the law knows, to how it was chosen by looking at the private rows; empty when none was.
    settled
        Parameters of the design that were left open and have got their value from the private rows.
    warnings
        What only the custodian is told, in sentences.
    """

    tables: tuple[PublishedTable, ...]
    law: Law
    published_as_they_are: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    not_protected: tuple[str, ...] = ()
    chosen_from_private_data: Mapping[str, str] = field(default_factory=dict)
    settled: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
