"""Rows whose attributes, or units whose items, were distorted independently by matrices, public or withheld."""

from sfumato.methods.randomized_response.law.perturbed_items import PerturbedItems
from sfumato.methods.randomized_response.law.perturbed_rows import PerturbedRows
from sfumato.methods.randomized_response.law.withheld import Withheld

__all__ = ["PerturbedItems", "PerturbedRows", "Withheld"]
