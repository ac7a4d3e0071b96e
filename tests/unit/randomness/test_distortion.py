"""Distortion matrices: validity, inverse, products over axes, and what they give away."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from sfumato.errors import ParameterError
from sfumato.randomness.distortion import (
    DenseDistortion,
    TwoValued,
    UniformDistortion,
    amplification,
    asymmetric_binary,
    check_sizes,
    contract,
    expected_squared_error,
    invariant,
    largest_amplification,
    largest_epsilon,
    squared,
    transposed,
    uniform_with_diagonal,
    warner,
)

GENERAL = DenseDistortion(rows=((0.7, 0.2, 0.1), (0.1, 0.8, 0.1), (0.25, 0.25, 0.5)))


def test_warner_at_nine_tenths_gives_the_expected_table_of_the_thesis():
    """Guo 2010, G and H at p = .9: expected proportions to five decimals."""
    truth = np.array([[0.415, 0.043], [0.183, 0.359]])
    expected = contract(truth, [warner(0.9).on_axis] * 2)
    assert expected.ravel().round(5).tolist() == [0.36008, 0.10632, 0.21832, 0.31528]


def test_warner_at_65_percent_gives_the_expected_table_of_the_thesis():
    """Guo 2010, the same table at p = .65."""
    truth = np.array([[0.415, 0.043], [0.183, 0.359]])
    expected = contract(truth, [warner(0.65).on_axis] * 2)
    assert expected.ravel().round(5).tolist() == [0.27073, 0.21667, 0.25867, 0.25393]


@pytest.mark.parametrize(("size", "diagonal", "norm"), [(2, 0.7, 7.25), (3, 0.5, 33.0), (16, 0.3, 234.726)])
def test_squared_norm_of_the_uniform_inverse_is_that_of_lemma_5(size, diagonal, norm):
    """Lemma 5 of Guo 2010, by the inverse's own entries and by the closed form."""
    distortion = uniform_with_diagonal(diagonal, size)
    assert round(float((distortion.inverse() ** 2).sum()), 3) == norm
    # The closed form is per true category, so size times it is the whole norm.
    assert round(float(expected_squared_error(distortion, size)[0]) * size, 3) == norm


@pytest.mark.parametrize("distortion", [UniformDistortion(retention=0.3, size=7), GENERAL, warner(0.1)])
def test_matrix_times_inverse_is_the_identity(distortion):
    """Inverse in closed form or by elimination."""
    product = distortion.dense() @ distortion.inverse()
    assert np.allclose(product, np.eye(distortion.size), atol=1e-12)


def test_contraction_by_two_values_is_contraction_by_the_dense_matrix():
    """The one-pass product equals the matrix product."""
    tensor = np.arange(24.0).reshape(2, 3, 4)
    matrix = TwoValued(0.7, 0.1)
    dense = contract(tensor, [None, matrix.dense(3), None])
    assert np.allclose(contract(tensor, [None, matrix, None]), dense, rtol=1e-14)


def test_squared_and_transposed_act_on_entries():
    """Both kinds of matrices, and None stays None."""
    rows = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert squared(rows).tolist() == [[1, 4], [9, 16]]
    assert transposed(rows).tolist() == [[1, 3], [2, 4]]
    assert transposed(None) is None
    assert squared(None) is None


def test_asymmetric_binary_scales_dependence_by_both_slopes():
    """Guo 2010, section 2.2: lambda_11 - lambda_1+ lambda_+1 = s_u s_v (pi_11 - pi_1+ pi_+1)."""
    truth = np.array([[0.415, 0.043], [0.183, 0.359]])
    expected = contract(truth, [asymmetric_binary(0.9, 0.7).on_axis, asymmetric_binary(0.8, 0.95).on_axis])

    def dependence(table):
        return table[1, 1] - table[1].sum() * table[:, 1].sum()

    assert math.isclose(dependence(expected), 0.6 * 0.75 * dependence(truth), rel_tol=1e-12)


