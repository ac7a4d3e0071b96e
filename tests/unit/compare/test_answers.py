"""Questions and what answers to them cost: worked by hand, on tables that are not the demonstration."""

from __future__ import annotations

import numpy as np
import pytest

from coded_tables import table_of
from sfumato import DistributionResampling, NoisyMarginals, SamplePerturbScale
from sfumato.compare.trial import SIZES, Answers, _measured, in_terms_of, measure_answers
from sfumato.compare.workload import (
    LARGE_SHARES,
    SMALL_COUNTS,
    Question,
    Workload,
    make_workload,
    own_workload,
    true_counts,
)
from sfumato.custody.audit.attackers import raw_release
from sfumato.errors import ParameterError, QueryError
from sfumato.query.selection import Predicate
from sfumato.testing import release_in_memory, sample_table


def brute_force(table, where):
    """Rows counted one by one."""
    codes = table.source.codes
    return sum(
        any(all(codes[name][row] in chosen for name, chosen in part.conditions) for part in where.parts)
        for row in range(table.source.number_of_rows)
    )


@pytest.mark.parametrize("name", ["strata", "conjunctions", "base", "cube"])
def test_exact_answers_cost_nothing(name):
    """The table itself answers every workload without error, and its intervals hold."""
    table = sample_table(600)
    asked = make_workload(name, table.schema, table.source, 24, 3, sensitive="job")
    assert asked == make_workload(name, table.schema, table.source, 24, 3, sensitive="job")
    found = measure_answers(raw_release(table), table, asked)
    assert (found["error"], found["refused"], found["covered"], found["interval score"]) == (
        0.0,
        0.0,
        1.0,
        0.0,
    )
    assert found["relative error"] == found["absolute error"] == found["width"] == 0.0
    counts = true_counts(table.source, [each.where for each in asked.questions])
    assert counts.tolist() == [brute_force(table, each.where) for each in asked.questions]


def test_refusals_are_priced():
    """Every question on two attributes with the sensitive one is refused by resampling: an error of 1 each, and the truth in rows."""
    table = sample_table(600)
    asked = make_workload("strata", table.schema, table.source, 24, 3, sensitive="job")
    joint = [
        each.where
        for each in asked.questions
        if "one sensitive" in each.pool and not each.pool.startswith("1")
    ]
    release = release_in_memory(table, DistributionResampling(), seed=1)
    found = measure_answers(release, table, asked)
    assert found["refused"] == len(joint) / 24
    only = Workload("refused", tuple(Question("all", each) for each in joint))
    refused = measure_answers(release, table, only)
    assert (refused["error"], refused["error at 0.1 %"], refused["interval score"]) == (1.0, 1.0, 1.0)
    assert refused["absolute error"] == true_counts(table.source, joint).mean()
    assert np.isnan(refused["covered"])
    assert np.isnan(refused["width"])


