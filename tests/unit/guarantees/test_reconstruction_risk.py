"""Reconstruction risk and the risks beside it, on the table of Guo 2010 (table 2.5b) and by brute force."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from sfumato.errors import ParameterError, QueryError
from sfumato.estimates.counts import CountTable
from sfumato.guarantees.reconstruction_risk import (
    ReconstructionRisk,
    conditional_distribution_risks,
    posterior_risks,
    reconstruction_risks,
    recovery_probabilities,
    risk_at_share,
)
from sfumato.randomness.distortion import DenseDistortion, TwoValued, uniform_with_diagonal
from sfumato.schema import Attribute, Role

TABLE = np.array([[8, 16, 48], [12, 14, 2]])
"""Male, Female by cancer and two other diseases."""

SEX = Attribute(name="sex", role=Role.QUASI_IDENTIFIER, categories=("Male", "Female"))
DISEASE = Attribute(name="disease", role=Role.SENSITIVE, categories=("Cancer", "Flu", "Other"))


def uniform(diagonal, size):
    """The thesis's matrix by its diagonal; 1 is no perturbation and 1/size the strongest."""
    return TwoValued(diagonal, (1 - diagonal) / (size - 1))


def risk_of_a_woman_with_cancer(sex, disease):
    """To four decimals, as printed."""
    risks = reconstruction_risks(TABLE, [uniform(sex, 2), uniform(disease, 3)])
    return round(float(risks[1, 0]), 4)


@pytest.mark.parametrize(
    ("sex", "disease", "risk"),
    [(1, 1, 0.4286), (1, 1 / 3, 0.1837), (1 / 2, 1, 0.12), (1 / 2, 1 / 3, 0.0514)],
)
def test_property_1_minima_are_reached_at_the_strongest_perturbation(sex, disease, risk):
    """Printed as .43, .18, .12 and .05: share, share squared, joint share, joint share times share."""
    assert risk_of_a_woman_with_cancer(sex, disease) == risk


@pytest.mark.parametrize(
    ("sex", "risks"),
    [(0.8, [0.2163, 0.1566, 0.1153, 0.0943, 0.0927]), (1.0, [0.4286, 0.3102, 0.2285, 0.1868, 0.1837])],
)
def test_risk_falls_along_the_grid_of_the_thesis(sex, risks):
    """Figure 5.2: disease kept with 1, .8, .6, .4, 1/3."""
    assert [risk_of_a_woman_with_cancer(sex, each) for each in (1, 0.8, 0.6, 0.4, 1 / 3)] == risks


def test_risk_rises_again_below_the_strongest_perturbation():
    """A diagonal of 0 tells what a value is not."""
    assert risk_of_a_woman_with_cancer(1.0, 0.0) == 0.2826


def test_risk_matrix_of_the_thesis_table_is_reproduced():
    """p_G = .8, p_s = .6, to five decimals."""
    risks = reconstruction_risks(TABLE, [uniform(0.8, 2), uniform(0.6, 3)])
    assert risks.round(5).tolist() == [[0.01691, 0.05963, 0.38522], [0.11534, 0.14922, 0.00459]]


def test_factors_of_the_risk_are_reproduced():
    """The recovery of sex, and of disease among women."""
    groups = TABLE.sum(axis=1).astype(float)
    assert recovery_probabilities(groups, [uniform(0.8, 2)]).round(5).tolist() == [0.80737, 0.50468]
    among_women = recovery_probabilities(TABLE.astype(float), [None, uniform(0.6, 3)])[1]
    assert among_women.round(5).tolist() == [0.53324, 0.59135, 0.12734]


