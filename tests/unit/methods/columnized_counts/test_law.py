"""Estimates from rows with noisy counts: sums, bounds, single rows, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato.errors import NotIdentifiableError, ParameterError, TooLargeError
from sfumato.laws import LAWS
from sfumato.methods.columnized_counts.law.columns import LongColumns, PublishedColumn
from sfumato.methods.columnized_counts.law.noisy_count_matrix import NoisyCountMatrix
from sfumato.methods.columnized_counts.law.noisy_rows import NoisyRows
from sfumato.methods.columnized_counts.law.size import NoisyTotal
from sfumato.values.batches import CodedBatch
from sfumato.values.certainty import Certainty
from sfumato.values.counts import CountTable
from sfumato.values.schema import Attribute, Role, Schema
from sfumato.values.selection import Selection, Tabulation

MATRIX = NoisyCountMatrix(k=5, epsilon=2.0, delta=1e-5)
SEX = Attribute(name="sex", role=Role.OTHER, categories=("F", "M"))
JOB = Attribute(name="job", role=Role.SENSITIVE, categories=("a", "b", "c"))
AGE = Attribute(name="age", role=Role.OTHER, categories=("young", "old"))
ITEM = Attribute(name="item", role=Role.OTHER, categories=("i", "j", "k"))
STARS = Attribute(name="stars", role=Role.SENSITIVE, categories=("1", "2"))


class Given:
    """A release whose tables are given as columns."""

    def __init__(self, attributes, **tables):
        self.schema = Schema(attributes=attributes)
        self.tables = {
            name: {key: np.array(each) for key, each in columns.items()} for name, columns in tables.items()
        }

    def scan(self, table, names):
        """All rows in one batch; none when there are none."""
        columns = self.tables[table]
        size = len(next(iter(columns.values())))
        if size:
            yield CodedBatch({name: columns[name] for name in names}, size)


ROWS = Given(
    (SEX, JOB),
    rows={"sex": [0, 0, 1], "job": [0, 1, 1], "count": [100, 40, 7]},
)
LAW = NoisyRows(
    matrix=MATRIX,
    columns=(PublishedColumn(table="rows", attributes=("sex", "job"), sizes=(2, 3)),),
    public_size=147,
)
"""Of 147 rows all were published, as far as their noise tells."""
SIXTY_LEFT_OUT = LAW.model_copy(update={"public_size": 207})
NOISY = LAW.model_copy(update={"public_size": None, "total": NoisyTotal(count=207, epsilon=0.5)})
NOISE = MATRIX.noise.variance


def test_sums_add_published_counts_and_their_noise():
    """Women: 100 + 40, with the noise of two rows; at least k for each published row, at most what others leave."""
    found = LAW.estimate(ROWS, Tabulation(by=("sex",)))
    assert found.values.tolist() == [140.0, 7.0]
    assert found.left_open.variances[0] == pytest.approx((1 - 2 / 3) * 2 * NOISE + 3 * NOISE / 9)
    assert found.bounds[0].tolist() == [10.0, 5.0]
    assert found.bounds[1].tolist() == [142.0, 137.0]


def test_rows_left_out_are_spread_over_what_was_not_published():
    """Of the six combinations three were not published, one of women and two of men: 20 of the 60 rows for each."""
    found = SIXTY_LEFT_OUT.estimate(ROWS, Tabulation(by=("sex",)))
    assert found.values.tolist() == [160.0, 47.0]
    assert SIXTY_LEFT_OUT.estimate(ROWS, Tabulation(by=("sex", "job"))).values.tolist() == [
        100,
        40,
        20,
        20,
        7,
        20,
    ]
    everything = SIXTY_LEFT_OUT.estimate(ROWS, Tabulation())
    assert everything.values.tolist() == [207.0]
    assert everything.is_exact.all()


def test_a_sum_ends_where_the_number_of_rows_leaves_nothing():
    """Men: 7 published, and none to all of the 60 others, but of each combination no more than would have passed."""
    found = SIXTY_LEFT_OUT.estimate(ROWS, Tabulation(by=("sex",)))
    most = MATRIX.threshold(0.999)
    ends = found.left_open.of(found.values)
    assert found.certainty.tolist() == [Certainty.OPEN] * 2
    assert ends.low == pytest.approx([140, 7])
    assert ends.high == pytest.approx([140 + most, 7 + 2 * most])
    # No more than 60 rows in three combinations of which each could have had nearly as many.
    ten = SIXTY_LEFT_OUT.model_copy(update={"public_size": 157})
    narrow = ten.estimate(ROWS, Tabulation(by=("sex",)))
    assert narrow.left_open.of(narrow.values).high == pytest.approx([150, 17])
    low, high = found.intervals(0.95)
    assert (low < ends.low).all()
    assert (high > ends.high).all()


def test_the_noise_of_the_number_of_rows_is_in_the_upper_ends():
    """T - P of the others: the variance of the total and of the rows elsewhere; at the lower end that of one's own."""
    few = NOISY.model_copy(update={"total": NoisyTotal(count=157, epsilon=0.5)})
    found = few.estimate(ROWS, Tabulation(by=("job",)))
    ends, total = found.left_open.of(found.values), few.total.noise.variance
    # Job b has both its rows published; a and c one and two that were not.
    assert found.certainty.tolist() == [Certainty.OPEN, Certainty.ESTIMATED, Certainty.OPEN]
    assert ends.low_variances == pytest.approx([NOISE, 2 * NOISE, 0])
    assert ends.high_variances[0] == pytest.approx(total + 2 * NOISE)
    assert few.estimate(ROWS, Tabulation()).variances == pytest.approx([total])


