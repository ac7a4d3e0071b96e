"""Hierarchies built for numbers and categories, and read from files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import SchemaError
from sfumato.schema import Attribute, Role
from sfumato.schema.hierarchies import (
    PathsForm,
    TreeForm,
    balanced_hierarchy,
    flat_hierarchy,
    frequency_hierarchy,
    group_label,
    hierarchy_from_covers,
    hierarchy_from_tree,
    interval_hierarchy,
    read_hierarchy_form,
)
from strategies import attributes

AGE = Attribute(name="age", role=Role.QUASI_IDENTIFIER, bins=tuple(float(edge) for edge in range(17, 92)))
JOB = Attribute(name="job", role=Role.QUASI_IDENTIFIER, categories=tuple("abcdefg"))


def test_intervals_are_aligned_to_zero():
    """Widths 5, 10, 20, 40 over ages 17 to 90: 16, 9, 5 and 3 intervals, as in the ARX reference."""
    hierarchy = interval_hierarchy(AGE, [5, 10, 20, 40])
    assert [len(set(level)) for level in hierarchy.levels] == [74, 16, 9, 5, 3, 1]
    assert [level[0] for level in hierarchy.levels] == [
        "[17,18)",
        "[15,20)",
        "[10,20)",
        "[0,20)",
        "[0,40)",
        "*",
    ]


def test_balanced_levels_merge_blocks_of_powers():
    """Seven values by two: 7, 4, 2, 1 groups."""
    assert [len(set(level)) for level in balanced_hierarchy(JOB, 2).levels] == [7, 4, 2, 1]


@given(attributes(max_categories=9), st.integers(2, 4))
def test_built_hierarchies_are_complete(attribute, fanout):
    """Every category of any attribute has a place, missing values included."""
    for hierarchy in (flat_hierarchy(attribute), balanced_hierarchy(attribute, fanout)):
        assert hierarchy.levels[0] == attribute.labels
        assert hierarchy.covers[hierarchy.root] == tuple(range(attribute.size))


@pytest.mark.parametrize(
    "build",
    [
        flat_hierarchy,
        lambda each: balanced_hierarchy(each, 2),
        lambda each: frequency_hierarchy(each, [9, 5, 2], 2),
    ],
)
def test_a_category_called_like_the_root_stays_a_category(build):
    """A survey's mark for "not stated" may be an asterisk; the root gets another label."""
    attribute = Attribute(name="reason", role=Role.QUASI_IDENTIFIER, categories=("*", "work", "study"))
    hierarchy = build(attribute)
    assert hierarchy.levels[0] == ("*", "work", "study")
    assert hierarchy.levels[-1] == ("**",) * 3
    assert hierarchy_from_tree(attribute, hierarchy.to_tree()).levels == hierarchy.levels


def test_published_values_with_a_category_called_like_the_root_form_a_tree():
    """The recovered hierarchy has a root of its own."""
    attribute = Attribute(name="reason", role=Role.QUASI_IDENTIFIER, categories=("*", "work", "study"))
    hierarchy = hierarchy_from_covers(attribute, ["*", "known"], [(0,), (1, 2)])
    assert hierarchy is not None
    assert hierarchy.levels == (("*", "work", "study"), ("*", "known", "known"), ("**",) * 3)


def test_missing_ages_stay_apart_from_intervals():
    """They are no number."""
    age = Attribute(name="age", role=Role.QUASI_IDENTIFIER, bins=(0, 10, 20, 30), missing="category")
    assert balanced_hierarchy(age, 2).levels[1] == ("[0,20)", "[0,20)", "[20,30)", "(missing)")


@pytest.mark.parametrize("fanout", [2, 3, 4])
def test_frequent_categories_are_merged_last(fanout):
    """The most frequent one is right below the root, and no node has too many children."""
    hierarchy = frequency_hierarchy(JOB, [1000, 500, 40, 30, 20, 10, 1], fanout)
    assert hierarchy.levels[-2][0] == "a"
    assert max(len(each) for each in hierarchy.children) <= fanout


def test_an_interval_that_cuts_bins_is_refused():
    """Edges 7, 14, 21: width 10 cuts [7,14) at 10 and [14,21) at 20, and could not say where rows belong."""
    coarse = Attribute(name="age", role=Role.QUASI_IDENTIFIER, bins=(0, 7, 14, 21))
    with pytest.raises(SchemaError, match="cuts through 2 bins"):
        interval_hierarchy(coarse, [10])


@pytest.mark.parametrize("widths", [[10, 5], [5, 12], [0], [-5]])
def test_widths_that_do_not_nest_are_refused(widths):
    """Each must be a multiple of the one before."""
    with pytest.raises(SchemaError, match="widths of 'age' must grow"):
        interval_hierarchy(AGE, widths)


def test_widths_of_words_are_refused():
    """There is no number line."""
    with pytest.raises(SchemaError, match="not numbers"):
        interval_hierarchy(JOB, [5])


def test_a_fanout_of_one_is_refused():
    """It would never reach the root."""
    with pytest.raises(SchemaError, match="2 or more, got 1"):
        balanced_hierarchy(JOB, 1)


def test_group_labels_say_all_when_they_are_short():
    """And the ends when they are long."""
    assert group_label(JOB, [0, 2]) == "a or c"
    long = Attribute(name="x", role=Role.OTHER, categories=tuple(f"category number {n}" for n in range(9)))
    assert group_label(long, range(9)) == "category number 0 to category number 8 (9 categories)"


def test_files_are_read_by_their_kind(tmp_path):
    """ARX's lines, a tree as TOML, a tree as JSON."""
    arx, toml, json = tmp_path / "a.csv", tmp_path / "a.toml", tmp_path / "a.json"
    arx.write_text("a;x;*\nb;x;*\n")
    toml.write_text('x = ["a", "b"]\n')
    json.write_text('{"x": ["a", "b"]}')
    assert read_hierarchy_form(arx) == PathsForm(paths={"a": ("x", "*"), "b": ("x", "*")})
    assert read_hierarchy_form(toml) == read_hierarchy_form(json) == TreeForm(tree={"x": ["a", "b"]})


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.csv", "a;x;*\na;y;*\n", "1 categories on more than one line"),
        ("a.toml", "x = [", "not valid TOML"),
        ("a.json", "{", "not valid JSON"),
        ("a.xml", "<x/>", "unknown kind"),
        ("absent.csv", None, "cannot read"),
    ],
)
def test_files_that_are_no_hierarchy_are_refused(tmp_path, name, content, reason):
    """With the file's name and the reason."""
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(SchemaError, match=reason):
        read_hierarchy_form(tmp_path / name)
