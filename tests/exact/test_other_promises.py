"""Promises about beliefs, groups and counts, in fractions; and that no probabilistic promise is left out."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from exact.enumeration import ALLOWANCE, WORDS, largest_ratio, outputs_of, published
from exact.holding import TooStrongError, factor, hold, table_of
from sfumato.custody.calibrate import choose
from sfumato.data.engine import ArrayEngine, CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.errors import SfumatoError
from sfumato.guarantees import GUARANTEES
from sfumato.guarantees.amplification import BeliefBound, BeliefGrowth, gamma_of_retention
from sfumato.guarantees.reconstruction_privacy import ReconstructionPrivacy
from sfumato.guarantees.small_sum_privacy import LargeSumUtility
from sfumato.methods.anatomy.design import Anatomy
from sfumato.methods.randomized_response.design import RandomizedResponse
from sfumato.randomness.streams import UniformReplacement
from sfumato.schema import Schema
from sfumato.testing import release_in_memory

SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "who": {"role": "quasi-identifier", "categories": ["0", "1"]},
            "job": {"role": "sensitive", "categories": ["a", "b", "c"]},
        }
    }
)

CHECKED = {
    "local-differential-privacy": "test_responses.py",
    "item-differential-privacy": "test_other_promises.py",
    "amplification": "test_responses.py",
    "differential-privacy": "test_noisy_counts.py",
    "semantic-k-anonymity": "test_crowds.py",
    "odds-factor": "test_decoys.py",
    "small-sum-privacy": "test_decoys.py",
    "large-sum-utility": "test_other_promises.py",
    "belief-bound": "test_other_promises.py",
    "belief-growth": "test_other_promises.py",
    "reconstruction-privacy": "test_other_promises.py",
    "reconstruction-risk": "test_other_promises.py",
}
"""Where each promise about draws is held against the truth."""


def test_no_promise_about_draws_is_left_out():
    """A promise is about the published tables, which judge it by themselves, or it is here."""
    about_draws = {name for name, each in GUARANTEES.members.items() if not each.holds_of_tables}
    assert about_draws == set(CHECKED)


BASKETS = Schema.from_toml("""
[long]
unit = "user"
item = "item"

[attributes.user]
role = "identifier"

[attributes.item]
role = "other"
categories = ["x", "y"]
""")


def test_one_item_of_a_unit():
    """All tables of two baskets of up to two items: stated and true are alike, but for units that have no item at all.

    Those are not in the data, and the number of units is published: the promise says that this is not hidden.
    """
    design = RandomizedResponse(retention=0.5)
    (promise,) = design.guarantees(BASKETS)

    def outputs(baskets):
        units = np.repeat(np.arange(2), [len(each) for each in baskets])
        codes = {"user": units, "item": np.array([item for each in baskets for item in each], np.uint8)}
        table = PrivateTable(CodedRows(BASKETS.publishable, codes), BASKETS, engine=ArrayEngine())
        return outputs_of(lambda: published(table, design))

    found = {each: outputs(each) for each in itertools.product([(), (0,), (1,), (0, 1)], repeat=2)}
    worst, of_nobody = Fraction(0), Fraction(0)
    for one, other in itertools.combinations(found, 2):
        different = [set(a) ^ set(b) for a, b in zip(one, other, strict=True) if a != b]
        if len(different) == 1 and len(different[0]) == 1:
            ratio = largest_ratio(found[one], found[other])
            if one.count(()) == other.count(()):
                worst = max(worst, ratio)
            else:
                of_nobody = max(of_nobody, ratio)
    hold(factor(promise.epsilon), worst, "one item")
    assert of_nobody == math.inf
    assert "some item is not hidden" in promise.sentence
    with pytest.raises(TooStrongError):
        hold(factor(promise.epsilon * 0.999), worst, "one item")


def kernel(retention, size):
    """Exact chance to show one's own category, and to show one other, as drawn."""
    drawn = UniformReplacement.from_retention(retention, size)
    other = Fraction(drawn.words_per_category, WORDS)
    return drawn.retention + other, other


