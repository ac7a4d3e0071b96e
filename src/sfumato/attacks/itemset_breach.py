"""Breach levels of itemsets: how sure published items make that a unit has one of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from sfumato.attacks.base import Attack, AttackResult
from sfumato.data.knowledge import Knowledge
from sfumato.errors import NotIdentifiableError
from sfumato.methods.randomized_response.law.perturbed_items import PerturbedItems
from sfumato.release import Release
from sfumato.values.arrays import Floats, Integers
from sfumato.values.number_text import Cell
from sfumato.values.result_tables import ResultTable

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
    >>> from sfumato.chance.distortion import warner
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
