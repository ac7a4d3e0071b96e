"""Rows whose attributes, or units whose items, were distorted independently by public matrices."""

from sfumato.methods.randomized_response.law.perturbed_items import PerturbedItems
from sfumato.methods.randomized_response.law.perturbed_rows import PerturbedRows

__all__ = ["PerturbedItems", "PerturbedRows"]
