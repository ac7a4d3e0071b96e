"""Methods that are not what they say are refuted; those that are, are not, at the stated level.

Honest methods are tried at the level that is drawn from the budget. Tampered ones are tried at the default level.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from sfumato import (
    METHODS,
    Anatomy,
    ColumnizedCounts,
    DistributionResampling,
    NoisyMarginals,
    RandomizedResponse,
    SPLUGen,
    falsify,
)
from sfumato.custody.audit import falsify as falsifying
from sfumato.custody.audit.falsify import TOY_SCHEMA, distinguish
from sfumato.custody.audit.law_checks import Alike, bernstein
from sfumato.data.engine import CodedRows
from sfumato.errors import ParameterError
from sfumato.methods.columnized_counts import count_phase as counting
from sfumato.methods.columnized_counts.noisy_counts import NoisyCountMatrix
from sfumato.randomness.noise import DiscreteLaplace
from sfumato.schema import Attribute, Role, Schema


@pytest.mark.parametrize("name", METHODS.members)
def test_a_method_that_is_what_it_says_is_not_refuted(alarm_budget, name):
    """Null: every method as it is, with its example's parameters. All claims together at the level drawn."""
    check = alarm_budget.draw("methods as they are are not falsified", pieces=8)
    design = METHODS.members[name].example(TOY_SCHEMA)
    found = falsify(design, repeats=5, trials=200, level=check.alpha, seed=1)
    assert not found.is_refuted, found.verdict
    assert found.tried or found.skipped


class TamperedMatrix(RandomizedResponse):
    """Keeps more than its law states."""

    def publish(self, table, noise):
        """Rows of another retention, under the law of this one."""
        stated = super().publish(table, noise)
        weaker = RandomizedResponse(retention=0.65).publish(table, noise)
        return dataclasses.replace(weaker, law=stated.law)


def test_a_tampered_matrix_is_refuted():
    """Rows kept with 0.65 under a matrix of one half."""
    found = falsify(TamperedMatrix(retention=0.5), repeats=10, seed=2)
    assert found.is_refuted
    assert "against the stated matrix" in found.verdict


TWO_SECRETS = Schema(
    attributes=(
        *TOY_SCHEMA.attributes,
        Attribute(name="income", role=Role.SENSITIVE, categories=("low", "middle", "high", "top")),
    )
)


class PublishedAs(RandomizedResponse):
    """Rows of another design, under the law of this one."""

    other: dict[str, float]

    def publish(self, table, noise):
        """What the other one publishes, with what this one states."""
        stated = super().publish(table, noise)
        weaker = RandomizedResponse(retention=self.other, attributes=tuple(self.other))
        return dataclasses.replace(weaker.publish(table, noise), law=stated.law)


@pytest.mark.parametrize(
    ("stated", "other", "schema"),
    [
        ({"illness": 0.5, "income": 0.5}, {"illness": 0.5, "income": 0.65}, TWO_SECRETS),
        ({"place": 0.5}, {"place": 0.65}, TOY_SCHEMA),
        (
            {"place": 0.5, "year": 0.5, "illness": 0.5},
            {"place": 0.65, "year": 0.5, "illness": 0.5},
            TOY_SCHEMA,
        ),
    ],
    ids=["the second secret", "a public attribute", "one of all, of which none is as it is"],
)
def test_a_tampered_matrix_of_any_attribute_is_refuted(stated, other, schema):
    """Categories are about equally frequent, so that no margin shows it; the twin publishes what it states."""
    tampered, twin = (
        PublishedAs(retention=stated, attributes=tuple(stated), other=rows) for rows in (other, stated)
    )
    found = falsify(tampered, schema=schema, repeats=10, seed=2)
    assert found.is_refuted, found.summary()
    assert "against the stated matri" in found.verdict
    assert not falsify(twin, schema=schema, repeats=10, seed=2).is_refuted


