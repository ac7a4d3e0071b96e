"""What a person may like, from published ratings and his own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.analysis.asking import as_columns
from sfumato.analysis.recommend import fit_release
from sfumato.errors import ParameterError, nearest
from sfumato.methods.columnized_counts.kernels.units import SparseUnits
from sfumato.methods.columnized_counts.law.fragments import long_columns_of
from sfumato.release import Release
from sfumato.values.charts import bar_chart
from sfumato.values.result_tables import ResultTable
from sfumato.values.tabular import Charted

NO_ERROR = (
    "no standard error is given: fragments that were left out may rate otherwise, and nobody can say how"
)


@dataclass(frozen=True)
class Recommended:
    """One item with the ratings to expect: by its mean alone, with the person's bias, and with his tastes."""

    item: str
    mean: float
    with_bias: float
    predicted: float


@dataclass(frozen=True)
class Recommendations(Charted):
    """Items that a person has not rated, those he may like best first.

    Parameters
    ----------
    items
        With their predicted ratings.
    rated
        How many ratings of his they come from.
    """

    items: tuple[Recommended, ...]
    rated: int
    method: str
    law: str
    notes: tuple[str, ...] = (NO_ERROR,)

    def __repr__(self) -> str:
        return f"Recommendations({len(self.items)} items from {self.rated} ratings)"

    def __str__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """A table for people."""
        rows = tuple((each.item, each.predicted, each.with_bias, each.mean) for each in self.items)
        table = ResultTable(
            f"What to expect of items not rated, from {self.rated} ratings",
            ("item", "predicted", "mean and bias", "mean alone"),
            rows,
        )
        return "\n".join(
            [table.to_text(), f"({self.method}, law {self.law})", *(f"Note: {each}" for each in self.notes)]
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as ``recommend --json`` prints it."""
        return {
            "items": [dict(vars(each)) for each in self.items],
            "rated": self.rated,
            "method": self.method,
            "law": self.law,
            "notes": list(self.notes),
        }

    def to_arrow(self) -> Any:
        """A pyarrow table with a row for each item."""
        import pyarrow as pa

        return pa.table(as_columns([dict(vars(each)) for each in self.items]))

    def figure(self) -> dict[str, Any]:
        """A Vega-Lite chart of the predicted ratings, as plain data."""
        points = [{"label": each.item, "value": each.predicted} for each in self.items]
        return bar_chart(points, title="item", unit="predicted rating")


def recommend(release: Release, rated: Mapping[str, str], *, number: int = 10) -> Recommendations:
    """Items that a person may like, from a release of ratings and the person's own, which stay here.

    Parameters
    ----------
    release
        Of unit-item-value data by columnized counts.
    rated
        Item to value, by label; may be empty.
    number
        Items to give, at most.

    Raises
    ------
    ParameterError
        When the release holds no ratings, or an item or value is not of its lists.
    """
    if number < 1:
        raise ParameterError(f"number must be 1 or more, got {number}.", parameter="number")
    model = fit_release(release)
    long = long_columns_of(release.law)
    items = release.schema[long.item]
    values = ("1",) if long.value is None else release.schema[long.value].labels
    codes = [_place(each, items.labels, "item") for each in rated]
    known = SparseUnits.from_triples(
        ["person"],
        np.zeros(len(codes), dtype=np.int64),
        np.array(codes, dtype=np.int64),
        np.array([_place(str(each), values, "value") for each in rated.values()], dtype=np.int64),
        items.size,
        len(values),
    )
    others = np.setdiff1d(np.arange(items.size), codes)
    found = model.predict(known, np.zeros(others.size, dtype=np.int64), others)
    order = np.argsort(-found.with_factors, kind="stable")[:number]
    return Recommendations(
        tuple(
            Recommended(
                items.labels[others[place]],
                float(found.by_means[place]),
                float(found.with_bias[place]),
                float(found.with_factors[place]),
            )
            for place in order
        ),
        len(codes),
        release.method,
        str(release.manifest.law["law"]),
    )


def _place(label: str, labels: tuple[str, ...], what: str) -> int:
    if label not in labels:
        raise ParameterError(
            f"the release has no {what} {label!r}; {nearest(label, labels)}", parameter="rated"
        )
    return labels.index(label)
