"""Regressions from tables of two, where no table of all attributes is published."""

from __future__ import annotations

import numpy as np
import pytest

from known_counts import numbered_attribute
from published_rows import category_attribute
from sfumato import NoisyMarginals
from sfumato.data.engine import ArrayEngine, CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.errors import NotIdentifiableError
from sfumato.schema import Role, Schema
from sfumato.testing import release_in_memory

A, B = category_attribute("a", 2, Role.OTHER), category_attribute("b", 3, Role.OTHER)
Y, WIDE = category_attribute("y", 2), category_attribute("w", 3)
SCHEMA = Schema(attributes=(A, B, Y, WIDE))


def table_of(rows=6_000):
    """Slopes 0.8 of a, -0.5 and 0.6 of b; w goes with a."""
    draw = np.random.default_rng(1)
    a, b = draw.integers(0, 2, rows), draw.integers(0, 3, rows)
    chance = 1 / (1 + np.exp(-(-0.7 + 0.8 * a - 0.5 * (b == 1) + 0.6 * (b == 2))))
    y = (draw.random(rows) < chance).astype(np.int64)
    wide = np.where(draw.random(rows) < 0.3 + 0.3 * a, 2, draw.integers(0, 2, rows))
    codes = {"a": a, "b": b, "y": y, "w": wide}
    return PrivateTable(CodedRows(SCHEMA, codes), SCHEMA, engine=ArrayEngine())


TABLE = table_of()
PAIRS = (("a", "y"), ("b", "y"), ("a", "b"), ("a", "w"), ("b", "w"))


def published(epsilon, marginals=PAIRS, seed=1):
    """Noisy tables of two."""
    return release_in_memory(TABLE, NoisyMarginals(epsilon=epsilon, marginals=marginals), seed=seed)


NEARLY_EXACT = published(700.0)
JOINT = published(700.0, (("a", "b", "y"), ("a", "b", "w")))


@pytest.mark.parametrize(
    ("formula", "family"),
    [("y ~ a + b", None), ("w ~ a + b", None), ("w = '2' ~ b + a", None), ("y ~ a + b", "multinomial")],
)
def test_tables_of_two_give_what_the_joint_gives(formula, family):
    """With next to no noise, to what that leaves."""
    from_pairs = NEARLY_EXACT.regression(formula, family=family)
    whole = JOINT.regression(formula, family=family)
    np.testing.assert_allclose(from_pairs.estimates.values, whole.estimates.values, atol=2e-2)
    assert [each.term for each in from_pairs.coefficients] == [each.term for each in whole.coefficients]
    assert any("no table of all the attributes" in each for each in from_pairs.notes)
    assert not any("no table of all the attributes" in each for each in whole.notes)


def test_the_draw_is_the_models_where_the_population_is_meant():
    """And a note says so; predictions go on."""
    found = NEARLY_EXACT.regression("y ~ a + b", target="population")
    assert any("model's own" in each for each in found.notes)
    share = found.predict({"a": "1", "b": "2"})
    assert 0.5 < share.estimate < 0.8
    np.testing.assert_allclose(
        found["a = '1'"].std_error,
        JOINT.regression("y ~ a + b", target="population")["a = '1'"].std_error,
        rtol=0.05,
    )


@pytest.mark.parametrize("target", ["table", "population"])
def test_score_intervals_of_tables_of_two_are_those_of_the_joint(target):
    """With little noise: the noise of tables of two is that of their own, the draw is the model's, which here is right."""
    pairs = published(5.0).regression("y ~ a + b", interval="score", target=target)["a = '1'"]
    normal = published(5.0).regression("y ~ a + b", target=target)["a = '1'"]
    assert pairs.low == pytest.approx(normal.low, abs=0.1 * normal.std_error)
    assert pairs.high == pytest.approx(normal.high, abs=0.1 * normal.std_error)
    assert pairs.low != normal.low
    if target == "population":
        joint = JOINT.regression("y ~ a + b", interval="score", target=target)["a = '1'"]
        exact = NEARLY_EXACT.regression("y ~ a + b", interval="score", target=target)["a = '1'"]
        assert (exact.low, exact.high) == pytest.approx((joint.low, joint.high), abs=0.005)


@pytest.mark.parametrize("interval", ["normal", "score"])
def test_a_linear_fit_from_tables_of_two_has_the_spread_of_its_response(interval):
    """Its variance is no part of the information: here it is about 2, and errors without it would be 0.7 of the right ones."""
    schema = Schema(attributes=(A, B, numbered_attribute("s", 6)))
    draw = np.random.default_rng(1)
    a, b = draw.integers(0, 2, 6_000), draw.integers(0, 3, 6_000)
    s = np.clip(np.round(1 + a + 0.5 * (b == 2) + draw.normal(0, 1.6, 6_000)), 0, 5).astype(np.int64)
    table = PrivateTable(CodedRows(schema, {"a": a, "b": b, "s": s}), schema, engine=ArrayEngine())
    found = [
        release_in_memory(table, NoisyMarginals(epsilon=700.0, marginals=marginals), seed=1).regression(
            "s ~ a + b", family="linear", target="population", interval=interval
        )["a = '1'"]
        for marginals in ((("a", "s"), ("b", "s"), ("a", "b")), (("a", "b", "s"),))
    ]
    # Robust errors of the joint differ from the model's by what the spread differs between groups.
    assert found[0].high - found[0].low == pytest.approx(found[1].high - found[1].low, rel=0.05)


@pytest.mark.parametrize(
    ("formula", "settings", "marginals"),
    [
        ("y ~ a*b", {}, PAIRS),
        ("y ~ a + b", {}, (("a", "y"), ("b", "y"))),
        ("y ~ a + b", {"where": "a = '0' OR w = '2'"}, PAIRS),
    ],
)
def test_what_tables_of_two_leave_open_is_refused_in_the_laws_words(formula, settings, marginals):
    """A product needs its own table, the covariates theirs."""
    release = NEARLY_EXACT if marginals == PAIRS else published(700.0, marginals)
    with pytest.raises(NotIdentifiableError, match="no published table holds"):
        release.regression(formula, **settings)
