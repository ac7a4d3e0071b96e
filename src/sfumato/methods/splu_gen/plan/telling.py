"""What a plan says about people whose public group holds what they hold, and about the rarest values."""

from __future__ import annotations

import numpy as np

from sfumato.data.private_table import PrivateTable
from sfumato.guarantees.odds_factor import OddsFactor
from sfumato.methods.splu_gen.law.telling import PublicGroups, groupings, rarest_factors
from sfumato.values.number_text import Cell
from sfumato.values.result_tables import ResultTable

GROUPS_SHOWN = 10
"""Worst public groups that are shown for each drawn attribute."""


def what_rows_tell(odds: OddsFactor, table: PrivateTable) -> tuple[ResultTable, ...]:
    """The worst public groups of the private table, and the factors of its rarest values. Private; no value is named."""
    return (_factors(odds, table), _worst_groups(odds, table))


def _factors(odds: OddsFactor, table: PrivateTable) -> ResultTable:
    """By attribute the factor of its rarest value: over all other values, and for the worst one other."""
    rows: list[tuple[Cell, ...]] = []
    for name, gamma in odds.gamma_by_attribute.items():
        counts = np.asarray(table.count_by([name]).counts, np.int64)
        kept = np.where(counts >= odds.smallest_count, counts, 0)
        if np.count_nonzero(kept) > 1:
            rows.append((name, *rarest_factors(kept, gamma)))
    return ResultTable(
        "By what a row multiplies the odds of the rarest value",
        ("attribute", "rows that hold it", "odds factor", "against the one other value that shows it least"),
        tuple(rows),
        is_private=True,
    )


def _worst_groups(odds: OddsFactor, table: PrivateTable) -> ResultTable:
    """Worst first: to someone who knows the others of a public group, how sure a row makes."""
    public = [name for name in table.schema.publishable.names if name not in odds.gamma_by_attribute]
    found: list[tuple[Cell, ...]] = []
    for name, gamma in odds.gamma_by_attribute.items():
        for names in groupings(public):
            groups = PublicGroups(table.count_occupied((*names, name)))
            before, after = groups.told_by_others(gamma)
            # Rows of rarer values are left out.
            after = np.where(groups.totals[groups.values] >= odds.smallest_count, after, 0.0)
            # The worst value of each group, and how many of its rows are more likely told than not.
            is_told = np.bincount(
                groups.groups, groups.counts.counts * (after > 0.5), minlength=groups.number
            )
            worst = np.lexsort((-after, groups.groups))
            firsts = worst[np.unique(groups.groups[worst], return_index=True)[1]]
            chosen = firsts[np.argsort(-after[firsts], kind="stable")][:GROUPS_SHOWN]
            found += [
                (
                    groups.label(int(cell)),
                    name,
                    int(groups.sizes[cell]),
                    float(before[cell]),
                    float(after[cell]),
                    int(is_told[groups.groups[cell]]),
                )
                for cell in chosen
            ]
    found.sort(key=lambda row: (-float(row[4]), -int(row[2])))
    return ResultTable(
        "What a row tells someone who knows the others of the public group; the worst groups",
        (
            "public group",
            "attribute",
            "rows",
            "believed before",
            "highest posterior",
            "rows told above one half",
        ),
        tuple(found[:GROUPS_SHOWN]),
        is_private=True,
    )
