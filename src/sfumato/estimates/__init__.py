"""Counts, estimates with covariance, confidence intervals and answers."""
