"""Rows whose sensitive values were drawn from secret groups of decoys."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.chance.partition import Partition
from sfumato.errors import NotIdentifiableError, ParameterError
from sfumato.laws.base import Law, Published, Target
from sfumato.methods.randomized_response.law.perturbed_rows import PerturbedRows
from sfumato.methods.splu_gen.law.model import DecoyModel, Predicate, covariance, decoy_model, margin_variance
from sfumato.methods.splu_gen.law.pairwise import iterate, pairwise_count, pairwise_variance
from sfumato.methods.splu_gen.law.questions import DecoyQuestion, ask
from sfumato.methods.splu_gen.law.selections import Selections
from sfumato.values.arrays import Floats
from sfumato.values.counts import CountTable
from sfumato.values.estimates import Estimates, Feasibility
from sfumato.values.number_text import percent
from sfumato.values.selection import Selection, Tabulation

LARGEST_COVARIANCE = 1_000
"""Cells up to which the whole covariance is computed; beyond it, variances only."""

MOST_PREDICATES = 80
"""Public combinations up to which covariances between them are computed; their pairs cost time."""

FEW_ROWS = 20
"""Published rows of a value below which a normal interval for its counts is not to be trusted."""


class DecoyRows(Law):
    """Each row shows a value drawn uniformly from the different values of its secret group.

    Counts of a sensitive value alone are Binomial(gamma f, 1/gamma): unbiased, whatever the groups. For
    counts within public groups the published counts y of true counts x satisfy ``E[y] = x T``, with T
    computed from the published margin (:class:`~sfumato.methods.splu_gen.law.model.DecoyModel`), so ``y T^-1``
    estimates x, unbiased to first order, for all values at once and adding up to the group.

    Parameters
    ----------
    gamma_by_attribute
        Rows of a group, for each attribute that was drawn.
    partition
        How groups were made; the matrix needs ``"mixed"``.
    largest_small_count, relative_error, error_probability
        What answers are held against to say whether they are small or large sums.

    Notes
    -----
    Several drawn attributes were grouped independently: their matrices form a product, handed to the
    algebra of randomized response with its variance for independent rows.

    Examples
    --------
    >>> print(DecoyRows(gamma_by_attribute={"job": 5}).sentence)
    Each row's job was drawn uniformly from the 5 different values of a secret group (mixed partition).
    """

    law: Literal["decoy-rows"] = "decoy-rows"
    gamma_by_attribute: dict[str, Annotated[int, Field(strict=True, ge=2)]]
    partition: Partition = "mixed"
    largest_small_count: Annotated[int, Field(ge=1)] = 10
    relative_error: Annotated[float, Field(gt=0)] = 0.3
    error_probability: Annotated[float, Field(gt=0, lt=1)] = 0.05

    # T is computed from the published margin, and its inverse is not linear in it.
    estimate_is: ClassVar[str] = "unbiased to first order"
    estimators: ClassVar[Mapping[str, str]] = {
        "pairwise": "one value against all others; biased where frequency and the question are related",
        "paper": "the iteration of Fu et al. (2014) with its printed matrix and 1 % stop; biased, no error known",
    }

    def estimate(
        self, published: Published, tabulation: Tabulation, *, target: Target = "table"
    ) -> Estimates:
        """Estimates of the cells of a tabulation, unbiased to first order, with their covariance.

        Raises
        ------
        NotIdentifiableError
            When some value may be in every group, or the groups were made largest first; counts of a
            sensitive value alone are answered even then.
        """
        tabulation = Tabulation(tabulation.by, tabulation.where.binding(published.schema))
        question = ask(published, tabulation, self.gamma_by_attribute)
        if len(question.drawn) > 1:
            return self._product(published, question.drawn).estimate(published, tabulation, target=target)
        if not question.drawn:
            return _finish(
                question, Estimates(question.counts.ravel(), np.zeros(question.counts.size)), target
            )
        name = question.drawn[0]
        model = self._model(published, name)
        if question.is_whole_table:
            return _finish(question, _margin(model, question), target)
        self._require_law(model, name)
        values = question.counts @ model.inverse
        predicates = [model.predicate(model.shares(each)) for each in values]
        return _finish(question, _cells(model, predicates, values, question), target)

    def estimate_by(
        self, estimator: str, published: Published, tabulation: Tabulation, *, target: Target = "table"
    ) -> Estimates:
        """Estimates by the pairwise closed form or by the paper's iteration, one value at a time."""
        if estimator not in self.estimators:
            return super().estimate_by(estimator, published, tabulation, target=target)
        question = ask(published, tabulation, self.gamma_by_attribute)
        gammas = [self.gamma_by_attribute[name] for name in question.drawn]
        states = question.states(published)
        if estimator == "paper":
            inside = (slice(None),) + (1,) * (len(gammas) + 1)
            values = iterate(states, gammas)[0][inside]
            variances = np.full(len(values), np.nan)
        else:
            values, variances = _pairwise(states, question.drawn, gammas)
        return _finish(question, Estimates(values, variances), target)

    def estimate_selections(
        self, published: Published, selections: Sequence[Selection], *, target: Target = "table"
    ) -> Estimates:
        """Estimates for selections that may overlap; covariances when there are not too many of them."""
        selections = [each.binding(published.schema) for each in selections]
        drawn = tuple(
            dict.fromkeys(n for each in selections for n in each.names if n in self.gamma_by_attribute)
        )
        if len(drawn) != 1:
            return self._product(published, drawn).estimate_selections(published, selections, target=target)
        model = self._model(published, drawn[0])
        asked = Selections.read(published, selections, drawn[0])
        if any(each.names != drawn for each in selections if drawn[0] in each.names):
            self._require_law(model, drawn[0])
        result = asked.estimates(model)
        return result if target == "table" else asked.for_population(result, model, published.number_of_rows)

    def difference(
        self,
        published: Published,
        question: Selection,
        first: Selection,
        second: Selection,
        *,
        target: Target = "table",
    ) -> Estimates:
        """Difference of two groups' shares; between two values of a drawn attribute, by their contrast.

        The contrast stays determined where single counts are not, because a third value is in every group.
        """
        groups = (*first.conditions, *second.conditions)
        names = {name for name, _ in groups}
        is_pair = len(groups) == 2 and len(names) == 1 and all(len(codes) == 1 for _, codes in groups)
        if target == "table" and is_pair and names <= set(self.gamma_by_attribute):
            (one, (left,)), (_, (right,)) = groups
            return self.contrast(published, one, left, right, question)
        return super().difference(published, question, first, second, target=target)

    def contrast(
        self, published: Published, attribute: str, first: int, second: int, where: Selection
    ) -> Estimates:
        """Difference between two values' shares of rows that satisfy a public condition.

        The share of the first value's rows minus that of the second's. It stays determined when a third
        value is in every group and single counts are not.

        Parameters
        ----------
        attribute
            A drawn attribute.
        first, second
            Codes of two of its values.
        where
            A condition on attributes published as they are.
        """
        if any(name in self.gamma_by_attribute for name in where.names):
            raise ParameterError(
                f"a contrast compares two categories of {attribute!r} under a condition on attributes that are "
                "published as they are; the condition names a drawn one. Leave it out.",
                parameter="where",
            )
        model = self._model(published, attribute)
        if self.partition != "mixed":
            self._require_law(model, attribute)
        if not model.counts[[first, second]].all() or any(model.is_certain[[first, second]]):
            raise NotIdentifiableError(
                f"one of the two categories of {attribute!r} is in nearly every group or in no published row, "
                "so its share is not determined. Compare other categories."
            )
        counts = np.asarray(published.count_by((attribute,), where).counts, dtype=np.float64)
        shares = model.identified_shares(counts)
        predicate, everyone = model.predicate(shares), model.predicate(np.ones(len(counts)))
        weights = np.zeros((len(counts), 1))
        weights[first], weights[second] = 1 / model.counts[first], -1 / model.counts[second]
        # d(x/f) = (dx - theta df) / f, and f' is the estimate under the predicate that holds for all.
        drift = -shares[:, None] * weights
        cross = covariance(predicate, everyone, shares, weights, drift)
        variance = (
            covariance(predicate, predicate, shares, weights, weights)
            + cross
            + cross.T
            + covariance(everyone, everyone, everyone.shares, drift, drift)
        )
        estimates = counts @ model.inverse
        value = estimates[first] / model.counts[first] - estimates[second] / model.counts[second]
        return Estimates.with_covariance(np.array([value]), variance)

    def consistent(
        self, published: Published, tabulation: Tabulation, *, feasibility: Feasibility = "projection"
    ) -> Floats:
        """Non-negative cells that add up to the exact number of rows of every public combination."""
        names = {*tabulation.by, *tabulation.where.names}
        drawn = tuple(name for name in self.gamma_by_attribute if name in names)
        if len(drawn) == 1 and names == {drawn[0]}:
            return self.estimate(
                published, tabulation
            ).values  # a value's published count is feasible as it is
        return self._product(published, drawn).consistent(published, tabulation, feasibility=feasibility)

    def expected_standard_errors(self, true_counts: CountTable) -> Floats:
        """Standard errors that estimates of the table's cells will have, from its true counts."""
        drawn = [name for name in true_counts.names if name in self.gamma_by_attribute]
        models = {
            name: decoy_model(_whole(true_counts.project([name]).counts), self.gamma_by_attribute[name])
            for name in drawn
        }
        if len(drawn) != 1:
            return _product_of(models).expected_standard_errors(true_counts)
        name, model = drawn[0], models[drawn[0]]
        axis = true_counts.axis_of(name)
        moved = np.moveaxis(np.asarray(true_counts.counts, dtype=np.float64), axis, -1)
        if len(true_counts.names) == 1:
            return np.asarray(np.sqrt([margin_variance(each, model.gamma) for each in moved]))
        model.require_identifiable(name)
        weights = np.eye(len(model.counts))
        variances = [
            _variances(model.predicate(model.shares(each)), weights)
            for each in moved.reshape(-1, moved.shape[-1])
        ]
        return np.moveaxis(np.sqrt(np.array(variances)).reshape(moved.shape), -1, axis)

    def notes(self, published: Published, where: Selection, estimates: Estimates) -> tuple[str, ...]:
        """What kind of sum the answer is, and whether its interval is to be trusted."""
        drawn = [name for name in where.names if name in self.gamma_by_attribute]
        if not drawn:
            return ()
        notes = [self._kind(float(estimates.values[0]), float(estimates.standard_errors[0]))]
        for name in drawn:
            codes = where.codes(name) or ()
            rows = self._model(published, name).counts[list(codes)]
            if rows.sum() < FEW_ROWS:
                notes.append(f"fewer than {FEW_ROWS} published rows of {name}: too few for a normal interval")
        return tuple(notes)

    def _kind(self, estimate: float, error: float) -> str:
        """Small, large or grey: whether an answer of this size is protected, dependable, or neither."""
        from scipy.special import ndtr

        if estimate <= self.largest_small_count:
            return f"small sum: at or below {self.largest_small_count} rows, inaccurate on purpose"
        if 2 * ndtr(-self.relative_error * estimate / max(error, 1e-300)) <= self.error_probability:
            chance = 1 - self.error_probability
            return (
                f"large sum: within {percent(self.relative_error)} of the truth with probability {chance:.4g}"
            )
        return "grey: neither small enough to be protected nor large enough to be dependable"

    @property
    def sentence(self) -> str:
        """The link in words."""
        names = " and ".join(self.gamma_by_attribute)
        sizes = " and ".join(str(each) for each in self.gamma_by_attribute.values())
        groups = "a secret group" if len(self.gamma_by_attribute) == 1 else "secret groups of its own"
        return (
            f"Each row's {names} was drawn uniformly from the {sizes} different values of {groups} "
            f"({self.partition} partition)."
        )

    def _model(self, published: Published, name: str) -> DecoyModel:
        margin = published.count_by((name,), Selection())
        return decoy_model(_whole(margin.counts), self.gamma_by_attribute[name])

    def _require_law(self, model: DecoyModel, name: str) -> None:
        if self.partition != "mixed":
            raise NotIdentifiableError(
                f"the groups of {name!r} were made {self.partition}, and which values meet in them cannot be "
                "computed from the release. Counts of its categories alone are determined; for others ask for "
                "estimator='pairwise' or 'paper', knowing that they are biased."
            )
        model.require_identifiable(name)

    def _product(self, published: Published, names: Sequence[str]) -> PerturbedRows:
        models = {name: self._model(published, name) for name in names}
        for name, model in models.items():
            self._require_law(model, name)
        return _product_of(models)


