"""A fitted regression."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.analysis.coefficients import SHOWN, Coefficient, Fitted
from sfumato.analysis.numbers import WHOLE_RANGE, NumberEstimate
from sfumato.analysis.regression.design import Response, build_columns
from sfumato.analysis.regression.formula import Formula
from sfumato.analysis.regression.glm import FAMILIES
from sfumato.analysis.routine import EXACT
from sfumato.errors import NotIdentifiableError, ParameterError, QueryError, nearest
from sfumato.laws import Target
from sfumato.values.arrays import Floats
from sfumato.values.ends import combined_ends
from sfumato.values.estimates import Estimates, normal_quantile
from sfumato.values.number_text import percent_as_stated
from sfumato.values.result_tables import ResultTable
from sfumato.values.schema import Schema

ALL_ALIKE = "all rows drawn with these covariates are alike: what others of the population may be, the release does not tell"
"""What is said of a prediction that varies with nothing: nobody knows how far it may be from the population's."""


@dataclass(frozen=True)
class TermTest:
    """Whether all coefficients of a term could be zero: a Wald test about the population."""

    term: str
    statistic: float
    degrees: int
    p_value: float


@dataclass(frozen=True, eq=False)
class Regression(Fitted):
    """A regression fitted through the law of a release.

    Parameters
    ----------
    formula
        As it was asked.
    model
        Formula, schema and response as read.
    coefficients
        In the order of the formula; for several categories of the response, those of the first come first.
    estimates
        The coefficients with their covariance.
    terms
        Term of each coefficient, as written.
    strength
        Standard errors by which the information differs from zero where it does least.
    steps
        Newton steps taken.
    is_within_bounds, is_assumed
        Whether counts behind it are known within bounds only, and whether the estimates then rest on an assumption.
    """

    formula: str
    model: tuple[Formula, Schema, Response]
    coefficients: tuple[Coefficient, ...]
    estimates: Estimates
    terms: tuple[str, ...]
    target: Target
    interval: str
    confidence_level: float
    strength: float
    steps: int
    method: str
    law: str
    notes: tuple[str, ...] = ()
    is_within_bounds: bool = False
    is_assumed: bool = False

    @property
    def family(self) -> str:
        """logistic, multinomial, poisson or linear."""
        return self.model[2].family

    @property
    def covariance(self) -> Floats:
        """Of the coefficients, ``(p, p)``."""
        assert self.estimates.covariance is not None
        return self.estimates.covariance

    def __repr__(self) -> str:
        number = len(self.coefficients)
        return f"Regression({self.formula}: {self.family}, {number} coefficients, about the {self.target})"

    def summary(self) -> str:
        """A table for people."""
        has_categories = self.family == "multinomial"
        is_ratio = self.model[2].is_share
        rows = tuple(
            (
                *((each.category,) if has_categories else ()),
                *each.shown(),
                *((f"{math.exp(min(each.estimate, 700)):.4g}",) if is_ratio else ()),
            )
            for each in self.coefficients
        )
        columns = (
            *(("Category",) if has_categories else ()),
            *SHOWN,
            *(("Odds ratio",) if is_ratio else ()),
        )
        level = percent_as_stated(self.confidence_level)
        modelled = self.model[2].categories[0] if self.family == "logistic" else ""
        about = f" (of {modelled})" if modelled and modelled != self.model[2].text else ""
        title = f"{self.family} regression {self.formula}{about}, {level} {self.interval} intervals, about the {self.target}"
        table = ResultTable(title[0].upper() + title[1:], columns, rows).to_text()
        return "\n".join(
            [table, f"({self.method}, law {self.law})", *(f"Note: {each}" for each in self.notes)]
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as ``regression --json`` prints it; infinite ends are null there."""
        return {
            "formula": self.formula,
            "family": self.family,
            "target": self.target,
            "interval": self.interval,
            "confidence": self.confidence_level,
            "coefficients": [each.to_dict() for each in self.coefficients],
            "covariance": self.covariance.tolist(),
            "strength": self.strength,
            "steps": self.steps,
            "method": self.method,
            "law": self.law,
            "notes": list(self.notes),
        }

    def figure(self) -> dict[str, Any]:
        """A Vega-Lite chart of the coefficients, as plain data; ends that are infinite are not drawn."""
        return self.chart(title="coefficient", unit=self.formula)

    def test(self, term: str) -> TermTest:
        """Test whether all coefficients of a term are zero in the population.

        Raises
        ------
        ParameterError
            When the fit is about the table's own rows, in which nothing is exactly zero.
        NotIdentifiableError
            When its counts are known within bounds only, and its estimates rest on an assumption.
        """
        from scipy.stats import chi2

        if self.target != "population":
            raise ParameterError(
                "a test is about the population, and this fit is about the table's own rows. "
                'Fit again with target="population".',
                parameter="target",
            )
        if self.is_assumed:
            raise NotIdentifiableError(
                "a test of a term would not keep its level: counts behind it are known within bounds only, and the fit assumes what happened "
                "within. Read the ranges of the coefficients, which hold whatever the bounds allow."
            )
        chosen = [place for place, each in enumerate(self.terms) if each == term]
        if not chosen:
            raise QueryError(f"the formula has no term {term!r}; {nearest(term, dict.fromkeys(self.terms))}")
        values = self.estimates.values[chosen]
        statistic = float(values @ np.linalg.solve(self.covariance[np.ix_(chosen, chosen)], values))
        return TermTest(term, statistic, len(chosen), float(chi2.sf(statistic, len(chosen))))

    def predict(self, covariates: Mapping[str, str], *, category: str | None = None) -> NumberEstimate:
        """Mean or share of the response to expect of rows with given covariates.

        Parameters
        ----------
        covariates
            Category of each attribute of the formula's terms, by label.
        category
            Of a multinomial response; its second category when not given.
        """
        formula, schema, response = self.model
        unknown = [name for name in formula.names if name not in covariates]
        if unknown:
            raise QueryError(
                f"covariate {unknown[0]!r} is missing. Give a category for each of {', '.join(formula.names)}."
            )
        codes = {name: np.array([schema[name].code_of(covariates[name])]) for name in formula.names}
        row = build_columns(formula, schema, codes).values[0]
        place = response.categories.index(category) if category is not None else 0
        family = FAMILIES[response.family]
        predictors = self.estimates.values.reshape(-1, row.size) @ row
        value = float(family.mean(predictors[None, :])[0, place])
        gradient = np.kron(family.spread(predictors[None, :])[0, place], row)
        spread = Estimates(self.estimates.values, self.estimates.variances, self.covariance).linear(
            gradient[None, :]
        )
        error = float(spread.standard_errors[0])
        low, high = _ends(value, error, normal_quantile(self.confidence_level), is_share=response.is_share)
        if self.is_within_bounds:
            low, high = self._predicted_within(row, place)
        bounds = (
            (0.0, 1.0)
            if response.is_share
            else (0.0, math.inf)
            if response.family == "poisson"
            else (-math.inf, math.inf)
        )
        what = response.categories[place] or response.text
        ends = float(np.clip(low, *bounds)), float(np.clip(high, *bounds))
        notes = self.notes
        if self.target == "population" and error <= EXACT * max(abs(value), 1.0):
            ends, notes = bounds, (*notes, ALL_ALIKE)
        elif ends == bounds:
            notes = (*notes, WHOLE_RANGE)
        claim = min(each.certainty for each in self.coefficients)
        return NumberEstimate(
            f"{'share' if response.is_share else 'mean'} of {what} among "
            + (" and ".join(f"{name} = {covariates[name]!r}" for name in formula.names) or "all rows"),
            value,
            error,
            *ends,
            self.confidence_level,
            self.method,
            self.law,
            self.target,
            notes=notes,
            certainty=claim,
        )

    def _predicted_within(self, row: Floats, place: int) -> tuple[float, float]:
        """Ends of a prediction whose every coefficient lies within its range; a category's share falls with the predictors of others."""
        family = FAMILIES[self.model[2].family]
        ranges = np.array([(each.low, each.high) for each in self.coefficients]).T
        low, high = (
            each.ravel() for each in combined_ends(np.kron(np.eye(ranges.shape[1] // row.size), row), *ranges)
        )
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            return -math.inf, math.inf
        is_own = np.arange(low.size) == place
        return tuple(  # type: ignore[return-value]
            float(family.mean(np.where(is_own, own, others)[None, :])[0, place])
            for own, others in ((low, high), (high, low))
        )


def _ends(value: float, error: float, half_width: float, *, is_share: bool) -> tuple[float, float]:
    """Ends of the interval of a prediction; of a share as far as that of its log-odds, which leans away from none and from all.

    Where few of a group differ from the rest, the error of a share is small when fewer of them were drawn than are to be expected.

    Examples
    --------
    >>> [round(each, 3) for each in _ends(0.99, 0.01, 1.96, is_share=True)]
    [0.932, 1.01]
    """
    low, high = value - half_width * error, value + half_width * error
    if not is_share or not 0 < value < 1:
        return low, high
    odds, factor = value / (1 - value), math.exp(min(half_width * error / (value * (1 - value)), 700))
    least, most = odds / factor, odds * factor
    return min(low, least / (1 + least)), max(high, most / (1 + most))
