"""Errors of counts over several drawn attributes, from the models of each and from (estimated) true counts.

A row of true values u and w adds ``(e_u + a) x (e_w + b)`` to the estimates, where a and b are the errors of its two
inverted draws: independent of each other, with mean 0. So the error of a table is the sum of three that are not
correlated:

- ``a x e_w``: the error of the first attribute alone, under the predicates that the other has the value w;
- ``e_u x b``: likewise of the second;
- ``a x b``: that two rows share a group of both attributes has a chance of the order 1/N^2, so rows count as
  independent here, and the covariance is ``sum of X[u, w] Cov(a | u) x Cov(b | w)``.

The first two are those of :func:`~sfumato.methods.splu_gen.law.model.covariance`, which knows that the matrices come
from the same draws. More attributes have one such term each, and one for every product of two or more.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from sfumato.chance.distortion import contract
from sfumato.methods.splu_gen.law.model import ROUNDS, DecoyModel, Predicate
from sfumato.methods.splu_gen.law.sums_of_values import between_cells, variances_of
from sfumato.values.arrays import Floats
from sfumato.values.counts import CountTable
from sfumato.values.feasibility import project_to_simplex

NEARLY_NONE = 1e-9
"""Rows that a value of which nobody is shown is taken to have where there are any: there may be some."""


@dataclass(frozen=True, eq=False)
class JointCells:
    """Sums over the values of several drawn attributes, in some public combinations.

    Parameters
    ----------
    models
        By drawn attribute, in the order of the axes.
    estimates
        Rows of each public combination and values, ``(combinations, size, size, ...)``; they may be negative.
    totals
        By attribute that is asked about, the rows of each of its values in the combinations,
        ``(combinations, size)``: what the shares within a combination add up to.
    weights
        By attribute, which sums over its values are asked for, ``(size, sums)``.
    """

    models: Mapping[str, DecoyModel]
    estimates: Floats
    totals: Mapping[str, Floats]
    weights: Mapping[str, Floats]

    def variances(self) -> Floats:
        """Of every sum in every combination, ``(combinations, sums, sums, ...)``."""
        moments = [self._second_moments(name, self.weights, self.weights) for name in self.models]
        # Sums are of 0 and 1, so that a row's true part in one is its own square.
        truths = [self.weights[name] for name in self.models]
        found = self._of_products([np.einsum("uss->us", each) for each in moments], truths)
        for name in self.totals:
            own = np.array([variances_of(each, self.weights[name]) for each in self.predicates(name)])
            found = found + self._laid_out(own, name)
        return found

    def rows(self) -> Floats:
        """Rows of every sum that are behind these errors, in the same order."""
        return contract(self._rows, [None, *(self.weights[name] for name in self.models)])

    def rows_of_others(self, name: str) -> Floats:
        """The same whatever values of an attribute they have, whose axis has length 1; nearly none, but some, of other values that nobody shows."""
        weights = {**self.weights, name: np.ones((self._size(name), 1))}
        found = contract(self._rows, [None, *(weights[each] for each in self.models)])
        is_occupied = self.estimates.any(axis=tuple(range(1, self.estimates.ndim)), keepdims=True)
        return np.where(is_occupied, np.maximum(found, NEARLY_NONE), 0.0)

    def covariance(self) -> Floats:
        """Between all of them, twice the axes of :meth:`variances`."""
        shape = self._shape
        cells = math.prod(shape[1:])
        found = np.zeros((shape[0], cells, shape[0], cells))
        own = self.products(self.weights, self.weights).reshape(-1, cells, cells)
        for place in range(shape[0]):
            found[place, :, place] = own[place]
        found = found.reshape(*shape, *shape)
        for name in self.totals:
            found += self._pairs_laid_out(between_cells(self.predicates(name), self.weights[name]), name)
        return found

    def products(self, left: Mapping[str, Floats], right: Mapping[str, Floats]) -> Floats:
        """Covariance, within each combination, of what the products of errors add to two sets of sums.

        ``(combinations, sums, ..., sums, ...)``: the axes of the one, then those of the other.
        """
        sizes = [(left[name].shape[1], right[name].shape[1]) for name in self.models]
        moments = [self._second_moments(name, left, right) for name in self.models]
        truths = [left[name][:, :, None] * right[name][:, None, :] for name in self.models]
        flat = [[each.reshape(len(each), -1) for each in some] for some in (moments, truths)]
        number = len(sizes)
        pairs = self._of_products(*flat).reshape(-1, *(each for pair in sizes for each in pair))
        return pairs.transpose([0, *range(1, 2 * number, 2), *range(2, 2 * number + 1, 2)])

    def predicates(self, name: str) -> list[Predicate]:
        """That a row is in the combination and has the others' values, for every sum over these."""
        return [self.models[name].predicate(each) for each in self.shares(name).reshape(-1, self._size(name))]

    def shares(self, name: str) -> Floats:
        """Share of each of an attribute's rows that satisfies them, ``(combinations, the others' sums, size)``."""
        counts, others = self.models[name].counts, [each for each in self.models if each != name]
        # The own rows last, whatever the rounds of fitting left: over all combinations shares add up to one.
        moved = np.moveaxis(self._with_totals(self._rows, name), self._axis(name), 1)
        summed = contract(moved, [None, None, *(self.weights[each] for each in others)])
        found = np.moveaxis(summed, 1, -1)
        # A value that no published row shows has no rows to share out.
        return np.asarray(found / np.maximum(counts, 1.0))

    @cached_property
    def _rows(self) -> Floats:
        """The estimates made feasible: not negative, with the rows of every combination and of every value in it.

        First those of rare values, which err little, move little (:meth:`DecoyModel.within_rows` says why): all alike, the noise of
        frequent values would take the few rows that rare ones have.
        """
        flat = self.estimates.reshape(len(self.estimates), -1)
        rows = project_to_simplex(flat, flat.sum(axis=1), self._steps(self.models)).reshape(
            self.estimates.shape
        )
        for _ in range(ROUNDS):
            # By name: a few rounds are not the end of fitting, and a question asked in another order has the same errors.
            for name in sorted(self.totals):
                rows = self._with_totals(rows, name)
        return rows

    def _with_totals(self, rows: Floats, name: str) -> Floats:
        """The nearest rows that are not negative and have those of an attribute's values in every combination."""
        moved = np.moveaxis(rows, self._axis(name), 1)
        flat = moved.reshape(-1, math.prod(moved.shape[2:]))
        steps = self._steps(each for each in self.models if each != name)
        made = project_to_simplex(flat, self.totals[name].ravel(), steps).reshape(moved.shape)
        return np.moveaxis(made, 1, self._axis(name))

    def _steps(self, names: Iterable[str]) -> Floats:
        """How far cells of some attributes err beside each other, flat."""
        return np.asarray(
            reduce(np.multiply.outer, [self.models[name].relative_variances for name in names])
        ).ravel()

    def _axis(self, name: str) -> int:
        return 1 + list(self.models).index(name)

    @property
    def _shape(self) -> tuple[int, ...]:
        return (len(self.estimates), *(self.weights[name].shape[1] for name in self.models))

    def _size(self, name: str) -> int:
        return len(self.models[name].counts)

    def _second_moments(self, name: str, left: Mapping[str, Floats], right: Mapping[str, Floats]) -> Floats:
        """``E[h g' | u]`` of what a row of each true value adds to two sets of sums, ``(size, sums, sums)``."""
        model = self.models[name]
        one, other = model.inverse @ left[name], model.inverse @ right[name]
        return np.asarray(np.einsum("uv,vi,vj->uij", model.distortion, one, other, optimize=True))

    def _of_products(self, moments: Sequence[Floats], truths: Sequence[Floats]) -> Floats:
        """Sum over rows of all products of two errors or more: of everything, less no error and less one."""
        found = contract(self._rows, [None, *moments]) - contract(self._rows, [None, *truths])
        for place in range(len(moments)):
            alone = [*truths[:place], moments[place] - truths[place], *truths[place + 1 :]]
            found = found - contract(self._rows, [None, *alone])
        return found

    def _laid_out(self, own: Floats, name: str) -> Floats:
        """From the others' sums by an attribute's sums to the order of the axes."""
        others = [self.weights[each].shape[1] for each in self.models if each != name]
        return np.moveaxis(own.reshape(len(self.estimates), *others, -1), -1, self._axis(name))

    def _pairs_laid_out(self, own: Floats, name: str) -> Floats:
        number = len(self._shape)
        others = [self.weights[each].shape[1] for each in self.models if each != name]
        half = (len(self.estimates), *others, self.weights[name].shape[1])
        axis = self._axis(name)
        return np.moveaxis(own.reshape(*half, *half), [number - 1, 2 * number - 1], [axis, number + axis])


def joint_errors(models: Mapping[str, DecoyModel], true_counts: CountTable) -> Floats:
    """Standard errors of the cells over several drawn attributes, from their true counts."""
    public = [name for name in true_counts.names if name not in models]
    laid_out = [true_counts.axis_of(name) for name in (*public, *models)]
    moved = np.asarray(true_counts.counts, dtype=np.float64).transpose(laid_out)
    cells = moved.reshape(-1, *moved.shape[len(public) :])
    totals = {
        name: cells.sum(axis=tuple(each for each in range(1, cells.ndim) if each != axis))
        for axis, name in enumerate(models, start=1)
    }
    for name, model in models.items():
        model.require_identifiable(name)
    weights = {name: np.eye(len(each.counts)) for name, each in models.items()}
    variances = JointCells(models, cells, totals, weights).variances().reshape(moved.shape)
    return np.sqrt(variances.transpose(np.argsort(laid_out)))
