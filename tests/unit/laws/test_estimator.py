"""How an answer is put together from what a formula says: intervals, populations, claims."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sfumato.estimates.counts import feasible_by_group
from sfumato.estimates.estimates import Certainty, Estimates
from sfumato.estimates.exact_intervals import binomial_limits
from sfumato.estimates.identified_region import Ends
from sfumato.laws.estimator import LARGEST_COVARIANCE, Formula, answer, for_population, without_errors
from sfumato.query.selection import Selection, Tabulation

CELLS = tuple(Tabulation(where=Selection((("job", (code,)),))) for code in range(3))


class Stated(Formula):
    """What is said of each job: a count of 4, 5 or 6, a claim, bounds, and the half width of its interval."""

    def __init__(self, claims, halves=(None, None, None), rows=20.0):
        self.claims, self.halves, self.number_of_rows = claims, halves, rows

    def place(self, asked):
        """Which job is asked about."""
        return CELLS.index(asked)

    def values(self, asked):
        """4, 5 and 6; nobody has two jobs."""
        return np.array([4.0 + self.place(asked) if asked in CELLS else 0.0])

    def variances(self, asked):
        """All 2."""
        return np.full(self.values(asked).size, 2.0)

    def covariance(self, one, other):
        """Independent."""
        return np.full((1, 1), 2.0 if one is other else 0.0)

    def bounds(self, asked):
        """One row less and two rows more."""
        return self.values(asked) - 1, self.values(asked) + 2

    def certainty(self, asked, number):
        """As stated."""
        return np.full(number, self.claims[self.place(asked)], np.int8)

    def limits(self, asked, target):
        """So many rows to either side, where stated."""
        del target
        half = self.halves[self.place(asked)]
        if half is None:
            return None
        return lambda level: (self.values(asked) - half * level, self.values(asked) + half * level)


def ends(found, level=0.5):
    """Pairs of ends."""
    return list(zip(*(each.tolist() for each in found.intervals(level)), strict=True))


ALL_ESTIMATED = (Certainty.ESTIMATED,) * 3


def test_every_selection_keeps_the_limits_of_its_own():
    """The second has none, so its interval is normal: 5 -+ 0.67449 sqrt(2)."""
    found = answer(Stated(ALL_ESTIMATED, (0.5, None, 1.0)), CELLS, "table")
    half = 0.6744898 * 2**0.5
    assert ends(found)[0] == (3.75, 4.25)
    assert ends(found)[1] == pytest.approx((5 - half, 5 + half))
    assert ends(found)[2] == (5.5, 6.5)


def test_what_is_bounded_or_exact_of_a_table_is_drawn_for_a_population():
    """From the lower bound to the upper one of 20 rows, by Clopper and Pearson; an estimate's ends are judged by their own draw.

    Each end x solves ``(5 - x)^2 = z^2 (variance + (x - 5) (1 - 2 * 5 / 20))``.
    """
    claims = (Certainty.BOUNDED, Certainty.ESTIMATED, Certainty.EXACT)
    of_table = answer(Stated(claims), CELLS, "table")
    assert ends(of_table)[0] == (3, 6)
    assert ends(of_table)[2] == (6, 6)
    found = answer(Stated(claims), CELLS, "population")
    drawn = binomial_limits(np.array([3.0, 6.0]), np.array([6.0, 6.0]), 20, 0.5)
    assert [ends(found)[0], ends(found)[2]] == list(zip(*(each.tolist() for each in drawn), strict=True))
    for end in ends(found)[1]:
        spread = found.variances[1] + (end - 5) * (1 - 2 * 5 / 20)
        assert (5 - end) ** 2 == pytest.approx(0.6744898**2 * spread)
    assert ends(found)[1][0] < 5 < ends(found)[1][1]
    assert found.certainty.tolist() == list(ALL_ESTIMATED)


def test_drawn_limits_stand_beside_stated_ones():
    """One selection is exact and has none of its own, the others state theirs."""
    claims = (Certainty.EXACT, Certainty.ESTIMATED, Certainty.ESTIMATED)
    found = answer(Stated(claims, (None, 0.5, 1.0)), CELLS, "population")
    assert ends(found)[1:] == [(4.75, 5.25), (5.5, 6.5)]
    low, high = binomial_limits(np.array([4.0]), np.array([4.0]), 20, 0.5)
    assert ends(found)[0] == (low[0], high[0])


def test_a_draw_of_no_rows_has_the_limits_of_one():
    """Nothing is divided by the rows that are not there: exactly none of them, up to 1 - 0.25 of one."""

    class Nobody(Stated):
        def values(self, asked):
            del asked
            return np.zeros(1)

        def bounds(self, asked):
            del asked

    found = answer(Nobody((Certainty.EXACT,), rows=0.0), CELLS[:1], "population")
    assert ends(found) == [(0.0, pytest.approx(0.75))]


def test_what_two_questions_share_is_one_number():
    """Known or not."""

    class Refusing(Stated):
        def values(self, asked):
            if asked not in CELLS:
                from sfumato.errors import NotIdentifiableError

                raise NotIdentifiableError("not together.")
            return super().values(asked)

    assert Stated(ALL_ESTIMATED).shared(CELLS[0], CELLS[1]).tolist() == [[0.0]]
    assert Stated(ALL_ESTIMATED).shared(CELLS[0], CELLS[0]).tolist() == [[4.0]]
    assert Refusing(ALL_ESTIMATED).shared(CELLS[0], CELLS[1]).shape == (1, 1)


def test_the_covariance_of_a_list_of_questions_is_whole():
    """On the diagonal each with itself, beside it every pair, twice."""
    found = answer(Stated(ALL_ESTIMATED), CELLS, "population")
    values, rows = np.array([4.0, 5.0, 6.0]), 20
    drawing = (np.diag(values) - (np.outer(values, values) - 2 * np.eye(3)) / rows) * rows / (rows - 1)
    assert found.covariance == pytest.approx(2 * np.eye(3) + drawing)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (100, 100 / 102 * 101 / 102),  # one row of 102, drawn: N q (1 - q) with q = 1 / (N + 2)
        (0, 1 / 3 * 2 / 3),  # as of one row
    ],
)
def test_what_is_exactly_nobody_of_a_table_may_be_somebody_of_a_population(rows, expected):
    """Not known to less than the draw of one row, with a row of either kind added."""
    found = for_population(Estimates(np.zeros(1), np.zeros(1)), rows)
    assert found.variances[0] == pytest.approx(expected)


def test_the_draw_of_two_rows_is_estimated_with_one():
    """One of two rows: (1 - 1/2) 2/1."""
    assert for_population(Estimates(np.ones(1), np.zeros(1)), 2.0).variances[0] == pytest.approx(1)


def test_limits_of_a_draw_do_not_leave_the_rows():
    """Noise can put a count below none or beyond all; one row of 100 is more than none: 1 - 0.975^(1/100)."""
    low, high = binomial_limits(np.array([-5.0, 130.0, 1.0]), np.array([-5.0, 130.0, 1.0]), 100, 0.95)
    nobody = 100 * (1 - 0.025 ** (1 / 100))
    assert low == pytest.approx([0, 100 - nobody, 100 * (1 - 0.975 ** (1 / 100))])
    assert high[:2] == pytest.approx([nobody, 100])
    assert binomial_limits(np.array([0.5]), np.array([np.inf]), 100, 0.95)[1].tolist() == [np.inf]
    assert 0 < binomial_limits(np.array([0.5]), np.array([0.5]), 100, 0.95)[0][0] < low[2]


def test_a_group_that_noise_made_negative_becomes_empty():
    """Its cells cannot add up to less than nobody."""
    values = np.array([[-3.0, 1.0], [0.0, 0.0]])
    for feasibility in ("projection", "clip"):
        assert feasible_by_group(values, [True, False], feasibility).tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_a_sum_of_what_is_bounded_keeps_its_bounds_beside_the_draw():
    """4 and 5, each one row less to two more: their sum for a population may be two less and four more, besides chance."""
    found = answer(Stated((Certainty.BOUNDED,) * 3), CELLS, "population")
    both = found.linear(np.array([[1.0, 1.0, 0.0]]))
    assert [each.tolist() for each in both.leeway] == [[2.0], [4.0]]
    low, high = both.intervals(0.95)
    drawn = replace(both, leeway=None).intervals(0.95)
    assert (low[0], high[0]) == pytest.approx((drawn[0][0] - 2, drawn[1][0] + 4))
    assert both.certainty.tolist() == [Certainty.ESTIMATED]


def test_a_biased_estimator_has_no_error():
    """Nor an interval; what is exact stays so."""
    claims = (Certainty.EXACT, Certainty.ESTIMATED, Certainty.ESTIMATED)
    found = without_errors(answer(Stated(claims, (None, 1.0, 1.0)), CELLS, "table"))
    assert found.standard_errors[0] == 0
    assert np.isnan(found.standard_errors[1:]).all()
    low, high = found.intervals(0.95)
    assert (low[0], high[0]) == (4, 4)
    assert np.isnan(low[1:]).all()
    assert np.isnan(high[1:]).all()


CLAIMS = np.array([Certainty.BOUNDED, Certainty.ESTIMATED, Certainty.EXACT, Certainty.OPEN], np.int8)


def four_claims(**changes):
    """Counts of 4, 5, 6 and 7 of 20 rows, each with its own claim, bounds and error."""
    values = np.array([4.0, 5.0, 6.0, 7.0])
    bounds = values - np.array([1.5, 3.0, 0.0, 2.0]), values + np.array([2.0, 4.0, 0.0, 5.0])
    variances = np.array([1.5, 2.0, 0.0, 3.0])
    return replace(Estimates(values, variances, bounds=bounds, certainty=CLAIMS), **changes)


def test_only_what_is_bounded_has_leeway_for_a_population():
    """Down to its lower bound and up to its upper one; what is estimated, exact or open has none."""
    found = for_population(four_claims(), 20.0)
    assert [each.tolist() for each in found.leeway] == [[1.5, 0, 0, 0], [2, 0, 0, 0]]
    nobody_bounded = np.where(CLAIMS == Certainty.BOUNDED, Certainty.ESTIMATED, CLAIMS).astype(np.int8)
    assert for_population(four_claims(certainty=nobody_bounded), 20.0).leeway is None


def test_what_each_claim_becomes_for_a_population():
    """Estimated, but what is open stays so; what every table has stays exact, and has no error."""
    sure = np.array([False, False, True, False])
    for covariance in (None, np.diag([1.5, 2.0, 0.0, 3.0])):
        found = for_population(four_claims(covariance=covariance), 20.0, is_sure=sure)
        expected = [Certainty.ESTIMATED, Certainty.ESTIMATED, Certainty.EXACT, Certainty.OPEN]
        assert found.certainty.tolist() == expected
        values, variances = np.array([4.0, 5.0, 6.0, 7.0]), np.array([1.5, 2.0, 0.0, 3.0])
        drawn = (values - (values**2 - variances) / 20) * 20 / 19
        assert found.variances == pytest.approx(np.where(sure, 0, variances + drawn))
        assert (found.covariance is None) is (covariance is None)
    of_all = for_population(four_claims(), 20.0)
    assert of_all.certainty.tolist() == [Certainty.ESTIMATED] * 3 + [Certainty.OPEN]
    assert of_all.variances[2] == pytest.approx((6 - 36 / 20) * 20 / 19)


def test_a_count_that_noise_made_negative_adds_no_draw_but_its_covariance_does():
    """Of -3 with a variance of 2 in ten rows: (-3 - (9 - 2) / 10) 10 / 9 is below none."""
    one = Estimates.with_covariance(np.array([-3.0]), np.array([[2.0]]))
    found = for_population(one, 10.0)
    assert found.variances == pytest.approx([2])
    assert found.covariance == pytest.approx(np.array([[2 + (-3 - 0.7) * 10 / 9]]))


def test_fourth_cumulants_stay_with_their_numbers():
    """Of the table's errors; a tabulation without any has none beside one that states them."""

    class Heavy(Stated):
        def fourth_cumulants(self, asked):
            return None if asked == CELLS[1] else np.full(1, 7.0 + self.place(asked))

    for target in ("table", "population"):
        assert answer(Heavy(ALL_ESTIMATED), CELLS, target).fourth_cumulants.tolist() == [7, 0, 9]
    assert answer(Stated(ALL_ESTIMATED), CELLS, "table").fourth_cumulants is None
    lone = Estimates(np.ones(1), np.ones(1), fourth_cumulants=np.array([5.0]))
    assert for_population(lone, 10.0).fourth_cumulants.tolist() == [5]


