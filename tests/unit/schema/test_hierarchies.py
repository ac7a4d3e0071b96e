"""Hierarchies: complete by construction, and refused when they are not."""

from __future__ import annotations

import pytest

from sfumato.errors import ParameterError, SchemaError
from sfumato.schema import Attribute, Role
from sfumato.schema.hierarchies import (
    Hierarchy,
    hierarchy_from_covers,
    hierarchy_from_paths,
    hierarchy_from_tree,
)

WORK = Attribute(
    name="work",
    role=Role.QUASI_IDENTIFIER,
    categories=("private", "state", "city", "none"),
    missing="category",
)
TREE = {"government": ["state", "city"], "private": [], "none": []}


def test_leaves_are_all_categories_in_code_order():
    """Whatever the order in the tree."""
    assert hierarchy_from_tree(WORK, TREE).labels[: WORK.size] == WORK.labels


def test_a_missing_category_is_put_below_the_root():
    """Files of hierarchies rarely name it."""
    hierarchy = hierarchy_from_tree(WORK, TREE)
    assert hierarchy.levels[1] == ("private", "government", "government", "none", "(missing)")


def test_every_level_is_a_partition_of_the_one_before():
    """A leaf near the root stays as it is until the others have caught up."""
    deep = {"a": {"b": {"c": ["state", "city"]}, "none": []}, "private": []}
    hierarchy = hierarchy_from_tree(WORK, deep)
    assert [len(set(level)) for level in hierarchy.levels] == [5, 4, 4, 3, 1]
    assert [hierarchy.levels[number][0] for number in range(5)] == ["private"] * 4 + ["*"]


def test_covers_hold_every_category_below():
    """By code."""
    hierarchy = hierarchy_from_tree(WORK, TREE)
    assert hierarchy.covers[hierarchy.labels.index("government")] == (1, 2)
    assert hierarchy.covers[hierarchy.root] == (0, 1, 2, 3, 4)


def test_the_tree_reads_back():
    """Tree to hierarchy to tree to hierarchy."""
    hierarchy = hierarchy_from_tree(WORK, TREE)
    assert hierarchy_from_tree(WORK, hierarchy.to_tree()) == hierarchy
    assert Hierarchy.model_validate(hierarchy.model_dump(mode="json")) == hierarchy


def test_all_problems_of_a_tree_are_listed_at_once():
    """Missing, unknown and double, by name where the categories are public."""
    with pytest.raises(SchemaError) as caught:
        hierarchy_from_tree(WORK, {"x": ["state", "private"], "y": ["private", "moon"]})
    text = str(caught.value)
    assert "misses 2 of 5 categories: 'city', 'none'" in text
    assert "1 leaves that are no category" in text
    assert "two parents for 1 categories: 'private'" in text


def test_problems_with_learned_categories_are_listed_by_position():
    """Categories that were read off private rows are not repeated."""
    learned = WORK.model_copy(update={"learned": True})
    with pytest.raises(SchemaError) as caught:
        hierarchy_from_tree(learned, {"x": ["state", "private"], "y": ["private", "moon"]})
    text = str(caught.value)
    assert "positions 3, 4" in text
    assert "positions 1" in text
    assert not any(label in text for label in ("city", "none", "private", "moon", "state"))


def test_a_group_in_two_places_is_refused():
    """Two parents for an inner node."""
    with pytest.raises(SchemaError, match="group labels in two places: 'g'"):
        hierarchy_from_tree(WORK, {"a": {"g": ["state"]}, "b": {"g": ["city"]}, "private": [], "none": []})


def test_paths_keep_the_levels_they_state():
    """ARX's form repeats a label where nothing changes."""
    paths = {
        "private": ["private", "*"],
        "state": ["government", "*"],
        "city": ["government", "*"],
        "none": ["none", "*"],
    }
    assert hierarchy_from_paths(WORK, paths) == hierarchy_from_tree(WORK, TREE)


def test_paths_with_two_parents_are_refused():
    """The same group under two others."""
    paths = {
        "private": ["g", "a", "*"],
        "state": ["g", "b", "*"],
        "city": ["city", "b", "*"],
        "none": ["none", "a", "*"],
    }
    with pytest.raises(SchemaError, match="'g'"):
        hierarchy_from_paths(WORK, paths)


def test_paths_of_different_lengths_are_refused():
    """A level must say something of every category."""
    with pytest.raises(SchemaError, match="fewer levels for 1 categories"):
        hierarchy_from_paths(
            WORK, {"private": ["*"], "state": ["x", "*"], "city": ["x", "*"], "none": ["x", "*"]}
        )


def test_paths_without_any_label_are_refused():
    """A file of categories alone says nothing of what is above them."""
    with pytest.raises(SchemaError, match="states no label above any category"):
        hierarchy_from_paths(WORK, {label: [] for label in WORK.labels})


def test_a_level_beyond_the_root_is_refused():
    """The message states what exists."""
    with pytest.raises(ParameterError, match="levels 0 to 2, got 3"):
        hierarchy_from_tree(WORK, TREE).level(3)


@pytest.mark.parametrize(
    ("levels", "reason"),
    [
        ((("a", "b"), ("x", "x"), ("*",)), "label for each category"),
        ((("a", "b"), ("x", "y")), "end with one label"),
        ((("a", "b", "c"), ("x", "x", "y"), ("u", "v", "v"), ("*", "*", "*")), "two parents"),
        ((("a", "b", "c"), ("x", "x", "c"), ("c", "x", "x"), ("*", "*", "*")), "different categories"),
    ],
)
def test_levels_that_are_no_tree_are_refused(levels, reason):
    """A hierarchy that exists is valid."""
    with pytest.raises(ValueError, match=reason):
        Hierarchy(attribute="a", levels=levels)


LETTERS = Attribute(name="letter", role=Role.QUASI_IDENTIFIER, categories=tuple("abcdef"))


def test_nested_values_form_the_tree_they_were_cut_from():
    """Values within values, a category left alone, and a value for all of them as the root."""
    found = hierarchy_from_covers(
        LETTERS, ["ab", "abc", "any", "e"], [(0, 1), (0, 1, 2), (0, 1, 2, 3, 4, 5), (4,)]
    )
    assert found.to_tree() == {"any": {"abc": {"ab": ["a", "b"], "c": []}, "d": [], "e": [], "f": []}}


def test_a_coarse_name_for_one_category_stays_visible():
    """The interval [10,20) over the only bin inside it is a value of its own."""
    age = Attribute(name="age", role=Role.QUASI_IDENTIFIER, bins=(15, 20, 30))
    found = hierarchy_from_covers(age, ["[10,20)", "[20,30)"], [(0,), (1,)])
    assert found.to_tree() == {"*": {"[10,20)": ["[15,20)"], "[20,30)": []}}


@pytest.mark.parametrize(
    ("labels", "covers"),
    [(["ab", "bc"], [(0, 1), (1, 2)]), (["x", "x"], [(0, 1), (2, 3)]), (["c"], [(0, 1)])],
    ids=["overlapping", "one label twice", "a category's label"],
)
def test_values_that_form_no_tree_give_none(labels, covers):
    """Instead of a tree that misleads."""
    assert hierarchy_from_covers(LETTERS, labels, covers) is None