def with_own_values(release, table, share):
    """The rows of a release, some of which show the value of somebody with the same public values instead."""
    held, rows = table.source.codes, release.sources["rows"]
    own = {}
    for place, year, illness in zip(held["place"], held["year"], held["illness"], strict=True):
        own.setdefault((int(place), int(year)), []).append(int(illness))
    codes = {name: column.copy() for name, column in rows.codes.items()}
    generator = np.random.default_rng(6)
    for row in np.flatnonzero(generator.random(len(codes["place"])) < share):
        mine = own[int(codes["place"][row]), int(codes["year"][row])]
        codes["illness"][row] = mine[generator.integers(len(mine))]
    sources = {**release.sources, "rows": CodedRows(rows.schema, codes)}
    return type(release)(None, release.manifest, sources, release.engine)


@pytest.mark.parametrize(
    "design", [SPLUGen(gamma=2), DistributionResampling()], ids=lambda each: str(each.method)
)
def test_values_that_were_not_drawn_are_refuted(monkeypatch, design):
    """A third of the rows keep what is their own: margins stay, people like nobody else show it. As they are, they are not refuted."""
    assert not falsify(design, repeats=5, seed=7).is_refuted
    publish = falsifying._publish
    monkeypatch.setattr(
        falsifying,
        "_publish",
        lambda table, made, noise: with_own_values(publish(table, made, noise), table, 1 / 3),
    )
    found = falsify(design, repeats=5, seed=7)
    assert found.is_refuted, found.summary()
    assert "people" in found.verdict


class Boasting(NoisyMarginals):
    """Promises half of the epsilon that its noise has."""

    def guarantees(self, schema):
        """As if noise were twice as large."""
        return tuple(each.model_copy(update={"epsilon": 0.5}) for each in super().guarantees(schema))


def test_a_promise_beyond_the_law_is_refuted_and_not_left_out():
    """Its releases cannot be opened; that is a witness and no reason to try nothing."""
    found = falsify(Boasting(epsilon=1.0), repeats=1, trials=100, seed=1)
    assert found.is_refuted
    assert "do not follow from its law" in found.verdict


def test_people_alike_by_hand():
    """Two groups; one of three with true values 0, 0, 1 that shows 0, 1, 1, and somebody alone who shows the own value."""
    alike = Alike("s", np.array([[2.0, 1.0], [0.0, 1.0]]), np.array([[1.0, 2.0], [0.0, 1.0]]))
    channel = np.array([[0.75, 0.25], [0.25, 0.75]])
    # Shares 2/3, 1/3 and 0, 1: observed 2/3 + 2/3 + 1; expected 2 (3/4 2/3 + 1/4 1/3) + (1/4 2/3 + 3/4 1/3) + 3/4.
    found = alike.against(channel)
    assert (
        "agree with those of people alike by 2.3 rows, expected are 2.3 (standard deviation 0.5)"
        in found.sentence
    )
    mean = 2 * (7 / 12) + 5 / 12 + 3 / 4
    spread = 2 * (13 / 36 - 49 / 144) + (7 / 36 - 25 / 144) + 3 / 16
    assert found.p_value == pytest.approx(bernstein(7 / 3, mean, spread))
    assert "1 of 1 show their own value, expected are 0.5" in alike.kept_by_loners(0.5).sentence


def test_noise_30_percent_too_small_is_refuted(monkeypatch):
    """Every draw from a scale of 0.7 times what is stated: by the sizes of noises, and by neighbouring tables."""
    drawn = DiscreteLaplace.draw

    def too_little(self, stream, count):
        return drawn(DiscreteLaplace(scale=0.7 * self.scale), stream, count)

    monkeypatch.setattr(DiscreteLaplace, "draw", too_little)
    found = falsify(NoisyMarginals(epsilon=1.0, marginals=(("place", "illness"),)), trials=4_000, seed=3)
    claims = [each.claim for each in found.refuted]
    assert any("noise of the counts" in each for each in claims)
    assert any("differential privacy" in each for each in claims)


def test_a_noisy_count_matrix_with_shifted_k_is_refuted(monkeypatch):
    """Rows are drawn as if k were one less than stated."""
    drawn = NoisyCountMatrix.draw

    def shifted(self, counts, noise):
        return drawn(self.model_copy(update={"k": self.k - 1}), counts, noise)

    monkeypatch.setattr(NoisyCountMatrix, "draw", shifted)
    design = ColumnizedCounts(k=8, epsilon=2.0, delta=0.01)
    found = falsify(design, trials=200, repeats=20, seed=4)
    assert found.is_refuted
    assert "rows over" in found.verdict


