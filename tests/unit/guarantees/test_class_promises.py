"""k-anonymity, t-closeness, beta-likeness and delta-disclosure on the literature's own examples."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.guarantees.k_anonymity import (
    BetaLikeness,
    DeltaDisclosure,
    KAnonymity,
    TCloseness,
    earth_mover_distances,
    log_ratios,
    relative_gains,
)

# Guo 2010, table 2.1 generalized by age and sex: pneumonia and flu among 4 men and 4 women.
MEN, WOMEN = [1, 3], [2, 2]
CLASSES = np.array([MEN, WOMEN])


def test_the_generalized_table_of_guo_is_4_anonymous_and_not_5_anonymous():
    """Two classes of four rows."""
    sizes = CLASSES.sum(axis=1)
    assert KAnonymity(k=4, quasi_identifiers=("age", "sex", "zip")).holds_for(sizes)
    assert not KAnonymity(k=5, quasi_identifiers=("age", "sex", "zip")).holds_for(sizes)


def test_empty_cells_are_no_class():
    """A dense table of class sizes may be handed over as it is."""
    assert KAnonymity(k=2, quasi_identifiers=("a", "b")).holds_for(np.array([[2, 0], [0, 3]]))


def test_equal_distance_is_half_the_absolute_difference():
    """Men (1/4, 3/4) against all (3/8, 5/8): 1/8."""
    assert earth_mover_distances(CLASSES, CLASSES.sum(axis=0)).tolist() == [0.125, 0.125]
    assert TCloseness(attribute="disease", t=0.125).holds_for(CLASSES)
    assert not TCloseness(attribute="disease", t=0.124).holds_for(CLASSES)


def test_ordered_distances_are_those_of_the_t_closeness_paper():
    """Nine salaries 3k to 11k: {3, 4, 5} is .375 away, {6, 8, 11} is .167, with an equal distance of 2/3 both."""
    low = [1, 1, 1, 0, 0, 0, 0, 0, 0]
    spread = [0, 0, 0, 1, 0, 1, 0, 0, 1]
    classes, overall = np.array([low, spread]), np.ones(9)
    assert earth_mover_distances(classes, overall, "ordered").round(3).tolist() == [0.375, 0.167]
    assert earth_mover_distances(classes, overall, "equal") == pytest.approx([2 / 3, 2 / 3])


def test_beta_likeness_bounds_gains_and_not_losses():
    """Women have pneumonia in 1/2 against 3/8 overall: a gain of 1/3; men gain (3/4)/(5/8) - 1 = 1/5 in flu."""
    assert relative_gains(CLASSES, CLASSES.sum(axis=0)) == pytest.approx([0.2, 1 / 3])
    assert BetaLikeness(attribute="disease", beta=0.34).holds_for(CLASSES)
    assert not BetaLikeness(attribute="disease", beta=0.33).holds_for(CLASSES)


def test_delta_disclosure_bounds_gains_and_losses():
    """Men have pneumonia in 1/4 against 3/8: ln(2/3), about .405, is the largest ratio."""
    assert log_ratios(CLASSES, CLASSES.sum(axis=0)) == pytest.approx([np.log(1.5), np.log(4 / 3)])
    assert DeltaDisclosure(attribute="disease", bound=0.41).holds_for(CLASSES)
    assert not DeltaDisclosure(attribute="disease", bound=0.40).holds_for(CLASSES)


def test_a_class_without_one_value_breaks_delta_disclosure():
    """Whatever the bound; a value that the whole table lacks does not matter."""
    assert not DeltaDisclosure(attribute="d", bound=99.0).holds_for(np.array([[1, 1], [2, 0]]))
    assert DeltaDisclosure(attribute="d", bound=0.1).holds_for(np.array([[1, 0, 1], [2, 0, 2]]))


@pytest.mark.parametrize(
    "promise",
    [
        TCloseness(attribute="d", t=0.1),
        BetaLikeness(attribute="d", beta=0.1),
        DeltaDisclosure(attribute="d", bound=0.1),
    ],
)
def test_one_class_of_all_rows_keeps_every_relative_promise(promise):
    """It is the table, so nothing is learned from it."""
    assert promise.holds_for(np.array([[7, 0, 3]]))


# Three classes of 4, 2 and 10 rows over four values, the last of which nobody has: 5, 6, 5 and 0 of 16.
UNEQUAL = np.array([[2, 1, 1, 0], [0, 1, 1, 0], [3, 4, 3, 0]])


def test_classes_of_unequal_sizes_by_hand():
    """Shares (2, 1, 1)/4, (0, 1, 1)/2, (3, 4, 3)/10 against (5, 6, 5)/16."""
    overall = UNEQUAL.sum(axis=0)
    # Half of the absolute differences, in sixteenths: 3 + 2 + 1, 5 + 2 + 3; in eightieths 1 + 2 + 1.
    assert earth_mover_distances(UNEQUAL, overall) == pytest.approx([3 / 16, 5 / 16, 2 / 80])
    # Cumulative differences over 3 steps, in sixteenths: 3, 1, 0; -5, -3, 0; in eightieths -1, 1, 0.
    assert earth_mover_distances(UNEQUAL, overall, "ordered") == pytest.approx([4 / 48, 8 / 48, 2 / 240])
    assert relative_gains(UNEQUAL, overall) == pytest.approx([8 / 5 - 1, 8 / 5 - 1, 16 / 15 - 1])
    assert log_ratios(UNEQUAL, overall) == pytest.approx([np.log(8 / 5), np.inf, np.log(16 / 15)])


def test_each_class_is_judged_by_itself():
    """With the overall counts given, which need not be those of the classes shown."""
    overall = UNEQUAL.sum(axis=0)
    assert TCloseness(attribute="d", t=0.2).classes_that_hold(UNEQUAL, overall).tolist() == [
        True,
        False,
        True,
    ]
    ordered = TCloseness(attribute="d", t=0.1, ground="ordered")
    assert ordered.classes_that_hold(UNEQUAL, overall).tolist() == [True, False, True]
    assert BetaLikeness(attribute="d", beta=0.5).classes_that_hold(UNEQUAL, overall).tolist() == [
        False,
        False,
        True,
    ]
    disclosed = DeltaDisclosure(attribute="d", bound=0.1).classes_that_hold(UNEQUAL, overall)
    assert disclosed.tolist() == [False, False, True]
    # Against a table of halves only the second class is like it.
    halves = np.array([0, 5, 5, 0])
    assert TCloseness(attribute="d", t=0.0).classes_that_hold(UNEQUAL[1:2], halves).all()


@pytest.mark.parametrize("ninths", range(1, 9))
def test_an_edge_counts_as_kept_however_floats_round(ninths):
    """Classes (k, 9 - k) and (9 - k, k): k/9 against a half, a distance of |2k - 9|/18 and a gain of |2k - 9|/9."""
    classes = np.array([[ninths, 9 - ninths], [9 - ninths, ninths]])
    edge = abs(2 * ninths - 9) / 18
    for ground in ("equal", "ordered"):
        assert TCloseness(attribute="d", t=edge, ground=ground).holds_for(classes)
        assert not TCloseness(attribute="d", t=edge - 1e-9, ground=ground).holds_for(classes)
    assert BetaLikeness(attribute="d", beta=2 * edge).holds_for(classes)
    assert not BetaLikeness(attribute="d", beta=2 * edge - 1e-9).holds_for(classes)


def test_the_bound_of_delta_disclosure_is_itself_too_much():
    """The definition says below: a share twice the table's breaks ln 2."""
    classes = np.array([[2, 0, 2], [0, 4, 0], [2, 0, 2]])
    assert log_ratios(classes[[0]], np.array([3, 6, 3])).tolist() == [np.inf]
    halved = np.array([[1, 1]])
    assert log_ratios(halved, np.array([3, 1])).tolist() == [np.log(2)]
    assert not DeltaDisclosure(attribute="d", bound=float(np.log(2))).classes_that_hold(
        halved, np.array([3, 1])
    )
    assert DeltaDisclosure(attribute="d", bound=float(np.log(2)) + 1e-9).classes_that_hold(
        halved, np.array([3, 1])
    )


@pytest.mark.parametrize("ground", ["equal", "ordered"])
def test_a_single_value_is_no_distance_away(ground):
    """Nothing to move, nothing to divide by."""
    assert earth_mover_distances(np.array([[3], [4]]), np.array([7]), ground).tolist() == [0, 0]


def test_k_counts_the_person():
    """Two rows are 2-anonymous, and any table 1-anonymous."""
    assert KAnonymity(k=1, quasi_identifiers=("a",)).holds_for(np.array([1, 0]))
    assert not KAnonymity(k=2, quasi_identifiers=("a",)).holds_for(np.array([1, 5]))
