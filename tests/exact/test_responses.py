"""Randomized response, learned lists and chosen parameters on all tiny tables: no promise states less than is true, and sabotage is caught."""

from __future__ import annotations

import contextlib
import itertools
import math

import pytest

from exact.enumeration import largest_ratio
from exact.holding import (
    TooStrongError,
    factor,
    hold_ratio,
    mechanism,
    neighbours,
    table_of,
)
from exact.tiny_tables import RESPONSES, schema_of, tables_of
from sfumato.custody.calibrate import choose
from sfumato.custody.plan import plan
from sfumato.errors import SfumatoError
from sfumato.methods.randomized_response.design import RandomizedResponse
from sfumato.randomness import distortion
from sfumato.randomness.streams import UniformReplacement
from sfumato.schema import Schema


@pytest.mark.parametrize("name", list(RESPONSES))
def test_local_privacy_and_amplification(name):
    """Two people, all tables, all outputs."""
    schema = schema_of(people=2)
    design = RESPONSES[name]
    outputs = mechanism(design, schema)
    pairs = list(neighbours(tables_of(schema, 2), places=(1,)))
    private, amplification = design.guarantees(schema)[:2]
    true = hold_ratio(private, factor(private.epsilon), outputs, pairs)
    hold_ratio(amplification, amplification.gamma_of_row, outputs, pairs)
    if "rules out" in name:
        assert true == math.inf
    else:
        # It is no empty promise either: the true factor is the stated one, to the digits of a double.
        assert float(true) == pytest.approx(float(factor(private.epsilon)), rel=1e-9)


def test_two_attributes_and_units_of_two_rows():
    """Epsilons of the attributes of a row, and of the rows of a person, add up."""
    design = RandomizedResponse(epsilon=1.0)
    schema = schema_of(jobs=2, pays=2, people=2)
    private = design.guarantees(schema)[0]
    pairs = neighbours(tables_of(schema, 1), places=(1, 2))
    hold_ratio(private, factor(private.epsilon), mechanism(design, schema), pairs)

    single = schema_of(jobs=2, people=2)
    private = design.guarantees(single)[0]
    pairs = list(neighbours(tables_of(single, 2), places=(1,), rows_per_unit=2))
    hold_ratio(private, factor(private.for_units(2).epsilon), mechanism(design, single), pairs)
    with pytest.raises(TooStrongError):
        hold_ratio(private, factor(private.epsilon), mechanism(design, single), pairs)


def test_a_retention_that_is_drawn_larger_than_stated_is_caught(monkeypatch):
    """Sabotage: the kernel keeps one in a thousand more."""
    schema = schema_of(people=2)
    design = RandomizedResponse(retention=0.5)
    private = design.guarantees(schema)[0]
    pairs = list(neighbours(tables_of(schema, 1), places=(1,)))
    monkeypatch.setattr(
        distortion.UniformDistortion,
        "drawn",
        property(lambda _: UniformReplacement.from_retention(0.501, 3)),
    )
    with pytest.raises(TooStrongError):
        hold_ratio(private, factor(private.epsilon), mechanism(design, schema), pairs)


def learned_mechanism(design, outputs_by_schema):
    """Tables whose list of categories is what occurs in them."""

    def outputs(rows):
        occurring = sorted({row[1] for row in rows})
        schema = Schema.from_dict(
            {
                "attributes": {
                    "who": {"role": "quasi-identifier", "categories": ["0", "1", "2"]},
                    "job": {
                        "role": "sensitive",
                        "categories": [f"job-{each}" for each in occurring],
                        "learned": True,
                    },
                }
            }
        )
        coded = tuple((who, occurring.index(job)) for who, job in rows)
        return outputs_by_schema.setdefault(tuple(occurring), mechanism(design, schema))(coded)

    return outputs


def test_learned_lists_are_part_of_what_is_seen():
    """A list read off the rows tells who is in them for certain: a promise that does not say so is too strong."""
    design = RandomizedResponse(retention=0.5)
    outputs = learned_mechanism(design, {})
    tables = [each for each in tables_of(schema_of(people=3), 3) if len({job for _, job in each}) > 1]
    pairs = list(neighbours(tables, places=(1,)))
    promised = plan_of(design, schema_of(people=3, learned=True))
    assert all(each.given for each in promised)
    hold_ratio(promised[0], factor(promised[0].epsilon), outputs, pairs)
    unconditional = promised[0].model_copy(update={"given": ()})
    with pytest.raises(TooStrongError):
        hold_ratio(unconditional, factor(unconditional.epsilon), outputs, pairs)


def plan_of(design, schema):
    """The promises as a custodian reads them, with their conditions."""
    return plan(design, schema, 10).guarantees


def test_chosen_parameters_are_part_of_what_is_seen():
    """Retentions chosen from three rows differ between neighbours; held against what it takes as known a promise stands.

    Where a goal cannot be met, that nothing is published is seen too.
    """
    schema = schema_of(jobs=2, people=2)

    def chosen(table):
        return choose("randomized-response", {"max-risk": 0.8}, schema, table=table).design

    outputs = mechanism(chosen, schema)
    tables = list(itertools.product(itertools.product(range(2), repeat=2), repeat=3))
    # Of the chosen designs every one perturbs the public attribute, which is what the promise is then about.
    pairs = list(neighbours(tables, places=(0,)))
    retentions = {}
    for table in tables:
        with contextlib.suppress(SfumatoError):
            retentions[table] = chosen(table_of(schema, table))
    assert len({each.to_toml() for each in retentions.values()}) > 1, "nothing was chosen"
    published = [pair for pair in pairs if pair[0] in retentions and pair[1] in retentions]
    unlike = [pair for pair in published if retentions[pair[0]] != retentions[pair[1]]]
    assert unlike
    for one, other in published:
        local = plan_of(retentions[one], schema)[0]
        assert any("chosen from the private rows" in each for each in local.given)
        if (one, other) not in unlike:
            hold_ratio(local, factor(local.epsilon), outputs, [(one, other)])
    one, other = unlike[0]
    assert largest_ratio(outputs(one), outputs(other)) == math.inf
    unconditional = plan_of(retentions[one], schema)[0].model_copy(update={"given": ()})
    with pytest.raises(TooStrongError):
        hold_ratio(unconditional, factor(unconditional.epsilon), outputs, [(one, other)])