def test_without_a_number_of_rows_sums_are_refused_and_rows_are_not():
    """A row that is not published has fewer copies than would surely have been."""
    silent = LAW.model_copy(update={"public_size": None})
    with pytest.raises(NotIdentifiableError, match="a sum has no upper end"):
        silent.estimate(ROWS, Tabulation(by=("sex",)))
    with pytest.raises(NotIdentifiableError, match="a sum has no upper end"):
        silent.estimate(ROWS, Tabulation())
    rows = silent.estimate(ROWS, Tabulation(by=("sex", "job")))
    assert rows.values.tolist() == [100, 40, 0, 0, 7, 0]
    assert rows.intervals(0.95)[1][2] == pytest.approx(MATRIX.threshold(0.999))
    with pytest.raises(NotIdentifiableError, match="population"):
        silent.estimate(ROWS, Tabulation(by=("sex", "job")), target="population")


def test_rows_without_any_value_are_not_counted_and_so_not_bounded():
    """A column whose every attribute may be missing has no count of rows that lack them all."""
    job = JOB.model_copy(update={"missing": "category"})
    law = NoisyRows(
        matrix=MATRIX,
        columns=(PublishedColumn(table="rows", attributes=("job",), sizes=(4,)),),
        public_size=1_000,
    )
    published = Given((job,), rows={"job": [0, 1, 2], "count": [100, 40, 7]})
    found = law.estimate(published, Tabulation(by=("job",)))
    assert found.certainty.tolist() == [Certainty.ESTIMATED] * 3 + [Certainty.OPEN]
    assert found.left_open.of(found.values).high[3] == 853


def test_the_order_of_attributes_is_the_tabulations():
    """Cells over job first, then sex."""
    found = LAW.estimate(ROWS, Tabulation(by=("job", "sex")))
    assert found.values.tolist() == [100.0, 0.0, 40.0, 7.0, 0.0, 0.0]


def test_an_absent_row_is_bounded_by_what_would_have_been_published():
    """The interval ends where a row would surely have been published, though more rows were left out."""
    found = SIXTY_LEFT_OUT.estimate(ROWS, Tabulation(where=Selection((("sex", (1,)), ("job", (2,))))))
    low, high = found.intervals(0.95)
    assert low[0] == 0
    assert high[0] == pytest.approx(MATRIX.threshold(0.999))


def test_conditions_restrict_the_cells():
    """An attribute that is shown and conditioned on keeps the chosen cells only."""
    where = Selection((("job", (1, 2)),))
    assert LAW.estimate(ROWS, Tabulation(by=("job",), where=where)).values.tolist() == [47.0, 0.0]
    assert LAW.estimate(ROWS, Tabulation(where=where)).values.tolist() == [47.0]