def test_errors_by_hand():
    """A thousand rows; sanity bounds of 5 and of 1; pools count equally, sizes within them too where asked for."""
    table = table_of([10, 2], [np.arange(1000) % 10, np.arange(1000) // 500])
    schema = table.schema
    questions = tuple(
        Question(pool, Predicate.parse(text, schema))
        for pool, text in (
            ("one", "x0 = 'x0-0'"),
            ("one", "x0 = 'x0-0' AND s = 's-0'"),
            ("two", "s = 's-1' AND s = 's-0'"),
        )
    )
    truth = np.array([100.0, 50.0, 0.0])
    assert true_counts(table.source, [each.where for each in questions]).tolist() == truth.tolist()
    answers = Answers(
        np.array([110.0, 50.0, 2.0]),
        np.array([90.0, 51.0, 0.0]),
        np.array([130.0, 53.0, 4.0]),
        np.array([10.0, 0.5, 1.0]),
    )
    sizes = np.array([1000.0, 100.0, 1000.0])
    even = _measured(answers, truth, sizes, table.source, Workload("hand", questions))
    # (10/100 + 0)/2 of the first pool, 2/5 of the second.
    assert even["error"] == pytest.approx((0.05 + 0.4) / 2)
    assert even["error at 0.1 %"] == pytest.approx((0.05 + 1.0) / 2)
    assert even["relative error"] == pytest.approx((0.1 + 0.0) / 2)
    assert even["absolute error"] == pytest.approx(4.0)
    assert even["covered"] == pytest.approx(2 / 3)
    # 40 of 1000; 2 of 100 and a miss by 1, forty times; 4 of 1000.
    assert even["interval score"] == pytest.approx((0.04 + 0.42 + 0.004) / 3)
    assert even["width"] == pytest.approx(0.004)
    assert even["largest standard error"] == 10
    assert [even[f"error, {size}"] for size in SIZES] == pytest.approx([0.4, np.nan, 0.05], nan_ok=True)
    by_size = _measured(answers, truth, sizes, table.source, Workload("hand", questions, is_by_size=True))
    assert by_size["error"] == even["error"]


def test_conjunctions_fall_in_their_pools():
    """Half are true of 1 to 10 rows, half of half a per cent to five; each has one sensitive value."""
    table = sample_table(5_000)
    asked = make_workload("conjunctions", table.schema, table.source, 60, 3, sensitive="job")
    counts = true_counts(table.source, [each.where for each in asked.questions])
    small = np.array(["rows" in each.pool and "%" not in each.pool for each in asked.questions])
    assert small.sum() == 30
    assert ((counts[small] >= SMALL_COUNTS[0]) & (counts[small] <= SMALL_COUNTS[1])).all()
    share = counts[~small] / 5_000
    assert ((share >= LARGE_SHARES[0]) & (share < LARGE_SHARES[1])).all()
    assert all(each.where.names[-1] == "job" and 2 <= len(each.where.names) <= 4 for each in asked.questions)


def test_base_and_cube_ask_about_cells_that_occur():
    """Base cells hold all attributes; cells of the cube any set with the sensitive one."""
    table = sample_table(600)
    for name, fewest in (("base", 4), ("cube", 1)):
        asked = make_workload(name, table.schema, table.source, 40, 3, sensitive="job")
        assert true_counts(table.source, [each.where for each in asked.questions]).min() >= 1
        assert min(len(each.where.names) for each in asked.questions) == fewest


def test_workloads_that_ask_nothing_are_refused():
    """No row, too few questions, an unknown name, a question that cannot be read."""
    table = sample_table(600)
    with pytest.raises(ParameterError, match="one of each kind"):
        make_workload("strata", table.schema, table.source, 2, 3, sensitive="job")
    with pytest.raises(ParameterError, match="workload must be one of"):
        make_workload("none", table.schema, table.source, 20, 3, sensitive="job")
    with pytest.raises(QueryError, match="question 2"):
        own_workload(["sex = 'Female'", "sex is"], table.schema, table.source)
    empty = table_of([3, 2], [np.zeros(0, int), np.zeros(0, int)])
    with pytest.raises(ParameterError, match="no row satisfies"):
        make_workload("base", empty.schema, empty.source, 20, 3, sensitive="s")


def test_questions_about_merged_categories_are_refused_and_others_are_not():
    """A release that merged what a question tells apart cannot be asked it; what it kept apart it answers in its own codes."""
    generator = np.random.default_rng(5)
    public = generator.integers(6, size=4_000)
    table = table_of([6, 4], [public, (public // 3 + generator.integers(2, size=4_000)) % 4])
    together = [["x0-0", "x0-4"]]
    design = SamplePerturbScale(retention=0.5, merged_values={"x0": together})
    release = release_in_memory(table, design, seed=1)
    merged = release.schema["x0"]
    assert merged.size == 5
    asked = [Predicate.parse(f"x0 = 'x0-{code}'", table.schema) for code in range(6)]
    told = in_terms_of(release, table, [Question("all", each) for each in asked])
    assert [each is None for each in told] == [True, False, False, False, True, False]
    assert [each.where.codes(merged) for each in told if each is not None] == [
        (merged.labels.index(f"x0-{code}"),) for code in (1, 2, 3, 5)
    ]
    both = Predicate.parse("x0 IN ('x0-0', 'x0-4')", table.schema)
    (found,) = in_terms_of(release, table, [Question("all", both)])
    assert found is not None
    assert found.where.codes(merged) == (merged.labels.index("x0-0 | x0-4"),)


def test_noise_is_seen_in_error_and_width():
    """Epsilon of a tenth costs more than ten by every measure; a broken twin would be the same answers."""
    table = sample_table(2_000)
    asked = make_workload("strata", table.schema, table.source, 60, 3, sensitive="job")
    much, little = (
        measure_answers(release_in_memory(table, NoisyMarginals(epsilon=epsilon), seed=1), table, asked)
        for epsilon in (0.1, 10.0)
    )
    for name in ("error", "error at 0.1 %", "absolute error", "width", "interval score"):
        assert much[name] > little[name]
