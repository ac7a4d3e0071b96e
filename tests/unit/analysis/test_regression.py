"""Regression through the law: formulas, agreement with a reference library, refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
import statsmodels.api as sm

from known_counts import KnownCounts, numbered_attribute
from published_rows import category_attribute
from sfumato.analysis.formulas import Factor, read_formula
from sfumato.analysis.regression import regress
from sfumato.errors import NoSolutionError, ParameterError, QueryError
from sfumato.schema import Attribute, Role, Schema

EQUAL = 1e-8
"""Asked for of a fit without noise; both libraries stop at smaller moves."""

A, B = category_attribute("a", 2), category_attribute("b", 3)
AGE = Attribute(name="age", role=Role.OTHER, bins=(10, 20, 40, 80))
Y, KIND = category_attribute("y", 2), Attribute(name="kind", role=Role.OTHER, categories=("p", "q", "r"))
VISITS = numbered_attribute("visits", 4)


def truth(*attributes, seed=3):
    """Whole counts of every cell, and the rows they stand for."""
    sizes = [each.size for each in attributes]
    counts = np.random.default_rng(seed).integers(3, 40, math.prod(sizes))
    rows = np.repeat(np.indices(sizes).reshape(len(sizes), -1), counts, axis=1)
    return KnownCounts(attributes, counts), dict(zip([each.name for each in attributes], rows, strict=True))


def indicators(codes, size):
    """Columns of all categories but the first."""
    return [(codes == code).astype(float) for code in range(1, size)]


def assert_same(fitted, reference):
    """Coefficients and robust errors of a statsmodels result, without its small-sample factors."""
    np.testing.assert_allclose(
        [each.estimate for each in fitted.coefficients], reference.params.T.ravel(), atol=EQUAL
    )
    np.testing.assert_allclose(
        [each.std_error for each in fitted.coefficients], reference.bse.T.ravel(), atol=EQUAL
    )


def test_logistic_fit_without_noise_is_the_reference_fit():
    """With a product of a category and a score."""
    release, rows = truth(A, AGE, Y)
    ages = np.array([15.0, 30.0, 60.0])[rows["age"]]
    design = np.column_stack([np.ones(ages.size), rows["a"], ages, rows["a"] * ages])
    reference = sm.GLM(rows["y"], design, family=sm.families.Binomial()).fit(cov_type="HC0", tol=1e-14)
    fitted = regress(release, "y ~ a*score(age)", target="population")
    assert_same(fitted, reference)
    assert [each.term for each in fitted.coefficients] == [
        "(intercept)",
        "a = '1'",
        "score(age)",
        "a = '1' : score(age)",
    ]
    assert all(each.std_error < 1e-12 for each in regress(release, "y ~ a*score(age)").coefficients)


def test_poisson_fit_without_noise_is_the_reference_fit():
    """Of a response whose categories are numbers."""
    release, rows = truth(A, B, VISITS)
    design = np.column_stack([np.ones(rows["a"].size), rows["a"], *indicators(rows["b"], 3)])
    reference = sm.GLM(rows["visits"], design, family=sm.families.Poisson()).fit(cov_type="HC0", tol=1e-14)
    assert_same(regress(release, "visits ~ a + b", family="poisson", target="population"), reference)


def test_linear_fit_without_noise_is_the_reference_fit():
    """The default for a response of numbers."""
    release, rows = truth(B, AGE)
    design = np.column_stack([np.ones(rows["b"].size), *indicators(rows["b"], 3)])
    ages = np.array([15.0, 30.0, 60.0])[rows["age"]]
    fitted = regress(release, "age ~ b", target="population")
    assert fitted.family == "linear"
    assert_same(fitted, sm.OLS(ages, design).fit(cov_type="HC0"))


def test_multinomial_fit_without_noise_is_the_reference_fit():
    """The default for a response of three names."""
    release, rows = truth(A, KIND)
    design = np.column_stack([np.ones(rows["a"].size), rows["a"]])
    reference = sm.MNLogit(rows["kind"], design).fit(disp=False, tol=1e-14, cov_type="HC0", maxiter=100)
    fitted = regress(release, "kind ~ a", target="population")
    assert fitted.family == "multinomial"
    assert [each.category for each in fitted.coefficients] == ["q", "q", "r", "r"]
    assert_same(fitted, reference)


def test_condition_is_a_response():
    """The same as the category it selects."""
    release, _ = truth(A, Y)
    one, other = regress(release, "y = '1' ~ a"), regress(release, "y ~ a")
    np.testing.assert_allclose(one.estimates.values, other.estimates.values)
    assert one.family == "logistic"


def test_reference_category_can_be_chosen():
    """The signs turn for a binary covariate."""
    release, _ = truth(A, Y)
    turned = regress(release, "y ~ a[ref='1']")
    assert turned.coefficients[1].term == "a = '0'"
    np.testing.assert_allclose(turned.estimates.values[1], -regress(release, "y ~ a").estimates.values[1])


NOISY = KnownCounts((A, B, Y), [40, 22, 30, 12, 25, 31, 14, 20, 33, 28, 12, 36], 6)


def test_order_of_attributes_and_categories_does_not_matter():
    """Terms in another order are the same terms."""
    one, other = regress(NOISY, "y ~ a + b"), regress(NOISY, "y ~ b + a")
    for each in one.coefficients:
        np.testing.assert_allclose(each.estimate, other[each.term].estimate)
        np.testing.assert_allclose(each.std_error, other[each.term].std_error)


def test_intercept_alone_is_the_share():
    """Its logit."""
    found = regress(NOISY, "y ~ 1")
    share = (22 + 12 + 31 + 20 + 28 + 36) / (40 + 22 + 30 + 12 + 25 + 31 + 14 + 20 + 33 + 28 + 12 + 36)
    np.testing.assert_allclose(found.coefficients[0].estimate, math.log(share / (1 - share)))
    np.testing.assert_allclose(found.predict({}).estimate, share)


def test_saturated_model_predicts_the_estimated_shares():
    """With the errors of their ratios."""
    found = regress(NOISY, "y ~ a*b").predict({"a": "1", "b": "2"})
    np.testing.assert_allclose(found.estimate, 36 / 48)
    by_hand = math.sqrt(6 * (0.25**2 + 0.75**2)) / 48
    np.testing.assert_allclose(found.std_error, by_hand)
    assert found.statistic == "share of 1 among a = '1' and b = '2'"


def test_terms_are_tested_about_the_population():
    """The square of z for one coefficient; refused about the table."""
    found = regress(NOISY, "y ~ a + b", target="population")
    z = found["a = '1'"].estimate / found["a = '1'"].std_error
    np.testing.assert_allclose(found.test("a").statistic, z**2)
    assert found.test("b").degrees == 2
    with pytest.raises(QueryError, match="no term 'c'"):
        found.test("c")
    with pytest.raises(ParameterError, match="about the population"):
        regress(NOISY, "y ~ a").test("a")


def test_score_intervals_on_request():
    """Near the normal ones where the counts tell much."""
    normal, by_score = regress(NOISY, "y ~ a"), regress(NOISY, "y ~ a", interval="score")
    np.testing.assert_allclose(by_score["a = '1'"].low, normal["a = '1'"].low, atol=0.02)
    assert by_score["a = '1'"].low != normal["a = '1'"].low


def test_rows_without_a_value_of_the_response_are_left_out():
    """And said so; a covariate's missing values are a category."""
    ill = Attribute(name="ill", role=Role.OTHER, categories=("no", "yes"), missing="category")
    release = KnownCounts((A, ill), [30, 20, 500, 12, 18, 500])
    found = regress(release, "ill ~ a")
    np.testing.assert_allclose(found["a = '1'"].estimate, math.log(18 * 30 / (12 * 20)))
    assert "left out" in found.notes[0]
    assert [each.term for each in regress(release, "a ~ ill").coefficients][-1] == "ill = '(missing)'"