@dataclass(frozen=True, eq=False)
class _Matrix:
    """A distortion matrix and its inverse under the names that the algebra of randomized response reads."""

    on_axis: Floats
    inverse_on_axis: Floats


def _product_of(models: Mapping[str, DecoyModel]) -> PerturbedRows:
    """Independent attributes as a product of matrices; not validated again, since they are computed here."""
    matrices: dict[str, Any] = {name: _Matrix(each.distortion, each.inverse) for name, each in models.items()}
    return PerturbedRows.model_construct(distortions=matrices)


def _whole(counts: Floats) -> tuple[int, ...]:
    return tuple(int(each) for each in counts)


def _margin(model: DecoyModel, question: DecoyQuestion) -> Estimates:
    """Counts of values over the whole table: published as they are, with the binomial's error."""
    values = question.counts[0] @ question.weights
    if len(model.occurring) <= model.gamma:
        single = [margin_variance(max(each, 1.0), model.gamma) for each in model.counts]
        return Estimates(values, np.asarray(np.array(single) @ question.weights))
    covariances = model.margin_covariance + np.diag(model.unseen_variances)
    return Estimates.with_covariance(values, question.weights.T @ covariances @ question.weights)


def _cells(
    model: DecoyModel, predicates: list[Predicate], values: Floats, question: DecoyQuestion
) -> Estimates:
    """Every public combination by every sum of values, flattened with the sums last."""
    weights = question.weights
    selected = question.counts.sum(axis=1)
    floor = np.multiply.outer(selected > 0, model.unseen_variances @ weights**2)
    cells, sums = len(values), weights.shape[1]
    found = (values @ weights).ravel()
    if cells > MOST_PREDICATES or found.size > LARGEST_COVARIANCE:
        variances = np.array([_variances(each, weights) for each in predicates]) + floor
        return Estimates(found, variances.ravel())
    blocks = np.zeros((cells, sums, cells, sums))
    nothing = np.zeros(len(model.counts))
    for i, j in itertools.combinations_with_replacement(range(cells), 2):
        both = predicates[i].shares if i == j else nothing
        blocks[i, :, j] = covariance(predicates[i], predicates[j], both, weights, weights)
        blocks[j, :, i] = blocks[i, :, j].T
    whole = blocks.reshape(cells * sums, cells * sums) + np.diag(floor.ravel())
    return Estimates.with_covariance(found, whole)


