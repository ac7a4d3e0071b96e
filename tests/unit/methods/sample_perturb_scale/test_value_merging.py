"""Merging of public values by the chi-square test."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2, chi2_contingency

from sfumato.errors import ParameterError
from sfumato.methods.sample_perturb_scale.kernels import chi_square_statistics, critical_value, merge_values


@pytest.mark.parametrize(
    ("first", "second", "statistic"),
    [
        ([145, 399], [193, 592], 0.7249),
        ([1109, 398], [1455, 504], 0.2062),
        ([28696, 10207], [934, 369], 2.8198),
        ([4612, 196], [229, 3], 4.5212),
    ],
)
def test_statistics_of_adult_values(first, second, statistic):
    """Doctorate and Prof-school, the two Assoc, White and API, Other-service and Priv-house-serv."""
    assert round(float(chi_square_statistics(np.array([first, second]))[0, 1]), 4) == statistic


def test_equation_4_3_is_pearsons_statistic():
    """Against scipy, on tables with categories that neither value has left out."""
    counts = np.array([[30, 0, 12, 5], [10, 0, 3, 9], [7, 0, 7, 7]])
    statistics = chi_square_statistics(counts)
    for i in range(3):
        for j in range(i):
            pair = counts[[i, j]][:, counts[[i, j]].sum(axis=0) > 0]
            assert statistics[i, j] == pytest.approx(chi2_contingency(pair, correction=False).statistic)


@pytest.mark.parametrize(("degrees", "number"), [("m-1", 2), ("m", 1)])
def test_degrees_of_freedom_decide_other_service(degrees, number):
    """4.5212 is beyond the critical value at one degree of freedom and within it at two."""
    merging = merge_values(np.array([[4612, 196], [229, 3]]), degrees_of_freedom=degrees)
    assert len(merging.classes) == number


def test_the_critical_value_is_the_95th_percentile():
    """At m-1 degrees of freedom."""
    assert chi2.cdf(critical_value(7), 6) == pytest.approx(0.95)


def test_a_small_value_between_two_chains_them_and_is_said():
    """Two values far apart, a third so small that it is like both."""
    chain = merge_values(np.array([[4800, 5200], [4, 10], [1400, 8600]]))
    assert chain.classes == ((0, 1, 2),)
    assert chain.chained == (0,)


def test_complete_linkage_never_joins_values_that_are_told_apart():
    """The same three values give two classes, none of them chained."""
    merging = merge_values(np.array([[4800, 5200], [4, 10], [1400, 8600]]), linkage="complete-linkage")
    assert len(merging.classes) == 2
    assert merging.chained == ()


@pytest.mark.parametrize("linkage", ["components", "complete-linkage"])
def test_a_value_without_rows_joins_nothing(linkage):
    """There is nothing to compare."""
    merging = merge_values(np.array([[50, 50], [0, 0], [51, 49]]), linkage=linkage)
    assert merging.classes == ((0, 2), (1,))


def test_one_value_is_a_class_of_its_own():
    """Also by complete linkage, which clusters pairs."""
    assert merge_values(np.array([[3, 4]]), linkage="complete-linkage").classes == ((0,),)


def test_a_table_of_another_shape_is_refused():
    """Values by sensitive categories."""
    with pytest.raises(ParameterError, match="counts must be a table"):
        merge_values(np.array([1, 2, 3]))
