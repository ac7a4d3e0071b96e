"""Rows, or fragments of rows, published with noisy counts; rare ones are left out."""

from sfumato.laws.noisy_rows.law import NoisyRows

__all__ = ["NoisyRows"]
