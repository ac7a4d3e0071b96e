"""Counts of drawn values by themselves, with others and between groups: at the edges where the way to compute them changes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from published_rows import PublishedRows, category_attribute, selection
from rows_left_out import added_by_rows_left_out
from sfumato.errors import NotIdentifiableError
from sfumato.estimates.counts import CountTable
from sfumato.estimates.estimates import Certainty
from sfumato.estimates.exact_intervals import unseen_variance
from sfumato.methods.splu_gen import decoy_counts
from sfumato.methods.splu_gen import decoy_counts as several_decoys
from sfumato.methods.splu_gen.law import DecoyRows
from sfumato.query.selection import Selection, Tabulation
from sfumato.schema import Role

LAW = DecoyRows(gamma_by_attribute={"job": 3, "pay": 2})
ALONE = Tabulation(by=("job",))


def test_beyond_so_many_values_a_sum_has_at_least_its_variance(published, monkeypatch):
    """Single values have ``f (1 - 1/gamma)`` either way; every sum of them at most the sum of these, and exactly less. Five rows left out add to both."""
    counts = published.count_by(("job",), Selection()).counts
    sums = [codes for size in range(1, 9) for codes in itertools.combinations(range(8), size)]
    questions = [Tabulation(where=selection(job=codes)) for codes in sums]
    found = {}
    for most in (7, 8):
        monkeypatch.setattr(decoy_counts, "MOST_VALUES", most)
        formula = LAW.formula(published, (ALONE, *questions))
        expected = counts * 2 / 3 + added_by_rows_left_out(counts / counts.sum(), 5)
        np.testing.assert_allclose(formula.variances(ALONE), expected)
        found[most] = np.array([formula.variances(each)[0] for each in questions])
    totals = np.array([counts[list(codes)].sum() for codes in sums])
    bound = totals * 2 / 3 + added_by_rows_left_out(totals / counts.sum(), 5)
    np.testing.assert_allclose(found[7], bound)
    assert (found[8] <= found[7] * (1 + 1e-12)).all()
    are_several = np.array([len(codes) > 1 for codes in sums])
    assert (found[8][are_several] < 0.99 * found[7][are_several]).all()
    assert found[8][-1] == pytest.approx(25, abs=1e-8), "all published rows are known, whatever they show"


def test_beyond_so_many_values_covariances_are_not_known(published, monkeypatch):
    """But of a value with itself; of a value with public ones they are refused or as before."""
    monkeypatch.setattr(decoy_counts, "MOST_VALUES", 7)
    formula = LAW.formula(published, (ALONE,))
    found = formula.covariance(ALONE, ALONE)
    counts = published.count_by(("job",), Selection()).counts
    expected = counts * 2 / 3 + added_by_rows_left_out(counts / counts.sum(), 5)
    np.testing.assert_allclose(np.diagonal(found), expected)
    assert np.isnan(found[~np.eye(8, dtype=bool)]).all()
    one, other = (Tabulation(where=selection(job=codes)) for codes in ((0,), (1,)))
    assert np.isnan(formula.covariance(one, other)).all()
    with_area = Tabulation(by=("area", "job"))
    expected = LAW.estimate(published, with_area)
    formula = LAW.formula(published, (with_area,))
    np.testing.assert_allclose(formula.variances(with_area), expected.variances)
    np.testing.assert_allclose(formula.covariance(with_area, with_area), expected.covariance)


def test_the_variance_of_a_drawn_value_grows_with_its_count_alone(wide):
    """By two thirds of a row for every row, also where somebody may have gone unseen; nothing is said of public ones."""
    formula = LAW.formula(wide, (ALONE,))
    variances, slopes = formula.spread(ALONE)
    shown = 1 - (2 / 3) ** 3
    counts = wide.count_by(("job",), Selection()).counts[:7]
    shares = counts / counts.sum()
    # Rows of the job that nobody shows are taken for rows of the others, as often as any row.
    missing = unseen_variance(shown) * shares**2 + added_by_rows_left_out(shares, 5)
    np.testing.assert_allclose(slopes, [*np.full(7, 2 / 3), 0])
    np.testing.assert_allclose(variances[:7], 2 / 3 * counts + missing)
    assert variances[7] == pytest.approx(unseen_variance(shown))
    assert formula.spread(Tabulation()) is None
    assert formula.spread(Tabulation(by=("area",))) is None
    # One row that shows a job, asked for together with the job that nobody shows: more than a row for a row is cut.
    few = PublishedRows(
        (category_attribute("job", 6),), {"job": np.repeat(np.arange(5), [1, 50, 50, 50, 50])}
    )
    law = DecoyRows(gamma_by_attribute={"job": 3})
    both = Tabulation(where=selection(job=(0, 5)))
    variances, slopes = law.formula(few, (both,)).spread(both)
    unseen = unseen_variance(shown) * (200 / 201) ** 2
    assert variances[0] == pytest.approx(2 / 3 + unseen + added_by_rows_left_out(1 / 201, 2))
    assert slopes == pytest.approx([2 / 3])


@pytest.mark.parametrize("jobs", [*((job,) for job in range(7)), (1, 2), (3, 4, 7), (1, 2, 3, 4, 5, 6)])
def test_where_values_meet_the_variance_goes_with_the_count(wide, jobs):
    """As if rows that fit were drawn one by one, by loops over what a row has and shows; all but one job lean the other way."""
    model = LAW._model(wide, "job")
    # All areas but the one without rows, of which everything is known.
    for area in (0, 1, 2, 4):
        asked = Tabulation(where=selection(area=(area,), job=jobs))
        formula = LAW.formula(wide, (asked,))
        (start,), (slope,) = formula.spread(asked)
        (stated,), (estimate,) = formula.variances(asked), formula.values(asked)
        rows = formula.shares(Tabulation(by=("area",)))[area] * model.counts
        h = model.inverse[:, list(jobs)].sum(axis=1)
        alone = together = 0.0
        for has in range(8):
            chances, mean = model.distortion[has], float(has in jobs)
            alone += rows[has] * sum(chances * (h - mean) ** 2)
            own = h**2 - h
            together += rows[has] * sum(chances * (h - mean) * (own - sum(chances * own)))
        # Of the job that nobody shows others have the rows instead.
        misses = (7 in jobs) - model.counts[list(jobs)].sum() / model.counts.sum()
        missing = unseen_variance(1 - (2 / 3) ** 3) * misses**2
        missing += added_by_rows_left_out(rows[list(jobs)].sum() / model.counts.sum(), 5)
        of_draws = stated - missing
        expected = together / alone * of_draws / alone
        assert slope == pytest.approx(expected, abs=1e-9)
        assert (slope > 0) == (len(jobs) < 6)
        # The variance that is stated is that of the fitted count.
        assert start == pytest.approx(stated + slope * (estimate - rows[list(jobs)].sum()))


def test_where_values_meet_all_cells_lean_as_each_does_alone(wide):
    """In the order of the question, whichever it is; what nobody shows does not lean."""
    for by in (("area", "job"), ("job", "area")):
        asked = Tabulation(by=by)
        found = LAW.formula(wide, (asked,)).spread(asked)
        starts, slopes = (each.reshape([{"area": 5, "job": 8}[name] for name in by]) for each in found)
        if by[0] == "job":
            starts, slopes = starts.T, slopes.T
        for area, job in itertools.product(range(5), range(8)):
            alone = Tabulation(where=selection(area=(area,), job=(job,)))
            (start,), (slope,) = LAW.formula(wide, (alone,)).spread(alone)
            assert starts[area, job] == pytest.approx(start)
            assert slopes[area, job] == pytest.approx(slope)
    assert slopes.max() > 1
    assert not slopes[:, 7].any()


def test_all_values_that_occur_do_not_lean(wide):
    """All rows of an area are known but for those left out, and for those of the job that nobody shows; of the draws only rounding is left, and a quotient of it would be any number."""
    asked = Tabulation(where=selection(area=(0,), job=tuple(range(7))))
    variances, slopes = LAW.formula(wide, (asked,)).spread(asked)
    share = np.mean(wide.columns["area"] == 0)
    unseen = float(unseen_variance(1 - (2 / 3) ** 3))
    assert variances == pytest.approx([unseen + float(added_by_rows_left_out(share, 5))])
    assert slopes.tolist() == [0]


def test_values_that_no_row_shows_add_where_rows_are(wide):
    """In an area of many rows and in one of a single row, not in one of none; the covariance says the same."""
    by = Tabulation(by=("area", "job"))
    formula = LAW.formula(wide, (by,))
    variances = formula.variances(by).reshape(5, 8)
    unseen = unseen_variance(1 - (2 / 3) ** 3)
    np.testing.assert_allclose(variances[[0, 1, 2, 4], 7], unseen)
    assert variances[3, 7] == 0
    covariance = formula.covariance(by, by)
    np.testing.assert_allclose(np.diagonal(covariance).reshape(5, 8)[:, 7], variances[:, 7])


def test_what_is_published_as_it_is_has_no_error_to_expect(wide):
    """Public attributes alone."""
    assert (LAW.expected_standard_errors(wide.count_by(("area", "sex"), Selection())) == 0).all()


@pytest.mark.parametrize("by", list(itertools.permutations(("area", "sex", "job"))))
def test_a_drawn_attribute_is_answered_wherever_it_is_asked_for(wide, by):
    """In all orders of three attributes the same cells have the same number, error and claim."""
    first = ("area", "sex", "job")
    law = DecoyRows(gamma_by_attribute={"job": 3})
    turn = [first.index(name) for name in by]
    one, other = (Tabulation(by=each) for each in (first, by))
    left, right = law.formula(wide, (one,)), law.formula(wide, (other,))
    for said in (
        lambda each, asked: each.values(asked),
        lambda each, asked: each.variances(asked),
        lambda each, asked: each.certainty(asked, 80),
    ):
        expected = said(left, one).reshape(5, 2, 8).transpose(turn).ravel()
        np.testing.assert_allclose(said(right, other), expected)


def test_two_drawn_attributes_are_known_where_no_row_has_the_public_values(wide):
    """Nobody, but for five rows that groups of three and of two may have left out; of others nothing is certain."""
    asked = Tabulation(by=("area", "job", "pay"))
    formula = LAW.formula(wide, (asked,))
    low, high = (each.reshape(5, 48) for each in formula.bounds(asked))
    is_empty = wide.count_by(("area",), Selection()).counts == 0
    assert is_empty.tolist() == [False, False, False, True, False]
    assert (low[is_empty] == 0).all()
    assert (high[is_empty] == 5).all()
    assert np.isneginf(low[~is_empty]).all()
    assert np.isposinf(high[~is_empty]).all()


def test_one_drawn_attribute_leans_beside_two_as_it_does_alone(wide):
    """By its own model; both together do not lean."""
    together = Tabulation(by=("job", "pay"))
    formula = LAW.formula(wide, (ALONE, together))
    for found, expected in zip(formula.spread(ALONE), LAW.formula(wide, (ALONE,)).spread(ALONE), strict=True):
        np.testing.assert_allclose(found, expected)
    assert formula.spread(ALONE)[1].max() > 0.5
    assert formula.spread(together) is None


def test_ends_of_what_is_known_and_of_estimates():
    """Two rows may have been left out of what is known; an estimate can be anything."""
    claims = np.array([Certainty.BOUNDED, Certainty.ESTIMATED], np.int8)
    low, high = decoy_counts.certain_ends(np.array([7.0, 9.0]), claims, 2)
    assert low.tolist() == [7, -np.inf]
    assert high.tolist() == [9, np.inf]


@pytest.mark.parametrize(
    ("asked", "needed"),
    [
        # Beside jobs five areas by six pays, beside pays five areas by eight jobs.
        ((Tabulation(by=("area", "job", "pay")),), 40),
        ((Tabulation(by=("job", "pay")),), 8),
        ((Tabulation(where=selection(job=(0,), pay=(1,))), Tabulation(where=selection(job=(1,)))), 2),
        ((Tabulation(by=("area",)),), 0),
    ],
)
def test_covariances_between_so_many_predicates_are_computed(wide, monkeypatch, asked, needed):
    """Of every drawn attribute one predicate for each cell of the others, in every question."""
    both = (*asked, Tabulation(where=selection(job=(0,), pay=(0,))))
    formula = LAW.formula(wide, both)
    monkeypatch.setattr(several_decoys, "MOST_PREDICATES", needed)
    assert formula.has_covariance(asked, 10, 10)
    assert not formula.has_covariance(asked, 11, 10)
    monkeypatch.setattr(several_decoys, "MOST_PREDICATES", needed - 1)
    assert not formula.has_covariance(asked, 10, 10) or needed == 0


def test_cells_of_two_drawn_attributes_are_known_where_no_row_is(wide):
    """Up to the rows left out; nothing else is."""
    by = Tabulation(by=("job", "area", "pay"))
    claims = LAW.formula(wide, (by,)).certainty(by, 240).reshape(8, 5, 6)
    assert (claims[:, 3] == Certainty.BOUNDED).all()
    assert (claims[:, [0, 1, 2, 4]] == Certainty.ESTIMATED).all()


@pytest.mark.parametrize("partition", ["mixed", "largest-first"])
def test_consistent_counts_of_a_drawn_value_are_those_published(published, partition):
    """However groups were made: rows that show a value are a count of it that can be."""
    law = DecoyRows(gamma_by_attribute={"job": 3, "pay": 2}, partition=partition)
    counts = published.count_by(("job",), Selection()).counts
    assert law.consistent(published, ALONE).tolist() == counts.tolist()
    two = Tabulation(by=("job",), where=selection(job=(1, 4)))
    assert law.consistent(published, two).tolist() == counts[[1, 4]].tolist()


def test_consistent_counts_within_public_groups_are_not_the_estimates():
    """Nobody of an area shows a job: its estimate is below nothing, the count that can be is nothing or more."""
    job = np.repeat(np.arange(6), 200)
    rows = PublishedRows(
        (category_attribute("area", 2, Role.OTHER), category_attribute("job", 6)),
        {"area": (job < 3).astype(int), "job": job},
    )
    law, by = DecoyRows(gamma_by_attribute={"job": 2}), Tabulation(by=("area", "job"))
    assert law.estimate(rows, by).values.min() < -50
    found = law.consistent(rows, by).reshape(2, 6)
    assert found.min() >= 0
    np.testing.assert_allclose(found.sum(axis=1), [600, 600])


def test_differences_between_other_groups_are_those_of_shares(wide):
    """A job against a pay, and two areas; the contrast is that of two values of one drawn attribute."""
    woman = selection(sex=(0,))
    sex, area = wide.columns["sex"], wide.columns["area"]
    found = LAW.difference(wide, woman, selection(area=(0,)), selection(area=(1,)))
    expected = (sex[area == 0] == 0).mean() - (sex[area == 1] == 0).mean()
    assert found.values[0] == pytest.approx(expected)
    asked = [
        selection(sex=(0,), job=(0,)),
        selection(job=(0,)),
        selection(sex=(0,), pay=(1,)),
        selection(pay=(1,)),
    ]
    counts = LAW.estimate_selections(wide, asked).values
    found = LAW.difference(wide, woman, asked[1], asked[3])
    assert found.values[0] == pytest.approx(counts[0] / counts[1] - counts[2] / counts[3])


def test_expected_errors_follow_the_attributes_wherever_the_drawn_one_stands(wide):
    """Area by sex by job in three orders, and with area and sex in one; a value alone has those of its margin."""
    table = wide.count_by(("area", "sex", "job"), Selection())
    counts = table.counts + 20
    law = DecoyRows(gamma_by_attribute={"job": 3})
    last = law.expected_standard_errors(CountTable(table.attributes, counts))
    for order in ((2, 0, 1), (0, 2, 1), (1, 0, 2)):
        moved = CountTable(tuple(table.attributes[axis] for axis in order), counts.transpose(order))
        np.testing.assert_allclose(law.expected_standard_errors(moved), last.transpose(order))
    flat = CountTable(
        (category_attribute("both", 10, Role.OTHER), table.attributes[2]), counts.reshape(10, 8)
    )
    np.testing.assert_allclose(law.expected_standard_errors(flat), last.reshape(10, 8))
    together = DecoyRows(gamma_by_attribute={"job": 3, "pay": 3}, together=("job", "pay"))
    margin = CountTable((table.attributes[2],), counts.sum(axis=(0, 1)))
    np.testing.assert_allclose(
        together.expected_standard_errors(margin) ** 2, counts.sum(axis=(0, 1)) * 2 / 3
    )


def test_expected_errors_of_two_drawn_attributes_grow_with_the_root_of_the_rows(wide):
    """Four times the rows, twice the errors; in any order of the attributes."""
    table = wide.count_by(("job", "pay"), Selection())
    counts = table.counts + 20
    once, four = (
        LAW.expected_standard_errors(CountTable(table.attributes, counts * times)) for times in (1, 4)
    )
    np.testing.assert_allclose(four, 2 * once)
    turned = LAW.expected_standard_errors(CountTable(table.attributes[::-1], counts.T))
    np.testing.assert_allclose(turned, once.T)


def test_every_value_is_treated_alike():
    """Which values a method treats in one way says which can be swapped."""
    assert LAW.treats_alike("job")


FEW = PublishedRows(
    (category_attribute("area", 2, Role.OTHER), category_attribute("job", 4)),
    {"area": np.arange(110) % 2, "job": np.repeat([0, 1, 2], [1, 59, 50])},
)
"""Three jobs for groups of three, and one that nobody shows."""


def test_as_many_values_as_a_group_has_rows_have_margins_and_nothing_else():
    """``f (1 - 1/gamma)`` of each, what may be unseen of the last; who shows what says nothing of anybody."""
    law = DecoyRows(gamma_by_attribute={"job": 3})
    found = law.estimate(FEW, ALONE)
    assert found.values.tolist() == [1, 59, 50, 0]
    counts, unseen = np.array([1, 59, 50]), float(unseen_variance(1 - (2 / 3) ** 3))
    of_shown = counts * 2 / 3 + added_by_rows_left_out(counts / 110, 2) + unseen * (counts / 110) ** 2
    assert found.variances == pytest.approx([*of_shown, unseen])
    assert law.estimate(FEW, Tabulation()).values.tolist() == [110]
    assert law.grouped_rows(FEW, ("area",), "job") is None
    assert law.grouped_rows(FEW, ("job",), "area") is None


def test_covariances_between_so_many_public_cells_are_computed(wide, monkeypatch):
    """Five areas are five predicates; a question about areas alone has none."""
    by, areas = Tabulation(by=("area", "job")), Tabulation(by=("area",))
    law = DecoyRows(gamma_by_attribute={"job": 3})
    formula = law.formula(wide, (by,))
    monkeypatch.setattr(decoy_counts, "MOST_PREDICATES", 5)
    assert formula.has_covariance((by,), 40, 40)
    monkeypatch.setattr(decoy_counts, "MOST_PREDICATES", 4)
    assert not formula.has_covariance((by,), 40, 40)
    assert law.formula(wide, (areas,)).has_covariance((areas,), 5, 5)


def test_what_is_known_without_rows_left_out_is_exact():
    """With some it is bounded."""
    is_known = np.array([True, False])
    assert decoy_counts.claims_of(is_known, 0).tolist() == [Certainty.EXACT, Certainty.ESTIMATED]
    assert decoy_counts.claims_of(is_known, 1).tolist() == [Certainty.BOUNDED, Certainty.ESTIMATED]


def test_named_estimators_of_public_counts_are_the_counts(wide):
    """Nothing was drawn, so nothing is estimated."""
    areas = Tabulation(by=("area",))
    found = LAW.estimate_by("pairwise", wide, areas)
    assert found.values.tolist() == wide.count_by(("area",), Selection()).counts.tolist()


def test_the_difference_of_a_drawn_share_between_drawn_values_is_that_of_shares(wide):
    """How many of two jobs have a pay: no contrast, which is about public conditions."""
    asked = [
        selection(pay=(0,), job=(0,)),
        selection(job=(0,)),
        selection(pay=(0,), job=(1,)),
        selection(job=(1,)),
    ]
    counts = LAW.estimate_selections(wide, asked).values
    found = LAW.difference(wide, selection(pay=(0,)), asked[1], asked[3])
    assert found.values[0] == pytest.approx(counts[0] / counts[1] - counts[2] / counts[3])


@pytest.mark.parametrize(("rows", "is_refused"), [((50, 25, 15, 10), True), ((49, 26, 15, 10), False)])
def test_a_value_that_is_in_every_group_is_not_estimated_pairwise(rows, is_refused):
    """Fifty of a hundred in pairs; that the others could be does not help."""
    few = PublishedRows(
        (category_attribute("area", 2, Role.OTHER), category_attribute("job", 4)),
        {"area": np.arange(100) % 2, "job": np.repeat(np.arange(4), rows)},
    )
    law, by = DecoyRows(gamma_by_attribute={"job": 2}), Tabulation(by=("area", "job"))
    if is_refused:
        with pytest.raises(NotIdentifiableError, match="at least once for every group of 2"):
            law.estimate_by("pairwise", few, by)
    else:
        assert np.isfinite(law.estimate_by("pairwise", few, by).values).all()


def test_errors_of_two_drawn_attributes_need_both_to_be_determined(wide):
    """Half of the rows have one pay, in pairs: it may be in every group."""
    table = wide.count_by(("job", "pay"), Selection())
    counts = table.counts + 20
    counts[:, 0] = counts[:, 1:].sum(axis=1)
    with pytest.raises(NotIdentifiableError, match="'pay' may be in every group of 2"):
        LAW.expected_standard_errors(CountTable(table.attributes, counts))
