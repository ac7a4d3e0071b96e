"""Parameters of a method for a goal, by its formulas; noise that hides disclosive ratios."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.attacks.ratio import GroupCounts, HidingNoise, hiding_noise
from sfumato.custody.privacy_unit import design_for_units
from sfumato.data.private_table import PrivateTable
from sfumato.errors import ParameterError, QueryError, nearest
from sfumato.methods.base import METHODS, Design
from sfumato.methods.planning import epsilon_on_grid, parameters_for
from sfumato.methods.randomized_response.plan import Calibration, calibrate, goal_from
from sfumato.methods.splu_gen.plan import DecoyGoal, GammaAdvice, advise_for_table, advise_gamma
from sfumato.results import ResultTable
from sfumato.schema import Role, Schema
from sfumato.text import percent, show_cell

# --------------------------------------------------------------------------------------------------
# Parameters that keep a bound on a method's promise, by the method's own formulas; no row is looked at.


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
    design_for_units(design, schema)
    promises = tuple(each.statement for each in design.guarantees(schema.publishable))
    if nothing := design.protects_nothing(schema.publishable):
        raise ParameterError(
            f"what keeps {' and '.join(f'{name} = {bound:g}' for name, bound in goal.items())} protects nothing: {nothing}. Ask for more.",
            parameter="goal",
        )
    return PromisedChoice(dict(goal), design, promises)


# --------------------------------------------------------------------------------------------------
# Choosing a method's parameters for a goal, whatever the method.


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
        What is wanted, by name: for randomized response as :func:`~sfumato.methods.randomized_response.plan.goal_from` takes it,
        for SPLU-Gen the fields of :class:`~sfumato.methods.splu_gen.plan.DecoyGoal`, for others their ``promise_goals``.
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
    if schema.unit is not None:
        # Whatever its parameters: what publishing would refuse.
        design_for_units(METHODS.get(method).example(schema), schema)
    if method == "randomized-response":
        return calibrate(goal_from(goal, schema), schema, attributes=attributes, table=table)
    wanted = DecoyGoal(**goal)
    if table is None:
        return advise_gamma(wanted)
    names = attributes or [each.name for each in schema.with_role(Role.SENSITIVE)]
    return advise_for_table(wanted, table, names)


# --------------------------------------------------------------------------------------------------
# How much noise hides every group's sensitive values from the ratio attack: computed before publishing.


CHOSEN = (
    "Epsilon is rounded down to 1, 2 or 5 times a power of ten: it is published with the release, and a finer one would tell of the rows. "
    "It was chosen from them all the same, and noisy-marginals says so with --set chosen_from_private_data.epsilon='to hide groups'."
)
"""What the custodian must know of a number that comes from the rows."""


@dataclass(frozen=True)
class HidingPlan:
    """The least noise on counts of groups at which the ratio attack finds nothing. Private: it comes from the rows.

    Parameters
    ----------
    of, by
        The sensitive attribute, and those that make the groups.
    sensitivity
        How much one person changes everything that would be published, summed up.
    noise
        Its scale, its epsilon, and what it costs.
    unknown
        Labels that say nothing: their rows are in the groups, and nothing of them can be told.
    """

    of: str
    by: tuple[str, ...]
    sensitivity: float
    noise: HidingNoise
    unknown: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"HidingPlan({self.of} by {', '.join(self.by)}: epsilon {self.noise.epsilon:.4g})"

    def __str__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """A few lines for the custodian."""
        title = (
            f"Noise that hides {self.of} in groups of {', '.join(self.by)}  [private: computed from the data]"
        )
        if self.unknown:
            title += f"\nRows with {', '.join(self.unknown)} are in the groups and have no value to be told."
        if self.noise.scale == 0:
            return f"{title}\nNothing is disclosed without noise either: no group is far above the overall share."
        if math.isinf(self.noise.scale):
            return f"{title}\nNo noise hides everything."
        scale = show_cell(self.sensitivity / self.epsilon_to_publish)
        more = self.noise.epsilon / self.epsilon_to_publish
        cost = f"It costs {percent(self.noise.relative_error * more)} of a count on average: accuracy and hiding pull apart."
        said = f"Laplace scale {scale}, which is epsilon {self.epsilon_to_publish:g} at sensitivity {self.sensitivity:g}"
        return f"{title}\n{said}\n{cost}\n{CHOSEN}"

    @property
    def _is_finite(self) -> bool:
        return 0 < self.noise.scale < math.inf

    @property
    def epsilon_to_publish(self) -> float:
        """The epsilon, lowered to the grid of 1, 2 and 5 times powers of ten: a finer one would tell of the rows."""
        return epsilon_on_grid(self.noise.epsilon)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as ``hiding-noise --json`` prints it."""
        return {
            "of": self.of,
            "by": list(self.by),
            "sensitivity": self.sensitivity,
            "unknown": list(self.unknown),
            **vars(self.noise),
            "epsilon_to_publish": self.epsilon_to_publish if self._is_finite else None,
            "private": True,
        }


def plan_hiding(
    table: PrivateTable, of: str, by: Sequence[str], *, sensitivity: float = 2.0, unknown: Sequence[str] = ()
) -> HidingPlan:
    """The smallest Laplace noise at which no group's share of a sensitive value is told by a ratio of noisy counts.

    Parameters
    ----------
    table
        The private rows.
    of
        The sensitive attribute.
    by
        Attributes that make the groups.
    sensitivity
        2 where each person is in one group's count and in one of its parts.
    unknown
        Labels of the sensitive attribute that stand for no known value, such as the one for missing values.
    """
    if not by or of in by:
        raise QueryError(f"groups are made by one attribute or more, {of!r} not among them. Name others.")
    codes = [table.schema[of].code_of(label) for label in dict.fromkeys(unknown)]
    if codes and len(codes) == table.schema[of].size:
        raise QueryError(
            f"every label of {of!r} is called unknown, so there is nothing to hide. Leave one out."
        )
    counts = GroupCounts.of_tables([table.count_by((*by, of))], of, unknown=codes)
    noise = hiding_noise(counts, sensitivity, int(counts.groups.sum()))
    return HidingPlan(of, tuple(by), sensitivity, noise, tuple(dict.fromkeys(unknown)))
