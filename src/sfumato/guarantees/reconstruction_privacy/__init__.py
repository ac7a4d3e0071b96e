"""Reconstruction privacy: what is true of a person"s own group cannot be reconstructed accurately."""

from sfumato.guarantees.reconstruction_privacy.guarantee import ReconstructionPrivacy

__all__ = ["ReconstructionPrivacy"]
