"""Taking questions apart and putting answers together, whatever the law."""

from __future__ import annotations

import numpy as np
import pytest

from counted import Counted
from sfumato.errors import NotIdentifiableError, ParameterError, TooLargeError
from sfumato.estimates.counts import LARGEST_TABLE, feasible, feasible_by_group
from sfumato.estimates.estimates import Certainty, Estimates, all_claim
from sfumato.estimates.exact_intervals import binomial_limits
from sfumato.laws.estimator import (
    Formula,
    JointCounts,
    answer,
    binding,
    cell_of,
    common_conditions,
    for_population,
    order_of,
    require_small,
    second_moment,
)
from sfumato.query.selection import Selection, Tabulation
from sfumato.schema import Attribute, Role, Schema

SEX = Attribute(name="sex", role=Role.OTHER, categories=("F", "M"))
JOB = Attribute(name="job", role=Role.SENSITIVE, categories=("a", "b", "c"))
SCHEMA = Schema(attributes=(SEX, JOB))
COUNTS = np.array([[1, 2, 3], [4, 5, 6]])
WOMEN = Selection((("sex", (0,)),))
BOTH = Tabulation(by=("job", "sex"))


class Exact(Formula):
    """Published counts as they are, with independent errors of variance 2; joint counts are not determined."""

    number_of_rows = 21.0

    def __init__(self, asked):
        self.counts = JointCounts(Counted((SEX, JOB), COUNTS), asked)

    def values(self, asked):
        """The counts."""
        if len(asked.where.names) > 1:
            raise NotIdentifiableError("not together.")
        return self.counts.cells(asked).ravel()

    def variances(self, asked):
        """All 2."""
        return np.full(self.values(asked).size, 2.0)

    def covariance(self, one, other):
        """None between different questions."""
        return np.diag(self.variances(one)) if one is other else np.zeros((1, 1))


def test_conditions_that_say_nothing_are_dropped():
    """Every category of sex is no condition."""
    everyone = Tabulation(by=("job",), where=Selection((("sex", (0, 1)),)))
    assert binding(everyone, SCHEMA) == Tabulation(by=("job",))


def test_only_exact_conditions_that_all_share_filter():
    """One on the truth becomes an axis, and so does one that only some ask."""
    asked = [
        Tabulation(where=Selection((("sex", (0,)), ("job", (1,))))),
        Tabulation(where=Selection((("job", (1,)), ("sex", (0,))))),
        Tabulation(where=WOMEN),
    ]
    assert common_conditions(asked[:2], lambda name: name != "job").conditions == (("sex", (0,)),)
    assert common_conditions(asked, lambda _: True).conditions == (("sex", (0,)),)
    assert common_conditions([*asked, Tabulation()], lambda _: True).conditions == ()


def test_a_table_too_large_for_memory_is_refused():
    """With the names it would have been over."""
    with pytest.raises(TooLargeError, match="a, b has 10,000,000,000 cells"):
        require_small([100_000, 100_000], ["a", "b"])
    require_small([LARGEST_TABLE], ["a"])
    with pytest.raises(TooLargeError):
        require_small([LARGEST_TABLE + 1], ["a"])


def test_an_axis_without_a_name_stays_last():
    """Sums of values beside each public cell."""
    assert order_of(("b", "a"), ("a", "b"), (2, 2, 3)).tolist() == [0, 1, 2, 6, 7, 8, 3, 4, 5, 9, 10, 11]


def test_cells_are_numbered_among_the_codes_shown():
    """The last attribute fastest; a code counts by its place among those shown."""
    codes = {"sex": np.array([1, 0, 1]), "job": np.array([2, 0, 0])}
    chosen = np.array([True, False, True])
    assert cell_of(codes, {"sex": (0, 1), "job": (0, 2)}, chosen).tolist() == [3, 2]
    assert cell_of(codes, {}, chosen).tolist() == [0, 0]


def test_second_moments_are_those_of_the_whole_matrix():
    """Against the Kronecker product that is never formed."""
    draw = np.random.default_rng(0)
    counts = draw.integers(0, 9, (2, 3, 2)).astype(float)
    left = [draw.normal(size=(2, 2)), draw.normal(size=(3, 1)), draw.normal(size=(2, 2))]
    right = [draw.normal(size=(2, 3)), draw.normal(size=(3, 1)), draw.normal(size=(2, 1))]
    whole = [np.kron(np.kron(each[0], each[1]), each[2]) for each in (left, right)]
    expected = whole[0].T @ np.diag(counts.ravel()) @ whole[1]
    assert second_moment(counts, left, right) == pytest.approx(expected)


