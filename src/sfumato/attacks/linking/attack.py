"""Linking: find people in a release by what is known of them, and read off what is not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from sfumato.attacks.base import Attack, AttackResult, PeopleGuesses, targets_by_belief
from sfumato.chance.distortion import AxisMatrix
from sfumato.chance.randomness import CategorySampler, NoiseSource
from sfumato.data.knowledge import Knowledge
from sfumato.errors import DataError, ParameterError
from sfumato.guarantees.reconstruction_risk import recovery_probabilities
from sfumato.laws.believing.group_pooling import (
    NOBODY,
    linked_counts,
    occupied_groups,
    pooled_counts,
    shares_with_overall,
)
from sfumato.laws.believing.judging import fit_groups
from sfumato.laws.believing.targets import places_among
from sfumato.methods.randomized_response.law.perturbed_rows import PerturbedRows
from sfumato.release import Release
from sfumato.values.arrays import Booleans, Floats, Integers
from sfumato.values.feasibility import Feasibility
from sfumato.values.number_text import Cell
from sfumato.values.schema import Attribute, Role
from sfumato.values.selection import Tabulation

EXPECTATIONS = (
    "These are the attacker's own expectations; an audit against the private rows says how often the guesses "
    "were right."
)

LARGEST_READ = 2_000_000
"""Cells up to which the law itself reconstructs the joint distribution; beyond, the most likely one is fitted here."""


class Linking(Attack):
    """Link people to published rows by perturbed quasi-identifiers, and infer their sensitive value.

    Attack
        The attacker fits the joint distribution to the release, small groups leaning on others as
        far as the published rows support, weighs every published row by Bayes with the public matrices (how
        likely it is that it truly has the target's quasi-identifiers, and then each sensitive value), and
        adds the weights up. One attacker then names the likeliest value, one draws from the beliefs, and one
        only reads the reconstructed distribution.
    Against whom
        Anyone whose quasi-identifiers are known and who is known to be in the table.
    Weaknesses
        Beliefs lean on the overall distribution, on what groups with one frequent value have, on what each known
        category says of the sensitive value by itself, or, where some quasi-identifiers were perturbed, on all that a
        person may be one of: whichever published rows that were held out bear out. None of these knows a value that goes
        with two categories together and with neither alone; such groups have their own rows only. What is reported is what
        the attacker expects; only an audit against the truth says how often the guesses were right.

    References
    ----------
    Guo (2010), section 5.2; his attacker picks one row and redraws it, which finds less than adding up.
    """

    attack: Literal["linking"] = "linking"
    sensitive: str | None = Field(
        default=None, description="attribute to infer; the only sensitive one when not given"
    )
    quasi_identifiers: tuple[str, ...] | None = Field(
        default=None,
        description="attributes the attacker knows; those of the outside records, or the release's quasi-identifiers",
    )
    feasibility: Feasibility = Field(
        default="em",
        description="how the attacker who only reads it reconstructs the joint distribution: em, projection or clip",
    )
    threshold: Annotated[float, Field(gt=0, lt=1)] = Field(
        default=0.5, description="belief from which a target counts as exposed"
    )
    smoothing: Annotated[float, Field(gt=0, le=1e9)] | None = Field(
        default=None,
        description="overall rows that each group leans on; chosen by published rows held out when not given",
    )

    title: ClassVar[str] = "posterior linkage"
    summary: ClassVar[str] = (
        "Fits the joint distribution, weighs every published row by Bayes with the public matrices, and infers the "
        "sensitive value of people whose quasi-identifiers are known."
    )
    assumptions: ClassVar[tuple[str, ...]] = (
        "The attacker knows the true quasi-identifiers of the targets and that they are in the table.",
        "The attacker has the release and its matrices, and nothing else about the sensitive attribute.",
    )
    citations: ClassVar[tuple[str, ...]] = (
        "Guo, L. (2010). Randomization based privacy preserving categorical data analysis. UNC Charlotte.",
    )
    laws: ClassVar[tuple[str, ...]] = ("perturbed-rows",)

    def run(self, release: Release, knowledge: Knowledge | None = None) -> AttackResult:
        """What the attackers expect to find out about the people behind a release."""
        posterior = self.posterior(release, knowledge)
        weights = posterior.targets(knowledge)
        number = float(weights.sum())
        if number <= 0:
            raise ParameterError("there is nobody to link: the outside records are empty. Give some.")

        def mean(by_group: Floats) -> float:
            return float((by_group * weights).sum() / number)

        beliefs = posterior.beliefs
        likeliest = beliefs.max(axis=-1)
        # The one who reads names another value at times; what that is worth, the better beliefs say.
        named = posterior.read.argmax(axis=-1)[..., np.newaxis]
        reading = np.take_along_axis(beliefs, named, axis=-1)[..., 0]
        marginal = posterior.linked.reshape(-1, posterior.sensitive.size).sum(axis=0)
        findings = {
            "targets": round(number),
            "expected right, names the likeliest value": mean(likeliest),
            "expected right, draws from the beliefs": mean((beliefs**2).sum(axis=-1)),
            "expected right, reads the reconstructed distribution": mean(reading),
            "expected right, knows only the overall distribution": float(marginal.max() / marginal.sum()),
            f"share of targets with a belief of {self.threshold:.4g} or more": mean(
                (likeliest >= self.threshold).astype(np.float64)
            ),
            "expected right, picks the target's own row": mean(posterior.link_probabilities),
        }
        told: tuple[str, ...] = ()
        if knowledge is not None:
            names = [each.name for each in posterior.attributes[:-1]]
            told = knowledge.sentences(names)
            elsewhere = int(knowledge.occupied(names).counts.sum()) - round(number)
            if elsewhere:
                told = (
                    *told,
                    f"{elsewhere:,} people have values that no published row has, and were left out.",
                )
        return AttackResult(
            self.attack,
            dict(findings),
            (targets_by_belief(posterior.sensitive.name, weights, likeliest),),
            (EXPECTATIONS, *told),
            None if knowledge is None else posterior.guesses(knowledge),
        )

    def posterior(self, release: Release, knowledge: Knowledge | None = None) -> LinkingPosterior:
        """What the attacker believes about every combination of quasi-identifiers."""
        law = release.law
        if not isinstance(law, PerturbedRows):
            raise ParameterError(
                f"linking works on releases with the law {' or '.join(self.laws)}, this one has "
                f"{release.manifest.law['law']}. Choose another attack.",
                parameter="attack",
            )
        sensitive = release.schema.sensitive(
            self.sensitive, parameter="sensitive", advice="Name the one to infer in sensitive."
        ).name
        names = self._known(release, knowledge, sensitive)
        # Quasi-identifiers that are published as they are come first: of these only what occurs is kept.
        names = tuple(sorted(names, key=lambda name: name in law.distortions))
        number_of_exact = sum(name not in law.distortions for name in names)
        joint = (*names, sensitive)
        attributes = release.schema.select(joint)
        matrices = [law.distortions[name].on_axis if name in law.distortions else None for name in joint]
        exact, published = occupied_groups(release.count_occupied(joint), number_of_exact)
        axes = [None, *matrices[number_of_exact:]] if number_of_exact else matrices
        # Which published rows are held out must not change from run to run; it protects nobody.
        generator = np.random.default_rng(0)
        if self.smoothing is None:
            prior = fit_groups(published, axes, generator, codes=exact)
        else:
            prior = pooled_counts(published, axes, self.smoothing)
        if math.prod(each.size for each in attributes) <= LARGEST_READ:
            whole = law.consistent(release, Tabulation(by=joint), feasibility=self.feasibility)
            whole = whole.reshape([each.size for each in attributes])
            read = whole if exact is None else whole[tuple(exact.T)]
        else:
            read = pooled_counts(published, axes, NOBODY)
        return LinkingPosterior(attributes, axes, published, prior, read, exact)

    def _known(self, release: Release, knowledge: Knowledge | None, sensitive: str) -> tuple[str, ...]:
        if self.quasi_identifiers is not None:
            names = self.quasi_identifiers
        elif knowledge is not None:
            names = knowledge.schema.names
        else:
            names = tuple(each.name for each in release.schema.with_role(Role.QUASI_IDENTIFIER))
        names = tuple(name for name in names if name != sensitive)
        if not names:
            raise ParameterError(
                "the attacker knows no attribute to link by. Name some in quasi_identifiers, or give outside "
                "records that share attributes with the release.",
                parameter="quasi_identifiers",
            )
        return names


@dataclass(frozen=True, eq=False)
class LinkingPosterior:
    """Beliefs about the sensitive value of people with each combination of quasi-identifiers.

    Parameters
    ----------
    attributes
        The quasi-identifiers, then the sensitive attribute: one for each axis.
    matrices
        What each axis was perturbed by.
    published
        Counts of published rows.
    prior
        Counts in proportion to which rows are believed to have been drawn.
    reconstructed
        Feasible estimates of the true counts.
    exact
        ``(groups, attributes)``: codes of the combinations of the first attributes that occur, which were not
        perturbed and share the first axis; None where every attribute has an axis of its own.
    """

    attributes: tuple[Attribute, ...]
    matrices: list[AxisMatrix]
    published: Floats
    prior: Floats
    reconstructed: Floats
    exact: Integers | None = None

    @property
    def sensitive(self) -> Attribute:
        """The attribute that is inferred."""
        return self.attributes[-1]

    @cached_property
    def linked(self) -> Floats:
        """Expected number of published rows that truly belong to each cell, by Bayes row by row."""
        return linked_counts(self.published, self.matrices, self.prior)

    @cached_property
    def beliefs(self) -> Floats:
        """Probability of each sensitive value given the quasi-identifiers, by linking rows.

        The target is a row of this very table, so the beliefs are shares of its expected rows: where nothing was
        perturbed they are the group's shares, and the prior has no say.
        """
        return shares_with_overall(self.linked, NOBODY)

    @cached_property
    def read(self) -> Floats:
        """The same, read off the reconstructed distribution."""
        return shares_with_overall(self.reconstructed, NOBODY)

    @property
    def link_probabilities(self) -> Floats:
        """Probability that a row picked by its posterior weight is the target's own, by group.

        The target's row, published as b, is picked with probability ``P[a, b] / lambda_b`` over the sum of
        these weights, which is 1 for each of the N rows over pi_a; on average ``rec(a) / (N pi_a)``.
        """
        groups = self.prior.sum(axis=-1)
        recovered = recovery_probabilities(groups, self.matrices[:-1])
        # A group estimated below one row still has the target in it.
        return np.asarray(recovered / np.maximum(groups, 1))

    def targets(self, knowledge: Knowledge | None) -> Floats:
        """How many targets each group has: outside records, or everybody as far as estimated."""
        names = [each.name for each in self.attributes[:-1]]
        if knowledge is None:
            return np.asarray(self.prior.sum(axis=-1))
        missing = [name for name in names if name not in knowledge.schema]
        if missing:
            raise ParameterError(
                f"the outside records have no {missing[0]!r}, which targets are to be linked by. "
                "Leave it out of quasi_identifiers.",
                parameter="quasi_identifiers",
            )
        occupied = knowledge.occupied(names)
        groups, is_published = self._places(occupied.codes)
        weights = np.zeros(self.prior.shape[:-1])
        np.add.at(weights, tuple(each[is_published] for each in groups), occupied.counts[is_published])
        return weights

    def guesses(self, knowledge: Knowledge) -> PeopleGuesses:
        """For the people of each combination in the outside records the likeliest value, and the belief in it."""
        occupied = knowledge.occupied([each.name for each in self.attributes[:-1]])
        groups, is_published = self._places(occupied.codes)
        beliefs = self.beliefs[groups]
        columns: dict[str, Sequence[Cell]] = {
            each.name: [each.labels[code] for code in codes]
            for each, codes in zip(occupied.attributes, occupied.codes, strict=True)
        }
        labels = self.sensitive.labels
        columns["records"] = occupied.counts.tolist()
        columns[f"guessed {self.sensitive.name}"] = [
            labels[code] if found else ""
            for code, found in zip(beliefs.argmax(axis=-1), is_published, strict=True)
        ]
        columns["probability"] = [
            float(belief) if found else ""
            for belief, found in zip(beliefs.max(axis=-1), is_published, strict=True)
        ]
        return PeopleGuesses(columns)

    def likeliest(self, codes: Mapping[str, npt.NDArray[Any]]) -> Integers:
        """For each target the likeliest sensitive code; ``codes`` holds its quasi-identifiers."""
        return np.asarray(self.beliefs[self._groups(codes)].argmax(axis=-1))

    def drawn(self, codes: Mapping[str, npt.NDArray[Any]], noise: NoiseSource) -> npt.NDArray[Any]:
        """For each target a sensitive code drawn from the beliefs."""
        groups = np.ravel_multi_index(self._groups(codes), self.published.shape[:-1])
        present, given = np.unique(groups, return_inverse=True)
        rows = self.beliefs.reshape(-1, self.sensitive.size)[present]
        sampler = CategorySampler.from_probabilities(rows)
        return noise.named("draw from beliefs").stream(0).categories(sampler, given)

    def _groups(self, codes: Mapping[str, npt.NDArray[Any]]) -> tuple[npt.NDArray[Any], ...]:
        groups, is_published = self._places([np.asarray(codes[each.name]) for each in self.attributes[:-1]])
        if not is_published.all():
            raise DataError(
                f"{np.count_nonzero(~is_published):,} targets have quasi-identifiers that no published row has, so they "
                "are not in this table. Leave them out."
            )
        return groups

    def _places(self, codes: Sequence[npt.NDArray[Any]]) -> tuple[tuple[Integers, ...], Booleans]:
        """Place of each combination of quasi-identifiers on the axes, and whether it can be in the table."""
        every = [np.asarray(each, dtype=np.int64) for each in codes]
        if self.exact is None:
            return tuple(every), np.ones(every[0].shape, dtype=bool)
        number = self.exact.shape[1]
        places = places_among(np.stack(every[:number], axis=1), self.exact)
        return (np.maximum(places, 0), *every[number:]), np.asarray(places >= 0)
