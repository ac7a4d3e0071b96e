"""Several releases side by side: truths counted by hand, promises with and without numbers."""

from __future__ import annotations

import pyarrow as pa
import pytest

from sfumato import RandomizedResponse, publish, read_table
from sfumato.release import Release
from sfumato.report.demonstration import (
    UNKNOWN,
    Group,
    LabelledRelease,
    Question,
    compare_releases,
    describe_comparison,
)
from sfumato.report.document import Figure
from sfumato.schema import Attribute, Role, Schema

SCHEMA = Schema(
    attributes=(
        Attribute(name="sex", role=Role.OTHER, categories=("F", "M")),
        Attribute(name="job", role=Role.SENSITIVE, categories=("a", "b", "c")),
    )
)
GROUP = Group("women", "sex = 'F'", "job")
QUESTIONS = (Question("a", "job = 'a'"), Question("women", "sex = 'F'"))


@pytest.fixture(scope="module")
def table():
    """Among 600 women 500 have job a, 100 job b; 400 men have job c."""
    return read_table(
        pa.table({"sex": ["F"] * 600 + ["M"] * 400, "job": ["a"] * 500 + ["b"] * 100 + ["c"] * 400}), SCHEMA
    )


@pytest.fixture(scope="module")
def release(table, tmp_path_factory):
    """Half of the jobs kept."""
    return publish(table, RandomizedResponse(retention=0.5), tmp_path_factory.mktemp("made") / "half", seed=3)


@pytest.fixture(scope="module")
def comparison(release, table):
    """One release, two questions."""
    return compare_releases([LabelledRelease("half", release)], table, QUESTIONS, GROUP)


def figures_of(document):
    """All charts of a document."""
    return [block for section in document.sections for block in section.blocks if isinstance(block, Figure)]


def test_truths_are_counts_of_the_private_rows(comparison):
    """As the rows were written down."""
    assert [reply.truth for reply in comparison.replies] == [500, 600]
    assert comparison.group_truth.tolist() == [500, 100, 0]


def test_exact_answers_do_not_count_as_intervals(comparison):
    """Sex was published as it is; only the question about the job has an interval."""
    assert comparison.coverage[1] == 1


def test_promises_are_those_of_the_releases(comparison):
    """Three categories, half kept: gamma is 1 + 3 = 4, so epsilon is ln 4 and 10 % becomes 0.4/1.3 = 30.8 %."""
    ((label, epsilon, belief),) = comparison.promises.rows
    assert (label, belief) == ("half", "30.8 %")
    assert epsilon == pytest.approx(1.386294, abs=1e-6)


def test_beliefs_start_from_the_shares_within_the_group(comparison):
    """Most frequent and least frequent of those present: 500/600 becomes 4*5/(1+20), 100/600 becomes 4/(5+4)."""
    assert comparison.beliefs.rows == (("a", "83.3 %", "95.2 %"), ("b", "16.7 %", "44.4 %"))


def test_an_empty_group_has_no_example(release, table):
    """Nobody is both."""
    nobody = Group("nobody", "sex = 'F' AND sex = 'M'", "job")
    compared = compare_releases([LabelledRelease("half", release)], table, QUESTIONS, nobody)
    assert compared.beliefs.rows == ()


def test_a_promise_without_numbers_leaves_their_places_open(release, table):
    """No epsilon, no belief, and no chart of errors against epsilon."""
    silent = Release(
        release.folder,
        release.manifest.model_copy(update={"guarantees": ()}),
        release.sources,
        release.engine,
    )
    compared = compare_releases([LabelledRelease("silent", silent)], table, QUESTIONS, GROUP)
    assert compared.promises.rows == (("silent", UNKNOWN, UNKNOWN),)
    assert len(figures_of(describe_comparison(compared, rows=1_000, commands=""))) == 2


def test_the_document_charts_answers_costs_and_the_group(comparison):
    """Differences from the truth are in percent of it: the exact answer's is zero."""
    answers, costs, group = figures_of(describe_comparison(comparison, rows=1_000, commands=""))
    women = answers.spec["data"]["values"][1]
    assert (women["question"], women["estimate"], women["low"], women["high"]) == ("women (600)", 0, 0, 0)
    assert [point["question"] for point in costs.spec["data"]["values"]] == ["a"]
    assert [point["reference"] for point in group.spec["data"]["values"]] == [500, 100, 0]
