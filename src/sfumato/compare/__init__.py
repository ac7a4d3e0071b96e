"""Comparing designs on one's own table: what each risks, and what each is good for."""
