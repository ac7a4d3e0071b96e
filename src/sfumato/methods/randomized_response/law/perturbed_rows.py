"""Rows whose attributes were distorted independently by public matrices."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np

from sfumato.chance.distortion import AxisMatrix, Distortion, TwoValued, contract, squared, transposed
from sfumato.errors import ParameterError, ReleaseDamagedError
from sfumato.laws.base import Law, Published, Target
from sfumato.methods.randomized_response.law.least_variances import Weights, least_variances
from sfumato.values.arrays import Floats
from sfumato.values.counts import CountTable
from sfumato.values.estimates import Estimates, Feasibility, clip_to_totals, most_likely, project_to_simplex
from sfumato.values.schema import Attribute, Schema
from sfumato.values.selection import Selection, Tabulation

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
    publishing alone, for statements about the private table's own rows: ``target="table"``, the default,
    because those rows are what was published (Guo's S2). For a population that the table was drawn from,
    the multinomial variance of the draw comes on top: ``(sum_i h h' - x x'/N) N/(N-1)`` (his S1 + S2).
    Both are of the same order, so neither may stand for the other: intervals of the one cover too often
    or too rarely for the other. The covariance is unbiased; standard errors are not taken below what
    :func:`~sfumato.methods.randomized_response.law.least_variances.least_variances` proves, as the unbiased variance of a cell of a
    handful of rows can be, even below zero.

    Examples
    --------
    >>> from sfumato.chance.distortion import UniformDistortion
    >>> PerturbedRows(distortions={"job": UniformDistortion(retention=0.5, size=3)}).sentence
    "Each row's job was distorted independently by a public matrix (condition number 2)."
    """

    law: Literal["perturbed-rows"] = "perturbed-rows"
    distortions: dict[str, Distortion]

    def question_schema(self, published: Schema) -> Schema:
        """The published attributes, which the matrices must fit: one for another would give wrong numbers."""
        sizes = {each.name: each.size for each in published.attributes}
        unfit = [name for name, each in self.distortions.items() if sizes.get(name) != each.size]
        if unfit:
            raise ReleaseDamagedError(
                f"the release's law has a distortion matrix of {unfit[0]!r} that fits no attribute it publishes. "
                "Get the release again from where it came."
            )
        return published

    def estimate(
        self, published: Published, tabulation: Tabulation, *, target: Target = "table"
    ) -> Estimates:
        """Unbiased estimates of the cells of a tabulation, with their conditional covariance."""
        counts, axes = self._published_cells(published, tabulation)
        kernels = [kernel for _, kernel in axes]
        values = contract(counts, kernels).ravel()
        least = least_variances(counts, axes).ravel()
        rows = published.number_of_rows
        if values.size <= LARGEST_COVARIANCE:
            second_moment = _second_moment(counts, kernels)
            covariance = (
                second_moment - np.diag(values)
                if target == "table"
                else _multinomial(second_moment, np.outer(values, values), rows)
            )
            return Estimates(values, np.maximum(np.diagonal(covariance), least), covariance)
        squares = contract(counts, [squared(kernel) for kernel in kernels]).ravel()
        variances = squares - values if target == "table" else _multinomial(squares, values**2, rows)
        return Estimates(values, np.maximum(variances, least))

    def estimate_selections(
        self, published: Published, selections: Sequence[Selection], *, target: Target = "table"
    ) -> Estimates:
        """Unbiased estimates for selections that may overlap, with the covariance between them.

        The product of two selections' expectations given the truth is the indicator of both, so the
        term subtracted from the second moment is the estimate of their intersection.
        """
        # What all ask of unperturbed attributes filters rows; tabulated, it could outgrow memory.
        alike = Selection(
            tuple(
                (name, codes)
                for name, codes in (selections[0].conditions if selections else ())
                if name not in self.distortions and all(each.codes(name) == codes for each in selections)
            )
        )
        names = tuple(
            dict.fromkeys(name for each in selections for name in each.names if name not in alike.names)
        )
        table = published.count_by(names, alike)
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
        least = [self._least_variance(table, each) for each in weights]
        return Estimates(values, np.maximum(np.diagonal(covariance), least), covariance)

    def _least_variance(self, table: CountTable, weights: Sequence[Floats]) -> float:
        axes = [
            (self._matrix(each), weight[:, None])
            for each, weight in zip(table.attributes, weights, strict=True)
        ]
        return float(least_variances(np.asarray(table.counts, dtype=np.float64), axes).sum())

    def _weights(self, attributes: Sequence[Attribute], selection: Selection) -> list[Floats]:
        """For each axis, what a published category counts toward the selection."""
        result = []
        for attribute in attributes:
            chosen = selection.codes(attribute.name)
            indicator = np.ones(attribute.size)
            if chosen is not None:
                indicator = np.zeros(attribute.size)
                indicator[list(chosen)] = 1
            # The inverse times the indicator; both kinds of inverse act on an axis, so it is the transposed one.
            result.append(contract(indicator, [transposed(self._inverse(attribute))]))
        return result

    def consistent(
        self, published: Published, tabulation: Tabulation, *, feasibility: Feasibility = "projection"
    ) -> Floats:
        """Non-negative cells that add up to the exact total of every unperturbed combination.

        Conditions on perturbed attributes become cells of their own first, so that what adds up is
        known exactly: the number of rows with those unperturbed values.
        """
        perturbed_conditions = tuple(
            name for name in tabulation.where.names if name not in tabulation.by and name in self.distortions
        )
        whole = Tabulation(
            by=tabulation.by + perturbed_conditions,
            where=Selection(
                tuple(each for each in tabulation.where.conditions if each[0] not in self.distortions)
            ),
        )
        counts, axes = self._published_cells(published, whole)
        kernels = [kernel for _, kernel in axes]
        is_exact = [name not in self.distortions for name in whole.by]
        counts = contract(
            counts, [kernel if exact else None for kernel, exact in zip(kernels, is_exact, strict=True)]
        )
        if feasibility == "em":
            feasible = self._most_likely(counts, whole.by)
        else:
            inverses = [None if exact else kernel for kernel, exact in zip(kernels, is_exact, strict=True)]
            feasible = _feasible_by_group(contract(counts, inverses), is_exact, feasibility)
        return _restrict(feasible, whole.by, tabulation).ravel()

    def _most_likely(self, counts: Floats, names: Sequence[str]) -> Floats:
        """Most likely true counts; unperturbed combinations keep their totals, since no row leaves them."""
        matrices = [self.distortions[name].on_axis if name in self.distortions else None for name in names]
        perturbed = tuple(axis for axis, matrix in enumerate(matrices) if matrix is not None)
        cells = math.prod(counts.shape[axis] for axis in perturbed)
        start = np.broadcast_to(counts.sum(axis=perturbed, keepdims=True) / cells, counts.shape)
        back = [transposed(matrix) for matrix in matrices]
        return most_likely(
            counts, lambda true: contract(true, matrices), lambda ratio: contract(ratio, back), start
        )

    def expected_standard_errors(self, true_counts: CountTable) -> Floats:
        """Standard errors that estimates of the table's cells will have, from its true counts.

        The variance of a cell is ``sum over published cells of E[y] h^2`` minus its true count.
        """
        matrices = [self._matrix(each) for each in true_counts.attributes]
        inverses = [self._inverse(each) for each in true_counts.attributes]
        expected = contract(true_counts.counts, matrices)
        squares = contract(expected, [squared(each) for each in inverses])
        return np.asarray(np.sqrt(np.clip(squares - true_counts.counts, 0, None)))

    @property
    def sentence(self) -> str:
        """The link in words."""
        worst = math.prod(each.condition_number for each in self.distortions.values())
        names = " and ".join(self.distortions)
        were = "was" if len(self.distortions) == 1 else "were"
        matrices = "a public matrix" if len(self.distortions) == 1 else "public matrices"
        return (
            f"Each row's {names} {were} distorted independently by {matrices} (condition number {worst:.3g})."
        )

    def _matrix(self, attribute: Attribute) -> AxisMatrix:
        distortion = self.distortions.get(attribute.name)
        return None if distortion is None else distortion.on_axis

    def _inverse(self, attribute: Attribute) -> AxisMatrix:
        distortion = self.distortions.get(attribute.name)
        return None if distortion is None else distortion.inverse_on_axis

    def _published_cells(self, published: Published, tabulation: Tabulation) -> tuple[Floats, list[Weights]]:
        """Published counts over every attribute involved; how each axis was distorted, and what to multiply it by.

        Conditions on unperturbed attributes are exact and filter the published rows. A condition on a
        perturbed attribute may not filter: it is about the truth, so its axis is kept and contracted
        with the inverse's columns for the chosen categories.
        """
        where = tabulation.where
        exact = Selection(tuple(each for each in where.conditions if each[0] not in self.distortions))
        extra = tuple(name for name in where.names if name in self.distortions and name not in tabulation.by)
        table = published.count_by(tabulation.by + extra, exact)
        axes: list[Weights] = []
        for attribute in table.attributes:
            chosen = where.codes(attribute.name)
            kernel = self._inverse(attribute)
            if chosen is not None:
                columns = _entries(kernel, attribute.size)[:, list(chosen)]
                kernel = columns.sum(axis=1, keepdims=True) if attribute.name in extra else columns
            axes.append((self._matrix(attribute), kernel))
        return np.asarray(table.counts, dtype=np.float64), axes