def test_selections_that_share_rows_share_their_noise():
    """Women and job b overlap in one published row."""
    women, job_b = Selection((("sex", (0,)),)), Selection((("job", (1,)),))
    found = LAW.estimate_selections(ROWS, (women, job_b))
    assert found.values.tolist() == [140.0, 47.0]
    # Of what was not published women have one of three, job b none: -c of one's own variance, c^2 of all.
    assert found.covariance == pytest.approx(
        NOISE * np.array([[2 - 2 * 2 / 3 + 3 / 9, 1 - 2 / 3], [1 - 2 / 3, 2]])
    )


def test_a_population_adds_the_error_of_drawing():
    """Multinomial variance on top, largest within the ends, and no certain bounds."""
    table = LAW.estimate(ROWS, Tabulation(by=("job",)))
    population = LAW.estimate(ROWS, Tabulation(by=("job",)), target="population")
    # Job b, all of whose rows are published: (x - (x^2 - noise) / N) N / (N - 1), the noise taken out of the square.
    by_hand = (47 - (47**2 - 2 * NOISE) / 147) * 147 / 146
    assert population.variances[1] - table.variances[1] == pytest.approx(by_hand)
    assert population.bounds is None
    # Job a has at least 100 rows of 147.
    more = population.left_open.variances - table.left_open.variances
    assert more[0] == pytest.approx(100 * (1 - 100 / 147))
    both = LAW.estimate_selections(ROWS, (Selection((("job", (1,)),)),), target="population")
    assert both.variances == pytest.approx(population.variances[1:2])


def test_the_weighted_estimate_divides_by_the_release_probability():
    """A row near the threshold stands for many that were left out."""
    found = LAW.estimate_by("weighted", ROWS, Tabulation(by=("sex",)))
    appears, _ = MATRIX.release_probabilities_of([7])
    assert found.values == pytest.approx([140.0, 7 / appears[0]])
    # In nearly every release such rows are missing, so that no interval about the others would cover.
    assert np.isnan(found.standard_errors).all()
    with pytest.raises(ParameterError, match="no estimator"):
        LAW.estimate_by("other", ROWS, Tabulation(by=("sex",)))


def test_consistent_counts_are_the_estimates():
    """Never negative, and adding up."""
    assert LAW.consistent(ROWS, Tabulation(by=("sex",))).tolist() == [140.0, 7.0]


def test_expected_errors_of_single_rows_and_none_of_sums():
    """Noise where a row surely appears, the count itself where it never does."""
    counts = np.array([[1_000, 3, 0], [0, 0, 0]])
    found = LAW.expected_standard_errors(CountTable((SEX, JOB), counts))
    assert found[0, :2] == pytest.approx([math.sqrt(NOISE), 3])
    with pytest.raises(NotIdentifiableError, match="spread over them"):
        LAW.expected_standard_errors(CountTable((SEX,), np.array([5, 5])))


CUT = NoisyRows(
    matrix=MATRIX,
    columns=(
        PublishedColumn(table="column-1", attributes=("sex", "job"), sizes=(2, 3)),
        PublishedColumn(table="column-2", attributes=("age", "sex"), sizes=(2, 2)),
    ),
    column_budget=1,
    public_size=180,
)
COLUMNS = Given(
    (SEX, JOB, AGE),
    **{
        "column-1": {"sex": [0], "job": [0], "count": [50]},
        "column-2": {"age": [1, 0], "sex": [0, 1], "count": [60, 30]},
    },
)


KEPT = CUT.model_copy(update={"column_budget": None, "public_size": 90})
"""The same with every part of every row kept: all 90 are in the second column, 40 were left out of the first."""


def test_a_question_is_answered_by_the_smallest_column_that_holds_it():
    """Sex is in both; the second has fewer cells, so that fewer rows were left out."""
    assert KEPT.estimate(COLUMNS, Tabulation(by=("sex",))).values.tolist() == [60.0, 30.0]
    # Five combinations of the first were not published: eight rows for each.
    assert KEPT.estimate(COLUMNS, Tabulation(by=("job",))).values.tolist() == [58.0, 16.0, 16.0]