def brute_force(table, matrices):
    """Risk by summing over every published value, without any product of matrices."""
    *quasi_identifiers, sensitive = matrices
    cells = list(itertools.product(*(range(size) for size in table.shape[:-1])))
    groups = table.sum(axis=-1)
    result = np.zeros(table.shape)

    def probability(true, seen):
        return np.prod([matrix[t, s] for matrix, t, s in zip(quasi_identifiers, true, seen, strict=True)])

    for true in cells:
        recovered = sum(
            probability(true, seen) ** 2
            * groups[true]
            / sum(probability(other, seen) * groups[other] for other in cells)
            for seen in cells
        )
        for value in range(table.shape[-1]):
            redrawn = sum(
                sensitive[value, seen] ** 2
                * table[true][value]
                / sum(sensitive[other, seen] * table[true][other] for other in range(table.shape[-1]))
                for seen in range(table.shape[-1])
            )
            result[true][value] = table[true][value] / groups[true] * recovered * redrawn
    return result


def test_risk_axis_by_axis_equals_the_sum_over_all_published_cells():
    """Three axes with matrices of no special form."""
    table = np.arange(1, 13).reshape(2, 2, 3)
    first, second = np.array([[0.7, 0.3], [0.1, 0.9]]), np.array([[0.6, 0.4], [0.2, 0.8]])
    third = DenseDistortion(rows=((0.7, 0.2, 0.1), (0.1, 0.8, 0.1), (0.3, 0.2, 0.5))).dense()
    found = reconstruction_risks(table, [first, second, third])
    assert np.allclose(found, brute_force(table, [first, second, third]), rtol=1e-12)


def test_risk_is_monotone_in_every_diagonal():
    """On a grid from the strongest perturbation to none."""
    grid = np.linspace(0.5, 1, 6)
    risks = np.array(
        [[reconstruction_risks(TABLE, [uniform(a, 2), uniform(b, 3)]) for b in grid] for a in grid]
    )
    assert (np.diff(risks, axis=0) >= -1e-12).all()
    assert (np.diff(risks, axis=1) >= -1e-12).all()


def test_empty_cells_and_groups_have_no_risk():
    """Nobody is there to be found."""
    risks = reconstruction_risks(np.array([[0, 0], [3, 0]]), [uniform(0.8, 2), uniform(0.8, 2)])
    assert risks[0].tolist() == [0, 0]
    assert risks[1, 1] == 0


def test_impossible_published_values_do_not_disturb():
    """A column of zeros is never looked back from."""
    matrix = np.array([[0.5, 0.5, 0.0], [0.2, 0.8, 0.0], [0.4, 0.6, 0.0]])
    assert np.isfinite(reconstruction_risks(TABLE, [None, matrix])).all()


def test_conditional_distribution_risk_does_not_depend_on_the_perturbation():
    """Pitfall 1: 12/28 for a woman with cancer, against .1153 promised at (.8, .6)."""
    conditional = conditional_distribution_risks(TABLE)[1, 0]
    assert round(float(conditional), 4) == 0.4286
    assert conditional > reconstruction_risks(TABLE, [uniform(0.8, 2), uniform(0.6, 3)])[1, 0]


def test_posterior_risk_is_the_largest_posterior_over_published_values():
    """Women at p_s = .6: cancer published makes cancer 12*.6/(12*.6 + 16*.2) likely, by hand."""
    found = posterior_risks(TABLE, uniform(0.6, 3))
    assert np.isclose(found[1, 0], 7.2 / 10.4, rtol=1e-12)
    assert posterior_risks(TABLE, None).tolist() == [[1, 1, 1], [1, 1, 1]]


@pytest.mark.parametrize(("share", "level"), [(1.0, 0.9), (0.99, 0.5), (0.6, 0.5), (0.5, 0.1), (0.01, 0.1)])
def test_risk_at_a_share_covers_that_share_of_the_rows(share, level):
    """50 rows at .1, 49 at .5, 1 at .9; an empty cell does not count."""
    risks, counts = np.array([0.5, 0.1, 0.9, 1.0]), np.array([49, 50, 1, 0])
    assert risk_at_share(risks, counts, share) == level


