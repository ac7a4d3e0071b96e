"""Noisy marginals: the design, and which marginals share the budget."""

from sfumato.methods.noisy_marginals.design.noisy_marginals import NoisyMarginals

__all__ = ["NoisyMarginals"]