@pytest.mark.parametrize("retention", [0.1, 0.3, 0.5, 0.85])
@pytest.mark.parametrize("size", [2, 3, 7])
def test_beliefs(retention, size):
    """The belief that a person has one value, from any prior and after seeing that value shown, others even."""
    own, other = kernel(retention, size)
    bound = BeliefBound(prior=0.1, posterior=0.9)
    growth = BeliefGrowth.from_amplification(gamma_of_retention(retention, size))
    worst = Fraction(0)
    for step in range(1, 200):
        prior = Fraction(step, 200)
        after = prior * own / (prior * own + (1 - prior) * other)
        worst = max(worst, after - prior)
        if prior <= Fraction(1, 10) and bound.is_implied_by(gamma=gamma_of_retention(retention, size)):
            hold(Fraction(bound.posterior), after, "belief bound")
    hold(Fraction(growth.growth) * (1 + Fraction(1, 10**12)), worst, "belief growth")
    with pytest.raises(TooStrongError):
        hold(Fraction(growth.growth) * Fraction(95, 100), worst, "belief growth")


def binomial(number, chance):
    """Exact probabilities of 0 to ``number`` successes."""
    return [math.comb(number, k) * chance**k * (1 - chance) ** (number - k) for k in range(number + 1)]


def too_low(rows, count, promise):
    """Exact probability that a group's reconstructed frequency is too low by more than the relative error."""
    own, other = kernel(promise.retention, promise.size)
    retention, error = Fraction(promise.retention), Fraction(str(promise.relative_error))
    limit = Fraction(count, rows) * (1 - error)
    total = Fraction(0)
    for (a, p), (b, q) in itertools.product(
        enumerate(binomial(count, own)), enumerate(binomial(rows - count, other))
    ):
        found = (Fraction(a + b, rows) - (1 - retention) / promise.size) / retention
        if found < limit:
            total += p * q
    return total


@pytest.mark.parametrize(("size", "error", "chance"), [(2, 0.3, 0.2), (3, 0.5, 0.1), (5, 0.3, 0.25)])
def test_reconstruction_privacy_of_every_small_group(size, error, chance):
    """Every composition of every group up to the stated cap is too low at least as often as promised."""
    promise = ReconstructionPrivacy(
        sensitive="job",
        groups=("who",),
        retention=0.5,
        size=size,
        relative_error=error,
        error_probability=chance,
        bound="exact",
    )
    cap = promise.uniform_cap
    assert cap >= 1
    least = min(too_low(rows, count, promise) for rows in range(1, cap + 1) for count in range(1, rows + 1))
    # Stated is a least probability: it must not be larger than the true one, to the digits of a double.
    hold(least * (1 + Fraction(1, 10**9)), Fraction(promise.error_probability), "reconstruction privacy")
    beyond = min(too_low(cap + 1, count, promise) for count in range(1, cap + 2))
    with pytest.raises(TooStrongError):
        hold(beyond, Fraction(promise.error_probability), "a cap one row larger")


def test_the_tails_in_the_sentence_are_true():
    """What the sentence says beside Chernoff's bound: true probabilities at the cap, all with one value."""
    promise = ReconstructionPrivacy(
        sensitive="job", groups=("who",), retention=0.5, size=3, relative_error=0.5, error_probability=0.5
    )
    tails = promise.true_tails(promise.uniform_cap, 1.0)
    assert tails.lower == pytest.approx(
        float(too_low(promise.uniform_cap, promise.uniform_cap, promise)), rel=1e-9
    )


