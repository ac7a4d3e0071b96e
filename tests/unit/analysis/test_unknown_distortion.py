"""What is said of randomized rows when the matrices are unknown, and of matrices that are suspected."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2, chisquare

from samples import SCHEMA, people
from sfumato import Anatomy, RandomizedResponse, read_table
from sfumato.errors import NotIdentifiableError, ParameterError
from sfumato.testing import in_memory, release_in_memory

TABLE = in_memory(read_table(people(2_000), SCHEMA))
RELEASE = release_in_memory(TABLE, RandomizedResponse(retention=0.6), seed=4, withhold_law=True)
BOTH = release_in_memory(
    TABLE, RandomizedResponse(retention=0.6, attributes=("sex", "job")), seed=4, withhold_law=True
)


def verdicts(advice):
    """By task and what it is about."""
    return {f"{each.about} {each.task}": each.verdict for each in advice.judged}


def test_larger_tables_keep_tests_and_some_directions():
    """Job has four categories: chi-square shrinks under any matrices, its normalised relatives need uniform ones."""
    found = verdicts(RELEASE.advise("sex", "job"))
    assert found["test independence"] == "valid"
    assert found["size chi-square"] == "direction known"
    assert found["size concentration"] == "not valid"
    assert found["size phi"] == "not valid"
    assert found["number counts-and-shares"] == "not valid"
    assert (
        verdicts(RELEASE.advise("sex", "job", knowing="uniform"))["size concentration"] == "direction known"
    )


def test_conditions_on_a_randomized_attribute_need_uniform_matrices():
    """Its published indicator mixes true categories unevenly otherwise."""
    asked = ("sex = 'Male'", "job = 'Care'")
    assert verdicts(RELEASE.advise(*asked, knowing="keeping"))["size odds-ratio"] == "not valid"
    found = verdicts(RELEASE.advise(*asked, knowing="uniform"))
    assert found["size odds-ratio"] == "direction known"
    assert found["order added-value"] == "valid"
    assert found["order reverse-risk-difference"] == "not valid"
    assert found["size support"] == "not valid"


def test_what_was_not_randomized_is_valid_throughout():
    """Sex and age are as they were."""
    assert set(verdicts(RELEASE.advise("sex", "age")).values()) == {"valid"}


def test_given_attributes_must_not_be_randomized():
    """Result 10."""
    task = "test conditional-independence"
    assert verdicts(BOTH.advise("age", "job", given=["region"]))[task] == "valid"
    refused = BOTH.advise("age", "job", given=["sex"])
    assert verdicts(refused)[task] == "not valid"
    assert "a given attribute was randomized" in refused["conditional-independence"].reason
    assert task not in verdicts(BOTH.advise("age", "job"))


def test_any_pair_can_be_asked_about():
    """Then both are taken as randomized."""
    advice = RELEASE.advise()
    assert advice.of == ()
    assert verdicts(advice)["order added-value"] == "not valid"
    assert repr(advice).startswith("Advice(any perturbed pair: 1 valid, 5 direction known")


def test_published_sizes_are_shown_where_they_bound_the_truth():
    """The truth is farther from independence than what the published rows give."""
    told = {each.task: each.published for each in RELEASE.advise("sex", "job").judged if each.about == "size"}
    counts = RELEASE.count_by(["sex", "job"]).counts
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    np.testing.assert_allclose(told["chi-square"], ((counts - expected) ** 2 / expected).sum())
    assert told["concentration"] is None


def test_releases_that_were_not_redrawn_row_by_row_are_refused():
    """None of it holds there."""
    release = release_in_memory(TABLE, Anatomy(l_value=2), seed=1)
    with pytest.raises(NotIdentifiableError, match="no matrix stands between"):
        release.advise("sex", "job")


@pytest.mark.parametrize(
    ("asked", "settings", "said"),
    [
        (("sex",), {}, "got one"),
        (("sex", "job"), {"knowing": "all"}, "must be one of nothing, keeping, uniform"),
    ],
)
def test_wrong_questions_are_refused(asked, settings, said):
    """With what is allowed."""
    with pytest.raises(ParameterError, match=said):
        RELEASE.advise(*asked, **settings)


def test_advice_is_plain_data():
    """Table, JSON, Arrow."""
    advice = RELEASE.advise("sex", "job", given=["region"])
    assert "valid" in str(advice)
    assert advice.to_dict()["given"] == ["region"]
    assert advice.to_arrow().num_rows == len(advice.judged) == len(advice)
    with pytest.raises(KeyError):
        advice["nonsense"]


def margin(name):
    """True shares by label."""
    table = TABLE.count_by([name])
    return dict(zip(SCHEMA[name].labels, table.counts.tolist(), strict=True))


def test_of_a_population_the_statistic_is_pearsons():
    """A second implementation: scipy."""
    found = BOTH.check_matrix("job", retention=0.5, margin=margin("job"))
    expected = np.array(list(margin("job").values())) @ (0.5 * np.eye(4) + 0.5 / 4)
    plain = chisquare(BOTH.count_by(["job"]).counts, expected)
    np.testing.assert_allclose((found.statistic, found.p_value), (plain.statistic, plain.pvalue), rtol=1e-9)
    assert found.degrees == 3


def test_of_the_table_itself_the_draw_of_its_rows_is_left_out():
    """Binary by hand: the variance of a published count is N a b with a, b the chances of one row."""
    found = BOTH.check_matrix("sex", retention=0.6, margin=margin("sex"), target="table")
    true = np.array(list(margin("sex").values()), dtype=float)
    mean = true @ np.array([0.8, 0.2])
    z = (BOTH.count_by(["sex"]).counts[0] - mean) / np.sqrt(2_000 * 0.8 * 0.2)
    np.testing.assert_allclose(found.statistic, z**2, rtol=1e-9)
    np.testing.assert_allclose(found.p_value, chi2.sf(z**2, 1), rtol=1e-9)
    assert "not refuted" in repr(found)


def test_without_a_margin_only_impossible_matrices_are_refuted():
    """A retention so low that no true margin is as uneven as what was published."""
    assert BOTH.check_matrix("job", retention=0.6).p_value > 0.99
    weak = BOTH.check_matrix("job", retention=0.1)
    assert weak.words == "refuted"
    assert weak.p_value < 1e-6


def test_matrices_that_publish_a_category_never_are_refuted_by_one_row():
    """What may not vary may not differ."""
    identity = np.eye(4).tolist()
    assert BOTH.check_matrix("job", matrix=identity, margin=margin("job"), target="table").p_value == 0


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "one of them"),
        ({"retention": 0.5, "matrix": [[1, 0], [0, 1]]}, "one of them"),
        ({"matrix": [[0.5, 0.5], [0.4, 0.6]]}, "has 2 categories"),
        ({"matrix": [[0.5, 0.6], [0.4, 0.6]]}, "must sum to 1"),
        ({"retention": 0.5, "margin": {"Care": 1}}, "a number for each category"),
        ({"retention": 0.5, "margin": dict.fromkeys(SCHEMA["job"].labels, 0)}, "not all be zero"),
        (
            {"retention": 0.5, "margin": dict.fromkeys(SCHEMA["job"].labels, 7), "target": "table"},
            "add up to",
        ),
    ],
)
def test_suspicions_that_do_not_fit_are_refused(settings, said):
    """With what is allowed."""
    with pytest.raises(ParameterError, match=said):
        BOTH.check_matrix("job", **settings)


def test_attributes_published_as_they_are_have_no_matrix():
    """Those that have are named."""
    with pytest.raises(ParameterError, match="Name one of sex, job"):
        BOTH.check_matrix("age", retention=0.5)


def test_suspicions_are_plain_data():
    """A few lines, JSON, Arrow."""
    found = BOTH.check_matrix("job", retention=0.6)
    assert "Sales" in str(found)
    assert found.to_dict()["conclusion"] == "not refuted"
    assert found.to_arrow().num_rows == 4