def test_the_covariance_is_left_out_of_more_than_a_thousand_numbers():
    """A thousand have one."""
    formula = Stated(ALL_ESTIMATED)
    assert LARGEST_COVARIANCE == 1_000
    assert formula.has_covariance(CELLS, 1_000, LARGEST_COVARIANCE)
    assert not formula.has_covariance(CELLS, 1_001, LARGEST_COVARIANCE)
    assert formula.has_covariance(CELLS, 1_001, 2_000)


def test_an_error_that_a_law_could_not_compute_is_a_row_and_an_impossible_question_has_none():
    """Whatever a law says of nobody."""

    class Sure(Stated):
        def values(self, asked):
            return np.zeros(1) if asked not in CELLS else super().values(asked)

        def variances(self, asked):
            del asked
            return np.zeros(1)

        def certainty(self, asked, number):
            del asked
            return np.full(number, Certainty.ESTIMATED, np.int8)

        def bounds(self, asked):
            del asked

        def limits(self, asked, target):
            del asked, target

    nobody = Tabulation(where=Selection((("job", ()),)))
    found = answer(Sure(ALL_ESTIMATED), (CELLS[0], nobody), "table")
    assert found.variances.tolist() == [1, 0]
    assert found.certainty.tolist() == [Certainty.ESTIMATED, Certainty.EXACT]
    # Of every table of so many rows nobody is nobody, and all rows are all.
    of_all = answer(Sure((Certainty.EXACT,) * 3), (CELLS[0], nobody), "population")
    assert of_all.certainty.tolist() == [Certainty.ESTIMATED, Certainty.EXACT]
    assert of_all.variances[1] == 0


