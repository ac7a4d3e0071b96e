"""Noisy counts of columns and recoding by a fixed rule, on all tiny tables: nobody stands out, and sabotage is caught."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest

from exact.brute_force import pointwise_delta, rows_not_anonymous
from exact.enumeration import ALLOWANCE, REFUSED
from exact.holding import (
    TooStrongError,
    factor,
    hold,
    mechanism,
)
from exact.tiny_tables import COLUMNS, promise_of, schema_of
from sfumato.guarantees.k_anonymity import SemanticKAnonymity
from sfumato.methods.columnized_counts import noisy_counts as noisy_count_matrix
from sfumato.methods.generalization.design import Generalization
from sfumato.methods.splu_gen.design import SPLUGen


@pytest.mark.parametrize("name", list(COLUMNS))
def test_columnized_counts_whatever_the_number_of_rows(name):
    """Tables of none to three rows: a release exists for each, and one row more changes no output by more than stated."""
    schema = schema_of(jobs=2, people=2)
    design = COLUMNS[name]
    outputs = mechanism(design, schema)
    semantic, private, _ = design.guarantees(schema)
    growth = factor(private.epsilon) * (1 + ALLOWANCE)
    largest = Fraction(0)
    sizes = range(1, 4 if name != "two columns" else 2)
    for size in sizes:
        for jobs in itertools.combinations_with_replacement(range(2), size):
            rows = tuple((0, job) for job in jobs)
            for gone in range(size):
                fewer = rows[:gone] + rows[gone + 1 :]
                here, there = outputs(rows), outputs(fewer)
                assert REFUSED not in here
                assert REFUSED not in there
                largest = max(largest, pointwise_delta(here, there, growth))
            if not design.is_cut:
                crowd = factor(semantic.epsilon) * (1 + ALLOWANCE)
                assert rows_not_anonymous(outputs, rows, semantic.k, crowd) == ()
    hold(Fraction(private.delta), largest, "delta")
    assert largest > Fraction(private.delta) / 10


def test_release_words_that_grow_too_fast_and_refusals_are_caught(monkeypatch):
    """Sabotage: a row appears twice as often; and no release for tables of fewer rows than the threshold."""
    schema = schema_of(jobs=2, people=2)
    design = COLUMNS["crowds of two"]
    _, private, _ = design.guarantees(schema)
    growth = factor(private.epsilon) * (1 + ALLOWANCE)
    two, one = ((0, 0), (0, 0)), ((0, 0),)
    words = noisy_count_matrix.NoisyCountMatrix.words
    with monkeypatch.context() as patch:
        patch.setattr(
            noisy_count_matrix.NoisyCountMatrix,
            "words",
            lambda self: tuple(2 * each for each in words(self)[:3]),
        )
        outputs = mechanism(design, schema)
        with pytest.raises(TooStrongError):
            hold(Fraction(private.delta), pointwise_delta(outputs(two), outputs(one), growth), "delta")
    refusing = mechanism(lambda table: design if table.number_of_rows >= 2 else unpublishable(), schema)
    with pytest.raises(TooStrongError):
        hold(Fraction(private.delta), pointwise_delta(refusing(two), refusing(one), growth), "delta")


def unpublishable():
    """A design that refuses every small table."""
    return SPLUGen(gamma=5)


def test_a_fixed_recoding_is_semantically_anonymous_and_a_searched_one_is_not():
    """Every table of up to three rows; the searched recoding promises no such thing, and would be caught."""
    schema = schema_of(jobs=2, people=2)
    fixed = Generalization(k=2, search="fixed", levels={"who": 0})
    semantic = promise_of(fixed, schema, SemanticKAnonymity)
    outputs = mechanism(fixed, schema)
    searched = Generalization(k=2)
    assert not [each for each in searched.guarantees(schema) if isinstance(each, SemanticKAnonymity)]
    found = mechanism(searched, schema)
    growth = factor(semantic.epsilon) * (1 + ALLOWANCE)
    values = list(itertools.product(range(2), repeat=2))
    broken = 0
    for size in (2, 3, 4):
        for rows in itertools.combinations_with_replacement(values, size):
            assert rows_not_anonymous(outputs, rows, semantic.k, growth) == ()
            broken += bool(rows_not_anonymous(found, rows, 2, growth))
    assert broken
