"""What can be held against a release by itself: its fields, its counts, its matrices, and the warnings of its kind."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from sfumato.analysis.unknown_distortion import check_matrix
from sfumato.methods.columnized_counts.law.columns import COUNT_COLUMN
from sfumato.methods.columnized_counts.law.noisy_rows import NoisyRows
from sfumato.release import Release
from sfumato.release.verifying import Check
from sfumato.values.number_text import counted

LEVEL = 1e-6
"""Probability of calling true matrices broken, over all attributes of a release."""

MOST_CATEGORIES = 500
"""Categories of an attribute beyond which its margin is not held against its matrix."""

FEWEST_DIFFERENT = 30
"""Different rows from which on common multiples are no chance."""


def check_release(release: Release) -> tuple[Check, ...]:
    """Everything about a release that its tables tell against it, or that its kind of method is known for.

    Red flags follow Li and Li, table 1: deterministic, duplicating and sampling methods, and cuts chosen by looking at rows,
    keep neither semantic k-anonymity nor differential privacy.
    """
    return (
        *_fields(release),
        *_noisy_counts(release),
        *_margins(release),
        *_duplicates(release),
        *_of_its_kind(release),
    )


def _fields(release: Release) -> Iterator[Check]:
    """No column that the manifest does not name."""
    for table in release.tables:
        declared = {*table.schema_of_attributes.names, *table.integers}
        surplus = [name for name in release.sources[table.name].columns() if name not in declared]
        if surplus:
            yield Check(
                f"fields of {table.name}",
                "broken",
                f"It holds {counted(len(surplus), 'column')} that the manifest does not name: nothing says what they are or tell.",
            )
        else:
            yield Check(
                f"fields of {table.name}",
                "holds",
                f"{counted(len(declared), 'column')}, as the manifest names them.",
            )


def _noisy_counts(release: Release) -> Iterator[Check]:
    """The matrix that counts were drawn by, number by number, and no count below k."""
    law = release.law
    if not isinstance(law, NoisyRows):
        return
    proof = law.matrix.certificate()
    yield Check(
        "noisy count matrix",
        "holds" if proof.holds else "broken",
        f"{counted(proof.rows, 'row')} of it checked in whole numbers: ratios of neighbours up to exp({proof.worst_up:.4g}) for an epsilon of "
        f"{law.matrix.epsilon:.4g}, unsafe outputs {proof.unsafe_mass:.3g} for a delta of {law.matrix.delta:.3g}.",
    )
    low = math.inf
    for table in release.tables:
        if COUNT_COLUMN in table.integers:
            for batch in release.scan(table.name, [COUNT_COLUMN]):
                low = min(low, float(batch.codes[COUNT_COLUMN].min(initial=2**62)))
    yield Check(
        "published counts",
        "holds" if low >= law.matrix.k else "broken",
        f"None is below k = {law.matrix.k}."
        if low >= law.matrix.k
        else f"Some are below k = {law.matrix.k}.",
    )


def _margins(release: Release) -> Iterator[Check]:
    """Whether each published margin could have come from the stated matrix at all (chi-square)."""
    matrices = release.law.matrices() if release.law.is_row_by_row else {}
    wide = [name for name in matrices if release.published_schema[name].size > MOST_CATEGORIES]
    tested = {name: each for name, each in matrices.items() if name not in wide}
    for name, matrix in tested.items():
        size = release.published_schema[name].size
        rows = matrix if isinstance(matrix, np.ndarray) else matrix.dense(size)
        found = check_matrix(release, name, matrix=rows.tolist())
        is_refuted = found.p_value < LEVEL / len(tested)
        yield Check(
            f"margin of {name}",
            "broken" if is_refuted else "holds",
            f"Chi-square {found.statistic:.4g} on {found.degrees} degrees, p at most {found.p_value:.3g}: "
            + (
                "no true margin gives this one through the stated matrix."
                if is_refuted
                else "some true margin gives it through the stated matrix."
            ),
        )
    for name in wide:
        yield Check(
            f"margin of {name}", "cannot be told", "It has too many categories to be held against its matrix."
        )


def _duplicates(release: Release) -> Iterator[Check]:
    """Rows that all come in common multiples: copying each is no crowd."""
    table = release.tables[0]
    if table.integers or release.law.changed_attributes or release.manifest.law["law"] != "generalized-rows":
        return
    counts = release.count_occupied(table.schema_of_attributes.names).counts
    common = int(np.gcd.reduce(counts)) if counts.size else 0
    if common > 1 and counts.size >= FEWEST_DIFFERENT:
        yield Check(
            "duplicated rows",
            "red flag",
            f"Every different row occurs a multiple of {common} times. Copies make classes larger and hide nobody: whoever is one of "
            "them is all of them.",
        )


def _of_its_kind(release: Release) -> Iterator[Check]:
    """What is known of all methods of this kind, whatever their parameters."""
    law, method = str(release.manifest.law["law"]), release.manifest.method
    if law == "generalized-rows":
        yield Check(
            "deterministic",
            "red flag",
            "The same rows give the same release: no epsilon is kept with a delta below 1 (Li and Li, theorem 1).",
        )
        if method.get("search") != "fixed":
            chosen = "cuts" if method.get("search") == "mondrian" else "levels"
            tight = ", and boxes that end at people's own values" if method.get("boxes") == "tight" else ""
            yield Check(
                f"chosen {chosen}",
                "red flag",
                f"Where rows were put together depends on single rows{tight}: k-anonymity of the table is not semantic k-anonymity "
                "(Li and Li, table 1).",
            )
    if law == "sampled-rows":
        yield Check(
            "sampling",
            "red flag",
            "Rows were sampled: a combination that is published once shows that somebody with it is in the table (Li and Li, "
            "table 1).",
        )