def test_a_promise_is_kept_up_to_a_relative_risk_of_one():
    """Largest risk .38522 of the table: over .4, and with a bound of its own for a value."""
    table = CountTable((SEX, DISEASE), TABLE.copy())
    matrices = [uniform(0.8, 2), uniform(0.6, 3)]
    promise = ReconstructionRisk(sensitive="disease", quasi_identifiers=("sex",), bound=0.4)
    assert round(promise.relative_risk(table, matrices) * 0.4, 5) == 0.38522
    stricter = ReconstructionRisk(
        sensitive="disease", quasi_identifiers=("sex",), bound=0.4, bound_by_value={"Cancer": 0.1}
    )
    assert round(stricter.relative_risk(table, matrices), 3) == 1.153


def test_the_promise_says_what_it_leaves_open():
    """Never as if it were l-diversity."""
    promise = ReconstructionRisk(sensitive="disease", quasi_identifiers=("sex",), bound=0.4, share=0.99)
    assert "99 % of the rows" in promise.sentence
    assert "says nothing about an attacker who reads the reconstructed distribution" in promise.sentence
    assert "can still be learned" in promise.plain_words


@pytest.mark.parametrize("bound", [0, 1, -0.1])
def test_a_bound_outside_zero_and_one_is_refused(bound):
    """It is a probability that can be missed."""
    with pytest.raises(ParameterError, match="bound"):
        ReconstructionRisk(sensitive="disease", quasi_identifiers=("sex",), bound=bound)
    with pytest.raises(ParameterError, match="bound_by_value"):
        ReconstructionRisk(
            sensitive="disease", quasi_identifiers=("sex",), bound=0.5, bound_by_value={"Flu": bound}
        )


def test_a_bound_for_an_unknown_value_is_refused():
    """With the nearest category."""
    promise = ReconstructionRisk(
        sensitive="disease", quasi_identifiers=("sex",), bound=0.4, bound_by_value={"Canser": 0.1}
    )
    with pytest.raises(QueryError, match="did you mean 'Cancer'"):
        promise.bounds(DISEASE)


def test_strongest_uniform_matrix_recovers_as_often_as_a_guess():
    """Diagonal 1/d, which is no design because nothing could be estimated, recovers a value by its share."""
    assert np.allclose(recovery_probabilities(np.array([3.0, 7.0]), [TwoValued(0.5, 0.5)]), [0.3, 0.7])
    with pytest.raises(ParameterError):
        uniform_with_diagonal(0.5, 2)


def test_nobody_in_a_group_is_at_no_conditional_risk():
    """An empty group and an empty cell; others by hand: 1/4 and 3/4."""
    counts = np.array([[0, 0], [1, 3], [0, 2]])
    assert conditional_distribution_risks(counts).tolist() == [[0, 0], [0.25, 0.75], [0, 1]]
    assert posterior_risks(counts, None).tolist() == [[0, 0], [1, 1], [0, 1]]


def test_posterior_risk_of_every_cell_by_hand():
    """Men 1 and 3 of four, matrix (.7, .3), (.4, .6): published first .7 and 1.2, second .3 and 1.8."""
    matrix = np.array([[0.7, 0.3], [0.4, 0.6]])
    found = posterior_risks(np.array([[1, 3], [0, 0]]), matrix)
    assert np.allclose(found, [[0.7 / 1.9, 1.8 / 2.1], [0, 0]], rtol=1e-12)


def test_a_published_value_that_cannot_come_tells_nothing():
    """One, one and two people; published first .5, .2, .8 of 1.5, second .5, .8, 1.2 of 2.5, third never."""
    matrix = np.array([[0.5, 0.5, 0.0], [0.2, 0.8, 0.0], [0.4, 0.6, 0.0]])
    found = posterior_risks(np.array([[1, 1, 2]]), matrix)
    assert np.allclose(found, [[0.5 / 1.5, 0.8 / 2.5, 0.8 / 1.5]], rtol=1e-12)


def test_an_unperturbed_sensitive_attribute_leaves_the_linking_alone():
    """A certain redraw is the identity: shares times the chance to find the person's own combination."""
    sex = np.array([[0.7, 0.3], [0.2, 0.8]])
    found = reconstruction_risks(TABLE, [sex, None])
    assert np.allclose(found, brute_force(TABLE, [sex, np.eye(3)]), rtol=1e-12)


