"""Generalization: coarser values, for k-anonymity and its family."""
