"""Association rules of a release, or of rows: item sets that are frequent, and what follows from what."""

from sfumato.analysis.rules.mining import Settings, mine
from sfumato.analysis.rules.result import FrequentSet, Rule, Rules

__all__ = ["FrequentSet", "Rule", "Rules", "Settings", "mine"]