def test_large_errors_are_noted():
    """The score interval is then the dependable one."""
    weak = KnownCounts((A, Y), [30, 20, 12, 18], 60)
    assert "interval='score'" in regress(weak, "y ~ a").notes[0]


@pytest.mark.parametrize(
    ("counts", "noise", "reason", "said"),
    [
        ([66, 33, -16, 116], 40, "separation", "the share of 1 among a = '1' at 1.160"),
        ([-30, -20, 30, 5], 1, "indefinite", "rows with a = '0' is -50.0 ± 1.4: too few to carry"),
        ([30, 20, 12, 18], 400, "weak", "only 1.3 standard errors from zero"),
    ],
)
def test_counts_that_determine_nothing_are_refused(counts, noise, reason, said):
    """In the words of the formula."""
    with pytest.raises(NoSolutionError) as refused:
        regress(KnownCounts((A, Y), counts, noise), "y ~ a")
    assert refused.value.reason == reason
    assert said in str(refused.value)


def test_a_category_that_nobody_has_is_named():
    """Its coefficient cannot be told."""
    with pytest.raises(NoSolutionError, match=r"rows with b = '2' is 0 ± 0"):
        regress(KnownCounts((B, Y), [30, 20, 12, 18, 0, 0]), "y ~ b")


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("y a", "has a ~ between"),
        ("~ a", "response before ~ is missing"),
        ("y ~ c", "no attribute 'c'"),
        ("y ~ a b", r"expected \+ or the end, found b"),
        ("y ~ a +", "expected an attribute, found the end"),
        ("y ~ a:b", r"Write a\*b"),
        ("y ~ a*b:c", "with : or with"),
        ("y ~ a*a", "each attribute once"),
        ("y ~ a[ref='9']", "no category '9'"),
        ("y ~ a[ref=9]", "in single quotes"),
        ("y ~ score(a", r"expected \), found the end"),
        ("y ~ y", "both sides"),
        ("score(z) ~ a", r"score\(...\) takes an attribute"),
        ("z ~ a", "no attribute 'z'"),
    ],
)
def test_formulas_that_cannot_be_read_are_refused(formula, said):
    """With the place and what is allowed."""
    cube = KnownCounts((A, B, Y, category_attribute("c1", 2)), np.ones(24))
    with pytest.raises(QueryError, match=said):
        regress(cube, formula.replace("b:c", "b:c1"))


