"""One design on one split of the rows: published in memory, attacked, asked."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sfumato.chance.randomness import NoiseSource
from sfumato.compare.designs import Candidate
from sfumato.compare.workload import Question, measure_errors
from sfumato.custody.audit.controls import SHARE_HELD_OUT, attack_absent, attack_present
from sfumato.custody.audit.measuring import BRIER, MEANINGS, Trial, measure_rare, score_side
from sfumato.custody.audit.people import people_of
from sfumato.custody.audit.raw import raw_release
from sfumato.custody.audit.scores import rare_values
from sfumato.custody.publish import admitted, prepare
from sfumato.data.coded_rows import CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.errors import SfumatoError
from sfumato.release import Release
from sfumato.release.in_memory import hold_release
from sfumato.values.arrays import Floats


@dataclass(frozen=True)
class Task:
    """Which design on which split."""

    candidate: Candidate
    repeat: int
    seed: int


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
        By score, with the person in the table and without.
    rare_present, rare_absent
        Shares of holders of rare values found at a precision of one half.
    error, refused, covered
        Of the workload.
    seconds
        Of processor time.
    """

    label: str
    repeat: int
    refusal: str
    present: dict[str, float]
    absent: dict[str, float]
    rare_present: float
    rare_absent: float
    error: float
    refused: float
    covered: float
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def run_task(task: Task, table: PrivateTable, sensitive: str, questions: tuple[Question, ...]) -> Outcome:
    """Publish, attack and ask one design on one split.

    Splits follow from the seed and the repeat alone: they are the same for every design, so that designs are compared on
    the same people.
    """
    started = time.process_time()
    generator = np.random.default_rng([task.seed, task.repeat])
    rows = table.source
    assert isinstance(rows, CodedRows)
    order = generator.permutation(rows.number_of_rows)
    cut = int(np.ceil(SHARE_HELD_OUT * len(order)))
    kept, held_out = (
        PrivateTable(rows.take(np.sort(part)), table.schema, engine=table.engine)
        for part in (order[cut:], order[:cut])
    )
    noise = NoiseSource.seeded(task.seed).named(f"{task.candidate.label}, split {task.repeat}")
    try:
        release = _published(kept, task.candidate, noise)
    except SfumatoError as error:
        nothing = float("nan")
        return Outcome(
            task.candidate.label,
            task.repeat,
            str(error),
            {},
            {},
            *(nothing,) * 5,
            time.process_time() - started,
        )
    members, outside = (people_of(each, release, sensitive) for each in (kept, held_out))
    trial = Trial(
        attack_present([release], members, generator),
        attack_absent([release], members, outside, generator),
        is_paired=False,
    )
    margin = members.margin()
    rare = measure_rare((trial,), rare_values(margin))
    held = kept.source
    assert isinstance(held, CodedRows)
    errors = measure_errors(release, held, questions)
    return Outcome(
        task.candidate.label,
        task.repeat,
        "",
        _best(score_side(trial.present, margin, 0)),
        _best(score_side(trial.absent, margin, 0)),
        rare[0].present.recall if rare else float("nan"),
        rare[0].absent.recall if rare else float("nan"),
        errors.error,
        errors.refused,
        errors.covered,
        time.process_time() - started,
    )


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
