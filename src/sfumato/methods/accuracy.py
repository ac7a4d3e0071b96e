"""The accuracy to expect of any release, from its law: the tables that every plan has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

import numpy as np

from sfumato.errors import NotIdentifiableError, TooLargeError
from sfumato.laws import Law
from sfumato.values.arrays import Floats
from sfumato.values.counts import CountTable
from sfumato.values.number_text import Cell, percent
from sfumato.values.result_tables import ResultTable
from sfumato.values.schema import Attribute, Role, Schema
from sfumato.watching import steps

SHARES = (0.001, 0.01, 0.1, 0.5)
"""Shares of rows that a category may have, for which a plan states the expected error of its count."""

PARTS = (0.01, 0.1, 0.5)
"""Parts of all rows, chosen by a condition that has nothing to do with the category, among which it is counted."""

LISTED_PART = 0.1
"""The part for which errors at the true counts are listed."""

NOT_PUBLISHABLE = "not publishable"
"""Stands for the error of counts that no table has which the method can publish."""

NOT_DETERMINED = "not determined"
"""Stands for the error of counts that the law does not answer."""

NOT_COMPUTED = "not computed"
"""Stands for the error of counts of more categories than their errors can be computed of."""

CanPublish = Callable[[CountTable], bool]


class ExpectedErrors:
    """Standard errors that a law lets expect of every attribute's counts.

    Parameters
    ----------
    law
        Of the release.
    schema
        Of the private table.
    rows
        How many it has.
    can_publish
        Whether a table in which an attribute has some counts can be published.
    """

    def __init__(self, law: Law, schema: Schema, rows: int, can_publish: CanPublish) -> None:
        self.law = law
        self.schema = schema
        self.rows = rows
        self.can_publish = can_publish
        # Longer than every name of the schema, hence none of them.
        name = "-".join((*schema.names, "condition"))
        labels = (*map(percent, PARTS), "the rest")
        self.parts = Attribute(name=name, role=Role.OTHER, categories=labels)

    def by_share(self) -> tuple[ResultTable, ...]:
        """Errors by the share of a category, among all rows and among parts of them; they need no data."""
        columns = (*(f"{share:.4g}" for share in SHARES), "all alike")
        alone = tuple((name, *cells) for name, cells in self._alone.items())
        among = tuple((name, percent(part), *cells) for (name, part), cells in self._among.items())
        made = (
            ResultTable(
                f"Expected standard error of a category's count, by its share of {self.rows:,} rows",
                ("attribute", *columns),
                tuple(filter(_says_something, alone)),
            ),
            ResultTable(
                f"Expected standard error of a category's count among a random part of {self.rows:,} rows, by its share of "
                "all",
                ("attribute", "part", *columns),
                tuple(filter(_says_something, among)),
            ),
        )
        return tuple(each for each in made if each.rows)

    def largest(self) -> tuple[float, float]:
        """The largest error of a category's count that a plan states, among all rows and among a part of them.

        Counts that no table has which can be published, or that lie where the law stops answering, have none; where it answers
        none of some attribute, there is no number.
        """
        return _largest_of(self._alone.values()), _largest_of(self._among.values())

    @property
    def depending_on_counts(self) -> tuple[str, ...]:
        """Attributes whose errors are other ones at other counts, so that it is worth while to look at the true ones."""
        varying = [name for name, cells in self._alone.items() if len({*cells} - {NOT_PUBLISHABLE}) > 1]
        varying += [name for (name, _), cells in self._among.items() if _says_something(cells)]
        return tuple(name for name in self.schema.names if name in varying)

    def at_counts(self, counts: Sequence[CountTable]) -> tuple[ResultTable, ...]:
        """Errors of every category at the true counts of some attributes; private, as these are."""
        rows = tuple(row for each in counts for row in self._at_counts(each))
        title = "Expected standard error of each count, from the private table"
        part = f"among a random {percent(LISTED_PART)} of rows"
        columns = ("attribute", "category", "true count", "expected std. error", part)
        return (ResultTable(title, columns, rows, is_private=True),) if rows else ()

    @cached_property
    def _worst(self) -> dict[str, tuple[tuple[Cell, int], ...]]:
        return {
            each.name: tuple(self._largest(each, share) for share in _shares(each))
            for each in steps("Expected errors", self.schema.publishable.attributes)
        }

    @property
    def _alone(self) -> dict[str, tuple[Cell, ...]]:
        return {name: tuple(cell for cell, _ in found) for name, found in self._worst.items()}

    @cached_property
    def _among(self) -> dict[tuple[str, float], tuple[Cell, ...]]:
        """Of the category that has the largest error among all rows."""
        found: dict[tuple[str, float], tuple[Cell, ...]] = {}
        for each in steps("Expected errors among parts of the rows", self.schema.publishable.attributes):
            worst = zip(_shares(each), self._worst[each.name], strict=True)
            cells = [self._in_parts(self._spread(each, share, code), code) for share, (_, code) in worst]
            found |= {(each.name, part): tuple(column) for part, *column in zip(PARTS, *cells, strict=True)}
        return found

    def _largest(self, attribute: Attribute, share: float) -> tuple[Cell, int]:
        """The largest error of a category of this share, the others being equally frequent, and its code."""
        found: list[tuple[float, int]] = []
        # Every category of 100,000 by itself would take 100,000 times as long, to find the same error again and again.
        tried = 1 if self.law.treats_alike(attribute.name) else attribute.size
        for code in range(tried):
            errors = self._errors(self._spread(attribute, share, code))
            if isinstance(errors, str):
                return errors, code
            found.append((float(errors[code]), code))
        return max(found, key=lambda each: each[0])

    def _spread(self, attribute: Attribute, share: float, code: int) -> CountTable:
        """Counts of an attribute of which one category has a share of the rows, and the others the rest evenly."""
        counts = np.full(attribute.size, self.rows * (1 - share) / max(attribute.size - 1, 1))
        counts[code] = self.rows * share
        return CountTable((attribute,), counts)

    def _in_parts(self, counts: CountTable, code: int) -> list[Cell]:
        """Errors of one category in each part of the rows."""
        errors = self._errors(counts, parted=True)
        return [
            errors if isinstance(errors, str) else float(errors[place, code]) for place in range(len(PARTS))
        ]

    def _errors(self, counts: CountTable, *, parted: bool = False) -> Floats | str:
        """Errors of an attribute's counts, ``(values,)``, or of those in every part of the rows, ``(parts, values)``."""
        if not self.can_publish(counts):
            return NOT_PUBLISHABLE
        if parted:
            # All parts in one question: some laws take long for each.
            parts = np.outer(PARTS, counts.counts)
            # What is left is subtracted, so that the parts add up to the counts to the last digit.
            cells = np.vstack([parts, counts.counts - parts.sum(axis=0)])
            counts = CountTable((self.parts, *counts.attributes), cells)
        try:
            return self.law.expected_standard_errors(counts)
        except NotIdentifiableError:
            return NOT_DETERMINED
        except TooLargeError:
            return NOT_COMPUTED

    def _at_counts(self, counts: CountTable) -> list[tuple[Cell, ...]]:
        (attribute,) = counts.attributes
        alone, parted = self._errors(counts), self._errors(counts, parted=True)
        listed = parted if isinstance(parted, str) else parted[PARTS.index(LISTED_PART)]
        return [
            (
                attribute.name,
                label,
                int(counts.counts[code]),
                *(each if isinstance(each, str) else float(each[code]) for each in (alone, listed)),
            )
            for code, label in enumerate(attribute.labels)
        ]


def _shares(attribute: Attribute) -> tuple[float, ...]:
    """Those for which errors are stated, and that of categories which are all equally frequent."""
    return (*SHARES, 1 / attribute.size)


def _largest_of(rows: Iterable[tuple[Cell, ...]]) -> float:
    known = [[float(cell) for cell in row if not isinstance(cell, str)] for row in rows]
    return max((max(each) for each in known), default=float("nan")) if all(known) else float("nan")


def _says_something(row: tuple[Cell, ...]) -> bool:
    """Some count has an error; counts that are published exactly, or not answered, need no row."""
    return any(not isinstance(cell, str) and cell > 0 for cell in row)
