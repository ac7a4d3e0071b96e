"""Every method's release can be analysed through its law, or says why not."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

from samples import SCHEMA, people
from sfumato import publish, read_table
from sfumato.errors import NotIdentifiableError, TooLargeError
from sfumato.methods.base import METHODS

pytestmark = pytest.mark.filterwarnings("ignore")

ROWS = 3_000
# What these methods leave open of how job goes with sex: one publishes job apart from all else, one may publish no
# table of both.
MAY_REFUSE = {"distribution-resampling", "columnized-counts", "noisy-marginals"}


def rows():
    """People whose jobs go with their sex, none of them common enough to be in every group of decoys."""
    table = people(ROWS)
    draw = np.random.default_rng(2)
    chances = {"Female": [0.35, 0.15, 0.35, 0.15], "Male": [0.15, 0.35, 0.15, 0.35]}
    jobs = [
        draw.choice(["Sales", "Tech", "Care", "Other"], p=chances[sex]) for sex in table["sex"].to_pylist()
    ]
    return table.set_column(table.column_names.index("job"), "job", pa.array([str(each) for each in jobs]))


@pytest.fixture(scope="module", params=list(METHODS.members))
def case(request, tmp_path_factory):
    """A method and a release by its example."""
    table = read_table(rows(), SCHEMA)
    design = METHODS.members[request.param].example(SCHEMA)
    return request.param, publish(table, design, tmp_path_factory.mktemp("analyses") / "out", seed=5)


QUESTIONS = {
    "measures": lambda release, target: [
        (each.estimate, each.std_error)
        for each in release.measures("sex", "job", target=target).values
        if not each.undefined
    ],
    "mean": lambda release, target: [
        (found.estimate, found.std_error) for found in [release.mean("age", target=target)]
    ],
    "rules": lambda release, target: [
        (each.confidence.estimate, each.confidence.std_error)
        for each in release.rules(
            minimum_support=0.05,
            minimum_confidence=0.3,
            longest=2,
            among=["sex", "job"],
            target=target,
        ).rules
    ],
    "regression": lambda release, target: [
        (each.estimate, each.std_error)
        for each in release.regression("job = 'Care' ~ sex", target=target).coefficients
    ],
}


@pytest.mark.parametrize("what", list(QUESTIONS))
def test_analysis_answers_with_an_error_or_refuses(case, what):
    """Finite numbers; the population's errors are not smaller than the table's."""
    method, release = case
    try:
        table, population = (QUESTIONS[what](release, target) for target in ("table", "population"))
    except (NotIdentifiableError, TooLargeError) as refused:
        assert method in MAY_REFUSE, str(refused)
        return
    assert table
    for (value, error), (_, drawn) in zip(table, population, strict=True):
        assert math.isfinite(value)
        if value == 0 and math.isnan(error):
            # Cramér's V is cut at zero, where its slope has no bound.
            continue
        assert error >= 0
        # Of measures without noise in them the population's correction changes the scale's slope a little.
        assert drawn >= error * 0.9


def test_independence_is_tested_or_refused(case):
    """With a p-value, or in the law's own words."""
    method, release = case
    try:
        found = release.independence("sex", "job")
    except (NotIdentifiableError, TooLargeError) as refused:
        assert method in MAY_REFUSE, str(refused)
        return
    assert 0 <= found.p_value <= 1
