"""One design on one split of the rows: published in memory, attacked, asked."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sfumato.chance.randomness import NoiseSource
from sfumato.compare.answers import measure_answers
from sfumato.compare.designs import Candidate
from sfumato.compare.distances import measure_distances
from sfumato.compare.models import measure_models
from sfumato.compare.questions import Workload
from sfumato.custody.audit.classifier import CLASSIFIER, train_classifier
from sfumato.custody.audit.controls import SHARE_HELD_OUT, attack_absent, attack_present
from sfumato.custody.audit.measuring import (
    BRIER,
    LINKABLE,
    MEANINGS,
    TOP,
    Side,
    Trial,
    measure_rare,
    score_side,
)
from sfumato.custody.audit.people import EXACT_PUBLIC, people_of
from sfumato.custody.audit.raw import raw_release
from sfumato.custody.audit.scores import rare_values
from sfumato.custody.publish import admitted, prepare
from sfumato.data.coded_rows import CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.errors import SfumatoError
from sfumato.laws.believing.targets import places_among
from sfumato.release import Release
from sfumato.release.in_memory import hold_release
from sfumato.values.arrays import Floats
from sfumato.values.selection import Tabulation

RARE_WITH, RARE_WITHOUT = "rare found, with", "rare found, without"
SURE_RARE_WITH, SURE_RARE_WITHOUT = "rare found surely, with", "rare found surely, without"
"""Shares of holders of rare values found at a precision of one half, and of nine tenths."""

LINKABLE_WITH, LINKABLE_WITHOUT = "most linkable, with", "most linkable, without"
"""Numbers of people that the shares among the most linkable are of."""

PROVED_OUTSIDE = "proved outside"
"""Share of people held out whom the published public values prove to be outside."""


@dataclass(frozen=True)
class Task:
    """Which design on which split, and whether a classifier attacks it besides."""

    candidate: Candidate
    repeat: int
    seed: int
    has_classifier: bool = False


@dataclass(frozen=True)
class Asked:
    """What every design is asked.

    Parameters
    ----------
    sensitive
        The attribute attacked.
    workload
        Questions.
    tables
        Sets of attributes whose tables are held against the true ones.
    is_each_told
        Every table by itself, besides the means: somebody named them.
    """

    sensitive: str
    workload: Workload
    tables: tuple[tuple[str, ...], ...]
    is_each_told: bool = False


@dataclass(frozen=True)
class Outcome:
    """What was measured, or why nothing was.

    Parameters
    ----------
    label, repeat
        Design and split.
    refusal
        Why the design could not be published; empty where it was.
    present, absent
        By score, with the person in the table and without, by the attacker who does best at it.
    classifier
        The two scores of the classifier, with and without, where it was run.
    numbers
        Everything else, by name: answers, distances, models, rare values.
    seconds
        Of processor time.
    """

    label: str
    repeat: int
    refusal: str
    present: dict[str, float]
    absent: dict[str, float]
    classifier: dict[str, float]
    numbers: dict[str, float]
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def run_task(task: Task, table: PrivateTable, asked: Asked) -> Outcome:
    """Publish, attack and ask one design on one split.

    Splits follow from the seed and the repeat alone: they are the same for every design, so that designs are compared on
    the same people.
    """
    started = time.process_time()
    estimator = task.candidate.estimator
    generator = np.random.default_rng([task.seed, task.repeat])
    kept, held_out = split_rows(table, generator)
    noise = NoiseSource.seeded(task.seed).named(f"{task.candidate.label}, split {task.repeat}")
    try:
        release = _published(kept, task.candidate, noise)
        if estimator and estimator not in release.law.estimators:
            # Refused with the names that there are.
            release.law.estimate_by(estimator, release, Tabulation())
    except SfumatoError as error:
        spent = time.process_time() - started
        return Outcome(task.candidate.label, task.repeat, str(error), {}, {}, {}, {}, spent)
    members, outside = (people_of(each, release, asked.sensitive) for each in (kept, held_out))
    trial = Trial(
        attack_present([release], members, generator),
        attack_absent([release], members, outside, generator),
        is_paired=False,
    )
    margin = members.margin()
    numbers = {
        **measure_answers(release, kept, asked.workload, estimator=estimator),
        **measure_distances(
            release, kept, asked.tables, estimator=estimator, is_each_told=asked.is_each_told
        ),
        **measure_models(release, members, outside),
        **_rare(trial, margin),
        LINKABLE_WITH: float(trial.present.is_linkable.sum()),
        LINKABLE_WITHOUT: float(trial.absent.is_linkable.sum()),
    }
    if release.manifest.law["law"] in EXACT_PUBLIC or not task.candidate.method:
        places = places_among(outside.rows, np.unique(members.rows, axis=0))
        numbers[PROVED_OUTSIDE] = float((places < 0).mean())
    return Outcome(
        task.candidate.label,
        task.repeat,
        "",
        _best(score_side(trial.present, margin, 0)),
        _best(score_side(trial.absent, margin, 0)),
        _classified(release, trial, margin, task) if task.has_classifier else {},
        numbers,
        time.process_time() - started,
    )


def split_rows(table: PrivateTable, generator: np.random.Generator) -> tuple[PrivateTable, PrivateTable]:
    """Rows that are published, and a fifth that is held out."""
    rows = table.source
    assert isinstance(rows, CodedRows)
    order = generator.permutation(rows.number_of_rows)
    cut = int(np.ceil(SHARE_HELD_OUT * len(order)))
    kept, held_out = (
        PrivateTable(rows.take(np.sort(part)), table.schema, engine=table.engine)
        for part in (order[cut:], order[:cut])
    )
    return kept, held_out


def _rare(trial: Trial, margin: Floats) -> dict[str, float]:
    """Shares of holders of rare values found; none where no value is rare."""
    found = measure_rare((trial,), rare_values(margin))
    names = ((RARE_WITH, RARE_WITHOUT), (SURE_RARE_WITH, SURE_RARE_WITHOUT))
    shares = [(each.present.recall, each.absent.recall) for each in found] or [(float("nan"),) * 2] * 2
    return dict(zip(sum(names, ()), sum(shares, ()), strict=True))


def _classified(release: Release, trial: Trial, margin: Floats, task: Task) -> dict[str, float]:
    """Scores of the classifier by itself; it sees both sides from one fit."""
    trained = train_classifier(release, trial.present.people, seed=task.seed + task.repeat)
    found = {}
    for name, side in (("with", trial.present), ("without", trial.absent)):
        beliefs = {CLASSIFIER: trained.beliefs(side.people)}
        scores = score_side(Side(side.people, beliefs, side.is_drawn, side.is_linkable), margin, 0)
        for score in (TOP, LINKABLE):
            found[f"{score}, {name}"] = scores[score][CLASSIFIER].mean
    return found


def _published(table: PrivateTable, candidate: Candidate, noise: NoiseSource) -> Release:
    if not candidate.method:
        return raw_release(table)
    publication, describe = prepare(table, admitted(table, candidate.design()), noise)
    return hold_release(publication.tables, describe, read=table.scan, noise=noise)


def _best(scores: dict[str, dict[str, Any]]) -> dict[str, float]:
    """Each score of the attacker who does best at it."""
    found = {}
    for name in MEANINGS:
        means: Floats = np.array([each.mean for each in scores[name].values()])
        known = means[~np.isnan(means)]
        best = float(known.max()) if known.size else float("nan")
        found[name] = -best if name == BRIER else best
    return found
