"""The count phase of SPLU-Gen: which rows are published, and what the rows of each value show."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.chance.partition import Partition, largest_group_size
from sfumato.chance.randomness import NoiseSource
from sfumato.data.private_table import PrivateTable
from sfumato.errors import DataError
from sfumato.methods.splu_gen.kernels.decoys import Draws, draw_on_counts, draw_together
from sfumato.methods.splu_gen.kernels.rows import (
    CountKept,
    DecoyShare,
    Drawn,
    Frequent,
    KeptRows,
    frequent_values,
    leave_out,
)
from sfumato.values.arrays import Integers

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class CountPhase:
    """Everything that is drawn from counts. Private.

    Parameters
    ----------
    table
        The private rows.
    drawn
        What each row draws at once.
    threshold
        Rows that every published value must be held by, or None.
    partition
        How groups are made.
    noise
        Where the bits come from.
    """

    table: PrivateTable
    drawn: Sequence[Drawn]
    threshold: int | None
    partition: Partition
    noise: NoiseSource

    @property
    def names(self) -> tuple[str, ...]:
        """Attributes that are drawn."""
        return tuple(name for unit in self.drawn for name in unit.names)

    @property
    def multiple(self) -> int:
        """Of what the number of rows must be a multiple, so that the groups of every attribute divide it."""
        return math.lcm(*(each.gamma for each in self.drawn))

    @property
    def frequent(self) -> Frequent:
        """Which values of each attribute enough rows hold; nothing where all are published."""
        return self._frequent[0]

    @cached_property
    def _frequent(self) -> tuple[Frequent, Frequent]:
        """The same, and which values stay frequent whichever rows are left out besides."""
        if self.threshold is None:
            return {}, {}
        occupied = self.table.count_occupied(self.names)
        return frequent_values(
            dict(zip(self.names, occupied.codes, strict=True)),
            occupied.counts,
            {name: self.table.schema[name].size for name in self.names},
            self.threshold,
            self.multiple - 1,
        )

    def kept(self) -> list[KeptRows]:
        """The rows to publish of each portion: frequent enough, and as many as the groups divide evenly."""
        drawing = self.noise.named("rows left out")
        step = CountKept(tuple(self.drawn), *self._frequent, self.multiple - 1, drawing)
        portions = list(self.table.map_portions(self.names, step))
        rows = sum(each.rows for each in portions)
        if self.frequent:
            _LOG.info("left out %d rows with a rare sensitive value", self.table.number_of_rows - rows)
        remainder = rows % self.multiple
        if rows < self.multiple or sum(each.spare or 0 for each in portions) < remainder:
            raise DataError(
                f"the table has {rows} rows to publish; groups of {' and '.join(str(each.gamma) for each in self.drawn)} need "
                f"at least {self.multiple}, and more where rare values are left out. Use smaller groups, or more rows.",
                number_of_rows=rows,
            )
        portions = leave_out(portions, remainder, drawing.named("portions").stream(0))
        _LOG.info("left out %d rows at random, so that groups divide the rest", remainder)
        for unit in self.drawn:
            total = np.sum([each.counts[unit.name] for each in portions], axis=0)
            for name, counts in unit.margins(total):
                _refuse_frequent(name, unit.gamma, counts)
        return portions

    def shares(self) -> tuple[DecoyShare, ...]:
        """What the rows of each portion show, drawn from counts."""
        portions = self.kept()
        dealt: dict[str, tuple[Draws, ...]] = {}
        for unit in self.drawn:
            source = self.noise.named(f"decoys of {unit.name}")
            counts = np.stack([each.counts[unit.name] for each in portions])
            draws = self._draw(unit, counts.sum(axis=0), source)
            dealt[unit.name] = draws.split(counts, source.named("portions"))
        return tuple(
            DecoyShare(each.candidates, {name: of_unit[number] for name, of_unit in dealt.items()})
            for number, each in enumerate(portions)
        )

    def _draw(self, unit: Drawn, counts: Integers, noise: NoiseSource) -> Draws:
        """What the rows of each value, or combination of values, show."""
        if len(unit.names) == 1:
            return draw_on_counts(counts, unit.gamma, noise, partition=self.partition)
        drawn = draw_together(counts, unit.sizes, unit.gamma, noise)
        if drawn is None:
            raise DataError(
                f"no groups of {unit.gamma} rows were found whose members differ in each of {unit.name}. They exist for certain "
                f"where the shares of the most frequent values add up to less than one in {unit.gamma}. Use a smaller gamma, or "
                "name fewer attributes together.",
                attribute=unit.names[0],
            )
        return drawn


def _refuse_frequent(name: str, gamma: int, counts: Integers) -> None:
    """Refuse an attribute of which no groups of different values exist."""
    largest = largest_group_size(counts)
    if largest < gamma:
        advice = f"Use gamma = {largest}" if largest >= 2 else "No gamma fits: merge or split categories"
        raise DataError(
            f"a category of {name!r} is held by more than one row in {gamma}, so groups of {gamma} different "
            f"values do not exist; the largest gamma that fits is {largest}. {advice}, or leave the attribute out.",
            attribute=name,
        )
