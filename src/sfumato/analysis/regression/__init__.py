"""Regression through the law: perturbed response, perturbed covariates, or both."""

from sfumato.analysis.regression.fitting import regress
from sfumato.analysis.regression.result import Regression

__all__ = ["Regression", "regress"]