def test_feasible_cells_keep_the_sum_of_their_group():
    """Along exact axes sums are kept; the others are made to fit."""
    values = np.array([[11.0, -1.0], [3.0, 1.0]])
    assert feasible_by_group(values, [True, False], "projection").tolist() == [[10.0, 0.0], [3.0, 1.0]]
    assert feasible_by_group(values.T, [False, True], "clip").tolist() == [[10.0, 3.0], [0.0, 1.0]]
    with pytest.raises(ParameterError, match="projection, clip, em"):
        feasible(values, np.array([10.0, 4.0]), "guess")


@pytest.mark.parametrize("number", [1, 2])
def test_counts_are_read_once_for_a_whole_question(number):
    """Cells of a table, and what two selections share, come from one table."""
    published = Counted((SEX, JOB), COUNTS)
    asked = [Tabulation(where=WOMEN), Tabulation(where=Selection((("job", (0, 2)),)))][:number]
    counts = JointCounts(published, asked)
    assert counts.is_one_table
    assert counts.cells(asked[0]) == 6
    if number == 2:
        assert counts.cells(Tabulation(where=asked[0].where & asked[1].where)) == 4


def test_many_selections_are_read_by_their_own_attributes(monkeypatch):
    """One table over all attributes of thousands of selections would cost each of them."""
    monkeypatch.setattr("sfumato.laws.estimator.MOST_READ_TOGETHER", 1)
    asked = [Tabulation(where=WOMEN), Tabulation(where=Selection((("job", (0,)),)))]
    counts = JointCounts(Counted((SEX, JOB), COUNTS), asked)
    assert not counts.is_one_table
    assert [float(counts.cells(each)) for each in asked] == [6.0, 5.0]
    monkeypatch.setattr("sfumato.laws.estimator.MOST_READ_TOGETHER", 2)
    assert JointCounts(Counted((SEX, JOB), COUNTS), asked).is_one_table


def test_selections_of_a_table_too_large_are_read_by_their_own_attributes(monkeypatch):
    """Six cells together, two and three alone; one question is one table whatever its size."""
    monkeypatch.setattr("sfumato.laws.estimator.LARGEST_JOINT_TABLE", 5)
    asked = [Tabulation(where=WOMEN), Tabulation(where=Selection((("job", (0,)),)))]
    assert not JointCounts(Counted((SEX, JOB), COUNTS), asked).is_one_table
    assert JointCounts(Counted((SEX, JOB), COUNTS), [Tabulation(by=("sex", "job"))]).is_one_table
    monkeypatch.setattr("sfumato.laws.estimator.LARGEST_JOINT_TABLE", 6)
    assert JointCounts(Counted((SEX, JOB), COUNTS), asked).is_one_table


def test_attributes_that_are_kept_are_whole_axes():
    """A condition on one is about the truth: it does not filter."""
    asked = Tabulation(by=("job", "sex"), where=Selection((("job", (0,)),)))
    kept = JointCounts(Counted((SEX, JOB), COUNTS), (asked,), ("job",))
    assert kept.cells(asked).tolist() == COUNTS.tolist()


def test_a_table_and_its_cells_have_one_answer():
    """Values, variances and covariance, for both targets; axes in the order asked for."""
    cells = [Tabulation(where=Selection((("job", (job,)),))) for job in range(3)]
    for target in ("table", "population"):
        table = answer(Exact([Tabulation(by=("job",))]), (Tabulation(by=("job",)),), target)
        alone = answer(Exact(cells), cells, target)
        assert table.values.tolist() == [5.0, 7.0, 9.0] == alone.values.tolist()
        assert table.variances.tolist() == alone.variances.tolist()
    assert answer(Exact([BOTH]), (BOTH,), "table").values.tolist() == [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]


