"""Beliefs from classes of generalized rows."""

from __future__ import annotations

import numpy as np
import pytest

from array_tables import ArrayTable
from believed_cells import AGE, JOB, PRIOR, SEX, people
from sfumato.methods.generalization import law as class_beliefs
from sfumato.methods.generalization.law import DISTANCE, GeneralizedRows, PublishedClasses
from sfumato.schema import Attribute, Role, Schema

AGES = np.array([[True, True, False], [False, True, True]])
"""Two classes over three ages that share the middle one, as local recoding makes them."""


def classes(counts):
    """Both classes, with these rows."""
    return PublishedClasses((AGES,), np.array(counts, float))


def test_somebody_in_one_class_is_believed_its_composition():
    """The first age is in the first class only; where all are believed alike beforehand the class's shares are the belief."""
    beliefs = classes([[3, 1], [0, 4]]).beliefs(np.array([[0]]), np.array([[0.5, 0.5]]), are_members=True)
    np.testing.assert_allclose(beliefs, [[0.75, 0.25]])


def test_somebody_in_two_classes_is_in_each_by_its_rows():
    """Four rows over two ages each: both classes count the same, and their rows are added up."""
    beliefs = classes([[3, 1], [0, 4]]).beliefs(np.array([[1]]), np.array([[0.5, 0.5]]), are_members=True)
    np.testing.assert_allclose(beliefs, [[3 / 8, 5 / 8]])


def test_people_of_a_class_are_told_apart_by_what_is_believed_of_them():
    """Both ages of the first class, of whom 8 in 10 and 2 in 10 are believed to have the first value: 5 in 10 on average."""
    prior = np.array([[0.8, 0.2], [0.2, 0.8]])
    single = PublishedClasses((np.array([[True, True, False]]),), np.array([[2.0, 2.0]]))
    beliefs = single.beliefs(np.array([[0], [1]]), prior, are_members=True)
    odds = (0.8 / 0.2) ** DISTANCE
    np.testing.assert_allclose(beliefs[0, 0], odds / (1 + odds))
    np.testing.assert_allclose(beliefs[1, 0], 1 / (1 + odds))


def test_a_value_that_no_row_of_the_class_has_is_ruled_out_for_members_alone():
    """Somebody who is not in the table is like the class, and no more."""
    prior = np.array([[0.5, 0.5]])
    member = classes([[4, 0], [0, 0]]).beliefs(np.array([[0]]), prior, are_members=True)
    outside = classes([[4, 0], [0, 0]]).beliefs(np.array([[0]]), prior, are_members=False)
    assert member[0, 1] == 0
    # Five rows of the average belief beside the class's four.
    np.testing.assert_allclose(outside[0, 1], 2.5 / 9)


def test_somebody_in_no_class_was_dropped_and_keeps_the_prior():
    """Rows that were dropped say nothing of whose they were."""
    prior = np.array([[0.9, 0.1]])
    lone = PublishedClasses((np.array([[True, False, False]]),), np.array([[2.0, 2.0]]))
    beliefs = lone.beliefs(np.array([[2]]), prior, are_members=True)
    np.testing.assert_allclose(beliefs, prior)


def test_a_single_row_behind_many_ages_is_believed_of_all_of_them():
    """It is a third of a row for each age, and still the only one that there is."""
    lone = PublishedClasses((np.ones((1, 3), bool),), np.array([[0.0, 1.0]]))
    beliefs = lone.beliefs(np.array([[0], [1], [2]]), np.full((3, 2), 0.5), are_members=True)
    assert beliefs.tolist() == [[0, 1]] * 3


def by_loops(possible, counts, combinations, prior, *, are_members):
    """Beliefs person by person and class by class."""

    def may_be(person, group):
        return all(each[group][code] for each, code in zip(possible, person, strict=True))

    found = []
    for person, own in zip(combinations, prior, strict=True):
        total = np.zeros(len(own))
        for group, rows in enumerate(counts):
            if not may_be(person, group):
                continue
            average = np.mean(
                [each for other, each in zip(combinations, prior, strict=True) if may_be(other, group)],
                axis=0,
            )
            shares = np.array(rows, float) + (0 if are_members else 5 * average)
            if not shares.sum():
                continue
            covered = np.prod([each[group].sum() for each in possible])
            told = shares / shares.sum() * (own / average) ** 0.7
            total += np.sum(rows) / covered * told
        found.append(total / total.sum() if total.sum() else own)
    return np.array(found)