def test_invariant_pram_keeps_the_distribution():
    """Shares times the matrix are the shares again."""
    shares = np.array([0.2, 0.5, 0.3])
    assert np.allclose(shares @ invariant(GENERAL, shares).dense(), shares, rtol=1e-12)


def test_epsilon_of_uniform_draws_is_never_below_the_exact_one():
    """The promise is rounded up: the exact ratio of words, its logarithm one unit higher."""
    distortion = UniformDistortion(retention=1 / 3, size=5)
    own = Fraction(distortion.drawn.keep_threshold, distortion.drawn.words_per_category) + 1
    assert distortion.largest_ratio == own
    assert Fraction(largest_amplification(distortion)) >= own
    assert largest_epsilon(distortion) >= math.log(own)


def test_epsilon_of_a_dense_matrix_comes_from_the_words_drawn():
    """The largest ratio within a column of the integer weights."""
    weights = GENERAL.drawn.integer_weights
    columns = list(zip(*weights, strict=True))
    assert GENERAL.largest_ratio == max(Fraction(max(each), min(each)) for each in columns)
    assert math.isclose(largest_amplification(GENERAL), amplification(GENERAL.dense()), rel_tol=1e-12)


def test_a_zero_in_a_possible_column_has_no_finite_amplification():
    """A published category that rules out a true one is infinite, not an error."""
    certain = DenseDistortion(rows=((1.0, 0.0), (0.4, 0.6)))
    assert largest_amplification(certain) == math.inf
    assert largest_epsilon(certain) == math.inf


def test_a_row_that_does_not_sum_to_one_is_refused_with_its_sum():
    """The row, its sum, and the hint that the matrix may be transposed."""
    with pytest.raises(ParameterError, match=r"row 1 .* sums to 0\.9\..*transpose"):
        DenseDistortion(rows=((0.5, 0.5), (0.2, 0.7)))


def test_a_negative_entry_is_refused():
    """Entries are probabilities."""
    with pytest.raises(ParameterError, match=r"row 0 .* holds -0\.1.*between 0 and 1"):
        DenseDistortion(rows=((-0.1, 1.1), (0.2, 0.8)))


def test_a_matrix_that_is_not_square_is_refused():
    """The shape is said."""
    with pytest.raises(ParameterError, match=r"square.*2 rows of 3 entries"):
        DenseDistortion(rows=((0.5, 0.25, 0.25), (0.2, 0.4, 0.4)))


def test_a_nearly_singular_matrix_is_refused_with_its_condition_number():
    """Rows that hardly differ leave nothing to estimate from."""
    with pytest.raises(ParameterError, match=r"condition number 1e\+09.*larger entries on the diagonal"):
        DenseDistortion(rows=((0.5 + 5e-10, 0.5 - 5e-10), (0.5 - 5e-10, 0.5 + 5e-10)))


def test_a_singular_matrix_is_refused():
    """Equal rows."""
    with pytest.raises(ParameterError, match="singular or nearly so"):
        DenseDistortion(rows=((0.5, 0.5), (0.5, 0.5)))


def test_a_matrix_of_the_wrong_size_is_refused_by_attribute():
    """The attribute's name and both sizes."""
    with pytest.raises(ParameterError, match=r"'job' has 3 categories, the schema gives it 4"):
        check_sizes({"job": GENERAL}, {"job": 4})


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: warner(0.5), "published alike"),
        (lambda: warner(1.2), "between 0 and 1"),
        (lambda: uniform_with_diagonal(0.2, 5), r"above 1/5 = 0\.2"),
        (lambda: uniform_with_diagonal(1.0, 5), "below 1"),
        (lambda: invariant(GENERAL, [0.5, 0.5]), "needs 3 shares"),
        (lambda: invariant(GENERAL, [1.0, 0.0, 1.0]), "all of them positive"),
    ],
)
def test_builders_refuse_what_cannot_be_estimated_from(build, message):
    """Each with what is allowed."""
    with pytest.raises(ParameterError, match=message):
        build()
