"""The promises a release can make: one file, one promise."""

from sfumato.families import Family
from sfumato.guarantees.base import Guarantee

GUARANTEES = Family("sfumato.guarantees", Guarantee, "guarantee")

__all__ = ["GUARANTEES", "Guarantee"]
