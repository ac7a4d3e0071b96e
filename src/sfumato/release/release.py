"""A release in an analyst's hands: queries, counts, and a cache of what was read."""

from __future__ import annotations

import dataclasses
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Self

import numpy as np

from sfumato.arrays import Codes, Integers
from sfumato.data.chunks import CodedBatch
from sfumato.data.engine import Engine, covering_sets
from sfumato.data.long_format import LongTable
from sfumato.data.sources.base import Source
from sfumato.errors import ReleaseDamagedError
from sfumato.estimates.answers import Answer, AnswerTable
from sfumato.estimates.counts import CountTable, Feasibility, OccupiedCounts
from sfumato.estimates.estimates import Estimates
from sfumato.guarantees import Guarantee
from sfumato.laws import LAWS, Law, Target, refuse_target
from sfumato.query.selection import Predicate, Selection, Tabulation
from sfumato.release.manifest import Manifest, Signature, TableEntry, fitting_signature
from sfumato.release.tabulation import (
    Origin,
    Simultaneous,
    axes_of,
    consistent_table,
    difference_of_shares,
    estimate_table,
    level_of_each,
    remarks_on,
    share_of,
)
from sfumato.release.verbs import Analyses
from sfumato.schema import Schema
from sfumato.text import counted, listed

# --------------------------------------------------------------------------------------------------
# Counts of published rows, kept for the next question.


KEPT_BYTES = 256 * 2**20
"""Memory that kept counts may take; the oldest go first. The last counted are kept whatever they take."""

LARGEST_KEPT_TABLE = 2**22
"""Cells of a table that is counted whole to be kept; above, the rows asked for are counted and not kept."""


