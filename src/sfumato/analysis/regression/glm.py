"""Generalized linear models as estimating equations on counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sfumato.values.arrays import Floats
from sfumato.values.estimates import Estimates
from sfumato.values.number_text import show_with_error

LARGEST_SHARE_ERROR = 0.25
"""Standard error of a share from which on the noise alone can put it outside 0 to 1."""

FamilyName = Literal["logistic", "multinomial", "poisson", "linear"]


@dataclass(frozen=True)
class Family:
    """How the mean of a response follows from linear predictors.

    Parameters
    ----------
    mean
        Of predictors ``(cells, q)``, the means ``(cells, q)``.
    spread
        Of predictors ``(cells, q)``, the derivative of the means ``(cells, q, q)``.
    largest_predictor
        Size of a predictor beyond which no finite coefficient fits.
    largest_move
        What a coefficient may move in one step: where means saturate, a full step can overshoot for good.
    is_share
        Whether the means are shares of rows.
    """

    mean: Callable[[Floats], Floats]
    spread: Callable[[Floats], Floats]
    largest_predictor: float
    largest_move: float
    is_share: bool = False


@dataclass(frozen=True)
class Words:
    """What a refusal calls the parts of a model: public names, and estimated counts are all it may quote.

    Parameters
    ----------
    terms
        The coefficients.
    patterns
        Gives the covariates of a cell.
    responses
        What is modelled, for each category of the response.
    """

    terms: tuple[str, ...]
    patterns: Callable[[int], str]
    responses: tuple[str, ...]


def _shares(predictors: Floats) -> Floats:
    """Shares of categories after the first, whose predictor is 0."""
    largest = np.maximum(predictors.max(axis=1, keepdims=True), 0)
    odds = np.exp(predictors - largest)
    return np.asarray(odds / (np.exp(-largest) + odds.sum(axis=1, keepdims=True)))


def _spread_of_shares(predictors: Floats) -> Floats:
    shares = _shares(predictors)
    return np.asarray(shares[:, :, None] * np.eye(shares.shape[1]) - shares[:, :, None] * shares[:, None, :])


def _exponential(predictors: Floats) -> Floats:
    # Beyond the largest predictor the fit is refused; it must not overflow on the way there.
    return np.exp(np.minimum(predictors, 100))


FAMILIES: Mapping[FamilyName, Family] = {
    "logistic": Family(_shares, _spread_of_shares, 15, 4, is_share=True),
    "multinomial": Family(_shares, _spread_of_shares, 15, 4, is_share=True),
    "poisson": Family(_exponential, lambda predictors: _exponential(predictors)[:, :, None], 30, 4),
    "linear": Family(
        lambda predictors: predictors, lambda predictors: np.ones((*predictors.shape, 1)), np.inf, np.inf
    ),
}


@dataclass(frozen=True, eq=False)
class GeneralizedLinearModel:
    """Scores ``x (y - mean(x theta))`` of a model with canonical link, cell by cell.

    The sum of ``x y`` needs tables of each term with the response, that of ``x mean`` the table of the
    covariates: the cells may be those of one joint table or of several smaller ones.

    Parameters
    ----------
    family
        Mean and spread.
    design
        Covariates of each cell, ``(cells, d)``; zero in cells that tell of the response only.
    response
        What one row of each cell adds to the sums of ``y x``, ``(p, cells)`` with ``p = q d``: the
        coefficients of the first category, then of the second.
    words
        Names to explain a refusal with.
    squares
        What one row of each cell adds to the sum of ``y^2``, ``(cells,)``: where the variance of the response is a number of its own.
    """

    family: Family
    design: Floats
    response: Floats
    words: Words
    squares: Floats | None = None

    @property
    def largest_move(self) -> float:
        """What a coefficient may move in one Newton step."""
        return self.family.largest_move

    @classmethod
    def of_joint(
        cls, family: Family, design: Floats, outcomes: Floats, words: Words
    ) -> GeneralizedLinearModel:
        """The model on one table whose cells have covariates ``(cells, d)`` and outcomes ``(cells, q)``."""
        products = outcomes.T[:, None, :] * design.T[None, :, :]
        return cls(family, design, products.reshape(-1, len(design)), words)

    def predictors(self, theta: Floats) -> Floats:
        """Linear predictors of every cell, ``(cells, q)``."""
        width = self.design.shape[1]
        return np.asarray(self.design @ theta.reshape(-1, width).T)

    def scores(self, theta: Floats) -> Floats:
        """``(p, cells)``."""
        means = self.family.mean(self.predictors(theta))
        expected = means.T[:, None, :] * self.design.T[None, :, :]
        return np.asarray(self.response - expected.reshape(self.response.shape))

    def information(self, theta: Floats, counts: Floats) -> Floats:
        """``(p, p)``, block by block of the response's categories."""
        spread = self.family.spread(self.predictors(theta)) * counts[:, None, None]
        kinds = range(spread.shape[1])
        return np.block(
            [
                [(self.design * spread[:, first, second, None]).T @ self.design for second in kinds]
                for first in kinds
            ]
        )

    def curvatures(self, theta: Floats, directions: Floats) -> Floats:
        """``(k, cells)``: ``v' x spread x' v``."""
        spread = self.family.spread(self.predictors(theta))
        kinds, width = spread.shape[1], self.design.shape[1]
        moves = np.stack([self.design @ each for each in directions.reshape(kinds, width, -1)], axis=1)
        return np.asarray(np.einsum("cik,cij,cjk->kc", moves, spread, moves))

    def dispersion(self, theta: Floats, counts: Floats) -> float:
        """Variance of the response about its mean where the model leaves it free; else 1, as a share's or a count's is the model's.

        With ``sum x y = A theta`` at the root, ``sum (y - x theta)^2 = sum y^2 - theta' A theta``; the first entry of A is the number of rows.
        """
        if self.squares is None:
            return 1.0
        information = self.information(theta, counts)
        left = float(self.squares @ counts) - float(theta @ information @ theta)
        return max(left, 0.0) / float(information[0, 0])

    def refusal(self, theta: Floats, counts: Estimates) -> str | None:
        """Why no finite coefficient fits, once a predictor has run away; None before."""
        sizes = np.abs(self.predictors(theta))
        if sizes.max() <= self.family.largest_predictor:
            return None
        worst, category = np.unravel_index(int(np.argmax(sizes)), sizes.shape)
        return (
            f"no finite coefficient fits: {self._outcome_among(int(worst), int(category), counts)}. "
            "Merge categories, leave a term out, or ask a release of more rows or less noise."
        )

    def _outcome_among(self, worst: int, category: int, counts: Estimates) -> str:
        """The estimated mean of the response where the predictor has run away, as far as the cells tell."""
        pattern, response = self.words.patterns(worst), self.words.responses[category]
        alike = (self.design == self.design[worst]).all(axis=1)
        # The first column is the intercept, so its products with the response are the response itself.
        outcomes = self.response[category * self.design.shape[1]] * alike
        if not outcomes.any() or counts.values[alike].sum() == 0:
            return f"the estimated counts leave {response} among {pattern} without any spread"
        mean = counts.ratio(outcomes, alike.astype(float))
        value, error = float(mean.values[0]), float(mean.standard_errors[0])
        told = f"the estimates put {response} among {pattern} at {show_with_error(value, error)}"
        if not self.family.is_share or error <= LARGEST_SHARE_ERROR:
            return told
        more = math.ceil(round((error / LARGEST_SHARE_ERROR) ** 2, 6))
        return (
            f"{told}, which noise alone explains: about {more:,} times as many rows with the same noise would bring that error to "
            f"{LARGEST_SHARE_ERROR:g}, at which a half is told from none and from all"
        )

    def describe_direction(self, direction: Floats, counts: Estimates) -> str:
        """The term that a direction is mostly about, and the covariates that fewest rows have."""
        term = self.words.terms[int(np.argmax(np.abs(direction)))]
        groups = np.unique(self.design, axis=0, return_inverse=True)[1].ravel()
        has_covariates = self.design.any(axis=1)
        totals = np.bincount(groups, counts.values)
        totals[np.bincount(groups, has_covariates) == 0] = np.inf
        own = (groups == int(np.argmin(totals))) & has_covariates
        rows = counts.linear(own[None, :].astype(float))
        pattern = self.words.patterns(int(np.argmax(own)))
        value, error = float(rows.values[0]), float(rows.standard_errors[0])
        return (
            f"The estimated number of rows with {pattern} is {show_with_error(value, error)}: "
            f"too few to carry {term}."
        )
