"""The ratio attack: two differentially private counts whose quotient is disclosive."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.arrays import Floats
from sfumato.attacks.base import Attack, AttackResult, Knowledge
from sfumato.attacks.ratio_law import (
    SMALLEST_CLOSENESS,
    SMALLEST_JUMP,
    TOLERANCE,
    AnyNoise,
    Disclosures,
    find_disclosures,
    gaussian_closeness,
    settle_closeness,
    smallest_hiding_scale,
    surest_places,
)
from sfumato.errors import NotIdentifiableError
from sfumato.estimates.counts import CountTable
from sfumato.methods.noisy_marginals.law import (
    NoisyCounts,
    NoisyMarginal,
    NoisyTable,
    read_marginal,
    sum_cells,
)
from sfumato.query.selection import Tabulation
from sfumato.release import Release
from sfumato.results import ResultTable
from sfumato.schema import Schema
from sfumato.text import Cell

SHOWN_GROUPS = 20
"""Disclosed values that a result lists, the surest first."""


class RatioAttack(Attack):
    """Learn a person's sensitive value from the noisy counts of people who are alike.

    The attacker divides the noisy count of a group's members with a value by the noisy count of the
    group. Where the group is large beside the noise, the quotient is close to the true share; where
    that share is far above everybody's, the attacker knows more of each member than before.

    Against whom
        Releases of noisy counts, however small their epsilon says the influence of one row is.
    Weaknesses
        From the release alone the true counts are not known, so closeness is computed as if the noisy
        ones were true; the custodian can compute it from the true ones with ``disclosures_in_counts``.

    References
    ----------
    Han (2016), chapter 3: closeness probability, jump, disclosure.
    """

    attack: Literal["ratio"] = "ratio"
    tolerance: Annotated[float, Field(gt=0, lt=1)] = Field(
        default=TOLERANCE, description="relative error up to which a share counts as learned (tau)"
    )
    smallest_closeness: Annotated[float, Field(gt=0, le=1)] = Field(
        default=SMALLEST_CLOSENESS,
        description="probability of being that close from which on a value is disclosed (K_CP)",
    )
    smallest_jump: Annotated[float, Field(ge=1, le=1e9)] = Field(
        default=SMALLEST_JUMP,
        description="share in the group over share overall from which on it is disclosed (K_J)",
    )
    sensitive: str | None = Field(
        default=None, description="attribute to learn; the only sensitive one when not given"
    )

    title: ClassVar[str] = "ratio attack"
    summary: ClassVar[str] = (
        "Divides noisy counts of a group's members with a sensitive value by the noisy count of the group, and "
        "tells for which groups the quotient is probably close to the truth and far above the overall share."
    )
    assumptions: ClassVar[tuple[str, ...]] = (
        "The attacker knows the group of the person, that is the attributes it is made of.",
        "Members of a group are alike: what most of them have, the person probably has.",
    )
    citations: ClassVar[tuple[str, ...]] = (
        "Han, C. (2016). Sensitive disclosures under differential privacy guarantees. Simon Fraser University.",
    )
    laws: ClassVar[tuple[str, ...]] = ("noisy-counts",)

    def run(self, release: Release, knowledge: Knowledge | None = None) -> AttackResult:
        """Scan every published table that holds the sensitive attribute."""
        told = () if knowledge is None else knowledge.sentences(())
        law = release.law
        if not isinstance(law, NoisyCounts):
            raise NotIdentifiableError(
                f"the ratio attack reads noisy counts, and this release has the law {release.manifest.law['law']!r}. "
                "Choose an attack made for it."
            )
        target = release.schema.sensitive(
            self.sensitive, parameter="sensitive", advice="Name the one to learn in sensitive."
        ).name
        scans = list(_scan_release(self, release, law, target))
        if not scans:
            raise NotIdentifiableError(
                f"no published table crosses {target!r} with another attribute, so there is no group to learn it from. "
                "Attack another attribute."
            )
        rows = sorted((row for scan in scans for row in scan.rows), key=lambda row: -float(row[-1]))
        table = ResultTable(
            f"Disclosed values of {target}, the surest first",
            ("group", target, "noisy group", "noisy share", "jump", "closeness"),
            tuple(rows[:SHOWN_GROUPS]),
        )
        return AttackResult(
            attack="ratio",
            findings={
                "groups scanned": sum(scan.groups for scan in scans),
                "groups without a ratio (noisy count not above 0)": sum(scan.invalid for scan in scans),
                "values disclosed": sum(scan.disclosed for scan in scans),
            },
            tables=(table,),
            caveats=(
                (
                    "Closeness is computed as if the noisy counts were the true ones. Small groups that noise made large "
                    "can be among the disclosed, and the other way round."
                ),
                "The noisy share has neither mean nor variance; closeness is a probability.",
                *told,
                (
                    "Where a group is not published by itself, it is a sum of cells, and closeness is computed as if the "
                    "noise were normal: with Laplace noise the attacker comes close more often than stated."
                ),
            ),
        )


@dataclass(frozen=True)
class _Scan:
    """What one published table gave away, and the surest of it as rows."""

    groups: int
    invalid: int
    disclosed: int
    rows: tuple[tuple[Cell, ...], ...]


def _scan_release(attack: RatioAttack, release: Release, law: NoisyCounts, target: str) -> Iterator[_Scan]:
    by_attributes = {frozenset(each.attributes): each for each in law.marginals}
    priors = _noisy_priors(release, law, target)
    for marginal in law.marginals:
        others = tuple(name for name in marginal.attributes if name != target)
        if target not in marginal.attributes or not others:
            continue
        table = read_marginal(release, marginal)
        parts = np.moveaxis(table.counts, table.names.index(target), -1)
        published = by_attributes.get(frozenset(others))
        if published is None:
            # The group is a sum of cells, and its noise is that much larger.
            groups, deviation = parts.sum(axis=-1), math.sqrt(table.variance * parts.shape[-1])
        else:
            groups = _axes(read_marginal(release, published), others)
            deviation = math.sqrt(published.noise.variance)
        yield _scan(attack, release.schema, marginal, others, parts, groups, deviation, priors, published)


def _scan(
    attack: RatioAttack,
    schema: Schema,
    marginal: NoisyMarginal,
    others: tuple[str, ...],
    parts: Floats,
    groups: Floats,
    deviation: float,
    priors: Floats,
    published: NoisyMarginal | None,
) -> _Scan:
    theta = parts.reshape(-1, parts.shape[-1])
    phi = np.broadcast_to(groups.reshape(-1, 1), theta.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        jump = theta / phi / priors
    worth = (theta > 0) & (phi > 0) & (jump >= attack.smallest_jump)
    # A noisy part can exceed its noisy group; a share above 1 is read as 1.
    part = np.minimum(theta[worth], phi[worth])
    if published is not None and published.noise == marginal.noise:
        settled = settle_closeness(
            part, phi[worth], marginal.noise, attack.smallest_closeness, tolerance=attack.tolerance
        )
    else:
        own = math.sqrt(marginal.noise.variance)
        # A group that is a sum of cells holds the noise of its part.
        shared = own**2 if published is None else 0.0
        close = gaussian_closeness(
            part, phi[worth], own, deviation, tolerance=attack.tolerance, covariance=shared
        )
        settled = close, np.zeros(close.shape)
    surest, closeness = surest_places(
        part, phi[worth], marginal.noise, settled, SHOWN_GROUPS, tolerance=attack.tolerance
    )
    target = next(name for name in marginal.attributes if name not in others)
    shape = tuple(schema[name].size for name in others)
    rows: list[tuple[Cell, ...]] = []
    for (group, code), probability in zip(np.argwhere(worth)[surest], closeness, strict=True):
        if probability < attack.smallest_closeness:
            continue
        codes = np.unravel_index(group, shape)
        labels = [f"{name} = {schema[name].labels[place]}" for name, place in zip(others, codes, strict=True)]
        size = float(phi[group, code])
        rows.append(
            (
                ", ".join(labels),
                schema[target].labels[code],
                round(size),
                float(theta[group, code]) / size,
                float(jump[group, code]),
                float(probability),
            )
        )
    disclosed = int(np.count_nonzero(settled[0] >= attack.smallest_closeness))
    return _Scan(len(theta), int(np.count_nonzero(groups <= 0)), disclosed, tuple(rows))


def _axes(table: NoisyTable, names: Sequence[str]) -> Floats:
    return table.counts.transpose([table.names.index(name) for name in names])


def _noisy_priors(release: Release, law: NoisyCounts, target: str) -> Floats:
    """Overall share of every value, from the table whose sums are least noisy; at least one row each."""
    holding = [each for each in law.marginals if target in each.attributes]
    if not holding:
        return np.ones(release.schema[target].size)
    best = min(holding, key=lambda each: each.noise.variance * each.cells_added(Tabulation((target,))))
    sums = sum_cells(read_marginal(release, best), {target: np.eye(release.schema[target].size)})
    values = np.maximum(sums.values, 1.0)
    return np.asarray(values / values.sum())


@dataclass(frozen=True, eq=False)
class GroupCounts:
    """Groups of people who are alike, with their sensitive values; true counts or noisy ones.

    Parameters
    ----------
    parts
        ``(number_of_groups, number_of_values)``.
    groups
        ``(number_of_groups,)``: their sizes.
    priors
        Overall share of each value, ``(number_of_values,)``.
    """

    parts: Floats
    groups: Floats
    priors: Floats

    @classmethod
    def of_tables(
        cls, tables: Sequence[CountTable], sensitive: str, *, unknown: Sequence[int] = ()
    ) -> GroupCounts:
        """Every cell of every table, apart from the sensitive axis, as a group.

        Rows of the ``unknown`` codes are in their groups' sizes and hold no value that could be told; overall shares are
        those of all rows too.

        Examples
        --------
        >>> from sfumato.schema import Attribute, Role
        >>> job = Attribute(name="job", role=Role.OTHER, categories=("a", "b"))
        >>> ill = Attribute(name="ill", role=Role.SENSITIVE, categories=("no", "yes"))
        >>> table = CountTable((job, ill), np.array([[81, 420], [9000, 500]]))
        >>> GroupCounts.of_tables([table], "ill").groups.tolist()
        [501.0, 9500.0]
        >>> GroupCounts.of_tables([table], "ill", unknown=[0]).parts.tolist()
        [[420.0], [500.0]]
        """
        blocks = [
            np.moveaxis(each.counts, each.axis_of(sensitive), -1).reshape(
                -1, each.attributes[each.axis_of(sensitive)].size
            )
            for each in tables
        ]
        values = blocks[0].sum(axis=0)
        parts = np.concatenate(blocks).astype(np.float64)
        known = np.setdiff1d(np.arange(values.size), unknown)
        return cls(parts[:, known], parts.sum(axis=1), values[known] / values.sum())


def disclosures_in_counts(
    counts: GroupCounts, noise: AnyNoise, *, attack: RatioAttack | None = None
) -> Disclosures:
    """What would be disclosed if these counts were published with this noise; for the custodian.

    Examples
    --------
    >>> from sfumato.randomness.noise import Laplace
    >>> counts = GroupCounts(np.array([[420.0, 81.0]]), np.array([501.0]), np.array([0.2478, 0.7522]))
    >>> disclosures_in_counts(counts, Laplace(scale=20.0)).number
    1
    """
    chosen = attack or RatioAttack()
    return find_disclosures(
        counts.parts,
        counts.groups,
        counts.priors,
        noise,
        tolerance=chosen.tolerance,
        smallest_closeness=chosen.smallest_closeness,
        smallest_jump=chosen.smallest_jump,
    )


@dataclass(frozen=True)
class HidingNoise:
    """The least Laplace noise at which no value is disclosed, and what it costs.

    Parameters
    ----------
    scale, epsilon
        Of the noise; infinite epsilon when nothing is disclosed without noise either, and 0 when no
        noise hides everything.
    relative_error
        Mean over all counts of the expected error relative to the count, or to one row in ten
        thousand where the count is smaller.
    """

    scale: float
    epsilon: float
    relative_error: float


def hiding_noise(
    counts: GroupCounts, sensitivity: float, rows: int, *, attack: RatioAttack | None = None
) -> HidingNoise:
    """The smallest noise, and so the largest epsilon, at which nothing is disclosed any more.

    Parameters
    ----------
    counts
        The true groups.
    sensitivity
        How much one person changes everything that is published, summed up (Delta).
    rows
        Of the private table.

    Examples
    --------
    >>> counts = GroupCounts(np.array([[420.0, 81.0]]), np.array([501.0]), np.array([0.2478, 0.7522]))
    >>> hiding = hiding_noise(counts, 2, 45_222)
    >>> round(hiding.scale, 1), round(hiding.epsilon, 4), round(hiding.relative_error, 2)
    (49.0, 0.0408, 0.27)
    """
    chosen = attack or RatioAttack()
    scale = smallest_hiding_scale(
        counts.parts,
        counts.groups,
        counts.priors,
        tolerance=chosen.tolerance,
        smallest_closeness=chosen.smallest_closeness,
        smallest_jump=chosen.smallest_jump,
    )
    # The mean size of Laplace noise is its scale.
    published = np.concatenate([counts.parts.ravel(), counts.groups])
    error = scale * float(np.mean(1 / np.maximum(published, 1e-4 * rows)))
    return HidingNoise(scale, math.inf if scale == 0 else sensitivity / scale, error)