def test_counts_of_kept_parts_are_scaled_where_every_row_kept_as_many():
    """One part of two: twice the count, four times the noise, and the binomial draw of what was kept."""
    scaled = CUT.estimate(COLUMNS, Tabulation(by=("sex",)))
    assert scaled.values.tolist() == [120.0, 60.0]
    # X (1 - p) / p with p = 1/2 and X = 120, 60; each has one of the two combinations that were not published.
    own = 4 * NOISE + np.array([120.0, 60.0])
    ends = scaled.left_open.of(scaled.values)
    assert ends.low_variances == pytest.approx(own)
    assert ends.high_variances == pytest.approx(own[::-1])
    selected = CUT.estimate_selections(COLUMNS, (Selection((("age", (1,)),)),))
    assert selected.values.tolist() == [120.0]


@pytest.mark.parametrize(
    "ask",
    [
        lambda target: CUT.estimate(COLUMNS, Tabulation(by=("age",)), target=target).left_open.variances[1],
        lambda target: CUT.estimate_selections(
            COLUMNS, (Selection((("age", (1,)),)),), target=target
        ).left_open.variances[0],
    ],
    ids=["table", "selection"],
)
def test_the_draw_of_a_population_is_not_scaled_again(ask):
    """X (1 - X/N) of the draw comes after the scaling, X = 120 of N = 180."""
    assert ask("population") - ask("table") == pytest.approx(120 * (1 - 120 / 180))


def test_what_was_kept_in_two_columns_together_is_not_known():
    """A row that kept one part dropped the other, so their counts are not independent; nobody can tell how much."""
    asked = (Selection((("job", (0,)),)), Selection((("age", (1,)),)))
    assert np.isnan(CUT.estimate_selections(COLUMNS, asked).covariance[0, 1])


def test_joint_counts_across_columns_are_refused_with_the_reason():
    """Which fragment belongs with which is not published."""
    with pytest.raises(NotIdentifiableError, match=r"job and age together.*not published"):
        CUT.estimate(COLUMNS, Tabulation(by=("job", "age")))


def test_selections_in_different_columns_have_independent_noise():
    """Each is read where it is; a pair in one column is read there."""
    apart = KEPT.estimate_selections(COLUMNS, (Selection((("job", (0,)),)), Selection((("age", (1,)),))))
    assert apart.values.tolist() == [58.0, 60.0]
    assert apart.covariance[0, 1] == 0
    noisy = KEPT.model_copy(update={"public_size": None, "total": NoisyTotal(count=110, epsilon=0.5)})
    both = noisy.estimate_selections(COLUMNS, (Selection((("job", (0,)),)), Selection((("age", (1,)),))))
    # One of five, and one of two, of what was left out: of one number of rows.
    assert both.covariance[0, 1] == pytest.approx(noisy.total.noise.variance / 10)
    together = KEPT.estimate_selections(COLUMNS, (Selection((("job", (0,)),)), Selection((("sex", (0,)),))))
    assert together.values.tolist() == [58.0, 66.0]


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ((("sex", (0,)), ("job", (2,))), "the row is not published"),
        ((("sex", (1,)), ("job", (1,))), "near the threshold"),
        ((("sex", (0,)),), "left out and are spread evenly"),
    ],
)
def test_notes_say_what_an_interval_cannot(where, words):
    """Absent, near the threshold, or a sum."""
    selection = Selection(where)
    estimates = LAW.estimate(ROWS, Tabulation(where=selection))
    (note,) = LAW.notes(ROWS, selection, estimates)
    assert words in note


def test_a_row_well_above_the_threshold_needs_no_note():
    """Its count is known up to the noise."""
    selection = Selection((("sex", (0,)), ("job", (0,))))
    assert LAW.notes(ROWS, selection, LAW.estimate(ROWS, Tabulation(where=selection))) == ()


def test_the_interval_of_a_row_is_that_of_its_noise():
    """Not 1.96 standard errors, which hold Laplace noise too seldom: the smallest whole number that suffices."""
    where = Selection((("sex", (0,)), ("job", (0,))))
    estimates = LAW.estimate(ROWS, Tabulation(where=where))
    low, high = estimates.intervals(0.95)
    half = int((high - low)[0] / 2)
    inside = [float(MATRIX.noise.probability(np.arange(-h, h + 1)).sum()) for h in (half - 1, half)]
    assert inside[0] < 0.95 <= inside[1]
    assert low[0] == estimates.values[0] - half