def true_risk(counts, retentions):
    """Guo's attacker: picks a row of the person's group, redraws its values from their posteriors; the worst cell."""
    matrices = []
    for axis, size in enumerate((2, 3)):
        if retentions.get(axis) is None:
            own, other = Fraction(1), Fraction(0)
        else:
            own, other = kernel(retentions[axis], size)
        matrices.append([[own if u == v else other for v in range(size)] for u in range(size)])

    def comes_back(weights, matrix, place):
        shown = [sum(w * matrix[u][v] for u, w in enumerate(weights)) for v in range(len(weights))]
        return sum(
            matrix[place][v] * weights[place] * matrix[place][v] / each
            for v, each in enumerate(shown)
            if each
        )

    groups = [sum(row) for row in counts]
    return max(
        Fraction(held, groups[a]) * comes_back(groups, matrices[0], a) * comes_back(row, matrices[1], u)
        for a, row in enumerate(counts)
        for u, held in enumerate(row)
        if held
    )


def test_reconstruction_risk_of_chosen_parameters():
    """Every table of five rows for which parameters are found: the risk of the worst row is within the bound."""
    found = 0
    tables = itertools.combinations_with_replacement(itertools.product(range(2), range(3)), 5)
    for rows in tables:
        try:
            design = choose(
                "randomized-response", {"max-risk": 0.7}, SCHEMA, table=table_of(SCHEMA, rows)
            ).design
        except SfumatoError:
            continue
        found += 1
        counts = [[rows.count((a, u)) for u in range(3)] for a in range(2)]
        retentions = {("who", "job").index(name): each for name, each in design.retention.items()}
        hold(Fraction(7, 10) * (1 + Fraction(1, 10**9)), true_risk(counts, retentions), "reconstruction risk")
    assert found >= 50
    with pytest.raises(TooStrongError):
        hold(Fraction(7, 10), true_risk([[3, 0, 0], [0, 1, 1]], {0: 0.95}), "reconstruction risk")


@pytest.mark.parametrize("gamma", [2, 5])
def test_large_sums_are_right_as_often_as_stated(gamma):
    """From the stated count on the published one is within the error; at the count before it is not."""
    promise = LargeSumUtility(gamma_by_attribute={"job": gamma}, relative_error=0.5, error_probability=0.1)
    threshold = promise.smallest_large_count("job")

    def wrong(count):
        chances = binomial(gamma * count, Fraction(1, gamma))
        return sum(p for shown, p in enumerate(chances) if 2 * abs(shown - count) >= count)

    for count in range(threshold, threshold + 25):
        hold(Fraction(promise.error_probability) * (1 + ALLOWANCE), wrong(count), "large sums")
    assert wrong(threshold - 1) > Fraction(promise.error_probability)


def test_buckets_of_tiny_tables_leave_as_many_values_as_stated():
    """Anatomy: over all ways of giving a bucket's values to its rows, nobody has a value more often than 1/l."""
    design = Anatomy(l_value=2)
    for seed in range(10):
        rows = tuple((n % 2, job) for n, job in enumerate((0, 0, 1, 1, 2, 2)))
        release = release_in_memory(table_of(SCHEMA, rows), design, seed=seed)
        (batch,) = release.scan("sensitive", ("bucket", "job"))
        buckets = {}
        for bucket, job in zip(batch.codes["bucket"].tolist(), batch.codes["job"].tolist(), strict=True):
            buckets.setdefault(bucket, []).append(job)
        for values in buckets.values():
            orders = list(itertools.permutations(values))
            for job in set(values):
                chance = Fraction(sum(order[0] == job for order in orders), len(orders))
                hold(Fraction(1, 2), chance, "l-diversity")


def test_a_response_of_a_retention_states_what_it_draws():
    """Gamma as the ratio of the exact chances: stated is never below, at every retention of the grid."""
    for step in range(1, 20):
        own, other = kernel(step / 20, 3)
        design = RandomizedResponse(retention=step / 20)
        private, amplification = design.guarantees(SCHEMA)[:2]
        hold(Fraction(amplification.gamma_of_row), own / other, "amplification")
        assert math.exp(private.epsilon) == pytest.approx(float(own / other), rel=1e-12)
