"""l-diversity by its four definitions."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.guarantees.k_anonymity import LDiversity, achieved, diversity

# Mothali (2011), Table 1.2: {AIDS x3, Cancer}, {Cancer, Flu x2, None}, {Cancer, None x2, Flu}.
TABLE_1_2 = np.array([[3, 1, 0, 0], [0, 1, 2, 1], [0, 1, 1, 2]])
# Table 1.3: every group holds AIDS, Cancer, Flu and None once.
TABLE_1_3 = np.ones((3, 4), int)


def test_the_fraction_of_table_1_2_is_four_thirds():
    """U1: groups achieve 1.333, 2 and 2, the table the least of them."""
    assert diversity(TABLE_1_2) == pytest.approx([4 / 3, 2, 2])
    assert achieved(TABLE_1_2) == pytest.approx(4 / 3)


def test_the_fraction_of_table_1_3_is_four():
    """U1: four values, once each."""
    assert achieved(TABLE_1_3) == 4


def test_entropy_diversity_does_not_imply_the_fraction():
    """Counts 6, 1, 1, 1, 1: entropy 1.2275 is above ln 3, and the largest share is 0.6."""
    group = np.array([[6, 1, 1, 1, 1]])
    assert np.log(diversity(group, "entropy"))[0] == pytest.approx(1.2275, abs=5e-5)
    assert LDiversity(attribute="a", l_value=3, variant="entropy").holds_for(group)
    assert not LDiversity(attribute="a", l_value=3).holds_for(group)


def test_distinct_diversity_does_not_imply_the_fraction_nor_the_entropy():
    """Counts 1, 3: two values, entropy 0.5623 below ln 2 = 0.6931."""
    group = np.array([[1, 3]])
    assert np.log(diversity(group, "entropy"))[0] == pytest.approx(0.5623, abs=5e-5)
    assert LDiversity(attribute="a", l_value=2, variant="distinct").holds_for(group)
    assert not LDiversity(attribute="a", l_value=2, variant="entropy").holds_for(group)
    assert not LDiversity(attribute="a", l_value=2).holds_for(group)


def test_recursive_diversity_compares_the_largest_with_the_tail():
    """Counts 4, 2, 1: below c(2 + 1) for c = 2 at l = 2, not below 2 times 1 at l = 3."""
    group = np.array([[4, 2, 1]])
    assert diversity(group, "recursive", c=2).tolist() == [2]
    assert not LDiversity(attribute="a", l_value=2, variant="recursive", c=2).holds_for(np.array([[7, 2, 1]]))


def test_recursive_diversity_does_not_imply_the_fraction():
    """Counts 5, 2, 2 are recursively (2, 2)-diverse with a share of 5/9."""
    group = np.array([[5, 2, 2]])
    assert LDiversity(attribute="a", l_value=2, variant="recursive", c=2).holds_for(group)
    assert not LDiversity(attribute="a", l_value=2).holds_for(group)


def test_a_share_of_exactly_one_in_l_is_allowed():
    """A third in groups of three, although 1/3 has no exact double."""
    assert LDiversity(attribute="a", l_value=3).holds_for(np.array([[1, 1, 1], [2, 2, 2]]))


@pytest.mark.parametrize("variant", ["fraction", "distinct", "entropy", "recursive"])
def test_every_variant_describes_itself(variant):
    """The weaker ones say what they do not bound."""
    promise = LDiversity(attribute="disease", l_value=3, variant=variant)
    assert "disease" in promise.sentence
    assert "disease" in promise.plain_words
    assert ("does not bound" in promise.sentence) == (variant != "fraction")


def test_groups_of_unequal_sizes_have_their_own_diversity():
    """Four rows all alike, three values twice each, and a half with two quarters: ln of 1, 3 and 2 sqrt 2."""
    groups = np.array([[4, 0, 0], [2, 2, 2], [4, 2, 2], [0, 3, 3]])
    assert diversity(groups, "entropy") == pytest.approx([1, 3, 2 * np.sqrt(2), 2])
    assert diversity(groups).tolist() == [1, 3, 2, 2]
    assert diversity(groups, "distinct").tolist() == [1, 3, 3, 2]


def test_recursive_diversity_is_strict():
    """Counts 3, 2, 1: not below 2 + 1 at c = 1; below 1.5 times that, and not below 3 times 1."""
    group = np.array([[1, 3, 2]])
    assert diversity(group, "recursive").tolist() == [1]
    assert diversity(group, "recursive", c=1.5).tolist() == [2]
    assert diversity(group, "recursive", c=3).tolist() == [2]
    assert diversity(group, "recursive", c=3.1).tolist() == [3]
    assert achieved(np.array([[1, 3, 2], [1, 1, 1]]), "recursive", c=3.1) == 3
    assert achieved(np.array([[1, 3, 2], [1, 1, 1]]), "recursive") == 1


@pytest.mark.parametrize("size", [3, 5, 6, 7, 10, 49])
def test_a_group_of_equal_shares_keeps_l_however_floats_round(size):
    """By every definition but the recursive one, and no more than that."""
    group = np.ones((1, size), int)
    for variant in ("fraction", "distinct", "entropy"):
        assert LDiversity(attribute="a", l_value=size, variant=variant).holds_for(group)
        assert not LDiversity(attribute="a", l_value=size + 1e-6, variant=variant).holds_for(group)


def test_the_most_frequent_value_is_held_against_all_others_unless_more_is_allowed():
    """Recursive: 5 of one value and 4 of another; 5 is not below 4, and is below one and a half times 4."""
    group = np.array([[5, 4]])
    assert (
        not LDiversity(attribute="job", l_value=2, variant="recursive")
        .classes_that_hold(group, group[0])
        .any()
    )
    assert (
        LDiversity(attribute="job", l_value=2, variant="recursive", c=1.5)
        .classes_that_hold(group, group[0])
        .all()
    )
