"""What can be concluded from randomized rows when the distortion matrices are not known."""

from sfumato.analysis.unknown_distortion.advising import Advice, advise
from sfumato.analysis.unknown_distortion.properties import PROPERTIES, Knowledge, Property
from sfumato.analysis.unknown_distortion.suspicion import Suspicion, check_matrix

__all__ = ["PROPERTIES", "Advice", "Knowledge", "Property", "Suspicion", "advise", "check_matrix"]
