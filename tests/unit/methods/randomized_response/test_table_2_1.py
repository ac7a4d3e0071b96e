"""Guo 2010, table 2.1: eight patients through generalization and Anatomy, against what tables 2.2 and 2.3 say."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sfumato import publish, read_table
from sfumato.errors import DataError, ParameterError
from sfumato.guarantees.k_anonymity import KAnonymity, LDiversity
from sfumato.methods.anatomy.buckets import BucketComposition
from sfumato.methods.anatomy.design import Anatomy
from sfumato.methods.generalization.design import Generalization
from sfumato.schema import Schema

SCHEMA = Schema.from_toml("""
[attributes.age]
role = "quasi-identifier"
categories = ["20", "40", "50", "60", "80"]
[attributes.sex]
role = "quasi-identifier"
categories = ["M", "F"]
[attributes.zip]
role = "quasi-identifier"
categories = ["11000", "12000", "13000", "25000", "30000", "54000", "59000"]
[attributes.disease]
role = "sensitive"
categories = ["flu", "pneumonia"]
""")
PATIENTS = pa.table(
    {
        "age": ["20", "40", "40", "50", "60", "60", "80", "80"],
        "sex": ["M", "M", "M", "M", "F", "F", "F", "F"],
        "zip": ["11000", "13000", "59000", "12000", "54000", "25000", "25000", "30000"],
        "disease": ["pneumonia", "flu", "flu", "flu", "pneumonia", "pneumonia", "flu", "flu"],
    }
)
HIERARCHIES = {
    "age": {"tree": {"[20,50]": ["20", "40", "50"], "[60,80]": ["60", "80"]}},
    "zip": {"tree": {"[10001,60000]": list(SCHEMA["zip"].labels)}},
}
# Flu and pneumonia in the two classes of table 2.2, which are the two buckets of table 2.3.
CLASSES = np.array([[3, 1], [2, 2]])


@pytest.fixture
def table():
    """The eight patients."""
    return read_table(PATIENTS, SCHEMA)


def test_the_full_domain_search_finds_the_printed_classes(table, tmp_path):
    """([20,50], M) and ([60,80], F), the zip code generalized to one interval that says nothing."""
    design = Generalization(k=4, search="full-domain", hierarchies=HIERARCHIES)
    release = publish(table, design, tmp_path / "release", seed=1)
    counts = release.count_by(["age", "sex", "disease"]).counts
    assert release.published_schema.names == ("age", "sex", "disease")
    assert release.published_schema["age"].labels == ("[20,50]", "[60,80]")
    assert counts.tolist() == [[[3, 1], [0, 0]], [[0, 0], [2, 2]]]


def test_the_printed_classes_are_four_anonymous_and_diverse_only_in_the_weak_sense():
    """Distinct-2-diverse; not entropy-2-diverse, as a class of 3 and 1 has entropy .5623 < ln 2."""
    assert KAnonymity(k=4, quasi_identifiers=("age", "sex", "zip")).holds_for(CLASSES.sum(axis=1))
    assert LDiversity(attribute="disease", l_value=2, variant="distinct").holds_for(CLASSES)
    assert not LDiversity(attribute="disease", l_value=2, variant="entropy").holds_for(CLASSES)
    assert not LDiversity(attribute="disease", l_value=2).holds_for(CLASSES)


def test_no_generalization_of_the_table_is_entropy_two_diverse(table):
    """Even all eight in one class, five with flu and three not, stay below ln 2."""
    design = Generalization(
        k=4, search="full-domain", l_value=2, diversity="entropy", hierarchies=HIERARCHIES
    )
    with pytest.raises(ParameterError, match="entropy"):
        design.recode(table)


def test_bob_has_flu_with_three_quarters_by_the_printed_buckets():
    """Row 2 is in the first bucket, of which three rows have flu."""
    rows_of_bucket = np.repeat([1, 1, 2, 2], [3, 1, 2, 2])
    buckets = BucketComposition.from_pairs(rows_of_bucket, np.repeat([0, 1, 0, 1], [3, 1, 2, 2]), 2)
    assert buckets.counts().tolist() == CLASSES.tolist()
    bob = buckets.weighted_counts(np.array([1]), np.array([0]), 1)
    assert bob.tolist() == [[0.75, 0.25]]


def test_our_anatomy_refuses_what_the_printed_buckets_do(table, tmp_path):
    """Five of eight have flu, so no buckets of two different values exist."""
    with pytest.raises(DataError, match="more than half"):
        publish(table, Anatomy(l_value=2), tmp_path / "release", seed=1)
