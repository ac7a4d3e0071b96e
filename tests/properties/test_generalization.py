"""Whatever is generalized how far: bounds contain the truth, classes are large enough, nothing else changes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from array_tables import published
from sfumato import read_table
from sfumato.estimates.counts import OccupiedCounts
from sfumato.guarantees.k_anonymity import KAnonymity, LDiversity
from sfumato.methods.generalization.design import Generalization
from sfumato.query.selection import Tabulation
from sfumato.randomness.streams import NoiseSource
from sfumato.schema import Schema

SCHEMA = Schema.from_toml("""
[attributes.age]
role = "quasi-identifier"
bins = [0, 1, 2, 3, 4, 5]
missing = "category"
[attributes.work]
role = "quasi-identifier"
categories = ["p", "q", "r", "s"]
[attributes.job]
role = "sensitive"
categories = ["a", "b", "c"]
""")

rows = st.tuples(st.sampled_from([None, 0, 1, 2, 3, 4]), st.sampled_from("pqrs"), st.sampled_from("abc"))
designs = st.one_of(
    st.builds(Generalization, k=st.integers(1, 4)),
    st.builds(Generalization, k=st.integers(1, 4), hierarchies=st.just({"work": {"fanout": 2}})),
    st.builds(
        Generalization,
        k=st.integers(1, 4),
        search=st.just("full-domain"),
        suppression=st.sampled_from([0.0, 0.3]),
        hierarchies=st.just({"work": {"frequency_fanout": 2}}),
    ),
    st.builds(
        Generalization,
        k=st.just(1),
        search=st.just("fixed"),
        hierarchies=st.just({"work": {"fanout": 2}}),
        levels=st.fixed_dictionaries({"age": st.integers(0, 2), "work": st.integers(0, 1)}),
    ),
)


class Publication:
    """What a law may ask, answered from the rows a design would publish, without writing them."""

    def __init__(self, design, table):
        noise = NoiseSource.seeded(1)
        made = design.publish(table, noise)
        self.law, self.guarantees = made.law, design.guarantees(table.schema)
        self.schema = made.tables[0].schema
        rows = published(made, table, noise)
        self.codes, self.number_of_rows = rows.codes, rows.number_of_rows

    def count_occupied(self, names):
        """Published combinations with their counts."""
        columns = np.stack([self.codes[name].astype(np.int64) for name in names])
        found, counts = np.unique(columns, axis=1, return_counts=True)
        return OccupiedCounts(self.schema.select(names), tuple(found), counts)


def private_table(drawn):
    """The rows drawn, as a private table."""
    ages, works, jobs = zip(*drawn, strict=True)
    return read_table(pa.table({"age": pa.array(ages, pa.int64()), "work": works, "job": jobs}), SCHEMA)


def classes_over(published, names):
    """Rows of each published class, by job."""
    shown = [name for name in names if name in published.schema]
    found = published.count_occupied([*shown, "job"])
    place = found.numbered(shown) if shown else np.zeros(len(found.counts), int)
    return np.bincount(
        place * 3 + found.codes_of("job"), weights=found.counts, minlength=3 * (place.max() + 1)
    )


@given(st.lists(rows, min_size=4, max_size=30), designs)
@settings(max_examples=25, deadline=None)
def test_bounds_contain_the_truth_and_classes_keep_the_promise(drawn, design):
    """For every one-way and two-way table, whatever the recoding."""
    table = private_table(drawn)
    published = Publication(design, table)
    for names in (("age",), ("work",), ("age", "work"), ("work", "job")):
        estimates = published.law.estimate(published, Tabulation(by=names))
        low, high = estimates.bounds
        truth = table.count_by(names).counts.ravel()
        assert (low <= truth).all()
        assert (truth <= high).all()
        assert ((low <= estimates.values + 1e-9) & (estimates.values <= high + 1e-9)).all()
    promise = published.guarantees[0]
    assert isinstance(promise, KAnonymity)
    names = [name for name in promise.quasi_identifiers if name != "job"]
    by_job = classes_over(published, names).reshape(-1, 3)
    assert promise.holds_for(by_job if "job" in promise.quasi_identifiers else by_job.sum(axis=1))


@given(st.lists(rows, min_size=6, max_size=30), st.sampled_from(["mondrian", "full-domain"]))
@settings(max_examples=20, deadline=None)
def test_published_classes_are_diverse(drawn, search):
    """Two different jobs in every class, where the table has two."""
    assume(len({job for _, _, job in drawn}) > 1)
    published = Publication(Generalization(k=2, l_value=2, search=search), private_table(drawn))
    promise = next(each for each in published.guarantees if isinstance(each, LDiversity))
    assert promise.holds_for(classes_over(published, ("age", "work")).reshape(-1, 3))
