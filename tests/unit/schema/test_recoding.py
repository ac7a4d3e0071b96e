"""Categories merged into coarser values."""

from __future__ import annotations

import pytest

from sfumato.errors import ParameterError
from sfumato.schema import Attribute, Role
from sfumato.schema.recoding import classes_of_groups, merge_classes

AGE = Attribute(name="age", role=Role.OTHER, bins=(0, 10, 20, 30), missing="category")


def test_labels_in_no_group_stay_and_missing_stays_missing():
    """A group of bins is no bin any more; its label says what is in it."""
    class_of = classes_of_groups(AGE, [["[0,10)", "[10,20)"]], parameter="recoding")
    assert class_of.tolist() == [0, 0, 1, 2]
    coarse = merge_classes(AGE, class_of, between=" or ")
    assert coarse.labels == ("[0,10) or [10,20)", "[20,30)", "(missing)")
    assert coarse.missing_code == 2


def test_missing_values_that_are_merged_are_an_ordinary_category():
    """What is published then says so."""
    class_of = classes_of_groups(AGE, [["(missing)", "[0,10)"]], parameter="recoding")
    coarse = merge_classes(AGE, class_of, between=" | ")
    assert coarse.labels == ("[0,10) | (missing)", "[10,20)", "[20,30)")
    assert coarse.missing_code is None


@pytest.mark.parametrize(
    ("groups", "message"), [([["[0,10)", "[10,21)"]], "did you mean"), ([["[0,10)"], ["[0,10)"]], "twice")]
)
def test_unknown_and_repeated_labels_are_refused(groups, message):
    """By name: groups are public."""
    with pytest.raises(ParameterError, match=message):
        classes_of_groups(AGE, groups, parameter="recoding")
