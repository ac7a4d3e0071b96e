"""Whether published values agree with the true ones of people alike in all else as often as a matrix says.

A margin shows little of a wrong matrix where values are about equally frequent: keeping more of them changes nothing in it.
Among people who are alike in what is published as it is, it shows at once.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.chance.distortion.axes import AxisMatrix, contract, transposed
from sfumato.custody.audit.people import counts_in, recode
from sfumato.custody.audit.truth_checks.p_values import TruthCheck, bernstein, binomial
from sfumato.data.private_table import PrivateTable
from sfumato.laws.believing.targets import places_among
from sfumato.release import Release
from sfumato.values.arrays import Floats, Integers

MOST_CELLS = 20_000_000
"""Groups times categories beyond which groups are not looked at one by one."""


@dataclass(frozen=True, eq=False)
class Alike:
    """True and published values of one attribute among people alike in what is published as it is.

    Parameters
    ----------
    name
        The attribute.
    true, published
        ``(groups, categories)``: rows.
    """

    name: str
    true: Floats
    published: Floats

    @cached_property
    def shares(self) -> Floats:
        """``(groups, categories)``: of the true rows of every group."""
        found: Floats = self.true / np.maximum(self.true.sum(axis=1, keepdims=True), 1)
        return found

    def against(self, channel: AxisMatrix) -> TruthCheck:
        """Rows drawn independently through ``channel[true, published]``; one row of it where all true values are alike.

        Each published row counts for the share that its shown value truly has in its group: a sum of independent draws between 0
        and 1, whose mean and variance the matrix gives.
        """
        onto = [None, transposed(channel)]
        means, squares = contract(self.shares, onto), contract(self.shares**2, onto)
        expected = float((self.true * means).sum())
        variance = float((self.true * (squares - means**2)).sum())
        observed = float((self.published * self.shares).sum())
        return TruthCheck(
            f"published {self.name} among people alike in all else, against the stated matrix",
            bernstein(observed, expected, variance),
            f"Published values agree with those of people alike by {observed:,.1f} rows, expected are {expected:,.1f} (standard "
            f"deviation {np.sqrt(variance):,.1f}).",
        )

    def kept_by_loners(self, chance: float) -> TruthCheck:
        """People like nobody else, who keep their own value with this chance, each by a draw of their own."""
        alone = (self.true.sum(axis=1) == 1) & (self.published.sum(axis=1) == 1)
        kept = int((self.true * self.published)[alone].sum())
        return TruthCheck(
            f"own {self.name} kept by people like nobody else",
            binomial(kept, int(alone.sum()), chance),
            f"{kept:,} of {int(alone.sum()):,} show their own value, expected are {chance * int(alone.sum()):,.1f}.",
        )


def people_alike(release: Release, table: PrivateTable, name: str, changed: Collection[str]) -> Alike | None:
    """People by everything that is published as it is; None where nothing is, or there are too many groups to look at.

    Parameters
    ----------
    name
        The attribute whose values are compared.
    changed
        Attributes that are not published as they are.
    """
    exact = [each.name for each in release.schema.attributes if each.name not in changed]
    codes = {each: recode(table, release.schema[each]) for each in (*exact, name)}
    if not exact or any(each is None for each in codes.values()):
        return None
    size = release.schema[name].size
    true = table.count_occupied([*exact, name])
    known = [codes[each][column] for each, column in zip((*exact, name), true.codes, strict=True)]  # type: ignore[index]
    shown = release.count_occupied([*exact, name])
    groups, whose = np.unique(np.stack(known[:-1], axis=1), axis=0, return_inverse=True)
    if len(groups) * size > MOST_CELLS:
        return None
    places = places_among(_stacked(shown.codes[:-1]), groups)
    true_rows, published = np.zeros((len(groups), size)), np.zeros((len(groups), size))
    np.add.at(true_rows, (whose.ravel(), known[-1]), true.counts)
    inside = places >= 0
    np.add.at(published, (places[inside], shown.codes[-1][inside].astype(np.int64)), shown.counts[inside])
    return Alike(name, true_rows, published)


def agreements(
    release: Release, table: PrivateTable, channels: Mapping[str, AxisMatrix]
) -> Iterator[TruthCheck]:
    """Every attribute that was drawn row by row through a matrix; two by two where nothing is published as it is."""
    alike = {name: people_alike(release, table, name, channels) for name in channels}
    yield from (each.against(channels[name]) for name, each in alike.items() if each is not None)
    left = [name for name, each in alike.items() if each is None]
    for first, second in itertools.pairwise(left):
        found = _pair(release, table, (first, second), channels)
        if found is not None:
            yield found


def _pair(
    release: Release, table: PrivateTable, names: tuple[str, str], channels: Mapping[str, AxisMatrix]
) -> TruthCheck | None:
    """Published pairs of values, each counted for how frequent it truly is beside the most frequent pair."""
    codes = [recode(table, release.schema[name]) for name in names]
    shape = [release.schema[name].size for name in names]
    if any(each is None for each in codes) or shape[0] * shape[1] > MOST_CELLS:
        return None
    true = counts_in(table, release, names)
    scores = true / max(float(true.max()), 1.0)
    onto = [transposed(channels[name]) for name in names]
    means, squares = contract(scores, onto), contract(scores**2, onto)
    expected, variance = float((true * means).sum()), float((true * (squares - means**2)).sum())
    observed = float((np.asarray(release.count_by(names).counts) * scores).sum())
    return TruthCheck(
        f"published {names[0]} with {names[1]} against the stated matrices",
        bernstein(observed, expected, variance),
        f"Pairs that are frequent are published by {observed:,.1f}, expected are {expected:,.1f} (standard deviation "
        f"{np.sqrt(variance):,.1f}).",
    )


def _stacked(columns: Sequence[Integers]) -> Integers:
    return np.stack([each.astype(np.int64) for each in columns], axis=1)
