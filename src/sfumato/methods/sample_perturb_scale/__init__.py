"""Sample, perturb, scale: a limited number of every group"s rows, redrawn by chance and scaled up again."""

from sfumato.methods.sample_perturb_scale.design import SamplePerturbScale

__all__ = ["SamplePerturbScale"]
