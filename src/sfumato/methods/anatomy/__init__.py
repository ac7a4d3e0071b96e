"""Anatomy: public and sensitive values in two tables, joined by bucket."""
