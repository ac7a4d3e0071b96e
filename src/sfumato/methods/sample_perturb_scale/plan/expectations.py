"""What to expect of sampling, perturbing and scaling, before anything is published."""

from __future__ import annotations

import math

import numpy as np

from sfumato.data.personal_groups import PersonalGroups
from sfumato.guarantees.reconstruction_privacy.guarantee import ReconstructionPrivacy
from sfumato.methods.sample_perturb_scale.design.merged_attributes import MergedValues
from sfumato.methods.sample_perturb_scale.law.sampled_rows import SampledRows
from sfumato.values.arrays import Integers
from sfumato.values.number_text import percent
from sfumato.values.result_tables import ResultTable
from sfumato.values.schema import Schema

FREQUENCIES = (1.0, 0.9, 0.7, 0.5, 0.3, 0.1)
"""Largest frequencies of a group for which a plan states the cap and its true tails."""

GROUP_SIZES = (10, 100, 1_000, 10_000)
"""Sizes of equal groups for which a plan states what is kept and the errors."""

SHARES = (0.01, 0.1, 0.5)
"""Shares of all rows for which a plan states the error of a count over many groups."""


def cap_table(promise: ReconstructionPrivacy) -> ResultTable:
    """Largest sample by the group's largest frequency, with what the bound is really worth there."""
    rows = []
    for frequency in FREQUENCIES:
        # A group cannot have a largest frequency below an even split.
        if frequency * promise.size < 1:
            continue
        kept = promise.uniform_cap if promise.cap == "uniform" else cap_at_frequency(promise, frequency)
        tails = promise.true_tails(kept, frequency)
        rows.append((frequency, kept, tails.lower, tails.upper, tails.within))
    error = percent(promise.relative_error)
    return ResultTable(
        f"Rows of a group that are used at most ({promise.cap} cap, {promise.bound} bound), and true probabilities "
        "of its reconstruction",
        ("largest frequency", "rows", f"over {error} too low", f"over {error} too high", f"within {error}"),
        tuple(rows),
    )


def cap_at_frequency(promise: ReconstructionPrivacy, frequency: float) -> int:
    """Largest sample of a group whose most frequent value has this frequency, under a cap by group."""
    if promise.bound != "exact":
        return int(promise.caps_at(frequency))
    # The exact test looks at every value; the others are taken to share the rest evenly.
    others = round(10_000 * (1 - frequency) / (promise.size - 1))
    counts = [round(10_000 * frequency), *([others] * (promise.size - 1) if others else [])]
    return int(promise.group_caps(np.array(counts), np.array([0]))[0])


def expected_tables(law: SampledRows, rows: int) -> tuple[ResultTable, ...]:
    """Share of rows kept, and the error of an aggregate count, if all groups were of one size."""
    table = []
    for size in GROUP_SIZES:
        if size > rows:
            continue
        factor = float(law.scale_factors(size))
        errors = [_aggregate_error(law, size, rows // size, share) for share in SHARES]
        table.append((size, 1 / factor, *errors))
    return (
        ResultTable(
            f"Expected share of rows kept, and standard error of a count over all groups by its share of {rows:,} rows, "
            "if groups were equal in size",
            ("rows of a group", "share kept", *(f"{share:.4g}" for share in SHARES)),
            tuple(table),
        ),
    )


def _aggregate_error(law: SampledRows, size: int, groups: int, share: float) -> float:
    """Standard error of the count of one value, over groups of one size and composition."""
    categories = law.distortion.size
    counts = np.full((1, categories), size * (1 - share) / (categories - 1))
    counts[0, 0] = size * share
    return math.sqrt(groups * float(law.expected_variances(counts)[0, 0]))


def merged_table(merged_values: MergedValues) -> ResultTable:
    """What merging would join."""
    rows = tuple((name, ", ".join(labels)) for name, classes in merged_values.items() for labels in classes)
    return ResultTable("Public values to be merged", ("attribute", "values"), rows, is_private=True)


def private_tables(
    promise: ReconstructionPrivacy,
    law: SampledRows,
    schema: Schema,
    groups: PersonalGroups,
    quotas: Integers,
) -> tuple[ResultTable, ...]:
    """What becomes of a table's own groups: violations without sampling, rows kept, errors of its counts."""
    possible = math.prod(schema[name].size for name in promise.groups)
    kept = np.add.reduceat(quotas, groups.starts)
    summary = ResultTable(
        "Rows that would be kept",
        ("rows", "rows kept", "share kept", "groups cut", "rows in groups cut"),
        (
            (
                int(groups.sizes.sum()),
                int(kept.sum()),
                float(kept.sum() / groups.sizes.sum()),
                int(np.count_nonzero(kept < groups.sizes)),
                int(groups.sizes[kept < groups.sizes].sum()),
            ),
        ),
        is_private=True,
    )
    return violation_table(promise, groups, possible), summary, _value_errors(law, schema, groups)


def violation_table(promise: ReconstructionPrivacy, groups: PersonalGroups, possible: int) -> ResultTable:
    """Groups that would break the promise if every row were perturbed and published (v_g, v_r)."""
    violated = promise.are_violated(groups.counts, groups.starts)
    number, rows = int(np.count_nonzero(violated)), int(groups.sizes[violated].sum())
    return ResultTable(
        "Violations of reconstruction privacy by plain perturbation",
        ("", "all", "violating", "share"),
        (
            ("occupied groups", int(groups.starts.size), number, number / groups.starts.size),
            ("possible groups", possible, number, number / possible),
            ("rows", int(groups.sizes.sum()), rows, rows / int(groups.sizes.sum())),
        ),
        is_private=True,
    )


def _value_errors(law: SampledRows, schema: Schema, groups: PersonalGroups) -> ResultTable:
    """Standard error to expect for the count of every sensitive value in the whole table."""
    sensitive = schema[law.sensitive]
    counts = np.zeros((groups.starts.size, sensitive.size))
    counts[groups.group_of_cell, groups.values] = groups.counts
    totals = np.sqrt(law.expected_variances(counts).sum(axis=0))
    return ResultTable(
        f"Expected standard error of each count of {law.sensitive}, from the private table",
        ("category", "true count", "expected std. error"),
        tuple(
            (label, int(count), float(error))
            for label, count, error in zip(sensitive.labels, counts.sum(axis=0), totals, strict=True)
        ),
        is_private=True,
    )
