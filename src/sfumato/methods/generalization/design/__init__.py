"""Generalization: the design, the criteria of its classes, and the recoding it finds."""

from sfumato.methods.generalization.design.generalization import Generalization

__all__ = ["Generalization"]
