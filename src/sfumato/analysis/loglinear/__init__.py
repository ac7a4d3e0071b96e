"""Loglinear models of estimated counts, and a search among them."""

from sfumato.analysis.loglinear.fitting import fit_loglinear
from sfumato.analysis.loglinear.result import Loglinear
from sfumato.analysis.loglinear.searching import LoglinearSearch, search_loglinear

__all__ = ["Loglinear", "LoglinearSearch", "fit_loglinear", "search_loglinear"]
