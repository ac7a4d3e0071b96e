"""Growing a decision tree from estimated counts: splits by what noise did not make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.analysis.asking import Countable, Crossed, ask_cells, ask_two_way
from sfumato.analysis.classification import Classification
from sfumato.analysis.classifying.tree import Node, Tree
from sfumato.analysis.group_tables import GroupTable
from sfumato.analysis.measures import MEASURES
from sfumato.analysis.measures.noise import without_noise
from sfumato.analysis.within_bounds import refuse_assumed
from sfumato.errors import NoSolutionError, ParameterError, QueryError
from sfumato.values.arrays import Floats, Integers
from sfumato.values.selection import Selection

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
        When the law leaves the joint of a feature and the class open, or knows it within bounds only.

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
        tried = [each for name in left if (each := try_split(self.release, self.of, name, where)) is not None]
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
