"""Measures of cells that are known within bounds: by looking everywhere between them."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from published_rows import category_attribute
from sfumato import Generalization
from sfumato.analysis.measures.bounded_cells import MOST_LOOSE, beyond_bounds, extremes
from sfumato.analysis.measures.declarations import MEASURES
from sfumato.analysis.measures.measuring import value_of
from sfumato.analysis.measures.noise import of_counts
from sfumato.analysis.within_bounds import note_of_bounds
from sfumato.data.coded_rows import ArrayEngine, CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.testing import release_in_memory
from sfumato.values.certainty import Certainty
from sfumato.values.estimates import Estimates
from sfumato.values.schema import Role, Schema

VALUES = np.array([40.0, 25.0, 20.0, 15.0])
LOW, HIGH = np.array([30.0, 25.0, 8.0, 10.0]), np.array([44.0, 25.0, 32.0, 18.0])


def within(low=LOW, high=HIGH):
    """Four cells of which three lie between bounds and one is known."""
    certainty = np.where(low < high, Certainty.BOUNDED, Certainty.EXACT).astype(np.int8)
    variances = np.where(low < high, 1.0, 0.0)
    return Estimates(VALUES, variances, np.diag(variances), (low, high), certainty)


@pytest.mark.parametrize("name", MEASURES)
def test_extremes_are_those_of_a_grid_of_the_box(name):
    """Thirteen places along each of three cells; none is beyond the extremes, and corners or what is near them reach these."""
    formula = of_counts(MEASURES[name], (2, 2))
    axes = [np.linspace(low, high, 13) if low < high else [low] for low, high in zip(LOW, HIGH, strict=True)]
    seen = [float(np.real(formula(np.array(each) + 0j))) for each in itertools.product(*axes)]
    least, most = extremes(formula, VALUES, LOW, HIGH, LOW < HIGH)
    slack = 1e-6 * (max(seen) - min(seen))
    assert least <= min(seen) + slack
    assert most >= max(seen) - slack
    assert least >= min(seen) - 0.03 * (max(seen) - min(seen))
    assert most <= max(seen) + 0.03 * (max(seen) - min(seen))


def test_what_has_its_most_between_corners_is_followed_there():
    """Leverage of 1 - t and t, both alike: a quarter at one half."""

    def product(x):
        return x[0] * (1 - x[0])

    least, most = extremes(product, np.array([0.2]), np.array([0.1]), np.array([0.8]), np.array([True]))
    assert (least, most) == pytest.approx((0.09, 0.25))


def test_where_a_corner_has_no_value_or_corners_are_too_many_there_is_no_end():
    """A share of nobody; one cell more than are looked at; a bound that is none."""

    def share(x):
        return x[0] / (x[0] + x[1])

    nobody = extremes(share, np.ones(2), np.zeros(2), np.ones(2), np.ones(2, bool))
    number = MOST_LOOSE + 1
    many = extremes(np.sum, np.ones(number), np.zeros(number), np.ones(number), np.ones(number, bool))
    endless = extremes(share, np.ones(2), np.ones(2), np.array([2.0, np.inf]), np.array([False, True]))
    for found in (nobody, many, endless):
        assert found == (-np.inf, np.inf)


def test_a_ratio_with_a_cell_that_may_be_nobody_ends_at_nothing_on_one_side():
    """The logarithm of 0 to 18 times 40, by 25 times 20: without an end below, and an ordinary one above."""
    low = np.array([*VALUES[:3], 0.0])
    high = np.array([*VALUES[:3], 18.0])
    found = extremes(of_counts(MEASURES["odds-ratio"], (2, 2)), VALUES, low, high, low < high)
    assert found == pytest.approx((-np.inf, np.log(18 * 40 / 500)))


def test_bounds_are_all_of_a_table_and_chance_is_added_elsewhere():
    """A share of 15 in 35 between 10 in 42 and 18 in 26; about a population what the ends had besides."""
    formula, counts = of_counts(MEASURES["confidence"], (2, 2)), within()
    expected = 10 / 42, 18 / 26
    assert beyond_bounds((0.4, 0.5), 15 / 35, formula, counts, "table") == pytest.approx(expected)
    least, most = beyond_bounds((0.4, 0.5), 15 / 35, formula, counts, "population")
    assert (least, most) == pytest.approx((expected[0] - 15 / 35 + 0.4, expected[1] + 0.5 - 15 / 35))
    drawn = within()
    drawn.certainty[1] = Certainty.ESTIMATED
    assert beyond_bounds((0.4, 0.5), 15 / 35, formula, drawn, "table") == pytest.approx((least, most))
    known = within(VALUES, VALUES)
    assert beyond_bounds((0.4, 0.5), 15 / 35, formula, known, "table") == (0.4, 0.5)
    assert note_of_bounds(known) == ()
    assert note_of_bounds(counts)[0].startswith("3 cells are known within bounds only")
    assert note_of_bounds(within(np.array([*LOW[:1], *VALUES[1:]]), np.array([*HIGH[:1], *VALUES[1:]])))[
        0
    ].startswith("one cell is")


def test_measures_of_a_generalized_release_hold_what_their_shares_may_be():
    """Ages of two categories published as one, and more of the first than of the second: an even half is assumed, and no range may rest on it."""
    draw = np.random.default_rng(4)
    age = np.repeat([0, 1, 2, 3], [300, 20, 160, 160])
    value = (draw.random(640) < np.where(age == 0, 0.8, 0.2)).astype(int)
    schema = Schema(
        attributes=(category_attribute("age", 4, Role.QUASI_IDENTIFIER), category_attribute("value", 2))
    )
    table = PrivateTable(CodedRows(schema, {"age": age, "value": value}), schema, engine=ArrayEngine())
    release = release_in_memory(table, Generalization(k=30), seed=1)
    measured = release.measures("age = '1'", "value = '1'")
    cells = np.array(
        [[np.sum(((age == 1) == first) & (value == second)) for second in (0, 1)] for first in (False, True)]
    )
    for each in measured.values:
        if not each.undefined:
            declared = MEASURES[each.name]
            truth = declared.shown(float(np.real(declared.formula(cells / 640 + 0j, 640))))
            assert each.low - 1e-9 <= truth <= each.high + 1e-9, each.name
    assert any("within bounds only" in note for note in measured.notes)


def test_a_measure_that_divides_by_nobody_is_undefined():
    """Everybody agrees: the odds of agreement have no bound."""
    counts = Estimates(np.array([30.0, 0.0, 0.0, 20.0]), np.zeros(4), np.zeros((4, 4)))
    table = SimpleNamespace(counts=counts, shape=(2, 2), sides=())
    found = value_of(MEASURES["collective-strength"], table, 1.96, "table")
    assert found.undefined == "what it divides by is estimated as nobody"
    assert found.limit == np.inf
