"""Decision trees from estimated counts, rows to classify, and prediction error estimated from a release."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.analysis.counts import (
    Classification,
    Countable,
    Crossed,
    as_columns,
    ask_cells,
    ask_sums,
    ask_two_way,
)
from sfumato.analysis.equations import carry
from sfumato.analysis.identified_sets import (
    Room,
    are_loose,
    beyond,
    claim_of,
    note_of_bounds,
    refuse_assumed,
    shares_between,
)
from sfumato.analysis.independence import GroupTable
from sfumato.analysis.measure_formulas import MEASURES, without_noise
from sfumato.analysis.moments import WHOLE_RANGE, NumberEstimate
from sfumato.arrays import Booleans, Floats, Integers
from sfumato.errors import NoSolutionError, NotIdentifiableError, ParameterError, QueryError
from sfumato.estimates.estimates import Estimates
from sfumato.laws import Target, refuse_target
from sfumato.query.selection import Selection
from sfumato.results import Charted, bar_chart
from sfumato.schema import Attribute
from sfumato.text import show_with_error

# --------------------------------------------------------------------------------------------------
# Rows to classify, as codes: from tables of labels, records, or codes themselves.


def codes_of_rows(rows: Any, features: Sequence[Attribute]) -> Integers:
    """Codes of rows, ``(rows, features)``.

    Parameters
    ----------
    rows
        A table with a column of labels for each feature (pandas, polars, pyarrow: whatever speaks Arrow's C stream), a list of
        dictionaries, or an array of codes with a column for each feature in order.
    features
        What the columns are.

    Raises
    ------
    ParameterError
        When a column is missing or has codes that no category has.
    QueryError
        When a label is no category of its attribute.

    Examples
    --------
    >>> from sfumato.schema import Role
    >>> sex = Attribute(name="sex", role=Role.OTHER, categories=("F", "M"))
    >>> codes_of_rows([{"sex": "M"}, {"sex": "F"}], [sex]).tolist()
    [[1], [0]]
    """
    names = [each.name for each in features]
    if not hasattr(rows, "__arrow_c_stream__") and not all(isinstance(each, Mapping) for each in rows):
        return _checked(np.asarray(rows), features)
    columns = _columns(rows, names)
    missing = [name for name in names if name not in columns]
    if missing:
        raise ParameterError(
            f"the rows have no column {missing[0]!r}. Give one for each of {', '.join(names)}.",
            parameter="rows",
        )
    return np.column_stack([_codes(columns[each.name], each) for each in features])


def _columns(rows: Any, names: Sequence[str]) -> Mapping[str, Sequence[Any]]:
    if hasattr(rows, "__arrow_c_stream__"):
        import pyarrow as pa

        table = pa.table(rows)
        return {name: table[name].to_pylist() for name in names if name in table.column_names}
    records = list(rows)
    return {name: [each[name] for each in records] for name in names if all(name in each for each in records)}


def _codes(labels: Sequence[Any], attribute: Attribute) -> Integers:
    known = {label: code for code, label in enumerate(attribute.labels)}
    try:
        return np.array([known[str(each)] for each in labels], dtype=np.int64)
    except KeyError:
        raise QueryError(
            f"a row has a label that is no category of {attribute.name!r}; categories are "
            f"{', '.join(map(repr, attribute.labels[:8]))}{', …' if attribute.size > 8 else '.'} Bins are named by their labels."
        ) from None


def _checked(codes: Any, features: Sequence[Attribute]) -> Integers:
    sizes = np.array([each.size for each in features])
    if codes.dtype.kind not in "iuf" or (codes != np.floor(codes)).any():
        raise ParameterError(
            "rows are a table with a column of labels for each feature, a list of dictionaries, or an array of whole numbers.",
            parameter="rows",
        )
    if codes.ndim != 2 or codes.shape[1] != sizes.size or (codes < 0).any() or (codes >= sizes).any():
        raise ParameterError(
            f"codes must have a column for each of the {sizes.size} features, each from 0 up to its number of categories.",
            parameter="rows",
        )
    return np.asarray(codes, dtype=np.int64)


# --------------------------------------------------------------------------------------------------
# How often a classifier is wrong among the true rows, estimated from a release.


APPARENT = "where the classifier was learned from this release, this is its apparent error, which is too small; ask another release"


def prediction_error(
    release: Countable,
    of: str,
    features: Sequence[str],
    predict: Callable[[Integers], Integers],
    *,
    where: str = "",
    confidence_level: float = 0.95,
    target: Target = "table",
) -> NumberEstimate:
    """Share of the true rows whose class a rule gets wrong.

    Held against published rows, a rule that is right about true ones would look wrong as often as noise changed them. The
    number of errors is a sum of true counts, so the law estimates it without bias.

    Parameters
    ----------
    release
        What the rule is tested on.
    of
        The class attribute.
    features
        What the rule looks at.
    predict
        Of codes of the features, ``(rows, features)``, the codes of the class, ``(rows,)``.
    where, confidence_level, target
        As for any question.

    Raises
    ------
    NoSolutionError
        When no rows are estimated to be there.
    """
    refuse_target(release, target)
    cells = ask_sums(release, (*features, of), where=where)
    codes = np.column_stack([cells.codes[name] for name in features])
    is_wrong = (np.asarray(predict(codes)) != cells.codes[of]).astype(float)
    counts = cells.estimates
    total = float(counts.values.sum())
    if total <= 0:
        raise NoSolutionError(
            "no rows are estimated to be there, so that a share of them is not defined. Ask about more rows.",
            reason="undefined",
        )
    share = float(is_wrong @ counts.values) / total
    error = carry(np.array([share]), (is_wrong - share)[None, :] / total, counts, target)
    low, high = (float(each[0]) for each in error.intervals(confidence_level))
    if are_loose(counts).any():
        low, high = beyond((low, high), share, _between(counts, is_wrong > 0, cells.rows), counts, target)
    ends = float(np.clip(low, 0, 1)), float(np.clip(high, 0, 1))
    return NumberEstimate(
        f"share of rows whose {of} is predicted wrongly",
        share,
        float(error.standard_errors[0]),
        *ends,
        confidence_level,
        cells.source.method,
        cells.source.law,
        target,
        notes=(
            *cells.notes,
            *note_of_bounds(counts),
            APPARENT,
            *([WHOLE_RANGE] if ends == (0, 1) else []),
        ),
        certainty=claim_of(counts, target),
    )


def _between(counts: Estimates, is_wrong: Booleans, rows: tuple[float, float]) -> tuple[float, float]:
    """The least and the most that the share of some cells can be whatever their bounds allow, and whatever they add up to."""
    room = Room.of(counts, rows)
    sums = [(room.low[each].sum(), room.high[each].sum()) for each in (is_wrong, ~is_wrong)]
    # Rows that cannot be in the other cells are in these.
    (least, most), (least_right, most_right) = (
        (max(low, room.rows[0] - other[1]), min(high, room.rows[1] - other[0]))
        for (low, high), other in zip(sums, sums[::-1], strict=True)
    )
    wrong, right = (
        tuple(np.array([each]) for each in pair) for pair in ((least, most), (least_right, most_right))
    )
    low, high = shares_between((wrong[0], wrong[1]), (right[0], right[1]))
    return float(low[0]), float(high[0])


# --------------------------------------------------------------------------------------------------
# A decision tree over categories.


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
        """The likeliest class of each row, by label: rows as :func:`~sfumato.analysis.classifiers.codes_of_rows` takes them."""
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


# --------------------------------------------------------------------------------------------------
# Growing a decision tree from estimated counts: splits by what noise did not make.


MOST_CLASSES = 10
"""Classes that the test of a split tells apart: the most frequent; the others are taken together."""

MOST_CELLS = 120
"""Categories of a feature times classes that it tells apart, the most frequent again; its work grows with the cube of them, and cells of few rows let it reject too often."""

FEWEST_ERRORS = 2.0
"""Standard errors by which a number of rows must lie above zero to be told from none."""

NOT_TOLD = "rows that cannot be told from none: predicted as above"
"""Why a node has the shares of the one that it comes from."""


@dataclass(frozen=True)
class Settings:
    """When a tree stops growing.

    Parameters
    ----------
    depth
        Splits from the root to a leaf, at most.
    level
        At which a feature must go with the class to be split by, shared among the features that are tried.
    least_rows
        Estimated rows below which a node is not split.
    """

    depth: int
    level: float
    least_rows: float


@dataclass(frozen=True)
class Split:
    """A feature that could split a node: how much impurity it takes away, raw and with the noise taken out, and its test."""

    feature: str
    decrease: float
    raw: float
    p_value: float


def grow_tree(
    release: Countable,
    of: str,
    features: Sequence[str],
    *,
    depth: int = 3,
    level: float = 0.05,
    least_rows: float = 50,
    where: str = "",
) -> Tree:
    """Grow a decision tree of an attribute from estimated counts.

    Parameters
    ----------
    release
        What is asked; class, features or both may be perturbed.
    of
        The attribute to predict.
    features
        What to predict it from.
    depth, level, least_rows
        When it stops: see :class:`Settings`.
    where
        Only rows that satisfy these conditions.

    Raises
    ------
    NotIdentifiableError
        When the law leaves the joint of a feature and the class open, or knows it within bounds only. Below the root, a
        node whose joint is not identifiable is a leaf.

    Notes
    -----
    A split is by every category of the feature that lowers the Gini impurity most, among those that go with the class by the
    corrected test. The plain decrease of estimated counts rewards noise, the more the more categories a feature has:
    what noise adds on average is taken out of it first (``n^2 - Var(n)`` in the place of ``n^2``). Rare categories are taken together
    to find out whether a feature tells anything, and where a category's rows cannot be told from none, the class is the one above.
    """
    schema = release.schema.publishable
    if not features or of in features or len(set(features)) < len(features):
        raise QueryError(
            f"a tree needs one feature or more, each once and {of!r} not among them. Name other attributes."
        )
    if depth < 1 or not 0 < level < 1 or least_rows < 0:
        raise ParameterError(
            f"depth must be 1 or more, level between 0 and 1 and least_rows 0 or more, got {depth}, {level} and {least_rows}.",
            parameter="depth",
        )
    attributes = schema.select(features)
    target = schema[of]
    grower = _Grower(release, of, tuple(features), Settings(depth, level, least_rows), where)
    source = ask_cells(release, (of,), where=where).source
    return Tree(target, attributes, grower.node(()), source.method, source.law)


@dataclass(frozen=True, eq=False)
class _Grower:
    release: Countable
    of: str
    features: tuple[str, ...]
    settings: Settings
    where: str

    def node(self, conditions: tuple[tuple[str, int], ...], above: Floats | None = None) -> Node:
        """A node with all below it; above are the shares of the node that it comes from."""
        where = self._where(conditions)
        counts = ask_cells(self.release, (self.of,), where=where).estimates
        total = counts.linear(np.ones((1, counts.values.size)))
        rows, error = float(total.values[0]), float(total.standard_errors[0])
        if above is not None and (rows <= 0 or rows < FEWEST_ERRORS * error):
            # Shares of what may be nobody are noise: the rows above say more.
            return Node(conditions, rows, error, above, why=NOT_TOLD)
        shares = counts.values / rows if rows > 0 else np.full(counts.values.size, 1 / counts.values.size)
        best, why = self._best(conditions, where, rows)
        if best is None:
            return Node(conditions, rows, error, shares, why=why)
        sizes = self.release.schema[best.feature].size
        children = tuple(self.node((*conditions, (best.feature, code)), shares) for code in range(sizes))
        return Node(conditions, rows, error, shares, best.feature, best.decrease, best.p_value, children)

    def _best(
        self, conditions: tuple[tuple[str, int], ...], where: str, rows: float
    ) -> tuple[Split | None, str]:
        left = [name for name in self.features if name not in dict(conditions)]
        if len(conditions) >= self.settings.depth:
            return None, "as deep as asked for"
        if not left:
            return None, "no feature is left"
        if rows < self.settings.least_rows:
            return None, "too few rows"
        try:
            tried = [
                each for name in left if (each := try_split(self.release, self.of, name, where)) is not None
            ]
        except NotIdentifiableError:
            if not conditions:
                raise
            return None, "the release does not determine deeper splits"
        fitting = [
            each for each in tried if each.p_value < self.settings.level / len(left) and each.decrease > 0
        ]
        best = max(fitting, key=lambda each: each.decrease, default=None)
        return best, "" if best else "nothing goes with the class beyond chance"

    def _where(self, conditions: tuple[tuple[str, int], ...]) -> str:
        chosen = Selection(tuple((name, (code,)) for name, code in conditions))
        text = chosen.describe(self.release.schema) if conditions else ""
        if not self.where.strip():
            return text
        return f"({self.where}) AND {text}" if text else self.where


def try_split(release: Countable, of: str, feature: str, where: str) -> Split | None:
    """What splitting by a feature would do; None where the estimated counts leave that open.

    Categories and classes that hardly any row is estimated to have are taken together, or left out where even together they have
    none: a single rare one would leave every share undefined, and with it the feature.
    """
    asked = ask_two_way(release, feature, of, where=where)
    refuse_assumed(asked.counts, asked.cells.source.estimator, f"the test whether to split by {feature}")
    classes = _told_apart(asked, 1, MOST_CLASSES)
    places = [_told_apart(asked, 0, MOST_CELLS // max(int(classes.max()) + 1, 1)), classes]
    if min(int(each.max()) for each in places) < 1:
        return None
    try:
        crossed = _merged(asked, places)
        crossed.refuse_empty_margins("no split is defined")
        decrease, raw = without_noise(MEASURES["gini-decrease"], crossed)
        codes = np.indices(crossed.shape).reshape(2, -1)
        tested = GroupTable(crossed.counts, np.vstack([np.zeros_like(codes[:1]), codes])).judge()
    except NoSolutionError:
        return None
    return Split(feature, decrease, raw, tested.p_value)


def _told_apart(table: Crossed, axis: int, most: int) -> Integers:
    """For each class on one side its new place: its own for the most frequent ones that can be told from none, the last one for all others.

    Where even together those cannot be told from none they are left out: -1.
    """
    number = table.shape[axis]
    codes = np.indices(table.shape).reshape(2, -1)[axis]
    margins = table.counts.linear((codes == np.arange(number)[:, None]).astype(float))
    is_told = (margins.values > 0) & (margins.values >= FEWEST_ERRORS * margins.standard_errors)
    is_told &= np.argsort(np.argsort(-margins.values, kind="stable"), kind="stable") < most
    places = np.where(is_told, np.cumsum(is_told) - 1, -1)
    rest = margins.linear((~is_told)[None, :].astype(float))
    if rest.values[0] > 0 and rest.values[0] >= FEWEST_ERRORS * rest.standard_errors[0]:
        places[~is_told] = int(is_told.sum())
    return np.asarray(places, dtype=np.int64)


def _merged(table: Crossed, places: Sequence[Integers]) -> Crossed:
    """The same counts by fewer classes."""
    sides = []
    for side, own in zip(table.sides, places, strict=True):
        members = [np.flatnonzero(own == place) for place in range(int(own.max()) + 1)]
        labels = tuple(" or ".join(side.labels[each] for each in together) for together in members)
        sides.append(Classification(side.text, labels))
    first, second = (
        own[codes] for own, codes in zip(places, np.indices(table.shape).reshape(2, -1), strict=True)
    )
    cells = np.where((first < 0) | (second < 0), -1, first * len(sides[1].labels) + second)
    number = len(sides[0].labels) * len(sides[1].labels)
    return Crossed(
        (sides[0], sides[1]), table.counts.linear((cells == np.arange(number)[:, None]).astype(float))
    )