class KeptCounts:
    """Counts of one published table. Whoever asks about the same attributes again waits for no rows.

    A question about some attributes is answered from the table over all of them, which is counted once
    or summed up from a kept one that has more. Safe to ask from several threads.

    Parameters
    ----------
    engine
        Counts rows.
    source
        Where the rows are.
    schema
        Their attributes.
    """

    def __init__(self, engine: Engine, source: Source, schema: Schema) -> None:
        self.engine = engine
        self.source = source
        self.schema = schema
        self._kept: dict[Any, CountTable | OccupiedCounts] = {}
        self._expected: frozenset[frozenset[str]] = frozenset()
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type[KeptCounts], tuple[Engine, Source, Schema]]:
        return KeptCounts, (self.engine, self.source, self.schema)

    def count_by(self, names: Sequence[str], where: Selection) -> CountTable:
        """Counts over some attributes, among the rows selected."""
        attributes = self.schema.select(names)
        conditions = [(self.schema[name], codes) for name, codes in where.conditions]
        needed = frozenset((*names, *where.names))
        if not self._is_kept_size(needed):
            return self.engine.count_by(self.source, attributes, conditions)
        table = self._table(needed)
        for name, codes in where.conditions:
            table = _without_others(table, name, codes) if name in names else table.condition(name, codes)
        return table.project(names)

    def count_occupied(self, names: Sequence[str], weight: str | None) -> OccupiedCounts:
        """Combinations that occur, with their rows or the sum of an integer column of theirs."""
        key = (tuple(names), weight)
        found = self._find(key)
        if not isinstance(found, OccupiedCounts):
            attributes = self.schema.select(names)
            found = self.engine.count_occupied(self.source, attributes, weight=weight)
            self._keep(key, found)
        return found

    @contextmanager
    def expecting(self, sets: Iterable[frozenset[str]]) -> Iterator[None]:
        """Until the end, the first question that needs rows counts for all of these sets in the same pass."""
        before, self._expected = (
            self._expected,
            frozenset(each for each in sets if each and self._is_kept_size(each)),
        )
        try:
            yield
        finally:
            self._expected = before

    def _is_kept_size(self, names: frozenset[str]) -> bool:
        known = [each for each in self.schema.attributes if each.name in names]
        return len(known) == len(names) and math.prod(each.size for each in known) <= LARGEST_KEPT_TABLE

    def _table(self, names: frozenset[str]) -> CountTable:
        """The whole table over some attributes, in the order of the schema."""
        ordered = [name for name in self.schema.names if name in names]
        table = self._find(names)
        if isinstance(table, CountTable):
            return table
        if names in self._expected and self._covering(names) is None:
            self._count_expected(names)
        larger = self._covering(names)
        if larger is None:
            table = self.engine.count_by(self.source, self.schema.select(ordered), ())
        else:
            table = larger.project(ordered)
        self._keep(names, table)
        return table

    def _covering(self, names: frozenset[str]) -> CountTable | None:
        """The smallest kept table that has all of some attributes."""
        with self._lock:
            tables = [each for each in self._kept.values() if isinstance(each, CountTable)]
        fitting = [each for each in tables if names.issubset(each.names)]
        return min(fitting, key=lambda each: each.counts.size, default=None)

    def _count_expected(self, first: frozenset[str]) -> None:
        """Count what is expected in one pass: the set asked for, and others while they fit."""
        waiting = [each for each in self._expected if self._covering(each) is None]
        chosen: list[tuple[str, ...]] = []
        room = KEPT_BYTES // 2
        for names in sorted(covering_sets(waiting, self.schema), key=lambda each: not first <= each):
            attributes = [each for each in self.schema.attributes if each.name in names]
            room -= 8 * math.prod(each.size for each in attributes)
            if room >= 0 or not chosen:
                chosen.append(tuple(each.name for each in attributes))
        for table in self.engine.count_tables(self.source, [self.schema.select(names) for names in chosen]):
            self._keep(frozenset(table.names), table)

    def _find(self, key: Any) -> CountTable | OccupiedCounts | None:
        with self._lock:
            found = self._kept.pop(key, None)
            if found is not None:
                # Last in the order of going.
                self._kept[key] = found
            return found

    def _keep(self, key: Any, counted: CountTable | OccupiedCounts) -> None:
        with self._lock:
            self._kept.pop(key, None)
            self._kept[key] = counted
            taken = sum(_bytes(each) for each in self._kept.values())
            for oldest in list(self._kept)[:-1]:
                if taken <= KEPT_BYTES:
                    break
                taken -= _bytes(self._kept.pop(oldest))


def _bytes(counted: CountTable | OccupiedCounts) -> int:
    codes = counted.codes if isinstance(counted, OccupiedCounts) else ()
    return counted.counts.nbytes + sum(each.nbytes for each in codes)


def _without_others(table: CountTable, name: str, codes: Sequence[int]) -> CountTable:
    """The table with no rows in the categories that were not chosen."""
    axis = table.axis_of(name)
    chosen = np.zeros(table.counts.shape[axis], dtype=bool)
    chosen[list(codes)] = True
    shape = [-1 if place == axis else 1 for place in range(table.counts.ndim)]
    return CountTable(table.attributes, table.counts * chosen.reshape(shape))


# --------------------------------------------------------------------------------------------------
# What units have of some items, read from a long table and kept for the next question.


