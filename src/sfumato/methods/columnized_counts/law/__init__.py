"""Rows, or fragments of rows, published with noisy counts; rare ones are left out."""

from sfumato.methods.columnized_counts.law.noisy_rows import NoisyRows

__all__ = ["NoisyRows"]
