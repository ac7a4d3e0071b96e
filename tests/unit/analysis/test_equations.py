"""Estimates through the law, against numbers worked out by a second implementation."""

from __future__ import annotations

import numpy as np
import pytest

from counted import Counted
from published_rows import category_attribute
from sfumato.analysis.equations import carry, score_interval, solve
from sfumato.analysis.formulas import FAMILIES, GeneralizedLinearModel, Words
from sfumato.errors import NoSolutionError
from sfumato.estimates.estimates import Estimates
from sfumato.methods.randomized_response.law import PerturbedRows
from sfumato.query.selection import Tabulation
from sfumato.randomness.distortion import UniformDistortion

CLOSE = 1e-6
"""The digits to which the examples were written down."""

TWO_BY_TWO = np.array([[1, 0], [1, 0], [1, 1], [1, 1]], dtype=float)
OUTCOMES = np.array([[0], [1], [0], [1]], dtype=float)
NAMES = ("a", "y")


def published_two_by_two(counts, **retention):
    """Estimates of a 2x2 table of a and y, published by randomized response."""
    attributes = tuple(category_attribute(name, 2) for name in NAMES)
    law = PerturbedRows(
        distortions={name: UniformDistortion(retention=each, size=2) for name, each in retention.items()}
    )
    return law.estimate(Counted(attributes, np.array(counts).reshape(2, 2)), Tabulation(by=NAMES))


def independent(values, variance):
    """Estimates with errors of one variance, independent of each other."""
    return Estimates.with_covariance(np.array(values, dtype=float), variance * np.eye(len(values)))


def words(design):
    """Names for as many terms and patterns as a design has."""

    def patterns(place):
        return "pattern " + "".join(f"{each:g}" for each in design[place])

    return Words(tuple(f"term {place}" for place in range(8)), patterns, ("the share of y",) * 8)


def model(family, design, outcomes):
    """A model on one joint table."""
    return GeneralizedLinearModel.of_joint(FAMILIES[family], design, outcomes, words(design))


def fit(equation, counts, target="table", **settings):
    """Solved from zero."""
    return solve(equation, counts, np.zeros(len(equation.response)), target, **settings)


def assert_fit(equation, counts, values, table, population, strength=None, **settings):
    """Coefficients and the standard errors of both targets."""
    about_table = fit(equation, counts, **settings)
    np.testing.assert_allclose(about_table.estimates.values, values, atol=CLOSE)
    np.testing.assert_allclose(about_table.estimates.standard_errors, table, atol=CLOSE)
    if strength is not None:
        np.testing.assert_allclose(about_table.strength, strength, atol=CLOSE)
    if population is not None:
        errors = fit(equation, counts, "population", **settings).estimates.standard_errors
        np.testing.assert_allclose(errors, population, atol=CLOSE)


EXAMPLE_1 = published_two_by_two([60, 40, 35, 65], y=0.6)
LOGISTIC = model("logistic", TWO_BY_TWO, OUTCOMES)
TWO_BY_THREE = np.array([[1, 0]] * 3 + [[1, 1]] * 3, dtype=float)
EXAMPLE_10 = independent([20, 15, 5, 8, 14, 22], 4)


def test_counts_behind_a_perturbed_response():
    """Example 1: the law's estimates and covariance, from which all else follows."""
    np.testing.assert_allclose(EXAMPLE_1.values, [66.666667, 33.333333, 25, 75], atol=CLOSE)
    within = 44.444444 * np.array([[1, -1], [-1, 1]])
    np.testing.assert_allclose(EXAMPLE_1.covariance, np.kron(np.eye(2), within), atol=CLOSE)


def test_logistic_fit_with_a_perturbed_response():
    """Example 3."""
    assert_fit(LOGISTIC, EXAMPLE_1, [-0.693147, 1.791759], [0.3, 0.465209], [0.367423, 0.561029])
    # The covariates are exact, so that the information has no error but that of rounding.
    assert fit(LOGISTIC, EXAMPLE_1).strength > 1e6


def test_intervals_of_the_slope_with_a_perturbed_response():
    """Example 3: normal, and from the score for both targets."""
    root = fit(LOGISTIC, EXAMPLE_1)
    low, high = root.estimates.intervals(0.95)
    np.testing.assert_allclose((low[1], high[1]), (0.879966, 2.703553), atol=CLOSE)
    by_score = score_interval(LOGISTIC, EXAMPLE_1, root, 1, "table", 0.95)
    np.testing.assert_allclose(by_score, (0.951287, 2.839019), atol=CLOSE)
    population = fit(LOGISTIC, EXAMPLE_1, "population")
    by_score = score_interval(LOGISTIC, EXAMPLE_1, population, 1, "population", 0.95)
    np.testing.assert_allclose(by_score, (0.780149, 3.121196), atol=CLOSE)


