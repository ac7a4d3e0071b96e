"""The shared prior, number by number: each formula written out with loops, on estimates that a law might give."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from sfumato.errors import NotIdentifiableError, QueryError, TooLargeError
from sfumato.laws.posterior import GroupedRows, SharedPrior, outliers
from sfumato.schema import Attribute, Role


def attribute(name, size, role=Role.QUASI_IDENTIFIER):
    """An attribute of so many categories."""
    return Attribute(name=name, role=role, categories=tuple(f"{name}-{each}" for each in range(size)))


JOB = attribute("job", 3, Role.SENSITIVE)
SEX, TOWN, AGE, TRADE = attribute("sex", 2), attribute("town", 3), attribute("age", 2), attribute("trade", 4)
SEX_JOB = np.array([[30.0, 12.0, -4.0], [10.0, 28.0, 20.0]])
SEX_CLIPPED = np.array([[30.0, 12.0, 0.0], [10.0, 28.0, 20.0]])
MARGIN = np.array([40.0, 45.0, -1.0])


class Estimates:
    """A law that gives these estimates, and refuses what it does not have."""

    def __init__(self, tables, refusal=NotIdentifiableError):
        self.tables, self.refusal = tables, refusal

    def estimate(self, published, tabulation):
        """Values and variances of one table, flat."""
        del published
        if tabulation.by not in self.tables:
            raise self.refusal("left open")
        values, variances = self.tables[tabulation.by]
        return SimpleNamespace(
            values=np.ravel(values).astype(float), variances=np.ravel(variances).astype(float)
        )


TABLES = {
    (): (np.array([90.0]), np.array([0.0])),
    ("job",): (MARGIN, np.full(3, 4.0)),
    ("sex", "job"): (SEX_JOB, np.full((2, 3), 9.0)),
    ("town",): (np.array([60.0, 30.0, -5.0]), np.ones(3)),
}


def prior_of(tables=TABLES, public=(SEX, TOWN, AGE), rows=None, **options):
    """The prior of such a law."""
    law = options.pop("law", None) or Estimates(tables)
    return SharedPrior.from_release(law, None, public, JOB, rows, **options)


def test_shares_of_values_are_estimates_without_negative_ones():
    """40 and 45 of 85; the third is believed possible all the same, in a million millions."""
    prior = prior_of()
    assert prior.margin == pytest.approx([40 / 85, 45 / 85, 1e-12], rel=1e-9)
    assert prior.number_of_rows == 90
    assert prior.temper == 0.7


def test_shares_given_a_value_have_five_rows_of_the_attribute_s_own_margin_beside_them():
    """42 and 58 of a hundred; 30 of 40 women of the first job are (30 + 2.1) / 45."""
    prior = prior_of()
    assert prior.shares["sex"] == pytest.approx([0.42, 0.58])
    expected = [
        [(30 + 2.1) / 45, (12 + 2.1) / 45, 2.1 / 25],
        [(10 + 2.9) / 45, (28 + 2.9) / 45, (20 + 2.9) / 25],
    ]
    np.testing.assert_allclose(prior.given_value["sex"], expected)
    assert set(prior.given_value) == set(prior.estimates) == {"sex"}


def test_what_a_release_leaves_open_has_the_share_it_tells_or_an_even_one():
    """Towns are estimated by themselves, ages not at all."""
    prior = prior_of()
    assert prior.refused == ("town", "age")
    assert prior.shares["town"] == pytest.approx([2 / 3, 1 / 3, 1e-12], rel=1e-6)
    assert prior.shares["age"] == pytest.approx([0.5, 0.5])


def test_estimates_of_nobody_are_as_good_as_none():
    """A table, a margin and a list of values that add up to nothing, or less, say nothing."""
    empty = {
        (): (np.array([-3.0]), np.zeros(1)),
        ("job",): (np.array([-1.0, 0.0, -2.0]), np.ones(3)),
        ("sex", "job"): (np.full((2, 3), -1.0), np.ones((2, 3))),
        ("sex",): (np.array([0.0, -4.0]), np.ones(2)),
        ("age", "job"): (np.zeros((2, 3)), np.ones((2, 3))),
        ("age",): (np.array([0.25, 0.5]), np.ones(2)),
    }
    prior = prior_of(empty, (SEX, AGE))
    assert prior.margin == pytest.approx([1 / 3] * 3)
    assert prior.refused == ("sex", "age")
    assert prior.shares["sex"] == pytest.approx([0.5, 0.5])
    assert prior.shares["age"] == pytest.approx([1 / 3, 2 / 3])
    assert prior.number_of_rows == 1
    assert prior.given_value == {}


def test_less_than_a_row_of_estimates_is_still_an_estimate():
    """Half a row over a table, a quarter of one over a margin."""
    few = {
        ("job",): (np.array([0.25, 0.0, 0.0]), np.ones(3)),
        ("sex", "job"): (np.array([[0.5, 0.0, 0.0], [0.0, 0.0, 0.0]]), np.ones((2, 3))),
    }
    prior = prior_of(few, (SEX,))
    assert prior.margin == pytest.approx([1, 1e-12, 1e-12], rel=1e-9)
    assert prior.refused == ()
    assert prior.shares["sex"][0] == pytest.approx(1)


@pytest.mark.parametrize("refusal", [NotIdentifiableError, TooLargeError, QueryError])
def test_without_a_number_of_rows_the_values_add_up_to_it(refusal):
    """Whatever the reason of a refusal; 85 rows have a value."""
    tables = {key: each for key, each in TABLES.items() if key}
    assert prior_of(law=Estimates(tables, refusal)).number_of_rows == 85
    assert prior_of(law=Estimates({}, refusal)).margin == pytest.approx([1 / 3] * 3)


def test_unknown_estimates_and_errors():
    """An estimate that is not a number counts nobody, and an error that is not known is a very large one."""
    tables = TABLES | {
        ("sex", "job"): (
            np.array([[30.0, np.nan, 0.0], [10.0, 28.0, 20.0]]),
            np.array([[np.nan, np.inf, 1.0], [1.0, 1.0, 1.0]]),
        )
    }
    values, variances = prior_of(tables, (SEX,)).estimates["sex"]
    assert values.tolist() == [[30, 0, 0], [10, 28, 20]]
    assert variances.tolist() == [[1e12, 1e12, 1], [1, 1, 1]]


def known_prior(temper=0.7, **changes):
    """A prior with two attributes, of a hundred rows."""
    given = {
        "sex": np.array([[0.6, 0.3, 0.2], [0.4, 0.7, 0.8]]),
        "town": np.array([[0.7, 0.1, 0.5], [0.2, 0.3, 0.25], [0.1, 0.6, 0.25]]),
    }
    shares = {"sex": np.array([0.4, 0.6]), "town": np.array([0.5, 0.3, 0.2]), "age": np.array([0.1, 0.9])}
    options = {"margin": np.array([0.5, 0.3, 0.2]), "given_value": given, "shares": shares, **changes}
    return SharedPrior(number_of_rows=100.0, temper=temper, **options)


def naive_bayes(prior, names, codes, fewest=0.0):
    """P(v) prod P(x | v)^t, with loops."""
    weights = []
    for value in range(3):
        weight = prior.margin[value]
        for name, code in zip(names, codes, strict=True):
            if name in prior.given_value and 100 * prior.shares[name][code] >= fewest:
                weight *= prior.given_value[name][code][value] ** prior.temper
        weights.append(weight)
    return [each / sum(weights) for each in weights]


@pytest.mark.parametrize("fewest", [0.0, 30.0, 30.5, 45.0, 99.0])
def test_naive_bayes(fewest):
    """Every combination of three attributes, one without a table; categories of fewer rows are left out."""
    prior, names = known_prior(), ("age", "sex", "town")
    combinations = np.array([[a, s, t] for a in range(2) for s in range(2) for t in range(3)])
    found = prior.at(names, combinations, fewest_rows=fewest)
    expected = [naive_bayes(prior, names, codes, fewest) for codes in combinations.tolist()]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_category_of_less_than_a_row_is_used_unless_more_are_asked_for():
    """Half a row in ten has the first town: nobody is left out by default, and the margin is all where a row is asked for."""
    prior = SharedPrior(
        np.array([0.5, 0.5]),
        {"town": np.array([[0.8, 0.2], [0.2, 0.8]])},
        {"town": np.array([0.05, 0.95])},
        10.0,
        1.0,
    )
    assert prior.at(("town",), np.array([[0]])) == pytest.approx(np.array([[0.8, 0.2]]))
    assert prior.at(("town",), np.array([[0]]), fewest_rows=1.0) == pytest.approx(np.array([[0.5, 0.5]]))


def test_beliefs_that_no_double_could_multiply_out():
    """Eighty attributes, each a hundred times as likely under the next value: the last is left, others beside it."""
    names = tuple(f"a{each}" for each in range(80))
    rare = np.array([[1e-14, 1e-12, 1e-10], [1.0, 1.0, 1.0]])
    prior = SharedPrior(
        np.array([0.5, 0.3, 0.2]),
        dict.fromkeys(names, rare),
        dict.fromkeys(names, np.array([0.5, 0.5])),
        10.0,
        1.0,
    )
    (found,) = prior.at(names, np.zeros((1, 80), int))
    assert found == pytest.approx([1e-12, 1e-12, 1], rel=1e-6)


def test_what_can_never_be_shown_is_no_evidence():
    """A value that is never published and was not seen; one that was, and could not, counts as one in a million millions."""
    never = np.array([[0.9, 0.1, 0.0], [0.2, 0.8, 0.0], [0.5, 0.5, 0.0]])
    prior = known_prior()
    rows = [
        GroupedRows(np.array([[0]]), np.array([counts]), never, np.ones(1))
        for counts in ([3.0, 1, 0], [3.0, 1, 2])
    ]
    fits = [prior.fit_to(each, ("sex",)) for each in rows]
    assert math.isfinite(fits[0])
    assert fits[0] - fits[1] == pytest.approx(2 * math.log(1e12))


def test_beliefs_about_nobody():
    """No combination gives no row."""
    prior = known_prior()
    assert prior.at(("sex",), np.zeros((0, 1), int)).shape == (0, 3)
    assert prior.without_rows(("sex",), np.zeros((0, 1), int), np.zeros((0, 3))).shape == (0, 3)


def test_rows_to_expect_of_a_group():
    """100 x 0.6 x 0.2 and 100 x 0.4 x 0.5, independent."""
    assert known_prior().group_sizes(("sex", "town"), np.array([[1, 2], [0, 0]])) == pytest.approx([12, 20])


def test_a_power_is_chosen_by_the_rows_it_must_explain():
    """Log probability of rows through a matrix, with loops; of all powers the likeliest is taken."""
    channel = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    rows = GroupedRows(
        np.array([[0], [1]]), np.array([[60.0, 5.0, 4.0], [2.0, 50.0, 80.0]]), channel, np.ones(2)
    )
    prior = prior_of(public=(SEX,), rows=rows)
    fits = {}
    for power in (0.5, 0.7, 0.85, 1.0):
        tempered, fits[power] = prior.tempered(power), 0.0
        for group in range(2):
            belief = tempered.at(("sex",), np.array([[group]]))[0]
            for shown in range(3):
                chance = sum(belief[true] * channel[true, shown] for true in range(3))
                fits[power] += rows.counts[group, shown] * math.log(chance)
        assert tempered.temper == power
        assert tempered.fit_to(rows, ("sex",)) == pytest.approx(fits[power])
    assert prior.temper == max(fits, key=fits.get)


@pytest.mark.parametrize(
    ("counts", "power"), [([[900.0, 0, 0], [0, 0, 900.0]], 1.0), ([[300.0] * 3] * 2, 0.5)]
)
def test_rows_that_go_together_ask_for_the_largest_power_and_mixed_ones_for_the_smallest(counts, power):
    """As far as powers are tried; every value is as frequent as another."""
    rows = GroupedRows(np.array([[0], [1]]), np.array(counts), np.eye(3), np.ones(2))
    tables = {
        ("job",): (np.full(3, 30.0), np.ones(3)),
        ("sex", "job"): (np.array([[25.0, 15.0, 5.0], [5.0, 15.0, 25.0]]), np.ones((2, 3))),
    }
    assert prior_of(tables, public=(SEX,), rows=rows).temper == power
    # Where no table is known there is nothing to temper.
    assert prior_of(public=(AGE,), rows=rows).temper == 0.7


def standing_out(estimates, variances, shares, categories):
    """Spike at what margins say, slab from nobody to the category's rows, with loops and the normal density."""
    found = []
    for cells, errors in zip(estimates, variances, strict=True):
        rows = max(sum(cells), 1.0)
        found.append([])
        for cell, variance, share in zip(cells, errors, shares, strict=True):
            expected = rows * share
            spread = math.sqrt(max(variance, expected, 1e-12))
            density = math.exp(-((cell - expected) ** 2) / (2 * spread**2)) / math.sqrt(
                2 * math.pi * spread**2
            )
            of_slab, of_spike = 1 / categories / rows, (1 - 1 / categories) * density
            weight = of_slab / (of_slab + of_spike)
            found[-1].append(weight * min(max(cell, 0.0), rows) + (1 - weight) * expected)
    return found


