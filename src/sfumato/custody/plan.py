"""A plan: guarantees and expected accuracy of a design, before publishing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sfumato.custody.checks import check_plan
from sfumato.custody.privacy_unit import design_for_units, promises_of
from sfumato.data.private_table import PrivateTable
from sfumato.errors import ParameterError
from sfumato.guarantees import Guarantee
from sfumato.immutable import MOST_ROWS
from sfumato.laws import NOTHING_PROMISED
from sfumato.methods.base import Design
from sfumato.methods.planning import ExpectedErrors
from sfumato.results import ResultTable
from sfumato.schema import Schema


@dataclass(frozen=True, eq=False)
class Plan:
    """What to expect of a design.

    Parameters
    ----------
    design
        The method with its parameters.
    number_of_rows
        For which accuracy is stated.
    guarantees
        What the design promises for tables of this schema.
    tables
        Expected accuracy; those computed from private rows are marked.
    failing
        Checks for which publish would refuse, with what they found; private.
    """

    design: Design
    number_of_rows: int
    guarantees: tuple[Guarantee, ...]
    tables: tuple[ResultTable, ...]
    failing: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_private(self) -> bool:
        """Something in it was computed from private rows."""
        return bool(self.failing) or any(each.is_private for each in self.tables)

    def __repr__(self) -> str:
        method = self.design.to_dict()["method"]
        return f"Plan({method}: {len(self.guarantees)} guarantees, {len(self.tables)} tables)"

    def __str__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """The promise in words, the tables, and what remains possible."""
        stated = [each.statement for each in self.guarantees] or [NOTHING_PROMISED]
        promise = "\n".join(["Promise", *(f"  {each}" for each in stated)])
        weaknesses = "\n".join(["Not prevented", *(f"  {each}" for each in self.design.weaknesses)])
        refused = [f"publish would refuse: {each} ({name})." for name, each in self.failing.items()]
        return "\n\n".join([promise, *refused, *(each.to_text() for each in self.tables), weaknesses])

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as ``plan --json`` prints it."""
        return {
            "design": self.design.to_dict(),
            "number_of_rows": self.number_of_rows,
            "private": self.is_private,
            "guarantees": [
                {**each.model_dump(mode="json"), "description": each.describe()} for each in self.guarantees
            ],
            "tables": [each.to_dict() for each in self.tables],
            "failing_checks": dict(self.failing),
            "weaknesses": list(self.design.weaknesses),
        }


def plan(
    design: Design, schema: Schema, rows: int, *, table: PrivateTable | None = None, check: bool = True
) -> Plan:
    r"""The promise of a design and the accuracy to expect of its release.

    Parameters
    ----------
    design
        A method with its parameters.
    schema
        Of the table to be published.
    rows
        How many rows it will have.
    table
        The private rows themselves, for errors at the true counts; what is computed from them is
        marked private.
    check
        Say for which checks publishing the table would be refused, by one pass over it.

    Raises
    ------
    ParameterError
        When the design does not fit the schema, or rows is not a positive whole number.

    Examples
    --------
    >>> from sfumato import RandomizedResponse
    >>> schema = Schema.from_toml('[attributes.job]\nrole = "sensitive"\ncategories = ["a", "b"]')
    >>> expected = plan(RandomizedResponse(retention=0.5), schema, 10_000)
    >>> expected
    Plan(randomized-response: 2 guarantees, 4 tables)
    >>> expected.is_private
    False
    """
    if isinstance(rows, bool) or not isinstance(rows, int) or not 1 <= rows <= MOST_ROWS:
        raise ParameterError(
            f"rows must be a whole number from 1 to {MOST_ROWS:,}, got {rows!r}. Say how many rows will be published.",
            parameter="rows",
        )
    chosen, guarantees = promise(design, schema)
    special = chosen.plan_tables(schema, rows, table)
    failing = check_plan(table, chosen).findings if table is not None and check else {}
    return Plan(chosen, rows, guarantees, (*special, *_errors(chosen, schema, rows, table)), failing)


def promise(design: Design, schema: Schema) -> tuple[Design, tuple[Guarantee, ...]]:
    """What a design promises for tables of a schema, at once: errors to expect take longer; and the design as it fits them.

    Raises
    ------
    ParameterError
        When the design does not fit the schema.
    """
    chosen = design_for_units(design, schema)
    return chosen, promises_of(chosen, schema)


def _errors(design: Design, schema: Schema, rows: int, table: PrivateTable | None) -> tuple[ResultTable, ...]:
    """The errors that the law lets expect; with the table, also those at its true counts."""
    law = design.planned_law(schema)
    if law is None:
        return ()
    errors = ExpectedErrors(law, schema, rows, design.can_publish)
    if table is None:
        return errors.by_share()
    true_counts = [table.count_by([name]) for name in errors.depending_on_counts]
    return (*errors.by_share(), *errors.at_counts(true_counts))
