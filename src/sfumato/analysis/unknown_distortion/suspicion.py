"""A suspected matrix held against the margin that was published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.analysis.published import PublishedRows
from sfumato.chance.distortion import DenseDistortion, Distortion, UniformDistortion, check_sizes
from sfumato.errors import ParameterError
from sfumato.laws import Target, refuse_unknown_target
from sfumato.release.release import Release
from sfumato.values.arrays import Floats
from sfumato.values.charts import bar_chart
from sfumato.values.feasibility import most_likely
from sfumato.values.number_text import show_cell
from sfumato.values.schema import Attribute
from sfumato.values.tabular import Charted

LEAST_EIGENVALUE = 1e-9
"""Share of the largest below which a direction has no spread: the matrix says exactly what is published there."""

LEVEL = 0.05
"""At which a matrix is called refuted in words; the p-value is told beside it."""


@dataclass(frozen=True)
class Suspicion(Charted):
    """Whether a published margin could come from a suspected matrix.

    Parameters
    ----------
    attribute
        The perturbed attribute.
    statistic, degrees, p_value
        Of a chi-square test. Without the true margin it is an upper bound of the p-value: some true margin is sought that
        fits best.
    published, expected
        Counts by category.
    assumed
        What was taken for the true margin.
    """

    attribute: str
    statistic: float
    degrees: int
    p_value: float
    categories: tuple[str, ...]
    published: tuple[float, ...]
    expected: tuple[float, ...]
    assumed: str

    def __repr__(self) -> str:
        return f"Suspicion({self.attribute}: {self.words}, p = {self.p_value:.3g})"

    def __str__(self) -> str:
        return self.summary()

    @property
    def words(self) -> str:
        """What the p-value says of the matrix."""
        return "refuted" if self.p_value < LEVEL else "not refuted"

    def summary(self) -> str:
        """A few lines for people."""
        rows = zip(self.categories, self.published, self.expected, strict=True)
        return "\n".join(
            [
                f"Suspected matrix of {self.attribute}: {self.words} at {LEVEL:g}",
                f"Chi-square {show_cell(self.statistic)} on {self.degrees} degrees, p = {self.p_value:.3g} ({self.assumed})",
                *(
                    f"  {label}: {seen:,.0f} published, {show_cell(due)} expected"
                    for label, seen, due in rows
                ),
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as ``check-matrix --json`` prints it."""
        lists = {name: list(getattr(self, name)) for name in ("categories", "published", "expected")}
        return {**vars(self), **lists, "conclusion": self.words}

    def to_arrow(self) -> Any:
        """A pyarrow table with a row for each category."""
        import pyarrow as pa

        return pa.table({name: list(getattr(self, name)) for name in ("categories", "published", "expected")})

    def figure(self) -> dict[str, Any]:
        """A Vega-Lite chart of published counts beside expected ones, as plain data."""
        points = [
            {"label": label, "value": float(value), "kind": kind}
            for kind in ("published", "expected")
            for label, value in zip(self.categories, getattr(self, kind), strict=True)
        ]
        return bar_chart(points, title=self.attribute, unit="rows", kind="count")


def check_matrix(
    release: Release,
    attribute: str,
    *,
    retention: float | None = None,
    matrix: Sequence[Sequence[float]] | None = None,
    margin: Mapping[str, float] | None = None,
    target: Target = "population",
) -> Suspicion:
    """Test whether the published margin of an attribute could have come from a matrix.

    Parameters
    ----------
    release
        One whose rows were redrawn one by one; its own matrices, if it tells them, are not looked at.
    attribute
        A perturbed attribute.
    retention
        Suspected probability of keeping a value, else one drawn uniformly.
    matrix
        Or a whole suspected matrix, a row for each true category and an entry for each published one.
    margin
        True counts or shares by category, where they are known from elsewhere. Without them a matrix is refuted only
        when no true margin at all fits it, as when it is too weak for what was published.
    target
        What the margin is of: the ``"population"`` that rows were drawn from (shares suffice), or the private ``"table"``
        itself (counts that add up to its rows).

    Raises
    ------
    ParameterError
        When the matrix or the margin does not fit the attribute.

    Notes
    -----
    Rows of true category j are published as a multinomial draw from row j of the matrix. With the table's counts n the
    published ones have mean ``n P`` and covariance ``sum_j n_j (diag(P_j) - P_j P_j')``; of a population they are one multinomial
    draw, and the statistic is Pearson's. Without a margin it is the likelihood ratio at the likeliest margin, which is never
    larger than at the true one, so that its chi-square p-value is an upper bound.
    """
    refuse_unknown_target(target)
    own = release.schema[attribute]
    if attribute not in release.law.changed_attributes:
        raise ParameterError(
            f"attribute {attribute!r} was published as it is, so there is no matrix to suspect. Name one of "
            f"{', '.join(release.law.changed_attributes)}.",
            parameter="attribute",
        )
    chances = _suspected(own, retention, matrix).dense()
    published = PublishedRows.redrawn(release).counts(attribute).estimates.values
    if margin is None:
        statistic, degrees, p_value, expected = _at_the_likeliest(published, chances)
        assumed = "the likeliest true margin; the p-value is an upper bound"
    else:
        true = _true_counts(own, margin, float(published.sum()), target)
        expected, covariance = expected_margin(true, chances, target)
        statistic, degrees, p_value = quadratic_test(published - expected, covariance)
        assumed = f"true margin given, of the {target}"
    return Suspicion(
        attribute,
        statistic,
        degrees,
        p_value,
        own.labels,
        tuple(published.tolist()),
        tuple(expected.tolist()),
        assumed,
    )