# Rows of 15, 9, less than one and none; cells far above and far below what margins say; errors small and large.
SPREAD_OUT = np.array([[1.0, 13.0, 1.0], [8.0, 2.0, -1.0], [0.4, -0.2, 0.1], [-2.0, 1.0, 0.5]])
ERRORS = np.array([[4.0, 0.25, 9.0], [1.0, 4.0, 2.0], [0.0, 1.0, 0.01], [1.0, 30.0, 1.0]])


def test_cells_that_stand_out():
    """Every cell, with the shares of columns that are not negative."""
    column = SPREAD_OUT.sum(axis=0)
    expected = standing_out(SPREAD_OUT, ERRORS, column / column.sum(), 4)
    np.testing.assert_allclose(outliers(SPREAD_OUT, ERRORS), expected, rtol=1e-9)


def test_columns_of_nobody_have_no_share():
    """A column below zero counts as none, and less than a row in all as one."""
    few = np.array([[0.3, -0.5], [0.1, 0.2]])
    expected = standing_out(few, np.zeros((2, 2)), [0.4, 0.0], 2)
    np.testing.assert_allclose(outliers(few, np.zeros((2, 2))), expected, rtol=1e-9)


def test_a_prior_that_believes_outliers_only():
    """Shares come from the table in which only they are believed."""
    tables = TABLES | {("trade", "job"): (SPREAD_OUT, ERRORS)}
    prior = prior_of(tables, (TRADE,), only_outliers=True)
    believed = np.array(standing_out(SPREAD_OUT, ERRORS, SPREAD_OUT.sum(axis=0) / SPREAD_OUT.sum(), 4))
    shares = believed.sum(axis=1) / believed.sum()
    padded = believed + 5 * shares[:, None]
    np.testing.assert_allclose(prior.shares["trade"], shares)
    np.testing.assert_allclose(prior.given_value["trade"], padded / padded.sum(axis=0))
    np.testing.assert_allclose(prior.estimates["trade"][0], SPREAD_OUT)