def test_dropped_parts_are_said_where_nobody_can_tell_how_many():
    """A row without values in a column keeps a larger share of its others: in the sentence and in every note."""
    attributes = tuple(each.model_copy(update={"missing": "category"}) for each in (SEX, JOB, AGE))
    tables = {
        "column-1": {"sex": [0], "job": [0], "count": [50]},
        "column-2": {"age": [1, 0], "sex": [0, 1], "count": [60, 30]},
    }
    published = Given(attributes, **tables)
    assert "the others were dropped" in CUT.sentence
    for where in ((("sex", (0,)),), (("sex", (0,)), ("job", (0,)))):
        selection = Selection(where)
        estimates = CUT.estimate(published, Tabulation(where=selection))
        assert estimates.certainty[0] == Certainty.OPEN
        assert "column budget" in CUT.notes(published, selection, estimates)[-1]


LONG = NoisyRows(
    matrix=MATRIX,
    long=LongColumns(table="fragments", item="item", value="stars", columns=((0, 1, 2), (0, 1))),
    public_size=60,
)
FRAGMENTS = Given(
    (ITEM, STARS),
    fragments={
        "item": [0, 1, 0, 1, 2, 0],
        "stars": [0, 0, 0, 1, 1, 1],
        "column": [2, 2, 2, 2, 1, 1],
        "fragment": [0, 0, 1, 1, 2, 2],
        "count": [30, 30, 20, 20, 9, 9],
    },
)


def test_items_are_counted_in_the_smallest_column_they_are_in():
    """Items i and j from the second column, k from the first; an item is never counted twice."""
    found = LONG.estimate(FRAGMENTS, Tabulation(by=("item",)))
    assert found.values.tolist() == [50.0, 50.0, 9.0]
    assert LONG.estimate(FRAGMENTS, Tabulation(by=("item", "stars"))).values.tolist() == [50, 0, 30, 20, 0, 9]


def test_entries_of_one_fragment_share_its_noise():
    """One star was given twice in the first fragment: its noise counts twice, and as a square."""
    found = LONG.estimate(FRAGMENTS, Tabulation(by=("stars",)))
    assert found.values.tolist() == [80.0, 29.0]
    assert found.left_open.low_variances == pytest.approx([NOISE * (4 + 1), NOISE * (1 + 1)])


def test_a_unit_of_which_nothing_was_published_may_have_any_item():
    """Of 60 units, 50 are in the second column and 9 in the first, which is that of item k."""
    found = LONG.estimate(FRAGMENTS, Tabulation(by=("item",)))
    assert (found.left_open.high - found.values).tolist() == [10, 10, 51]
    assert found.left_open.high_variances[2] == pytest.approx((2 * math.sqrt(NOISE)) ** 2)
    # Two items: a unit that was left out can have both.
    both = LONG.estimate(FRAGMENTS, Tabulation(where=Selection((("item", (0, 1)),))))
    assert both.left_open.high.tolist() == [120]


def test_the_share_of_a_value_among_raters():
    """One star among ratings of j, in the same column."""
    both = Selection((("item", (1,)), ("stars", (0,))))
    found = LONG.estimate_selections(FRAGMENTS, (both, Selection((("item", (1,)),))))
    assert found.values.tolist() == [30.0, 50.0]
    assert found.covariance == pytest.approx(NOISE * np.array([[1, 1], [1, 2]]))


def test_an_empty_release_says_how_many_rows_there_are_and_no_more():
    """Nothing was published: every sum lies between none and all rows."""
    nothing = Given((SEX, JOB), rows={"sex": [], "job": [], "count": []})
    found = NOISY.estimate(nothing, Tabulation(by=("sex",)))
    assert found.values.tolist() == [103.5, 103.5]
    ends = found.left_open.of(found.values)
    assert ends.low.tolist() == [0, 0]
    assert ends.high == pytest.approx([3 * MATRIX.threshold(0.999)] * 2)
    one = NOISY.estimate_selections(nothing, (Selection((("sex", (0,)),)),))
    assert one.variances == pytest.approx(found.variances[:1])


def test_items_in_no_column_are_refused():
    """Nothing of them was published; that is not a count of zero."""
    some = NoisyRows(
        matrix=MATRIX, long=LongColumns(table="fragments", item="item", value="stars", columns=((0, 1),))
    )
    where = Selection((("item", (2,)),))
    with pytest.raises(NotIdentifiableError, match="no published column holds the item"):
        some.estimate(FRAGMENTS, Tabulation(where=where))
    with pytest.raises(NotIdentifiableError, match="no published column holds the item"):
        some.estimate_selections(FRAGMENTS, (where,))


