"""Measures of how two attributes go together, through the law of a release."""

from sfumato.analysis.measures.declarations import MEASURES, Measure
from sfumato.analysis.measures.measuring import MeasuredValue, Measures, measure

__all__ = ["MEASURES", "Measure", "MeasuredValue", "Measures", "measure"]