@pytest.mark.parametrize("only_outliers", [False, True])
def test_beliefs_without_the_own_row(only_outliers):
    """A row's part taken out of its cells, not of the totals that it is held against; with loops."""
    tables = TABLES | {
        ("trade", "job"): (SPREAD_OUT, ERRORS),
        ("job",): (np.array([40.0, 45.0, 5.0]), np.ones(3)),
    }
    prior = prior_of(tables, (SEX, AGE, TRADE), only_outliers=only_outliers)
    people = np.array([[0, 1, 0], [1, 0, 3], [1, 0, 0]])
    added = np.array([[1.2, -0.1, -0.1], [-0.1, 40.0, -0.1], [0.0, 0.0, 0.0]])
    expected = []
    for codes, gone in zip(people.tolist(), added, strict=True):
        weights = prior.margin.copy()
        for name, code in zip(("sex", "trade"), codes[::2], strict=True):
            table, errors = tables[(name, "job")]
            own, whole = table[code] - gone, np.maximum(table, 0)
            if only_outliers:
                column = np.maximum(table.sum(axis=0), 0)
                (own,) = standing_out([own], [errors[code]], column / column.sum(), len(table))
                whole = np.array(standing_out(table, errors, column / column.sum(), len(table)))
            cells = np.maximum(own, 0) + 5 * prior.shares[name][code]
            weights = weights * np.maximum(cells / (whole.sum(axis=0) + 5), 1e-12) ** prior.temper
        expected.append(weights / weights.sum())
    found = prior.without_rows(("sex", "age", "trade"), people, added)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
