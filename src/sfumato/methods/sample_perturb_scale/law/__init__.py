"""Rows sampled from every group, perturbed, and scaled up to the group"s size again."""

from sfumato.methods.sample_perturb_scale.law.sampled_rows import SampledRows

__all__ = ["SampledRows"]
