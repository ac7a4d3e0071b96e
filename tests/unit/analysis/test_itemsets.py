"""How often item sets occur behind distorted rows: numbers by hand, of the thesis, and by sums over rows."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato.analysis.itemsets import BitColumns, BitSupports, Distorted, Item
from sfumato.analysis.rules import Rules, Settings, mine
from sfumato.randomness.distortion import UniformDistortion, asymmetric_binary, warner

EVERYTHING = Settings(minimum_support=1e-9, minimum_confidence=0.0)


def bit_supports(columns, distortions):
    """Supports from published columns of 0 and 1, each with its distortion or none."""
    items = tuple(Item(name, 1, name) for name in columns)
    numbers = [
        (0.0, 1.0, 0.0, 1.0) if each is None else Distorted.by(each.dense(), each.inverse(), 1)
        for each in distortions
    ]
    published = [np.asarray(each, dtype=bool) for each in columns.values()]
    arrays = np.array(numbers)
    return BitSupports(
        items,
        published[0].size,
        np.array([each.sum() for each in published]),
        Distorted(arrays[:, 0], arrays[:, 1], arrays[:, 2:]),
        lambda places: BitColumns.of(published[place] for place in places),
    )


def crossed(both, first, second, neither):
    """Columns of two items from numbers of rows."""
    one = np.repeat([1, 1, 0, 0], [both, first, second, neither])
    other = np.repeat([1, 0, 1, 0], [both, first, second, neither])
    return {"a": one, "y": other}


def test_a_rule_of_a_randomized_consequent_is_the_worked_example():
    """The antecedent exact, the consequent kept by 0.6; published (60, 40, 35, 65); four rules considered, z = 2.497705."""
    supports = bit_supports(crossed(65, 35, 40, 60), [None, UniformDistortion(retention=0.6, size=2)])
    # Two directions of one pair are considered here, so that 97.5 % stands for the example's 95 % of four rules.
    settings = Settings(
        minimum_support=0.3, minimum_confidence=0.5, confidence_level=0.975, simultaneous=True
    )
    rule = next(each for each in mine(supports, settings).rules if each.antecedent == ("a",))
    for measured, expected in (
        (rule.support, (0.375, 0.291743, 0.458257)),
        (rule.confidence, (0.75, 0.583486, 0.916514)),
        (rule.lift, (1.384615, 1.170253, 1.638243)),
    ):
        assert (measured.estimate, measured.low, measured.high) == pytest.approx(expected, abs=1e-6)


SHARES = (0.415, 0.043, 0.183, 0.359)
"""Of G and H in the thesis's insurance data: neither, H only, G only, both."""
ROWS = 5822


def expected_columns(kept, rows=ROWS):
    """G and H as they are expected to be published."""
    matrix = np.array([[kept, 1 - kept], [1 - kept, kept]])
    _neither, second, first, both = np.kron(matrix, matrix) @ SHARES
    numbers = [round(rows * share) for share in (both, first, second)]
    return crossed(*numbers, rows - sum(numbers))


@pytest.mark.parametrize(
    ("kept", "support", "confidence"),
    [
        (0.65, 0.0771, 0.3182),
        (0.70, 0.0459, 0.1860),
        (0.75, 0.0315, 0.1243),
        (0.80, 0.0236, 0.0903),
        (0.85, 0.0189, 0.0693),
        (0.90, 0.0159, 0.0552),
        (0.95, 0.0138, 0.0452),
    ],
)
def test_half_widths_are_those_of_the_thesis(kept, support, confidence):
    """G => H: normal for the support, Chebyshev for the confidence, about the population; to the printed digit."""
    supports = bit_supports(expected_columns(kept), [warner(kept), warner(kept)])
    settings = Settings(
        minimum_support=0.1, minimum_confidence=0.3, interval="chebyshev", target="population"
    )
    rule = next(each for each in mine(supports, settings).rules if each.antecedent == ("a",))
    # Columns hold whole rows, which moves the fourth decimal by less than one.
    assert 1.959964 * rule.support.std_error == pytest.approx(support, abs=1.5e-4)
    assert rule.confidence.std_error / math.sqrt(0.05) == pytest.approx(confidence, abs=5e-4)