def test_the_draw_of_a_population_is_unbiased():
    """X - (x^2 - V) / N, times N / (N - 1), on top of V; for pairs the rows in both less the product."""
    estimates = Estimates.with_covariance(np.array([5.0, 7.0]), np.diag([2.0, 2.0]))
    found = for_population(estimates, 21.0)
    assert found.variances == pytest.approx([2 + (5 - 23 / 21) * 1.05, 2 + (7 - 47 / 21) * 1.05])
    assert found.covariance[0, 1] == pytest.approx(-(35 / 21) * 1.05)
    shared = np.array([[5.0, 4.0], [4.0, 7.0]])
    assert for_population(estimates, 21.0, shared).covariance[0, 1] == pytest.approx((4 - 35 / 21) * 1.05)


def test_the_draw_of_a_count_that_noise_made_negative_adds_nothing():
    """Rather than take from the noise."""
    assert for_population(Estimates(np.array([-5.0]), np.array([9.0])), 100.0).variances.tolist() == [9.0]


def test_what_two_selections_share_may_be_unknown():
    """Each alone is determined, both together are not: their covariance in a population is not a number."""
    asked = (Tabulation(where=WOMEN), Tabulation(where=Selection((("job", (0,)),))))
    assert np.isnan(answer(Exact(asked), asked, "population").covariance[0, 1])
    assert answer(Exact(asked), asked, "table").covariance[0, 1] == 0


def test_large_tables_carry_variances_only(monkeypatch):
    """The same ones."""
    monkeypatch.setattr("sfumato.laws.estimator.LARGEST_COVARIANCE", 5)
    large = answer(Exact([BOTH]), (BOTH,), "population")
    assert large.covariance is None
    monkeypatch.undo()
    assert large.variances.tolist() == answer(Exact([BOTH]), (BOTH,), "population").variances.tolist()


def test_limits_of_a_draw_cover_whatever_the_population_is():
    """Summed over all counts of 200 rows; a normal interval misses rare categories far too often."""
    from scipy.stats import binom

    counts = np.arange(201.0)
    low, high = binomial_limits(counts, counts, 200, 0.95)
    half = 1.96 * np.sqrt(counts * (1 - counts / 200))
    covered, twin = [], []
    for share in np.linspace(0.002, 0.998, 250):
        chances = binom.pmf(counts, 200, share)
        covered.append(chances[(low <= 200 * share) & (200 * share <= high)].sum())
        twin.append(chances[np.abs(counts - 200 * share) <= half].sum())
    assert min(covered) >= 0.95
    assert min(twin) < 0.6


def test_limits_of_a_draw_of_nobody_and_of_everybody():
    """By hand: 1 - 0.025^(1/N) of the rows."""
    ends = binomial_limits(np.array([0.0, 100.0]), np.array([0.0, 100.0]), 100, 0.95)
    missing = 100 * (1 - 0.025 ** (1 / 100))
    assert ends[0] == pytest.approx([0, 100 - missing])
    assert ends[1] == pytest.approx([missing, 100])


def test_what_is_exact_for_a_table_is_an_estimate_for_a_population():
    """With the interval of its draw; save the number of all rows, which every such table has."""

    class Public(Exact):
        def variances(self, asked):
            return np.zeros(self.values(asked).size)

        def certainty(self, asked, number):
            del asked
            return all_claim(Certainty.EXACT, number)

    job, everyone = Tabulation(by=("job",)), Tabulation()
    of_table = answer(Public((job,)), (job,), "table")
    assert of_table.is_exact.all()
    assert of_table.intervals()[0].tolist() == of_table.values.tolist()
    found = answer(Public((job,)), (job,), "population")
    assert found.certainty.tolist() == [Certainty.ESTIMATED] * 3
    assert [each.tolist() for each in found.intervals()] == [
        each.tolist() for each in binomial_limits(of_table.values, of_table.values, 21.0, 0.95)
    ]
    assert answer(Public((everyone,)), (everyone,), "population").is_exact.all()


def test_a_number_that_is_not_called_exact_has_an_error():
    """A law that computes none is not believed; a question that nobody can satisfy is exactly nobody."""

    class Careless(Exact):
        def variances(self, asked):
            return np.zeros(self.values(asked).size)

    job, nobody = Tabulation(by=("job",)), Tabulation(where=Selection((("job", ()),)))
    assert answer(Careless((job,)), (job,), "table").variances.tolist() == [1.0, 1.0, 1.0]
    for target in ("table", "population"):
        nothing = answer(Careless((nobody,)), (nobody,), target)
        assert nothing.is_exact.tolist() == [True]
        assert nothing.values.tolist() == [0.0]
