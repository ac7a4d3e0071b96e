"""The workload of the reproduction does what it says."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "reproductions" / "fu"
STORED = json.loads((FOLDER / "results.json").read_text(encoding="utf-8"))
POOLS = STORED["results"]["census"]


@pytest.fixture
def workload(monkeypatch):
    """The module that draws pools and answers them."""
    monkeypatch.syspath_prepend(str(FOLDER))
    import workload

    yield workload
    sys.modules.pop("workload")


def test_the_corrected_estimator_beats_the_paper_s_on_large_sums_up_to_gamma_five():
    """Where the 1 % stop's bias outweighs the variance it hides."""
    for gamma in (2, 3, 4):
        row = POOLS[f"large, gamma {gamma}"]
        assert (
            row["SPLU-Gen, matrix from the margin, mixed"]
            < row["SPLU-Gen, paper: printed matrix, 1 % stop, largest-first"]
        )


def test_a_pool_holds_the_true_counts(workload):
    """Small queries on a table small enough to count by hand."""
    draw = np.random.default_rng(1)
    public = {"a": draw.integers(0, 3, 500), "b": draw.integers(0, 4, 500)}
    value = draw.integers(0, 6, 500)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workload, "LARGEST_NUMBER_OF_ATTRIBUTES", 2)
        pool = workload.draw_pool(public, value, 1, 10, 40, seed=2)
    assert len(pool.rows) == 40
    for rows, asked, truth in zip(pool.rows, pool.values, pool.truth, strict=True):
        assert np.count_nonzero(value[rows] == asked) == truth
        assert 1 <= truth <= 10


def test_anatomy_s_answers_to_a_pool_add_up(workload):
    """Over all values both answers sum to the rows selected."""
    draw = np.random.default_rng(1)
    value = draw.integers(0, 6, 600)
    rows = np.flatnonzero(draw.integers(0, 2, 600))
    pool = workload.Pool([rows] * 6, np.arange(6), np.ones(6), 6)
    for answers in workload.anatomy_answers(pool, value, 6, 3, seed=1).values():
        assert answers.sum() == pytest.approx(len(rows))


def test_per_query_laplace_has_the_expected_error(workload):
    """Mean over counts 1 to 10: .42256 at ln 2 and .26661 at ln 3."""
    pool = workload.Pool([], np.arange(10), np.arange(1.0, 11.0), 10)
    assert workload.laplace_error(pool, np.log(2)) == pytest.approx(0.42256, abs=5e-6)
    assert workload.laplace_error(pool, np.log(3)) == pytest.approx(0.26661, abs=5e-6)
