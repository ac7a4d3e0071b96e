"""The attack that breaks Anatomy: naive Bayes learned from the release alone."""

from sfumato.attacks.anatomy_naive_bayes.attack import AnatomyNaiveBayes

__all__ = ["AnatomyNaiveBayes"]
