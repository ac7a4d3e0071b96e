"""Columnized counts: the design, what it counts, and the tables it publishes."""

from sfumato.methods.columnized_counts.design.columnized_counts import ColumnizedCounts

__all__ = ["ColumnizedCounts"]
