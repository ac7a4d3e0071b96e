"""SPLU-Gen: the design, and the count phase that it publishes by."""

from sfumato.methods.splu_gen.design.splu_gen import SPLUGen

__all__ = ["SPLUGen"]
