"""Buckets and classes of rows, against the true ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sfumato.custody.audit.people import People
from sfumato.custody.audit.truth_checks.p_values import TruthCheck, bernstein
from sfumato.data.private_table import PrivateTable
from sfumato.laws.believing.targets import places_among
from sfumato.methods.anatomy.law.bucketed_rows import BucketedRows
from sfumato.methods.anatomy.law.composition import BUCKET, ROWS, SENSITIVE
from sfumato.methods.generalization.law import GeneralizedRows
from sfumato.release import Release
from sfumato.values.arrays import Integers


def buckets(release: Release, people: People, table: PrivateTable) -> Iterator[TruthCheck]:
    """Values as they are in the table, in an order that says nothing."""
    law = release.law
    assert isinstance(law, BucketedRows)
    del table
    buckets = law.composition(release)
    true = np.bincount(people.truth, minlength=people.sensitive.size)
    wrong = int(np.abs(buckets.totals - true).sum())
    yield TruthCheck(
        f"published {law.sensitive} as they are",
        0.0 if wrong else 1.0,
        f"{wrong:,} values differ from the table's.",
    )
    names = [each.name for each in people.public]
    rows = list(release.scan(ROWS, [*names, BUCKET]))
    values = list(release.scan(SENSITIVE, [BUCKET, law.sensitive]))
    public = np.stack(
        [np.concatenate([each.codes[name] for each in rows]).astype(np.int64) for name in names], axis=1
    )
    yield _order(
        people,
        public,
        np.concatenate([each.codes[BUCKET] for each in rows]).astype(np.int64),
        np.concatenate([each.codes[BUCKET] for each in values]).astype(np.int64),
        np.concatenate([each.codes[law.sensitive] for each in values]).astype(np.int64),
    )


def _order(
    people: People, public: Integers, row_bucket: Integers, value_bucket: Integers, values: Integers
) -> TruthCheck:
    """Whether the order of a bucket's values in the file tells whose they are.

    The first row of a bucket is held against its first value, and so on: by the share that the value truly has
    among people with the row's public values. In random order a bucket's sum is that of a random permutation, whose mean
    and variance are known (Hoeffding 1951).
    """
    known, place = np.unique(people.rows, axis=0, return_inverse=True)
    true = np.zeros((len(known), people.sensitive.size))
    np.add.at(true, (place.ravel(), people.truth), 1)
    shares = true / true.sum(axis=1, keepdims=True)
    by_row = np.argsort(row_bucket, kind="stable")
    by_value = np.argsort(value_bucket, kind="stable")
    whose = np.maximum(places_among(public[by_row], known), 0)
    given = values[by_value]
    sizes = np.bincount(row_bucket)
    sizes = sizes[sizes > 0]
    observed = float(shares[whose, given].sum())
    expected = variance = 0.0
    starts = np.cumsum(sizes) - sizes
    for size in np.unique(sizes):
        inside = starts[sizes == size][:, np.newaxis] + np.arange(size)
        # (buckets, people, values) of all buckets of one size.
        matrix = shares[whose[inside][:, :, np.newaxis], given[inside][:, np.newaxis, :]]
        expected += float(matrix.sum()) / size
        centred = matrix - matrix.mean(axis=1, keepdims=True) - matrix.mean(axis=2, keepdims=True)
        centred += matrix.mean(axis=(1, 2), keepdims=True)
        variance += float((centred**2).sum()) / max(int(size) - 1, 1)
    return TruthCheck(
        "the order of values within buckets",
        bernstein(observed, expected, variance, largest=float(sizes.max())),
        f"Row and value in the same place go together by {observed:,.1f}, in random order by {expected:,.1f} "
        f"(standard deviation {np.sqrt(variance):,.1f}).",
    )


def generalized(release: Release, people: People, table: PrivateTable) -> Iterator[TruthCheck]:
    """Every published row has a true one that its values may stand for, and none is missing."""
    law = release.law
    assert isinstance(law, GeneralizedRows)
    del table
    if people.sensitive.name in law.covers:
        return
    classes = law.classes(release, people.targets(are_members=True))
    combinations, place = np.unique(people.rows, axis=0, return_inverse=True)
    true = np.zeros((len(combinations), people.sensitive.size))
    np.add.at(true, (place.ravel(), people.truth), 1)
    possible = classes.rows_that_may_be(combinations, true)
    beyond = float(np.maximum(classes.counts - possible, 0).sum())
    yield TruthCheck(
        "rows of every class are rows of the table",
        0.0 if beyond else 1.0,
        f"{beyond:,.0f} published rows have no true row that their values may stand for.",
    )
    if law.suppressed_rows is not None:
        missing = people.number - law.suppressed_rows - release.number_of_rows
        yield TruthCheck(
            "rows published and dropped",
            0.0 if missing else 1.0,
            f"{release.number_of_rows:,} published and {law.suppressed_rows:,} dropped, of {people.number:,}.",
        )
