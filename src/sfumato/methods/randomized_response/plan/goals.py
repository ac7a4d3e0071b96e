"""Goals: what the parameters of randomized response can be chosen for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from sfumato.errors import ParameterError, nearest
from sfumato.frozen import Frozen
from sfumato.guarantees.belief_bound import BeliefBound
from sfumato.guarantees.reconstruction_risk import ReconstructionRisk
from sfumato.values.bounds import LARGEST_EPSILON, SMALLEST_EPSILON
from sfumato.values.schema import Role, Schema


class TotalEpsilon(Frozen):
    """The epsilons of a row's perturbed attributes add up to at most this."""

    epsilon: Annotated[float, Field(ge=SMALLEST_EPSILON, le=LARGEST_EPSILON)]


Goal = TotalEpsilon | BeliefBound | ReconstructionRisk
"""A total epsilon, a bound on beliefs (rho1-rho2), or a bound on reconstruction risk."""

NAMES = ("epsilon", "prior", "posterior", "max-risk", "value-risk", "share", "sensitive", "quasi-identifiers")
"""What a goal is written with."""


def goal_from(settings: Mapping[str, Any], schema: Schema) -> Goal:
    r"""The goal that some settings describe.

    Parameters
    ----------
    settings
        ``epsilon``; or ``prior`` and ``posterior``; or ``max-risk``, with ``value-risk`` (category to its own
        bound), ``share`` (of the rows that must keep it), ``sensitive`` and ``quasi-identifiers``.
    schema
        Gives the sensitive attribute and the quasi-identifiers where they are not named.

    Raises
    ------
    ParameterError
        When the settings fit no goal, or more than one.

    Examples
    --------
    >>> schema = Schema.from_toml('''
    ... [attributes.sex]
    ... role = "quasi-identifier"
    ... categories = ["Female", "Male"]
    ... [attributes.job]
    ... role = "sensitive"
    ... categories = ["Sales", "Tech", "Other"]
    ... ''')
    >>> goal_from({"max-risk": 0.5}, schema).names
    ('sex', 'job')
    """
    unknown = [name for name in settings if name not in NAMES]
    if unknown:
        raise ParameterError(
            f"there is no goal {unknown[0]!r}; {nearest(unknown[0], NAMES)}", parameter="goal"
        )
    kinds = [name for name in ("epsilon", "posterior", "max-risk") if name in settings]
    if len(kinds) != 1:
        raise ParameterError(
            f"a goal is one of epsilon, prior with posterior, or max-risk; got {', '.join(kinds) or 'none of them'}. "
            "Give one.",
            parameter="goal",
        )
    kind = kinds[0]
    belongs = {
        "epsilon": {"epsilon"},
        "posterior": {"prior", "posterior"},
        "max-risk": set(NAMES) - {"epsilon", "prior", "posterior"},
    }[kind]
    stray = [name for name in settings if name not in belongs]
    if stray:
        raise ParameterError(
            f"{stray[0]} does not belong to the goal {kind}. Leave it out.", parameter="goal"
        )
    if kind == "epsilon":
        return TotalEpsilon(epsilon=settings["epsilon"])
    if kind == "posterior":
        return BeliefBound(**settings)
    return _risk_goal(settings, schema)


def _risk_goal(settings: Mapping[str, Any], schema: Schema) -> ReconstructionRisk:
    named = settings.get("quasi-identifiers")
    quasi_identifiers = _names(named) or tuple(each.name for each in schema.with_role(Role.QUASI_IDENTIFIER))
    sensitive = schema.sensitive(
        settings.get("sensitive"), parameter="goal", advice="Name it in the goal: sensitive=NAME."
    ).name
    if not quasi_identifiers:
        raise ParameterError(
            "a risk is about people known by quasi-identifiers, and the schema has none. "
            'Give attributes role = "quasi-identifier", or name some in quasi-identifiers.',
            parameter="goal",
        )
    goal = ReconstructionRisk(
        sensitive=sensitive,
        quasi_identifiers=tuple(name for name in quasi_identifiers if name != sensitive),
        bound=settings["max-risk"],
        bound_by_value=settings.get("value-risk", {}),
        share=settings.get("share", 1.0),
    )
    # Refuses unknown attributes and categories here, before any row is read.
    schema.select(goal.names)
    goal.bounds(schema[goal.sensitive])
    return goal


def _names(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return tuple(value or ())
