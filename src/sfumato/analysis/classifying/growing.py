"""Growing a decision tree from estimated counts: splits by what noise did not make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.analysis.asking import Countable, ask_cells
from sfumato.analysis.classifying.tree import Node, Tree
from sfumato.analysis.independence import independence
from sfumato.analysis.measures import measure
from sfumato.errors import NoSolutionError, ParameterError, QueryError
from sfumato.values.selection import Selection


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
        When the law leaves the joint of a feature and the class open.

    Notes
    -----
    A split is by every category of the feature that lowers the Gini impurity most, among those that go with the class by the
    corrected test. The plain decrease of estimated counts rewards noise, the more the more categories a feature has:
    what noise adds on average is taken out of it first (``n^2 - Var(n)`` in the place of ``n^2``).
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

    def node(self, conditions: tuple[tuple[str, int], ...]) -> Node:
        where = self._where(conditions)
        counts = ask_cells(self.release, (self.of,), where=where).estimates
        total = counts.linear(np.ones((1, counts.values.size)))
        rows, error = float(total.values[0]), float(total.standard_errors[0])
        shares = counts.values / rows if rows > 0 else np.full(counts.values.size, 1 / counts.values.size)
        best, why = self._best(conditions, where, rows)
        if best is None:
            return Node(conditions, rows, error, shares, why=why)
        sizes = self.release.schema[best.feature].size
        children = tuple(self.node((*conditions, (best.feature, code))) for code in range(sizes))
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
    """What splitting by a feature would do; None where the estimated counts leave that open."""
    try:
        found = measure(release, feature, of, where=where, only=["gini-decrease"])["gini-decrease"]
        tested = independence(release, feature, of, where=where, counts="estimated")
    except NoSolutionError:
        return None
    if found.undefined:
        return None
    return Split(feature, found.estimate, found.estimate + found.noise_bias, tested.p_value)