def test_the_law_survives_the_manifest():
    """Both kinds of columns."""
    for law in (LAW, CUT, LONG):
        assert LAWS.read(law.model_dump(mode="json")) == law


def test_attributes_that_are_not_published_are_refused():
    """Long data hold items and values only."""
    with pytest.raises(NotIdentifiableError, match="holds item and stars only"):
        LONG.estimate(FRAGMENTS, Tabulation(by=("sex",)))


def test_a_table_too_large_for_memory_is_refused(monkeypatch):
    """Before it is made."""
    monkeypatch.setattr("sfumato.laws.asking.questions.LARGEST_TABLE", 5)
    with pytest.raises(TooLargeError, match="6 cells"):
        LAW.estimate(ROWS, Tabulation(by=("sex", "job")))


def test_a_law_has_one_kind_of_columns():
    """Neither both nor none."""
    with pytest.raises(ParameterError, match="one of them"):
        NoisyRows(matrix=MATRIX)


def test_a_number_of_rows_is_noisy_or_public():
    """Not both: one of them would be wrong."""
    with pytest.raises(ParameterError, match="not both"):
        NoisyRows(matrix=MATRIX, columns=LAW.columns, total=NOISY.total, public_size=3)


def test_the_variance_of_a_weighted_estimate_by_hand():
    """Seven copies at k = 5: w = e^2 delta, noise 2r/(1-r)^2 with r = 1/e.

    A count of c stands for c/w; its variance is that of being published at all, c^2 (1-w)/w^2, and of the noise.
    """
    w, r = math.e**2 * 1e-5, 1 / math.e
    noise = 2 * r / (1 - r) ** 2
    asked = Tabulation(by=("sex", "job"))
    found = LAW.estimate_by("weighted", ROWS, asked)
    variances = LAW._sums(ROWS, (asked,), is_weighted=True).variances(asked)
    assert found.values[4] == pytest.approx(7 / w)
    assert variances[4] == pytest.approx((7**2 * (1 - w) + noise) / w**2)
    # 100 and 40 copies are published surely.
    assert variances[:2] == pytest.approx([noise, noise])
    assert found.bounds[0].tolist() == [5, 5, 0, 0, 5, 0]


def test_the_difference_of_two_groups_shares_by_hand():
    """Job b among women, 40 of 140, and among men, 7 of 7, which are one published row.

    Whether somebody of job c was left out is not known, so both shares lie between ends.
    """
    women, men = Selection((("sex", (0,)),)), Selection((("sex", (1,)),))
    found = LAW.difference(ROWS, Selection((("job", (1,)),)), women, men)
    share = 2 / 7
    assert found.values == pytest.approx([share - 1])
    low, high = found.intervals(0.95)
    assert low[0] < share - 1 < high[0]
    # At its lower end the share is 40 of 147 less the men, whose noise is another row's: v (1 + p^2) / n^2.
    among_women = LAW.estimate_selections(ROWS, (women & Selection((("job", (1,)),)), women))
    ends = among_women.ratio([1, 0], [0, 1]).left_open
    assert ends.low_variances == pytest.approx([NOISE * (1 + share**2) / 140**2])


def test_selections_that_share_several_entries_of_a_fragment_share_its_noise_as_often():
    """One star holds fragment 0 twice and fragment 1 once; items i and j hold each of them twice: 2*2 + 1*2."""
    one_star, both_items = Selection((("stars", (0,)), ("item", (0, 1)))), Selection((("item", (0, 1)),))
    found = LONG.estimate_selections(FRAGMENTS, (one_star, both_items))
    assert found.values.tolist() == [80.0, 100.0]
    assert found.covariance == pytest.approx(NOISE * np.array([[5, 6], [6, 8]]))


def test_cells_of_several_fragments_add_their_noise_once_for_each():
    """Items by stars: (i, 1) is in two fragments, (j, 1), (j, 2) and (k, 2) in one each, the others in none."""
    found = LONG.estimate(FRAGMENTS, Tabulation(by=("item", "stars")))
    # A zero is not known to less than a row.
    assert found.left_open.low_variances == pytest.approx([2 * NOISE, 0, NOISE, NOISE, 0, NOISE])
