"""Many releases of tables redrawn from a known population, and what each of them answered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import get_args

import numpy as np

from sfumato.chance.randomness import NoiseSource
from sfumato.custody.publish import prepare
from sfumato.data.private_table import PrivateTable
from sfumato.errors import SfumatoError
from sfumato.laws.base import Target
from sfumato.methods.base import Design
from sfumato.release.in_memory import hold_release
from sfumato.release.release import Release
from sfumato.testing.memory import as_asked, in_memory, redrawn
from sfumato.testing.questions import Answers, Asked, Block, Kind, blocks_of
from sfumato.values.arrays import Floats
from sfumato.values.certainty import Certainty

TARGETS: tuple[Target, ...] = get_args(Target)

ROUNDING = 1e-6
"""How far a number may be from the truth, as a share of it, and still be called the truth."""


@dataclass(frozen=True, eq=False)
class Record:
    """What became of some questions about one target, release by release.

    Every array is ``(releases, questions)``; where a release refused, it holds no number.

    Parameters
    ----------
    kind, target, labels
        What was asked.
    truths, errors, standard_errors
        True numbers, estimates less true numbers, and what was stated.
    covered
        1 where the 95 % interval held the truth, 0 where it did not.
    false_claims
        1 where a number that is called exact was not the truth, where the truth lay outside bounds that are called
        certain, or where an error of 0 was stated of a number that is not called exact; 0 elsewhere.
    refusal
        What the release said when it refused; empty when none did.
    """

    kind: Kind
    target: Target
    labels: tuple[str, ...]
    truths: Floats
    errors: Floats
    standard_errors: Floats
    covered: Floats
    false_claims: Floats
    refusal: str = ""

    @property
    def is_answered(self) -> bool:
        """Whether some release answered."""
        return bool(np.isfinite(self.errors).any())


@dataclass(frozen=True, eq=False)
class Trials:
    """What many releases of one design answered.

    Parameters
    ----------
    releases
        How many were made.
    records
        What was answered.
    faults
        What a law raised instead of answering or refusing, in sentences.
    unpublished
        Why tables were not published, for each that was not.
    """

    releases: int
    records: tuple[Record, ...]
    faults: tuple[str, ...] = ()
    unpublished: tuple[str, ...] = ()

    def pooled(self, kind: Kind, target: Target) -> list[Record]:
        """The records of one kind about one target."""
        return [each for each in self.records if (each.kind, each.target) == (kind, target)]


Make = Callable[[PrivateTable, Design, NoiseSource], Release]
"""Publishes a table in memory by a design, and opens what was published."""


def made_in_memory(table: PrivateTable, design: Design, noise: NoiseSource) -> Release:
    """A release that is never written."""
    publication, describe = prepare(table, design, noise)
    return hold_release(publication.tables, describe, read=table.scan, noise=noise)


def run_trials(
    design: Design, table: PrivateTable, *, releases: int, seed: int, make: Make = made_in_memory
) -> Trials:
    """Draw tables from the rows of a table, publish each, and ask every release the same questions.

    The table is the population: its counts are what answers about the population are held against, and the
    counts of the redrawn tables what answers about the table are.
    """
    population = in_memory(table)
    noise = NoiseSource.seeded(seed)
    gathered: dict[tuple[int, Target], _Gathering] = {}
    blocks: tuple[Block, ...] = ()
    unpublished: list[str] = []
    faults: dict[str, None] = {}
    for number in range(releases):
        fresh = noise.named(f"release {number}")
        drawn = redrawn(population, fresh)
        try:
            release = make(drawn, design, fresh)
        except SfumatoError as refusal:
            unpublished.append(str(refusal))
            continue
        truths = {
            "table": as_asked(drawn, release.schema),
            "population": as_asked(population, release.schema),
        }
        blocks = blocks or blocks_of(release.schema, truths["population"])
        for target in TARGETS:
            asked = Asked(release, target)
            for place, block in enumerate(blocks):
                # By its place: a block is hashed by all that its schema holds.
                if (place, target) not in gathered:
                    gathered[place, target] = _Gathering(releases, block, target)
                found = gathered[place, target]
                try:
                    found.take(number, block.ask(asked), found.truth(truths[target]))
                except SfumatoError as refusal:
                    found.refusal = str(refusal)
                except Exception as fault:  # noqa: BLE001 - whatever a stranger's law raises is a finding
                    faults[f"{block.labels[0]}: {type(fault).__name__}: {fault}"] = None
    return Trials(
        releases,
        tuple(each.record() for each in gathered.values()),
        tuple(faults),
        tuple(unpublished),
    )


class _Gathering:
    """Answers as they come in, a row of every array for each release."""

    def __init__(self, releases: int, block: Block, target: Target) -> None:
        self.block = block
        self.target = target
        self.refusal = ""
        self.arrays = np.full((5, releases, len(block.labels)), np.nan)
        self._told: tuple[PrivateTable, Floats] | None = None

    def truth(self, table: PrivateTable) -> Floats:
        """The true numbers of a table; those of the population, which every release is held against, are counted once."""
        if self._told is None or self._told[0] is not table:
            self._told = table, self.block.truth(table)
        return self._told[1]

    def take(self, release: int, answers: Answers, truth: Floats) -> None:
        slack = ROUNDING * np.maximum(1, np.abs(truth))
        is_inside = (answers.low - slack <= truth) & (truth <= answers.high + slack)
        # What is exact lies between itself and itself.
        is_false = (truth < answers.least - slack) | (answers.most + slack < truth)
        is_false |= (answers.standard_errors == 0) & (answers.certainty < Certainty.EXACT)
        # Without a standard error there is no interval either.
        covered = np.where(np.isfinite(answers.standard_errors), is_inside, np.nan)
        # The error of an assumption is no chance error, and a standard error says nothing about its size.
        is_assumed = answers.is_assumed | (answers.certainty == Certainty.OPEN)
        stated = np.where(is_assumed, np.nan, answers.standard_errors)
        errors = answers.values - truth
        # The last digits of floats are no bias.
        errors[np.abs(errors) <= slack] = 0
        self.arrays[:, release] = (truth, errors, stated, covered, is_false)
        # A share of an empty group is no number, and nothing can be held against it.
        self.arrays[1:, release, ~np.isfinite(truth)] = np.nan

    def record(self) -> Record:
        truths, errors, standard_errors, covered, false_claims = self.arrays
        return Record(
            self.block.kind,
            self.target,
            self.block.labels,
            truths,
            errors,
            standard_errors,
            covered,
            false_claims,
            self.refusal,
        )
