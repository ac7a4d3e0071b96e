"""Published rows in memory, as a law sees them; and tables whose values are related to a predicate."""

from __future__ import annotations

import numpy as np

from sfumato.estimates.counts import CountTable
from sfumato.query.selection import Selection
from sfumato.schema import Attribute, Role, Schema


def category_attribute(name, size, role=Role.SENSITIVE):
    """An attribute with the categories 0, 1, ..."""
    return Attribute(name=name, role=role, categories=tuple(str(code) for code in range(size)))


def selection(**codes):
    """A selection by attribute."""
    return Selection(tuple(codes.items()))


class PublishedRows:
    """Columns of codes that can be counted as a release is."""

    def __init__(self, attributes, columns):
        self.schema = Schema(attributes=tuple(attributes))
        self.columns = columns
        self.number_of_rows = len(next(iter(columns.values())))
        self.scans = 0

    def count_by(self, names, where):
        """Counts over some attributes, among the rows selected."""
        self.scans += 1
        keep = np.ones(self.number_of_rows, dtype=bool)
        for name, codes in where.conditions:
            keep &= np.isin(self.columns[name], codes)
        attributes = self.schema.select(names)
        counts = np.zeros([each.size for each in attributes], dtype=np.int64)
        if names:
            np.add.at(counts, tuple(self.columns[name][keep] for name in names), 1)
        else:
            counts = np.array(np.count_nonzero(keep))
        return CountTable(attributes, counts)


def related_table(rows, values, gamma, largest_inclusion, *, shares=(0.5, 0.2, 0.05)):
    """Codes sorted by value with Zipf-like frequencies, and a predicate that frequent values satisfy more.

    The largest value is in ``largest_inclusion`` of all groups of ``gamma``; the predicate holds for the
    given shares of frequent, middle and rare values' rows.
    """
    low, high = 0.0, 6.0
    for _ in range(60):
        middle = (low + high) / 2
        weights = np.arange(1, values + 1) ** -middle
        low, high = (
            (middle, high) if weights[0] / weights.sum() < largest_inclusion / gamma else (low, middle)
        )
    counts = np.floor(rows * weights / weights.sum()).astype(np.int64)
    # What rounding left over goes to the second value, so that groups divide the rows.
    counts[1] += rows - counts.sum()
    theta = np.array(shares)[np.arange(values) * len(shares) // values]
    inside = np.round(theta * counts).astype(np.int64)
    codes = np.repeat(np.arange(values), counts)
    places = np.arange(rows) - np.repeat(np.cumsum(counts) - counts, counts)
    return codes, (places < np.repeat(inside, counts)).astype(np.int64), inside
