"""Rows sampled from every group, perturbed, and scaled up to the group"s size again."""

from sfumato.laws.sampled_rows.law import SampledRows

__all__ = ["SampledRows"]
