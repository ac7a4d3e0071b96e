"""Differences and ratios of answers of one release."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from samples import SCHEMA, people
from sfumato import Anatomy, RandomizedResponse, load_release, publish, read_table
from sfumato.errors import ParameterError, QueryError
from sfumato.query.selection import Predicate

pytestmark = pytest.mark.filterwarnings("ignore:.*seed.*")


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """People with their job perturbed."""
    folder = tmp_path_factory.mktemp("combining")
    return publish(read_table(people(800), SCHEMA), RandomizedResponse(retention=0.6), folder / "out", seed=4)


def test_difference_of_counts_has_their_covariance(release):
    """The same as the difference of two cells of a table, which carries the covariance."""
    found = release.query("job = 'Care'") - release.query("job = 'Tech'")
    cells = release.counts(["job"]).estimates.linear(np.array([[0, -1.0, 1.0, 0]]))
    np.testing.assert_allclose(found.estimate, cells.values[0])
    np.testing.assert_allclose(found.std_error, cells.standard_errors[0])
    assert found.question == "(job = 'Care') - (job = 'Tech')"
    assert found.estimator == "difference of two answers, each unbiased"


def test_difference_of_an_answer_with_itself_is_certain(release):
    """Errors that go together cancel."""
    found = release.query("job = 'Care'") - release.query("job = 'Care'")
    assert found.estimate == 0
    # The last digits of variances of some hundreds, and the root makes them larger.
    assert found.std_error < 1e-3


@pytest.mark.parametrize("target", ["table", "population"])
def test_difference_of_shares_is_what_difference_says(release, target):
    """Two ways to one number."""
    women, men = (
        release.proportion("job = 'Care'", given=f"sex = '{sex}'", target=target)
        for sex in ("Female", "Male")
    )
    other = release.difference("job = 'Care'", given="sex = 'Female'", versus="sex = 'Male'", target=target)
    found = women - men
    np.testing.assert_allclose((found.estimate, found.std_error), (other.estimate, other.std_error))


def test_ratio_of_counts_is_the_share(release):
    """A part by its whole."""
    found = release.query("job = 'Care' AND sex = 'Male'") / release.query("sex = 'Male'")
    share = release.proportion("job = 'Care'", given="sex = 'Male'")
    np.testing.assert_allclose((found.estimate, found.std_error), (share.estimate, share.std_error))


def test_combined_answers_can_be_combined_again(release):
    """The difference of two differences."""
    care, tech, sales = (release.query(f"job = '{job}'") for job in ("Care", "Tech", "Sales"))
    found = (care - tech) - (sales - tech)
    direct = care - sales
    np.testing.assert_allclose((found.estimate, found.std_error), (direct.estimate, direct.std_error))


def test_answers_of_different_releases_are_not_combined(release):
    """Nor of different targets, nor with numbers."""
    again = load_release(release.folder)
    with pytest.raises(ParameterError, match="one opened release"):
        release.query("job = 'Care'") - again.query("job = 'Tech'")
    with pytest.raises(ParameterError, match="Ask both alike"):
        release.query("job = 'Care'") - release.query("job = 'Tech'", target="population")
    with pytest.raises(TypeError):
        release.query("job = 'Care'") - 3


def test_answers_travel_without_their_release(release):
    """Pickled and back, an answer is the same but cannot be combined."""
    answer = release.query("job = 'Care'")
    back = pickle.loads(pickle.dumps(answer))
    assert back == answer
    with pytest.raises(ParameterError, match="cannot be combined"):
        back - answer


def test_other_estimators_are_not_combined(tmp_path):
    """Their errors are not known to the law's covariance."""
    bucketed = publish(read_table(people(800), SCHEMA), Anatomy(l_value=2), tmp_path / "out", seed=4)
    other = bucketed.query("job = 'Tech'", estimator=next(iter(bucketed.law.estimators)))
    with pytest.raises(ParameterError, match="cannot be combined"):
        other - other


@pytest.mark.parametrize("target", ["table", "population"])
def test_a_count_without_its_part_is_the_count_of_the_rest(release, target):
    """And a part by its whole the share, whose error comes from the few where it is large."""
    women, others, care = (
        release.query(question, target=target)
        for question in (
            "sex = 'Female'",
            "sex = 'Female' AND job != 'Care'",
            "sex = 'Female' AND job = 'Care'",
        )
    )
    rest = women - others
    assert (rest.estimate, rest.low, rest.high) == pytest.approx((care.estimate, care.low, care.high))
    share = release.proportion("job != 'Care'", given="sex = 'Female'", target=target)
    ratio = others / women
    assert (ratio.estimate, ratio.low, ratio.high) == pytest.approx((share.estimate, share.low, share.high))
    again = rest - care
    assert again.estimate == pytest.approx(0, abs=1e-9)
    assert again.std_error < 1e-3


def test_too_many_others_leave_a_share_as_it_is(release, monkeypatch):
    """What is left of a question may take more groups of rows than one may ask for."""
    before = release.proportion("job != 'Care'", given="sex = 'Female'", target="population")

    def refuse(*_):
        raise QueryError("too many groups of rows.")

    monkeypatch.setattr(Predicate, "others", refuse)
    found = release.proportion("job != 'Care'", given="sex = 'Female'", target="population")
    assert found.estimate == pytest.approx(before.estimate)
    assert found.low < found.estimate < found.high
