"""True rows drawn from what a release says of them, for tools that know multiple imputation."""

from sfumato.analysis.imputing.imputing import impute
from sfumato.analysis.imputing.pooling import Pooled, pool
from sfumato.analysis.imputing.result import Draw, Imputations

__all__ = ["Draw", "Imputations", "Pooled", "impute", "pool"]
