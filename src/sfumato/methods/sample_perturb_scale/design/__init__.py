"""Sample, perturb, scale: the design, and the public values it merges."""

from sfumato.methods.sample_perturb_scale.design.sample_perturb_scale import SamplePerturbScale

__all__ = ["SamplePerturbScale"]
