"""Hierarchies as trees on the page of a release."""

from __future__ import annotations

import pyarrow as pa
import pytest

from sfumato import RandomizedResponse, publish, read_table
from sfumato.methods.generalization.design import Generalization
from sfumato.report import release_page as section
from sfumato.report import write_report
from sfumato.report.document import Folded
from sfumato.report.release_page import tree_section
from sfumato.schema import Schema
from web_pages import Page

SCHEMA = Schema.from_toml("""
[attributes.work]
role = "quasi-identifier"
categories = ["state", "<b>city</b>", "own"]
[attributes.age]
role = "quasi-identifier"
bins = [0, 10, 20, 30, 40]
[attributes.disease]
role = "sensitive"
categories = ["flu", "cold"]
""")
PEOPLE = pa.table(
    {
        "work": ["state", "<b>city</b>", "own", "own"] * 4,
        "age": [5, 15, 25, 35] * 4,
        "disease": ["flu", "cold"] * 8,
    }
)
FIXED = Generalization(
    k=2,
    search="fixed",
    hierarchies={"work": {"tree": {"government & co": ["state", "<b>city</b>"], "own": []}}},
    levels={"work": 1, "age": 1},
)


@pytest.fixture
def release(tmp_path):
    """Two attributes generalized to their first level."""
    return publish(read_table(PEOPLE, SCHEMA), FIXED, tmp_path / "release", seed=1)


def test_every_generalized_attribute_is_drawn_as_a_tree(release):
    """Published values, and the categories that branch off."""
    [made] = tree_section(release)
    work, age = made.blocks[1:]
    assert work.title == "work: 2 published values over 3 categories"
    assert work.text.splitlines() == [
        "*",
        "├── government & co",
        "│   ├── state",
        "│   └── <b>city</b>",
        "└── own",
    ]
    assert age.text.splitlines()[1] == "├── [0,20)"


def test_stated_hierarchies_are_shown_whole(release):
    """With the levels that the recoding did not use."""
    [made] = tree_section(release, FIXED)
    [work] = made.blocks[-1].blocks
    assert work.title == "work: levels 0 to 2"
    assert "├── government & co" in work.text


def test_labels_stay_text_on_the_page(release, tmp_path):
    """A category that looks like markup is escaped, and the tree reads as drawn."""
    text = write_report(release, tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<b>city" not in text
    assert "│   └── &lt;b&gt;city&lt;/b&gt;" in text
    assert "What stands behind the published values" in Page(text).visible


def test_a_release_that_merged_nothing_has_no_such_section(tmp_path):
    """Perturbed rows stand for themselves."""
    release = publish(
        read_table(PEOPLE, SCHEMA), RandomizedResponse(retention=0.5), tmp_path / "release", seed=1
    )
    assert tree_section(release) == []


def test_values_that_overlap_are_said_to_form_no_tree(tmp_path):
    """Local recoding cut one box at 20 and another at 10, so [10,40) and [0,20) are both published."""
    ages = [5] * 4 + [15] * 4 + [5] * 2 + [15] * 4 + [25] * 2 + [35] * 2
    people = pa.table(
        {
            "work": ["state"] * 8 + ["own"] * 10,
            "age": ages,
            "disease": ["flu"] * 18,
        }
    )
    release = publish(read_table(people, SCHEMA), Generalization(k=4), tmp_path / "release", seed=1)
    covers = [set(each) for each in release.law.covers["age"]]
    assert any(a & b and not (a <= b or b <= a) for a in covers for b in covers), (
        "the case is not built right"
    )
    [made] = tree_section(release)
    assert any("overlap, so they form no tree" in getattr(each, "text", "") for each in made.blocks)


def test_a_long_tree_is_folded_and_a_very_long_one_cut(release, monkeypatch):
    """The page stays readable."""
    monkeypatch.setattr(section, "LONGEST_OPEN_TREE", 3)
    monkeypatch.setattr(section, "LONGEST_TREE", 3)
    [made] = tree_section(release)
    assert isinstance(made.blocks[1], Folded)
    assert made.blocks[1].blocks[0].text.endswith("... and 2 more lines")
