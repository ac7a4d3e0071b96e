"""Every promise that tables can keep or break is judged on the tables of every method that makes it."""

from __future__ import annotations

import numpy as np
import pytest

from samples import SCHEMA, people
from sfumato import publish, read_table
from sfumato.data.chunks import CodedBatch
from sfumato.guarantees import GUARANTEES
from sfumato.guarantees.class_criteria import ClassCriterion
from sfumato.methods.base import METHODS
from sfumato.methods.generalization.design import Generalization
from sfumato.schema import Role

DESIGNS = {
    **{name: method.example(SCHEMA) for name, method in METHODS.members.items()},
    # The parameters of the methods' examples ask for few promises; these ask for all there are.
    "all-class-promises": Generalization(
        k=20, l_value=1.3, diversity="fraction", t=0.5, beta=1.5, disclosure_bound=1.5
    ),
    "fixed": Generalization(k=5, search="fixed", levels={"age": 1}),
}


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    """One seeded release of every design."""
    folder = tmp_path_factory.mktemp("judged")
    table = read_table(people(2_000), SCHEMA)
    return {name: publish(table, design, folder / name, seed=5) for name, design in DESIGNS.items()}


class Tampered:
    """A release from whose first class, in every table, all rows but one were taken away: that of the rarest value."""

    def __init__(self, release):
        self.release = release
        self.tables = release.tables

    def scan(self, table, names):
        """What stands in a table, without those rows."""
        schema = next(each for each in self.tables if each.name == table).schema_of_attributes
        batches = list(self.release.scan(table, names))
        columns = {name: np.concatenate([each.codes[name] for each in batches]) for name in names}
        values = {each.name for each in schema.with_role(Role.SENSITIVE)}
        gone = np.ones(len(columns[names[0]]), bool)
        for name in names:
            gone &= (columns[name] == columns[name][0]) | (name in values)
        rows = np.zeros(len(gone)) + sum(
            np.bincount(columns[name])[columns[name]] for name in names if name in values
        )
        gone[np.flatnonzero(gone)[np.argmin(rows[gone])]] = False
        yield CodedBatch({name: column[~gone] for name, column in columns.items()}, int((~gone).sum()))


@pytest.mark.parametrize("name", list(DESIGNS))
def test_promises_hold_in_the_tables_and_not_in_tampered_ones(name, releases):
    """A judgement that cannot be unfavourable would be none."""
    release = releases[name]
    for promise in release.guarantees:
        verdict = promise.judge(release)
        assert (verdict is not None) == isinstance(promise, ClassCriterion)
        if verdict is not None:
            assert verdict.holds, promise
            assert not promise.judge(Tampered(release)).holds, promise


def test_every_class_criterion_is_judged_somewhere(releases):
    """By the name of the guarantee, over all designs."""
    judged = {promise.guarantee for release in releases.values() for promise in release.guarantees}
    criteria = {name for name, each in GUARANTEES.members.items() if issubclass(each, ClassCriterion)}
    assert criteria <= judged
    assert {"k-anonymity", "l-diversity", "t-closeness", "beta-likeness", "delta-disclosure"} <= criteria


@pytest.mark.parametrize("name", ["anatomy", "generalization"])
def test_methods_that_make_classes_promise_something_that_tables_show(name, releases):
    """Of the examples, these two."""
    assert any(promise.judge(releases[name]) for promise in releases[name].guarantees)
