"""Questions with OR, NOT and parentheses: sums of counts of rows that exclude each other, with their covariance."""

from __future__ import annotations

import numpy as np
import pytest

from samples import SCHEMA, people
from sfumato import RandomizedResponse, publish, read_table
from sfumato.errors import QueryError, TooLargeError
from sfumato.estimates.estimates import Certainty
from sfumato.release import tabulation as tabulating

pytestmark = pytest.mark.filterwarnings("ignore:.*seed.*")

EITHER = "job = 'Care' OR sex = 'Female'"


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """People with their job perturbed."""
    folder = tmp_path_factory.mktemp("joined")
    return publish(read_table(people(800), SCHEMA), RandomizedResponse(retention=0.6), folder / "out", seed=4)


@pytest.mark.parametrize("target", ["table", "population"])
def test_either_is_the_sum_of_cells_with_their_covariance(release, target):
    """The same number, and the same error, by hand from the table over both attributes."""
    found = release.query(EITHER, target=target)
    table = release.counts(["job", "sex"], target=target)
    labels = [cell[0] for cell in table.cells()]
    weights = np.array([[float(job == "Care" or sex == "Female") for job, sex in labels]])
    by_hand = table.estimates.linear(weights)
    np.testing.assert_allclose(found.estimate, by_hand.values[0])
    np.testing.assert_allclose(found.std_error, by_hand.standard_errors[0], rtol=1e-6)


def test_either_is_both_counts_less_what_they_share(release):
    """Inclusion and exclusion."""
    either, care, women, both = release.queries(
        [EITHER, "job = 'Care'", "sex = 'Female'", "job = 'Care' AND sex = 'Female'"]
    )
    np.testing.assert_allclose(either.estimate, care.estimate + women.estimate - both.estimate)


def test_what_holds_and_what_does_not_make_all_rows(release):
    """With the same error, since all rows are known."""
    holds, fails = release.query(EITHER), release.query(f"NOT ({EITHER})")
    np.testing.assert_allclose(holds.estimate + fails.estimate, 800)
    np.testing.assert_allclose(holds.std_error, fails.std_error, rtol=1e-6)


def test_what_is_published_as_it_is_stays_exact(release):
    """A union of exact counts is exact for the table, and a draw of the population's."""
    text = "sex = 'Female' OR region = 'North'"
    found = release.query(text)
    regions = release.counts(["sex", "region"])
    truth = sum(value for (sex, region), value, *_ in regions.cells() if sex == "Female" or region == "North")
    assert (found.estimate, found.std_error, found.certainty) == (truth, 0, Certainty.EXACT)
    drawn = release.query(text, target="population")
    assert drawn.certainty == Certainty.ESTIMATED
    assert drawn.low < truth < drawn.high


def test_every_row_in_two_halves_is_sure_of_any_table(release):
    """A query that says nothing, in many words, is no draw."""
    found = release.query("sex = 'Female' OR NOT sex = 'Female'", target="population")
    assert (found.estimate, found.std_error) == (800, 0)


@pytest.mark.parametrize("largest", [tabulating.LARGEST_WITH_COVARIANCE, 0])
def test_a_table_among_either_adds_up_to_it(release, largest, monkeypatch):
    """Its cells are asked together or one by one; both give what each cell's own query gives."""
    monkeypatch.setattr(tabulating, "LARGEST_WITH_COVARIANCE", largest)
    table = release.counts(["age"], where=EITHER)
    assert (table.estimates.covariance is None) == (largest == 0)
    np.testing.assert_allclose(table.values.sum(), release.query(EITHER).estimate)
    for (age,), value, error, low, high in table.cells():
        alone = release.query(f"age = '{age}' AND ({EITHER})")
        np.testing.assert_allclose(
            (value, error, low, high), (alone.estimate, alone.std_error, alone.low, alone.high)
        )


def test_a_table_shows_the_categories_that_either_leaves(release):
    """As with AND: what cannot occur has no line."""
    table = release.counts(["job"], where="job = 'Care' OR job = 'Tech' AND sex = 'Female'")
    assert [label for (label,), *_ in table.cells()] == ["Tech", "Care"]


def test_one_attribute_needs_no_list(release):
    """A name is a name, not its letters."""
    np.testing.assert_array_equal(release.counts("job").values, release.counts(["job"]).values)


def test_too_large_a_table_is_refused(release, monkeypatch):
    """Every cell is asked for by itself."""
    monkeypatch.setattr(tabulating, "LARGEST_NUMBER_OF_PARTS", 5)
    with pytest.raises(TooLargeError, match="Tabulate fewer"):
        release.counts(["age", "region"], where=EITHER)


def test_shares_and_differences_take_either(release):
    """Among a union, of a union, and between unions."""
    share = release.proportion("job = 'Care'", given=EITHER)
    np.testing.assert_allclose(
        share.estimate, release.query("job = 'Care'").estimate / release.query(EITHER).estimate
    )
    rest = release.proportion("job = 'Care'", given=f"NOT ({EITHER})")
    assert rest.estimate == 0
    between = release.difference("job = 'Care'", given=EITHER, versus="region = 'North' OR sex = 'Male'")
    other = release.proportion("job = 'Care'", given="region = 'North' OR sex = 'Male'")
    np.testing.assert_allclose(between.estimate, share.estimate - other.estimate)
    found = share - other
    np.testing.assert_allclose(found.std_error, between.std_error)


def test_analyses_take_either(release):
    """As a condition that is crossed with an attribute, and as the rows that are looked at."""
    crossed = release.measures("sex = 'Female' OR region = 'North'", "job = 'Care'")
    assert crossed
    assert release.measures("sex", "job = 'Care'", where="region = 'North' OR age < 35")


def test_what_needs_one_list_for_each_attribute_refuses_either(release):
    """Consistent counts and other estimators are made cell by cell of one table."""
    with pytest.raises(QueryError, match="joined by AND"):
        release.consistent_counts(["age"], where=EITHER)
