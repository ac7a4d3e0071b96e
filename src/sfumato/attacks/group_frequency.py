"""Personal reconstruction: what the group of a person tells about that person."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from sfumato.attacks.base import Attack, AttackResult
from sfumato.chance.distortion import UniformDistortion
from sfumato.data.knowledge import Knowledge
from sfumato.errors import NotIdentifiableError
from sfumato.guarantees.reconstruction_privacy.guarantee import ReconstructionPrivacy
from sfumato.guarantees.reconstruction_privacy.tails import publishing_probabilities
from sfumato.methods.randomized_response.law.perturbed_rows import PerturbedRows
from sfumato.methods.sample_perturb_scale.law.group_blocks import GroupBlocks
from sfumato.methods.sample_perturb_scale.law.sampled_rows import SampledRows
from sfumato.release import Release
from sfumato.values.arrays import Floats
from sfumato.values.number_text import percent
from sfumato.values.result_tables import ResultTable
from sfumato.values.schema import Role

GRID = 401
"""Frequencies at which a posterior is evaluated."""

GROUPS_AT_A_TIME = 4_096
"""Groups whose posteriors are held in memory together."""


class GroupFrequency(Attack):
    """Reconstruct every personal group, and say how likely each reconstruction is within an error.

    Against every group of published rows that are equal on the quasi-identifiers, the attacker estimates
    the frequency of its most frequent sensitive value, which is then what is likely of each member.
    """

    attack: Literal["group-frequency"] = "group-frequency"
    relative_error: Annotated[float, Field(gt=0, le=1e6)] | None = Field(
        default=None,
        description="error to stay within; that of the release's promise when not given, else 0.3",
    )
    shown: Annotated[int, Field(ge=1, le=100_000)] = Field(default=10, description="largest groups to show")

    title: ClassVar[str] = "reconstruction of personal groups"
    summary: ClassVar[str] = (
        "Rows that are equal on all quasi-identifiers are taken together, and the frequency of each sensitive value among "
        "them is reconstructed from the published values and the public law. Of a large group that is accurate, and "
        "tells what is likely of everyone in it."
    )
    assumptions: ClassVar[tuple[str, ...]] = (
        "The attacker knows a target's quasi-identifiers and that the target is in the table.",
        "Before looking, every frequency between 0 and 1 is as likely as any other.",
    )
    citations: ClassVar[tuple[str, ...]] = (
        "Han, C. (2016). Sensitive disclosures under differential privacy guarantees. Simon Fraser University, chapter 4.",
    )
    laws: ClassVar[tuple[str, ...]] = ("perturbed-rows", "sampled-rows")

    def run(self, release: Release, knowledge: Knowledge | None = None) -> AttackResult:
        """Attack every group of a release."""
        told = () if knowledge is None else knowledge.sentences(())
        groups, sensitive, distortion = attacked_attributes(release)
        error = self.relative_error if self.relative_error is not None else _promised_error(release)
        blocks = blocks_of_groups(release, groups, sensitive, distortion)
        sizes = blocks.rows.sum(axis=1)
        effective = effective_rows(release, sizes)
        frequencies = (blocks.rows / sizes[:, None]) @ distortion.inverse()
        value = frequencies.argmax(axis=1)
        estimate = frequencies[np.arange(value.size), value]
        probability = probability_within(estimate, effective, distortion, error)
        is_sure = probability >= 0.95
        labels = release.schema[sensitive].labels
        largest = np.argsort(-sizes, kind="stable")[: self.shown]
        rows = tuple(
            (
                ", ".join(release.schema[name].labels[blocks.codes[name][place]] for name in groups)
                or "all rows",
                int(sizes[place]),
                labels[value[place]],
                float(estimate[place]),
                float(probability[place]),
            )
            for place in largest
        )
        return AttackResult(
            attack=self.attack,
            findings={
                "groups": int(sizes.size),
                "relative error": error,
                "median probability of being within it": float(np.median(probability)),
                "groups within it with probability 95 %": int(np.count_nonzero(is_sure)),
                "share of rows in those groups": float(sizes[is_sure].sum() / sizes.sum()),
            },
            tables=(
                ResultTable(
                    f"Most frequent {sensitive} of the largest groups",
                    ("group", "rows", "value", "estimated frequency", f"probability within {percent(error)}"),
                    rows,
                ),
            ),
            caveats=(*_caveats(release), *told),
        )


def attacked_attributes(release: Release) -> tuple[tuple[str, ...], str, UniformDistortion]:
    """The attributes that make a group, the perturbed one, and its matrix.

    Raises
    ------
    NotIdentifiableError
        When the release is not of one uniformly perturbed attribute.
    """
    law = release.law
    if isinstance(law, SampledRows):
        return law.groups, law.sensitive, law.distortion
    distortions = law.distortions if isinstance(law, PerturbedRows) else {}
    if len(distortions) == 1:
        sensitive, distortion = next(iter(distortions.items()))
        if isinstance(distortion, UniformDistortion):
            known = release.schema.with_role(Role.QUASI_IDENTIFIER)
            return tuple(each.name for each in known if each.name != sensitive), sensitive, distortion
    raise NotIdentifiableError(
        "this attack reconstructs one uniformly perturbed attribute within groups; the release has another law or "
        f"{len(distortions)} perturbed attributes. Attack a release of randomized-response or sample-perturb-scale."
    )


def blocks_of_groups(
    release: Release, groups: tuple[str, ...], sensitive: str, distortion: UniformDistortion
) -> GroupBlocks:
    """Published rows of every group by sensitive value."""
    weight = release.law.weight if isinstance(release.law, SampledRows) else None
    occupied = release.count_occupied((*groups, sensitive), weight=weight)
    return GroupBlocks.of(occupied, groups, groups, sensitive, distortion.size)


def effective_rows(release: Release, sizes: Floats) -> Floats:
    """Independent rows behind the published rows of each group; at least, where samples are unpublished."""
    return sizes / release.law.scale_factors(sizes) if isinstance(release.law, SampledRows) else sizes


def probability_within(
    estimates: npt.ArrayLike, rows: npt.ArrayLike, distortion: UniformDistortion, relative_error: float
) -> Floats:
    """Probability that each true frequency lies so that its estimate is within the relative error of it.

    Parameters
    ----------
    estimates
        Reconstructed frequencies F, ``(groups,)``.
    rows
        Independent rows behind each, ``(groups,)``.

    Returns
    -------
    numpy.ndarray
        ``(groups,)``.

    Notes
    -----
    The posterior of the true frequency f under an even prior on [0, 1], F being normal around f with variance
    ``(f q1 (1-q1) + (1-f) q0 (1-q0)) / (rows p^2)``; what is added up is the posterior of |F - f| <= lambda f.

    Examples
    --------
    >>> distortion = UniformDistortion(retention=0.5, size=10)
    >>> few, many = probability_within([0.4, 0.4], [20, 2_000], distortion, 0.3)
    >>> bool(few < 0.6), bool(many > 0.99)
    (True, True)
    """
    reconstructed, number = np.asarray(estimates, float), np.asarray(rows, float)
    own, elsewhere = publishing_probabilities(distortion.retention, distortion.size)
    frequency = (np.arange(GRID) + 0.5) / GRID
    variance = frequency * own * (1 - own) + (1 - frequency) * elsewhere * (1 - elsewhere)
    variance /= distortion.retention**2
    result = np.empty(reconstructed.size)
    for start in range(0, reconstructed.size, GROUPS_AT_A_TIME):
        part = slice(start, start + GROUPS_AT_A_TIME)
        deviation = reconstructed[part, None] - frequency
        exponent = -0.5 * number[part, None] * deviation**2 / variance - 0.5 * np.log(variance)
        posterior = np.exp(exponent - exponent.max(axis=1, keepdims=True))
        is_within = np.abs(deviation) <= relative_error * frequency
        result[part] = (posterior * is_within).sum(axis=1) / posterior.sum(axis=1)
    return result


def _promised_error(release: Release) -> float:
    promised = [each.relative_error for each in release.guarantees if isinstance(each, ReconstructionPrivacy)]
    return promised[0] if promised else 0.3


def _caveats(release: Release) -> tuple[str, ...]:
    even = "Probabilities assume that every frequency was equally likely before."
    if isinstance(release.law, SampledRows) and release.law.is_smallest:
        return (
            even,
            "Samples' sizes are unpublished; the smallest possible were assumed, so probabilities are too low.",
        )
    return (even,)
