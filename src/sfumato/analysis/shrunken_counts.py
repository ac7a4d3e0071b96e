"""Counts of a release moved towards zero."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.analysis.asking import Countable, as_columns
from sfumato.analysis.shrinkage import Mode, Shrunken, shrink
from sfumato.errors import NotIdentifiableError
from sfumato.values.arrays import Floats
from sfumato.values.charts import bar_chart
from sfumato.values.number_text import percent
from sfumato.values.result_tables import ResultTable
from sfumato.values.schema import Attribute
from sfumato.values.tabular import Charted

ONE_SIZE = 1.01
"""Largest over smallest variance up to which all counts have the same noise."""


@dataclass(frozen=True, eq=False)
class ShrunkenCounts(Charted):
    """Counts of a release, moved towards zero.

    Parameters
    ----------
    attributes
        One for each axis.
    shrunken
        The counts and what was done to them.
    scale
        Of the noise on every count.
    mode
        How they were moved.
    """

    attributes: tuple[Attribute, ...]
    shrunken: Shrunken
    scale: float
    mode: Mode
    method: str
    law: str

    @property
    def values(self) -> Floats:
        """With one axis for each attribute."""
        return self.shrunken.values

    def __repr__(self) -> str:
        return f"ShrunkenCounts({', '.join(each.name for each in self.attributes)}: {self.shrunken!r})"

    def __str__(self) -> str:
        return self.summary()

    def _rows(self) -> list[dict[str, object]]:
        labels = [each.labels for each in self.attributes]
        return [
            {
                **{
                    each.name: texts[code]
                    for each, texts, code in zip(self.attributes, labels, cell, strict=True)
                },
                "shrunken_count": float(self.values[cell]),
            }
            for cell in np.ndindex(self.values.shape)
        ]

    def summary(self) -> str:
        """A table for people, with what was done."""
        rows = self._rows()
        table = ResultTable(
            f"Counts moved towards zero ({self.mode}): biased on purpose, without error bars",
            (*(each.name for each in self.attributes), "count"),
            tuple((*map(str, list(row.values())[:-1]), float(str(row["shrunken_count"]))) for row in rows),
        )
        said = (
            f"Noise of scale {self.scale:.4g}; {percent(self.shrunken.share_thresholded)} of the cells came out as zero; "
            f"rate ratio {self.shrunken.rate_ratio:.3g}"
        )
        caveats = [f"Note: {each}" for each in self.shrunken.caveats]
        return "\n".join([table.to_text(), said, f"({self.method}, law {self.law})", *caveats])

    def to_dict(self) -> dict[str, object]:
        """Plain data, as ``shrink --json`` prints it."""
        return {
            "attributes": [each.name for each in self.attributes],
            "mode": self.mode,
            "scale": self.scale,
            "shift": self.shrunken.shift,
            "share_thresholded": self.shrunken.share_thresholded,
            "rate_ratio": self.shrunken.rate_ratio,
            "caveats": list(self.shrunken.caveats),
            "rows": self._rows(),
            "method": self.method,
            "law": self.law,
        }

    def to_arrow(self) -> Any:
        """A pyarrow table with a row for each cell."""
        import pyarrow as pa

        return pa.table(as_columns(self._rows()))

    def figure(self) -> dict[str, Any]:
        """A Vega-Lite chart of the counts, as plain data."""
        points = [
            {"label": ", ".join(map(str, list(row.values())[:-1])), "value": row["shrunken_count"]}
            for row in self._rows()
        ]
        return bar_chart(
            points, title=", ".join(each.name for each in self.attributes), unit="rows, moved towards zero"
        )


def shrink_counts(release: Countable, by: Sequence[str], *, mode: Mode = "counts") -> ShrunkenCounts:
    """Counts of a release moved towards zero; its noise must be of one size on every count.

    Parameters
    ----------
    release
        Such as one by noisy marginals.
    by
        Attributes to tabulate.
    mode
        See :data:`~sfumato.analysis.shrinkage.Mode`.

    Raises
    ------
    NotIdentifiableError
        When the counts are exact, or their errors differ from cell to cell: the estimators are made for equal noise.

    Notes
    -----
    The scale is that of the Laplace law with the variance of the estimates. Where a count adds up cells of a larger table, its
    noise is nearer to normal, and the scale is that of its variance all the same.
    """
    table = release.counts(tuple(by))
    variances = table.estimates.variances
    if not variances.all() or variances.max() > ONE_SIZE * variances.min():
        raise NotIdentifiableError(
            "shrinkage is made for counts with noise of one size on each, and these are exact or differ. Take the unbiased or the "
            "consistent counts; releases by noisy-marginals can be shrunken."
        )
    scale = float(np.sqrt(variances.mean() / 2))
    return ShrunkenCounts(
        table.attributes, shrink(table.values, scale, mode=mode), scale, mode, table.method, table.law
    )
