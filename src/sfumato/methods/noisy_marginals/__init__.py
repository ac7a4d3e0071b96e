"""Noisy marginals: differentially private counts of chosen tables, zeros included."""

from sfumato.methods.noisy_marginals.design import NoisyMarginals

__all__ = ["NoisyMarginals"]
