"""Naive Bayes from counts: the worked example, scikit-learn's own checks, releases."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.naive_bayes import CategoricalNB
from sklearn.utils.estimator_checks import check_estimator

from samples import SCHEMA, people
from sfumato import RandomizedResponse, publish, read_table
from sfumato.analysis.naive_bayes import CountNaiveBayes, count_classes
from sfumato.analysis.shrinkage import james_stein, shrink
from sfumato.errors import ParameterError
from sfumato.methods.noisy_marginals.design import NoisyMarginals

# U10: (a,x,0)(a,y,0)(b,x,0)(b,y,1)(b,y,1)(a,y,1).
ROWS = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [1, 1], [0, 1]])
LABELS = np.array([0, 0, 0, 1, 1, 1])


def test_the_worked_example_of_naive_bayes():
    """U10: counts, and scores 0.4 and 0.6 for (a, y)."""
    tables = count_classes(ROWS, LABELS, [2, 2], 2)
    assert [each.tolist() for each in tables] == [[[2, 1], [1, 2]], [[2, 1], [0, 3]]]
    model = CountNaiveBayes(pseudo_count=0).fit(ROWS, LABELS)
    assert model.predict_proba([[0, 1]])[0] == pytest.approx([0.4, 0.6])
    assert model.predict([[0, 1]]).tolist() == [1]


def test_the_worked_example_shrunken():
    """U10: shift 4/3 at scale 1; James-Stein multiplies by 0.75 and changes no prediction."""
    flat = np.array([2.0, 1, 2, 1, 1, 2, 0, 3])
    shrunken = shrink(flat, 1.0)
    assert shrunken.shift == pytest.approx(4 / 3)
    assert shrunken.values == pytest.approx([2 / 3, 0, 2 / 3, 0, 0, 2 / 3, 0, 5 / 3])
    stein = james_stein(flat, 1.0)
    assert stein == pytest.approx(0.75 * flat)
    tables = [np.array([[2.0, 1], [1, 2]]), np.array([[2.0, 1], [0, 3]])]
    every_row = [[0, 0], [0, 1], [1, 0], [1, 1]]
    predictions = [
        CountNaiveBayes.from_counts([factor * each for each in tables], [0, 1], pseudo_count=0).predict(
            every_row
        )
        for factor in (1, 0.75)
    ]
    assert np.array_equal(*predictions)


def test_scikit_learn_accepts_it_as_a_classifier():
    """All of its own checks for estimators."""
    with warnings.catch_warnings():
        # It warns of a check that it skips itself: array API without its environment variable.
        warnings.simplefilter("ignore")
        results = check_estimator(CountNaiveBayes(), on_fail=None)
    assert [each["check_name"] for each in results if each["status"] == "failed"] == []


def test_it_agrees_with_scikit_learn_s_own_where_both_apply():
    """Pseudo-count 1 in the features; the prior differs by its pseudo-count only."""
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 3, 600)
    rows = np.stack([(labels + generator.integers(0, 2, 600)) % 4, generator.integers(0, 5, 600)], axis=1)
    ours = CountNaiveBayes(categories=[4, 5]).fit(rows, labels)
    theirs = CategoricalNB(alpha=1.0, min_categories=[4, 5]).fit(rows, labels)
    assert ours.predict_proba(rows) == pytest.approx(theirs.predict_proba(rows), abs=2e-3)
    assert ours.predict_log_proba(rows[:3]) == pytest.approx(np.log(ours.predict_proba(rows[:3])))


def test_an_impossible_row_gets_the_prior_or_the_first_class():
    """Every class has an empty cell for (0, 1); the larger class is the second."""
    tables = [[[0, 2], [4, 0]], [[2, 0], [0, 4]]]
    rows = [[0, 0]]
    by_prior = CountNaiveBayes.from_counts(tables, ["small", "large"], pseudo_count=0)
    assert by_prior.predict_proba(rows)[0] == pytest.approx([1 / 3, 2 / 3])
    first = CountNaiveBayes.from_counts(tables, ["small", "large"], pseudo_count=0, impossible="first")
    assert first.predict(rows).tolist() == ["small"]


def test_counts_that_are_all_cut_leave_the_first_class():
    """Nothing is known; nothing breaks."""
    model = CountNaiveBayes.from_counts([[[-3, -1], [-2, -2]]], ["a", "b"], pseudo_count=0)
    assert model.predict([[0]]).tolist() == ["a"]


@pytest.mark.parametrize(
    "design",
    [
        RandomizedResponse(retention=0.6, attributes=("job",)),
        NoisyMarginals(epsilon=1.0, marginals="naive-bayes"),
    ],
    ids=["perturbed rows", "noisy marginals"],
)
def test_it_is_built_from_a_release_of_any_kind(design, tmp_path):
    """Women are mostly in care, men in tech."""
    release = publish(read_table(people(5_000), SCHEMA), design, tmp_path / "release", seed=1)
    model = CountNaiveBayes.from_release(release, "job", ["sex", "age", "region"])
    assert model.predict([[0, 0, 0], [1, 0, 0]]).tolist() == ["Care", "Tech"]


@pytest.mark.parametrize(
    "make",
    [
        lambda: CountNaiveBayes.from_counts([[[1, 2]]], ["a", "b"]),
        lambda: CountNaiveBayes.from_counts([], ["a", "b"]),
        lambda: CountNaiveBayes.from_counts([[[1, 2], [3, 4]]], ["a", "b"], pseudo_count=-1),
        lambda: CountNaiveBayes.from_counts([[[1, 2], [3, 4]]], ["a", "b"]).predict([[2]]),
    ],
)
def test_what_does_not_fit_is_refused(make):
    """Tables of another number of classes, none at all, negative pseudo-counts, unknown codes."""
    with pytest.raises(ParameterError):
        make()


def test_negative_counts_and_pseudo_counts_by_hand():
    """Totals (3, 4) and (5, 4), mean (4, 4), plus 1 each; the negative count is none."""
    tables = [[[-1, 3], [2, 2]], [[4, 1], [1, 3]]]
    model = CountNaiveBayes.from_counts(tables, ["a", "b"])
    # (1/5)(5/7) against (3/6)(2/6), the priors being equal.
    weights = np.array([1 / 5 * 5 / 7, 3 / 6 * 2 / 6])
    assert model.predict_proba([[0, 0]])[0] == pytest.approx(weights / weights.sum())
    unequal = CountNaiveBayes.from_counts([[[2, 0], [1, 6]]], ["a", "b"])
    # Priors 3/11 and 8/11; (3/4) and (2/9).
    weights = np.array([3 / 11 * 3 / 4, 8 / 11 * 2 / 9])
    assert unequal.predict_proba([[0]])[0] == pytest.approx(weights / weights.sum())
    assert np.exp(unequal.log_prior_) == pytest.approx([3 / 11, 8 / 11])


def test_a_class_without_counts_in_one_table_is_impossible():
    """It has no distribution over that feature, whatever the other table says."""
    tables = [[[0, 0], [1, 1]], [[8, 0], [1, 1]]]
    model = CountNaiveBayes.from_counts(tables, ["a", "b"], pseudo_count=0)
    assert model.predict_proba([[0, 0], [1, 1]]).tolist() == [[0, 1], [0, 1]]


def test_where_nothing_is_known_the_first_class_is_certain():
    """No prior, no likelihood: one class gets all, and nothing warns."""
    for tables in ([[[-3, -1], [-2, -2]]], [[[0, 0], [0, 0], [0, 0]]]):
        model = CountNaiveBayes.from_counts(tables, range(len(tables[0])), pseudo_count=0)
        assert model.predict_proba([[0]])[0].tolist() == [1] + [0] * (len(tables[0]) - 1)


def test_an_impossible_row_by_the_prior_never_gets_a_class_that_has_none():
    """Three classes, the first without any count."""
    tables = [[[0, 0], [0, 2], [4, 0]], [[0, 0], [2, 0], [0, 4]]]
    model = CountNaiveBayes.from_counts(tables, ["none", "small", "large"], pseudo_count=0)
    assert model.predict_proba([[0, 0]])[0] == pytest.approx([0, 1 / 3, 2 / 3])
