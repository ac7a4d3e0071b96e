"""Numbers of counts that are known within bounds: by looking everywhere between them."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from allowed_tables import generalized
from published_rows import category_attribute
from sfumato import Generalization
from sfumato.analysis.identified_sets import (
    Room,
    are_loose,
    beyond_box,
    claim_of,
    narrowed,
    note_of_bounds,
    ranges,
    shares_between,
)
from sfumato.analysis.measure_formulas import MEASURES, of_counts
from sfumato.analysis.measures import value_of
from sfumato.analysis.moments import _formula as partial_correlation
from sfumato.data.engine import ArrayEngine, CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.errors import NoSolutionError
from sfumato.estimates.estimates import Certainty, Estimates
from sfumato.schema import Role, Schema
from sfumato.testing import release_in_memory

VALUES = np.array([40.0, 25.0, 20.0, 15.0])
LOW, HIGH = np.array([30.0, 25.0, 8.0, 10.0]), np.array([44.0, 25.0, 32.0, 18.0])
ANY = (-np.inf, np.inf)


def within(low=LOW, high=HIGH):
    """Four cells of which three lie between bounds and one is known."""
    certainty = np.where(low < high, Certainty.BOUNDED, Certainty.EXACT).astype(np.int8)
    variances = np.where(low < high, 1.0, 0.0)
    return Estimates(VALUES, variances, np.diag(variances), (low, high), certainty)


def between(formula, low, high, rows=ANY, start=None):
    """The least and the most of a formula of some counts."""
    counts = (low + high) / 2 if start is None else start
    certainty = np.where(low < high, Certainty.BOUNDED, Certainty.EXACT).astype(np.int8)
    estimates = Estimates(counts, np.zeros(low.size), np.zeros((low.size,) * 2), (low, high), certainty)
    return beyond_box((0.0, 0.0), 0.0, formula, estimates, rows, "table")


@pytest.mark.parametrize("name", MEASURES)
def test_measures_end_where_those_of_a_grid_do(name):
    """Thirteen places along each of three cells; none is beyond the ends, which are no more than a twentieth further."""
    formula = of_counts(MEASURES[name], (2, 2))
    axes = [np.linspace(low, high, 13) if low < high else [low] for low, high in zip(LOW, HIGH, strict=True)]
    seen = [float(np.real(formula(np.array(each) + 0j))) for each in itertools.product(*axes)]
    least, most = between(formula, LOW, HIGH, start=VALUES)
    width = max(seen) - min(seen)
    assert least <= min(seen) + 1e-9 * width
    assert most >= max(seen) - 1e-9 * width
    # Phi-squared and its kin turn round in the middle, and what slopes of one side would gain is held on the other; below nothing they are cut.
    cut, further = (0.0, 3.0) if MEASURES[name].is_quadratic else (-np.inf, 0.05)
    assert max(least, cut) >= min(seen) - further * width
    assert most <= max(seen) + further * width


@pytest.mark.parametrize("name", [*MEASURES, "partial"])
def test_no_whole_table_within_the_bounds_is_beyond_the_ends(name):
    """Random bounds, from none and narrow to wide, with sums that are known, nearly known or not; four hundred tables within each."""
    draw = np.random.default_rng(7)
    shape = (2, 2, 2) if name == "partial" else (2, 2) if MEASURES[name].is_binary else (2, 3)
    formula = partial_correlation if name == "partial" else of_counts(MEASURES[name], shape)
    number, held = int(np.prod(shape)), 0
    for _ in range(12):
        low = draw.integers(0, 9, number) * (draw.random(number) < 0.8)
        high = low + draw.integers(0, 14, number) * (draw.random(number) < 0.7)
        start = (low + high) / 2
        slack = draw.choice([0.5, 3.0, np.inf])
        rows = (start.sum() - slack, start.sum() + slack)
        tables = draw.integers(low, high + 1, (400, number))
        tables = tables[np.abs(tables.sum(axis=1) - start.sum()) <= slack].astype(float)
        with np.errstate(all="ignore"):
            seen = np.array([float(np.real(formula(each + 0j))) for each in tables if each.sum()])
            least, most = between(formula, low.astype(float), high.astype(float), rows, start)
        seen = seen[~np.isnan(seen)]
        if (low < high).any():
            assert (seen >= least - 1e-9).all()
            assert (seen <= most + 1e-9).all()
            held += np.isfinite([least, most]).any()
    assert held > 2


def test_what_has_its_most_between_corners_is_held():
    """A product of 1 - t and t is a quarter at one half; slopes turn round there, and some more is held."""
    least, most = between(lambda x: x[0] * (1 - x[0]), np.array([0.1]), np.array([0.8]))
    assert -0.5 <= least <= 0.09
    assert 0.25 <= most <= 0.8


def test_a_number_that_goes_one_way_with_every_count_ends_at_two_corners():
    """A share of ten to twenty beside thirty, exactly; of rows that add up to forty-five there are fifteen."""
    formula, low, high = lambda x: x[0] / x.sum(), np.array([10.0, 30.0]), np.array([20.0, 30.0])
    assert between(formula, low, high) == pytest.approx((0.25, 0.4))
    assert between(formula, low, high, (45.0, 45.0), np.array([15.0, 30.0])) == pytest.approx((1 / 3, 1 / 3))


def test_where_a_table_has_no_value_there_is_no_end():
    """A share of nobody; a bound that is none; a fit that there is not."""

    def share(x):
        return x[0] / (x[0] + x[1])

    assert between(share, np.zeros(2), np.ones(2)) == ANY
    assert between(share, np.ones(2), np.array([1.0, np.inf]), start=np.ones(2)) == ANY
    with np.errstate(all="ignore"):
        assert between(share, np.zeros(2), np.array([0.0, 1.0])) == ANY

    def refused(place):
        if place[0] > 1:
            raise NoSolutionError("nothing fits.", reason="separation")
        return place[:1], np.eye(2)[:1]

    low, high = ranges(refused, Room(np.zeros(2), np.full(2, 2.0), (0.0, 4.0)), np.ones(2))
    assert (low.item(), high.item()) == ANY


def test_a_ratio_with_a_cell_that_may_be_nobody_ends_at_nothing_on_one_side():
    """The logarithm of 0 to 18 times 40, by 25 times 20: without an end below, and an ordinary one above."""
    low, high = np.array([*VALUES[:3], 0.0]), np.array([*VALUES[:3], 18.0])
    found = between(of_counts(MEASURES["odds-ratio"], (2, 2)), low, high, start=VALUES)
    assert found == pytest.approx((-np.inf, np.log(18 * 40 / 500)))


@pytest.mark.parametrize("seed", range(5))
def test_the_furthest_table_is_that_of_linear_programming(seed):
    """Bounds of single counts and of their sum: against scipy's solver."""
    from scipy.optimize import linprog

    draw = np.random.default_rng(seed)
    low = draw.integers(0, 5, 6).astype(float)
    high = low + draw.integers(0, 6, 6)
    rows = tuple(np.sort(draw.uniform(low.sum(), high.sum(), 2)))
    slopes = draw.normal(size=6) - draw.choice([0, 2])
    found = Room(low, high, rows).furthest(slopes)
    assert (found >= low).all()
    assert (found <= high).all()
    assert rows[0] - 1e-9 <= found.sum() <= rows[1] + 1e-9
    ones = np.ones((1, 6))
    best = linprog(
        -slopes,
        A_ub=np.vstack([ones, -ones]),
        b_ub=[rows[1], -rows[0]],
        bounds=list(zip(low, high, strict=True)),
    )
    assert slopes @ found == pytest.approx(-best.fun)


