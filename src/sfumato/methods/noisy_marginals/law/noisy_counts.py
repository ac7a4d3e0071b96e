"""Counts of chosen marginals, and answers to declared queries, each with independent noise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar, Literal

import numpy as np

from sfumato.chance.noise import DiscreteNoise
from sfumato.chance.noise_sums import half_width_of_sum, half_widths_of_sums
from sfumato.errors import NotIdentifiableError, ParameterError
from sfumato.frozen import Frozen
from sfumato.laws.base import Law, Published, Target
from sfumato.methods.noisy_marginals.law.marginal_effects import NoisyTable, combine_tables, sum_cells
from sfumato.values.arrays import Floats, Integers
from sfumato.values.counts import CountTable
from sfumato.values.estimates import Estimates, Feasibility, clip_to_totals, project_to_simplex
from sfumato.values.schema import Schema
from sfumato.values.selection import Selection, Tabulation

COUNT_COLUMN = "count"
"""Column of a published marginal that holds the noisy counts."""

SMALLEST_VARIANCE = 1e-300
"""Of noise that is surely zero."""

SHOWN_MARGINALS = 12
"""Marginals that a message or sentence lists before it breaks off."""


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
    sizes: tuple[int, ...]
    noise: DiscreteNoise

    @property
    def title(self) -> str:
        """What it counts, in words."""
        return " by ".join(self.attributes)

    def cells_summed(self, names: Sequence[str]) -> int:
        """Cells that add up to one cell over some of the attributes."""
        pairs = zip(self.attributes, self.sizes, strict=True)
        return math.prod(size for name, size in pairs if name not in names)


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
    count: int
    noise: DiscreteNoise


class NoisyCounts(Law):
    """Every published count is the true one plus independent noise of a public law.

    A count that is a sum of cells of one marginal is estimated by the sum, whose variance is the
    number of cells times that of the noise. Where several marginals contain it, the one with the
    smallest variance answers. The estimator ``least-squares`` uses them all.

    Notes
    -----
    The noise is on the counts of the table (``target="table"``). For a population that the table was
    drawn from the multinomial variance of the draw comes on top, estimated without bias up to the
    noise of the total. The number of rows is not published: shares are shares of a noisy total.

    Examples
    --------
    >>> from sfumato.chance.noise import DiscreteLaplace
    >>> marginal = NoisyMarginal(
    ...     table="marginal-1", attributes=("sex", "job"), sizes=(2, 3), noise=DiscreteLaplace(scale=2.0)
    ... )
    >>> NoisyCounts(marginals=(marginal,)).sentence
    'Independent noise was added to every count of sex by job (standard deviation 2.8).'
    """

    law: Literal["noisy-counts"] = "noisy-counts"
    marginals: tuple[NoisyMarginal, ...] = ()
    answers: tuple[NoisyAnswer, ...] = ()

    estimators: ClassVar[Mapping[str, str]] = {
        "least-squares": "unbiased; all marginals combined, so that overlapping tables agree"
    }

    def estimate(
        self, published: Published, tabulation: Tabulation, *, target: Target = "table"
    ) -> Estimates:
        """Cells of the tabulation, from the one marginal that gives them the smallest variance."""
        if not tabulation.by:
            return self.estimate_selections(published, (tabulation.where,), target=target)
        weights = _weights(published.schema, tabulation)
        marginal = self._best(tuple(weights))
        table = read_marginal(published, marginal)
        # The table's axes come first; the tabulation may ask for another order.
        sums = sum_cells(_ordered(table, tabulation.by), weights)
        if target == "population":
            return _drawn_anew(sums, float(table.counts.sum()))
        cells = _cells_of(sums.variances, marginal.noise)
        return replace(sums, half_widths=partial(half_widths_of_sums, marginal.noise, cells))

    def estimate_by(
        self, estimator: str, published: Published, tabulation: Tabulation, *, target: Target = "table"
    ) -> Estimates:
        """The least squares estimate from all marginals together."""
        if estimator not in self.estimators:
            return super().estimate_by(estimator, published, tabulation, target=target)
        weights = _weights(published.schema, tabulation)
        # Refuses what no single marginal contains: its highest effect is not measured anywhere.
        _ = self._best(tuple(weights))
        tables = [read_marginal(published, each) for each in self.marginals]
        combined = combine_tables(tables, weights)
        if target == "table":
            return combined
        return _drawn_anew(combined, float(combine_tables(tables, {}).values[0]))

    def estimate_selections(
        self, published: Published, selections: Sequence[Selection], *, target: Target = "table"
    ) -> Estimates:
        """Numbers of rows for selections that may overlap, with the covariance between them.

        Each is read where its own variance is smallest. Two that are read from one table share the
        noise of the cells they share; two from different tables share none.
        """
        schema = published.schema
        sources = [self._source(schema, each) for each in selections]
        tables = {
            each.table: read_marginal(published, each) for each in sources if isinstance(each, NoisyMarginal)
        }
        number = len(selections)
        values, covariance = np.empty(number), np.zeros((number, number))
        for i, (source, selection) in enumerate(zip(sources, selections, strict=True)):
            if isinstance(source, NoisyAnswer):
                values[i] = source.count
            else:
                weights = _weights(schema, Tabulation(where=selection))
                values[i] = sum_cells(tables[source.table], weights).values[0]
            for j in range(number):
                if sources[j] == source:
                    shared = selection & selections[j]
                    covariance[i, j] = _variance(source, shared)
        if target == "population":
            covariance += self._drawing(published, selections, values, covariance)
            return Estimates.with_covariance(values, covariance)
        cells = [_cells_of(covariance[i, i], each.noise) for i, each in enumerate(sources)]
        sums = Estimates.with_covariance(values, covariance)
        return replace(sums, half_widths=partial(_half_widths, [each.noise for each in sources], cells))

    def _drawing(
        self, published: Published, selections: Sequence[Selection], values: Floats, noise: Floats
    ) -> Floats:
        """Covariance of drawing the rows: ``shared - values values' / rows``, without the noise in it."""
        shared = np.array(
            [
                [self.estimate_selections(published, (one & other,)).values[0] for other in selections]
                for one in selections
            ]
        )
        rows = self.estimate_selections(published, (Selection(),)).values[0]
        return _not_negative(shared - (np.outer(values, values) - noise) / max(rows, 1))

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
        names = tuple(_weights(published.schema, tabulation))
        whole = self.estimate_by("least-squares", published, Tabulation(by=names)).values
        total = np.array([max(whole.sum(), 0.0)])
        make_feasible = {"projection": project_to_simplex, "clip": clip_to_totals}[feasibility]
        shape = [each.size for each in published.schema.select(names)]
        feasible = NoisyTable(names, make_feasible(whole[None, :], total).reshape(shape), 0.0)
        return sum_cells(feasible, _weights(published.schema, tabulation)).values

    def expected_standard_errors(self, true_counts: CountTable) -> Floats:
        """Standard error of every cell of a table, the same for all: it does not depend on the counts."""
        best = self._best(true_counts.names)
        variance = best.noise.variance * best.cells_summed(true_counts.names)
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

    def _best(self, names: Sequence[str]) -> NoisyMarginal:
        """The marginal over at least these attributes whose sums have the smallest variance."""
        containing = [each for each in self.marginals if set(names) <= set(each.attributes)]
        if not containing:
            held = f"{' and '.join(names)} together" if len(names) > 1 else "".join(names) or "a total"
            covered = self._list_marginals() if self.marginals else "answers to declared queries only"
            raise NotIdentifiableError(
                f"no published table holds {held}; published are: {covered}. "
                "Ask within one of these, or publish a marginal over the attributes wanted."
            )
        return min(containing, key=lambda each: each.noise.variance * each.cells_summed(names))

    def _source(self, schema: Schema, selection: Selection) -> NoisyMarginal | NoisyAnswer:
        """Where a selection is best read: a declared answer to just this question, or a marginal."""
        # As mappings: the order of conditions does not matter.
        conditions = dict(selection.conditions)
        declared = [
            each
            for each in self.answers
            if dict(Selection.parse(each.question, schema).conditions) == conditions
        ]
        options: list[tuple[float, NoisyMarginal | NoisyAnswer]] = [
            (each.noise.variance, each) for each in declared
        ]
        try:
            marginal = self._best(selection.names)
        except NotIdentifiableError:
            if not declared:
                raise
        else:
            options.append((_variance(marginal, selection), marginal))
        return min(options, key=lambda each: each[0])[1]


