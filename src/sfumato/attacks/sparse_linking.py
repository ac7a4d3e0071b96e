"""Sparse linking: find a rater by a few ratings that are known of him."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from sfumato.attacks.base import Attack, AttackResult
from sfumato.data.knowledge import Knowledge
from sfumato.errors import ParameterError
from sfumato.methods.columnized_counts.kernels.units import SparseUnits
from sfumato.methods.columnized_counts.law.columns import LongColumns
from sfumato.methods.columnized_counts.law.fragments import SparseRecords, long_columns_of, read_records
from sfumato.release import Release
from sfumato.values.arrays import Booleans, Floats, Integers
from sfumato.values.mixed_radix import MixedRadix
from sfumato.values.result_tables import ResultTable
from sfumato.values.schema import Attribute, Role
from sfumato.watching import steps

TARGETS_PER_BLOCK = 256
"""Targets scored at once; each takes one number for every record."""


@dataclass(frozen=True, eq=False)
class SparseMatches:
    """The best record for every target, ``(targets,)`` each.

    Parameters
    ----------
    best
        Number of the record with the highest score.
    gap
        By how many standard deviations of all scores it leads the second.
    is_claimed
        The lead is large enough, so that the attacker says: this is the person.
    right_if_there
        Probability of the right person when the target is behind the record: one over its crowd.
    """

    best: Integers
    gap: Floats
    is_claimed: Booleans
    right_if_there: Floats

    def __repr__(self) -> str:
        return f"SparseMatches({self.best.size} targets, {int(self.is_claimed.sum())} claimed)"


def match_records(
    known: SparseUnits, records: SparseRecords, *, lead: float = 1.5, value_tolerance: int = 0
) -> SparseMatches:
    """Score every record against what is known of each target, rare items weighing more.

    A record scores ``1 / ln(1 + support)`` for every known item that it holds with the known value, or one
    within the tolerance; support is how many people have the item in the records.

    References
    ----------
    Narayanan and Shmatikov (2008), section 4: the scoreboard with rarity weights and eccentricity.

    Examples
    --------
    >>> raters = SparseUnits.from_triples(["a", "b"], [0, 0, 1, 1], [0, 1, 0, 2], [4, 4, 4, 0], 3, 5)
    >>> target = SparseUnits.from_triples(["t"], [0, 0], [0, 2], [4, 0], 3, 5)
    >>> match_records(target, SparseRecords.raw(raters)).best.tolist()
    [1]
    """
    from scipy.sparse import csr_array

    pairs = MixedRadix([known.number_of_items, known.number_of_values])
    content = records.units
    held = pairs.encode([content.items, content.values])
    shape = (content.number_of_units, pairs.combinations)
    matrix = csr_array((np.ones(held.size, np.float32), held, content.starts), shape=shape)
    support = np.bincount(
        content.items,
        weights=np.repeat(records.crowd, np.diff(content.starts)),
        minlength=known.number_of_items,
    )
    weights = 1 / np.log1p(np.maximum(support, 1))
    wanted = _wanted(known, weights, value_tolerance, pairs)
    parts = [
        _lead(np.asarray((wanted[first : first + TARGETS_PER_BLOCK] @ matrix.T).toarray(), np.float64))
        for first in steps("Comparing people", range(0, known.number_of_units, TARGETS_PER_BLOCK))
    ]
    best = np.concatenate([part[0] for part in parts])
    gap = np.concatenate([part[1] for part in parts])
    return SparseMatches(best, gap, gap >= lead, 1 / records.crowd[best])


def _wanted(known: SparseUnits, weights: npt.NDArray[Any], tolerance: int, pairs: MixedRadix) -> Any:
    """Targets by item and value: the weight of each pair that would count as a match."""
    from scipy.sparse import csr_array

    target, items = known.units(), known.items
    rows, places, data = [], [], []
    for step in range(-tolerance, tolerance + 1):
        value = known.values.astype(np.int64) + step
        inside = (value >= 0) & (value < known.number_of_values)
        rows.append(target[inside])
        places.append(pairs.encode([items, value])[inside])
        data.append(weights[items][inside])
    entries = (np.concatenate(data).astype(np.float32), (np.concatenate(rows), np.concatenate(places)))
    return csr_array(entries, shape=(known.number_of_units, pairs.combinations))


def _lead(scores: Floats) -> tuple[Integers, Floats]:
    """Best record of every target, and its lead in standard deviations; one record alone leads by nothing."""
    best = scores.argmax(axis=1)
    if scores.shape[1] == 1:
        return best, np.zeros(len(scores))
    two = np.partition(scores, -2, axis=1)[:, -2:]
    spread = scores.std(axis=1)
    return best, np.divide(two[:, 1] - two[:, 0], spread, out=np.zeros(len(scores)), where=spread > 0)


class SparseLinking(Attack):
    """Re-identify raters from a few known items and values, scored by rarity.

    Attack
        Every published record is scored by the known pairs it holds, rare items weighing more. A record that
        leads all others clearly is claimed to be the target's, and everything else in it is then known.
    Against whom
        Anyone of whom some ratings are known: a public review, a talk over dinner.
    Weaknesses
        A fragment stands for a crowd of at least k people, so that the right person is picked with one over
        its count at best, and targets whose ratings are rare are not in the release at all.

    References
    ----------
    Narayanan and Shmatikov (2008), Robust de-anonymization of large sparse datasets.
    """

    attack: Literal["sparse-linking"] = "sparse-linking"
    target: str = Field(
        default="target", description="column of the outside records that says whose item and value it is"
    )
    lead: Annotated[float, Field(gt=0, le=1e6)] = Field(
        default=1.5,
        description="standard deviations by which the best record must lead the second to be claimed",
    )
    value_tolerance: Annotated[int, Field(ge=0, le=1_000_000)] = Field(
        default=0, description="steps by which a known value may be off and still count as a match"
    )

    title: ClassVar[str] = "linking of sparse records"
    summary: ClassVar[str] = (
        "Scores every published record by the items and values known of a target, rare ones weighing more, and claims "
        "the one that leads clearly."
    )
    assumptions: ClassVar[tuple[str, ...]] = (
        "The attacker knows some items of each target with their values, and that the target is in the data.",
        "The attacker has the release and nothing else.",
    )
    citations: ClassVar[tuple[str, ...]] = (
        "Narayanan, A. and Shmatikov, V. (2008). Robust de-anonymization of large sparse datasets. IEEE S&P.",
    )
    laws: ClassVar[tuple[str, ...]] = ("noisy-rows",)

    @classmethod
    def applies_to(cls, release: Release) -> bool:
        """Releases of unit-item-value data only."""
        return super().applies_to(release) and getattr(release.law, "long", None) is not None

    def run(self, release: Release, knowledge: Knowledge | None = None) -> AttackResult:
        """Match the targets of the outside records with the published fragments, column by column."""
        long = long_columns_of(release.law)
        if knowledge is None:
            raise ParameterError(
                f"sparse linking needs what is known of the targets. Give outside records with the columns "
                f"{', '.join((self.target, *long.names))}, one row for each known item.",
                parameter="knowledge",
            )
        known = self._known(release, long, knowledge)
        records = read_records(release, long)
        chances = np.zeros(known.number_of_units)
        rows: list[tuple[int, int, int, float, float]] = []
        for number, each in enumerate(records, start=1):
            fragments = each.units.number_of_units
            if not fragments:
                rows.append((number, 0, 0, 0.0, 0.0))
                continue
            matches = match_records(known, each, lead=self.lead, value_tolerance=self.value_tolerance)
            here = np.where(matches.is_claimed, matches.right_if_there, 0.0)
            chances = np.maximum(chances, here)
            rows.append(
                (number, fragments, int(matches.is_claimed.sum()), float(here.max()), float(here.mean()))
            )
        findings = {
            "targets": known.number_of_units,
            "targets with a claimed record": int(np.count_nonzero(chances)),
            "highest chance of the right person": float(chances.max()),
            "expected share of targets found, at best": float(chances.mean()),
        }
        table = ResultTable(
            "Claims by column",
            ("column", "fragments", "claims", "highest chance", "expected share"),
            tuple(rows),
        )
        caveat = (
            "Chances hold if the target is behind the claimed fragment; many claims are about other people."
        )
        return AttackResult(self.attack, dict(findings), (table,), (caveat,))

    def _known(self, release: Release, long: LongColumns, knowledge: Knowledge) -> SparseUnits:
        attributes = release.schema.select(long.names)
        unit = Attribute(name=self.target, role=Role.IDENTIFIER)
        rows = knowledge.engine.rows_of_units(knowledge.source, unit, attributes)
        of_unit = np.repeat(np.arange(len(rows.names)), np.diff(rows.ends, prepend=0))
        item = rows.codes[long.item]
        value = np.zeros_like(item) if long.value is None else rows.codes[long.value]
        sizes = [each.size for each in attributes]
        return SparseUnits.from_triples(
            rows.names, of_unit, item, value, sizes[0], sizes[1] if long.value else 1
        )