def test_shares_between_ends():
    """A part and a rest that are known; nobody at all; an unknown number of one, of the other, and of both."""
    part = np.array([3.0, 0.0, 3.0, 3.0, 3.0]), np.array([6.0, 0.0, np.inf, 3.0, np.inf])
    rest = np.array([6.0, 0.0, 1.0, 1.0, 0.0]), np.array([9.0, 0.0, 1.0, np.inf, np.inf])
    low, high = shares_between(part, rest)
    np.testing.assert_allclose(low, [0.25, 0, 0.75, 0, 0])
    np.testing.assert_allclose(high, [0.5, 1, 1, 0.75, 1])


def test_bounds_are_all_of_a_table_and_chance_is_added_elsewhere():
    """A share of 15 in 35 between 10 in 42 and 18 in 26; about a population what the ends had besides."""
    formula, counts = of_counts(MEASURES["confidence"], (2, 2)), within()
    expected = 10 / 42, 18 / 26
    assert beyond_box((0.4, 0.5), 15 / 35, formula, counts, ANY, "table") == pytest.approx(expected)
    least, most = beyond_box((0.4, 0.5), 15 / 35, formula, counts, ANY, "population")
    assert (least, most) == pytest.approx((expected[0] - 15 / 35 + 0.4, expected[1] + 0.5 - 15 / 35))
    drawn = within()
    drawn.certainty[1] = Certainty.ESTIMATED
    assert beyond_box((0.4, 0.5), 15 / 35, formula, drawn, ANY, "table") == pytest.approx((least, most))
    known = within(VALUES, VALUES)
    assert beyond_box((0.4, 0.5), 15 / 35, formula, known, ANY, "table") == (0.4, 0.5)
    assert note_of_bounds(known) == ()
    assert note_of_bounds(counts)[0].startswith("3 cells are known within bounds only")
    assert note_of_bounds(within(np.array([*LOW[:1], *VALUES[1:]]), np.array([*HIGH[:1], *VALUES[1:]])))[
        0
    ].startswith("one cell is")


