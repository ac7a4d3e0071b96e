"""The audit: every attack that applies to a release, compared with the truth and with people who are not in it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from sfumato.attacks import ATTACKS
from sfumato.attacks.base import AttackResult
from sfumato.attacks.small_sums import SmallSum
from sfumato.custody.audit.attackers import (
    LAW,
    Controlled,
    attack_present,
    control_trials,
    require_classifier,
)
from sfumato.custody.audit.calibration import brier_parts, reliability
from sfumato.custody.audit.law_checks import check_against_truth
from sfumato.custody.audit.people import (
    EXACT_PUBLIC,
    People,
    people_of,
    refuse_other_rows,
    refuse_the_same_people,
    refuse_unlike_releases,
    split_caveats,
)
from sfumato.custody.audit.result import DRAWN, AttributeAudit, AuditResult, LawCheck, Skipped, check_caps
from sfumato.custody.audit.scores import (
    FEWEST_TARGETS,
    MEANINGS,
    NINE,
    TOP,
    Membership,
    Side,
    measure,
    measure_membership,
    measure_rare,
    rare_values,
    recalibrated,
    score_side,
    worst_groups,
)
from sfumato.data.engine import CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.errors import DataError, ParameterError, TooLargeError
from sfumato.methods.splu_gen.law import DecoyRows
from sfumato.randomness.streams import NoiseSource
from sfumato.release import Release
from sfumato.release.verification import Check, judged, verify_release
from sfumato.schema import Role
from sfumato.text import counted

# --------------------------------------------------------------------------------------------------
# Small sums of a release, held against the truth: how often the answers about few people are right.


TRUTH = "The drawing was repeated on the private rows: the numbers are about this table, and private."


def audit_small_sums(
    release: Release, table: PrivateTable, *, attack: SmallSum | None = None
) -> AttackResult:
    """Repeat the drawing on the private rows themselves, and ask about every small concept.

    What an attacker can only do on rows like these, the custodian does on the rows.

    Parameters
    ----------
    release
        Of a method with decoys.
    table
        What it was published from.
    attack
        With its parameters; the defaults when not given.

    Raises
    ------
    ParameterError
        When the release has no decoys, or the table is not the one it was published from.

    Examples
    --------
    >>> from sfumato import SPLUGen
    >>> from sfumato.testing import release_in_memory, sample_table
    >>> table = sample_table(300)
    >>> release = release_in_memory(table, SPLUGen(gamma=2, largest_small_count=3))
    >>> sorted(audit_small_sums(release, table, attack=SmallSum(trials=10)).findings)
    ['Theorem 4 for job', 'trials']
    """
    if not isinstance(release.law, DecoyRows):
        raise ParameterError(
            "small sums are audited of releases with decoys, and this one has none. Publish by splu-gen.",
            parameter="release",
        )
    schema = table.schema.publishable
    if schema.names != release.schema.names:
        raise ParameterError(
            "the table has other attributes than the release. Give the one that was published from.",
            parameter="table",
        )
    result = (attack or SmallSum()).simulate(release.law, CodedRows.gathered(schema, table.scan()))
    return dataclasses.replace(
        result,
        tables=tuple(dataclasses.replace(each, is_private=True) for each in result.tables),
        caveats=(*result.caveats, TRUTH),
    )


# --------------------------------------------------------------------------------------------------
# Audits: every attack that applies to a release, held against the truth and against people who are not in it.


FAMILY_LEVEL = 1e-4
"""Probability that an audit says "refuted" of a release that is what it says, over everything tested."""

REPEATS = 5
"""Releases of the design, where it must be published again for a control."""

SCORED = ("posterior", "anatomy-naive-bayes")
"""Attacks whose beliefs about single people are scored."""

REASONS = {
    "linking": "its beliefs are those of posterior, which leaves the own row out besides",
    "averaging": "give several releases of the table: they are then attacked together",
    "small-sum": "repeats the drawing; audit_small_sums does that on the private rows",
    "outside-linking": "finds rows, and says nothing of values beyond their class, which posterior does",
    "sparse-linking": "finds units by some of their items; rows of one kind have none",
    "group-frequency": "states how well groups are known, which posterior turns into beliefs about people",
    "scale-factor": "states the size of samples, and no person's value",
    "ratio": "states how well shares of groups are known, which posterior turns into beliefs about people",
}
"""Why an attack that applies is not scored by itself."""


def audit(
    release: Release | Sequence[Release],
    table: PrivateTable,
    *,
    control: PrivateTable | None = None,
    repeats: int = REPEATS,
    classifier: bool = False,
    seed: int | None = None,
) -> AuditResult:
    """Attack a release as everybody can, and hold what is believed against the truth. Private.

    Parameters
    ----------
    release
        What was published, or several releases of one table, which are then attacked together.
    table
        The private rows it was published from.
    control
        People like those in the table who are known not to be in it. Without them everybody is compared with what would
        be believed had their own row been left out, where the law allows it; else the design is published again without
        a fifth of the rows, and the figures are about the design.
    repeats
        Releases of the design where it is published again; at least 3.
    classifier
        Train a classifier on what was released as well, which needs scikit-learn.
    seed
        Repeats splits and draws, for tests; nothing is published.

    Raises
    ------
    MissingExtraError
        When a classifier is asked for without scikit-learn.
    DataError
        When the table has other attributes, categories or rows than the release.

    Examples
    --------
    >>> from sfumato import RandomizedResponse
    >>> from sfumato.testing import release_in_memory, sample_table
    >>> table = sample_table(800)
    >>> audit(release_in_memory(table, RandomizedResponse(retention=0.5), seed=1), table, seed=1)
    AuditResult(randomized-response: nothing refuted; job)
    """
    releases = (release,) if isinstance(release, Release) else tuple(release)
    if not releases:
        raise ParameterError("there is no release to audit. Give one, or several.", parameter="release")
    if repeats < 3:
        raise ParameterError(
            f"repeats must be 3 or more, got {repeats}: fewer give no interval.", parameter="repeats"
        )
    # Who has all of them knows people by what the one with the most public attributes shows.
    releases = tuple(sorted(releases, key=lambda each: -len(each.schema.with_role(Role.QUASI_IDENTIFIER))))
    refuse_unlike_releases(releases)
    if classifier:
        require_classifier()
    noise = NoiseSource.from_operating_system() if seed is None else NoiseSource.seeded(seed)
    generator = np.random.default_rng(seed)
    checks = [check for each in releases for check in _own_checks(each)]
    attributes: list[AttributeAudit] = []
    tested: list[LawCheck] = []
    skipped: list[Skipped] = [each for one in releases for each in _unscored(one)]
    names = [each.name for each in releases[0].schema.with_role(Role.SENSITIVE)]
    unscored = _unscored_people(table, releases)
    if unscored is not None:
        skipped.append(unscored)
        names = []
    for name in names:
        people = people_of(table, releases[0], name)
        for each in releases:
            refuse_other_rows(each, people)
            found = check_against_truth(each, people, table)
            tested += [LawCheck(one.about, one.p_value, one.sentence) for one in found]
            if not found:
                skipped.append(
                    Skipped(f"the law of {each.method}", "no test of it against the truth is known")
                )
        outside = None if control is None else _outside(control, releases[0], people)
        try:
            people.targets(are_members=True)
        except TooLargeError as error:
            skipped.append(Skipped(f"beliefs about {name}", str(error)))
            continue
        present = attack_present(releases, people, generator)
        controlled = control_trials(
            releases,
            table,
            people,
            present,
            outside,
            repeats=repeats,
            generator=generator,
            noise=noise,
            has_classifier=classifier,
        )
        attributes.append(_scored(releases, people, present, controlled, generator))
        if len(releases) == 1:
            margin = people.margin()
            tested += check_caps(releases[0].guarantees, attributes[-1].measured, controlled.trials, margin)
        skipped += _left_out(controlled, releases, name, classifier=classifier)
    return AuditResult(
        tuple(each.method for each in releases),
        tuple(checks),
        tuple(tested),
        tuple(attributes),
        tuple(dict.fromkeys(skipped)),
        FAMILY_LEVEL,
        _caveats(table, releases),
    )


def _outside(control: PrivateTable, release: Release, people: People) -> People:
    """People given as control; too few of them, or the table itself, are refused."""
    outside = people_of(control, release, people.sensitive.name)
    if outside.number < FEWEST_TARGETS:
        raise DataError(
            f"the control has {counted(outside.number, 'row')}, too few for an interval: at least {FEWEST_TARGETS} are needed. "
            "Give more people who are not in the table, or none.",
            number_of_rows=outside.number,
        )
    refuse_the_same_people(people, outside)
    return outside


def _scored(
    releases: Sequence[Release],
    people: People,
    present: Side,
    controlled: Controlled,
    generator: np.random.Generator,
) -> AttributeAudit:
    margin = people.margin()
    rare = rare_values(margin)
    found = measure(controlled.trials, margin)
    top = found[TOP].attackers
    own = score_side(present, margin, 0)
    here = {
        name: max(each.mean for each in own[name].values() if not np.isnan(each.mean))
        if any(not np.isnan(each.mean) for each in own[name].values())
        else float("nan")
        for name in MEANINGS
    }
    beliefs = present.beliefs[LAW][present.is_drawn]
    truth = present.people.truth[present.is_drawn]
    stated, right = beliefs.max(axis=1), beliefs.argmax(axis=1) == truth
    winner = max(own[NINE], key=lambda attacker: own[NINE][attacker].mean)
    sure = recalibrated(present.beliefs[winner], present.people.truth, margin, generator)
    return AttributeAudit(
        attribute=people.sensitive.name,
        control=controlled.control,
        before=float(margin.max(initial=0)),
        measured=found,
        of_this_release=here,
        rare=measure_rare(controlled.trials, rare),
        rare_values=tuple(people.sensitive.labels[code] for code in rare),
        groups=worst_groups(controlled.trials, top),
        reliability=reliability(stated, right).to_table(),
        brier=brier_parts(stated, right),
        membership=_membership(releases, people, controlled),
        exposed=present.people.take(sure.max(axis=1) >= 0.9),
        beliefs=sure[sure.max(axis=1) >= 0.9],
    )


def _membership(releases: Sequence[Release], people: People, controlled: Controlled) -> Membership | None:
    """What is told of who is in the table; None where public values are not published exactly, or nobody outside is at hand."""
    trials = [each for each in controlled.trials if not each.is_paired]
    if not trials or any(each.manifest.law["law"] not in EXACT_PUBLIC for each in releases):
        return None
    of_release = [
        measure_membership(
            people if controlled.is_of_release else each.present.people, each.present, each.absent
        )
        for each in trials
    ]
    return Membership(
        float(np.mean([each.proved_outside for each in of_release])),
        float(np.mean([each.found for each in of_release])),
    )


def _left_out(
    controlled: Controlled, releases: Sequence[Release], name: str, *, classifier: bool
) -> Iterator[Skipped]:
    if not controlled.is_of_release:
        yield Skipped(
            f"comparison of this very release for {name}",
            "a single row cannot be taken out of it; the design was published again instead",
        )
    if not classifier:
        yield Skipped("classifier", "it was not asked for: --classifier trains one, which takes some seconds")
    elif controlled.trials[0].is_paired:
        yield Skipped(
            "classifier",
            "it would have to be trained again without each person; give people outside by --control",
        )
    if len(releases) > 1:
        yield Skipped("proved caps", "promises of several releases together are added up by sfumato ledger")
    if all(each.is_paired for each in controlled.trials):
        yield Skipped("membership", "people outside are needed: give some by --control")


def _own_checks(release: Release) -> Iterator[Check]:
    """What can be checked without the private rows, first."""
    if release.folder is not None:
        yield from verify_release(release.folder, engine=release.engine).checks
        return
    for promise, judgement in judged(release):
        about = f"promise {promise.model_dump()['guarantee']}"
        if judgement is None:
            yield Check(about, "cannot be told", promise.statement)
        else:
            yield Check(about, "holds" if judgement.holds else "broken", judgement.sentence)
    yield from release.self_checks()


def _unscored_people(table: PrivateTable, releases: Sequence[Release]) -> Skipped | None:
    """Why nothing is held against the private rows; None where it can be."""
    if table.schema.rows_drawn_per_unit or any(each.manifest.rows_drawn_per_unit for each in releases):
        return Skipped("the law and beliefs about people, against the private rows", DRAWN)
    has_both = all(releases[0].schema.with_role(role) for role in (Role.SENSITIVE, Role.QUASI_IDENTIFIER))
    if table.schema.long is not None or not has_both:
        return Skipped("beliefs about people", "the release has no public attributes with a sensitive one")
    return None


def _unscored(release: Release) -> Iterator[Skipped]:
    for name, attack in ATTACKS.members.items():
        if name in SCORED:
            continue
        if not attack.applies_to(release):
            yield Skipped(f"attack {name}", f"does not apply to releases of {release.method}")
        else:
            reason = REASONS.get(name, "makes no guess about a person's value that can be scored")
            yield Skipped(f"attack {name}", reason)


def _caveats(table: PrivateTable, releases: Sequence[Release]) -> tuple[str, ...]:
    return (
        "Measured against these attackers on this table; a better attacker would find more.",
        "Computed from the private rows: for your eyes, not for publication.",
        *split_caveats(table.schema),
        *(
            f"A release of {each.method} does not show which rows it was made from: held against other rows it is refuted."
            for each in releases
            if each.manifest.law["law"] not in EXACT_PUBLIC
        ),
    )
