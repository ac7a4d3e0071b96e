"""Questions to a release: queries, tables, shares, consistent counts, and what is refused."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from samples import SCHEMA, people
from sfumato import RandomizedResponse, publish, read_table
from sfumato.errors import ParameterError, QueryError
from sfumato.schema import Attribute, Role, Schema


def test_queries_on_what_does_not_exist_suggest_the_nearest(release):
    """Attributes and categories alike."""
    with pytest.raises(QueryError, match="did you mean 'job'"):
        release.query("jobs = 'Tech'")
    with pytest.raises(QueryError, match="did you mean 'Sales'"):
        release.query("job = 'sales'")


def test_counts_over_the_same_attribute_twice_are_refused(release):
    """A table has one axis for each attribute."""
    with pytest.raises(ParameterError, match="different attributes"):
        release.counts(["job", "job"])


@pytest.mark.parametrize("level", [0, 1, 95, -0.5])
def test_a_confidence_level_outside_0_and_1_is_refused(release, level):
    """Percentages are a common slip."""
    with pytest.raises(ParameterError, match="between 0 and 1"):
        release.query("job = 'Tech'", confidence_level=level)


def test_unperturbed_questions_are_answered_exactly(release):
    """Without a perturbed attribute there is no error."""
    answer = release.query("sex = 'Female' AND age < 55")
    truth = read_table(people(), SCHEMA).count_by(["sex", "age"]).counts[0, :2].sum()
    assert (answer.estimate, answer.std_error) == (truth, 0)


def test_a_query_equals_its_cell_of_the_table(release):
    """Two ways to ask for one number."""
    table = release.counts(["sex", "job"])
    answer = release.query("sex = 'Male' AND job = 'Tech'")
    assert answer.estimate == pytest.approx(table.values[1, 1], abs=1e-9)
    assert answer.std_error == pytest.approx(table.std_errors[1, 1], abs=1e-9)


def test_a_restricted_table_shows_the_chosen_categories(release):
    """A condition on a tabulated attribute restricts its rows of the table."""
    whole = release.counts(["job", "sex"])
    part = release.counts(["job", "sex"], where="job IN ('Sales', 'Care')")
    assert [labels for labels, *_ in part.cells()] == [
        (job, sex) for job in ("Sales", "Care") for sex in ("Female", "Male")
    ]
    assert np.allclose(part.values, whole.values[[0, 2]])
    assert np.allclose(part.std_errors, whole.std_errors[[0, 2]])


def test_consistent_counts_are_feasible(release):
    """Not negative, and adding up to the exact margin of every unperturbed combination."""
    consistent = release.consistent_counts(["sex", "age", "job"])
    assert consistent.is_consistent
    assert (consistent.values >= 0).all()
    assert np.allclose(consistent.values.sum(axis=2), release.count_by(["sex", "age"]).counts)


@pytest.mark.parametrize("feasibility", ["projection", "clip", "em"])
def test_intervals_of_consistent_counts_hold_what_the_unbiased_ones_do(release, feasibility):
    """A true count is not negative: what the unbiased interval holds of those, the consistent one holds too, and its count."""
    names = ["sex", "age", "job"]
    consistent = release.consistent_counts(names, feasibility=feasibility)
    low, high = consistent.intervals()
    unbiased_low, unbiased_high = release.counts(names).intervals()
    assert (low <= np.clip(unbiased_low, 0, None)).all()
    assert (high >= np.clip(unbiased_high, 0, None)).all()
    assert (low <= consistent.values.ravel()).all()
    assert (high > consistent.values.ravel()).all()
    assert (low >= 0).all()


def test_proportions_are_ratios_of_counts(release):
    """Share and standard error agree with the two counts and with the delta method by hand."""
    share = release.proportion("job = 'Tech'", given="sex = 'Male'")
    top = release.query("job = 'Tech' AND sex = 'Male'")
    bottom = release.query("sex = 'Male'")
    assert share.estimate == pytest.approx(top.estimate / bottom.estimate)
    assert share.std_error == pytest.approx(top.std_error / bottom.estimate)


def test_only_unbiased_numbers_are_called_unbiased(release):
    """Consistent counts and ratios are not, and their plain data say so."""
    assert release.counts(["job"]).to_dict()["estimator"] == "unbiased"
    assert release.consistent_counts(["job"]).to_dict()["estimator"] == "consistent"
    share = release.proportion("job = 'Sales'", given="sex = 'Female'")
    assert share.to_dict()["estimator"] == "ratio of two counts, each unbiased"


def test_an_unknown_target_is_refused(release):
    """Not answered as if the other target had been meant."""
    asked = (
        lambda: release.query("job = 'Sales'", target="tabel"),
        lambda: release.counts(["job"], target="tabel"),
        lambda: release.proportion("job = 'Sales'", target="tabel"),
    )
    for ask in asked:
        with pytest.raises(ParameterError, match="table, population"):
            ask()


def test_exported_columns_have_names_of_their_own(tmp_path):
    """An attribute that is called as a column of results is called does not vanish behind it."""
    schema = Schema.from_toml("""
[attributes.low]
role = "sensitive"
categories = ["a", "b"]
""")
    private = read_table(pa.table({"low": ["a", "b", "a"]}), schema)
    table = publish(private, RandomizedResponse(retention=0.6), tmp_path / "release").counts(["low"])
    assert table.to_arrow().column_names == ["low", "estimate", "std_error", "low_", "high"]
    assert table.to_arrow()["low"].to_pylist() == ["a", "b"]


def test_a_share_within_a_group_of_many_attributes_needs_no_large_table(tmp_path):
    """What numerator and denominator ask alike of unperturbed attributes filters, and the answer is the same."""
    names = [f"q{place}" for place in range(9)]
    many = {name: Attribute(name=name, role=Role.OTHER, categories=tuple("0123456789")) for name in names}
    job = Attribute(name="job", role=Role.SENSITIVE, categories=("a", "b"))
    private = pa.table({**{name: ["1", "2"] * 20 for name in names}, "job": ["a", "b"] * 20})
    schema = Schema(attributes=(*many.values(), job))
    opened = publish(read_table(private, schema), RandomizedResponse(retention=0.6), tmp_path / "release")
    share = opened.proportion("job = 'a'", given=" AND ".join(f"{name} = '1'" for name in names))
    # All the attributes say the same, so one of them makes the same group.
    alone = opened.proportion("job = 'a'", given="q0 = '1'")
    assert (share.estimate, share.std_error) == (alone.estimate, alone.std_error)
