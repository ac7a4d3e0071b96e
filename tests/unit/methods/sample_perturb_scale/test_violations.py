"""Violations of reconstruction privacy by plain perturbation."""

from __future__ import annotations

import pyarrow as pa
import pytest

from sfumato import read_table
from sfumato.methods.sample_perturb_scale.design import SamplePerturbScale, find_violations
from sfumato.schema import Attribute, Role, Schema

SCHEMA = Schema(
    attributes=(
        Attribute(name="place", role=Role.QUASI_IDENTIFIER, categories=("p", "q", "r", "s")),
        Attribute(name="job", role=Role.SENSITIVE, categories=("a", "b", "c")),
    )
)


def table():
    """Groups of 300 (one value), 300 (three values) and 60 rows; nobody in the fourth place."""
    jobs = ["a"] * 300 + ["a", "b", "c"] * 120
    return read_table(pa.table({"place": ["p"] * 300 + ["q"] * 300 + ["r"] * 60, "job": jobs}), SCHEMA)


def test_groups_are_held_against_their_own_caps():
    """Caps at retention .5, three categories: 71.3 at frequency 1, 321.1 at 1/3."""
    report = find_violations(table(), SamplePerturbScale(retention=0.5))
    assert (report.violating_groups, report.violating_rows) == (1, 300)
    assert (report.occupied_groups, report.possible_groups, report.rows) == (3, 4, 660)
    assert report.share_of_groups == pytest.approx(1 / 3)
    assert report.share_of_possible_groups == 0.25
    assert report.share_of_rows == pytest.approx(300 / 660)


def test_the_exact_test_finds_more():
    """What Chernoff's bound lets pass."""
    strict = SamplePerturbScale(retention=0.5, error_probability=0.1, bound="exact")
    loose = SamplePerturbScale(retention=0.5, error_probability=0.1)
    assert (
        find_violations(table(), strict).violating_groups > find_violations(table(), loose).violating_groups
    )


def test_the_report_shows_occupied_and_possible_groups():
    """As text and as plain data, marked private."""
    report = find_violations(table(), SamplePerturbScale(retention=0.5))
    assert repr(report) == "ViolationReport(1 of 3 groups, 45.5 % of rows)"
    assert str(report) == report.summary()
    assert "possible groups" in report.summary()
    assert report.to_dict()["private"]


def test_merged_groups_are_tested_as_one():
    """Two places that are alike become one group, possible groups shrink with them."""
    design = SamplePerturbScale(retention=0.5, merged_values={"place": (("q", "r"),)})
    report = find_violations(table(), design)
    assert (report.occupied_groups, report.possible_groups) == (2, 3)
    assert report.violating_groups == 2
