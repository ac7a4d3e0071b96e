"""Semantic k-anonymity and the two forms of differential privacy: what they say, and how they compose."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sfumato.errors import ParameterError
from sfumato.guarantees import GUARANTEES
from sfumato.guarantees.differential_privacy import DifferentialPrivacy, compose
from sfumato.guarantees.k_anonymity import SemanticKAnonymity


def test_the_scope_is_said():
    """Of the row, or of each column and not of all together."""
    assert "whole row" in SemanticKAnonymity(k=3).sentence
    cut = SemanticKAnonymity(k=3, scope="each-column")
    assert "every column by itself" in cut.sentence
    assert "together it is not claimed" in cut.sentence
    assert "fragment" in cut.plain_words


def test_a_column_is_anonymous_only_given_what_rows_keep_in_it():
    """Rows (a, b) and (a, -), budget 1, k = 2: the first keeps its a half of the time, so replacing it shows.

    The odds that a appears are w_2 / 2 with the row, 0 without it, and w_2 with (a, -) in its place.
    """
    appears = Fraction(1, 10)
    with_row = Fraction(1, 2) * appears
    assert with_row not in (0, appears)
    assert "given the columns and what each row keeps in them" in (
        SemanticKAnonymity(k=2, scope="each-column").sentence
    )


def test_an_epsilon_above_zero_is_said():
    """Equal distributions unless stated otherwise."""
    assert "(3, 0.5)-anonymity" in SemanticKAnonymity(k=3, epsilon=0.5).sentence


def test_a_crowd_has_at_least_one_member():
    """K below 1 means nothing."""
    with pytest.raises(ParameterError, match="k should be greater"):
        SemanticKAnonymity(k=0)


def test_forms_and_conditions_are_in_the_sentence_and_survive_the_manifest():
    """Pointwise, given something; additive is what people expect and is not named."""
    promise = DifferentialPrivacy(
        epsilon=1.0, delta=1e-5, form="pointwise", given=("the columns",), relation="add-remove"
    )
    assert "pointwise" in promise.sentence
    assert "given the columns" in promise.statement
    assert GUARANTEES.read(promise.model_dump(mode="json")) == promise
    assert "pointwise" not in DifferentialPrivacy(epsilon=1.0, delta=1e-5).sentence


def test_columns_compose_to_the_whole():
    """Theorem 6: three columns with a third of epsilon and delta each, in the form they all have."""
    column = DifferentialPrivacy(
        epsilon=0.5, delta=1e-6, form="pointwise", relation="add-remove", given=("the columns",)
    )
    whole = compose([column] * 3)
    assert whole.epsilon == pytest.approx(1.5)
    assert whole.delta == pytest.approx(3e-6)
    assert whole.form == "pointwise"
    assert whole.given == ("the columns",)


def test_a_weaker_form_weakens_the_whole():
    """The pointwise form implies the additive one, not the other way round."""
    strong = DifferentialPrivacy(epsilon=0.5, delta=1e-6, form="pointwise")
    assert compose([strong, DifferentialPrivacy(epsilon=0.5, delta=1e-6)]).form == "additive"


def test_the_unit_that_is_meant_is_described():
    """Rows of one unit together where whole units are protected, a row by itself elsewhere."""
    whole, single = (
        SemanticKAnonymity(k=5, epsilon=1.0, scope="table", whole_units=each).describe()
        for each in (True, False)
    )
    assert "with a unit removed" in whole["neighbours"]
    assert "unit removed" not in single["neighbours"]
    assert whole["protected_unit"] != single["protected_unit"]
