"""What every law shares. Each law stands in the folder of its method and is found there by discovery."""

from sfumato.families import Family
from sfumato.laws.base import (
    NOTHING_PROMISED,
    WITHHELD_PROMISE,
    Law,
    Published,
    Target,
    refuse_unknown_target,
)

LAWS = Family("sfumato.methods", Law, "law", module="law")

__all__ = [
    "LAWS",
    "NOTHING_PROMISED",
    "WITHHELD_PROMISE",
    "Law",
    "Published",
    "Target",
    "refuse_unknown_target",
]
