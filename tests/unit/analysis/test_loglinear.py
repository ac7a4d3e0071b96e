"""Loglinear models of estimated counts, against a second implementation, the thesis and worked numbers."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.stats import chi2

from known_counts import KnownCounts
from published_rows import category_attribute
from samples import SCHEMA, people
from sfumato import RandomizedResponse, read_table
from sfumato.analysis.loglinear import Model, every_model, fit_loglinear, search_loglinear
from sfumato.errors import NoSolutionError, NotIdentifiableError, ParameterError, QueryError
from sfumato.testing import in_memory, release_in_memory

CLOSE = 1e-6
"""The digits to which the examples were written down."""
A, B, C = (category_attribute(name, 2) for name in "abc")
EXAMPLE_14 = KnownCounts((A, B, C), [30, 12, 9, -2, 14, 25, 20, 33], 6)


def test_a_negative_cell_is_harmless():
    """Example 14: fitted counts, parameters and errors."""
    found = fit_loglinear(EXAMPLE_14, "a*b + a*c + b*c")
    means = [32.887793, 9.112207, 6.112207, 0.887793, 11.112207, 27.887793, 22.887793, 30.112207]
    np.testing.assert_allclose(found.fitted, means, atol=CLOSE)
    expected = [3.493102, -1.085057, -1.682814, -1.283487, 2.405373, 2.203631, -0.645818]
    np.testing.assert_allclose([each.estimate for each in found.coefficients], expected, atol=CLOSE)
    errors = [0.089938, 0.298731, 0.488417, 0.350477, 0.674234, 0.548387, 0.422009]
    np.testing.assert_allclose([each.std_error for each in found.coefficients], errors, atol=CLOSE)


MIXED = (category_attribute("a", 3), category_attribute("b", 2), category_attribute("c", 4))
TABLE = np.random.default_rng(5).integers(5, 90, (3, 2, 4))


def dummies(*terms):
    """Columns of a Poisson regression with first categories as reference, by hand."""
    codes = np.indices(TABLE.shape).reshape(3, -1)
    columns = [np.ones(TABLE.size)]
    for term in terms:
        for cell in np.ndindex(*(TABLE.shape["abc".index(name)] - 1 for name in term)):
            own = [codes["abc".index(name)] == place + 1 for name, place in zip(term, cell, strict=True)]
            columns.append(np.logical_and.reduce(own).astype(float))
    return np.column_stack(columns)


@pytest.mark.parametrize(
    ("model", "terms"),
    [
        ("a + b + c", "a b c"),
        ("a*b + c", "a b c ab"),
        ("a*b + b*c", "a b c ab bc"),
        ("a*b + b*c + a*c", "a b c ab bc ac"),
    ],
)
def test_without_noise_the_fit_is_the_reference_fit(model, terms):
    """The Poisson regression on the cells, to 1e-8; its own errors are those of the population given the total."""
    found = fit_loglinear(KnownCounts(MIXED, TABLE), model, target="population")
    reference = sm.GLM(TABLE.ravel(), dummies(*terms.split()), family=sm.families.Poisson()).fit(tol=1e-14)
    np.testing.assert_allclose(found.fitted, reference.mu, rtol=1e-8)
    ours = {each.term: each.estimate for each in found.coefficients}
    np.testing.assert_allclose(sorted(ours.values()), sorted(reference.params), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(found.test.pearson, reference.pearson_chi2, rtol=1e-8)
    assert found.test.free == reference.df_resid
    np.testing.assert_allclose(found.p_value, chi2.sf(reference.pearson_chi2, reference.df_resid), rtol=1e-7)
    assert {each.std_error for each in fit_loglinear(KnownCounts(MIXED, TABLE), model).coefficients} == {0.0}


def coil(shares):
    """Shares as the thesis prints them, of its 5,822 rows."""
    shares = np.array(shares)
    return 5_822 * shares / shares.sum()


ADG = coil([0.0610, 0.0764, 0.1506, 0.1826, 0.1384, 0.1597, 0.1079, 0.1233])
ABE = coil([0.2429, 0.1793, 0.0258, 0.0227, 0.2391, 0.1470, 0.0903, 0.0529])
# Of shares printed to four digits; the sums carry their rounding.
PRINTED = {
    "ADG": {
        "a + d + g": [(1, 435.70), (0.9, 177.16), (0.7, 10.97)],
        "a*d + g": [(1, 1.60), (0.9, 0.61), (0.7, 0.04)],
        "a*g + d": [(1, 434.40), (0.9, 176.60), (0.7, 10.93)],
        "d*g + a": [(1, 435.71), (0.9, 177.17), (0.7, 10.97)],
    },
    "ABE": {
        "a + b + e": [(1, 280.87), (0.9, 95.05), (0.7, 4.84)],
        "a*b + e": [(1, 18.33), (0.9, 6.78), (0.7, 0.40)],
        "a*e + b": [(1, 264.81), (0.9, 88.51), (0.7, 4.44)],
        "a*b + a*e": [(1, 2.28), (0.9, 0.32), (0.7, 0.01)],
        "a*e + b*e": [(1, 264.07), (0.9, 88.35), (0.7, 4.44)],
    },
}
CASES = [
    (names, model, *each)
    for names, models in PRINTED.items()
    for model, found in models.items()
    for each in found
]


@pytest.mark.parametrize(("names", "model", "kept", "printed"), CASES)
def test_tables_of_the_thesis(names, model, kept, printed):
    """Tables 4.2 to 4.4: the same models on what to expect of released rows."""
    matrix = np.array([[kept, 1 - kept], [1 - kept, kept]])
    cells = {"ADG": ADG, "ABE": ABE}[names] @ np.kron(np.kron(matrix, matrix), matrix)
    attributes = tuple(category_attribute(name, 2) for name in names.lower())
    found = fit_loglinear(KnownCounts(attributes, cells), model)
    # 0.3 % is what four digits of a share leave of these sums; the least are printed to two digits.
    np.testing.assert_allclose(found.test.pearson, printed, rtol=3e-3, atol=0.011)


def test_the_chosen_model_of_the_thesis_is_found():
    """Example 3 chooses (AD, G); parsimony finds it without looking at larger ones."""
    attributes = tuple(category_attribute(name, 2) for name in "adg")
    found = search_loglinear(KnownCounts(attributes, ADG), ["a", "d", "g"])
    assert found.chosen == "g + a*d"
    assert len(found.candidates) == 9
    assert found.to_dict()["exploratory"]
    assert any("exploratory" in each for each in found.notes)


def test_noise_is_not_taken_for_a_bad_fit():
    """The plain statistic of noisy counts rejects the model that they came from; the corrected one does not."""
    exact = np.outer([60, 40], np.outer([0.3, 0.7], [0.5, 0.5]).ravel()).ravel() * 20
    draw = np.random.default_rng(2)
    noisy = KnownCounts((A, B, C), exact + draw.normal(0, 60, 8), 3_600)
    found = fit_loglinear(noisy, "a + b + c")
    assert chi2.sf(found.test.pearson, found.test.free) < 1e-6
    assert found.p_value > 0.01
    assert found.test.design_effect > 5


def test_a_margin_that_is_not_positive_is_refused_by_name():
    """With its estimate."""
    release = KnownCounts((A, B, C), [30, 12, 9, -12, 14, 25, 20, 33], 6)
    with pytest.raises(
        NoSolutionError, match=r"margin of a and b, and rows with a = '0' and b = '1' are estimated as -3"
    ):
        fit_loglinear(release, "a*b + c")
    assert fit_loglinear(release, "a + b + c").test is not None


def test_margins_that_contradict_each_other_are_refused():
    """Mostly a equals b, b mostly c, and a mostly not c: all margins are positive, and yet no positive table has them."""
    margins = KnownCounts((A, B, C), [22.5, 22.5, -17.5, 22.5, 22.5, -17.5, 22.5, 22.5], 1)
    with pytest.raises(NoSolutionError, match="contradict each other") as refused:
        fit_loglinear(margins, "a*b + b*c + a*c")
    assert refused.value.reason == "no root"


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("a*d", "no attribute 'd'"),
        ("score(a)*b", "about categories"),
        ("1", "at least one attribute"),
        ("a:b", "stands without its part"),
        ("a*", "expected an attribute"),
    ],
)
def test_models_that_cannot_be_read_are_refused(model, said):
    """With the position or the nearest name."""
    with pytest.raises(QueryError, match=said):
        fit_loglinear(EXAMPLE_14, model)


def test_a_model_with_every_product_has_nothing_to_test():
    """And says so."""
    found = fit_loglinear(KnownCounts(MIXED, TABLE), "a*b*c")
    assert found.test is None
    assert "nothing to test" in str(found)
    np.testing.assert_allclose(found.fitted, TABLE.ravel())


def test_models_are_written_and_read():
    """Text to generators and back; names that are no plain words in quotes."""
    assert Model.of([("a", "b"), ("b", "c"), ("a",)]).generators == (("a", "b"), ("b", "c"))
    for name in ("my name", "職業", 'with "quotes"', "1st"):
        odd = category_attribute(name, 2)
        release = KnownCounts((odd, B), [10, 20, 30, 45])
        written = Model.of([(name,), ("b",)]).text
        assert fit_loglinear(release, written).model == written
        assert Model.read(written, release.schema).names == (name, "b")
    assert [each.text for each in every_model(("a", "b", "c"))][:2] == ["a + b + c", "c + a*b"]


ROWS = in_memory(read_table(people(3_000), SCHEMA))
WITHHELD = release_in_memory(
    ROWS, RandomizedResponse(retention=0.6, attributes=("sex", "job")), seed=6, withhold_law=True
)


def test_published_rows_test_what_randomization_preserves():
    """Without parameters, which it does not preserve."""
    found = WITHHELD.loglinear("sex*job + age")
    assert found.counts == "published"
    assert found.coefficients == ()
    counts = WITHHELD.count_by(["sex", "job", "age"]).counts
    expected = counts.sum(axis=2)[..., None] * counts.sum(axis=(0, 1)) / counts.sum()
    np.testing.assert_allclose(found.test.pearson, ((counts - expected) ** 2 / expected).sum())
    with pytest.raises(NotIdentifiableError, match="job was randomized and stands in more than one product"):
        WITHHELD.loglinear("sex*job + job*age")


def test_a_search_of_published_rows_leaves_out_what_is_not_preserved():
    """With the reason."""
    found = WITHHELD.search_loglinear(["sex", "job", "age"])
    refused = [each for each in found.candidates if each.refused.startswith("not tested")]
    assert {each.model for each in refused} >= {"sex*job + job*age", "sex*job + sex*age"}
    assert found.chosen == "age + sex*job"


@pytest.mark.parametrize(
    ("of", "level"), [(["a"], 0.05), (["a", "a"], 0.05), (list("abcab"), 0.05), (["a", "b"], 1)]
)
def test_searches_that_make_no_sense_are_refused(of, level):
    """Two to four attributes, a level between 0 and 1."""
    with pytest.raises((QueryError, ParameterError)):
        search_loglinear(EXAMPLE_14, of, level=level)


def test_results_are_plain_data():
    """One line, a table, JSON, Arrow, a chart."""
    found = fit_loglinear(EXAMPLE_14, "a*b + c")
    assert repr(found).startswith("Loglinear(c + a*b: p = ")
    assert "Parameters, 95 % intervals" in str(found)
    assert found.to_dict()["test"]["free"] == 3
    assert found.to_arrow().num_rows == 5
    assert len(found.figure()["data"]["values"]) == 5
    assert found["a = '1'"].std_error > 0
    with pytest.raises(KeyError):
        found["nothing"]
    search = search_loglinear(EXAMPLE_14, ["a", "b"])
    assert "exploratory" in repr(search)
    assert search.to_arrow().num_rows == 2
    assert "chosen" in str(search) or search.chosen is None