def test_logistic_fit_with_both_sides_perturbed():
    """Example 7."""
    counts = published_two_by_two([150, 90, 110, 150], a=0.5, y=0.7)
    np.testing.assert_allclose(counts.values, [193.571429, 36.428571, 70.714286, 199.285714], atol=CLOSE)
    np.testing.assert_allclose(
        counts.covariance[0], [355.637755, -157.423469, -295.790816, 97.576531], atol=CLOSE
    )
    assert_fit(LOGISTIC, counts, [-1.670293, 2.706385], [0.553160, 0.781859], [0.581896, 0.814297], 14.681606)
    root = fit(LOGISTIC, counts)
    np.testing.assert_allclose(root.information, [[82.852706, 52.193878], [52.193878, 52.193878]], atol=CLOSE)
    low, high = root.estimates.intervals(0.95)
    np.testing.assert_allclose((low[1], high[1]), (1.173969, 4.238801), atol=CLOSE)
    by_score = score_interval(LOGISTIC, counts, root, 1, "table", 0.95)
    np.testing.assert_allclose(by_score, (1.445021, 6.544559), atol=CLOSE)


def test_linear_fit():
    """Example 10."""
    outcomes = np.array([[0], [1], [2]] * 2, dtype=float)
    expected = [0.625, 0.693182], [0.077812, 0.103992], [0.134774, 0.190049]
    assert_fit(model("linear", TWO_BY_THREE, outcomes), EXAMPLE_10, *expected, 13.257597)


def test_poisson_fit():
    """Example 11."""
    outcomes = np.array([[0], [1], [2]] * 2, dtype=float)
    expected = [-0.470004, 0.746257], [0.124499, 0.135053], [0.215639, 0.238397]
    assert_fit(model("poisson", TWO_BY_THREE, outcomes), EXAMPLE_10, *expected)


def test_multinomial_fit():
    """Example 12: the coefficients of the second category, then of the third."""
    outcomes = np.array([[0, 0], [1, 0], [0, 1]] * 2, dtype=float)
    assert_fit(
        model("multinomial", TWO_BY_THREE, outcomes),
        EXAMPLE_10,
        [-0.287682, 0.847298, -1.386294, 2.397895],
        [0.166667, 0.332695, 0.412311, 0.490678],
        [0.380058, 0.650985, 0.648074, 0.813154],
    )


CUBE = np.array(list(np.ndindex(2, 2, 2)), dtype=float)


def test_loglinear_fit_with_a_negative_cell():
    """Example 14: the model's own cells are known, with a count of one each; the data's are estimated."""
    a, b, c = CUBE.T
    design = np.column_stack([np.ones(8), a, b, c, a * b, a * c, b * c])
    nothing = np.zeros_like(design)
    equation = GeneralizedLinearModel(
        FAMILIES["poisson"],
        np.vstack([nothing, design]),
        np.hstack([design.T, nothing.T]),
        words(np.vstack([nothing, design])),
    )
    covariance = np.zeros((16, 16))
    covariance[:8, :8] = 6 * np.eye(8)
    counts = Estimates.with_covariance(
        np.array([30, 12, 9, -2, 14, 25, 20, 33] + [1] * 8, dtype=float), covariance
    )
    root = fit(equation, counts)
    expected = [3.493102, -1.085057, -1.682814, -1.283487, 2.405373, 2.203631, -0.645818]
    np.testing.assert_allclose(root.estimates.values, expected, atol=CLOSE)
    errors = [0.089938, 0.298731, 0.488417, 0.350477, 0.674234, 0.548387, 0.422009]
    np.testing.assert_allclose(root.estimates.standard_errors, errors, atol=CLOSE)
    means = [32.887793, 9.112207, 6.112207, 0.887793, 11.112207, 27.887793, 22.887793, 30.112207]
    np.testing.assert_allclose(np.exp(design @ root.estimates.values), means, atol=CLOSE)


def test_logistic_fit_with_a_negative_cell():
    """Example 15."""
    design = np.column_stack([np.ones(8), CUBE[:, :2]])
    assert_fit(
        model("logistic", design, CUBE[:, 2:]),
        independent([40, 22, 9, -2, 25, 31, 14, 20], 6),
        [-0.849061, 1.316155, -0.516863],
        [0.179522, 0.291314, 0.361280],
        [0.322503, 0.445956, 0.500994],
        14.010245,
    )


def test_fit_from_three_two_way_tables():
    """Example 17: no table of all three attributes is needed."""
    a, y = np.indices((2, 2)).reshape(2, -1)
    b, z = np.indices((3, 2)).reshape(2, -1)
    one, two = np.indices((2, 3)).reshape(2, -1)
    # Intercept, a, b = 1, b = 2; the intercept's sum is the mean of what both tables say.
    with_a = np.array([y / 2, a * y, 0 * y, 0 * y])
    with_b = np.array([z / 2, 0 * z, (b == 1) * z, (b == 2) * z])
    covariates = np.column_stack([np.ones(6), one, two == 1, two == 2])
    design = np.vstack([np.zeros((10, 4)), covariates])
    equation = GeneralizedLinearModel(
        FAMILIES["logistic"], design, np.hstack([with_a, with_b, np.zeros((4, 6))]), words(design)
    )
    counts = independent([74, 61, 47, 55, 54, 42, 21, 26, 46, 48, 62, 17, 56, 34, 30, 38], 2)
    expected = [-0.358710, 0.300004, 0.381759, 0.280326], [0.070723, 0.122037, 0.209367, 0.125254]
    assert_fit(equation, counts, *expected, None, is_joint=False)