def _suspected(
    attribute: Attribute, retention: float | None, matrix: Sequence[Sequence[float]] | None
) -> Distortion:
    if (retention is None) == (matrix is None):
        raise ParameterError("give a retention or a matrix to suspect, one of them.", parameter="matrix")
    found: Distortion = (
        UniformDistortion(retention=retention, size=attribute.size)
        if retention is not None
        else DenseDistortion(rows=tuple(tuple(float(each) for each in row) for row in matrix or ()))
    )
    check_sizes({attribute.name: found}, {attribute.name: attribute.size})
    return found


def _true_counts(attribute: Attribute, margin: Mapping[str, float], rows: float, target: Target) -> Floats:
    unknown = sorted(set(margin) ^ set(attribute.labels))
    if unknown:
        raise ParameterError(
            f"the margin must have a number for each category of {attribute.name!r} and no other; {unknown[0]!r} does not fit.",
            parameter="margin",
        )
    numbers = np.array([margin[label] for label in attribute.labels], dtype=float)
    total = float(numbers.sum())
    if not np.isfinite(numbers).all() or (numbers < 0).any() or total <= 0:
        raise ParameterError(
            "the numbers of a margin must not be negative and must not all be zero. Give counts or shares.",
            parameter="margin",
        )
    if target == "table" and round(total) != round(rows):
        raise ParameterError(
            f"the margin of the table itself must add up to its {rows:,.0f} rows, it adds up to {total:g}. Give the table's "
            'counts, or target="population" for shares.',
            parameter="margin",
        )
    return numbers / total * rows


def expected_margin(true: Floats, chances: Floats, target: Target) -> tuple[Floats, Floats]:
    """Published counts to expect of true ones, or of a population with their shares, ``(size,)``, and their covariance."""
    expected = true @ chances
    if target == "population":
        return expected, np.diag(expected) - np.outer(expected, expected) / expected.sum()
    return expected, np.diag(expected) - (chances.T * true) @ chances


def quadratic_test(differences: Floats, covariance: Floats) -> tuple[float, int, float]:
    """Statistic, degrees and p-value of a difference whose covariance is singular: where nothing may vary, nothing may differ."""
    from scipy.special import chdtrc

    sizes, directions = np.linalg.eigh(covariance)
    parts = directions.T @ differences
    free = sizes > LEAST_EIGENVALUE * max(float(sizes[-1]), 1.0)
    degrees = int(free.sum())
    # A hundredth of a row is rounding of the given numbers; a whole row is not.
    if np.abs(parts[~free]).max(initial=0.0) > 0.01 * max(1.0, float(np.sqrt(sizes[-1]))):
        return float("inf"), degrees, 0.0
    statistic = float((parts[free] ** 2 / sizes[free]).sum())
    return statistic, degrees, float(chdtrc(degrees, statistic))


def _at_the_likeliest(published: Floats, chances: Floats) -> tuple[float, int, float, Floats]:
    from scipy.special import chdtrc

    true = most_likely(
        published, lambda each: each @ chances, lambda each: each @ chances.T, np.ones_like(published)
    )
    expected = true @ chances
    seen = published > 0
    ratio = float(2 * (published[seen] * np.log(published[seen] / expected[seen])).sum())
    degrees = published.size - 1
    return max(ratio, 0.0), degrees, float(chdtrc(degrees, max(ratio, 0.0))), np.asarray(expected)
