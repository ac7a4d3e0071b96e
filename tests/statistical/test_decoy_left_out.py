"""Counts of nearly all rows of decoys know of the rows left out, and those of nearly all rows of a small group end no earlier than a normal interval."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext

import numpy as np
import pytest
from scipy.stats import binom

from published_rows import category_attribute
from sfumato.data.engine import ArrayEngine, CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.methods.splu_gen.decoy_counts import DecoyCounts
from sfumato.methods.splu_gen.design import SPLUGen
from sfumato.methods.splu_gen.law import DecoyRows
from sfumato.schema import Role, Schema
from sfumato.testing import release_in_memory

pytestmark = pytest.mark.statistical

JOBS = 24
ROWS = 1607
"""Seven more than groups of eight divide; likewise eleven more than groups of four and of three do."""

NEARLY_ALL = "job NOT IN ('23')"
QUESTIONS = {
    "table": (NEARLY_ALL, lambda codes: codes["job"] != 23),
    "group": (
        f"{NEARLY_ALL} AND place = '1'",
        lambda codes: (codes["job"] != 23) & (codes["place"] == 1),
    ),
    "both": (
        f"{NEARLY_ALL} AND ill NOT IN ('5')",
        lambda codes: (codes["job"] != 23) & (codes["ill"] != 5),
    ),
}


def drawn_table(draw):
    """Twenty-two even jobs and two rare ones, a place of one row in twenty-five, six illnesses of which one is rare."""
    jobs = np.append(np.full(JOBS - 2, 0.99 / (JOBS - 2)), [0.008, 0.002])
    codes = {
        "place": draw.choice(2, ROWS, p=[0.96, 0.04]),
        "job": draw.choice(JOBS, ROWS, p=jobs),
        "ill": draw.choice(6, ROWS, p=[0.2, 0.2, 0.2, 0.2, 0.19, 0.01]),
    }
    attributes = (
        category_attribute("place", 2, Role.OTHER),
        category_attribute("job", JOBS),
        category_attribute("ill", 6),
    )
    return codes, Schema(attributes=attributes)


def tried(gamma, wanted, releases, seed, slips):
    """Intervals that held the truth, of so many releases of a table each, by every slip of the law and how many of the releases it is asked of."""
    held = [0] * len(slips)
    question, truth = QUESTIONS[wanted]
    for number in range(releases):
        codes, schema = drawn_table(np.random.default_rng([seed, number]))
        names = [name for name in codes if name in gamma or name == "place"]
        schema = Schema(attributes=tuple(schema[name] for name in names))
        codes = {name: codes[name] for name in names}
        table = PrivateTable(CodedRows(schema, codes), schema, engine=ArrayEngine())
        release = release_in_memory(table, SPLUGen(gamma=gamma), seed=number + 1)
        for place, (slip, most) in enumerate(slips):
            if number < most:
                # Read anew, so that a law knows nothing that another one worked out.
                read = type(release)(None, release.manifest, release.sources, release.engine)
                with slip():
                    found = read.query(question)
                held[place] += bool(found.low <= np.count_nonzero(truth(codes)) <= found.high)
    return held


@pytest.mark.parametrize(
    ("wanted", "gamma", "releases", "twins"),
    [
        ("table", {"job": 8}, 150, 40),
        ("both", {"job": 4, "ill": 3}, 150, 40),
        ("group", {"job": 8}, 450, 450),
    ],
)
def test_intervals_hold_counts_of_nearly_all_rows(alarm_budget, monkeypatch, wanted, gamma, releases, twins):
    """Null: 95 % intervals of all rows but those of a rare value hold the count of the table, in 94 % of cases or more.

    Statistic: too few held, exact binomial over so many releases, a new table of 1,607 rows each. Twins: no row is known to be left out; near the rows of a group
    intervals lean on. Of forty releases of other seeds, looked at beforehand, these held none of the first, a sixth of the second and
    eight in ten of the third, which lie twelve standard errors off with 450 releases (with 150, tried first, five). The first two are
    asked of forty, of which 27 or more would pass: what holds a sixth of them is missed once in 10**11 runs.
    """
    check = alarm_budget.draw("nearly all rows of decoys", pieces=3)

    @contextmanager
    def twin():
        with monkeypatch.context() as slip:
            if wanted == "group":
                slip.setattr(DecoyCounts, "wholes", lambda *_: None)
            slip.setattr(DecoyRows, "_remainder", 0)
            yield

    slips = ((nullcontext, releases), (twin, twins))
    ours, broken = tried(gamma, wanted, releases, check.seed, slips)
    alarm_budget.assert_passes(float(binom.cdf(ours, releases, 0.94)), check)
    alarm_budget.assert_rejects(float(binom.cdf(broken, twins, 0.94)), check)