def test_the_bias_of_a_confidence_is_equation_3_4():
    """pi11 var(pi10) - pi10 var(pi11) + (pi11 - pi10) cov, over pi1+ cubed; by hand from the four cells."""
    supports = bit_supports(expected_columns(0.65), [warner(0.65), warner(0.65)])
    (rule, _) = sorted(mine(supports, EVERYTHING).rules, key=lambda each: each.antecedent)
    cells = supports.cells((0, 1), (0,), (1,))
    only, both = cells.values[2:]
    spread = cells.covariance[2:, 2:]
    by_hand = both * spread[0, 0] - only * spread[1, 1] + (both - only) * spread[0, 1]
    assert rule.confidence_bias == pytest.approx(by_hand / (only + both) ** 3, rel=1e-5)


DISTORTIONS = {
    "alike": [warner(0.8)] * 4,
    "one exact": [warner(0.9), None, warner(0.7), warner(0.8)],
    "one-sided": [asymmetric_binary(0.95, 0.7)] * 4,
}


@pytest.mark.parametrize("name", list(DISTORTIONS))
def test_estimates_are_sums_over_rows(name):
    """What every row counts toward a set is a product over its items; brute force, with variances and covariances."""
    draw = np.random.default_rng(4)
    columns = {
        each: draw.random(300) < share for each, share in zip("abcd", (0.6, 0.5, 0.4, 0.3), strict=True)
    }
    supports = bit_supports(columns, DISTORTIONS[name])
    list(mine(supports, Settings(minimum_support=1e-9, decide_by="upper")).sets)
    weights = []
    for column, distortion in zip(columns.values(), DISTORTIONS[name], strict=True):
        inverse = np.eye(2) if distortion is None else distortion.inverse()
        weights.append(inverse[column.astype(int), 1])
    for both, first, second in [
        ((0, 1, 3), (0, 3), (1,)),
        ((1, 2), (1,), (2,)),
        ((0, 1, 2, 3), (0, 1, 2), (3,)),
    ]:
        counts = [np.prod([weights[place] for place in chosen], axis=0) for chosen in (both, first, second)]
        counts.append(np.ones(300))
        sets = [set(both), set(first), set(second), set()]
        values = np.array([each.sum() for each in counts])
        covariance = np.array(
            [
                [
                    (one * other).sum()
                    - np.prod([weights[place] for place in sets[row] | sets[column]], axis=0).sum()
                    if sets[row] | sets[column]
                    else 0.0
                    for column, other in enumerate(counts)
                ]
                for row, one in enumerate(counts)
            ]
        )
        change = np.array([[1, -1, -1, 1], [-1, 0, 1, 0], [-1, 1, 0, 0], [1, 0, 0, 0]])
        found = supports.cells(both, first, second)
        np.testing.assert_allclose(found.values, change @ values, atol=1e-9)
        np.testing.assert_allclose(found.covariance, change @ covariance @ change.T, atol=1e-8)


def test_a_confidence_of_nothing_has_its_whole_range():
    """By the upper end a rule stays whose antecedent is not estimated as positive; nothing is known of it."""
    columns = crossed(8, 10, 32, 50)
    supports = bit_supports(columns, [warner(0.8), warner(0.8)])
    found = mine(supports, Settings(minimum_support=0.01, decide_by="upper"))
    rule = next(each for each in found.rules if each.antecedent == ("a",))
    assert rule.confidence.undefined
    assert (rule.confidence.low, rule.confidence.high) == (0, 1)
    assert rule.to_dict()["confidence"] is None
    assert "undefined" in Rules(found.rules, found.sets, EVERYTHING, 1, 1).summary()
    assert "whole range" in Rules(found.rules, found.sets, EVERYTHING, 1, 1).summary()


def test_a_confidence_beyond_one_does_not_come_before_a_sure_one():
    """Noise that leaves an antecedent hardly any rows gives a confidence of many times one, which nothing stands behind."""
    columns = {
        # 60 of 200 rows have a, all of them y; published as they are.
        "a": np.repeat([1, 0], [60, 140]),
        "y": np.repeat([1, 0], [90, 110]),
        # Kept by 0.6 and published 41 times, as nobody's would be 40 times; 22 of them beside y, where 18 are expected.
        "n": np.repeat([1, 0, 1, 0], [22, 68, 19, 91]),
    }
    supports = bit_supports(columns, [None, None, UniformDistortion(retention=0.6, size=2)])
    rules = mine(supports, Settings(minimum_support=1e-9, minimum_confidence=0.0, decide_by="upper")).rules
    beyond = [each for each in rules if each.confidence.estimate > 1]
    assert beyond
    assert (rules[0].antecedent, rules[0].consequent) == (("a",), ("y",))
    assert rules[0].confidence.low == 1
