"""Columnized counts: rows, or fragments of them, published with noisy counts."""
