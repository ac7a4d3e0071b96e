"""Cells that do not occur, and differences of shares: drawn rightly, and worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from coded_tables import table_of
from sfumato import Anatomy, DistributionResampling, NoisyMarginals, RandomizedResponse, SamplePerturbScale
from sfumato.compare.trial import Answers, _measured, ask, in_terms_of, measure_answers
from sfumato.compare.workload import (
    SMALLEST_GROUP,
    Question,
    Workload,
    make_workload,
    true_answers,
    true_counts,
)
from sfumato.custody.audit.attackers import raw_release
from sfumato.errors import ParameterError
from sfumato.query.selection import Predicate
from sfumato.testing import release_in_memory, sample_table


def skewed(rows=3_000):
    """Three public attributes of 7, 5 and 2 values, a sensitive one of 6; all skewed, and tied to the first."""
    generator = np.random.default_rng(8)
    first = np.minimum(generator.geometric(0.5, rows) - 1, 6)
    second = np.minimum(generator.geometric(0.4, rows) - 1, 4)
    third = generator.integers(2, size=rows)
    secret = np.where(generator.random(rows) < 0.6, first % 6, generator.integers(6, size=rows))
    return table_of([7, 5, 2, 6], [first, second, third, secret])


def question(table, where, *groups):
    """By texts."""
    read = [Predicate.parse(text, table.schema) for text in (where, *groups)]
    return Question("one", read[0], (read[1], read[2]) if groups else None)


def test_as_many_cells_that_do_not_occur_as_that_do():
    """Half of the questions have no row, half have some; every pair of pools is of one number of attributes."""
    table = skewed()
    asked = make_workload("cells", table.schema, table.source, 80, 3, sensitive="s")
    counts = true_counts(table.source, [each.where for each in asked.questions])
    assert len(counts) == 80
    occurs = np.array(["do not occur" not in each.pool for each in asked.questions])
    assert occurs.sum() == 40
    assert (counts[occurs] > 0).all()
    assert (counts[~occurs] == 0).all()
    assert all(each.where.names[-1] == "s" and 2 <= len(each.where.names) <= 4 for each in asked.questions)
    assert asked == make_workload("cells", table.schema, table.source, 80, 3, sensitive="s")


def test_a_table_without_empty_cells_has_no_such_questions():
    """Every cell of a full table occurs; that is said, and nothing is asked."""
    full = table_of([2, 2], [np.arange(400) % 2, np.arange(400) // 2 % 2])
    with pytest.raises(ParameterError, match="Choose another workload"):
        make_workload("cells", full.schema, full.source, 20, 3, sensitive="s")


def test_differences_are_between_groups_that_differ_in_one_value():
    """Of people enough, within the same category of another attribute or none, about one sensitive value."""
    table = skewed()
    asked = make_workload("differences", table.schema, table.source, 60, 3, sensitive="s")
    assert len(asked.questions) == 60
    assert asked.is_of_differences
    for each in asked.questions:
        first, second = each.groups
        assert true_counts(table.source, [first, second]).min() >= SMALLEST_GROUP
        one, other = (dict(group.parts[0].conditions) for group in (first, second))
        assert set(one) == set(other)
        assert sum(one[name] != other[name] for name in one) == 1
        assert each.where.names == ("s",)
    assert {each.pool for each in asked.questions} == {"groups of 1 attribute", "groups of 2 attributes"}


def test_a_table_of_tiny_groups_has_no_differences_to_ask_about():
    """Forty people in forty groups."""
    alone = table_of([40, 3], [np.arange(40), np.arange(40) % 3])
    with pytest.raises(ParameterError, match="Choose another workload"):
        make_workload("differences", alone.schema, alone.source, 20, 3, sensitive="s")


def test_differences_by_hand():
    """Of 60 with x0-0 a quarter hold s-1, of 40 with x0-1 three quarters."""
    table = table_of(
        [2, 2], [np.repeat([0, 1], [60, 40]), np.concatenate([np.arange(60) < 15, np.arange(40) < 30])]
    )
    asked = question(table, "s = 's-1'", "x0 = 'x0-0'", "x0 = 'x0-1'")
    assert true_answers(table.source, [asked]).tolist() == [-0.5]
    exact = ask(raw_release(table), [asked])
    assert exact.values.tolist() == pytest.approx([-0.5])
    other = question(table, "s = 's-0'", "x0 = 'x0-0'", "x0 = 'x0-1'")
    answers = Answers(
        np.array([-0.4, np.nan]), np.array([-0.6, np.nan]), np.array([-0.2, np.nan]), np.array([0.1, np.nan])
    )
    found = _measured(
        answers, np.array([-0.5, 0.02]), np.full(2, 2.0), table.source, Workload("hand", (asked, other))
    )
    # .1 off a half; a refusal costs 1, in shares the whole truth, and the whole interval.
    assert found["error"] == pytest.approx((0.2 + 1) / 2)
    assert found["absolute error"] == pytest.approx((0.1 + 0.02) / 2)
    assert found["relative error"] == pytest.approx((0.2 + 1.0) / 2)
    assert found["interval score"] == pytest.approx((0.4 / 2 + 1) / 2)
    assert found["width"] == pytest.approx(0.4)
    assert (found["covered"], found["refused"]) == (1.0, 0.5)


def test_counts_and_differences_are_not_mixed():
    """Rows and shares have no common scale."""
    table = sample_table(200)
    counts = question(table, "job = 'Tech'")
    differences = question(table, "job = 'Tech'", "sex = 'Female'", "sex = 'Male'")
    with pytest.raises(ValueError, match="not for both"):
        Workload("mixed", (counts, differences))


@pytest.mark.parametrize("name", ["cells", "differences"])
def test_exact_answers_cost_nothing_and_refusals_all(name):
    """The table itself answers everything; resampling has no joint, refuses differences, and its answers cost."""
    table = skewed()
    asked = make_workload(name, table.schema, table.source, 40, 3, sensitive="s")
    found = measure_answers(raw_release(table), table, asked)
    assert found["error"] == pytest.approx(0, abs=1e-12)
    assert (found["refused"], found["covered"]) == (0.0, 1.0)
    refused = measure_answers(release_in_memory(table, DistributionResampling(), seed=1), table, asked)
    assert refused["refused"] == 1.0
    assert refused["error"] == 1.0


@pytest.mark.parametrize(
    "design",
    [RandomizedResponse(retention=0.6), Anatomy(l_value=2), NoisyMarginals(epsilon=5.0)],
    ids=lambda each: each.method,
)
def test_differences_through_a_law_are_near_and_their_intervals_hold(design):
    """What a release says of a difference is what its comparison verb says; tables of two attributes tell of none within a category."""
    table = skewed()
    asked = make_workload("differences", table.schema, table.source, 30, 3, sensitive="s")
    release = release_in_memory(table, design, seed=1)
    found = measure_answers(release, table, asked)
    within = np.mean([each.pool == "groups of 2 attributes" for each in asked.questions])
    assert found["refused"] == (within if design.method == "noisy-marginals" else 0)
    assert found["covered"] > 0.7
    one = next(each for each in asked.questions if each.pool == "groups of 1 attribute")
    answers = ask(release, in_terms_of(release, table, [one]))
    assert answers.values[0] == pytest.approx(release.law.compare(release, one.where, *one.groups).values[0])


def test_a_difference_between_merged_groups_is_not_asked():
    """Where two categories are one in the release their groups cannot be told apart."""
    generator = np.random.default_rng(5)
    public = generator.integers(6, size=4_000)
    table = table_of([6, 4], [public, (public // 3 + generator.integers(2, size=4_000)) % 4])
    design = SamplePerturbScale(retention=0.5, merged_values={"x0": [["x0-0", "x0-4"]]})
    release = release_in_memory(table, design, seed=1)
    merged, apart = (
        question(table, "s = 's-1'", "x0 = 'x0-0'", f"x0 = 'x0-{other}'")
        if other == 4
        else question(table, "s = 's-1'", "x0 = 'x0-1'", f"x0 = 'x0-{other}'")
        for other in (4, 2)
    )
    told = in_terms_of(release, table, [merged, apart])
    assert told[0] is None
    assert told[1] is not None


def test_another_estimator_gives_values_without_intervals():
    """Xiao and Tao's answers to counts and differences are those of the release's own door; nothing is covered, nothing refused."""
    table = skewed()
    release = release_in_memory(table, Anatomy(l_value=2), seed=1)
    counts = question(table, "x0 = 'x0-0' AND s = 's-1'")
    difference = question(table, "s = 's-1'", "x0 = 'x0-0'", "x0 = 'x0-1'")
    found = ask(release, [counts, difference], estimator="xiao-tao")

    def told(text):
        return release.query(text, estimator="xiao-tao").estimate

    shares = [told(f"x0 = 'x0-{code}' AND s = 's-1'") / told(f"x0 = 'x0-{code}'") for code in (0, 1)]
    assert found.values.tolist() == pytest.approx([told("x0 = 'x0-0' AND s = 's-1'"), shares[0] - shares[1]])
    assert np.isnan([found.low, found.high, found.errors]).all()
    asked = make_workload("cells", table.schema, table.source, 40, 3, sensitive="s")
    by_law, by_paper = (measure_answers(release, table, asked, estimator=each) for each in ("", "xiao-tao"))
    assert by_paper["refused"] == 0
    assert np.isnan(by_paper["covered"])
    assert by_paper["error"] > by_law["error"]
