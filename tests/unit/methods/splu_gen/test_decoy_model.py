"""Values that no published row shows: by hand, by loops, and by draws of values that few rows have."""

from __future__ import annotations

import numpy as np
import pytest

from published_rows import PublishedRows, category_attribute, selection
from sfumato.estimates.exact_intervals import unseen_variance
from sfumato.methods.splu_gen.decoy_model import UnseenValues
from sfumato.methods.splu_gen.law import DecoyRows
from sfumato.query.selection import Tabulation
from sfumato.schema import Role

OF_ONE = float(unseen_variance(1 - (2 / 3) ** 3))
"""What the rule of three says of a value in groups of three."""

NOBODY = UnseenValues(np.array([60.0, 30.0, 0.0, 10.0, 0.0]), 3, 1)
"""Two values that no row shows, and none that a single row does."""

FEW = UnseenValues(np.array([50.0, 1.0, 1.0, 1.0, *np.zeros(6)]), 3, 1)
"""Six values that no row shows beside three that one does: two thirds of three rows are expected to have one of the six."""


def squares(values, sums, places=1.0):
    """Of sums, ``(values, sums)`` of 0 and 1."""
    numbers, shares = values.are_unseen @ sums, values.shares @ sums
    return values.squares(numbers, shares, np.full(numbers.shape, places))


def test_one_value_has_what_the_rule_of_three_says_and_so_do_all_together():
    """And all that are shown, which have the rows instead; everything together errs by nothing."""
    sums = np.array([[0, 0, 1, 0, 0], [0, 0, 1, 0, 1], [1, 1, 0, 1, 0], [1, 1, 1, 1, 1]], dtype=float).T
    np.testing.assert_allclose(squares(NOBODY, sums), [OF_ONE, OF_ONE, OF_ONE, 0], atol=1e-12)


def test_values_shown_once_tell_of_rows_that_went_unseen():
    """Two rows: all six have 2 + 4 in mean square beside the rule of three, and so has everything that is shown."""
    assert FEW.rows == pytest.approx(2)
    sums = np.array([[0] * 4 + [1] * 6, [1] * 4 + [0] * 6, [0] * 9 + [1]], dtype=float).T
    np.testing.assert_allclose(squares(FEW, sums), [OF_ONE + 6, OF_ONE + 6, OF_ONE])
    # A tenth of the rows has a tenth of them, and a single value still what the rule of three says.
    np.testing.assert_allclose(squares(FEW, sums, 0.1), [OF_ONE + 0.24, OF_ONE + 0.24, OF_ONE])
    np.testing.assert_allclose(squares(FEW, sums, 0.0), 0)


def test_rows_that_went_unseen_are_no_more_than_each_value_may_have():
    """A hundred values shown once and one by nobody: of it the rule of three says more; of two, each may have as many."""
    once = np.ones(100)
    assert UnseenValues(np.append(once, 0), 3, 1).rows == 0
    two = UnseenValues(np.concatenate([once, [0, 0]]), 3, 1)
    assert two.rows + two.rows**2 == pytest.approx(3 * OF_ONE)
    assert squares(two, np.append(np.zeros(100), [1, 1])[:, None]).item() == pytest.approx(4 * OF_ONE)
    assert UnseenValues(once, 3, 1).rows == 0


@pytest.mark.parametrize("gamma", [2, 4])
@pytest.mark.parametrize("rows", [1, 2, 5])
def test_rows_that_go_unseen_are_as_many_as_those_shown_once_say(gamma, rows):
    """Exactly, by the binomial of the rows of its groups that show a value: n (1 - 1/gamma)^(n gamma) of n rows."""
    unseen = rows * (1 - 1 / gamma) ** (rows * gamma)
    once = rows * (1 - 1 / gamma) ** (rows * gamma - 1)
    values = UnseenValues(np.array([1.0] * 30 + [0.0] * 1000), gamma, 1)
    assert values.rows / 30 == pytest.approx(unseen / once)


