"""The least noise that hides groups' sensitive values, from private rows."""

from __future__ import annotations

import numpy as np
import pytest

from published_rows import category_attribute
from sfumato.custody.calibrate import plan_hiding
from sfumato.data.engine import ArrayEngine, CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.errors import QueryError
from sfumato.schema import Role, Schema

SCHEMA = Schema(
    attributes=(category_attribute("group", 2, Role.QUASI_IDENTIFIER), category_attribute("earns", 2))
)


def table_of(counts):
    """Rows with these counts of group and value."""
    cells = np.repeat(np.array(list(np.ndindex(2, 2))), np.ravel(counts), axis=0)
    return PrivateTable(
        CodedRows(SCHEMA, {"group": cells[:, 0], "earns": cells[:, 1]}), SCHEMA, engine=ArrayEngine()
    )


def test_the_thesis_example_needs_a_scale_of_49():
    """501 people of whom 420 earn more than 50K, where 24.78 % of 45,222 do; the others are as all are."""
    found = plan_hiding(table_of([[81, 420], [33_935, 10_786]]), "earns", ["group"])
    assert round(found.noise.scale, 1) == 49.0
    assert round(found.noise.epsilon, 4) == 0.0408
    assert "private" in str(found)
    assert found.to_dict()["private"] is True
    assert repr(found).startswith("HidingPlan(earns by group: epsilon 0.04")


def test_groups_like_all_others_need_no_noise():
    """Nothing is disclosed without it either."""
    found = plan_hiding(table_of([[500, 500], [500, 500]]), "earns", ["group"])
    assert found.noise.scale == 0
    assert "without noise either" in str(found)


@pytest.mark.parametrize("by", [[], ["earns"]])
def test_groups_that_make_no_sense_are_refused(by):
    """Others than the sensitive attribute, and one at least."""
    with pytest.raises(QueryError):
        plan_hiding(table_of([[5, 5], [5, 5]]), "earns", by)


def test_rows_without_a_known_value_count_in_their_groups_only():
    """Of 501 people 420 earn more; of the other 81 nothing is known, and nothing of them can be told."""
    counts = [[81, 420], [33_935, 10_786]]
    both, one = (
        plan_hiding(table_of(counts), "earns", ["group"], unknown=each)
        for each in ((), (SCHEMA["earns"].labels[0],))
    )
    assert one.noise.scale == both.noise.scale
    # Without the rare ones among them the group is as all are: what is told is told of known values alone.
    turned = plan_hiding(
        table_of([[420, 81], [10_786, 33_935]]), "earns", ["group"], unknown=[SCHEMA["earns"].labels[0]]
    )
    assert turned.noise.scale == 0
    assert "no value to be told" in str(one)
    assert one.to_dict()["unknown"] == [SCHEMA["earns"].labels[0]]


@pytest.mark.parametrize("unknown", [["nothing"], list(SCHEMA["earns"].labels)])
def test_unknown_labels_must_be_labels_and_not_all_of_them(unknown):
    """One that is not there, and all."""
    with pytest.raises(QueryError, match=r"no category|nothing to hide"):
        plan_hiding(table_of([[5, 5], [5, 5]]), "earns", ["group"], unknown=unknown)


def test_the_epsilon_to_publish_comes_from_a_coarse_grid():
    """One person more in the telling group changes the exact number, and nothing that is to be published."""
    plans = [
        plan_hiding(table_of([[81, 420 + more], [33_935, 10_786]]), "earns", ["group"]) for more in (0, 1)
    ]
    assert plans[0].noise.epsilon != plans[1].noise.epsilon
    assert [each.epsilon_to_publish for each in plans] == [0.02, 0.02]
    assert plans[0].summary() == plans[1].summary()
    assert "epsilon 0.02 at sensitivity 2" in plans[0].summary()
    assert "scale 100" in plans[0].summary()