def test_identifiers_cannot_be_regressed_on():
    """No release contains them."""
    schema = Schema(attributes=(A, Attribute(name="id", role=Role.IDENTIFIER)))
    with pytest.raises(QueryError, match="identifier"):
        read_formula("a ~ id", schema)


def test_quoted_names_and_doubled_quotes_are_read():
    """As in the query language."""
    odd = Attribute(name="marital status", role=Role.OTHER, categories=("it's", "b"))
    read = read_formula("a ~ \"marital status\"[ref='it''s'] + 1", Schema(attributes=(A, odd)))
    assert read.terms == ((Factor("marital status", reference=0),),)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"family": "probit"}, "family must be one of"),
        ({"interval": "wald"}, "interval must be one of"),
        ({"family": "logistic", "formula": "b ~ a"}, "needs two categories"),
        ({"family": "poisson", "formula": "kind ~ a"}, "needs a response of numbers"),
        ({"family": "multinomial", "formula": "score(visits) ~ a"}, "needs categories"),
    ],
)
def test_wrong_settings_are_refused(settings, said):
    """With what is allowed."""
    release = KnownCounts((A, B, Y, KIND, VISITS), np.ones(144))
    formula = settings.pop("formula", "y ~ a")
    with pytest.raises(ParameterError, match=said):
        regress(release, formula, **settings)


def test_results_are_plain_data():
    """One line, a table, JSON and Arrow."""
    found = regress(NOISY, "y ~ a")
    assert repr(found) == "Regression(y ~ a: logistic, 2 coefficients, about the table)"
    assert str(found).startswith("Logistic regression y ~ a (of 1), 95 % normal intervals, about the table")
    assert set(found.to_dict()["coefficients"][0]) == {
        "term",
        "category",
        "estimate",
        "std_error",
        "low",
        "high",
        "certainty",
    }
    assert found.to_arrow().num_rows == 2
    assert "Category" in regress(KnownCounts((A, KIND), [9, 8, 7, 6, 5, 9], 0.1), "kind ~ a").summary()
    with pytest.raises(KeyError):
        found["unknown"]
    with pytest.raises(QueryError, match="covariate 'a' is missing"):
        found.predict({})


def test_the_category_that_no_coefficient_fits_is_the_one_named():
    """Of three categories of the response the last is estimated below zero in one group; the second is harmless there."""
    a, y = category_attribute("a", 2), category_attribute("y", 3)
    with pytest.raises(NoSolutionError, match="share of 2 among a = '1'") as refusal:
        regress(KnownCounts((a, y), [60, 30, 20, 70, 40, -6], 4.0), "y ~ a", family="multinomial")
    assert refusal.value.reason == "separation"


def test_separation_by_noise_says_how_many_rows_would_do():
    """By hand: among a = 1 the share is 20 / 10 with an error of 0.5 or more, so that four times as many rows or more are needed; exact counts need none."""
    noisy = KnownCounts((A, Y), [40, 30, -10, 20], np.diag([1, 1, 30, 30]))
    with pytest.raises(NoSolutionError, match="noise alone explains") as refused:
        regress(noisy, "y ~ a")
    assert refused.value.reason == "separation"
    # The share of y is 20 / 10 = 2; its change is (dy - 2 (dy + dn)) / 10, of variance 30 (1 + 4) / 100 = 1.5, 24 times 0.25^2.
    assert "about 24 times as many rows" in str(refused.value)
    with pytest.raises(NoSolutionError, match="no finite coefficient fits") as empty:
        regress(KnownCounts((A, Y), [40, 30, 0, 20]), "y ~ a")
    assert "times as many rows" not in str(empty.value)