def test_what_is_left_open_of_a_population_varies_as_the_draw_nearest_to_one_half():
    """Of 100 rows N p (1 - p) at 30, 60, 50; of nobody, or of all, at least that of a row."""
    low, high = np.array([10.0, 60, 40, -20, 120]), np.array([30.0, 90, 70, 0.5, 150])
    values = np.array([20.0, 70, 50, 0, 90])
    ends = Ends(low, high, np.arange(5.0), np.arange(5.0) + 10)
    claims = np.full(5, Certainty.OPEN, np.int8)
    table = Estimates(values, np.ones(5), certainty=claims).open_between(ends)
    found = for_population(table, 100.0).left_open.of(values)
    added = [30 * 0.7, 60 * 0.4, 50 * 0.5, 1, 1]
    assert found.low_variances == pytest.approx(np.arange(5) + added)
    assert found.high_variances == pytest.approx(np.arange(5) + 10 + added)
    assert (found.low.tolist(), found.high.tolist()) == (low.tolist(), high.tolist())


def test_all_rows_are_all_rows_of_every_table():
    """By themselves; a sum with others of what is exact of a table is a draw."""
    everybody = Tabulation()

    class Exact(Stated):
        def values(self, asked):
            return np.array([20.0]) if asked == everybody else super().values(asked)

        def place(self, asked):
            return 0 if asked == everybody else super().place(asked)

        def bounds(self, asked):
            del asked

        def covariance(self, one, other):
            del one, other
            return np.zeros((1, 1))

    claims = (Certainty.EXACT,) * 3
    sums = np.array([[1.0, 0, 0], [0, 1, 0], [0, 1, 1], [1, 1, 0]])
    found = answer(Exact(claims), (everybody, *CELLS[:2]), "population", sums)
    assert found.certainty.tolist() == [Certainty.EXACT] + [Certainty.ESTIMATED] * 3
    assert found.values.tolist() == [20, 4, 9, 24]
    assert found.variances[0] == 0
    assert found.variances[1:3] == pytest.approx([(4 - 16 / 20) * 20 / 19, (9 - 81 / 20) * 20 / 19])
    low, high = found.intervals(0.95)
    assert (low[0], high[0]) == (20, 20)
    assert (low[1:3] < [4, 9]).all()
    assert (high[1:3] > [4, 9]).all()
