"""Bounds on what a method promises, and the parameters that keep them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from sfumato.errors import ParameterError

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
