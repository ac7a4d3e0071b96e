"""A search for the smallest loglinear model that fits: exploratory, and marked as such."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.analysis.asking import CellCounts, Countable, as_columns, ask_cells
from sfumato.analysis.independence import Counts, chosen_counts, published_where_valid
from sfumato.analysis.loglinear.fitting import fit_to_cells, refuse_uncertain, refuse_unpreserved
from sfumato.analysis.loglinear.model import Model, every_model
from sfumato.errors import NotIdentifiableError, ParameterError, QueryError
from sfumato.release.release import Release
from sfumato.values.charts import bar_chart
from sfumato.values.number_text import show_cell
from sfumato.values.result_tables import ResultTable
from sfumato.values.schema import Schema
from sfumato.values.tabular import Charted

MOST_ATTRIBUTES = 4
"""Of which there are 114 models; of five there are 6,894."""

EXPLORATORY = (
    "exploratory: the same counts chose the model and test it, so p-values are too large for the one chosen, and its parameters "
    "have no intervals; confirm it on another release"
)


@dataclass(frozen=True)
class Candidate:
    """One model of a search.

    Parameters
    ----------
    model
        As it is written.
    free
        Its degrees of freedom.
    pearson, statistic, degrees, p_value
        Of the corrected residual test; not there where the model could not be tested.
    is_chosen
        The one with most degrees of freedom that is not rejected.
    refused
        Why it could not be tested, in words.
    """

    model: str
    free: int | None = None
    pearson: float | None = None
    statistic: float | None = None
    degrees: float | None = None
    p_value: float | None = None
    is_chosen: bool = False
    refused: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return dict(vars(self))


@dataclass(frozen=True)
class LoglinearSearch(Charted):
    """Every hierarchical model of some attributes, tested.

    Parameters
    ----------
    of
        The attributes.
    level
        At which a model is rejected.
    candidates
        The smallest first.
    """

    of: tuple[str, ...]
    level: float
    candidates: tuple[Candidate, ...]
    counts: str
    method: str
    law: str
    notes: tuple[str, ...]

    @property
    def chosen(self) -> str | None:
        """The model with most degrees of freedom that is not rejected; of several, the one that fits best."""
        return next((each.model for each in self.candidates if each.is_chosen), None)

    def __repr__(self) -> str:
        return (
            f"LoglinearSearch({', '.join(self.of)}: {self.chosen or 'every model is rejected'}, exploratory)"
        )

    def __str__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """A table for people."""
        rows = tuple(
            (
                each.model,
                "" if each.free is None else str(each.free),
                "" if each.statistic is None else show_cell(each.statistic),
                "" if each.degrees is None else show_cell(each.degrees),
                each.refused if each.p_value is None else f"{each.p_value:.3g}",
                "chosen" if each.is_chosen else "",
            )
            for each in self.candidates
        )
        table = ResultTable(
            f"Loglinear models of {', '.join(self.of)}, rejected at {self.level:g} (exploratory)",
            ("Model", "Free", "Corrected chi-square", "Degrees", "p", ""),
            rows,
        )
        return "\n".join(
            [
                table.to_text(),
                f"({self.method}, law {self.law})",
                *(f"Note: {each}" for each in self.notes),
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as ``loglinear --search --json`` prints it."""
        return {
            "of": list(self.of),
            "level": self.level,
            "exploratory": True,
            "chosen": self.chosen,
            "candidates": [each.to_dict() for each in self.candidates],
            "counts": self.counts,
            "method": self.method,
            "law": self.law,
            "notes": list(self.notes),
        }

    def to_arrow(self) -> Any:
        """A pyarrow table with a row for each model."""
        import pyarrow as pa

        return pa.table(as_columns([each.to_dict() for each in self.candidates]))

    def figure(self) -> dict[str, Any]:
        """A Vega-Lite chart of the p-values of models that were tested, as plain data."""
        points = [
            {"label": each.model, "value": each.p_value, "kind": "chosen" if each.is_chosen else "tested"}
            for each in self.candidates
            if each.p_value is not None
        ]
        return bar_chart(points, title="model", unit="p-value of the corrected test", kind="search")


def search_loglinear(
    release: Countable,
    of: Sequence[str],
    *,
    where: str = "",
    counts: Counts | None = None,
    level: float = 0.05,
) -> LoglinearSearch:
    """Test every hierarchical model of some attributes and name the smallest that is not rejected.

    Parameters
    ----------
    release
        What is asked.
    of
        Two to four attributes.
    where, counts
        As for :func:`fit_loglinear`; of published rows only models that randomization preserves are tested.
    level
        At which a model is rejected.

    Notes
    -----
    Only the corrected residual test decides: estimated counts have no likelihood, so that likelihood ratios and
    information criteria would be wrong.
    """
    if not 2 <= len(of) <= MOST_ATTRIBUTES or len(set(of)) < len(of):
        raise QueryError(
            f"a search is among models of two to {MOST_ATTRIBUTES} different attributes, got {len(of)}. Name fewer, or fit a "
            "model of your own."
        )
    if not 0 < level < 1:
        raise ParameterError(
            f"level must lie strictly between 0 and 1, got {level}. Use 0.05.", parameter="level"
        )
    for name in of:
        _ = release.schema.publishable[name]
    chosen = chosen_counts(release, counts)
    rows = published_where_valid(release, (), where) if chosen == "published" else None
    cells = ask_cells(rows or release, tuple(of), where=where)
    refuse_uncertain(cells)
    found = [
        _candidate(cells, each, release.schema, None if rows is None else rows.release)
        for each in every_model(tuple(of))
    ]
    fitting = [each for each in found if each.p_value is not None and each.p_value > level]
    best = max(fitting, key=lambda each: (each.free or 0, each.p_value or 0.0), default=None)
    return LoglinearSearch(
        tuple(of),
        level,
        tuple(Candidate(**{**each.to_dict(), "is_chosen": True}) if each is best else each for each in found),
        chosen,
        cells.source.method,
        cells.source.law,
        (EXPLORATORY, *(cells.notes if rows is None else ())),
    )


def _candidate(cells: CellCounts, model: Model, schema: Schema, published: Release | None) -> Candidate:
    try:
        if published is not None:
            refuse_unpreserved(model, published)
        tested = fit_to_cells(cells, model, schema).tested()
    except NotIdentifiableError as refusal:
        return Candidate(model.text, refused=f"not tested: {str(refusal).split('. ', maxsplit=1)[0]}")
    if tested is None:
        return Candidate(model.text, free=0, refused="fits any table")
    return Candidate(
        model.text, tested.free, tested.pearson, tested.statistic, tested.degrees, tested.p_value
    )
