"""Which personal groups plain perturbation would leave open to reconstruction."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.data.private_table import PrivateTable
from sfumato.methods.sample_perturb_scale.design.sample_perturb_scale import SamplePerturbScale, count_groups
from sfumato.methods.sample_perturb_scale.plan.expectations import violation_table
from sfumato.values.number_text import percent
from sfumato.values.result_tables import ResultTable


@dataclass(frozen=True, eq=False)
class ViolationReport:
    """Groups too large for reconstruction privacy when every row is perturbed and published. Private.

    Parameters
    ----------
    occupied_groups, possible_groups
        Groups that have rows, and combinations of the quasi-identifiers' values, after merging.
    violating_groups
        Groups with more rows than their cap.
    rows, violating_rows
        All rows, and those in violating groups.
    table
        The same as a table.
    """

    occupied_groups: int
    possible_groups: int
    violating_groups: int
    rows: int
    violating_rows: int
    table: ResultTable

    def __repr__(self) -> str:
        return (
            f"ViolationReport({self.violating_groups:,} of {self.occupied_groups:,} groups, "
            f"{percent(self.share_of_rows, decimals=1)} of rows)"
        )

    def __str__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """The table as text."""
        return self.table.to_text()

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return self.table.to_dict()

    @property
    def share_of_groups(self) -> float:
        """Violating groups among the occupied ones (v_g)."""
        return self.violating_groups / self.occupied_groups

    @property
    def share_of_possible_groups(self) -> float:
        """Violating groups among the possible ones, as the thesis counts them."""
        return self.violating_groups / self.possible_groups

    @property
    def share_of_rows(self) -> float:
        """Rows in violating groups (v_r)."""
        return self.violating_rows / self.rows


def find_violations(table: PrivateTable, design: SamplePerturbScale) -> ViolationReport:
    r"""Violations of a design's promise if its perturbation were applied to all rows, without sampling.

    Parameters
    ----------
    table
        The private rows.
    design
        Its retention, relative error, error probability, bound and merging are used; each group is tested
        by its own composition, whatever the cap.

    Returns
    -------
    ViolationReport
        Shares of groups and rows; for the custodian's eyes.

    References
    ----------
    Han (2016), section 4.4.2 (v_g and v_r).

    Examples
    --------
    >>> import pyarrow as pa
    >>> from sfumato import Schema, read_table
    >>> schema = Schema.from_toml('''
    ... [attributes.sex]
    ... role = "quasi-identifier"
    ... categories = ["F", "M"]
    ... [attributes.job]
    ... role = "sensitive"
    ... categories = ["a", "b", "c"]
    ... ''')
    >>> rows = pa.table({"sex": ["F"] * 900 + ["M"] * 30, "job": ["a", "b", "c"] * 310})
    >>> find_violations(read_table(rows, schema), SamplePerturbScale(retention=0.5))
    ViolationReport(1 of 2 groups, 96.8 % of rows)
    """
    merged, _ = design.merge_values(table)
    promise = design.promise(table.schema, published=merged.schema)
    groups, _ = count_groups(table, merged, promise)
    violated = promise.are_violated(groups.counts, groups.starts)
    possible = math.prod(merged.schema[name].size for name in promise.groups)
    return ViolationReport(
        occupied_groups=int(groups.starts.size),
        possible_groups=possible,
        violating_groups=int(np.count_nonzero(violated)),
        rows=int(groups.sizes.sum()),
        violating_rows=int(groups.sizes[violated].sum()),
        table=violation_table(promise, groups, possible),
    )
