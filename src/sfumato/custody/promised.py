"""Parameters that keep a bound on a method's promise, by the method's own formulas; no row is looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sfumato.errors import ParameterError, nearest
from sfumato.methods.base import METHODS, Design
from sfumato.methods.goals import parameters_for
from sfumato.values.result_tables import ResultTable
from sfumato.values.schema import Schema


@dataclass(frozen=True)
class PromisedChoice:
    """The loosest design that keeps bounds on what it promises.

    Parameters
    ----------
    goal
        The bounds.
    design
        The method with the parameters chosen.
    promises
        What it then promises, in its own words.
    """

    goal: Mapping[str, float]
    design: Design
    promises: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """The choice in words."""
        told = self.design.to_dict()
        parameters = ", ".join(
            f"{name} = {told[name]}" for name in promised_parameters(told.pop("method"), self.goal)
        )
        goals = type(self.design).promise_goals
        kept = "; ".join(f"{name} = {bound:g} ({goals[name].meaning})" for name, bound in self.goal.items())
        return f"{parameters} keeps {kept}, and loses least of what keeps it."

    @property
    def tables(self) -> tuple[ResultTable, ...]:
        """What is promised."""
        return (
            ResultTable(
                "What a release of it promises", ("promise",), tuple((each,) for each in self.promises)
            ),
        )

    def __str__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """The choice and its promises."""
        return "\n\n".join([self.sentence, *(each.to_text() for each in self.tables)])

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "method": self.design.to_dict()["method"],
            "goal": dict(self.goal),
            "design": self.design.to_dict(),
            "sentence": self.sentence,
            "tables": [each.to_dict() for each in self.tables],
        }


def promised_parameters(method: str, goal: Mapping[str, Any]) -> dict[str, Any]:
    """The loosest parameters of a method that keep bounds on its promise.

    Raises
    ------
    ParameterError
        When the method has no such goal, a bound is out of range, or what keeps it protects nobody.

    Examples
    --------
    >>> promised_parameters("generalization", {"match": 0.1, "belief": 0.25})
    {'k': 10, 'l_value': 4.0, 'diversity': 'fraction'}
    """
    goals = METHODS.get(method).promise_goals
    for name in goal:
        if name not in goals:
            raise ParameterError(
                f"there is no goal {name!r} of {method}; {nearest(name, goals)}", parameter="goal"
            )
    return parameters_for(method, goals, goal)


def left_open(method: str, parameters: Mapping[str, Any]) -> list[str]:
    """Parameters without which there is no design, and which are not among these."""
    fields = METHODS.get(method).model_fields
    return [name for name, field in fields.items() if field.is_required() and name not in parameters]


def choose_for_promise(method: str, goal: Mapping[str, Any], schema: Schema) -> PromisedChoice:
    """The loosest design of a method that keeps bounds on its promise.

    Raises
    ------
    ParameterError
        When it has no such goal, a parameter is left open, or what keeps the bounds protects nobody.
    """
    parameters = promised_parameters(method, goal)
    missing = left_open(method, parameters)
    if missing:
        raise ParameterError(
            f"these goals leave {' and '.join(missing)} of {method} open. Bound {'it' if len(missing) == 1 else 'them'} as well, or give "
            "DATA: parameters that a promise leaves open are then chosen by measuring.",
            parameter="goal",
        )
    design = METHODS.make(method, parameters)
    promises = tuple(each.statement for each in design.guarantees(schema.publishable))
    if nothing := design.protects_nothing(schema.publishable):
        raise ParameterError(
            f"what keeps {' and '.join(f'{name} = {bound:g}' for name, bound in goal.items())} protects nothing: {nothing}. Ask for more.",
            parameter="goal",
        )
    return PromisedChoice(dict(goal), design, promises)
