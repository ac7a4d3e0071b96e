"""What plans share: goals that parameters can be chosen for, public grids of parameters, expected accuracy."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sfumato.arrays import Floats
from sfumato.errors import NotIdentifiableError, ParameterError, TooLargeError
from sfumato.estimates.counts import CountTable
from sfumato.laws import Law
from sfumato.progress import steps
from sfumato.results import ResultTable
from sfumato.schema import Attribute, Role, Schema
from sfumato.text import Cell, percent

# --------------------------------------------------------------------------------------------------
# Bounds on what a method promises, and the parameters that keep them.


SLACK = 1e-9
"""A bound of one third is kept by groups of three, whatever its last digit."""


@dataclass(frozen=True)
class PromiseGoal:
    """A bound that somebody may put on a promise of a method.

    Parameters
    ----------
    meaning
        What is bounded, in a few words.
    parameter
        The parameter that keeps it.
    kind
        Where the parameter must lie of what the bound asks for.
    needs
        From the bound to the parameter; the bound itself unless it says otherwise.
    most
        Bounds lie above 0 and are at most this.
    protects_nothing
        A parameter that protects nobody, and neither does any beyond it.
    besides
        Other parameters without which it would promise something else.
    """

    meaning: str
    parameter: str
    kind: Literal["at least", "at most", "exactly"]
    needs: Callable[[float], Any] = float
    most: float = math.inf
    protects_nothing: float | None = None
    besides: Mapping[str, Any] = field(default_factory=dict)

    def is_kept_by(self, needed: Any, value: Any) -> bool:
        """Whether a parameter is as strict as needed."""
        if value is None or self.kind == "exactly":
            return bool(value == needed)
        return bool(value >= needed if self.kind == "at least" else value <= needed)


def crowd_of(probability: float) -> int:
    """People among whom nobody stands out by more than a probability.

    Examples
    --------
    >>> [crowd_of(each) for each in (0.5, 0.3, 1 / 3)]
    [2, 4, 3]
    """
    return math.ceil(1 / probability - SLACK)


def crowd_size(number: float) -> int:
    """The whole number of people that a bound asks for.

    Examples
    --------
    >>> crowd_size(4.2)
    5
    """
    return math.ceil(number - SLACK)


def parameters_for(
    method: str, goals: Mapping[str, PromiseGoal], bounds: Mapping[str, Any]
) -> dict[str, Any]:
    """The loosest parameters of a method that keep bounds on its promise; the strictest where several are about one.

    Raises
    ------
    ParameterError
        When a bound is no such number, two of them cannot be kept together, or what keeps it protects nobody.
    """
    found: dict[str, Any] = {}
    for name, bound in bounds.items():
        goal = goals[name]
        if (
            not isinstance(bound, int | float)
            or isinstance(bound, bool)
            or not 0 < bound <= goal.most
            or bound == math.inf
        ):
            ends = "above 0" if goal.most == math.inf else f"above 0 and at most {goal.most:g}"
            raise ParameterError(
                f"{name} ({goal.meaning}) must be a number {ends}, got {bound!r}.", parameter="goal"
            )
        needed = goal.needs(bound)
        if goal.protects_nothing is not None and goal.is_kept_by(needed, goal.protects_nothing):
            raise ParameterError(
                f"{name} = {bound:g} is kept by {goal.parameter} = {goal.protects_nothing:g} of {method}, which protects nothing: {goal.meaning}. "
                "Ask for more.",
                parameter="goal",
            )
        for parameter, value in {goal.parameter: needed, **goal.besides}.items():
            known = found.get(parameter, value)
            if known != value and (parameter != goal.parameter or goal.kind == "exactly"):
                raise ParameterError(
                    f"{name} asks for {parameter} = {value} of {method}, and another goal for {known}. Leave one of them out.",
                    parameter="goal",
                )
            found[parameter] = (
                known if parameter == goal.parameter and goal.is_kept_by(value, known) else value
            )
    return found


# --------------------------------------------------------------------------------------------------
# The public grids from which parameters are taken that were chosen by looking at private rows.


RETENTION_STEP = 0.05
"""Chosen retentions are whole multiples of it: nearly always the same whatever one person's value is."""

_STEPS = round(1 / RETENTION_STEP)


def retentions_on_grid(retentions: npt.ArrayLike) -> Floats:
    """Retentions rounded down to the grid; the lowest step where nothing is below.

    Examples
    --------
    >>> retentions_on_grid([0.667406, 0.95, 1.0, 0.01]).tolist()
    [0.65, 0.95, 1.0, 0.05]
    """
    # A part in a million million of slack: 0.15 / 0.05 is below 3 in floats.
    steps = np.floor(np.asarray(retentions, np.float64) * _STEPS + 1e-9)
    # Divided, not multiplied: 3 / 20 is the double that 0.15 is read as.
    return np.asarray(np.maximum(steps, 1) / _STEPS)


def is_retention_on_grid(retention: float) -> bool:
    """Whether a retention has no more digits than the grid.

    Examples
    --------
    >>> is_retention_on_grid(0.35), is_retention_on_grid(0.36)
    (True, False)
    """
    return retention in (0.0, float(retentions_on_grid(retention)))


def is_epsilon_on_grid(epsilon: float) -> bool:
    """Whether an epsilon is 1, 2 or 5 times a power of ten.

    Examples
    --------
    >>> is_epsilon_on_grid(0.5), is_epsilon_on_grid(20.0), is_epsilon_on_grid(0.3)
    (True, True, False)
    """
    return f"{epsilon:e}".rstrip("0123456789").rstrip("+-e").rstrip("0").rstrip(".") in ("1", "2", "5")


def epsilon_on_grid(epsilon: float) -> float:
    """The largest of 1, 2 and 5 times powers of ten that is not above an epsilon.

    Examples
    --------
    >>> [epsilon_on_grid(each) for each in (0.0731, 0.2, 4.99, 1_000.0)]
    [0.05, 0.2, 2.0, 1000.0]
    """
    power = math.floor(math.log10(epsilon))
    # Written as text, so that 2 times a tenth is the double that 0.2 is read as; the logarithm may be one too large.
    steps = [
        float(f"{digit}e{exponent}") for exponent in (power - 1, power, power + 1) for digit in (1, 2, 5)
    ]
    return max(each for each in steps if each <= epsilon)


# --------------------------------------------------------------------------------------------------
# The accuracy to expect of any release, from its law: the tables that every plan has.


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
