"""Measures of the thesis, to its digits, with the errors that were corrected."""

from __future__ import annotations

import math

import numpy as np
import pytest

from counted import Counted
from known_counts import KnownCounts
from published_rows import category_attribute
from sfumato.analysis.equations import differentiate
from sfumato.analysis.measure_formulas import MEASURES
from sfumato.analysis.measures import measure
from sfumato.methods.randomized_response.law import PerturbedRows
from sfumato.query.selection import Tabulation
from sfumato.randomness.distortion import warner

A, Y = category_attribute("a", 2), category_attribute("y", 2)


def published(counts, law):
    """A release of a and y as its law estimates it."""
    table = np.array(counts).reshape(2, 2)
    estimates = law.estimate(Counted((A, Y), table), Tabulation(by=("a", "y")))
    return KnownCounts((A, Y), estimates.values, estimates.covariance)


GUO = np.array([0.415, 0.043, 0.183, 0.359])
"""G and H of the thesis, 5,822 rows."""
ROWS = 5822


@pytest.mark.parametrize(
    ("name", "printed", "digits"),
    [
        ("phi", 0.57767, 5),
        ("odds-ratio", 18.933, 3),
        ("jaccard", 0.61368, 5),
        ("uncertainty-of-first", 0.26767, 5),
        ("j-measure", 0.07466, 5),
        ("chi-square", 1942.82, 2),
        ("reverse-risk-difference", 0.58701, 5),
        ("kappa", 0.55532, 5),
        ("collective-strength", 3.53944, 5),
        ("cosine", 0.76910, 5),
        ("lift", 1.64767, 5),
        ("leverage", 0.14112, 5),
        ("conviction", 1.77113, 5),
        ("certainty", 0.43539, 5),
        ("g-square", 2149.36, 2),
        ("added-value", 0.26036, 5),
        ("laplace", 0.66226, 5),
        ("concentration", 0.33370, 5),
        ("uncertainty-of-second", 0.27395, 5),
        ("confidence", 0.66236, 5),
    ],
)
def test_measures_of_the_thesis(name, printed, digits):
    """Guo (2010), the pair G and H, recomputed with the corrected formulas."""
    found = measure(KnownCounts((A, Y), ROWS * GUO), "a", "y")[name]
    assert round(found.estimate, digits) == printed
    assert found.std_error == 0


@pytest.mark.parametrize(
    ("name", "printed", "digits"),
    [
        ("phi", 0.36661, 5),
        ("odds-ratio", 4.89088, 5),
        ("chi-square", 782.495, 3),
        ("leverage", 0.09031, 4),
        ("lift", 1.40146, 5),
        ("added-value", 0.16925, 5),
        ("cosine", 0.66472, 5),
    ],
)
def test_measures_of_what_the_thesis_released(name, printed, digits):
    """The same pair as released with retention 0.9, read as it stands: 0.64 of the leverage is left."""
    released = np.kron(*[np.array([[0.9, 0.1], [0.1, 0.9]])] * 2) @ GUO
    found = measure(KnownCounts((A, Y), ROWS * released), "a", "y")[name]
    np.testing.assert_allclose(found.estimate, printed, atol=0.5001 * 10**-digits)


@pytest.mark.parametrize(
    ("name", "printed", "digits"),
    [
        ("phi", 0.01884, 5),
        ("chi-square", 126.70, 2),
        ("leverage", 0.00465, 5),
        ("added-value", 0.00963, 5),
        ("confidence", 0.01234, 5),
        ("cosine", 0.01039, 5),
    ],
)
def test_errors_of_the_thesis(name, printed, digits):
    """Delta-method errors about the population at retention 0.9."""
    law = PerturbedRows(distortions={"a": warner(0.9), "y": warner(0.9)})
    released = np.kron(*[np.array([[0.9, 0.1], [0.1, 0.9]])] * 2) @ GUO
    found = measure(published(ROWS * released, law), "a", "y", target="population")[name]
    assert round(found.std_error, digits) == printed


@pytest.mark.parametrize(
    ("retention", "chi_square", "cosine"),
    [
        (1.0, 434.28, 0.42296),
        (0.9, 176.59, 0.4568),
        (0.8, 55.56, 0.4820),
        (0.7, 10.93, 0.4979),
        (0.6, 0.682, 0.5041),
        (0.5, 0.0, 0.5000),
        (0.3, 10.93, 0.4587),
    ],
)
def test_a_measure_that_survives_and_one_that_does_not(retention, chi_square, cosine):
    """Guo's example 1: read off the release, chi-square only falls; the cosine rises and falls."""
    matrix = np.array([[retention, 1 - retention], [1 - retention, retention]])
    released = np.kron(matrix, matrix) @ np.array([0.1374, 0.3332, 0.2982, 0.2312])
    found = measure(KnownCounts((A, Y), ROWS * released), "a", "y")
    np.testing.assert_allclose(found["chi-square"].estimate, chi_square, atol=0.00501)
    np.testing.assert_allclose(
        found["cosine"].estimate, cosine, atol=0.0000501 if retention < 1 else 0.0000051
    )


def test_order_of_odds_ratios_is_lost_and_that_of_leverage_kept():
    """Guo's example 2 at retention 0.8."""
    matrix = np.kron(*[np.array([[0.8, 0.2], [0.2, 0.8]])] * 2)
    pairs = np.array([0.4222, 0.0484, 0.3861, 0.1432]), np.array([0.4763, 0.0124, 0.4639, 0.0474])
    shares = [[each.reshape(2, 2) for each in (pair, matrix @ pair)] for pair in pairs]
    # The formulas as they are: the printed shares add up to 0.9999, and leverage is not free of scale.
    odds = [[math.exp(MEASURES["odds-ratio"].formula(each, 1)) for each in pair] for pair in shares]
    leverage = [[MEASURES["leverage"].formula(each, 1) for each in pair] for pair in shares]
    np.testing.assert_allclose(odds, [[3.2353, 1.3236], [3.9248, 1.1441]], atol=0.5001e-4)
    np.testing.assert_allclose(leverage, [[0.04179, 0.01506], [0.01682, 0.00606]], atol=0.5001e-5)


def gradient_of_chi_square(x, power):
    """Guo's G1 to G4 by hand: the margin that both cells share is squared; in print it is not (power 1)."""
    table = np.array(x).reshape(2, 2)
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    found = []
    for i, j in np.ndindex(2, 2):
        own, beside, below = table[i, j], table[i, 1 - j], table[1 - i, j]
        found.append(
            (own**2 * (beside + below) + 2 * own * beside * below) / (rows[i] ** 2 * columns[j] ** 2)
            - beside**2 / (rows[i] ** power * columns[1 - j])
            - below**2 / (columns[j] ** power * rows[1 - i])
        )
    return ROWS * np.array(found)


def test_gradient_of_chi_square_is_the_corrected_one_and_not_the_printed():
    """The numbers of the corrected and the printed form at G and H; the printed one is the broken twin of all four."""
    gradient = ROWS * differentiate(
        lambda p: (p.reshape(2, 2) ** 2 / np.outer(p.reshape(2, 2).sum(1), p.reshape(2, 2).sum(0))).sum(), GUO
    )
    np.testing.assert_allclose(gradient, [2394.27, -14113.77, -8017.41, 3009.63], atol=0.00501)
    np.testing.assert_allclose(gradient_of_chi_square(GUO, 2), gradient)
    printed = gradient_of_chi_square(GUO, 1)
    np.testing.assert_allclose(printed, [2867.85, -4658.46, -2646.27, 3604.93], atol=0.00501)
    assert (np.abs(printed / gradient - 1) > 0.15).all()