@pytest.mark.parametrize("are_members", [True, False])
@pytest.mark.parametrize("at_once", [1, 3, 10**6])
def test_beliefs_over_two_attributes_are_those_of_loops(monkeypatch, are_members, at_once):
    """Classes that overlap, one of no rows, one that nobody asked about may be in, and somebody who is in none."""
    monkeypatch.setattr(class_beliefs, "NUMBERS_AT_ONCE", at_once)
    sexes = np.array([[1, 1], [1, 0], [0, 1], [1, 1], [1, 0]], bool)
    ages = np.array([[1, 1, 0], [0, 1, 1], [0, 1, 0], [1, 0, 0], [0, 1, 0]], bool)
    counts = np.array([[3.0, 1, 2], [0, 4, 1], [1, 0, 0], [0, 0, 0], [2, 2, 1]])
    combinations = np.array([[0, 0], [0, 1], [1, 1], [1, 2], [1, 0], [0, 1]])
    prior = np.random.default_rng(1).dirichlet(np.ones(3), 6)
    known = PublishedClasses((sexes, ages), counts)
    beliefs = known.beliefs(combinations, prior, are_members=are_members)
    expected = by_loops((sexes, ages), counts, combinations, prior, are_members=are_members)
    np.testing.assert_allclose(beliefs, expected)
    # The fourth is in no class.
    np.testing.assert_array_equal(beliefs[3], prior[3])
    assert not np.isclose(np.delete(beliefs, 3, axis=0), np.delete(prior, 3, axis=0)).all(axis=1).any()


@pytest.mark.parametrize("at_once", [1, 10**6])
def test_true_rows_that_may_be_behind_a_class(monkeypatch, at_once):
    """Rows of every combination that a class may stand for, by hand."""
    monkeypatch.setattr(class_beliefs, "NUMBERS_AT_ONCE", at_once)
    found = classes([[1, 1], [1, 1]]).rows_that_may_be(
        np.array([[0], [1], [2]]), np.array([[1.0, 2.0], [10.0, 20.0], [100.0, 200.0]])
    )
    assert found.tolist() == [[11, 22], [110, 220]]


LAW = GeneralizedRows(
    attributes=(SEX, AGE, JOB), covers={"sex": ((0, 1),), "age": ((0,), (1, 2))}, suppressed_rows=0
)


def published():
    """Rows of an age of two values; sex was generalized to one value that stands for both, and has no column."""
    age = Attribute(name="age", role=Role.QUASI_IDENTIFIER, categories=("young", "other"))
    codes = {"age": [0, 0, 0, 1, 1, 1, 1, 1], "job": [0, 0, 1, 2, 2, 1, 2, 0]}
    columns = {name: np.array(each, np.uint8) for name, each in codes.items()}
    return ArrayTable(Schema(attributes=(age, JOB)), columns)


def test_the_classes_of_a_release():
    """Two ages with the jobs of their rows; who may be in them is anybody of that age, of either sex."""
    found = LAW.classes(published(), people(are_members=True))
    assert found.counts.tolist() == [[2, 1, 0], [1, 1, 3]]
    sexes, ages = found.possible
    assert sexes.tolist() == [[True, True], [True, True]]
    assert ages.tolist() == [[True, False, False], [False, True, True]]


@pytest.mark.parametrize("are_members", [True, False])
def test_people_of_a_release_are_believed_by_their_class(are_members):
    """Men and women of two classes, told apart by what is believed of them anyway."""
    targets = people(are_members=are_members)
    before = PRIOR.at(targets.names, targets.combinations)
    possible = (np.ones((2, 2), bool), np.array([[True, False, False], [False, True, True]]))
    counts = np.array([[2, 1, 0], [1, 1, 3]])
    expected = by_loops(possible, counts, targets.combinations, before, are_members=are_members)
    found = LAW.posterior(published(), targets, PRIOR)
    np.testing.assert_allclose(found.of_targets(), expected[targets.index])


def test_a_sensitive_value_that_was_generalized_is_believed_beforehand():
    """Rows do not show it."""
    law = GeneralizedRows(attributes=(SEX, AGE, JOB), covers={"job": ((0, 1), (2,))}, suppressed_rows=0)
    targets = people(are_members=True)
    expected = PRIOR.at(targets.names, targets.combinations)[targets.index]
    np.testing.assert_allclose(law.posterior(published(), targets, PRIOR).of_targets(), expected)


@pytest.mark.parametrize("covers", [((0,), ()), ((0,), (-1,)), ((0, 3),), ((-1, 1),), ((0, 1, 4),)])
def test_covers_that_no_category_fits_are_refused(covers):
    """None, below the first, beyond the last; the last of three is 2."""
    with pytest.raises(ValueError, match="covers no category, or an unknown one"):
        GeneralizedRows(attributes=(AGE,), covers={"age": covers}, suppressed_rows=0)
    assert GeneralizedRows(attributes=(AGE,), covers={"age": ((0, 2),)}, suppressed_rows=0)
