"""The attack that applies to every release: the posterior of a person's value under the law."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.arrays import Floats, Integers
from sfumato.attacks.base import Attack, AttackResult, Knowledge, PeopleGuesses, targets_by_belief
from sfumato.errors import ParameterError
from sfumato.estimates.counts import OccupiedCounts
from sfumato.laws.posterior import Posterior, SharedPrior, Targets
from sfumato.release import Release
from sfumato.schema import Attribute, Role
from sfumato.text import Cell

EXPECTATIONS = (
    "These are the attacker's own expectations; sfumato audit holds them against the private rows, and against people "
    "who are not in the table."
)


class PosteriorBelief(Attack):
    """Believe of a person what the release's law says, given the person's public values.

    Attack
        Before the law is used, the release's own estimates of two-way tables are combined by naive Bayes. Then the law
        says what rows or counts of the person's group add: distortions are inverted within public groups, a bucket's
        values are given to its people in all ways, a class's rows are its composition. Somebody in the table is one of
        the group's rows, and that row is evidence of its own.
    Against whom
        Anyone whose public values are known, in the table or not.
    Weaknesses
        Probabilities are as sure as the model; an audit says how often they are right. Another attack, made for one
        law, may find more.

    References
    ----------
    Guo (2010), section 5.2, and Mothali (2011), chapter 3, for the two laws where it is theirs.
    """

    attack: Literal["posterior"] = "posterior"
    sensitive: str | None = Field(
        default=None, description="attribute to infer; the only sensitive one when not given"
    )
    membership: Literal["in-table", "unknown"] = Field(
        default="in-table", description="whether the targets are known to be in the table"
    )
    threshold: Annotated[float, Field(gt=0, lt=1)] = Field(
        default=0.9, description="belief from which a target counts as exposed"
    )

    title: ClassVar[str] = "posterior belief"
    summary: ClassVar[str] = (
        "Works out, for every law alike, how likely each sensitive value is for somebody with given public values: first "
        "from the release's two-way tables, then from what the law says of the person's own group."
    )
    assumptions: ClassVar[tuple[str, ...]] = (
        "The attacker knows the targets' public values, and whether they are in the table if membership says so.",
        "The attacker has the release with its law, and nothing else about the sensitive attribute.",
    )
    citations: ClassVar[tuple[str, ...]] = (
        "Guo, L. (2010). Randomization based privacy preserving categorical data analysis. UNC Charlotte.",
    )
    laws: ClassVar[tuple[str, ...]] = (
        "bucketed-rows",
        "decoy-rows",
        "generalized-rows",
        "noisy-counts",
        "noisy-rows",
        "perturbed-rows",
        "resampled-rows",
        "sampled-rows",
    )

    @classmethod
    def applies_to(cls, release: Release) -> bool:
        """Any law: the release need only have public attributes, and a sensitive one."""
        return bool(public_attributes(release)) and bool(release.schema.with_role(Role.SENSITIVE))

    def run(self, release: Release, knowledge: Knowledge | None = None) -> AttackResult:
        """What the attacker believes of the people of some records, or of everybody in published rows."""
        sensitive = release.schema.sensitive(
            self.sensitive, parameter="sensitive", advice="Name the one to infer in sensitive."
        )
        people = self._people(release, knowledge, sensitive)
        targets = Targets.of(
            people.attributes,
            sensitive,
            {each.name: codes for each, codes in zip(people.attributes, people.codes, strict=True)},
            are_members=self.membership == "in-table",
        )
        prior, posterior = believe(release, targets)
        beliefs, weights = posterior.of_targets(), people.counts.astype(np.float64)
        surest = beliefs.max(axis=1)
        before = prior.at(targets.names, targets.combinations)[targets.index]
        findings: dict[str, Cell] = {
            "targets": int(weights.sum()),
            "expected right, names the likeliest value": _mean(surest, weights),
            "expected right, reads two-way tables only": _mean(before.max(axis=1), weights),
            "expected right, knows only the overall distribution": float(prior.margin.max()),
            f"share of targets with a belief of {self.threshold:.4g} or more": _mean(
                (surest >= self.threshold).astype(np.float64), weights
            ),
        }
        told = () if knowledge is None else knowledge.sentences(targets.names)
        refused = (
            (f"The release leaves open how {', '.join(prior.refused)} go with {sensitive.name}.",)
            if prior.refused
            else ()
        )
        return AttackResult(
            self.attack,
            findings,
            (targets_by_belief(sensitive.name, weights, surest),),
            (EXPECTATIONS, *refused, *told),
            None if knowledge is None else _guesses(people, sensitive, beliefs),
        )

    def _people(self, release: Release, knowledge: Knowledge | None, sensitive: Attribute) -> OccupiedCounts:
        """Combinations of public values of the targets, and how many people have each."""
        names = [each.name for each in public_attributes(release) if each.name != sensitive.name]
        if not names:
            raise ParameterError(
                "the release has no public attribute that people are known by, so nothing can be inferred of single people. "
                "Attack another release.",
                parameter="release",
            )
        if knowledge is not None:
            names = [name for name in names if name in knowledge.schema]
            if not names:
                raise ParameterError(
                    "the outside records have no attribute that people are known by. Give some with quasi-identifiers of the release.",
                    parameter="knowledge",
                )
            return knowledge.occupied(names)
        if not rows_tell(release, names):
            raise ParameterError(
                "the release has no rows with everybody's public values, so it does not say whom to attack. Give outside "
                "records as knowledge.",
                parameter="knowledge",
            )
        return release.count_occupied(names)


def public_attributes(release: Release) -> tuple[Attribute, ...]:
    """What an attacker is taken to know of people: the quasi-identifiers that questions can be asked in."""
    return release.schema.with_role(Role.QUASI_IDENTIFIER)


def rows_tell(release: Release, names: Sequence[str]) -> bool:
    """Whether the published rows show everybody's public values as they are."""
    rows = release.tables[0].schema_of_attributes
    changed = release.law.changed_attributes
    has_counts = bool(release.tables[0].integers) and release.manifest.law["law"] != "bucketed-rows"
    return not has_counts and all(
        name in rows and rows[name].size == release.schema[name].size and name not in changed
        for name in names
    )


def believe(release: Release, targets: Targets) -> tuple[SharedPrior, Posterior]:
    """What somebody believes of people by two-way tables, and by the law."""
    prior = release.law.prior(release, targets)
    return prior, release.law.posterior(release, targets, prior)


def _mean(numbers: Floats, weights: Floats) -> float:
    return float(numbers @ weights / max(weights.sum(), 1.0))


def _guesses(people: OccupiedCounts, sensitive: Attribute, beliefs: Floats) -> PeopleGuesses:
    columns: dict[str, Sequence[Cell]] = {
        each.name: [each.labels[code] for code in codes]
        for each, codes in zip(people.attributes, people.codes, strict=True)
    }
    guessed: Integers = beliefs.argmax(axis=1)
    columns["records"] = people.counts.tolist()
    columns[f"guessed {sensitive.name}"] = [sensitive.labels[code] for code in guessed]
    columns["probability"] = beliefs.max(axis=1).tolist()
    return PeopleGuesses(columns)
