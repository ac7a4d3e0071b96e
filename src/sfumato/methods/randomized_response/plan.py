"""Calibration of randomized response: the retentions that lose least while a goal is met (Guo 2010, Problem 1)."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, cast

import numpy as np
from pydantic import Field

from sfumato.arrays import Floats
from sfumato.data.private_table import PrivateTable
from sfumato.errors import GoalUnattainableError, ParameterError, nearest
from sfumato.estimates.counts import CountTable
from sfumato.guarantees.amplification import BeliefBound
from sfumato.guarantees.reconstruction_risk import (
    ReconstructionRisk,
    conditional_distribution_risks,
    reconstruction_risks,
    risk_at_share,
)
from sfumato.immutable import LARGEST_EPSILON, SMALLEST_EPSILON, Frozen
from sfumato.methods.planning import RETENTION_STEP, retentions_on_grid
from sfumato.methods.randomized_response.design import RandomizedResponse
from sfumato.randomness.distortion import AxisMatrix, TwoValued
from sfumato.results import ResultTable
from sfumato.schema import Role, Schema
from sfumato.text import percent

# --------------------------------------------------------------------------------------------------
# Goals: what the parameters of randomized response can be chosen for.


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


# --------------------------------------------------------------------------------------------------
# The retentions that lose least while a bound holds: Problem 1 of Guo (2010), section 5.2.4.


LOWEST_RETENTION = 1e-3
"""Below it nothing could be estimated from any table of a practical size."""

DECIMALS = 6
"""Retentions are rounded down to so many decimals: nothing is lost. Those chosen from private rows get a coarser grid."""

ENTRIES_HELD = 60
"""The entries nearest to the bound that a step of the search holds down; the rest follow."""

LARGEST_NUMBER_OF_ROUNDS = 30


@dataclass(frozen=True, eq=False)
class Constraint:
    """A bound that lower retentions always help to keep.

    Parameters
    ----------
    excess
        Retentions ``(n,)`` to the logarithms of level over bound, ``(k,)``; kept where not positive.
    weights
        Rows behind each entry, ``(k,)``.
    share
        Share of the rows for which the bound must be kept.
    """

    excess: Callable[[Floats], Floats]
    weights: Floats
    share: float = 1.0

    def worst(self, retentions: Floats) -> float:
        """The excess at the share of rows that is covered: kept up to 0."""
        return risk_at_share(self.excess(retentions), self.weights, self.share)


def log_loss(retentions: Floats, sizes: Floats) -> float:
    """Logarithm of the product of ``||P^-1||_F^2 = 1 + (m - 1)/p^2`` (Guo 2010, lemma 5, in our retention).

    The expected squared L2 error of the estimated distribution rises and falls with it.

    Examples
    --------
    >>> np.exp(log_loss(np.array([0.4]), np.array([2.0]))).round(12).tolist()
    7.25
    """
    return float(np.log1p((sizes - 1) / retentions**2).sum())


def least_loss(sizes: Floats, constraint: Constraint, *, lowest: float = LOWEST_RETENTION) -> Floats:
    """Retentions of the least loss that keep the bound.

    Parameters
    ----------
    sizes
        Number of categories of each attribute, ``(n,)``.
    constraint
        The bound. It must be kept at the lowest retentions, where the search can always retreat to.
    lowest
        What no retention goes below.

    Returns
    -------
    numpy.ndarray
        ``(n,)``, above 0 and at most 1 (not perturbed at all).

    Notes
    -----
    One parameter: bisection, since loss and bound both move one way. Several: sequential quadratic
    programming from one start for each parameter and an even one, holding down the entries nearest to the
    bound, then back to the boundary along a straight line; the best of all. The bound is the largest of many
    smooth functions, so their gradients are used and not that of the maximum, which has none.
    """
    if constraint.worst(np.ones_like(sizes)) <= 0:
        return np.ones_like(sizes)
    starts = [np.full(sizes.size, 0.5)]
    if sizes.size > 1:
        # Each attribute in turn takes most of the perturbation.
        starts += [np.where(np.arange(sizes.size) == place, 0.2, 0.9) for place in range(sizes.size)]
    found = [_descend(_to_boundary(start, constraint, lowest), sizes, constraint, lowest) for start in starts]
    return _rounded_down(min(found, key=lambda each: log_loss(each, sizes)), constraint, lowest)


def _descend(retentions: Floats, sizes: Floats, constraint: Constraint, lowest: float) -> Floats:
    """Steps along the boundary for as long as the loss falls."""
    if sizes.size == 1:
        return retentions
    best = log_loss(retentions, sizes)
    for _ in range(LARGEST_NUMBER_OF_ROUNDS):
        candidate = _to_boundary(_step(retentions, sizes, constraint, lowest), constraint, lowest)
        loss = log_loss(candidate, sizes)
        if loss >= best - 1e-9:
            break
        retentions, best = candidate, loss
    return retentions


def _step(retentions: Floats, sizes: Floats, constraint: Constraint, lowest: float) -> Floats:
    """Least loss near the given retentions with the entries nearest to the bound held under it."""
    from scipy.optimize import minimize

    excess = constraint.excess(retentions)
    # Rows that the share leaves uncovered may stay above the bound.
    covered = np.flatnonzero(excess <= constraint.worst(retentions) + 1e-9)
    held = covered[np.argsort(excess[covered])[-ENTRIES_HELD:]]

    def room(each: Floats) -> Floats:
        return -constraint.excess(each)[held]

    def slopes(each: Floats) -> Floats:
        step = 1e-6 * each
        here = room(each)
        return np.stack(
            [
                (here - room(np.where(np.arange(each.size) == place, each - step, each))) / step[place]
                for place in range(each.size)
            ],
            axis=1,
        )

    def loss_slope(each: Floats) -> Floats:
        ratio = (sizes - 1) / each**2
        return np.asarray(-2 * ratio / each / (1 + ratio))

    with warnings.catch_warnings():
        # The search may try points a rounding error outside its limits, and says so.
        warnings.simplefilter("ignore", RuntimeWarning)
        # The stubs do not know of constraints with a slope.
        result = cast("Any", minimize)(
            lambda each: log_loss(each, sizes),
            retentions,
            jac=loss_slope,
            method="SLSQP",
            # Within a factor, so that the entries held down stay the ones that matter.
            bounds=[(max(lowest, 0.7 * each), min(1.0, 1.4 * each)) for each in retentions],
            constraints=[{"type": "ineq", "fun": room, "jac": slopes}],
            options={"maxiter": 30, "ftol": 1e-10},
        )
    return np.asarray(np.clip(result.x, lowest, 1))


def _to_boundary(retentions: Floats, constraint: Constraint, lowest: float) -> Floats:
    """The last point that keeps the bound, on the way to no perturbation or back to the strongest."""
    from scipy.optimize import brentq

    is_kept = constraint.worst(retentions) <= 0
    low, high = (
        (retentions, np.ones_like(retentions)) if is_kept else (np.full_like(retentions, lowest), retentions)
    )

    def excess_at(place: float) -> float:
        return constraint.worst(low + place * (high - low))

    if excess_at(1.0) <= 0:
        return high
    place = brentq(excess_at, 0.0, 1.0, xtol=1e-12) if excess_at(0.0) < 0 else 0.0
    margin = 1e-12
    while place > 0 and excess_at(place) > 0:
        place = max(place - margin, 0.0)
        margin *= 2
    return np.asarray(low + place * (high - low))


def _rounded_down(retentions: Floats, constraint: Constraint, lowest: float) -> Floats:
    """Fewer decimals; what is as good as unperturbed is left unperturbed where the bound allows it."""
    unit = 10.0**-DECIMALS
    floored = np.maximum(np.floor(retentions / unit) * unit, lowest).round(DECIMALS)
    whole = np.where(retentions > 1 - 10 * unit, 1.0, floored)
    return whole if constraint.worst(whole) <= 0 else np.minimum(floored, 1 - unit)


def epsilons(retentions: Floats, sizes: Floats) -> Floats:
    """Local epsilon of each attribute: ln(1 + p m / (1 - p)); infinite without perturbation.

    Examples
    --------
    >>> epsilons(np.array([0.5, 1.0]), np.array([2.0, 2.0])).round(6).tolist()
    [1.098612, inf]
    """
    with np.errstate(divide="ignore"):
        return np.asarray(np.log1p(retentions * sizes / (1 - retentions)))


# --------------------------------------------------------------------------------------------------
# Calibration: the retentions that lose least while a goal is kept.


PROTECTS_NOTHING = 0.99
"""Share of values that are published as they are from which on nobody is protected."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """Parameters chosen for a goal.

    Parameters
    ----------
    design
        The method with the chosen retentions. Where private rows were looked at it says so itself, and every
        release made by it repeats that.
    goal
        What they were chosen for.
    loss
        Product of the squared Frobenius norms of the inverses, over all attributes of the goal (Guo 2010,
        result 16): the lower the more accurate.
    tables
        The choice, and what it attains; what was computed from private rows is marked.
    """

    design: RandomizedResponse
    goal: Goal
    loss: float
    tables: tuple[ResultTable, ...]

    def __repr__(self) -> str:
        return f"Calibration({self.design.retention}, loss {self.loss:.6g})"

    def __str__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """The tables as text."""
        return "\n\n".join(each.to_text() for each in self.tables)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "design": self.design.to_dict(),
            "goal": self.goal.model_dump(mode="json"),
            "loss": self.loss,
            "tables": [each.to_dict() for each in self.tables],
        }


def calibrate(
    goal: Goal,
    schema: Schema,
    *,
    attributes: Sequence[str] | None = None,
    table: PrivateTable | None = None,
) -> Calibration:
    """The most accurate randomized response that keeps a goal.

    A goal on risk looks at the private rows, and the retentions it asks for differ with one person's value: they are
    rounded down to steps of :data:`~sfumato.methods.planning.RETENTION_STEP`, and the design says
    that they were chosen.

    Parameters
    ----------
    goal
        From :func:`~sfumato.methods.randomized_response.plan.goal_from`, or one of its kinds.
    schema
        Of the table to be published.
    attributes
        What may be perturbed. For a risk, by default the quasi-identifiers and the sensitive attribute; for
        an epsilon or a bound on beliefs the sensitive attributes.
    table
        The private rows; needed for a risk, not looked at otherwise.

    Raises
    ------
    GoalUnattainableError
        When even the strongest perturbation does not keep a risk: with the number and the sizes of the groups
        that block it, and the lowest bound that could be kept.
    ParameterError
        When there is nothing to choose.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from sfumato import read_table
    >>> from sfumato.methods.randomized_response.plan import goal_from
    >>> schema = Schema.from_toml('''
    ... [attributes.sex]
    ... role = "quasi-identifier"
    ... categories = ["Male", "Female"]
    ... [attributes.disease]
    ... role = "sensitive"
    ... categories = ["Cancer", "Flu"]
    ... ''')
    >>> rows = pa.table({"sex": ["Male"] * 60 + ["Female"] * 40, "disease": (["Cancer"] * 2 + ["Flu"] * 8) * 10})
    >>> chosen = calibrate(goal_from({"max-risk": 0.6}, schema), schema, table=read_table(rows, schema))
    >>> sorted(chosen.design.attributes)
    ['disease', 'sex']
    """
    if isinstance(goal, ReconstructionRisk):
        if table is None:
            raise ParameterError(
                "a bound on risk is kept or broken by one private table, and none is given. "
                "Name the data, or choose epsilon as the goal.",
                parameter="goal",
            )
        return _calibrate_risk(goal, table, attributes)
    names = tuple(attributes or (each.name for each in schema.with_role(Role.SENSITIVE)))
    if not names:
        raise ParameterError(
            'nothing is marked sensitive, so there is nothing to perturb. Give an attribute role = "sensitive", '
            "or name some in attributes.",
            parameter="attributes",
        )
    # A row's gammas multiply, so a bound on beliefs about a row is a bound on the total epsilon.
    total = goal.epsilon if isinstance(goal, TotalEpsilon) else math.log(goal.largest_gamma)
    sizes = np.array([float(schema[name].size) for name in names])

    def excess(retentions: Floats) -> Floats:
        return np.array([math.log(float(epsilons(retentions, sizes).sum()) / total)])

    retentions = least_loss(sizes, Constraint(excess, np.ones(1)))
    _refuse_nothing(names, retentions, sizes)
    design = _design(names, retentions)
    loss = math.exp(log_loss(retentions, sizes))
    return Calibration(design, goal, loss, (_choice_table(names, retentions, sizes, loss),))


def _refuse_nothing(names: Sequence[str], retentions: Floats, sizes: Floats) -> None:
    """Refuse retentions by which nearly every value is published as it is."""
    published = retentions + (1 - retentions) / sizes
    if published.min() >= PROTECTS_NOTHING:
        raise ParameterError(
            f"what keeps this goal protects nothing: {PROTECTS_NOTHING:.0%} and more of the values of {' and '.join(names)} would be "
            "published as they are. Ask for less.",
            parameter="goal",
        )


def _calibrate_risk(
    goal: ReconstructionRisk, table: PrivateTable, attributes: Sequence[str] | None
) -> Calibration:
    chosen = risk_optimum(goal, table, attributes, lowest=RETENTION_STEP).on_grid()
    design = _design(chosen.names, chosen.retentions, goal)
    tables = (
        _choice_table(chosen.names, chosen.retentions, chosen.sizes, chosen.loss),
        _risk_table(goal, chosen.true_counts, chosen.risks(), chosen.loss),
    )
    return Calibration(design, goal, chosen.loss, tables)


def risk_optimum(
    goal: ReconstructionRisk,
    table: PrivateTable,
    attributes: Sequence[str] | None = None,
    *,
    lowest: float = LOWEST_RETENTION,
) -> RiskOptimum:
    """The optimum that :func:`calibrate` rounds to the grid; for study, never for publication.

    Parameters
    ----------
    goal, table, attributes
        As for :func:`calibrate`.
    lowest
        What no retention goes below.

    Raises
    ------
    GoalUnattainableError, ParameterError
        As :func:`calibrate`.
    """
    names = tuple(goal.names if attributes is None else attributes)
    stray = [name for name in names if name not in goal.names]
    if stray:
        raise ParameterError(
            f"perturbing {stray[0]!r} does not change the risk of {goal.sensitive} given "
            f"{', '.join(goal.quasi_identifiers)}. Leave it out of attributes.",
            parameter="attributes",
        )
    true_counts = table.count_by(goal.names)
    counts = true_counts.counts
    sizes = np.array([float(true_counts.attributes[true_counts.axis_of(name)].size) for name in names])
    occupied = counts > 0
    bounds = np.broadcast_to(goal.bounds(true_counts.attributes[-1]), counts.shape)[occupied]

    def risks(retentions: Floats) -> Floats:
        return reconstruction_risks(counts, _matrices(true_counts, names, retentions, sizes))

    def excess(retentions: Floats) -> Floats:
        return np.asarray(np.log(risks(retentions)[occupied] / bounds))

    constraint = Constraint(excess, counts[occupied].astype(np.float64), goal.share)
    if constraint.worst(np.full(sizes.size, lowest)) > 0:
        raise _unattainable(goal, true_counts, names, risks(np.zeros(sizes.size)))
    if constraint.worst(np.ones(sizes.size)) <= 0:
        raise ParameterError(
            "the table keeps the bound as it is: nothing needs to be perturbed for it. Ask for a lower one, or "
            "choose epsilon as the goal.",
            parameter="goal",
        )
    retentions = least_loss(sizes, constraint, lowest=lowest)
    return RiskOptimum(goal, true_counts, names, sizes, retentions)


@dataclass(frozen=True, eq=False)
class RiskOptimum:
    """The retentions that lose least while a risk is kept on one private table, to the last digit; private.

    A person's value can be read off the digits by whoever knows the other rows: they are never published.
    :meth:`on_grid` is.

    Parameters
    ----------
    goal
        What is kept.
    true_counts
        Of the private table.
    names, sizes, retentions
        Of the attributes that may be perturbed, ``(n,)`` each.
    """

    goal: ReconstructionRisk
    true_counts: CountTable
    names: tuple[str, ...]
    sizes: Floats
    retentions: Floats

    def __repr__(self) -> str:
        return f"RiskOptimum({', '.join(self.names)})"

    @property
    def loss(self) -> float:
        """As that of a :class:`Calibration`."""
        unperturbed = math.prod(
            each.size for each in self.true_counts.attributes if each.name not in self.names
        )
        return math.exp(log_loss(self.retentions, self.sizes)) * unperturbed

    @property
    def diagonals(self) -> dict[str, float]:
        """By attribute, the probability that a value is published as it is."""
        kept = self.retentions + (1 - self.retentions) / self.sizes
        return dict(zip(self.names, kept.tolist(), strict=True))

    def risks(self) -> Floats:
        """Reconstruction risks of the cells of the private table."""
        matrices = _matrices(self.true_counts, self.names, self.retentions, self.sizes)
        return np.asarray(reconstruction_risks(self.true_counts.counts, matrices))

    def on_grid(self) -> RiskOptimum:
        """The same on the public grid: every retention rounded down to it, which keeps the risk all the more."""
        return dataclasses.replace(self, retentions=retentions_on_grid(self.retentions))


def _matrices(
    true_counts: CountTable, names: Sequence[str], retentions: Floats, sizes: Floats
) -> list[AxisMatrix]:
    by_name = {
        name: TwoValued(retention + (1 - retention) / size, (1 - retention) / size)
        for name, retention, size in zip(names, retentions.tolist(), sizes.tolist(), strict=True)
        if retention < 1
    }
    return [by_name.get(name) for name in true_counts.names]


def _design(
    names: Sequence[str], retentions: Floats, chosen_for: ReconstructionRisk | None = None
) -> RandomizedResponse:
    perturbed = {
        name: retention for name, retention in zip(names, retentions.tolist(), strict=True) if retention < 1
    }
    return RandomizedResponse(retention=perturbed, attributes=tuple(perturbed), chosen_for=chosen_for)


def _choice_table(names: Sequence[str], retentions: Floats, sizes: Floats, loss: float) -> ResultTable:
    each_epsilon = epsilons(retentions, sizes)
    return ResultTable(
        f"Chosen parameters (product of squared inverse norms {loss:,.6g})",
        ("attribute", "categories", "retention", "published as it is", "epsilon"),
        tuple(
            (name, int(size), float(retention), float(retention + (1 - retention) / size), float(epsilon))
            for name, size, retention, epsilon in zip(names, sizes, retentions, each_epsilon, strict=True)
        ),
    )


def _risk_table(goal: ReconstructionRisk, true_counts: CountTable, risks: Floats, loss: float) -> ResultTable:
    counts = true_counts.counts
    rows = true_counts.total
    conditional = conditional_distribution_risks(counts)
    return ResultTable(
        "What the choice attains on the private table",
        ("quantity", "value"),
        (
            ("largest reconstruction risk", risk_at_share(risks, counts, 1)),
            (
                f"reconstruction risk of {percent(goal.share, decimals=4)} of rows, at most",
                risk_at_share(risks, counts, goal.share),
            ),
            (
                "largest conditional-distribution risk (not bounded by the goal)",
                risk_at_share(conditional, counts, 1),
            ),
            # E||estimate - truth||^2 = (F/D - 1)/N for the table itself (Guo 2010, result 16, corrected).
            ("expected L2 error of the estimated distribution", math.sqrt((loss / counts.size - 1) / rows)),
        ),
        is_private=True,
    )


def _unattainable(
    goal: ReconstructionRisk, true_counts: CountTable, names: Sequence[str], lowest: Floats
) -> GoalUnattainableError:
    """Why the goal cannot be kept: Property 1 of Guo (2010) gives the lowest risks, as retentions go to 0."""
    counts = true_counts.counts
    relative = lowest / goal.bounds(true_counts.attributes[-1])
    blocked = (relative > 1).any(axis=-1)
    sizes = Counter(int(size) for size in counts.sum(axis=-1)[blocked])
    attainable = goal.bound * risk_at_share(relative, counts, goal.share)
    groups, rows = sum(sizes.values()), sum(size * number for size, number in sizes.items())
    listed = ", ".join(f"{number:,} of {size:,}" for size, number in sorted(sizes.items())[:5])
    more = ", ..." if len(sizes) > 5 else ""
    others = [name for name in goal.names if name not in names]
    remedy = f"perturb {', '.join(others)} too, or " if others else ""
    return GoalUnattainableError(
        f"a reconstruction risk of {goal.bound:.4g} cannot be kept by perturbing {', '.join(names)}: "
        f"{groups:,} groups with {rows:,} rows stay above it (groups by rows: {listed}{more}). "
        f"The lowest that can be approached is {attainable:.4g}, as all retentions go to 0. "
        f"Raise the bound, {remedy}ask for a share of the rows below 1.",
        attainable=attainable,
        group_sizes=dict(sorted(sizes.items())),
    )
