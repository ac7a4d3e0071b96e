"""The law of rows whose values were replaced by coarser ones."""

from sfumato.methods.generalization.law.generalized_rows import GeneralizedRows

__all__ = ["GeneralizedRows"]
