"""Counts of rare values by themselves, among decoys: their intervals lean as their errors do."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.data.engine import ArrayEngine, CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.methods.base import METHODS
from sfumato.methods.splu_gen.decoy_counts import DecoyCounts
from sfumato.schema import Attribute, Role, Schema
from sfumato.testing import release_in_memory

pytestmark = pytest.mark.statistical

RARE = (3, 5, 6, 7, 9)
COUNTS = np.array([90, 80, 80, 60, 60, *RARE])


def table():
    """400 rows, a public attribute, and values that a few people have."""
    sex = Attribute(name="sex", role=Role.QUASI_IDENTIFIER, categories=("F", "M"))
    job = Attribute(name="job", role=Role.SENSITIVE, categories=tuple(map(str, range(COUNTS.size))))
    schema = Schema(attributes=(sex, job))
    codes = np.repeat(np.arange(COUNTS.size), COUNTS)
    columns = {"sex": (np.arange(codes.size) % 2).astype(sex.code_type), "job": codes.astype(job.code_type)}
    return PrivateTable(CodedRows(schema, columns), schema, engine=ArrayEngine())


def test_counts_of_rare_drawn_values_cover(alarm_budget, monkeypatch):
    """Null: 95 % intervals hold counts of 3 to 9 in 94 % of 2,000 cases or more, five of each of 400 releases.

    Statistic: too few covered, exact binomial. Such a count f is published as a binomial number of 4 f draws of
    probability 1/4; score intervals hold it in 94.8 % by enumeration. Twin: normal intervals, which hold it in 89 %.
    """
    from scipy.stats import binom

    check = alarm_budget.draw("counts of rare drawn values cover")
    private, design = table(), METHODS.make("splu-gen", {"gamma": 4})
    releases = [release_in_memory(private, design, seed=check.seed % 2**31 + number) for number in range(400)]

    def covered():
        ends = [each.counts("job").intervals() for each in releases]
        return sum(int(((low <= COUNTS) & (high >= COUNTS))[-len(RARE) :].sum()) for low, high in ends)

    alarm_budget.assert_passes(float(binom.cdf(covered(), 2_000, 0.94)), check)
    monkeypatch.setattr(DecoyCounts, "spread", lambda *_: None)
    alarm_budget.assert_rejects(float(binom.cdf(covered(), 2_000, 0.94)), check)