def test_products_between_places_are_those_of_their_squares_and_add_up():
    """Their diagonal is that of the squares, and together they err as the places do together, save that each has the rule of three for itself."""
    draw = np.random.default_rng(5)
    sums = (draw.random((10, 4)) < 0.5).astype(float)
    places = np.array([0.5, 0.3, 0.2])
    whole = FEW.between_places(sums, places)
    for number, place in enumerate(places):
        block = whole[4 * number : 4 * number + 4, 4 * number : 4 * number + 4]
        np.testing.assert_allclose(np.diagonal(block), squares(FEW, sums, place))
    assert np.linalg.eigvalsh(whole).min() > -1e-9
    everywhere = np.kron(np.ones((1, 3)), np.eye(4)) @ whole @ np.kron(np.ones((3, 1)), np.eye(4))
    shown = np.array([1] * 4 + [0] * 6, dtype=float)[:, None]
    together = np.ones(3) @ FEW.between_places(shown, places) @ np.ones(3)
    assert together == pytest.approx(squares(FEW, shown).item() + 2 * OF_ONE)
    assert (np.diagonal(everywhere) >= squares(FEW, sums) - 1e-9).all()
    # Two that are asked of the same rows, and two of which a tenth of all rows are asked by both.
    shown_and_not = np.hstack([shown, 1 - shown])
    np.testing.assert_allclose(
        FEW.between_places(shown_and_not, np.ones(1)), (OF_ONE + 6) * np.array([[1, -1], [-1, 1]])
    )
    assert FEW.between_sums(shown_and_not, 0.12, 0.1) == pytest.approx(-(4 * 0.12 + 2 * 0.1))


def test_values_called_rare_are_missed_together_and_by_nothing_else():
    """Fewer than thirty rows of each of two: 58 at the most, beside what chance left unseen."""
    rare = UnseenValues(NOBODY.counts, 3, 30)
    sums = np.array([[0, 0, 1, 0, 0], [0, 0, 1, 0, 1], [1, 1, 0, 1, 0]], dtype=float).T
    expected = np.outer([29, 58, 0], [29, 58, 0])
    found = rare.between_places(sums, np.ones(1)) - NOBODY.between_places(sums, np.ones(1))
    np.testing.assert_allclose(found, expected)
    np.testing.assert_allclose(squares(rare, sums) - squares(NOBODY, sums), np.diagonal(expected))


ROWS = PublishedRows(
    (category_attribute("area", 3, Role.OTHER), category_attribute("job", 9)),
    {"area": np.arange(900) % 2, "job": np.repeat(np.arange(6), 150)},
)
"""Three jobs and an area that nobody shows."""


def test_intervals_of_values_called_rare_end_where_no_more_can_be_missing():
    """Nine rows of each at the most; a sum with others has the error of all of them."""
    law = DecoyRows(gamma_by_attribute={"job": 3}, suppress_rarer_than=10)
    for where, most in (
        (selection(job=(7,)), 9),
        (selection(job=(6, 7, 8)), 27),
        (selection(job=(7,), area=(1,)), 9),
    ):
        (low,), (high,) = law.estimate(ROWS, Tabulation(where=where)).intervals(0.95)
        assert (low, high) == (0, most)
    # Few may be rare, and chance leaves more of them unseen.
    few = DecoyRows(gamma_by_attribute={"job": 3}, suppress_rarer_than=2)
    (high,) = few.estimate(ROWS, Tabulation(where=selection(job=(7,)))).intervals(0.95)[1]
    assert high == pytest.approx(1.959963984540054 * np.sqrt(OF_ONE))
    asked = Tabulation(by=("job",), where=selection(area=(0, 1)))
    (low, high) = law.estimate(ROWS, asked).intervals(0.95)
    assert high[6:].tolist() == [9, 9, 9]
    assert (high[:6] > 150).all()
    population = law.estimate(ROWS, Tabulation(where=selection(job=(7,))), target="population")
    assert population.intervals(0.95)[1].item() > 9
    assert law.formula(ROWS, ()).limits(Tabulation(by=("area",)), "table") is None
    nearly = Tabulation(where=selection(job=(1, 2, 3, 4, 5, 6, 7, 8)))
    variance = law.formula(ROWS, (nearly,)).variances(nearly).item()
    assert variance > 27**2


def test_an_empty_area_has_nothing_unseen():
    """Nobody is there, so nobody went unseen there."""
    asked = Tabulation(by=("area",), where=selection(job=(6,)))
    formula = DecoyRows(gamma_by_attribute={"job": 3}).formula(ROWS, (asked,))
    np.testing.assert_allclose(formula._of_unseen(asked), [OF_ONE, OF_ONE, 0])
