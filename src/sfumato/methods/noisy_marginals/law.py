"""The law of noisy marginals: sums of noisy cells, several marginals reconciled by least squares, composition of epsilon."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Annotated, ClassVar, Literal, get_args

import numpy as np
from pydantic import Field

from sfumato.arrays import Floats
from sfumato.errors import NotIdentifiableError, ParameterError, ReleaseDamagedError
from sfumato.estimates.counts import CountTable, Feasibility, feasible
from sfumato.estimates.estimates import Certainties, Certainty, Estimates, Limits
from sfumato.estimates.exact_intervals import half_width_of_sum
from sfumato.guarantees import Guarantee
from sfumato.guarantees.differential_privacy import DifferentialPrivacy, Neighbours, marginal_sensitivity
from sfumato.immutable import MOST_CATEGORIES, MOST_ROWS, Frozen
from sfumato.laws import estimator
from sfumato.laws.base import Law, Published
from sfumato.laws.estimator import (
    Formula,
    Target,
    codes_shown,
    conditions_outside,
    for_population,
    names_of,
    shape_of,
    take_codes,
)
from sfumato.laws.posterior import Posterior, SharedPrior, Targets, beliefs_of_counts, expected_counts
from sfumato.query.selection import Selection, Tabulation
from sfumato.randomness.distortion import contract
from sfumato.randomness.noise import DiscreteGaussian, DiscreteNoise, scale_at_least
from sfumato.schema import Schema

# --------------------------------------------------------------------------------------------------
# Sums of a table's cells, and the best agreement of several noisy marginals of one table.
#
# A marginal splits into effects, one for each set of its attributes: the part of the counts over the
# set that sums to zero along each of its axes. Marginals that share a set of attributes measure the
# same effect, each with its own noise; effects of different sets are uncorrelated. So the least squares
# problem over all marginals falls apart into one weighted mean for each effect, exactly.


@dataclass(frozen=True, eq=False)
class NoisyTable:
    """Counts over some attributes with independent noise of equal variance in every cell.

    Parameters
    ----------
    names
        One for each axis.
    counts
        ``(size of the first attribute, size of the second, ...)``.
    variance
        Of the noise of one cell.
    """

    names: tuple[str, ...]
    counts: Floats
    variance: float


def sum_cells(table: NoisyTable, weights: Mapping[str, Floats]) -> Estimates:
    """Sums of cells of one table, with their covariance.

    Parameters
    ----------
    table
        The noisy counts.
    weights
        For an attribute, ``(kept, size)``: which categories each kept entry adds up. Attributes that
        are not named are summed over. Axes come in the table's order.

    Examples
    --------
    >>> table = NoisyTable(("a", "b"), np.array([[1.0, 2.0], [3.0, 4.0]]), variance=2.0)
    >>> sums = sum_cells(table, {"a": np.eye(2)})
    >>> sums.values.tolist(), sums.variances.tolist()
    ([3.0, 7.0], [4.0, 4.0])
    """
    rows = _rows(table, weights)
    values = contract(table.counts, [each.T for each in rows]).ravel()
    return _estimates(values, [(table.variance, [each @ each.T for each in rows])])


def combine_tables(tables: Sequence[NoisyTable], weights: Mapping[str, Floats]) -> Estimates:
    """Sums of cells over the attributes named, from all tables together, by weighted least squares.

    Unbiased, and of smaller variance than any unbiased linear estimate from some of the tables. Axes
    come in the order of ``weights``.

    Parameters
    ----------
    tables
        Independent noisy tables of the same rows; one of them at least holds every attribute named.
    weights
        As for :func:`sum_cells`.

    Notes
    -----
    For a set S of attributes, each table that holds S measures the effect of S with a variance
    proportional to its cell variance times the number of cells summed into one cell over S, and the
    same correlation. The weighted mean over tables with reciprocal weights is the least squares
    solution; its variance factor v is the reciprocal of the sum of weights. An effect adds
    ``effect / r`` to every cell, r being the cells of the other attributes, and to the covariance
    ``v / r^2`` times the product over axes of ``I - J/n`` (in S) or J (not in S).

    Examples
    --------
    >>> one = NoisyTable(("a",), np.array([10.0, 20.0]), variance=1.0)
    >>> two = NoisyTable(("a",), np.array([14.0, 24.0]), variance=3.0)
    >>> combine_tables([one, two], {"a": np.eye(2)}).values.tolist()
    [11.0, 21.0]
    """
    names = tuple(weights)
    sizes = [each.shape[1] for each in weights.values()]
    total = np.zeros(sizes)
    parts: list[tuple[float, list[Floats]]] = []
    for subset in _subsets(names):
        effect, variance = _best_effect(tables, subset)
        others = math.prod(size for name, size in zip(names, sizes, strict=True) if name not in subset)
        shape = [size if name in subset else 1 for name, size in zip(names, sizes, strict=True)]
        total += effect.reshape(shape) / others
        factors = [
            each @ _correlation(size, is_in=name in subset) @ each.T
            for (name, each), size in zip(weights.items(), sizes, strict=True)
        ]
        parts.append((variance / others**2, factors))
    values = contract(total, [each.T for each in weights.values()]).ravel()
    return _estimates(values, parts)


def _rows(table: NoisyTable, weights: Mapping[str, Floats]) -> list[Floats]:
    """For each axis of a table, ``(kept, size)``: a row of ones where the axis is summed over."""
    shape = zip(table.names, table.counts.shape, strict=True)
    return [weights[name] if name in weights else np.ones((1, size)) for name, size in shape]


def _best_effect(tables: Sequence[NoisyTable], subset: tuple[str, ...]) -> tuple[Floats, float]:
    """Weighted mean of an effect over the tables that hold it, and its variance factor."""
    numerator: Floats | float = 0.0
    precision = 0.0
    for table in tables:
        if not set(subset) <= set(table.names):
            continue
        gone = tuple(axis for axis, name in enumerate(table.names) if name not in subset)
        summed = table.counts.sum(axis=gone)
        kept = [name for name in table.names if name in subset]
        effect = summed.transpose([kept.index(name) for name in subset])
        for axis in range(effect.ndim):
            effect = effect - effect.mean(axis=axis, keepdims=True)
        # Noise that is surely zero would have an infinite weight; a tiny variance has the same effect.
        cells_summed = table.counts.size // summed.size
        weight = 1 / max(table.variance * cells_summed, 1e-300)
        numerator = numerator + weight * effect
        precision += weight
    return np.asarray(numerator / precision), 1 / precision


def _correlation(size: int, *, is_in: bool) -> Floats:
    ones = np.ones((size, size))
    return np.eye(size) - ones / size if is_in else ones


def _subsets(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    return itertools.chain.from_iterable(
        itertools.combinations(names, number) for number in range(len(names) + 1)
    )


def _estimates(values: Floats, parts: Sequence[tuple[float, Sequence[Floats]]]) -> Estimates:
    """Values whose covariance is a sum of Kronecker products; of large tables the diagonal only."""
    is_small = values.size <= estimator.LARGEST_COVARIANCE
    covariance: Floats = np.zeros((values.size, values.size) if is_small else values.size)
    for factor, matrices in parts:
        product: Floats = np.ones((1, 1) if is_small else 1)
        for each in matrices:
            product = np.asarray(np.kron(product, each if is_small else np.diagonal(each)), np.float64)
        covariance += factor * product
    return Estimates.with_covariance(values, covariance) if is_small else Estimates(values, covariance)


# --------------------------------------------------------------------------------------------------
# Noisy tables and answers, as a release states them.


COUNT_COLUMN = "count"
"""Column of a published marginal that holds the noisy counts."""


class NoisyMarginal(Frozen):
    """One published table of noisy counts over the full product of some attributes.

    Parameters
    ----------
    table
        Name of the published table.
    attributes, sizes
        What it is tabulated over, and the number of categories of each.
    noise
        Of every cell, independent of all others.
    """

    table: str
    attributes: tuple[str, ...]
    sizes: tuple[Annotated[int, Field(ge=1, le=MOST_CATEGORIES)], ...]
    noise: DiscreteNoise

    @property
    def title(self) -> str:
        """What it counts, in words."""
        return " by ".join(self.attributes)

    def cells_added(self, asked: Tabulation) -> int:
        """Cells that add up to one cell of a question."""
        summed = [
            size if (codes := asked.where.codes(name)) is None else len(codes)
            for name, size in zip(self.attributes, self.sizes, strict=True)
            if name not in asked.by
        ]
        return math.prod(summed)


class NoisyAnswer(Frozen):
    """The noisy answer to one declared query.

    Parameters
    ----------
    question
        The condition, in canonical form.
    count
        How many rows satisfy it, plus noise.
    noise
        Of the answer, independent of all others.
    """

    question: str
    count: Annotated[int, Field(ge=-MOST_ROWS, le=MOST_ROWS)]
    noise: DiscreteNoise


def read_marginal(published: Published, marginal: NoisyMarginal) -> NoisyTable:
    """The noisy counts of one published table, as they stand."""
    counts = np.zeros(marginal.sizes)
    for batch in published.scan(marginal.table, (*marginal.attributes, COUNT_COLUMN)):
        counts[tuple(batch.codes[name] for name in marginal.attributes)] = batch.codes[COUNT_COLUMN]
    return NoisyTable(marginal.attributes, counts, marginal.noise.variance)


# --------------------------------------------------------------------------------------------------
# What is believed of people from the noisy counts of their own public group.


ALMOST_SURE = 1 - 1e-9
"""Noise beyond the half width of this is not looked at: beliefs beforehand, which rule nothing out, pull less hard than that."""


def beliefs_by_cells(table: NoisyTable, noise: DiscreteNoise, targets: Targets, prior: SharedPrior) -> Floats:
    """Beliefs about people, ``(combinations, values)``, from a table over all public values and the sensitive one."""
    before = prior.at(targets.names, targets.combinations)
    order = [table.names.index(name) for name in (*targets.names, targets.sensitive.name)]
    cells = table.counts.transpose(order)[tuple(targets.combinations.T)].astype(np.int64)
    means = prior.group_sizes(targets.names, targets.combinations)[:, np.newaxis] * before
    reach, noisy = int(noise.half_width(ALMOST_SURE)), cells.ravel()
    expected = expected_counts(
        np.maximum(noisy - reach, 0),
        np.maximum(noisy, 0) + reach,
        lambda rows: noise.probability(noisy[:, np.newaxis] - rows),
        means.ravel(),
    )
    return beliefs_of_counts(expected.reshape(cells.shape), before, are_members=targets.are_members)


# --------------------------------------------------------------------------------------------------
# What noise of stated scales promises.


def promises_of_noise(
    marginals: Sequence[DiscreteNoise], answers: Sequence[DiscreteNoise], delta: float
) -> tuple[DifferentialPrivacy, ...]:
    """Differential privacy of noisy tables and answers together, for each relation between neighbours.

    Parameters
    ----------
    marginals
        Noise of every cell of each table, in one cell of which every row is.
    answers
        Noise of each answer. One row changes an answer by one at most, be it added or replaced.
    delta
        At which epsilon is stated where the noise gives no pure one.

    Notes
    -----
    Discrete Laplace noise of scale b on what a row changes by D costs ``D / b``; the costs add up. With a
    discrete Gaussian among them the costs in rho add up: ``D / (2 s^2)`` of a Gaussian of scale s, half the square of
    epsilon of the others (Bun and Steinke 2016, propositions 4, 6 and 7).

    Examples
    --------
    >>> from sfumato.randomness.noise import DiscreteLaplace
    >>> [each.epsilon for each in promises_of_noise([DiscreteLaplace(scale=4.0)], [], 0.0)]
    [0.5, 0.25]
    """
    return tuple(_promise(marginals, answers, delta, relation) for relation in get_args(Neighbours))


def _promise(
    marginals: Sequence[DiscreteNoise],
    answers: Sequence[DiscreteNoise],
    delta: float,
    relation: Neighbours,
) -> DifferentialPrivacy:
    changed = marginal_sensitivity(1, relation)
    changes = [*((noise, changed) for noise in marginals), *((noise, 1) for noise in answers)]
    gaussian = [(noise, change) for noise, change in changes if isinstance(noise, DiscreteGaussian)]
    epsilons = [
        change / Fraction(noise.scale) for noise, change in changes if not isinstance(noise, DiscreteGaussian)
    ]
    if not gaussian:
        return DifferentialPrivacy(epsilon=scale_at_least(sum(epsilons, Fraction(0))), relation=relation)
    spent = sum((change / (2 * Fraction(noise.scale) ** 2) for noise, change in gaussian), Fraction(0))
    rho = scale_at_least(spent + sum((each**2 / 2 for each in epsilons), Fraction(0)))
    at = delta or 1e-6
    # Bun and Steinke 2016, proposition 3; the promise's own comparison finds a smaller epsilon where there is one.
    return DifferentialPrivacy(
        epsilon=rho + 2 * math.sqrt(rho * math.log(1 / at)), delta=at, rho=rho, relation=relation
    )


# --------------------------------------------------------------------------------------------------
# Counts as sums of noisy cells.


@dataclass(frozen=True)
class _Source:
    """Where the cells of a question are read: each adds up so many cells of a marginal, but for declared answers."""

    marginal: NoisyMarginal | None
    cells_added: int
    declared: Mapping[int, NoisyAnswer]


class NoisySums(Formula):
    """Sums of noisy cells, each read where its variance is smallest.

    Cells of one table share no noise. Two selections that are read from one marginal share the noise of the
    cells they share; two from different ones share none.

    Parameters
    ----------
    law
        What was published.
    published
        The release.
    """

    def __init__(self, law: NoisyCounts, published: Published) -> None:
        self.law = law
        self.published = published
        self._tables: dict[str, NoisyTable] = {}

    @cached_property
    def number_of_rows(self) -> float:  # type: ignore[override]
        """The public number of rows, or the noisy total."""
        return float(self.values(Tabulation())[0])

    def _is_size(self, asked: Tabulation) -> bool:
        """Whether the question is how many rows there are, which is public."""
        return self.law.number_of_rows is not None and not names_of([asked])

    def certainty(self, asked: Tabulation, number: int) -> Certainties:
        """A public number of rows is exact; all else is estimated."""
        if self._is_size(asked):
            return np.full(1, Certainty.EXACT, np.int8)
        return super().certainty(asked, number)

    def values(self, asked: Tabulation) -> Floats:
        """Sums of published cells, or declared answers as they stand."""
        if self._is_size(asked):
            return np.array([self.law.number_of_rows], np.float64)
        source = self._source(asked)
        cells = np.full(self._number(asked), np.nan)
        if source.marginal is not None:
            cells = self._sums(source.marginal, asked)
        return _replaced(cells, {place: each.count for place, each in source.declared.items()})

    def variances(self, asked: Tabulation) -> Floats:
        """The noise of all cells that each adds up."""
        if self._is_size(asked):
            return np.zeros(1)
        source = self._source(asked)
        own = np.nan if source.marginal is None else source.marginal.noise.variance * source.cells_added
        found = np.full(self._number(asked), own)
        return _replaced(found, {place: each.noise.variance for place, each in source.declared.items()})

    def covariance(self, one: Tabulation, other: Tabulation) -> Floats:
        """The noise of all cells that both add up."""
        if one is other:
            return np.diag(self.variances(one))
        if self._is_size(one) or self._is_size(other):
            return np.zeros((1, 1))
        first, second = self._source(one), self._source(other)
        if first.declared or second.declared:
            is_same = first.declared == second.declared
            return np.full((1, 1), first.declared[0].noise.variance if is_same else 0.0)
        marginal = first.marginal if first.marginal == second.marginal else None
        if marginal is None:
            return np.zeros((1, 1))
        shared = marginal.cells_added(Tabulation(where=one.where & other.where))
        return np.full((1, 1), marginal.noise.variance * shared)

    def fourth_cumulants(self, asked: Tabulation) -> Floats:
        """Those of all noises that each adds up."""
        if self._is_size(asked):
            return np.zeros(1)
        source = self._source(asked)
        own = (
            np.nan if source.marginal is None else source.marginal.noise.fourth_cumulant * source.cells_added
        )
        found = np.full(self._number(asked), own)
        return _replaced(
            found, {place: each.noise.fourth_cumulant for place, each in source.declared.items()}
        )

    def limits(self, asked: Tabulation, target: Target) -> Limits | None:
        """By the exact law of a sum of so many noises."""
        if target == "population" or self._is_size(asked):
            return None
        return partial(_ends_of_source, self._source(asked), self.values(asked))

    def _number(self, asked: Tabulation) -> int:
        return math.prod(shape_of(self.published.schema, asked))

    def _source(self, asked: Tabulation) -> _Source:
        """The best marginal, and the cells that a declared answer to just them gives more exactly."""
        declared = self._declared(asked)
        try:
            marginal = self.law.best(names_of([asked]))
        except NotIdentifiableError:
            if len(declared) < self._number(asked):
                raise
            return _Source(None, 0, declared)
        added = marginal.cells_added(asked)
        variance = marginal.noise.variance * added
        better = {place: each for place, each in declared.items() if each.noise.variance <= variance}
        return _Source(marginal, added, better)

    def _declared(self, asked: Tabulation) -> dict[int, NoisyAnswer]:
        """Declared answers to single cells, by place; the order of conditions does not matter."""
        schema = self.published.schema
        shown = [codes_shown(schema, asked, name) for name in asked.by]
        summed = dict(conditions_outside(asked.where, asked.by).conditions)
        found: dict[int, NoisyAnswer] = {}
        for each in sorted(self.law.answers, key=lambda each: -each.noise.variance):
            conditions = dict(Selection.parse(each.question, schema).binding(schema).conditions)
            own = [conditions.pop(name, ()) for name in asked.by]
            if conditions == summed and all(
                len(codes) == 1 and codes[0] in among for codes, among in zip(own, shown, strict=True)
            ):
                places = [among.index(codes[0]) for codes, among in zip(own, shown, strict=True)]
                # Without axes there is one cell, whose place no index has.
                flat = np.ravel_multi_index(places, [len(among) for among in shown]) if shown else 0
                found[int(flat)] = each
        return found

    def _sums(self, marginal: NoisyMarginal, asked: Tabulation) -> Floats:
        """Cells of one marginal, added up to those asked for."""
        if marginal.table not in self._tables:
            self._tables[marginal.table] = read_marginal(self.published, marginal)
        table = self._tables[marginal.table]
        cells = take_codes(table.counts, table.names, asked.where)
        gone = tuple(axis for axis, name in enumerate(table.names) if name not in asked.by)
        kept = [name for name in table.names if name in asked.by]
        return np.asarray(cells.sum(axis=gone)).transpose([kept.index(name) for name in asked.by]).ravel()


def _replaced(values: Floats, by_place: Mapping[int, float]) -> Floats:
    """The same with other numbers in some places."""
    for place, number in by_place.items():
        values[place] = number
    return values


def _ends_of_source(source: _Source, values: Floats, confidence_level: float) -> tuple[Floats, Floats]:
    own = np.nan
    if source.marginal is not None:
        own = half_width_of_sum(source.marginal.noise, source.cells_added, confidence_level)
    declared = {
        place: half_width_of_sum(each.noise, 1, confidence_level) for place, each in source.declared.items()
    }
    half = _replaced(np.full(values.size, own), declared)
    return values - half, values + half


# --------------------------------------------------------------------------------------------------
# Counts of chosen marginals, and answers to declared queries, each with independent noise.


SHOWN_MARGINALS = 12
"""Marginals that a message or sentence lists before it breaks off."""


class NoisyCounts(Law):
    """Every published count is the true one plus independent noise of a public law.

    A count that is a sum of cells of one marginal is estimated by the sum, whose variance is the
    number of cells times that of the noise. Where several marginals contain it, the one with the
    smallest variance answers. The estimator ``least-squares`` uses them all.

    Notes
    -----
    The noise is on the counts of the table (``target="table"``). For a population that the table was
    drawn from the multinomial variance of the draw comes on top, estimated without bias up to the
    noise of the total. Where neighbouring tables have the same number of rows it is public and stands in the law;
    else shares are shares of a noisy total.

    Examples
    --------
    >>> from sfumato.randomness.noise import DiscreteLaplace
    >>> marginal = NoisyMarginal(
    ...     table="marginal-1", attributes=("sex", "job"), sizes=(2, 3), noise=DiscreteLaplace(scale=2.0)
    ... )
    >>> NoisyCounts(marginals=(marginal,)).sentence
    'Independent noise was added to every count of sex by job (standard deviation 2.8).'
    """

    law: Literal["noisy-counts"] = "noisy-counts"
    marginals: tuple[NoisyMarginal, ...] = ()
    answers: tuple[NoisyAnswer, ...] = ()
    number_of_rows: Annotated[int, Field(ge=0, le=MOST_ROWS)] | None = None

    chosen_from_rows: ClassVar[tuple[str, ...]] = ("epsilon",)
    estimators: ClassVar[Mapping[str, str]] = {
        "least-squares": "unbiased; all marginals combined, so that overlapping tables agree"
    }

    def promises(self, schema: Schema, stated: Guarantee) -> tuple[Guarantee, ...]:
        """Differential privacy by what the noise of all tables and answers costs together."""
        del schema
        delta = stated.delta if isinstance(stated, DifferentialPrivacy) else 0.0
        promises = promises_of_noise(
            [each.noise for each in self.marginals], [each.noise for each in self.answers], delta
        )
        # A stated number of rows tells whether one is there.
        return tuple(
            each for each in promises if self.number_of_rows is None or each.relation == "replace-one"
        )

    def question_schema(self, published: Schema) -> Schema:
        """The published attributes, which the marginals must be tabulated over."""
        for each in self.marginals:
            sizes = tuple(published[name].size if name in published else 0 for name in each.attributes)
            if sizes != each.sizes:
                raise ReleaseDamagedError(
                    f"the release's law has a table {each.table!r} over other categories than the release publishes. "
                    "Get the release again from where it came."
                )
        return published

    def formula(self, published: Published, asked: Sequence[Tabulation]) -> NoisySums:
        """What each cell is read from: the one marginal, or the declared answer, of the smallest variance."""
        del asked
        return NoisySums(self, published)

    def posterior(self, published: Published, targets: Targets, prior: SharedPrior) -> Posterior:
        """By the noisy counts of a person's own group, where a table holds all public values with the sensitive one."""
        before = prior.at(targets.names, targets.combinations)
        wanted = {*targets.names, targets.sensitive.name}
        holding = [each for each in self.marginals if {*each.attributes} == wanted]
        if not holding:
            return Posterior(before, targets.index)
        marginal = min(holding, key=lambda each: each.noise.variance)
        table = read_marginal(published, marginal)
        return Posterior(beliefs_by_cells(table, marginal.noise, targets, prior), targets.index)

    def estimate_by(
        self, estimator: str, published: Published, tabulation: Tabulation, *, target: Target = "table"
    ) -> Estimates:
        """The least squares estimate from all marginals together."""
        if estimator not in self.estimators:
            return super().estimate_by(estimator, published, tabulation, target=target)
        weights = _weights(published.schema, tabulation)
        # Refuses what no single marginal contains: its highest effect is not measured anywhere.
        _ = self.best(tuple(weights))
        tables = [read_marginal(published, each) for each in self.marginals]
        combined = combine_tables(tables, weights)
        # At most those of a single noise: a sum of several comes nearer to normal.
        excess = max(each.noise.fourth_cumulant / each.noise.variance**2 for each in self.marginals)
        combined = replace(combined, fourth_cumulants=excess * combined.variances**2)
        if target == "table":
            return combined
        return for_population(combined, float(combine_tables(tables, {}).values[0]))

    def consistent(
        self, published: Published, tabulation: Tabulation, *, feasibility: Feasibility = "projection"
    ) -> Floats:
        """Least squares over all marginals, made non-negative with the least squares total.

        Least squares alone is unbiased and never worse on average than one marginal. Cutting negative
        cells moves the others down, so that small counts come out biased and totals right.
        """
        if feasibility == "em":
            raise ParameterError(
                "noisy counts are not counts of distorted rows, so expectation-maximization does not apply. "
                "Use feasibility 'projection' or 'clip'.",
                parameter="feasibility",
            )
        # Conditions become cells of their own first: what is made to add up is a whole table.
        weights = _weights(published.schema, tabulation)
        names = tuple(weights)
        whole = self.estimate_by("least-squares", published, Tabulation(by=names)).values
        total = np.array([max(whole.sum(), 0.0) if self.number_of_rows is None else self.number_of_rows])
        shape = [each.size for each in published.schema.select(names)]
        made = feasible(whole[None, :], total, feasibility).reshape(shape)
        return contract(made, [each.T for each in weights.values()]).ravel()

    def treats_alike(self, name: str) -> bool:
        """Yes: the noise of a table is the same in all its cells."""
        del name
        return True

    def expected_standard_errors(self, true_counts: CountTable) -> Floats:
        """Standard error of every cell of a table, the same for all: it does not depend on the counts."""
        best = self.best(true_counts.names)
        variance = best.noise.variance * best.cells_added(Tabulation(true_counts.names))
        return np.full(true_counts.counts.shape, math.sqrt(variance))

    @property
    def sentence(self) -> str:
        """The link in words."""
        noises = [each.noise for each in self.marginals] + [each.noise for each in self.answers]
        deviations = [math.sqrt(each.variance) for each in noises]
        low, high = f"{min(deviations):.2g}", f"{max(deviations):.2g}"
        spread = low if low == high else f"{low} to {high}"
        what = []
        if self.marginals:
            what.append(f"every count of {self._list_marginals()}")
        if self.answers:
            what.append(f"the answers to {len(self.answers)} declared queries")
        return f"Independent noise was added to {' and to '.join(what)} (standard deviation {spread})."

    def _list_marginals(self) -> str:
        shown = [each.title for each in self.marginals[:SHOWN_MARGINALS]]
        more = len(self.marginals) - len(shown)
        return ", ".join([*shown, f"{more} more"] if more else shown)

    def best(self, names: Sequence[str]) -> NoisyMarginal:
        """The marginal over at least these attributes whose sums have the smallest variance.

        Raises
        ------
        NotIdentifiableError
            When no marginal holds them all.
        """
        containing = [each for each in self.marginals if set(names) <= set(each.attributes)]
        if not containing:
            held = f"{' and '.join(names)} together" if len(names) > 1 else "".join(names) or "a total"
            covered = self._list_marginals() if self.marginals else "answers to declared queries only"
            raise NotIdentifiableError(
                f"no published table holds {held}; published are: {covered}. "
                "Ask within one of these, or publish a marginal over the attributes wanted."
            )
        return min(
            containing, key=lambda each: each.noise.variance * each.cells_added(Tabulation(tuple(names)))
        )


def _weights(schema: Schema, tabulation: Tabulation) -> dict[str, Floats]:
    """For every attribute that is shown or conditioned on, which categories its entries add up."""
    weights: dict[str, Floats] = {}
    for name in (*tabulation.by, *(each for each in tabulation.where.names if each not in tabulation.by)):
        rows = np.eye(schema[name].size)
        chosen = tabulation.where.codes(name)
        rows = rows if chosen is None else rows[list(chosen)]
        weights[name] = rows if name in tabulation.by else rows.sum(axis=0, keepdims=True)
    return weights
