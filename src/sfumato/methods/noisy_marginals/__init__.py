"""Noisy marginals: differentially private counts of chosen tables, zeros included."""
