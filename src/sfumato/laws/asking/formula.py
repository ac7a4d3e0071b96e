"""A law's formula, and the one way in which a question is answered by it."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Literal, get_args

import numpy as np

from sfumato.errors import NotIdentifiableError, ParameterError
from sfumato.values.arrays import Floats
from sfumato.values.estimates import Estimates
from sfumato.values.selection import Tabulation

Target = Literal["table", "population"]
"""What an estimate is about: the rows of the private table itself, or the population they were drawn from."""


def refuse_unknown_target(target: str) -> None:
    """A misspelt target would be answered as the other one."""
    if target not in get_args(Target):
        raise ParameterError(
            f"target must be one of {', '.join(get_args(Target))}, got {target!r}. Leave it out for the table's own rows.",
            parameter="target",
        )


LARGEST_COVARIANCE = 1_000
"""Numbers up to which the whole covariance is computed; beyond it, variances only."""


class Formula(ABC):
    """A law applied to what it read of a release for one question.

    A question is a list of tabulations: one, or several without axes, whose selections may overlap. What a
    formula says of a tabulation depends on its cells alone, never on what else is asked: so a cell of a
    table and the same cell asked by itself have one estimate and one error.
    """

    number_of_rows: float
    """Rows of the private table, or their estimate: what a population's table would have again."""

    @abstractmethod
    def values(self, asked: Tabulation) -> Floats:
        """Estimates of the cells, in the order of the tabulation, ``(cells,)``."""

    @abstractmethod
    def variances(self, asked: Tabulation) -> Floats:
        """Their variances about the private table's own counts, ``(cells,)``, in memory of that order."""

    @abstractmethod
    def covariance(self, one: Tabulation, other: Tabulation) -> Floats:
        """Covariance between the cells of two tabulations, ``(cells, cells)``; not a number where unknown.

        Either both are the same, or neither has axes. The diagonal may be below :meth:`variances` where an
        unbiased variance came out below what is possible.
        """

    def bounds(self, asked: Tabulation) -> tuple[Floats, Floats] | None:
        """Numbers between which the true counts lie for certain; None where the release says nothing."""
        del asked
        return None

    def half_widths(self, asked: Tabulation) -> Callable[[float], Floats] | None:
        """Half-widths of intervals by confidence level, where the errors' law is known and is not normal."""
        del asked
        return None

    def has_covariance(self, asked: Sequence[Tabulation], number: int) -> bool:
        """Whether the covariance between so many numbers is worth its memory and time."""
        del asked
        return number <= LARGEST_COVARIANCE

    def shared(self, one: Tabulation, other: Tabulation) -> Floats:
        """Estimated rows that are in both, for all pairs of cells of two tabulations, ``(cells, cells)``.

        Not a number where what the release says of each does not say it of both.
        """
        if one is other:
            # Cells of one table do not overlap.
            return np.diag(self.values(one))
        try:
            return self.values(Tabulation(where=one.where & other.where))[:, None]
        except NotIdentifiableError:
            return np.full((1, 1), np.nan)


def answer(formula: Formula, asked: Sequence[Tabulation], target: Target) -> Estimates:
    """Estimates of all cells of all tabulations, one after the other: the only way a law answers."""
    values = _joined([formula.values(each) for each in asked])
    variances = _joined([formula.variances(each) for each in asked])
    covariance = shared = None
    if formula.has_covariance(asked, values.size):
        covariance = _whole(asked, formula.covariance)
        shared = _whole(asked, formula.shared) if target == "population" else None
    estimates = Estimates(values, variances, covariance)
    if target == "population":
        return for_population(estimates, formula.number_of_rows, shared)
    return Estimates(values, variances, covariance, _bounds(formula, asked), _half_widths(formula, asked))


def for_population(estimates: Estimates, number_of_rows: float, shared: Floats | None = None) -> Estimates:
    """The same numbers for a population that the table was drawn from: the error of the draw added.

    Parameters
    ----------
    estimates
        Of the table's own counts.
    number_of_rows
        N, of the table.
    shared
        ``(n, n)``, estimated rows that are in both of two cells; cells do not overlap when not given.

    Notes
    -----
    A draw of N rows has the covariance ``N (p_both - p p')``. With unbiased estimates x of the table's counts
    and an unbiased covariance C of their errors, ``x x' - C`` is unbiased for the product of the table's
    counts, and ``(x_both - (x x' - C) / N) N / (N - 1)`` for the covariance of the draw (Guo 2010, S1 beside
    S2). Noise can make a count, and with it the variance of its draw, negative: then none is added to the
    variance of the count itself, while the covariance stays unbiased, for sums.
    """
    rows = max(number_of_rows, 1.0)
    inflate = rows / max(rows - 1, 1.0)
    values, variances = estimates.values, estimates.variances
    drawn = np.clip((values - (values**2 - variances) / rows) * inflate, 0, None)
    if estimates.covariance is None:
        return Estimates(values, variances + drawn)
    both = np.diag(values) if shared is None else shared
    drawing = (both - (np.outer(values, values) - estimates.covariance) / rows) * inflate
    return Estimates(values, variances + drawn, estimates.covariance + drawing)


def _whole(asked: Sequence[Tabulation], entry: Callable[[Tabulation, Tabulation], Floats]) -> Floats:
    """A square matrix over all cells of a question, put together from pairs of its tabulations."""
    if len(asked) == 1:
        return entry(asked[0], asked[0])
    result = np.empty(2 * (len(asked),))
    for i, j in itertools.combinations_with_replacement(range(len(asked)), 2):
        result[i, j] = result[j, i] = entry(asked[i], asked[j])[0, 0]
    return result


def _joined(parts: Sequence[Floats]) -> Floats:
    return parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0), *parts])


def _bounds(formula: Formula, asked: Sequence[Tabulation]) -> tuple[Floats, Floats] | None:
    found = [formula.bounds(each) for each in asked]
    known = [each for each in found if each is not None]
    if not known or len(known) < len(found):
        return None
    return _joined([low for low, _ in known]), _joined([high for _, high in known])


def _half_widths(formula: Formula, asked: Sequence[Tabulation]) -> Callable[[float], Floats] | None:
    found = [formula.half_widths(each) for each in asked]
    known = [each for each in found if each is not None]
    if not known or len(known) < len(found):
        return None
    return lambda confidence_level: _joined([each(confidence_level) for each in known])
