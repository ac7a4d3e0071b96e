"""Beliefs from classes of generalized rows."""

from __future__ import annotations

import numpy as np

from sfumato.methods.generalization.law.class_beliefs import DISTANCE, PublishedClasses

AGES = np.array([[True, True, False], [False, True, True]])
"""Two classes over three ages that share the middle one, as local recoding makes them."""


def classes(counts):
    """Both classes, with these rows."""
    return PublishedClasses((AGES,), np.array(counts, float))


def test_somebody_in_one_class_is_believed_its_composition():
    """The first age is in the first class only; where all are believed alike beforehand the class's shares are the belief."""
    beliefs, found = classes([[3, 1], [0, 4]]).beliefs(
        np.array([[0]]), np.array([[0.5, 0.5]]), are_members=True
    )
    assert found.tolist() == [True]
    np.testing.assert_allclose(beliefs, [[0.75, 0.25]])


def test_somebody_in_two_classes_is_in_each_by_its_rows():
    """Four rows over two ages each: both classes count the same, and their rows are added up."""
    beliefs, _ = classes([[3, 1], [0, 4]]).beliefs(np.array([[1]]), np.array([[0.5, 0.5]]), are_members=True)
    np.testing.assert_allclose(beliefs, [[3 / 8, 5 / 8]])


def test_people_of_a_class_are_told_apart_by_what_is_believed_of_them():
    """Both ages of the first class, of whom 8 in 10 and 2 in 10 are believed to have the first value: 5 in 10 on average."""
    prior = np.array([[0.8, 0.2], [0.2, 0.8]])
    single = PublishedClasses((np.array([[True, True, False]]),), np.array([[2.0, 2.0]]))
    beliefs, _ = single.beliefs(np.array([[0], [1]]), prior, are_members=True)
    odds = (0.8 / 0.2) ** DISTANCE
    np.testing.assert_allclose(beliefs[0, 0], odds / (1 + odds))
    np.testing.assert_allclose(beliefs[1, 0], 1 / (1 + odds))


def test_a_value_that_no_row_of_the_class_has_is_ruled_out_for_members_alone():
    """Somebody who is not in the table is like the class, and no more."""
    prior = np.array([[0.5, 0.5]])
    member, _ = classes([[4, 0], [0, 0]]).beliefs(np.array([[0]]), prior, are_members=True)
    outside, _ = classes([[4, 0], [0, 0]]).beliefs(np.array([[0]]), prior, are_members=False)
    assert member[0, 1] == 0
    # Five rows of the average belief beside the class's four.
    np.testing.assert_allclose(outside[0, 1], 2.5 / 9)


def test_somebody_in_no_class_was_dropped_and_keeps_the_prior():
    """Rows that were dropped say nothing of whose they were."""
    prior = np.array([[0.9, 0.1]])
    lone = PublishedClasses((np.array([[True, False, False]]),), np.array([[2.0, 2.0]]))
    beliefs, found = lone.beliefs(np.array([[2]]), prior, are_members=True)
    assert found.tolist() == [False]
    np.testing.assert_allclose(beliefs, prior)
