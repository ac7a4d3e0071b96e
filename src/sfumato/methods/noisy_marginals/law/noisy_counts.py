"""Counts of chosen marginals, and answers to declared queries, each with independent noise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.chance.distortion import contract
from sfumato.errors import NotIdentifiableError, ParameterError, ReleaseDamagedError
from sfumato.guarantees import Guarantee
from sfumato.guarantees.differential_privacy import DifferentialPrivacy
from sfumato.laws.asking import (
    feasible,
    for_population,
)
from sfumato.laws.base import Law, Published, Target
from sfumato.laws.believing import Posterior, SharedPrior, Targets
from sfumato.methods.noisy_marginals.law.cell_beliefs import beliefs_by_cells
from sfumato.methods.noisy_marginals.law.marginal_effects import combine_tables
from sfumato.methods.noisy_marginals.law.marginals import NoisyAnswer, NoisyMarginal, read_marginal
from sfumato.methods.noisy_marginals.law.noisy_sums import NoisySums
from sfumato.methods.noisy_marginals.law.promises import promises_of_noise
from sfumato.values.arrays import Floats
from sfumato.values.bounds import MOST_ROWS
from sfumato.values.counts import CountTable
from sfumato.values.estimates import Estimates
from sfumato.values.feasibility import Feasibility
from sfumato.values.schema import Schema
from sfumato.values.selection import Tabulation

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
