"""Counts at which errors of buckets are worked out."""

from __future__ import annotations

import numpy as np

from sfumato import Anatomy
from sfumato.data.coded_rows import ArrayEngine, CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.testing import release_in_memory
from sfumato.values.schema import Attribute, Role, Schema
from sfumato.values.selection import Tabulation


def test_errors_without_association_are_those_of_dealing():
    """A cell of 6 of 12 rows; buckets of 2 of 3 values, 4 rows of each value.

    By hand: without association half of a value's 4 rows are in the cell, which spreads by 1/2 * 1/2 * 4/3 = 1/3 a place.
    That of ``x (f - x) / (f (f - 1))`` at x = 2 is 2 * 2 / 12 = 1/3 too, so that both ways agree on the variance.
    """
    schema = Schema(
        attributes=(
            Attribute(name="group", role=Role.QUASI_IDENTIFIER, categories=("one", "two")),
            Attribute(name="value", role=Role.SENSITIVE, categories=("a", "b", "c")),
        )
    )
    codes = {"group": np.arange(12, dtype=np.uint8) % 2, "value": np.repeat(np.arange(3), 4).astype(np.uint8)}
    table = PrivateTable(CodedRows(schema, codes), schema, engine=ArrayEngine())
    for seed in range(20):
        release = release_in_memory(table, Anatomy(l_value=2), seed=seed)
        asked = Tabulation(("group", "value"))
        formula = release.law.formula(release, (asked,))
        if formula.buckets.rank < 3:
            continue
        unbiased = formula.weighted_counts(asked) @ formula.buckets.solution.T
        by_dealing = formula.buckets.variances(np.full((1, 3), 1 / 3), formula.buckets.solution)[0]
        # The error of a whole value is four times that of half of it; beside four rows squared, four times.
        expected = 2.0 + (unbiased - 2.0) / (1 + 4 * 4 * by_dealing / 16)
        np.testing.assert_allclose(formula._estimated(asked), expected, atol=1e-9)
        # Two cells that are all rows still hold all rows of every value.
        np.testing.assert_allclose(formula._estimated(asked).sum(axis=0), 4)
        return
    raise AssertionError("no release told the values apart")
