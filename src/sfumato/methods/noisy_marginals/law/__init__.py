"""Counts of chosen marginals, and answers to declared queries, each with independent noise."""

from sfumato.methods.noisy_marginals.law.noisy_counts import NoisyCounts

__all__ = ["NoisyCounts"]
