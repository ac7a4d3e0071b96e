"""Rows whose attributes were distorted independently by public matrices."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from sfumato.counts import CountTable
from sfumato.distortion import Distortion, contract
from sfumato.estimates import Estimates, Floats, project_to_simplex
from sfumato.laws.base import Law, Published, Target
from sfumato.schema import Attribute
from sfumato.selection import Selection, Tabulation

LARGEST_COVARIANCE = 1_000
"""Cells up to which the whole covariance is computed; beyond it, variances only."""


class PerturbedRows(Law):
    """Each row's perturbed attributes were drawn from the matrix row of its true category.

    Published counts y of true counts x satisfy ``E[y] = x P`` with P the product of the attributes'
    matrices (identity where unperturbed), so ``y P^-1`` estimates x without bias (Guo 2010, eq. 2.2).

    Notes
    -----
    A cell's estimate is a sum over published rows, ``sum_i h(y_i)``, where h is a column of the
    inverse. Given the truth the rows are independent, and the covariance of the estimates is

    ``sum_i E[h h'] - E[h] E[h]'``, estimated without bias by ``sum_i h(y_i) h(y_i)' - diag(estimates)``,

    because E[h] is the indicator of the row's true cell and cells do not overlap. That is the noise of
    publishing alone (``target="table"``). For a population that the table was drawn from, the
    multinomial variance of the draw comes on top: ``(sum_i h h' - x x'/N) N/(N-1)``.

    Examples
    --------
    >>> from sfumato.distortion import UniformDistortion
    >>> PerturbedRows(distortions={"job": UniformDistortion(retention=0.5, size=3)}).sentence
    "Each row's job was distorted independently by a public matrix (condition number 2)."
    """

    law: Literal["perturbed-rows"] = "perturbed-rows"
    distortions: dict[str, Distortion]

    def estimate(
        self, published: Published, tabulation: Tabulation, *, target: Target = "table"
    ) -> Estimates:
        """Unbiased estimates of the cells of a tabulation, with their conditional covariance."""
        counts, kernels = self._published_cells(published, tabulation)
        values = contract(counts, kernels).ravel()
        rows = published.number_of_rows
        if values.size <= LARGEST_COVARIANCE:
            second_moment = _second_moment(counts, kernels)
            covariance = (
                second_moment - np.diag(values)
                if target == "table"
                else _multinomial(second_moment, np.outer(values, values), rows)
            )
            return Estimates.with_covariance(values, covariance)
        squares = contract(counts, [None if kernel is None else kernel**2 for kernel in kernels]).ravel()
        variances = squares - values if target == "table" else _multinomial(squares, values**2, rows)
        return Estimates(values, np.clip(variances, 0, None))

    def estimate_selections(
        self, published: Published, selections: Sequence[Selection], *, target: Target = "table"
    ) -> Estimates:
        """Unbiased estimates for selections that may overlap, with the covariance between them.

        The product of two selections' expectations given the truth is the indicator of both, so the
        term subtracted from the second moment is the estimate of their intersection.
        """
        names = tuple(dict.fromkeys(name for each in selections for name in each.names))
        table = published.count_by(names, Selection())
        weights = [self._weights(table.attributes, each) for each in selections]

        def total(factors: list[Floats]) -> float:
            return float(contract(table.counts, [each[:, None] for each in factors]).sum())

        number = len(selections)
        values = np.array([total(each) for each in weights])
        covariance = np.empty((number, number))
        for i, j in itertools.product(range(number), repeat=2):
            second_moment = total([a * b for a, b in zip(weights[i], weights[j], strict=True)])
            if target == "table":
                shared = total(self._weights(table.attributes, selections[i] & selections[j]))
                covariance[i, j] = second_moment - shared
            else:
                covariance[i, j] = _multinomial(
                    second_moment, values[i] * values[j], published.number_of_rows
                )
        return Estimates.with_covariance(values, covariance)

    def _weights(self, attributes: Sequence[Attribute], selection: Selection) -> list[Floats]:
        """For each axis, what a published category counts toward the selection."""
        result = []
        for attribute in attributes:
            chosen = selection.codes(attribute.name)
            indicator = np.ones(attribute.size)
            if chosen is not None:
                indicator = np.zeros(attribute.size)
                indicator[list(chosen)] = 1
            inverse = self._inverse(attribute)
            result.append(indicator if inverse is None else inverse @ indicator)
        return result

    def consistent(self, published: Published, tabulation: Tabulation) -> Floats:
        """Nearest non-negative cells, adding up to the exact total of every unperturbed combination.

        Conditions on perturbed attributes become cells of their own first, so that what adds up is
        known exactly: the number of rows with those unperturbed values.
        """
        conditioned = tuple(name for name in tabulation.where.names if name not in tabulation.by)
        perturbed_conditions = tuple(name for name in conditioned if name in self.distortions)
        whole = Tabulation(
            by=tabulation.by + perturbed_conditions,
            where=Selection(
                tuple(each for each in tabulation.where.conditions if each[0] not in self.distortions)
            ),
        )
        counts, kernels = self._published_cells(published, whole)
        values = contract(counts, kernels)
        exact_axes = [axis for axis, name in enumerate(whole.by) if name not in self.distortions]
        moved = np.moveaxis(values, exact_axes, range(len(exact_axes)))
        groups = math.prod(moved.shape[: len(exact_axes)])
        flat = moved.reshape(groups, -1)
        feasible = project_to_simplex(flat, np.clip(flat.sum(axis=1), 0, None)).reshape(moved.shape)
        feasible = np.moveaxis(feasible, range(len(exact_axes)), exact_axes)
        return _restrict(feasible, whole.by, tabulation).ravel()

    def expected_standard_errors(self, true_counts: CountTable) -> Floats:
        """Standard errors that estimates of the table's cells will have, from its true counts.

        The variance of a cell is ``sum over published cells of E[y] h^2`` minus its true count.
        """
        matrices = [self._matrix(each) for each in true_counts.attributes]
        expected = contract(true_counts.counts, matrices)
        inverses = [self._inverse(each) for each in true_counts.attributes]
        squares = contract(expected, [None if each is None else each**2 for each in inverses])
        return np.asarray(np.sqrt(np.clip(squares - true_counts.counts, 0, None)))

    @property
    def sentence(self) -> str:
        """The link in words."""
        worst = math.prod(each.condition_number for each in self.distortions.values())
        names = " and ".join(self.distortions)
        matrices = "a public matrix" if len(self.distortions) == 1 else "public matrices"
        return f"Each row's {names} was distorted independently by {matrices} (condition number {worst:.3g})."

    def _matrix(self, attribute: Attribute) -> Floats | None:
        distortion = self.distortions.get(attribute.name)
        return None if distortion is None else distortion.dense()

    def _inverse(self, attribute: Attribute) -> Floats | None:
        distortion = self.distortions.get(attribute.name)
        return None if distortion is None else distortion.inverse()

    def _published_cells(
        self, published: Published, tabulation: Tabulation
    ) -> tuple[Floats, list[Floats | None]]:
        """Published counts over every attribute involved, and what to multiply each axis by.

        Conditions on unperturbed attributes are exact and filter the published rows. A condition on a
        perturbed attribute may not filter: it is about the truth, so its axis is kept and contracted
        with the inverse's columns for the chosen categories.
        """
        where = tabulation.where
        exact = Selection(tuple(each for each in where.conditions if each[0] not in self.distortions))
        extra = tuple(name for name in where.names if name in self.distortions and name not in tabulation.by)
        table = published.count_by(tabulation.by + extra, exact)
        kernels: list[Floats | None] = []
        for attribute in table.attributes:
            chosen = where.codes(attribute.name)
            inverse = self._inverse(attribute)
            if attribute.name in extra:
                assert inverse is not None
                assert chosen is not None
                kernels.append(inverse[:, list(chosen)].sum(axis=1, keepdims=True))
            elif chosen is not None:
                whole = np.eye(attribute.size) if inverse is None else inverse
                kernels.append(whole[:, list(chosen)])
            else:
                kernels.append(inverse)
        return np.asarray(table.counts, dtype=np.float64), kernels


def _second_moment(counts: Floats, kernels: list[Floats | None]) -> Floats:
    """``sum over published cells of count * h h'`` as a square matrix, one axis at a time."""
    pairs = []
    shape = []
    for size, kernel in zip(counts.shape, kernels, strict=True):
        weights = np.eye(size) if kernel is None else kernel
        shape.append(weights.shape[1])
        pairs.append(np.einsum("yi,yj->yij", weights, weights).reshape(size, -1))
    # Each axis now holds a pair of output cells; bring the first of every pair to the front.
    tensor = contract(counts, pairs).reshape([size for each in shape for size in (each, each)])
    order = [*range(0, 2 * len(shape), 2), *range(1, 2 * len(shape), 2)]
    cells = math.prod(shape)
    return tensor.transpose(order).reshape(cells, cells)


def _multinomial(second_moment: Any, product: Any, rows: int) -> Any:
    """Covariance when the rows themselves are a random draw (Guo 2010, S1 + S2), unbiased."""
    return (second_moment - product / rows) * rows / max(rows - 1, 1)


def _restrict(values: Floats, by: tuple[str, ...], tabulation: Tabulation) -> Floats:
    """Keep the categories a tabulation selects and sum out the axes it does not show."""
    for axis, name in reversed(list(enumerate(by))):
        chosen = tabulation.where.codes(name)
        # Unperturbed attributes were restricted when counting; perturbed ones could not be.
        if chosen is not None and values.shape[axis] != len(chosen):
            values = values.take(list(chosen), axis=axis)
        if name not in tabulation.by:
            values = values.sum(axis=axis)
    return np.asarray(values)
