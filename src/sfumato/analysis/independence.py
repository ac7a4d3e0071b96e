"""Tests of independence that keep their level on estimated counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.analysis.asking import Countable, TwoWay, ask_two_way
from sfumato.analysis.routine import drawing
from sfumato.errors import NotIdentifiableError
from sfumato.values.arrays import Floats
from sfumato.values.certainty import Certainty
from sfumato.values.number_text import show_cell
from sfumato.values.tabular import Tabular


@dataclass(frozen=True)
class IndependenceTest(Tabular):
    """Whether two attributes could be independent in the population behind a release.

    Parameters
    ----------
    of
        The two attributes or conditions.
    statistic, degrees, p_value
        Pearson's statistic with the second-order correction of Rao and Scott, its degrees of freedom (a fraction
        where the noise is uneven), and its p-value.
    pearson
        The plain statistic of the estimated counts. It must not be referred to a chi-square distribution.
    design_effect
        By how much noise multiplies the plain statistic on average; about that many times more rows are
        needed for the power of the private table.
    wald, wald_degrees, wald_p_value
        Another test of the same, better where the covariance is well known.
    method, law
        Of the release.
    notes
        What a reader must know.
    """

    of: tuple[str, str]
    statistic: float
    degrees: float
    p_value: float
    pearson: float
    design_effect: float
    wald: float
    wald_degrees: int
    wald_p_value: float
    method: str
    law: str
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"IndependenceTest({self.of[0]} with {self.of[1]}: p = {self.p_value:.3g})"

    def __str__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """A few lines for people."""
        first, second = self.of
        lines = [
            f"Independence of {first} and {second} in the population",
            f"Corrected chi-square {show_cell(self.statistic)} on {show_cell(self.degrees)} degrees, p = {self.p_value:.3g}",
            f"Wald {show_cell(self.wald)} on {self.wald_degrees}, p = {self.wald_p_value:.3g}",
            f"Design effect {show_cell(self.design_effect)}: without noise, {show_cell(1 / self.design_effect)} of the rows tell as much",
            f"({self.method}, law {self.law})",
        ]
        return "\n".join([*lines, *(f"Note: {each}" for each in self.notes)])

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as ``independence --json`` prints it."""
        return {**vars(self), "of": list(self.of), "notes": list(self.notes)}

    def to_arrow(self) -> Any:
        """A pyarrow table of one row."""
        import pyarrow as pa

        return pa.table({name: [value] for name, value in self.to_dict().items()})


def independence(release: Countable, first: str, second: str, *, where: str = "") -> IndependenceTest:
    """Test whether two attributes are independent in the population, through the law.

    Parameters
    ----------
    release
        What is asked.
    first, second
        Attributes, or conditions of the query language.
    where
        Only rows that satisfy these conditions.

    Raises
    ------
    NoSolutionError
        When a margin is estimated as not positive.
    NotIdentifiableError
        When rows were left out of which nobody can tell what they are.

    Notes
    -----
    With margins p and q, the residuals ``d = n - N p q'`` have covariance ``C = K Cov K'`` with ``K = (I - p 1') x (I - q
    1')``, where Cov is that of the counts about the population. With D the expected counts and ``G = D^-1/2 C D^-1/2``,
    ``X2 tr(G) / tr(G^2)`` is referred to chi-square on ``tr(G)^2 / tr(G^2)`` degrees.

    References
    ----------
    Rao and Scott (1981).
    """
    from scipy.stats import chi2

    table = ask_two_way(release, first, second, where=where)
    if (table.counts.certainty == Certainty.OPEN).any():
        raise NotIdentifiableError(
            "rows were left out of the release, and which they are is not known: a test of independence would not keep its "
            "level. Ask for counts and shares, whose intervals hold them."
        )
    table.refuse_empty_margins("there is no test of independence")
    residuals, covariance, expected = _residuals(table)
    pearson = float((residuals**2 / expected).sum())
    scaled = covariance / np.sqrt(np.outer(expected, expected))
    trace, squares = float(np.trace(scaled)), float((scaled * scaled.T).sum())
    statistic, degrees = pearson * trace / squares, trace**2 / squares
    free = (table.shape[0] - 1) * (table.shape[1] - 1)
    rows, columns = np.indices(table.shape).reshape(2, -1)
    kept = (rows < table.shape[0] - 1) & (columns < table.shape[1] - 1)
    wald = float(residuals[kept] @ np.linalg.solve(covariance[np.ix_(kept, kept)], residuals[kept]))
    return IndependenceTest(
        (table.sides[0].text, table.sides[1].text),
        statistic,
        degrees,
        float(chi2.sf(statistic, degrees)),
        pearson,
        trace / free,
        wald,
        free,
        float(chi2.sf(wald, free)),
        table.cells.source.method,
        table.cells.source.law,
        table.cells.notes,
    )


def _residuals(table: TwoWay) -> tuple[Floats, Floats, Floats]:
    """What counts differ by from independence, its covariance about the population, and expected counts."""
    counts = table.counts
    assert counts.covariance is not None
    square = counts.values.reshape(table.shape)
    total = float(square.sum())
    first, second = square.sum(axis=1) / total, square.sum(axis=0) / total
    expected = total * np.outer(first, second).ravel()
    spread = counts.covariance + drawing(np.eye(counts.values.size), counts.values)
    change = np.kron(
        np.eye(first.size) - np.outer(first, np.ones(first.size)),
        np.eye(second.size) - np.outer(second, np.ones(second.size)),
    )
    return counts.values - expected, np.asarray(change @ spread @ change.T), expected