class KeptItems:
    """Columns of the wide table that a long one stands for: a code for each unit, 0 where it lacks the item.

    Parameters
    ----------
    long
        The table.
    schema
        Its attributes.
    scan
        Gives some of its columns, in batches.
    """

    def __init__(
        self, long: LongTable, schema: Schema, scan: Callable[[Sequence[str]], Iterator[CodedBatch]]
    ) -> None:
        self.long = long
        self.scan = scan
        self.number_of_items = schema[long.item].size
        self.number_of_codes = 2 if long.value is None else schema[long.value].size + 1
        self._counts: Integers | None = None
        self._columns: dict[int, Codes] = {}
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        # A lock cannot be sent elsewhere, and columns are read again there.
        return {**vars(self), "_columns": {}, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock())

    def counts(self) -> Integers:
        """Units by item and code, ``(items, codes)``.

        Raises
        ------
        ReleaseDamagedError
            When a row is of a unit that there is not, or an item has more rows than there are units.
        """
        if self._counts is None:
            cells = np.zeros(self.number_of_items * self.number_of_codes, np.int64)
            for units, items, codes in self._entries():
                if units.size and (units.min() < 0 or units.max() >= self.long.number_of_units):
                    _refuse("rows of units that it does not have")
                cells += np.bincount(
                    items.astype(np.int64) * self.number_of_codes + codes, minlength=cells.size
                )
            counts = cells.reshape(self.number_of_items, self.number_of_codes)
            counts[:, 0] = self.long.number_of_units - counts[:, 1:].sum(axis=1)
            if (counts < 0).any():
                _refuse("more rows of an item than units")
            self._counts = counts
        return self._counts

    def codes(self, places: Sequence[int]) -> tuple[Codes, ...]:
        """What every unit has of some items, ``(units,)`` each.

        Raises
        ------
        ReleaseDamagedError
            When a unit has an item twice.
        """
        with self._lock:
            known = {place: self._columns[place] for place in places if place in self._columns}
        missing = [place for place in dict.fromkeys(places) if place not in known]
        if missing:
            known |= self._read(missing)
        with self._lock:
            for place in dict.fromkeys(places):
                # Last in the order of going.
                self._columns.pop(place, None)
                self._columns[place] = known[place]
            most = max(KEPT_BYTES // max(self.long.number_of_units, 1), len(set(places)))
            for oldest in list(self._columns)[: max(len(self._columns) - most, 0)]:
                del self._columns[oldest]
        return tuple(known[place] for place in places)

    def _read(self, places: Sequence[int]) -> dict[int, Codes]:
        counts = self.counts()
        kind = np.min_scalar_type(self.number_of_codes - 1)
        table = np.zeros((len(places), self.long.number_of_units), kind)
        row_of = np.full(self.number_of_items, -1, np.int32)
        row_of[list(places)] = np.arange(len(places), dtype=np.int32)
        for units, items, codes in self._entries():
            rows = row_of[items]
            asked = rows >= 0
            table[rows[asked], units[asked]] = codes[asked] if isinstance(codes, np.ndarray) else codes
        if (np.count_nonzero(table, axis=1) != counts[list(places), 1:].sum(axis=1)).any():
            _refuse("units that have an item twice")
        return dict(zip(places, table, strict=True))

    def _entries(self) -> Iterator[tuple[Integers, Codes, Codes | int]]:
        """Unit, item and code of every row, in batches."""
        for batch in self.scan((*self.long.names, self.long.unit)):
            value = 1 if self.long.value is None else batch.codes[self.long.value].astype(np.int64) + 1
            yield batch.codes[self.long.unit], batch.codes[self.long.item], value


def _refuse(what: str) -> None:
    raise ReleaseDamagedError(f"the release has {what}. Get the release again from where it came.")


# --------------------------------------------------------------------------------------------------
# A release in an analyst's hands.


class Release(Analyses):
    """Published data plus its public law. Opened by :func:`load_release`.

    Parameters
    ----------
    folder
        Where the release is; None where it is in memory only.
    manifest
        What it says about itself.
    sources
        The verified file of each published table, or its rows in memory.
    engine
        Counts the published rows.
    """

    def __init__(
        self, folder: Path | None, manifest: Manifest, sources: Mapping[str, Source], engine: Engine
    ) -> None:
        self.folder = folder
        self.manifest = manifest
        self.sources = sources
        self.engine = engine
        self._items: KeptItems | None = None

    def __repr__(self) -> str:
        return f"Release({self.method}: {listed(self.schema.names)}; {counted(self.number_of_rows, 'row')})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Give back what the engine holds; the release can still be asked, by opening anew."""
        self.engine.close()

    @property
    def dropped_design(self) -> Mapping[str, tuple[str, ...]]:
        """Columns of the survey design that were not published, by role: weights, strata, clusters."""
        return self.manifest.dropped_design

    @property
    def method(self) -> str:
        """Public name of the method that made it."""
        return str(self.manifest.method["method"])

    @cached_property
    def schema(self) -> Schema:
        """The attributes that questions are asked in: those of all published tables, those of the rows first.

        Where rows were generalized these are the attributes before generalization; what stands in the
        files is in :attr:`published_schema`.
        """
        asked = self.law.question_schema(self.published_schema)
        return asked.knowing_left_out((*self.manifest.attributes_left_out(asked), *self.law.without_column))

    @cached_property
    def published_schema(self) -> Schema:
        """The attributes of all published tables as they stand in the files, those of the rows first."""
        attributes = {
            each.name: each for entry in self.tables for each in entry.schema_of_attributes.attributes
        }
        return Schema(attributes=tuple(attributes.values()))

    @property
    def tables(self) -> tuple[TableEntry, ...]:
        """The published tables as the manifest lists them; the rows are the first."""
        return self.manifest.tables

    @property
    def number_of_rows(self) -> int:
        """Published rows."""
        return self.manifest.tables[0].number_of_rows

    @cached_property
    def law(self) -> Law:
        """How published counts relate to true ones."""
        return LAWS.read(self.manifest.law)

    @cached_property
    def signature(self) -> Signature | None:
        """Who vouches for it; None where nobody signed, refused where it is not of this manifest."""
        return None if self.folder is None else fitting_signature(self.folder, self.manifest)

    @cached_property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """What is promised."""
        return self.manifest.stated_guarantees

    def count_by(self, names: Sequence[str], where: Selection | None = None) -> CountTable:
        """Counts of the *published* rows, as they stand; use :meth:`counts` to estimate true ones.

        Raises
        ------
        QueryError
            When the rows lack an attribute, be it that another published table holds it.
        """
        return self._counts.count_by(names, where or Selection())

    def count_occupied(self, names: Sequence[str], *, weight: str | None = None) -> OccupiedCounts:
        """Published combinations that occur, with their rows or the sum of an integer column of theirs."""
        return self._counts.count_occupied(names, weight)

    def counting(self, sets: Iterable[Sequence[str]]) -> AbstractContextManager[None]:
        """Until the end, the first question that needs rows counts for all of these sets of attributes."""
        return self._counts.expecting(frozenset(each) for each in sets)

    @cached_property
    def _counts(self) -> KeptCounts:
        """Counts of the published rows, kept: a law may ask for the same in every query."""
        entry = self.manifest.tables[0]
        return KeptCounts(self.engine, self.sources[entry.name], entry.schema_of_attributes)

    def items(self, long: LongTable) -> KeptItems:
        """What the units of a long table have of its items, as published."""
        if self._items is None:
            columns = self.manifest.table(long.table).schema_of_attributes
            self._items = KeptItems(long, columns, partial(self.scan, long.table))
        return self._items

    def scan(self, table: str, names: Sequence[str]) -> Iterator[CodedBatch]:
        """Columns of one published table as they stand: categories as codes, whole numbers as they are."""
        entry = self.manifest.table(table)
        integers = [name for name in names if name in entry.integers]
        attributes = entry.schema_of_attributes.select(name for name in names if name not in integers)
        return self.engine.scan(self.sources[table], attributes, integers=integers)

    def query(
        self,
        question: str = "",
        *,
        confidence_level: float = 0.95,
        target: Target = "table",
        estimator: str | None = None,
    ) -> Answer:
        """Estimate how many rows satisfy a condition.

        Parameters
        ----------
        question
            Conditions joined by AND, OR, NOT and parentheses, such as ``"job = 'Sales' AND (age < 35 OR sex = 'F')"``.
        confidence_level
            Of the interval.
        target
            ``"table"`` for the number among the private table's own rows (the error is the noise of
            publishing), ``"population"`` for the number to expect in a table drawn anew from the same
            population (the error of drawing comes on top).
        estimator
            Another estimator of the release's law, by name; the unbiased one when not given.
        """
        return self._ask(self._read(question), confidence_level, target, estimator)

    def _read(self, question: str) -> Predicate:
        return Predicate.parse(question, self.schema, self.manifest.merged_labels)

    def _ask(
        self, where: Predicate, confidence_level: float, target: Target, estimator: str | None
    ) -> Answer:
        if estimator is None:
            estimates = self.law.estimate_predicates(self, (where,), target=target)
            note = "; ".join(dict.fromkeys((*where.notes, *remarks_on(self.law, self, where, estimates))))
        else:
            estimates, note = self._estimate_by(estimator, (), where, target), "; ".join(where.notes)
        asked = where.describe(self.schema)
        answer = self._answer(asked, estimates, confidence_level, target, estimator, note=note)
        origin = Origin(self, (where,), (1.0,), target) if estimator is None else None
        return dataclasses.replace(answer, origin=origin)

    def queries(
        self,
        questions: Sequence[str],
        *,
        confidence_level: float = 0.95,
        target: Target = "table",
        estimator: str | None = None,
    ) -> tuple[Answer, ...]:
        """Answers to many questions, each as :meth:`query` gives it.

        The rows are read once for all of them where the law works from counts: for 1,000 questions
        over a few sets of attributes, a few times the cost of one.

        Raises
        ------
        QueryError
            With the number of the first question that cannot be read, before any is answered.
        """
        asked = Predicate.parse_all(questions, self.schema, self.manifest.merged_labels)
        with self.counting(part.names for each in asked for part in each.parts):
            return tuple(self._ask(each, confidence_level, target, estimator) for each in asked)

    def proportion(
        self,
        question: str,
        *,
        given: str = "",
        confidence_level: float = 0.95,
        target: Target = "table",
    ) -> Answer:
        """Estimate which share of the rows satisfying ``given`` also satisfies the question.

        The ratio of two unbiased counts, by the delta method: nearly unbiased when the group is large, unreliable when not.
        """
        group, wanted = self._read(given), self._read(question)
        share = share_of(self, wanted, group, target)
        among = f" among {group.describe(self.schema)}" if given.strip() else ""
        asked, note = f"share of {wanted.describe(self.schema)}{among}", "; ".join((wanted & group).notes)
        answer = self._answer(asked, share.estimates, confidence_level, target, note=note)
        origin = Origin(self, share.predicates, share.gradient, target)
        # Not unbiased itself, even where both counts are.
        named = f"ratio of two counts, each {answer.estimator}"
        return dataclasses.replace(answer, estimator=named, origin=origin)

    def difference(
        self,
        question: str,
        *,
        given: str,
        versus: str,
        confidence_level: float = 0.95,
        target: Target = "table",
    ) -> Answer:
        """Estimate how much more often a question is true in one group than in another.

        Some releases leave single counts open and still answer this one: it compares.

        Parameters
        ----------
        question
            What the shares are of.
        given, versus
            Conditions that make the two groups.
        """
        asked, first, second = (self._read(each) for each in (question, given, versus))
        estimates = difference_of_shares(self, asked, (first, second), target)
        texts = [each.describe(self.schema) or "all rows" for each in (asked, first, second)]
        described = f"share of {texts[0]} among {texts[1]} minus among {texts[2]}"
        note = "; ".join(dict.fromkeys(note for each in (asked, first, second) for note in each.notes))
        return self._answer(described, estimates, confidence_level, target, note=note)

    def counts(
        self,
        by: str | Sequence[str],
        *,
        where: str = "",
        confidence_level: float = 0.95,
        target: Target = "table",
        estimator: str | None = None,
        simultaneous: Simultaneous | None = None,
    ) -> AnswerTable:
        """Unbiased estimates of the true counts over some attributes' categories.

        Parameters
        ----------
        by
            Attribute, or attributes, to tabulate.
        where
            Conditions that rows must satisfy.
        confidence_level, target, estimator
            As for :meth:`query`.
        simultaneous
            Make the intervals hold all together, whatever the errors (``"bonferroni"``) or by their correlation (``"max-t"``).
        """
        names, among = axes_of(self.schema, by), Predicate.parse(where, self.schema)
        if estimator is None:
            estimates = estimate_table(self.law, self, names, among, target)
        else:
            estimates = self._estimate_by(estimator, names, among, target)
        return self._table(
            names, among, estimates, confidence_level, target, estimator=estimator, simultaneous=simultaneous
        )

    def _estimate_by(
        self, estimator: str, names: tuple[str, ...], where: Predicate, target: Target
    ) -> Estimates:
        return self.law.estimate_by(estimator, self, Tabulation(names, where.single()), target=target)

    def _described(self, estimator: str | None) -> str:
        """What a reader must know of the numbers: unbiased, or the estimator and what it gives up."""
        return self.law.estimate_is if estimator is None else f"{estimator}: {self.law.estimators[estimator]}"

    def consistent_counts(
        self,
        by: str | Sequence[str],
        *,
        where: str = "",
        confidence_level: float = 0.95,
        feasibility: Feasibility = "projection",
    ) -> AnswerTable:
        """Counts that are not negative and add up to what is exactly known; biased where cut.

        Their intervals are those of the unbiased estimates, cut at zero and stretched where they do not hold the
        consistent count, so that they cover as often. About the biased counts themselves they would not.

        Parameters
        ----------
        by, where, confidence_level
            As for :meth:`counts`.
        feasibility
            ``"projection"`` for the nearest such counts, ``"clip"`` to cut and rescale, ``"em"`` for the
            most likely ones (slower, and usually the closest when many cells are nearly empty).
        """
        names, among = axes_of(self.schema, by), Predicate.parse(where, self.schema)
        feasible = consistent_table(self.law, self, names, among, feasibility)
        return self._table(names, among, feasible, confidence_level, "table", is_consistent=True)

    def _answer(
        self,
        question: str,
        estimates: Estimates,
        confidence_level: float,
        target: Target,
        estimator: str | None = None,
        *,
        note: str = "",
    ) -> Answer:
        refuse_target(self, target)
        return Answer.of(
            question,
            estimates,
            confidence_level,
            self.method,
            str(self.manifest.law["law"]),
            target,
            estimator=self._described(estimator),
            note="; ".join(each for each in (note, self.manifest.note_of_dropped) if each),
        )

    def _table(
        self,
        names: tuple[str, ...],
        where: Predicate,
        estimates: Estimates,
        confidence_level: float,
        target: Target,
        *,
        is_consistent: bool = False,
        estimator: str | None = None,
        simultaneous: Simultaneous | None = None,
    ) -> AnswerTable:
        attributes = self.schema.select(names)
        codes = tuple(where.codes(each) for each in attributes)
        estimates.intervals(confidence_level)  # refuses a wrong level before anything is shown
        refuse_target(self, target)
        return AnswerTable(
            attributes,
            codes,
            estimates,
            confidence_level,
            self.method,
            str(self.manifest.law["law"]),
            target,
            is_consistent,
            self._described(estimator),
            level_of_each=simultaneous and level_of_each(estimates, confidence_level, simultaneous),
            notes=tuple(each for each in (self.manifest.note_of_dropped,) if each),
        )

    def to_dict(self) -> dict[str, Any]:
        """The manifest as plain data."""
        return self.manifest.model_dump(mode="json")
