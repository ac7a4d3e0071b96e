"""Promises about classes of rows: each class keeps or breaks them by its own counts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from sfumato.guarantees.base import Guarantee, Judgement, PublishedTables
from sfumato.guarantees.class_counts import classes_of
from sfumato.guarantees.class_tables import AnyClassCounts
from sfumato.values.arrays import Booleans, Counts, Integers
from sfumato.values.schema import Role

Merging = Literal["any", "keeping", "none"]
"""What a class that keeps a promise may be merged with so that it still does: any other class, one that keeps it too,
or none for certain."""


class ClassCriterion(Guarantee):
    """A promise that is kept when every class of rows that look alike keeps it.

    A member decides for many classes at once in :meth:`classes_that_hold`. That is all that a method which
    makes classes, and an auditor who finds them in a release, need.
    """

    holds_of_tables: ClassVar[bool] = True

    only_how_often: ClassVar[bool] = False
    """Whether a class is judged by how often its values occur alone, whichever they are and whatever the table has."""

    @property
    def watched(self) -> str | None:
        """The attribute whose counts within a class decide; None when the number of rows does."""
        return None

    @property
    def class_attributes(self) -> tuple[str, ...] | None:
        """On what the rows of a class are equal; None for all quasi-identifiers that are published."""
        return None

    @property
    def survives_merging(self) -> Merging:
        """With what classes can be merged; a search may skip more when it is much."""
        return "none"

    @abstractmethod
    def classes_that_hold(self, counts: Counts, overall: Counts) -> Booleans:
        """Which classes keep the promise.

        Parameters
        ----------
        counts
            ``(classes, values)`` rows of each class by the watched attribute; one column where none is
            watched. Every class has at least one row.
        overall
            ``(values,)``: of the whole table, which classes may be compared with.

        Returns
        -------
        numpy.ndarray
            ``(classes,)``.
        """

    def holds_for(self, counts: npt.NDArray[Any]) -> bool:
        """Whether classes, which together are the table, keep the promise; ``(classes, values)``.

        Where no attribute is watched, sizes of classes in any shape; an entry of 0 is no class.
        """
        numbers = np.asarray(counts)
        if self.watched is None:
            numbers = numbers.reshape(-1, 1)
        numbers = numbers[numbers.sum(axis=1) > 0]
        return bool(self.classes_that_hold(numbers, numbers.sum(axis=0)).all())

    def shortfall(self, overall: Counts) -> str:
        """Why no table of these overall counts can keep the promise, and what to ask for instead."""
        del overall
        return f"not even one class of all rows keeps this promise: {self.sentence} Ask for less."

    def follows_from(self, premises: Sequence[Guarantee], published: PublishedTables) -> bool:
        """Whether the release could keep it, and its law does not give less.

        Tables keep or break it by themselves (:meth:`judge`). What can be said before they are read is whether any
        table of so many rows could: one class, in which the rows are spread evenly over the watched values.
        """
        if not {*(self.class_attributes or ()), *filter(None, (self.watched,))} <= {*published.schema.names}:
            return False
        of_its_kind = [each for each in premises if type(each) is type(self) and each.watched == self.watched]
        if not all(map(self.is_within, of_its_kind)):
            return False
        size = 1 if self.watched is None else published.schema[self.watched].size
        rows = max(each.number_of_rows for each in published.tables)
        even = np.full((1, size), rows // size)
        even[0, : rows % size] += 1
        return self.holds_for(even)

    def judge(self, published: PublishedTables) -> Judgement | None:
        """Whether every class in the published tables keeps the promise; None when they hold no such classes.

        Classes are compared with all *published* rows: of rows that a method dropped, the tables say nothing.
        """
        classes = broken = 0
        found = published_classes(published, self)
        if found is None:
            return None
        for counts, overall in found:
            classes += counts.number_of_classes
            for part in counts.packed_parts() if self.only_how_often else counts.parts():
                broken += int(np.count_nonzero(~self.classes_that_hold(part, overall)))
        return Judgement(
            broken == 0, f"{broken:,} of {classes:,} classes of published rows break the promise"
        )


class SensitiveCriterion(ClassCriterion):
    """A promise about how the values of one attribute are spread in every class."""

    attribute: str

    @property
    def watched(self) -> str | None:
        """The attribute that the promise is about."""
        return self.attribute


def published_classes(
    published: PublishedTables, criterion: ClassCriterion
) -> Iterator[tuple[AnyClassCounts, Integers]] | None:
    """The classes of a release that a criterion is about, some at a time, and counts of all rows by the watched value.

    None when no table shows them.

    Rows of a class are equal on the quasi-identifiers beside the watched attribute, and on the whole numbers
    that another table has too: those tell which of its rows belong together with which here.
    """
    watched = criterion.watched
    tables = [each for each in published.tables if watched is None or watched in each.schema_of_attributes]
    if not tables:
        return None
    table, others = tables[0], [each for each in published.tables if each.name != tables[0].name]
    shared = [name for name in table.integers if any(name in each.integers for each in others)]
    known = table.schema_of_attributes
    quasi_identifiers = [each.name for each in known.with_role(Role.QUASI_IDENTIFIER)]
    named = criterion.class_attributes
    by = [name for name in (quasi_identifiers if named is None else named) if name in known]
    names = [*shared, *(name for name in by if name != watched), *([] if watched is None else [watched])]
    radices = [None if name in shared else known[name].size for name in names]
    return classes_of(
        lambda some: published.scan(table.name, some or known.names[:1]),
        names,
        radices,
        watched=None if watched is None else known[watched].size,
        rows=table.number_of_rows,
    )
