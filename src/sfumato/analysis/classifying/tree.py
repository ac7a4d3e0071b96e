"""A decision tree over categories."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.analysis.asking import Countable, as_columns
from sfumato.analysis.classifying.prediction_error import prediction_error
from sfumato.analysis.classifying.rows import codes_of_rows
from sfumato.analysis.numbers import NumberEstimate
from sfumato.laws import Target
from sfumato.values.arrays import Floats, Integers
from sfumato.values.charts import bar_chart
from sfumato.values.number_text import show_with_error
from sfumato.values.schema import Attribute
from sfumato.values.tabular import Charted


@dataclass(frozen=True, eq=False)
class Node:
    """One node.

    Parameters
    ----------
    conditions
        What leads here: feature and code, from the root.
    rows, std_error
        Estimated rows, and the error of that.
    shares
        Of every class, estimated, ``(classes,)``; they may lie outside 0 to 1. Those of the node above where the rows cannot be told from none.
    split
        Feature that the node is split by; None for a leaf.
    decrease, p_value
        Of the split: how much it lowers the Gini impurity, noise taken out, and the corrected test of independence.
    children
        One for each category of the split.
    why
        Why a leaf is not split further.
    """

    conditions: tuple[tuple[str, int], ...]
    rows: float
    std_error: float
    shares: Floats
    split: str | None = None
    decrease: float | None = None
    p_value: float | None = None
    children: tuple[Node, ...] = ()
    why: str = ""

    @property
    def predicted(self) -> int:
        """Code of the class with the largest estimated share."""
        return int(np.argmax(self.shares))

    def walk(self) -> Iterator[Node]:
        """The node itself and all below, parents first."""
        yield self
        for each in self.children:
            yield from each.walk()


@dataclass(frozen=True, eq=False)
class Tree(Charted):
    """A decision tree grown from the estimated counts of a release; a classifier as scikit-learn's are used.

    Parameters
    ----------
    of
        The class attribute.
    features
        What it may look at, in the order of columns of codes.
    root
        Its first node.
    """

    of: Attribute
    features: tuple[Attribute, ...]
    root: Node
    method: str
    law: str
    notes: tuple[str, ...] = ()

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """Labels of the classes."""
        return np.array(self.of.labels)

    @property
    def feature_names_in_(self) -> npt.NDArray[Any]:
        """Names of the features."""
        return np.array([each.name for each in self.features])

    def __repr__(self) -> str:
        leaves = sum(not each.children for each in self.root.walk())
        return f"Tree({self.of.name}: {leaves} leaves)"

    def __str__(self) -> str:
        return self.summary()

    def predict(self, rows: Any) -> npt.NDArray[Any]:
        """The likeliest class of each row, by label: rows as :func:`~sfumato.analysis.classifying.rows.codes_of_rows` takes them."""
        return np.asarray(self.classes_[self.predict_codes(codes_of_rows(rows, self.features))])

    def predict_proba(self, rows: Any) -> Floats:
        """Shares of the classes where each row falls, cut at zero and adding up to one, ``(rows, classes)``."""
        codes = codes_of_rows(rows, self.features)
        found = np.empty((len(codes), self.of.size))
        for node, inside in self._leaves(codes):
            shares = np.clip(node.shares, 0, None)
            found[inside] = shares / shares.sum()
        return found

    def score(self, rows: Any, labels: Any) -> float:
        """Share of rows whose class is predicted rightly; rows of a release as they stand are not true ones: ask :meth:`error`."""
        return float(np.mean(self.predict(rows) == np.asarray(list(labels))))

    def error(
        self, release: Countable, *, confidence_level: float = 0.95, target: Target = "table"
    ) -> NumberEstimate:
        """Share of a release's true rows whose class it predicts wrongly, through the law."""
        used = tuple(
            name for name in self.feature_names_in_ if any(each.split == name for each in self.root.walk())
        )
        places = [list(self.feature_names_in_).index(name) for name in used]

        def predict(codes: Integers) -> Integers:
            whole = np.zeros((len(codes), len(self.features)), dtype=np.int64)
            whole[:, places] = codes
            return self.predict_codes(whole)

        # A tree that never looks at a feature needs no table with it; one without splits needs some feature all the same.
        asked = used or (str(self.feature_names_in_[0]),)
        return prediction_error(
            release,
            self.of.name,
            asked,
            predict if used else lambda codes: np.full(len(codes), self.root.predicted),
            confidence_level=confidence_level,
            target=target,
        )

    def predict_codes(self, codes: Integers) -> Integers:
        """Codes of the predicted classes, from codes of all features, ``(rows, features)``."""
        found = np.empty(len(codes), dtype=np.int64)
        for node, inside in self._leaves(codes):
            found[inside] = node.predicted
        return found

    def _leaves(self, codes: Integers) -> Iterator[tuple[Node, npt.NDArray[np.bool_]]]:
        places = {name: place for place, name in enumerate(self.feature_names_in_)}
        for node in self.root.walk():
            if node.children:
                continue
            inside = np.ones(len(codes), dtype=bool)
            for name, code in node.conditions:
                inside &= codes[:, places[name]] == code
            yield node, inside

    def summary(self) -> str:
        """The tree with a line for each node."""
        labels = {each.name: each.labels for each in self.features}
        lines = [f"Decision tree of {self.of.name} by {', '.join(self.feature_names_in_)}"]
        for node in self.root.walk():
            name = "all rows"
            if node.conditions:
                feature, code = node.conditions[-1]
                name = f"{feature} = {labels[feature][code]!r}"
            rows = f"{show_with_error(node.rows, node.std_error)} rows"
            likeliest = f"{self.of.labels[node.predicted]!r} {min(max(node.shares.max(), 0), 1):.3f}"
            by = (
                f"; split by {node.split} (Gini -{node.decrease:.4f}, p = {node.p_value:.3g})"
                if node.split
                else ""
            )
            lines.append(f"{'  ' * len(node.conditions)}{name}: {rows}, {likeliest}{by}")
        lines.append(f"({self.method}, law {self.law})")
        return "\n".join([*lines, *(f"Note: {each}" for each in self.notes)])

    def _nodes(self) -> list[dict[str, Any]]:
        labels = {each.name: each.labels for each in self.features}
        return [
            {
                "conditions": " AND ".join(
                    f"{name} = {labels[name][code]!r}" for name, code in node.conditions
                ),
                "rows": node.rows,
                "std_error": node.std_error,
                "predicted": self.of.labels[node.predicted],
                "share": float(node.shares.max()),
                "split": node.split,
                "decrease": node.decrease,
                "p_value": node.p_value,
                "why": node.why,
            }
            for node in self.root.walk()
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as ``tree --json`` prints it."""
        return {
            "of": self.of.name,
            "features": [each.name for each in self.features],
            "nodes": self._nodes(),
            "method": self.method,
            "law": self.law,
            "notes": list(self.notes),
        }

    def to_arrow(self) -> Any:
        """A pyarrow table with a row for each node."""
        import pyarrow as pa

        return pa.table(as_columns(self._nodes()))

    def figure(self) -> dict[str, Any]:
        """A Vega-Lite chart of the leaves with their estimated rows and predicted classes, as plain data."""
        points = [
            {"label": each["conditions"] or "all rows", "value": each["rows"], "kind": each["predicted"]}
            for each in self._nodes()
            if each["split"] is None
        ]
        return bar_chart(points, title="leaf", unit="rows", kind=self.of.name)
