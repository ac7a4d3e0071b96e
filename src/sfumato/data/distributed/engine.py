"""The engine over splits: each split is counted by its own engine, and the counts are added."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from sfumato.atomic_files import spill_folder
from sfumato.data.chunks import CodedBatch, PortionCounts, PortionStep, UnitRows
from sfumato.data.coding import Misfit, misfits_counted, misfits_error, misfits_of_units
from sfumato.data.distributed.exchange import (
    DealStep,
    Diversity,
    Kept,
    Meeting,
    added,
    added_up,
    exchange_here,
    meeting_of_combinations,
    sizes_of,
)
from sfumato.data.distributed.splits import (
    AtRest,
    CodedRun,
    CountCells,
    CountMisfits,
    CountOccupied,
    CountSets,
    Refused,
    RunStep,
    RunStepOnUnits,
    Split,
    SplitTask,
    attempt,
    batches_of,
    splits_of,
)
from sfumato.data.distributed.units import DealUnits, DrawUnits, UnitPiles
from sfumato.data.duckdb_engine import DrawnUnits
from sfumato.data.encryption import Encryption
from sfumato.data.engine import Condition, Found, Unfit, attributes_of
from sfumato.data.sources.base import Source
from sfumato.errors import ParameterError
from sfumato.estimates.counts import CountTable, OccupiedCounts, empty_counts
from sfumato.schema import Attribute, Schema

# --------------------------------------------------------------------------------------------------
# Who runs tasks: this process, one after the other; on Spark see
# :mod:`sfumato.data.distributed.spark`.


class Runner(Protocol):
    """Runs tasks on splits, and brings back what they find, in the order of the splits."""

    def map(self, task: SplitTask, splits: Sequence[Split]) -> list[Any]:
        """What a task finds in each split, or why it could not."""

    def exchange(
        self,
        splits: Sequence[Split],
        attributes: Sequence[Attribute],
        deal: DealStep,
        meetings: Sequence[Meeting],
    ) -> list[Any]:
        """What each pile of the last meeting found, or why a task could not."""

    def shared_folder(self) -> Any:
        """Within the block, a folder that every task can reach and nobody else may read."""

    def close(self) -> None:
        """Give back what is held."""


class LocalRunner:
    """Runs every task here; the measure that others are held against.

    Parameters
    ----------
    temporary_folder
        Where rows wait; the system's place unless said otherwise.
    """

    def __init__(self, temporary_folder: Path | None = None) -> None:
        self.temporary_folder = temporary_folder

    def map(self, task: SplitTask, splits: Sequence[Split]) -> list[Any]:
        """One split after the other."""
        return [attempt(partial(task, each, number)) for number, each in enumerate(splits)]

    def exchange(
        self,
        splits: Sequence[Split],
        attributes: Sequence[Attribute],
        deal: DealStep,
        meetings: Sequence[Meeting],
    ) -> list[Any]:
        """All in memory."""
        found = attempt(
            lambda: exchange_here((batches_of(each, attributes) for each in splits), deal, meetings)
        )
        return found if isinstance(found, list) else [found]

    @contextmanager
    def shared_folder(self) -> Iterator[Path]:
        """A temporary one."""
        with spill_folder(self.temporary_folder) as folder:
            yield folder

    def close(self) -> None:
        """There is nothing to give back."""


# --------------------------------------------------------------------------------------------------
# An engine over splits: every verb is run on each split by its own engine, and what they find is added up.


FEW_SPLITS = 32
"""Of so many splits the combinations that occur are added up in this process; of more, by tasks, before they come."""


class SplitEngine:
    """Counts a table in splits. Only counts come to this process, except where rows are asked for by :meth:`scan`.

    Parameters
    ----------
    runner
        Runs the tasks.
    """

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self._drawn: dict[DrawnUnits, AtRest] = {}
        self._folders = ExitStack()

    @property
    def temporary_folder(self) -> Path | None:
        """Where rows that come only once are kept."""
        found: Path | None = getattr(self.runner, "temporary_folder", None)
        return found

    def close(self) -> None:
        """Give back what the runner holds, and remove coded rows."""
        self._drawn = {}
        self._folders.close()
        self.runner.close()

    def splits(self, source: Source, attributes: Sequence[Attribute] = ()) -> tuple[Split, ...]:
        """The splits of a source; those of one at rest are always the same, and rows of units are drawn once."""
        del attributes
        if isinstance(source, DrawnUnits):
            if source not in self._drawn:
                folder = self._folders.enter_context(self.runner.shared_folder())
                self._drawn[source] = AtRest(source, source.schema, folder, self)
            source = self._drawn[source]
        return source.splits() if isinstance(source, AtRest) else splits_of(source)

    def reads_once(self, source: Source) -> bool:
        """Whether a task sees the cells of a source only once."""
        del source
        return False

    def scan(
        self,
        source: Source,
        attributes: Sequence[Attribute],
        *,
        integers: Sequence[str] = (),
        unit: Attribute | None = None,
    ) -> Iterator[CodedBatch]:
        """All rows, split after split, in this process: of releases, and where an audit looks at people."""
        for split in self.splits(source if unit is None else source.cells, attributes):
            if integers or unit is not None:
                engine, rows = split.opened()
                yield from engine.scan(rows, attributes, integers=integers, unit=unit)
                engine.close()
            else:
                yield from batches_of(split, attributes)

    def map(self, task: SplitTask, source: Source, attributes: Sequence[Attribute]) -> list[Any]:
        """What a task finds in every split; columns that do not fit are counted over all of them and refused."""
        splits = self.splits(source, attributes)
        return self._accepted(self.runner.map(task, splits), splits, attributes)

    def exchange(
        self,
        source: Source,
        attributes: Sequence[Attribute],
        deal: DealStep,
        meetings: Sequence[Meeting],
    ) -> list[Any]:
        """What each pile of the last meeting found, once the rows of all splits have met."""
        splits = self.splits(source, attributes)
        found = self.runner.exchange(splits, attributes, deal, meetings)
        return self._accepted(found, splits, attributes)

    def _accepted(
        self, found: Sequence[Any], splits: Sequence[Split], attributes: Sequence[Attribute]
    ) -> list[Any]:
        refused = [each for each in found if isinstance(each, Refused)]
        if any(each.is_misfit for each in refused):
            misfits = self._misfits(splits, attributes)
            if misfits:
                raise misfits_error(misfits)
        if refused:
            raise refused[0].error()
        return list(found)

    def count_by(
        self, source: Source, attributes: Sequence[Attribute], where: Sequence[Condition]
    ) -> CountTable:
        """Counts over the product of the attributes, added up over the splits."""
        total = empty_counts(attributes)
        task = CountCells(tuple(attributes), tuple(where))
        read = attributes_of([attributes, [attribute for attribute, _ in where]])
        for each in self.map(task, source, read):
            total += each
        return CountTable(tuple(attributes), total)

    def count_tables(self, source: Source, sets: Sequence[Sequence[Attribute]]) -> tuple[CountTable, ...]:
        """Counts over the product of each set's attributes, added up over the splits."""
        totals = [empty_counts(each) for each in sets]
        task = CountSets(tuple(map(tuple, sets)))
        for counted in self.map(task, source, attributes_of(sets)):
            for total, each in zip(totals, counted, strict=True):
                np.add(total, each, out=total)
        return tuple(
            CountTable(tuple(attributes), total) for attributes, total in zip(sets, totals, strict=True)
        )

    def count_occupied(
        self,
        source: Source,
        attributes: Sequence[Attribute],
        *,
        weight: str | None = None,
        unfit: Unfit = "refuse",
        fewest: int = 1,
    ) -> OccupiedCounts:
        """Counts of what occurs, added up over the splits; what few rows have is left out of the sum."""
        if weight is None and unfit == "refuse" and len(self.splits(source, attributes)) > FEW_SPLITS:
            # Added up by tasks: what every split has would be the same combinations many times over.
            return added(attributes, self._combined(source, attributes, Kept(fewest)))
        task = CountOccupied(tuple(attributes), weight, unfit)
        parts = self.map(task, source, attributes)
        sums = added(attributes, [(codes, counts) for codes, counts, _ in parts])
        if weight is None:
            enough = sums.counts >= fewest
        else:
            rows = added(attributes, [(codes, found) for codes, _, found in parts])
            enough = rows.counts >= fewest
        return OccupiedCounts(
            sums.attributes, tuple(each[enough] for each in sums.codes), sums.counts[enough]
        )

    def count_portions(self, source: Source, attributes: Sequence[Attribute]) -> PortionCounts:
        """Counts of what occurs in each split: a split is a portion."""
        parts = self.map(CountOccupied(tuple(attributes), None, "refuse"), source, attributes)
        counted = [OccupiedCounts(tuple(attributes), codes, counts) for codes, counts, _ in parts]
        return PortionCounts.of(counted, attributes)

    def map_portions(
        self,
        source: Source,
        attributes: Sequence[Attribute],
        step: PortionStep[Found],
        *,
        unit: Attribute | None = None,
    ) -> Iterator[Found]:
        """What a step finds in every split."""
        if unit is None:
            return iter(self.map(RunStep(tuple(attributes), step), source, attributes))
        task = RunStepOnUnits(tuple(attributes), step, unit)
        return iter(self.map(task, source.cells, (*attributes, unit)))

    def draw(self, source: DrawnUnits, folder: Path) -> tuple[Split, ...]:
        """Splits of rows drawn of each unit; rows meet by unit in files that tasks alone can read."""
        schema = source.schema
        assert schema.unit is not None
        encryption = Encryption()
        deal = DealUnits(schema, folder, encryption, source.noise.named("rows of units"))
        dealt = self.map(deal, source.original, (*schema.publishable.attributes, schema.unit))
        piles = UnitPiles.grouped(schema, folder, encryption, itertools.chain.from_iterable(dealt))
        found = self._accepted(self.runner.map(DrawUnits(schema, folder, encryption), piles), (), ())
        for file in {each.file for pile in piles for each in pile.sections}:
            (folder / file).unlink()
        misfits = misfits_of_units(
            schema.unit, [sum(each) for each in zip(*(told for *_, told in found), strict=True)]
        )
        if misfits:
            raise misfits_error(misfits)
        return tuple(CodedRun(folder / name, schema.publishable, rows, encryption) for name, rows, _ in found)

    @contextmanager
    def at_rest(self, source: Source, schema: Schema) -> Iterator[AtRest]:
        """The source with its splits fixed; rows that cannot be reached by their place are coded once, at first use."""
        with self.runner.shared_folder() as folder:
            yield AtRest(source, schema, folder, self)

    def rows_of_units(self, source: Source, unit: Attribute, attributes: Sequence[Attribute]) -> UnitRows:
        """Refused: they would all come to this process."""
        del source, unit, attributes
        raise ParameterError(
            "unit-item-value data are gathered by unit in the memory of one process, which tables read in splits are too "
            "large for. Publish them with --engine duckdb.",
            parameter="engine",
        )

    def misfits(self, source: Source, attributes: Sequence[Attribute]) -> tuple[Misfit, ...]:
        """Everything in which rows do not fit, counted over all splits."""
        return self._misfits(self.splits(source.cells), attributes)

    def _misfits(self, splits: Sequence[Split], attributes: Sequence[Attribute]) -> tuple[Misfit, ...]:
        return self.judged_misfits(self.runner.map(CountMisfits(tuple(attributes)), splits), attributes)

    def judged_misfits(self, found: Sequence[Any], attributes: Sequence[Attribute]) -> tuple[Misfit, ...]:
        """What numbers of rows from all splits say of the attributes."""
        crowded = [each.name for each in attributes if each.rows_per_unit and each.excess_rows != "sample"]
        if crowded:
            raise ParameterError(
                f"column {crowded[0]!r} bounds the rows of a unit, which one split alone cannot tell. "
                "Publish this table with --engine duckdb.",
                parameter="engine",
            )
        for each in found:
            if isinstance(each, Refused):
                raise each.error()
        counted = [each for each in found if each is not None]
        return tuple(misfits_counted(attributes, np.sum(counted, axis=0).tolist())) if counted else ()

    def number_of_rows(self, source: Source) -> int:
        """Rows of the source; counted only where no split states its own."""
        stated = [each.number_of_rows for each in self.splits(source)]
        return (
            sum(each or 0 for each in stated)
            if None not in stated
            else int(self.count_by(source, (), ()).total)
        )

    def _combined(
        self,
        source: Source,
        attributes: Sequence[Attribute],
        finish: Callable[[OccupiedCounts], Any],
        *,
        together: int | None = None,
    ) -> list[Any]:
        """What tasks tell of the combinations that occur, each of which is added up by one of them."""
        number = len(self.splits(source, attributes))
        deal, meeting = meeting_of_combinations(tuple(attributes), number, finish, together=together)
        return self.exchange(source, attributes, deal, [meeting])

    def group_sizes(self, source: Source, attributes: Sequence[Attribute]) -> dict[int, int]:
        """How many groups of rows equal on the attributes there are of each size; no group comes here."""
        return added_up(self._combined(source, attributes, sizes_of))

    def group_diversity(
        self, source: Source, attributes: Sequence[Attribute], sensitive: Attribute
    ) -> dict[tuple[int, int], int]:
        """How many groups there are of each size and number of different sensitive categories; no group comes here."""
        finish = Diversity(tuple(each.name for each in attributes))
        found = self._combined(source, (*attributes, sensitive), finish, together=len(attributes))
        return added_up(found)
