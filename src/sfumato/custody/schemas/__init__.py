"""Schemas inferred from data, each guess with what a person must check; data checked against a schema."""
