"""The laws that link published data to true counts: one file, one law."""

from sfumato.families import Family
from sfumato.laws.base import Law, Published, Target

LAWS = Family("sfumato.laws", Law, "law")

__all__ = ["LAWS", "Law", "Published", "Target"]
