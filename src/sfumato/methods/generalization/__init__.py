"""Generalization: coarser values, so that every row has company (k-anonymity and its family)."""
