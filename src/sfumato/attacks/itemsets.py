"""Attacks on long-format data: breach levels of itemsets, and raters found by a few ratings."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from sfumato.arrays import Booleans, Floats, Integers, MixedRadix
from sfumato.attacks.base import Attack, AttackResult, Knowledge
from sfumato.data.long_format import SparseUnits
from sfumato.errors import NotIdentifiableError, ParameterError
from sfumato.methods.columnized_counts.law import SparseRecords, long_columns_of, read_records
from sfumato.methods.columnized_counts.noisy_counts import LongColumns
from sfumato.methods.randomized_response.law import PerturbedItems
from sfumato.progress import steps
from sfumato.release import Release
from sfumato.results import ResultTable
from sfumato.schema import Attribute, Role
from sfumato.text import Cell

# --------------------------------------------------------------------------------------------------
# Breach levels of itemsets: how sure published items make that a unit has one of them.


Level = tuple[tuple[int, ...], int, Integers]
"""Places of the itemset and of one of its items; what units that show the other items show of this one, by code."""


class ItemsetBreach(Attack):
    """Believe that a unit has an item because it is published with it, alone or together with others.

    Attack
        Of the units that show a whole itemset A, the share that really has one of its items a: the breach level of A,
        ``Pr(a in t | A in t')``. It is worked out from the release alone, by the public matrix.
    Against whom
        Anybody whose published items are known to be theirs.
    Weaknesses
        A high level says little where nearly everybody has the item; the share of all units stands beside it.

    Notes
    -----
    Items are distorted independently, so that the other items of A are only conditions, and the counts n of what is
    shown of a under them are enough: ``Pr(a in t, A in t')`` is the sum over codes y of ``n[y] c[y]`` by the units, with
    ``c[y] = sum over x > 0 of I[y, x] Pr(shown | x)`` and I the inverse matrix; code 0 is that a unit lacks the item.

    References
    ----------
    Guo (2010), definition 5, after Evfimievski, Srikant, Agrawal and Gehrke (2002).
    """

    attack: Literal["itemset-breach"] = "itemset-breach"
    items: tuple[str, ...] = Field(
        default=(), description="the itemset; all items and pairs of the most shown ones when not given"
    )
    level: Annotated[float, Field(gt=0, lt=1)] = Field(
        default=0.5, description="belief from which an itemset counts as a breach"
    )
    most_shown: Annotated[int, Field(ge=2, le=200)] = Field(
        default=30, description="items of which pairs are formed"
    )
    shown: Annotated[int, Field(ge=1, le=1_000)] = Field(default=10, description="lines of the table")

    title: ClassVar[str] = "breach levels of itemsets"
    summary: ClassVar[str] = (
        "Works out from the public matrix how many of the units that show a set of items really have one of them."
    )
    assumptions: ClassVar[tuple[str, ...]] = (
        "The attacker knows which published items are a person's, and nothing else about the person.",
        "The attacker has the release with its law.",
    )
    citations: ClassVar[tuple[str, ...]] = (
        "Guo, L. (2010). Randomization based privacy preserving categorical data analysis. UNC Charlotte.",
    )
    laws: ClassVar[tuple[str, ...]] = ("perturbed-items",)

    def run(self, release: Release, knowledge: Knowledge | None = None) -> AttackResult:
        """Levels of one itemset, or of single items and pairs; highest first."""
        told = () if knowledge is None else knowledge.sentences(())
        law = release.law
        if not isinstance(law, PerturbedItems):
            raise NotIdentifiableError(
                "this attack reads baskets or ratings whose items were randomized, and the release has none. Attack a "
                "release of randomized-response made from data in long form."
            )
        matrix, inverse = law.distortion.dense(), law.distortion.inverse()
        has = release.items(law.long).counts() @ inverse[:, 1:].sum(axis=1) / law.long.number_of_units
        names = release.schema.names
        rows: list[tuple[Cell, ...]] = []
        for places, item, counts in self._levels(release, law):
            belief, error = breach_level(counts, matrix, inverse)
            members = ", ".join(names[place] for place in places)
            rows.append(
                (members, names[item], int(counts[1:].sum()), _share(has[item]), _share(belief), error)
            )
        rows.sort(key=lambda row: -float(row[4]))
        highest = float(rows[0][4]) if rows else 0.0
        findings: dict[str, Cell] = {
            "itemsets and items looked at": len(rows),
            "highest breach level": highest,
            f"of them at {self.level:.4g} or more": sum(float(row[4]) >= self.level for row in rows),
        }
        columns = ("itemset", "item", "units that show it", "share of all units", "breach level", "std_error")
        return AttackResult(
            self.attack,
            findings,
            (ResultTable("Itemsets by breach level", columns, tuple(rows[: self.shown])),),
            (
                "Levels are estimates from the release, cut to 0 and 1; the standard error is that of the draws.",
                *told,
            ),
        )

    def _levels(self, release: Release, law: PerturbedItems) -> Iterator[Level]:
        """Counts of every itemset to look at that some unit shows."""
        kept = release.items(law.long)
        if self.items:
            places = tuple(
                dict.fromkeys(release.schema.names.index(release.schema[name].name) for name in self.items)
            )
            yield from _counted(places, np.stack(kept.codes(places)), law.distortion.size)
            return
        counts = kept.counts()
        shown = counts[:, 1:].sum(axis=1)
        yield from (((place,), place, counts[place]) for place in np.flatnonzero(shown).tolist())
        most = [
            place for place in np.argsort(-shown, kind="stable")[: self.most_shown].tolist() if shown[place]
        ]
        if len(most) > 1:
            codes = np.stack(kept.codes(most))
            for pair in itertools.combinations(range(len(most)), 2):
                yield from _counted(
                    tuple(most[each] for each in pair), codes[list(pair)], law.distortion.size
                )


def _counted(places: tuple[int, ...], codes: npt.NDArray[Any], size: int) -> Iterator[Level]:
    """Each item of a set that some unit shows whole."""
    shown = codes > 0
    if shown.all(axis=0).any():
        for number, item in enumerate(places):
            others = np.delete(shown, number, axis=0).all(axis=0)
            yield places, item, np.bincount(codes[number][others], minlength=size)


def breach_level(counts: npt.ArrayLike, matrix: Floats, inverse: Floats) -> tuple[float, float]:
    """Estimated level and its standard error.

    Parameters
    ----------
    counts
        Units by what they show of the item, first those that show nothing of it, ``(codes,)``.
    matrix, inverse
        ``(codes, codes)``, of ``[true, published]``.

    Examples
    --------
    >>> from sfumato.randomness.distortion import warner
    >>> kept = warner(0.9)
    >>> [round(each, 4) for each in breach_level([820, 180], kept.dense(), kept.inverse())]
    [0.5, 0.0422]
    """
    n = np.asarray(counts, np.float64)
    weights = inverse[:, 1:] @ matrix[1:, 1:].sum(axis=1)
    shown = np.arange(n.size) > 0
    level = float(n @ weights / n[shown].sum())
    # A ratio of two sums over a multinomial's counts, by the delta method.
    deviations = weights - level * shown
    return level, math.sqrt(float(n @ deviations**2)) / float(n[shown].sum())


def _share(value: float) -> float:
    return float(min(max(value, 0.0), 1.0))


# --------------------------------------------------------------------------------------------------
# Sparse linking: find a rater by a few ratings that are known of him.


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
