"""SPLU-Gen: every sensitive value is hidden among decoys, so that large sums survive and small ones do not."""

from sfumato.methods.splu_gen.design import SPLUGen

__all__ = ["SPLUGen"]
