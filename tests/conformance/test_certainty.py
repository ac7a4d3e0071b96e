"""Nothing that claims no error is wrong, and what claims a bound keeps it."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest

from sfumato import publish, read_table
from sfumato.errors import NotIdentifiableError
from sfumato.estimates.estimates import Certainty
from sfumato.methods.base import METHODS
from sfumato.schema import Schema

SCHEMA = Schema.from_toml("""
[attributes.sex]
role = "quasi-identifier"
categories = ["F", "M"]

[attributes.age]
role = "quasi-identifier"
bins = [0, 20, 40, 60, 80]

[attributes.region]
role = "other"
categories = ["North", "South", "East", "West", "nobody"]

[attributes.job]
role = "sensitive"
categories = ["a", "b", "c", "d", "e", "rare", "nobody"]
""")
"""Categories that nobody has, categories that few have, and one attribute outside the groups."""


def people(rows, seed):
    """Skewed rows; a number of them that no group size divides."""
    draw = np.random.default_rng(seed)
    return pa.table(
        {
            "sex": draw.choice(["F", "M"], rows, p=[0.7, 0.3]),
            "age": draw.integers(0, 80, rows),
            "region": draw.choice(["North", "South", "East", "West"], rows, p=[0.8, 0.16, 0.03, 0.01]),
            "job": draw.choice(["a", "b", "c", "d", "e", "rare"], rows, p=[0.25, 0.25, 0.2, 0.19, 0.1, 0.01]),
        }
    )


VARIANTS = {
    "generalization": [
        {"k": 20, "search": "fixed", "levels": {"sex": 0, "age": 1}},
        {"k": 5, "search": "full-domain", "suppression": 0.1},
    ],
    "sample-perturb-scale": [
        {"retention": 0.3, "relative_error": 0.3, "error_probability": 0.3},
        {"retention": 0.3, "strict": False},
        {"retention": 0.3, "cap": "group"},
    ],
    "splu-gen": [{"gamma": 3}, {"gamma": 3, "suppress_rarer_than": 20}],
    "columnized-counts": [
        {"k": 5, "epsilon": 4.0, "column_sets": [["sex", "job"], ["age", "region"]], "column_budget": 1},
        {"k": 5, "epsilon": 4.0, "public_size": 803},
    ],
}
CASES = [
    *((name, "example", method.example(SCHEMA)) for name, method in METHODS.members.items()),
    *(
        (name, f"variant {number}", METHODS.make(name, parameters))
        for name, designs in VARIANTS.items()
        for number, parameters in enumerate(designs, start=1)
    ),
]
each_case = pytest.mark.parametrize(
    "design", [each for *_, each in CASES], ids=[f"{a}: {b}" for a, b, _ in CASES]
)


def tables(release):
    """Every table over up to three attributes that the release answers."""
    names = [each.name for each in release.schema.attributes]
    for number in (1, 2, 3):
        for by in itertools.combinations(names, number):
            try:
                yield by, release.counts(by)
            except NotIdentifiableError:
                continue


@each_case
@pytest.mark.parametrize("rows", [61, 803])
def test_what_claims_to_be_certain_is_so(design, rows, tmp_path):
    """Exact cells are the truth, bounded ones keep their bounds, and only exact ones have no error."""
    table = read_table(people(rows, rows), SCHEMA)
    try:
        release = publish(
            table, design, tmp_path / "release", seed=rows, accept=("singled-out",), say=lambda _: None
        )
    except Exception as error:  # noqa: BLE001 - whether a design fits so few rows is not the question here
        pytest.skip(f"the design does not fit: {type(error).__name__}")
    for by, answered in tables(release):
        estimates, truth = answered.estimates, table.count_by(by).counts.ravel()
        low, high = answered.intervals()
        is_exact = estimates.is_exact
        np.testing.assert_allclose(estimates.values[is_exact], truth[is_exact], atol=1e-6, err_msg=str(by))
        is_bounded = estimates.certainty == Certainty.BOUNDED
        assert (low[is_bounded] - 1e-9 <= truth[is_bounded]).all(), by
        assert (truth[is_bounded] <= high[is_bounded] + 1e-9).all(), by
        assert ((estimates.variances == 0) == is_exact).all(), by
        least, most = estimates.ends()
        assert (least - 1e-9 <= truth).all(), by
        assert (truth <= most + 1e-9).all(), by
        # What is not exact has an interval of some width.
        assert (high[~is_exact] > low[~is_exact]).all(), by


@each_case
def test_a_population_is_never_exact(design, tmp_path):
    """Save for the number of all rows; and nothing about it has an interval without width."""
    release = publish(read_table(people(803, 1), SCHEMA), design, tmp_path / "release", seed=2)
    for by, _ in tables(release):
        answered = release.counts(by, target="population")
        low, high = answered.intervals()
        assert (answered.estimates.certainty <= Certainty.ESTIMATED).all(), by
        assert (answered.std_errors > 0).all(), by
        assert (high > low).all(), by


@each_case
def test_shares_and_differences_claim_what_their_counts_do(design, tmp_path):
    """The weakest claim of the counts; a share that is exact is the true share."""
    table = read_table(people(803, 3), SCHEMA)
    release = publish(table, design, tmp_path / "release", seed=4)
    truth = table.count_by(["sex", "region"]).counts
    try:
        share = release.proportion("region = 'North'", given="sex = 'F'")
        counts = [release.query(each) for each in ("region = 'North' AND sex = 'F'", "sex = 'F'")]
    except NotIdentifiableError:
        pytest.skip("the release does not say how the two go together")
    assert share.certainty == min(each.certainty for each in counts)
    true_share = truth[0, 0] / truth[0].sum()
    if share.certainty > Certainty.ESTIMATED:
        assert share.low - 1e-9 <= true_share <= share.high + 1e-9
    assert (share.std_error == 0) == share.is_exact
    difference = release.difference("region = 'North'", given="sex = 'F'", versus="sex = 'M'")
    assert (difference.std_error == 0) == difference.is_exact
    if difference.certainty > Certainty.ESTIMATED:
        expected = true_share - truth[1, 0] / truth[1].sum()
        assert difference.low - 1e-9 <= expected <= difference.high + 1e-9
