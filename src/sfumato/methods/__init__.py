"""The methods that publish private rows: one file, one method."""

from sfumato.families import Family
from sfumato.methods.base import Design

METHODS = Family("sfumato.methods", Design, "method")

__all__ = ["METHODS", "Design"]