def _variances(predicate: Predicate, weights: Floats) -> Floats:
    whole = covariance(predicate, predicate, predicate.shares, weights, weights)
    return np.clip(np.diagonal(whole), 0, None)


def _finish(question: DecoyQuestion, estimates: Estimates, target: Target) -> Estimates:
    """Cells in the order that was asked for; the population's own variance added when it is meant.

    Cells do not overlap, so the table being a draw adds ``diag(x) - x x'/N``, as for randomized response.
    """
    order = question.order
    values, variances = estimates.values[order], estimates.variances[order]
    whole = None if estimates.covariance is None else estimates.covariance[np.ix_(order, order)]
    if target == "population":
        rows = question.number_of_rows
        inflate = rows / max(rows - 1, 1)
        variances = np.clip((variances + values - values**2 / rows) * inflate, 0, None)
        if whole is not None:
            whole = (whole + np.diag(values) - np.outer(values, values) / rows) * inflate
    return Estimates(values, variances, whole) if whole is None else Estimates.with_covariance(values, whole)


def _pairwise(states: Floats, names: Sequence[str], gammas: Sequence[int]) -> tuple[Floats, Floats]:
    """Closed form and its variance for one drawn attribute; exact where there is none."""
    if len(gammas) > 1:
        raise ParameterError(
            f"the pairwise estimator answers for one drawn attribute at a time, here are {len(gammas)}. "
            "Leave the estimator out, or ask for 'paper'.",
            parameter="estimator",
        )
    if not gammas:
        return states[:, 1], np.zeros(len(states))
    shown, selected = states[:, 1, 1], states[:, 1].sum(axis=1)
    count, rows = states[:, :, 1].sum(axis=1), states.reshape(len(states), -1).sum(axis=1)
    if np.any(count * gammas[0] >= rows):
        raise NotIdentifiableError(
            f"a category of {names[0]!r} is published at least once for every group of {gammas[0]}, so its counts "
            f"in public groups are not determined; they lie between 0 and the group's rows. Ask about others."
        )
    values = pairwise_count(shown, selected, count, float(rows[0]), gammas[0])
    return values, pairwise_variance(values, selected, count, float(rows[0]), gammas[0])
