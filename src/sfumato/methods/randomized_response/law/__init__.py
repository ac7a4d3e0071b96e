"""Rows whose attributes were distorted independently by public matrices."""

from sfumato.methods.randomized_response.law.perturbed_rows import PerturbedRows

__all__ = ["PerturbedRows"]
