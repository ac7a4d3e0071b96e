"""What a release says of itself, held against the private rows it was made from.

A law states probabilities of what is published given the truth; with the truth at hand they can be tested. Every
p-value here is an upper bound at any number of rows (exact binomials, Bernstein's inequality), so that a level is kept
however small it is.
"""

from sfumato.custody.audit.truth_checks.checking import check_against_truth
from sfumato.custody.audit.truth_checks.p_values import TruthCheck

__all__ = ["TruthCheck", "check_against_truth"]
