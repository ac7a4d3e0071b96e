"""What every law shares: the likelihood that links published data to the true counts. A method's own law is in its folder."""

from sfumato.laws.base import NOTHING_PROMISED, WITHHELD_PROMISE, Law, Published
from sfumato.laws.estimator import Target, refuse_target, refuse_unknown_target
from sfumato.registry import Family

LAWS = Family("sfumato.methods", Law, "law", module="law")

__all__ = [
    "LAWS",
    "NOTHING_PROMISED",
    "WITHHELD_PROMISE",
    "Law",
    "Published",
    "Target",
    "refuse_target",
    "refuse_unknown_target",
]
