"""Generalization: coarser values, so that every row has company (k-anonymity and its family)."""

from sfumato.methods.generalization.design import Generalization

__all__ = ["Generalization"]
