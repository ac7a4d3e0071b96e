"""Published counts in the place of a release, as a law sees it."""

from __future__ import annotations

import numpy as np

from sfumato.estimates.counts import CountTable
from sfumato.schema import Schema


class Counted:
    """A table of published counts that can be counted as a release is."""

    def __init__(self, attributes, counts):
        self.table = CountTable(tuple(attributes), counts)
        self.schema = Schema(attributes=tuple(attributes))
        self.number_of_rows = round(self.table.total)

    def count_by(self, names, where):
        """Counts over some attributes, among the rows selected."""
        counts = self.table.counts
        for name, codes in where.conditions:
            keep = np.isin(np.arange(self.schema[name].size), codes)
            shape = [-1 if each == name else 1 for each in self.table.names]
            counts = counts * keep.reshape(shape)
        return CountTable(self.table.attributes, counts.copy()).project(names)
