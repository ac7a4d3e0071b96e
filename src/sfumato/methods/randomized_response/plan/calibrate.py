"""Calibration: the retentions that lose least while a goal is kept."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.chance.distortion import AxisMatrix, TwoValued
from sfumato.data.private_table import PrivateTable
from sfumato.errors import GoalUnattainableError, ParameterError
from sfumato.guarantees.conditional_distribution_risk import conditional_distribution_risks
from sfumato.guarantees.reconstruction_risk import ReconstructionRisk, reconstruction_risks, risk_at_share
from sfumato.methods.randomized_response.design import RandomizedResponse
from sfumato.methods.randomized_response.plan.goals import Goal, TotalEpsilon
from sfumato.methods.randomized_response.plan.optimum import (
    LOWEST_RETENTION,
    Constraint,
    epsilons,
    least_loss,
    log_loss,
)
from sfumato.values.arrays import Floats
from sfumato.values.counts import CountTable
from sfumato.values.number_text import percent
from sfumato.values.public_grids import RETENTION_STEP, retentions_on_grid
from sfumato.values.result_tables import ResultTable
from sfumato.values.schema import Role, Schema

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
    rounded down to steps of :data:`~sfumato.values.public_grids.RETENTION_STEP`, and the design says
    that they were chosen.

    Parameters
    ----------
    goal
        From :func:`~sfumato.methods.randomized_response.plan.goals.goal_from`, or one of its kinds.
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
    >>> from sfumato.methods.randomized_response.plan.goals import goal_from
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
