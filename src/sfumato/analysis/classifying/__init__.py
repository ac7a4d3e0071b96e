"""Classifiers from estimated counts, and how often they are wrong, through the law."""

from sfumato.analysis.classifying.growing import grow_tree
from sfumato.analysis.classifying.prediction_error import prediction_error
from sfumato.analysis.classifying.tree import Tree

__all__ = ["Tree", "grow_tree", "prediction_error"]
