"""A release in an analyst's hands."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Self

from sfumato.data.engine import Engine
from sfumato.data.sources.base import Source
from sfumato.guarantees import GUARANTEES, Guarantee
from sfumato.laws import LAWS, Law, Target, refuse_unknown_target
from sfumato.release.analyses import Analyses
from sfumato.release.combining import Origin
from sfumato.release.kept_counts import KeptCounts
from sfumato.release.kept_items import KeptItems
from sfumato.release.large_shares import difference_of_shares, share_of
from sfumato.release.manifest import Manifest, TableEntry
from sfumato.release.signature import Signature, fitting_signature
from sfumato.release.simultaneous import Simultaneous, level_of_each
from sfumato.release.tabulating import axes_of, consistent_table, estimate_table, remarks_on
from sfumato.values.answer_tables import AnswerTable
from sfumato.values.answers import Answer
from sfumato.values.batches import CodedBatch
from sfumato.values.counts import CountTable, OccupiedCounts
from sfumato.values.estimates import Estimates
from sfumato.values.feasibility import Feasibility
from sfumato.values.long_tables import LongTable
from sfumato.values.number_text import counted, listed
from sfumato.values.predicate import Predicate
from sfumato.values.schema import Schema
from sfumato.values.selection import Selection, Tabulation


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
        return asked.knowing_left_out(self.manifest.attributes_left_out(asked))

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
        return None if self.folder is None else fitting_signature(self.folder)

    @cached_property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """What is promised."""
        return tuple(
            GUARANTEES.read({key: value for key, value in each.items() if key != "description"})
            for each in self.manifest.guarantees
        )

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
        refuse_unknown_target(target)
        return Answer.of(
            question,
            estimates,
            confidence_level,
            self.method,
            str(self.manifest.law["law"]),
            target,
            estimator=self._described(estimator),
            note=note,
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
        refuse_unknown_target(target)
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
        )

    def to_dict(self) -> dict[str, Any]:
        """The manifest as plain data."""
        return self.manifest.model_dump(mode="json")