def test_rows_in_more_columns_than_their_budget_are_refuted(monkeypatch):
    """Three columns, of which a row may keep one: kept in all of them, counts add up to three times what they may."""
    design = ColumnizedCounts(
        k=3,
        epsilon=6.0,
        delta=0.01,
        column_sets=(("place",), ("year",), ("illness",)),
        column_budget=1,
    )
    honest = falsify(design, trials=100, repeats=5, seed=4)
    assert not honest.is_refuted, honest.summary()
    assert any("nobody in more than 1 column" in each.claim for each in honest.tried)
    counted = counting._count_truncated

    def untruncated(table, schema, cut, coarser, column_budget, noise):
        return counted(table, schema, cut, coarser, len(cut), noise)

    monkeypatch.setattr(counting, "_count_truncated", untruncated)
    found = falsify(design, trials=100, repeats=5, seed=4)
    assert found.is_refuted
    assert "nobody in more than 1 column" in found.verdict


def in_telling_order(table, release):
    """The same buckets, each with its values in the order of its rows, as far as public values tell whose they are."""
    held = table.source.codes
    own = {}
    for place, year, illness in zip(held["place"], held["year"], held["illness"], strict=True):
        own.setdefault((int(place), int(year)), set()).add(int(illness))
    rows, values = release.sources["rows"].codes, release.sources["sensitive"].codes
    left = {}
    for bucket, illness in zip(values["bucket"], values["illness"], strict=True):
        left.setdefault(int(bucket), []).append(int(illness))
    buckets, told = [], []
    for bucket, place, year in zip(rows["bucket"], rows["place"], rows["year"], strict=True):
        mine = left[int(bucket)]
        fitting = [each for each in mine if each in own[int(place), int(year)]]
        told.append((fitting or mine)[0])
        mine.remove(told[-1])
        buckets.append(int(bucket))
    schema = release.sources["sensitive"].schema
    codes = {"bucket": np.array(buckets), "illness": np.array(told, held["illness"].dtype)}
    sources = {**release.sources, "sensitive": CodedRows(schema, codes)}
    return type(release)(None, release.manifest, sources, release.engine)


def test_anatomy_in_a_telling_order_is_refuted(monkeypatch):
    """The values of a bucket stand in the order of its rows; shuffled they are not refuted."""
    assert not falsify(Anatomy(l_value=2), repeats=3, seed=5).is_refuted
    publish = falsifying._publish
    monkeypatch.setattr(
        falsifying,
        "_publish",
        lambda table, design, noise: in_telling_order(table, publish(table, design, noise)),
    )
    found = falsify(Anatomy(l_value=2), repeats=3, seed=5)
    assert found.is_refuted, found.summary()
    assert "order of values" in found.verdict


def test_neighbours_are_told_apart_as_often_as_the_noise_allows_and_no_more(alarm_budget):
    """Null: geometric noise of ratio e^-1, one apart, promised at epsilon 1: no event is refuted. n = 20,000.

    Twin: the same noise promised at 0.7.
    """
    check = alarm_budget.draw("neighbours of geometric noise")
    generator = np.random.default_rng(check.seed)
    ratio = np.exp(-1.0)

    def noise():
        return generator.geometric(1 - ratio, 20_000) - generator.geometric(1 - ratio, 20_000)

    one, other = noise() + 1.0, noise() + 0.0
    assert not distinguish(one, other, np.e, 0.0, check.alpha).is_refuted
    assert distinguish(one, other, np.exp(0.7), 0.0, check.alpha).is_refuted


def test_what_cannot_refute_anything_is_refused():
    """Too few trials, a level that is none."""
    for wrong in ({"trials": 10}, {"repeats": 0}, {"level": 0.0}):
        with pytest.raises(ParameterError, match="trials must be"):
            falsify(RandomizedResponse(retention=0.5), **wrong)


def test_designs_that_the_toy_does_not_admit_are_named():
    """Buckets of more values than there are: nothing is tried, and why is said."""
    found = falsify(Anatomy(l_value=50), repeats=1, seed=1)
    assert not found.tried
    assert len(found.skipped) == 3
    assert all(each.reason for each in found.skipped)
    assert found.verdict == "Nothing was tried; see why."