def read_marginal(published: Published, marginal: NoisyMarginal) -> NoisyTable:
    """The noisy counts of one published table, as they stand."""
    counts = np.zeros(marginal.sizes)
    for batch in published.scan(marginal.table, (*marginal.attributes, COUNT_COLUMN)):
        counts[tuple(batch.codes[name] for name in marginal.attributes)] = batch.codes[COUNT_COLUMN]
    return NoisyTable(marginal.attributes, counts, marginal.noise.variance)


def _ordered(table: NoisyTable, names: Sequence[str]) -> NoisyTable:
    """The same table with the axes named first, in that order."""
    order = sorted(
        range(len(table.names)),
        key=lambda axis: names.index(table.names[axis]) if table.names[axis] in names else len(names),
    )
    return NoisyTable(
        tuple(table.names[axis] for axis in order), table.counts.transpose(order), table.variance
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


def _variance(source: NoisyMarginal | NoisyAnswer, selection: Selection) -> float:
    """Variance of the noise of all cells that a selection adds up."""
    if isinstance(source, NoisyAnswer):
        return source.noise.variance
    chosen = math.prod(len(codes) for _, codes in selection.conditions)
    return source.noise.variance * source.cells_summed(selection.names) * chosen


def _cells_of(variances: Floats, noise: DiscreteNoise) -> Integers:
    """How many cells were added up, from the variance of their sum."""
    return np.rint(np.asarray(variances) / max(noise.variance, SMALLEST_VARIANCE)).astype(np.int64).clip(1)


def _half_widths(
    noises: Sequence[DiscreteNoise], cells: Sequence[Integers], confidence_level: float
) -> Floats:
    """Half-widths of intervals of sums from different tables, ``(n,)``."""
    pairs = zip(noises, cells, strict=True)
    return np.array([half_width_of_sum(noise, int(number), confidence_level) for noise, number in pairs])


def _drawn_anew(sums: Estimates, rows: float) -> Estimates:
    """The same cells for a population: disjoint cells of a multinomial draw of so many rows.

    The products of values hold the covariance of the noise besides, which is taken out again.
    """
    rows = max(rows, 1.0)
    if sums.covariance is None:
        drawing = sums.values - (sums.values**2 - sums.variances) / rows
        return Estimates(sums.values, sums.variances + np.clip(drawing, 0, None))
    products = np.outer(sums.values, sums.values) - sums.covariance
    drawing = _not_negative(np.diag(sums.values) - products / rows)
    return Estimates.with_covariance(sums.values, sums.covariance + drawing)


def _not_negative(drawing: Floats) -> Floats:
    """The covariance of drawing with negative variances lifted to zero: noise made those counts negative."""
    return np.asarray(drawing + np.diag(np.clip(-np.diagonal(drawing), 0, None)))