def test_tables_of_two_give_what_the_joint_gives_without_noise():
    """The population's errors too, save that the information stands for the draw."""
    a, b, y = CUBE.T
    rows = np.array([40, 22, 19, 12, 25, 31, 14, 20], dtype=float)
    joint = model("logistic", np.column_stack([np.ones(8), a, b]), y[:, None])
    truth = fit(joint, independent(rows, 0))
    cube = rows.reshape(2, 2, 2)
    i, j = np.indices((2, 2)).reshape(2, -1)
    design = np.vstack([np.zeros((8, 3)), np.column_stack([np.ones(4), i, j])])
    response = np.hstack([[j / 2, i * j, 0 * j], [j / 2, 0 * j, i * j], np.zeros((3, 4))])
    equation = GeneralizedLinearModel(FAMILIES["logistic"], design, response, words(design))
    parts = np.concatenate([cube.sum(axis=axis).ravel() for axis in (1, 0, 2)])
    root = fit(equation, independent(parts, 0), "population", is_joint=False)
    np.testing.assert_allclose(root.estimates.values, truth.estimates.values, rtol=1e-12)
    np.testing.assert_allclose(root.estimates.covariance, np.linalg.inv(root.information), rtol=1e-12)


@pytest.mark.parametrize(
    ("counts", "reason", "said"),
    [
        (
            published_two_by_two([60, 40, 10, 90], y=0.6),
            "separation",
            "the share of y among pattern 11 at 1.167 ± 0.067",
        ),
        (
            independent([-30, -20, 30, 5], 1),
            "indefinite",
            "rows with pattern 10 is -50.0 ± 1.4: too few to carry",
        ),
        (independent([30, 20, 12, 18], 400), "weak", "only 1.3 standard errors from zero"),
        (
            independent([30, 20, 12, 18], 400),
            "weak",
            "About 2.4 times as many rows with the same noise would do",
        ),
    ],
)
def test_refusals_say_what_the_counts_leave_open(counts, reason, said):
    """Example 18: estimated numbers only, which are public."""
    with pytest.raises(NoSolutionError) as refused:
        fit(LOGISTIC, counts)
    assert refused.value.reason == reason
    assert said in str(refused.value)


def test_as_many_rows_as_were_said_would_do():
    """2.4 times the rows, and the noise of each."""
    assert fit(LOGISTIC, independent(2.4 * np.array([30, 20, 12, 18]), 2.4 * 400)).strength >= 2
    with pytest.raises(NoSolutionError):
        fit(LOGISTIC, independent(2.3 * np.array([30, 20, 12, 18]), 2.3 * 400))


def test_noise_that_can_be_borne_is_borne():
    """Example 18: the same counts with less noise."""
    expected = [-0.405465, 0.810930], [0.180278, 0.350397]
    assert_fit(LOGISTIC, independent([30, 20, 12, 18], 9), *expected, None, 8.681163)


def test_counts_without_any_root_are_refused():
    """Never the last step."""
    design = np.ones((2, 1))
    counts = independent([-30, 50], 0)
    with pytest.raises(NoSolutionError) as refused:
        fit(model("poisson", design, np.array([[1.0], [0.0]])), counts)
    assert refused.value.reason in {"separation", "no root"}


def test_score_interval_without_an_end_is_infinite():
    """A response that is nearly never seen in one group has no largest odds ratio that is rejected."""
    counts = published_two_by_two([60, 40, 21, 79], y=0.6)
    root = fit(LOGISTIC, counts)
    assert score_interval(LOGISTIC, counts, root, 1, "table", 0.95)[1] == np.inf


def test_score_interval_of_what_is_known_exactly_is_a_point():
    """No noise, and about the table's own rows."""
    counts = independent([30, 20, 12, 18], 0)
    root = fit(LOGISTIC, counts)
    low, high = score_interval(LOGISTIC, counts, root, 1, "table", 0.95)
    assert low == high == root.estimates.values[1]


def test_population_adds_the_multinomial_draw():
    """A share of 30 in 100 without noise: p (1 - p) / N."""
    counts = independent([30, 70], 0)
    gradient = np.array([[0.7, -0.3]]) / 100
    assert carry(np.array([0.3]), gradient, counts, "table").variances[0] == 0
    about = carry(np.array([0.3]), gradient, counts, "population")
    np.testing.assert_allclose(about.variances, 0.3 * 0.7 / 100)


def test_order_of_categories_does_not_matter():
    """Swapping the categories of the response turns the signs and leaves the errors."""
    counts = published_two_by_two([150, 90, 110, 150], a=0.5, y=0.7)
    swapped = fit(model("logistic", TWO_BY_TWO, 1 - OUTCOMES), counts)
    as_is = fit(LOGISTIC, counts)
    np.testing.assert_allclose(swapped.estimates.values, -as_is.estimates.values)
    np.testing.assert_allclose(swapped.estimates.covariance, as_is.estimates.covariance)
