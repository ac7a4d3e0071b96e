"""Estimates from rows with noisy counts: sums, bounds, single rows, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from noisy_rows import AGE, COLUMNS, CUT, JOB, LAW, LONG, MATRIX, NOISE, NOISY, ROWS, SEX, Given
from sfumato.errors import NotIdentifiableError, ParameterError, TooLargeError
from sfumato.estimates.counts import CountTable
from sfumato.estimates.estimates import Certainty
from sfumato.laws import LAWS
from sfumato.methods.columnized_counts.law import NoisyRows
from sfumato.methods.columnized_counts.noisy_counts import NoisyTotal, PublishedColumn
from sfumato.query.selection import Selection, Tabulation

SIXTY_LEFT_OUT = LAW.model_copy(update={"public_size": 207})


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


def test_the_law_survives_the_manifest():
    """Both kinds of columns."""
    for law in (LAW, CUT, LONG):
        assert LAWS.read(law.model_dump(mode="json")) == law


def test_a_table_too_large_for_memory_is_refused(monkeypatch):
    """Before it is made."""
    monkeypatch.setattr("sfumato.laws.estimator.LARGEST_TABLE", 5)
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


def test_the_interval_of_the_number_of_rows_is_that_of_its_noise():
    """At epsilon 1/2 noise is beyond six with 2 r^7 / (1 + r) = 3.8 %, beyond five with 6.2 %; of a population nobody says so."""
    found = NOISY.estimate(ROWS, Tabulation())
    assert [each.tolist() for each in found.intervals(0.95)] == [[201], [213]]
    single = Tabulation(where=Selection((("sex", (0,)), ("job", (0,)))))
    widths = [
        np.subtract(*LAW.estimate(ROWS, single, target=target).intervals(0.95)[::-1])[0]
        for target in ("table", "population")
    ]
    # Of 147 rows about 100 have them: a draw has an error of five and a half rows, noise one of less than one.
    assert widths[1] > 3 * widths[0]


def test_rows_in_both_of_two_questions_are_known_within_one_column():
    """Sex and job stand in one column; of job and age nobody can tell."""
    asked = [
        Tabulation(where=Selection((("sex", (0,)), ("job", (0,))))),
        Tabulation(where=Selection((("sex", (0,)),))),
        Tabulation(where=Selection((("age", (1,)),))),
    ]
    formula = CUT.formula(COLUMNS, asked)
    inside = formula.shared(asked[0], Tabulation(where=Selection((("job", (0, 1)),))))
    assert inside == pytest.approx(formula.values(asked[0])[:, None])
    assert np.isnan(formula.shared(asked[0], asked[2])).all()
    assert formula.shared(asked[0], asked[0]) == pytest.approx(formula.values(asked[0])[:, None])


def test_errors_of_attributes_of_different_columns_are_not_expected():
    """No column has job and age."""
    with pytest.raises(NotIdentifiableError):
        CUT.expected_standard_errors(CountTable((JOB, AGE), np.full((3, 2), 10)))
