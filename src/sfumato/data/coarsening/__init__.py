"""Coarser values that may stand for categories: hierarchies, and how they are built."""
