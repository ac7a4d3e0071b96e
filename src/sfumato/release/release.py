"""A release in an analyst's hands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from sfumato.answers import Answer, AnswerTable
from sfumato.counts import CountTable
from sfumato.engines.duckdb import DuckDBEngine
from sfumato.engines.protocol import Engine
from sfumato.engines.sources import Source
from sfumato.errors import ParameterError
from sfumato.estimates import Estimates
from sfumato.guarantees import GUARANTEES, Guarantee
from sfumato.laws import LAWS, Law, Target
from sfumato.release.manifest import Manifest
from sfumato.release.storage import read_manifest, verified_source
from sfumato.schema import Schema
from sfumato.selection import Selection, Tabulation


class Release:
    """Published data plus its public law. Opened by :func:`load_release`.

    Parameters
    ----------
    folder
        Where the release is.
    manifest
        What it says about itself.
    sources
        The verified file of each published table.
    engine
        Counts the published rows.
    """

    def __init__(
        self, folder: Path, manifest: Manifest, sources: Mapping[str, Source], engine: Engine
    ) -> None:
        self.folder = folder
        self.manifest = manifest
        self.sources = sources
        self.engine = engine

    def __repr__(self) -> str:
        return f"Release({self.method}: {', '.join(self.schema.names)}; {self.number_of_rows:,} rows)"

    @property
    def method(self) -> str:
        """Public name of the method that made it."""
        return str(self.manifest.method["method"])

    @cached_property
    def schema(self) -> Schema:
        """The published attributes."""
        return self.manifest.tables[0].schema_of_attributes

    @property
    def number_of_rows(self) -> int:
        """Published rows."""
        return self.manifest.tables[0].number_of_rows

    @cached_property
    def law(self) -> Law:
        """How published counts relate to true ones."""
        return LAWS.read(self.manifest.law)

    @cached_property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """What is promised."""
        return tuple(
            GUARANTEES.read({key: value for key, value in each.items() if key != "description"})
            for each in self.manifest.guarantees
        )

    def count_by(self, names: Sequence[str], where: Selection | None = None) -> CountTable:
        """Counts of the *published* rows, as they stand; use :meth:`counts` to estimate true ones."""
        conditions = [(self.schema[name], codes) for name, codes in (where or Selection()).conditions]
        source = self.sources[self.manifest.tables[0].name]
        return self.engine.count_by(source, self.schema.select(names), conditions)

    def query(
        self, question: str = "", *, confidence_level: float = 0.95, target: Target = "table"
    ) -> Answer:
        """Estimate how many rows satisfy a condition.

        Parameters
        ----------
        question
            Conditions joined by AND, such as ``"job = 'Sales' AND age < 35"``.
        confidence_level
            Of the interval.
        target
            ``"table"`` for the number among the private table's own rows (the error is the noise of
            publishing), ``"population"`` for the number to expect in a table drawn anew from the same
            population (the error of drawing comes on top).
        """
        where = Selection.parse(question, self.schema)
        estimates = self.law.estimate(self, Tabulation(where=where), target=target)
        return self._answer(where.describe(self.schema), estimates, confidence_level, target)

    def proportion(
        self,
        question: str,
        *,
        given: str = "",
        confidence_level: float = 0.95,
        target: Target = "table",
    ) -> Answer:
        """Estimate which share of the rows satisfying ``given`` also satisfies the question.

        The ratio of two unbiased counts, with the delta method's standard error: nearly unbiased when
        the group is large, unreliable when it is not.
        """
        group = Selection.parse(given, self.schema)
        both = Selection.parse(question, self.schema) & group
        estimates = self.law.estimate_selections(self, (both, group), target=target)
        asked = Selection.parse(question, self.schema).describe(self.schema)
        within = f" among {group.describe(self.schema)}" if given.strip() else ""
        ratio = estimates.ratio(*_UNIT_PAIR)
        return self._answer(f"share of {asked}{within}", ratio, confidence_level, target)

    def counts(
        self,
        by: Sequence[str],
        *,
        where: str = "",
        confidence_level: float = 0.95,
        target: Target = "table",
    ) -> AnswerTable:
        """Unbiased estimates of the true counts over some attributes' categories.

        Parameters
        ----------
        by
            Attributes to tabulate.
        where
            Conditions that rows must satisfy.
        """
        tabulation = self._tabulation(by, where)
        estimates = self.law.estimate(self, tabulation, target=target)
        return self._table(tabulation, estimates, confidence_level, target, is_consistent=False)

    def consistent_counts(
        self, by: Sequence[str], *, where: str = "", confidence_level: float = 0.95
    ) -> AnswerTable:
        """Counts that are not negative and add up to what is exactly known; biased where cut."""
        tabulation = self._tabulation(by, where)
        unbiased = self.law.estimate(self, tabulation)
        feasible = Estimates(self.law.consistent(self, tabulation), unbiased.variances)
        return self._table(tabulation, feasible, confidence_level, "table", is_consistent=True)

    def _tabulation(self, by: Sequence[str], where: str) -> Tabulation:
        names = tuple(each.name for each in self.schema.select(by))
        if not names or len(set(names)) != len(names):
            raise ParameterError(
                f"tabulate over one or more different attributes, got {', '.join(names) or 'none'}. "
                "Name each attribute once.",
                parameter="by",
            )
        return Tabulation(by=names, where=Selection.parse(where, self.schema))

    def _answer(self, question: str, estimates: Estimates, confidence_level: float, target: Target) -> Answer:
        return Answer.of(
            question,
            estimates,
            confidence_level,
            self.method,
            str(self.manifest.law["law"]),
            target,
        )

    def _table(
        self,
        tabulation: Tabulation,
        estimates: Estimates,
        confidence_level: float,
        target: Target,
        *,
        is_consistent: bool,
    ) -> AnswerTable:
        attributes = self.schema.select(tabulation.by)
        codes = tuple(
            chosen if (chosen := tabulation.where.codes(each.name)) is not None else tuple(range(each.size))
            for each in attributes
        )
        estimates.intervals(confidence_level)  # refuses a wrong level before anything is shown
        return AnswerTable(
            attributes,
            codes,
            estimates,
            confidence_level,
            self.method,
            str(self.manifest.law["law"]),
            target,
            is_consistent,
        )

    def to_dict(self) -> dict[str, Any]:
        """The manifest as plain data."""
        return self.manifest.model_dump(mode="json")


_UNIT_PAIR = ([1.0, 0.0], [0.0, 1.0])


def load_release(folder: str | Path, *, engine: Engine | None = None) -> Release:
    """Open a release folder, after checking that nothing in it was changed.

    Raises
    ------
    ReleaseError
        When it is not a release, was damaged or edited, or is of a version not known here.
    """
    path = Path(folder)
    manifest = read_manifest(path)
    sources = {entry.name: verified_source(path, entry) for entry in manifest.tables}
    release = Release(path, manifest, sources, engine or DuckDBEngine())
    # Unknown laws and guarantees are refused on opening, not in the middle of an analysis.
    _ = release.law, release.guarantees
    return release