def test_posterior_risks_of_a_table_over_several_attributes():
    """Two by two groups, each as it is alone."""
    table = np.arange(12).reshape(2, 2, 3)
    found = posterior_risks(table, uniform(0.6, 3))
    alone = [posterior_risks(group, uniform(0.6, 3)) for group in table.reshape(4, 1, 3)]
    assert np.allclose(found.reshape(4, 1, 3), alone, rtol=1e-12)
    assert np.allclose(conditional_distribution_risks(table)[0, 1], [3 / 12, 4 / 12, 5 / 12])


@pytest.mark.parametrize(
    ("share", "level"), [(0.1, 0.1), (0.2, 0.2), (0.21, 0.3), (0.5, 0.3), (0.51, 0.4), (1.0, 0.4)]
)
def test_a_share_is_of_all_rows(share, level):
    """10, 10, 30 and 50 of a hundred."""
    risks, counts = np.array([0.3, 0.1, 0.4, 0.2]), np.array([30, 10, 50, 10])
    assert risk_at_share(risks, counts, share) == level


def test_shares_of_a_table_have_the_risks_of_its_counts():
    """A posterior does not depend on how many people there are."""
    assert np.allclose(
        posterior_risks(TABLE / 1000, uniform(0.6, 3)), posterior_risks(TABLE, uniform(0.6, 3))
    )
    assert np.allclose(conditional_distribution_risks(TABLE / 1000), conditional_distribution_risks(TABLE))


@pytest.mark.parametrize(
    ("names", "follows"),
    [
        (("sex", "disease"), True),
        (("sex", "disease", "age"), True),
        (("disease", "age"), False),
        (("sex",), False),
    ],
)
def test_the_promise_is_about_published_attributes(names, follows):
    """All it names must be there; others may be."""
    promise = ReconstructionRisk(bound=0.5, quasi_identifiers=("sex",), sensitive="disease")
    release = SimpleNamespace(schema=SimpleNamespace(names=names))
    assert promise.follows_from((), release) == follows


def test_the_bound_of_a_value_is_that_of_the_sensitive_attribute_among_many():
    """Two quasi-identifiers: risks are divided by the bounds of the last axis."""
    age = Attribute(name="age", role=Role.QUASI_IDENTIFIER, categories=("young", "old"))
    counts = np.stack([TABLE, TABLE[::-1]])
    matrices = [uniform(0.8, 2), uniform(0.7, 2), uniform(0.6, 3)]
    promise = ReconstructionRisk(
        bound=0.5, quasi_identifiers=("age", "sex"), sensitive="disease", bound_by_value={"Flu": 0.1}
    )
    found = promise.relative_risk(CountTable((age, SEX, DISEASE), counts), matrices)
    assert found == pytest.approx((reconstruction_risks(counts, matrices) / [0.5, 0.1, 0.5]).max())


def test_shares_are_recovered_as_counts_are():
    """72 and 28 rows, and 0.72 and 0.28 of them, all below one."""
    warner = TwoValued(0.8, 0.2)
    counts = np.array([72.0, 28.0])
    # 72 (0.64 / 63.2 + 0.04 / 36.8), and 28 (0.04 / 63.2 + 0.64 / 36.8).
    expected = [72 * (0.64 / 63.2 + 0.04 / 36.8), 28 * (0.04 / 63.2 + 0.64 / 36.8)]
    for each in (counts, counts / 100):
        assert recovery_probabilities(each, [warner]).tolist() == pytest.approx(expected)


def test_a_share_that_rounding_moves_is_the_share_that_was_meant():
    """0.1 + 0.2 of ten rows are three, though the product is a little more."""
    risks, counts = np.array([0.1, 0.5, 0.9]), np.array([3, 4, 3])
    assert (0.1 + 0.2) * 10 > 3
    assert risk_at_share(risks, counts, 0.1 + 0.2) == 0.1
    assert risk_at_share(risks, counts, 0.31) == 0.5
