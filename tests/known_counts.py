"""A release whose estimated counts and covariance are given, for analyses that are worked out by hand."""

from __future__ import annotations

import itertools

import numpy as np

from sfumato.estimates.answers import AnswerTable
from sfumato.estimates.estimates import Estimates
from sfumato.query.selection import Selection
from sfumato.schema import Attribute, Role, Schema


def numbered_attribute(name, size):
    """An attribute with the ordered categories 0, 1, ..."""
    return Attribute(
        name=name, role=Role.OTHER, categories=tuple(str(code) for code in range(size)), ordered=True
    )


class KnownCounts:
    """Answers counts from one table of estimates; the joint of all attributes is what is known."""

    def __init__(self, attributes, values, covariance=0.0, *, estimator="unbiased"):
        self.schema = Schema(attributes=tuple(attributes))
        self.cells = np.array(values, dtype=float).ravel()
        variance = np.asarray(covariance, dtype=float)
        self.covariance = variance * np.eye(self.cells.size) if variance.ndim == 0 else variance
        self.estimator = estimator

    def counts(self, by, *, where="", target="table", **_):
        """Sums of the known cells, with their covariance."""
        assert target == "table"
        selection = Selection.parse(where, self.schema)
        attributes = self.schema.select(by)
        codes = tuple(selection.codes(each.name) or tuple(range(each.size)) for each in attributes)
        known = Estimates.with_covariance(self.cells, self.covariance)
        # The whole table needs no sums, and is what simulations ask thousands of times.
        if tuple(by) != self.schema.names or selection.conditions:
            known = known.linear(self._sums(selection, attributes, codes))
        return AnswerTable(attributes, codes, known, 0.95, "by-hand", "known", target, False, self.estimator)

    def _sums(self, selection, attributes, codes):
        """Which known cells each asked one is the sum of, ``(asked, known)``."""
        grid = np.indices([each.size for each in self.schema.attributes]).reshape(len(self.schema.names), -1)
        places = dict(zip(self.schema.names, grid, strict=True))
        kept = np.ones(self.cells.size, dtype=bool)
        for name, chosen in selection.conditions:
            kept &= np.isin(places[name], chosen)
        asked = np.array(list(itertools.product(*codes))).reshape(-1, len(attributes))
        own = np.array([places[each.name] for each in attributes])
        return (kept & (asked[:, :, None] == own[None]).all(axis=1)).astype(float)
