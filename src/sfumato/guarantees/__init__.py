"""The guarantees a release can state, one file for each notion of privacy."""

from sfumato.guarantees.base import Guarantee
from sfumato.registry import Family

GUARANTEES = Family("sfumato.guarantees", Guarantee, "guarantee")

__all__ = ["GUARANTEES", "Guarantee"]
