"""Sums over rows with noisy counts: what was left out is in their intervals."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from array_tables import ArrayTable
from sfumato.estimates.exact_intervals import half_widths_of_sums
from sfumato.methods.columnized_counts.design import ColumnizedCounts
from sfumato.methods.columnized_counts.noisy_counts import COUNT_COLUMN
from sfumato.schema import Attribute, Role, Schema
from sfumato.testing import release_in_memory
from sfumato.testing.trials import coverage_p_value

pytestmark = pytest.mark.statistical

LEAST_COVERAGE = 0.94
RELEASES = 100
SHARES = np.array([0.5, 0.3, 0.15, 0.04, 0.01])
DEFAULTS = {"epsilon": 1.0}


def skewed_table(attributes, rows, seed=3):
    """Independent attributes of five categories, the last of them held by one row in a hundred."""
    draw = np.random.default_rng(seed)
    schema = Schema(
        attributes=tuple(
            Attribute(name=f"a{place}", role=Role.OTHER, categories=tuple("vwxyz"))
            for place in range(attributes)
        )
    )
    codes = {
        each.name: draw.choice(SHARES.size, rows, p=SHARES).astype(each.code_type)
        for each in schema.attributes
    }
    return ArrayTable(schema, codes)


def questions(table):
    """Sums over one attribute, of minority values among them; joint sums; shares: conditions, and whom among."""
    names = table.schema.names[:2]
    single = [f"{name} = '{value}'" for name in names for value in "vwxyz"]
    joint = [
        " AND ".join(pair) for pair in itertools.product(single[:5:2], [f"{names[1]} IN ('v', 'z')"])
    ] + [f"{names[0]} = 'z' AND {names[1]} = 'z'"]
    shares = [(each, "") for each in single[:5]] + [(f"{names[1]} = 'z'", f"{names[0]} = 'v'")]
    return [*((each, None) for each in ("", *single, *joint)), *shares]


def truths(table, asked):
    """True counts and shares, by counting codes."""
    where = {text: _true_count(table, text) for pair in asked for text in (pair[0], pair[1] or "")} | {
        f"{one} AND {other}": _true_count(table, f"{one} AND {other}") for one, other in asked if other
    }
    return [
        where[one] if given is None else where[f"{one} AND {given}" if given else one] / where[given]
        for one, given in asked
    ]


def _true_count(table, text):
    chosen = np.ones(table.number_of_rows, bool)
    for condition in filter(None, text.split(" AND ")):
        name, values = condition[:2], [each for each in condition[2:] if each in "vwxyz"]
        chosen &= np.isin(table.codes[name], ["vwxyz".index(each) for each in values])
    return int(chosen.sum())


def covered(table, design, asked, seed, *, narrow=False):
    """For every release and question, whether the 95 % interval held the truth."""
    true = truths(table, asked)
    rows = []
    for number in range(RELEASES):
        release = release_in_memory(table, design, seed=seed + number)
        rows.append(
            [
                low <= truth <= high
                for (low, high), truth in zip(
                    (_interval(release, *each, narrow=narrow) for each in asked), true, strict=True
                )
            ]
        )
    return np.array(rows, float)


def _interval(release, question, given, *, narrow):
    answer = release.query(question) if given is None else release.proportion(question, given=given)
    if not narrow:
        return answer.low, answer.high
    # The twin: published rows and their noise alone.
    (batch,) = release.scan("rows", (*release.schema.names, COUNT_COLUMN))
    chosen = np.ones(batch.number_of_rows, bool)
    for condition in filter(None, question.split(" AND ")):
        values = [each for each in condition[2:] if each in "vwxyz"]
        chosen &= np.isin(batch.codes[condition[:2]], ["vwxyz".index(each) for each in values])
    value = batch.codes[COUNT_COLUMN][chosen].sum()
    half = half_widths_of_sums(release.law.matrix.noise, [max(chosen.sum(), 1)], 0.95)[0]
    return value - half, value + half


@pytest.mark.parametrize("attributes", [2, 8])
def test_sums_cover_what_was_left_out(attributes, alarm_budget):
    """Null: a 95 % interval holds the truth with 94 % or more. 100 releases, 20 questions, exact binomial, Bonferroni.

    Of 20,000 rows, with two attributes nearly all are published, with eight at defaults nearly none.
    Twin: the noise of the published rows alone.
    """
    check = alarm_budget.draw("sums of noisy rows cover", pieces=2)
    table = skewed_table(attributes, 20_000)
    asked = questions(table)
    design = ColumnizedCounts(**DEFAULTS)
    held = covered(table, design, asked, check.seed)
    alarm_budget.assert_passes(_least_p_value(held), check)
    counts = [each for each in asked if each[1] is None]
    twin = covered(table, design, counts, check.seed, narrow=True)
    alarm_budget.assert_rejects(_least_p_value(twin), check)


def _least_p_value(held):
    """Bonferroni over questions."""
    return min(1.0, held.shape[1] * min(coverage_p_value(each, LEAST_COVERAGE) for each in held.T))
