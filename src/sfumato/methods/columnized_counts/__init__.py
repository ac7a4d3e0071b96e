"""Columnized counts: rows, or fragments of them, published with noisy counts."""

from sfumato.methods.columnized_counts.design import ColumnizedCounts

__all__ = ["ColumnizedCounts"]
