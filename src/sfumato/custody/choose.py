"""Choosing a method's parameters for a goal, whatever the method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.custody.promised import PromisedChoice, choose_for_promise
from sfumato.data.private_table import PrivateTable
from sfumato.methods.base import METHODS
from sfumato.methods.randomized_response.plan.calibrate import Calibration, calibrate
from sfumato.methods.randomized_response.plan.goals import goal_from
from sfumato.methods.splu_gen.plan.advice import DecoyGoal, GammaAdvice, advise_for_table, advise_gamma
from sfumato.values.schema import Role, Schema

METHODS_WITH_GOALS = ("randomized-response", "splu-gen")
"""Methods whose parameters are optimized for a goal; those of others follow from it."""


def choose(
    method: str,
    goal: Mapping[str, Any],
    schema: Schema,
    *,
    attributes: Sequence[str] | None = None,
    table: PrivateTable | None = None,
) -> Calibration | GammaAdvice | PromisedChoice:
    r"""The parameters of a method that keep a goal and lose least.

    Parameters
    ----------
    method
        Public name of the method.
    goal
        What is wanted, by name: for randomized response as :func:`~sfumato.methods.randomized_response.plan.goals.goal_from` takes it,
        for SPLU-Gen the fields of :class:`~sfumato.methods.splu_gen.plan.advice.DecoyGoal`, for others their ``promise_goals``.
    schema
        Of the table to be published.
    attributes
        What may be perturbed; the method's default when not given.
    table
        The private rows, where the goal needs them.

    Examples
    --------
    >>> schema = Schema.from_toml('''
    ... [attributes.job]
    ... role = "sensitive"
    ... categories = ["Sales", "Tech", "Other"]
    ... ''')
    >>> choose("splu-gen", {"wanted_error_probability": 0.6}, schema).design.gamma
    7
    """
    METHODS.get(method)
    if method not in METHODS_WITH_GOALS:
        return choose_for_promise(method, goal, schema)
    if method == "randomized-response":
        return calibrate(goal_from(goal, schema), schema, attributes=attributes, table=table)
    wanted = DecoyGoal(**goal)
    if table is None:
        return advise_gamma(wanted)
    names = attributes or [each.name for each in schema.with_role(Role.SENSITIVE)]
    return advise_for_table(wanted, table, names)
