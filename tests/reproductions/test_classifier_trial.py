"""Cross-validation of naive Bayes from noisy counts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from scripts import load_script
from sfumato.errors import ParameterError
from sfumato.randomness.streams import NoiseSource

script = load_script(
    Path(__file__).parents[2] / "reproductions" / "mothali_classifiers" / "classifier_trial.py"
)


@pytest.fixture(scope="module")
def trial():
    """A column that mostly gives the class away, and one that says nothing."""
    generator = np.random.default_rng(0)
    labels = (generator.random(1_000) < 0.3).astype(int)
    rows = np.stack([labels ^ (generator.random(1_000) < 0.1), generator.integers(0, 3, 1_000)], axis=1)
    order = np.argsort(labels, kind="stable")
    return script.cross_validate(
        rows[order], labels[order], [2, 3], 2, epsilon=1.0, folds=5, draws=20, noise=NoiseSource.seeded(4)
    )


def test_a_trial_shuffles_rows_before_splitting(trial):
    """Rows sorted by class would give folds of one class each."""
    assert trial.without_noise == pytest.approx(0.9, abs=0.03)
    assert trial.majority == pytest.approx(0.7, abs=0.05)


def test_a_trial_reports_every_estimator_beside_its_baselines(trial):
    """Three estimators, no noise, majority; standard errors; impossible rows both ways."""
    assert [row[0] for row in trial.table().rows] == [*script.ESTIMATORS, "without noise", "majority class"]
    for name in script.ESTIMATORS:
        mean, error = trial.mean(name)
        assert 0.7 < mean < 0.95
        assert 0 < error < 0.02
    assert trial.table().is_private


def test_a_trial_says_what_publishing_every_fold_would_spend(trial):
    """A row is in the training part of all folds but one."""
    assert trial.epsilon_if_published == 4.0


def test_james_stein_never_changes_an_unsmoothed_prediction(trial):
    """One factor for all counts (claim 11)."""
    assert np.array_equal(trial.accuracy["james-stein"], trial.accuracy["noisy"])
    assert trial.dominance("james-stein", "noisy") == (0, 100, 0)


def test_dominance_percentages_sum_to_a_hundred():
    """Above, equal, below."""
    assert script.dominance([3, 2, 1, 1], [1, 2, 2, 0]) == (50, 25, 25)


@pytest.mark.parametrize(("folds", "draws"), [(1, 5), (11, 5), (2, 1)])
def test_a_trial_needs_folds_and_draws(folds, draws):
    """Two or more of each, and no more folds than rows."""
    with pytest.raises(ParameterError, match="folds"):
        script.cross_validate(
            np.zeros((10, 1), int),
            np.zeros(10, int),
            [2],
            2,
            epsilon=1.0,
            folds=folds,
            draws=draws,
            noise=NoiseSource.seeded(1),
        )
