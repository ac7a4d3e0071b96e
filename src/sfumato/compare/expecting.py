"""Parameters for a bound on standard errors by the formulas that plans state them by; no row is looked at."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sfumato.compare.choosing import COARSE
from sfumato.compare.designs import Candidate, candidate
from sfumato.errors import ParameterError
from sfumato.methods.accuracy import ExpectedErrors
from sfumato.methods.base import METHODS, Design
from sfumato.values.number_text import Cell
from sfumato.values.result_tables import ResultTable
from sfumato.values.schema import Schema

GOAL = "std-error"
"""The only goal that formulas answer without rows."""


@dataclass(frozen=True)
class ExpectedChoice:
    """The design of a grid that hides most while its expected errors keep a bound, or why there is none.

    Parameters
    ----------
    bound, rows
        The largest standard error, in rows, of a table of so many.
    expected
        Every design of the grid with its largest expected errors of counts among all rows, and among a part of them; no number where
        it does not fit, or does not answer.
    chosen
        The choice; None where nothing keeps the bound.
    """

    bound: float
    rows: int
    expected: tuple[tuple[Candidate, tuple[float, float]], ...]
    chosen: Candidate | None

    @property
    def sentence(self) -> str:
        """The choice in words."""
        if self.chosen is not None:
            _, among = {each.label: errors for each, errors in self.expected}[self.chosen.label]
            parts = "it does not answer" if math.isnan(among) else "included"
            return (
                f"{self.chosen.label} keeps {GOAL} of at most {self.bound:g} for counts of a category in a table of {self.rows:,} rows, those "
                f"among a random part of the rows {parts}, and hides most of what keeps it."
            )
        known = [error for _, errors in self.expected if not math.isnan(error := _larger(errors))]
        reached = f"{min(known):.3g} can be reached" if known else "none of them fits the schema"
        return f"No design of the grid keeps {GOAL} of at most {self.bound:g} in a table of {self.rows:,} rows: {reached}."

    @property
    def design(self) -> Design:
        """The method with the parameters chosen.

        Raises
        ------
        ParameterError
            When nothing keeps the bound.
        """
        if self.chosen is None:
            raise ParameterError(self.sentence, parameter="goal")
        return self.chosen.design()

    @property
    def tables(self) -> tuple[ResultTable, ...]:
        """What every design of the grid lets expect."""

        def told(error: float) -> Cell:
            return "not determined" if math.isnan(error) else error

        rows = tuple((each.label, *map(told, errors)) for each, errors in self.expected)
        return (
            ResultTable(
                f"Largest expected standard error in {self.rows:,} rows of a category's count",
                ("design", "among all", "among a part"),
                rows,
            ),
        )

    def __str__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """The choice, and what every design of the grid lets expect."""
        return "\n\n".join([self.sentence, *(each.to_text() for each in self.tables)])

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "goal": {GOAL: self.bound},
            "rows": self.rows,
            "design": None if self.chosen is None else self.design.to_dict(),
            "sentence": self.sentence,
            "tables": [each.to_dict() for each in self.tables],
        }


def choose_by_formula(method: str, goal: Mapping[str, Any], schema: Schema, rows: int) -> ExpectedChoice:
    """The design of a method's grid that hides most while no count is expected to have a larger standard error.

    Parameters
    ----------
    method
        Public name of the method.
    goal
        ``std-error`` alone, in rows.
    schema, rows
        Of the table to be published.

    Raises
    ------
    ParameterError
        When the goal is another one, or the method's errors follow from the private rows alone.

    Examples
    --------
    >>> schema = Schema.from_toml('''
    ... [attributes.job]
    ... role = "sensitive"
    ... categories = ["Sales", "Tech"]
    ... ''')

    Two categories kept with probability p have a standard error of at most sqrt(n (1 / p^2 - 1)) / 2: 86.6 at .5, 134 at .35.

    >>> choose_by_formula("randomized-response", {"std-error": 100}, schema, 10_000).design.retention
    0.5
    """
    bound = goal.get(GOAL)
    if set(goal) != {GOAL} or not isinstance(bound, int | float) or isinstance(bound, bool) or not bound > 0:
        raise ParameterError(
            f"without DATA, rows are for the goal {GOAL} alone, a number above 0. Write {GOAL}=200, or give DATA.",
            parameter="goal",
        )
    METHODS.get(method)
    expected: list[tuple[Candidate, tuple[float, float]]] = []
    for each in (candidate(method, dict(parameters)) for parameters in COARSE.get(method, ())):
        design = each.design()
        try:
            law = design.planned_law(schema)
        except ParameterError:
            expected.append((each, (float("nan"), float("nan"))))
            continue
        if law is None:
            expected.clear()
            break
        expected.append((each, ExpectedErrors(law, schema, rows, design.can_publish).largest()))
    if not expected:
        raise ParameterError(
            f"errors of {method} follow from the private rows, and no formula gives them before. Give DATA: they are measured.",
            parameter="goal",
        )
    kept = [(error, each) for each, errors in expected if (error := _larger(errors)) <= bound]
    chosen = max(kept, key=lambda one: one[0])[1] if kept else None
    return ExpectedChoice(float(bound), rows, tuple(expected), chosen)


def _larger(errors: tuple[float, float]) -> float:
    """The larger of those that are known."""
    return max((each for each in errors if not math.isnan(each)), default=float("nan"))
