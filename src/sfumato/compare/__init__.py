"""Comparison of designs on one private table: risk and error of each."""