def test_a_number_claims_what_the_weakest_of_its_counts_does():
    """Of a table bounded, exact or estimated; of a population always estimated."""
    mixed = within()
    mixed.certainty[1] = Certainty.ESTIMATED
    claims = [claim_of(each, "table") for each in (within(), within(VALUES, VALUES), mixed)]
    assert claims == [Certainty.BOUNDED, Certainty.EXACT, Certainty.ESTIMATED]
    assert claim_of(within(), "population") is Certainty.ESTIMATED


def test_two_ways_to_ask_give_the_narrower_bounds():
    """Thirty to 44 and 38 to 60 are 38 to 44; where both ends meet the count is known."""
    other = within(np.array([38.0, 25.0, 8.0, 15.0]), np.array([60.0, 25.0, 32.0, 15.0]))
    found = narrowed(within(), other)
    low, high = found.ends()
    assert (low[0], high[0]) == (38, 44)
    assert found.is_exact.tolist() == [False, True, False, True]
    assert found.variances[3] == 0
    assert are_loose(found).tolist() == [True, False, True, False]


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
            assert each.certainty is Certainty.BOUNDED
    assert any("within bounds only" in note for note in measured.notes)


def test_measures_of_merged_categories_end_where_those_of_any_table_do():
    """Phi-squared of four by two categories is at most 1, mutual information log 2."""
    release = generalized(
        [(age, 0, ill) for age in range(4) for ill in (0, 1)] * 3, k=12, search="full-domain"
    )
    measured = release.measures(
        "age", "ill", only=["phi-squared", "chi-square", "mutual-information", "g-square"]
    )
    most = {"phi-squared": 1, "chi-square": 24, "mutual-information": np.log(2), "g-square": 48 * np.log(2)}
    for each in measured.values:
        assert (each.low, each.high) == pytest.approx((0, most[each.name]))


def test_a_measure_that_divides_by_nobody_is_undefined():
    """Everybody agrees: the odds of agreement have no bound."""
    counts = Estimates(np.array([30.0, 0.0, 0.0, 20.0]), np.zeros(4), np.zeros((4, 4)))
    table = SimpleNamespace(counts=counts, shape=(2, 2), sides=())
    found = value_of(MEASURES["collective-strength"], table, 1.96, "table")
    assert found.undefined == "what it divides by is estimated as nobody"
    assert found.limit == np.inf


def test_nothing_is_written_without_a_sign():
    """A minus in front of nobody says nothing, and looks like a fault."""
    room = Room(np.zeros(2), np.array([3.0, 4.0]), (0.0, 7.0))
    low, _ = ranges(lambda place: (place[:1], np.array([[1.0, 0.0]])), room, np.ones(2))
    assert str(float(low[0])) == "0.0"