def _entries(matrix: AxisMatrix, size: int) -> Floats:
    """The matrix of an axis entry by entry; the identity where the axis is left alone."""
    if matrix is None:
        return np.eye(size)
    return matrix.dense(size) if isinstance(matrix, TwoValued) else matrix


def _second_moment(counts: Floats, kernels: Sequence[AxisMatrix]) -> Floats:
    """``sum over published cells of count * h h'`` as a square matrix, one axis at a time."""
    entries = [_entries(kernel, size) for kernel, size in zip(kernels, counts.shape, strict=True)]
    # Axes that end as one number go first: the pairs below then stand on a small table.
    is_summed = [each.shape[1] == 1 for each in entries]
    tensor = contract(
        counts, [each**2 if summed else None for each, summed in zip(entries, is_summed, strict=True)]
    )
    for weights, summed in zip(entries, is_summed, strict=True):
        # The next published axis is always the first; its pair of output axes is put last.
        moved = np.moveaxis(tensor, 0, -1)[..., None]
        tensor = moved if summed else weights.T @ (moved * weights)
    shape = [1 if summed else each.shape[1] for each, summed in zip(entries, is_summed, strict=True)]
    cells = math.prod(shape)
    # Each output axis now has its twin beside it; bring the first of every pair to the front.
    order = [*range(0, 2 * len(shape), 2), *range(1, 2 * len(shape), 2)]
    return tensor.transpose(order).reshape(cells, cells)


def _feasible_by_group(values: Floats, is_exact: Sequence[bool], feasibility: Feasibility) -> Floats:
    """Make the cells of each unperturbed combination feasible, keeping their sum."""
    exact_axes = [axis for axis, exact in enumerate(is_exact) if exact]
    moved = np.moveaxis(values, exact_axes, range(len(exact_axes)))
    flat = moved.reshape(math.prod(moved.shape[: len(exact_axes)]), -1)
    totals = np.clip(flat.sum(axis=1), 0, None)
    if feasibility == "projection":
        feasible = project_to_simplex(flat, totals)
    elif feasibility == "clip":
        feasible = clip_to_totals(flat, totals)
    else:
        raise ParameterError(
            f"feasibility must be one of {', '.join(get_args(Feasibility))}, got {feasibility!r}.",
            parameter="feasibility",
        )
    return np.moveaxis(feasible.reshape(moved.shape), range(len(exact_axes)), exact_axes)


def _multinomial(second_moment: Any, product: Any, rows: int) -> Any:
    """Covariance when the rows themselves are a random draw (Guo 2010, S1 + S2), unbiased."""
    return (second_moment - product / max(rows, 1)) * rows / max(rows - 1, 1)


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
